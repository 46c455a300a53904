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

// CSP declares the sources that a page wants to use. The page can reach nothing
// else.
type CSP struct {
	ConnectDomains  []string `json:"connectDomains,omitzero"`  // fetch, WebSocket
	ResourceDomains []string `json:"resourceDomains,omitzero"` // scripts, styles, images, fonts, media
	FrameDomains    []string `json:"frameDomains,omitzero"`    // nested frames
	BaseURIDomains  []string `json:"baseUriDomains,omitzero"`  // <base href>
}

// UnmarshalJSON decodes strictly, whichever decoder the caller uses: a name in
// another case must not grant anything.
func (c *CSP) UnmarshalJSON(data []byte) error {
	type plain CSP
	return decodeStrict(data, (*plain)(c))
}

// Permissions are the browser features that a page requests.
type Permissions struct {
	Camera         Flag `json:"camera,omitzero"`
	Microphone     Flag `json:"microphone,omitzero"`
	Geolocation    Flag `json:"geolocation,omitzero"`
	ClipboardWrite Flag `json:"clipboardWrite,omitzero"`
}

// UnmarshalJSON decodes strictly, like that of [CSP].
func (p *Permissions) UnmarshalJSON(data []byte) error {
	type plain Permissions
	return decodeStrict(data, (*plain)(p))
}

// AllowAttribute returns the value of an iframe's allow attribute that grants p; "" if p
// requests nothing.
func (p *Permissions) AllowAttribute() string {
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

// ResourceMeta is the member ui in the _meta of a page's resource.
type ResourceMeta struct {
	CSP           *CSP         `json:"csp,omitzero"`
	Permissions   *Permissions `json:"permissions,omitzero"`
	Domain        string       `json:"domain,omitzero"` // origin that the page wants; a host may use another
	PrefersBorder *bool        `json:"prefersBorder,omitzero"`
}

// UnmarshalJSON decodes strictly, like that of [CSP].
func (m *ResourceMeta) UnmarshalJSON(data []byte) error {
	type plain ResourceMeta
	return decodeStrict(data, (*plain)(m))
}

// ParseResourceMeta parses a page's metadata from the _meta of its entry in
// resources/list and that of its content in resources/read; either may be nil. If
// both have metadata, that of the content replaces the other as a whole. Metadata
// that cannot be parsed is an error and grants nothing.
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

// Page is the input of a host: the HTML of a View and its declarations.
type Page struct {
	URI  string
	HTML string
	Meta ResourceMeta
}

// Digest returns the SHA-256 of the HTML in hexadecimal. A host binds a person's
// approval to it.
func (p Page) Digest() string {
	sum := sha256.Sum256([]byte(p.HTML))
	return hex.EncodeToString(sum[:])
}

// ParsePage parses the page at uri from the result of resources/read. listed is the
// _meta of its entry in resources/list, or nil. The HTML can be text or base64.
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
		// A single content counts whatever its URI: a gateway may have renamed the
		// page.
		if c.URI != uri && len(in.Contents) > 1 {
			continue
		}
		if !IsAppMIMEType(c.MIMEType) {
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

// IsAppMIMEType reports whether a MIME type is that of an App's page. It ignores case, and
// spaces around the semicolon.
func IsAppMIMEType(mimeType string) bool {
	kind, profile, ok := strings.Cut(mimeType, ";")
	return ok && strings.EqualFold(strings.TrimSpace(kind), "text/html") && strings.EqualFold(strings.TrimSpace(profile), "profile=mcp-app")
}

// pageText returns the HTML of a content, without a byte order mark in a blob.
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
