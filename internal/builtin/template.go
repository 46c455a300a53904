package builtin

import (
	"context"
	"encoding/json"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Template is the metadata of a resource template: a family of resources whose
// URIs follow a pattern.
type Template struct {
	URITemplate string // RFC 6570 level 1: text with {variables}
	Name        string // for programs; "" means the template
	Title       string // for users
	Description string // for models
	MIMEType    string
	Annotations json.RawMessage // MCP's annotations object; nil for none
	Meta        json.RawMessage // _meta, a JSON object; nil for none

	Complete map[string]CompleteFunc // completes variables, by name; may be nil

	TTL    time.Duration // how long a client may cache the content
	Public bool          // the content is the same for everybody, so caches may share it
}

// TemplateFunc reads the resource that the variables name. It returns a
// not_found error if there is none.
type TemplateFunc func(ctx context.Context, call *Call, uri string, vars map[string]string) ([]Contents, error)

// registeredTemplate is a template of a server, with its parsed pattern and its
// rendered MCP object.
type registeredTemplate struct {
	Template
	definition []byte
	pattern    *uriPattern
	read       TemplateFunc
}

// AddTemplate adds a resource template. If several templates match a URI, the
// one that was added first reads it. A resource with exactly that URI takes
// precedence.
func (s *Server) AddTemplate(t Template, read TemplateFunc) error {
	p, err := parsePattern(t.URITemplate)
	if err != nil {
		return err
	}
	for name := range t.Complete {
		if !p.hasVariable(name) {
			return junctor.Errorf(junctor.CodeInvalid, "template %q has no variable %q to complete", t.URITemplate, name)
		}
	}
	if read == nil {
		return junctor.Errorf(junctor.CodeInvalid, "template %q has no function that reads it", t.URITemplate)
	}
	b := appendQuoted([]byte(`{"uriTemplate":`), t.URITemplate)
	b = appendDescription(b, description{
		name: t.Name, fallback: t.URITemplate, title: t.Title, text: t.Description, mimeType: t.MIMEType,
		annotations: t.Annotations, meta: t.Meta,
	})
	def, err := compactJSON(append(b, '}'))
	if err != nil {
		return junctor.Errorf(junctor.CodeInvalid, "template %q: its annotations or _meta are not JSON: %w", t.URITemplate, err)
	}
	added := &registeredTemplate{Template: t, definition: def, pattern: p, read: read}
	return s.changeRegistry(func(it *registry) error {
		if it.templates[t.URITemplate] != nil {
			return junctor.Errorf(junctor.CodeConflict, "server %q already has template %q", s.id, t.URITemplate)
		}
		it.templates[t.URITemplate] = added
		it.templateOrder = append(it.templateOrder, t.URITemplate)
		return nil
	})
}

// matchTemplate returns the first template that matches a URI, with the
// variables; nil if none does.
func (it *registry) matchTemplate(uri string) (*registeredTemplate, map[string]string) {
	for _, name := range it.templateOrder {
		t := it.templates[name]
		if vars, ok := t.pattern.matchURI(uri); ok {
			return t, vars
		}
	}
	return nil, nil
}
