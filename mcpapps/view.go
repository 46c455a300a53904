package mcpapps

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// View is a page that a server shows with its tools.
type View struct {
	URI         string // ui://…, unique on the server
	Name        string // for programs; by default the URI
	Title       string // for people
	Description string
	Page        PageSource // source of its HTML
	// TTL is how long hosts and gateways may cache the page. 0 means that they read
	// it every time, which suits development.
	TTL  time.Duration
	Meta ResourceMeta // what the page needs from the host
}

// PageSource returns the HTML of a page. It is called once when the View is added, and
// whenever a host reads the page.
type PageSource func(context.Context) (string, error)

// HTML returns the source of a constant page. It replaces [BridgeTag] in it.
func HTML(page string) PageSource {
	page = InsertBridge(page)
	return func(context.Context) (string, error) { return page, nil }
}

// File returns the source of a page in a file system, usually an embed.FS. It reads
// the file every time, so that with os.DirFS a page can be edited while its server
// runs. It replaces [BridgeTag] in it.
func File(files fs.FS, name string) PageSource {
	return func(context.Context) (string, error) {
		page, err := fs.ReadFile(files, name)
		if err != nil {
			return "", fmt.Errorf("mcpapps: page %s: %w", name, err)
		}
		return InsertBridge(string(page)), nil
	}
}

// Validate returns an error if the View is incomplete or its declarations are invalid.
// It does not read the page.
func (v *View) Validate() error {
	rest, ok := strings.CutPrefix(v.URI, URIScheme)
	if !ok || rest == "" {
		return fmt.Errorf("mcpapps: the address of a View begins with %s and goes on; %q does not", URIScheme, v.URI)
	}
	if _, err := url.Parse(v.URI); err != nil {
		return fmt.Errorf("mcpapps: the address of a View is a URI: %w", err)
	}
	if v.Page == nil {
		return fmt.Errorf("mcpapps: %s has no Page; HTML and File make one", v.URI)
	}
	if v.TTL < 0 {
		return fmt.Errorf("mcpapps: %s has a TTL below zero", v.URI)
	}
	if err := v.Meta.CSP.Validate(); err != nil {
		return fmt.Errorf("%s: %w", v.URI, err)
	}
	if err := checkDomain(v.Meta.Domain); err != nil {
		return fmt.Errorf("mcpapps: %s: %w", v.URI, err)
	}
	return nil
}

// checkDomain checks the origin that a page wants: a host name or an https origin.
func checkDomain(domain string) error {
	if domain == "" {
		return nil
	}
	host := strings.TrimPrefix(domain, "https://")
	at, err := url.Parse("https://" + host)
	labels := regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$`)
	if err != nil || at.Host != host || len(host) > 253 || !labels.MatchString(at.Hostname()) {
		return fmt.Errorf("domain %q is neither a host name, like app.example.com, nor an origin, like https://app.example.com", domain)
	}
	return nil
}

// isHTML reports whether a text starts like an HTML document: spaces and comments,
// then a doctype or an html element.
func isHTML(page string) bool {
	rest := strings.TrimPrefix(page, "\ufeff")
	for {
		rest = strings.TrimLeft(rest, " \t\r\n\f")
		if !strings.HasPrefix(rest, "<!--") {
			break
		}
		_, after, ok := strings.Cut(rest, "-->")
		if !ok {
			return false
		}
		rest = after
	}
	for _, start := range []string{"<!doctype html", "<html"} {
		if len(rest) > len(start) && strings.EqualFold(rest[:len(start)], start) && strings.ContainsRune(" \t\r\n\f>", rune(rest[len(start)])) {
			return true
		}
	}
	return false
}

// Resource returns the View's entry in resources/list.
func (v *View) Resource() *mcp.Resource {
	name := v.Name
	if name == "" {
		name = v.URI
	}
	return &mcp.Resource{URI: v.URI, Name: name, Title: v.Title, Description: v.Description, MIMEType: MIMEType, Meta: v.newMeta()}
}

// ReadResource returns the View's answer to resources/read. An empty page, or one that is
// not HTML, is an error.
func (v *View) ReadResource(ctx context.Context) (*mcp.ReadResourceResult, error) {
	page, err := v.Page(ctx)
	if err != nil {
		return nil, err
	}
	if page == "" {
		return nil, errors.New("mcpapps: " + v.URI + ": the page is empty")
	}
	if !isHTML(page) {
		return nil, errors.New("mcpapps: " + v.URI + ": the page is no HTML document: it does not begin with <!doctype html>")
	}
	result := &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{
		{URI: v.URI, MIMEType: MIMEType, Text: page, Meta: v.newMeta()},
	}}
	result.TTLMs = int(v.TTL.Milliseconds())
	return result, nil
}

// newMeta returns the _meta of the View; nil if it declares nothing.
func (v *View) newMeta() mcp.Meta {
	if v.Meta == (ResourceMeta{}) {
		return nil
	}
	return mcp.Meta{MetaKey: v.Meta}
}

// Meta returns the metadata in the form of a tool's _meta, with the older key
// beside it.
func (m ToolMeta) Meta() mcp.Meta {
	meta := mcp.Meta{MetaKey: m}
	if m.ResourceURI != "" {
		meta[LegacyURIKey] = m.ResourceURI
	}
	return meta
}
