package mcpapps

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// CSP names the hosts that a page wants to use. Nothing else can be reached.
type CSP struct {
	ConnectDomains  []string `json:"connectDomains,omitzero"`  // fetch, WebSocket
	ResourceDomains []string `json:"resourceDomains,omitzero"` // scripts, styles, images, fonts, media
	FrameDomains    []string `json:"frameDomains,omitzero"`    // nested frames
	BaseURIDomains  []string `json:"baseUriDomains,omitzero"`  // <base href>
}

// UnmarshalJSON reads names by their exact case, whoever decodes.
func (c *CSP) UnmarshalJSON(data []byte) error {
	type plain CSP
	return decodeStrict(data, (*plain)(c))
}

// Permissions are the features of a browser that a page asks for.
type Permissions struct {
	Camera         Flag `json:"camera,omitzero"`
	Microphone     Flag `json:"microphone,omitzero"`
	Geolocation    Flag `json:"geolocation,omitzero"`
	ClipboardWrite Flag `json:"clipboardWrite,omitzero"`
}

// UnmarshalJSON reads names by their exact case, whoever decodes.
func (p *Permissions) UnmarshalJSON(data []byte) error {
	type plain Permissions
	return decodeStrict(data, (*plain)(p))
}

// Allow is the value of an iframe's allow attribute that grants p; "" when it
// asks for nothing.
func (p *Permissions) Allow() string {
	if p == nil {
		return ""
	}
	var names []string
	for _, f := range []struct {
		name  string
		asked Flag
	}{{"camera", p.Camera}, {"microphone", p.Microphone}, {"geolocation", p.Geolocation}, {"clipboard-write", p.ClipboardWrite}} {
		if f.asked {
			names = append(names, f.name)
		}
	}
	return strings.Join(names, "; ")
}

// ResourceMeta is _meta.ui of a page's resource.
type ResourceMeta struct {
	CSP           *CSP         `json:"csp,omitzero"`
	Permissions   *Permissions `json:"permissions,omitzero"`
	Domain        string       `json:"domain,omitzero"` // an origin of its own; hosts may give another
	PrefersBorder *bool        `json:"prefersBorder,omitzero"`
}

// UnmarshalJSON reads names by their exact case, whoever decodes.
func (m *ResourceMeta) UnmarshalJSON(data []byte) error {
	type plain ResourceMeta
	return decodeStrict(data, (*plain)(m))
}

// ParseResourceMeta reads a page's metadata from the _meta of its entry in
// resources/list and of its content in resources/read; either may be nil. A
// server may write it in one place or both: the content's wins as a whole. What
// cannot be read is an error, and grants nothing.
func ParseResourceMeta(listed, content json.RawMessage) (ResourceMeta, error) {
	for _, meta := range []json.RawMessage{content, listed} {
		if len(meta) == 0 {
			continue
		}
		var in struct {
			UI json.RawMessage `json:"ui"`
		}
		if err := decodeStrict(meta, &in); err != nil {
			return ResourceMeta{}, fmt.Errorf("mcpapps: _meta of a page: %w", err)
		}
		if len(in.UI) == 0 || string(in.UI) == "null" {
			continue
		}
		var m ResourceMeta
		if err := decodeStrict(in.UI, &m); err != nil {
			return ResourceMeta{}, fmt.Errorf("mcpapps: _meta.ui of a page: %w", err)
		}
		return m, nil
	}
	return ResourceMeta{}, nil
}

// Page is what a host runs: the HTML of a View and what it declares.
type Page struct {
	URI  string
	HTML string
	Meta ResourceMeta
}

// Digest is the SHA-256 of the HTML, in hexadecimal: what an approval is for.
func (p Page) Digest() string {
	sum := sha256.Sum256([]byte(p.HTML))
	return hex.EncodeToString(sum[:])
}

// ParsePage reads the page at uri from the result of resources/read. listed is
// the _meta of its entry in resources/list, or nil. The HTML may come as text
// or as base64.
func ParsePage(uri string, result, listed json.RawMessage) (Page, error) {
	var in struct {
		Contents []struct {
			URI      string          `json:"uri"`
			MIMEType string          `json:"mimeType"`
			Text     *string         `json:"text"`
			Blob     *string         `json:"blob"`
			Meta     json.RawMessage `json:"_meta"`
		} `json:"contents"`
	}
	if err := decodeStrict(result, &in); err != nil {
		return Page{}, fmt.Errorf("mcpapps: %s: the answer to resources/read cannot be read: %w", uri, err)
	}
	for _, c := range in.Contents {
		if c.URI != uri && len(in.Contents) > 1 {
			continue
		}
		if !IsApp(c.MIMEType) {
			return Page{}, fmt.Errorf("mcpapps: %s is %q; the page of an App is %q", uri, c.MIMEType, MIMEType)
		}
		html, err := pageText(c.Text, c.Blob)
		if err != nil {
			return Page{}, fmt.Errorf("mcpapps: %s: %w", uri, err)
		}
		meta, err := ParseResourceMeta(listed, c.Meta)
		if err != nil {
			return Page{}, fmt.Errorf("%s: %w", uri, err)
		}
		return Page{URI: uri, HTML: html, Meta: meta}, nil
	}
	return Page{}, fmt.Errorf("mcpapps: %s: the server's answer has no content with this address", uri)
}

// IsApp says whether a MIME type is that of an App's page: case does not count,
// nor do spaces around the semicolon.
func IsApp(mimeType string) bool {
	kind, profile, ok := strings.Cut(mimeType, ";")
	return ok && strings.EqualFold(strings.TrimSpace(kind), "text/html") && strings.EqualFold(strings.TrimSpace(profile), "profile=mcp-app")
}

func pageText(text, blob *string) (string, error) {
	switch {
	case text != nil:
		return *text, nil
	case blob != nil:
		data, err := base64.StdEncoding.DecodeString(*blob)
		if err != nil {
			return "", fmt.Errorf("its blob is no base64: %w", err)
		}
		data = bytes.TrimPrefix(data, []byte("\ufeff"))
		if !utf8.Valid(data) {
			return "", errors.New("its blob is no UTF-8")
		}
		return string(data), nil
	default:
		return "", errors.New("it has neither text nor blob")
	}
}
