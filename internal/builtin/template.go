package builtin

import (
	"context"
	"encoding/json"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Template is what is known of a family of resources, whose URIs follow a
// pattern.
type Template struct {
	URITemplate string // RFC 6570 level 1: text with {variables}
	Name        string // for programs; "" takes the template
	Title       string // for people
	Description string // for models
	MIMEType    string
	Annotations json.RawMessage // MCP's annotations object; nil for none
	Meta        json.RawMessage // _meta, a JSON object; nil for none

	Complete map[string]CompleteFunc // by variable; may be nil

	TTL    time.Duration // how long a reader may keep what it read
	Public bool          // the same for everyone, so that caches may share it
}

// TemplateFunc reads the resource that the variables name. It answers not_found
// where there is none.
type TemplateFunc func(ctx context.Context, call *Call, uri string, vars map[string]string) ([]Contents, error)

type template struct {
	Template
	json    []byte
	pattern *pattern
	read    TemplateFunc
}

// AddTemplate adds a resource template. Where several match a URI, the one
// added first reads it; a resource with that very URI comes before all.
func (s *Server) AddTemplate(t Template, read TemplateFunc) error {
	p, err := parsePattern(t.URITemplate)
	if err != nil {
		return err
	}
	for name := range t.Complete {
		if !p.has(name) {
			return junctor.Errorf(junctor.CodeInvalid, "template %q has no variable %q to complete", t.URITemplate, name)
		}
	}
	if read == nil {
		return junctor.Errorf(junctor.CodeInvalid, "template %q has no function that reads it", t.URITemplate)
	}
	b := quote([]byte(`{"uriTemplate":`), t.URITemplate)
	b = appendDescription(b, description{
		name: t.Name, fallback: t.URITemplate, title: t.Title, text: t.Description, mimeType: t.MIMEType,
		annotations: t.Annotations, meta: t.Meta,
	})
	def, err := tidy(append(b, '}'))
	if err != nil {
		return junctor.Errorf(junctor.CodeInvalid, "template %q: its annotations or _meta are not JSON: %w", t.URITemplate, err)
	}
	added := &template{Template: t, json: def, pattern: p, read: read}
	return s.change(func(it *items) error {
		if it.templates[t.URITemplate] != nil {
			return junctor.Errorf(junctor.CodeConflict, "server %q already has template %q", s.id, t.URITemplate)
		}
		it.templates[t.URITemplate] = added
		it.templateOrder = append(it.templateOrder, t.URITemplate)
		return nil
	})
}

// RemoveTemplate removes a template, and says whether it was there.
func (s *Server) RemoveTemplate(uriTemplate string) bool {
	return s.change(func(it *items) error {
		if it.templates[uriTemplate] == nil {
			return s.notFound("template", uriTemplate)
		}
		delete(it.templates, uriTemplate)
		it.templateOrder = drop(it.templateOrder, uriTemplate)
		return nil
	}) == nil
}

// match finds the first template that fits uri.
func (it *items) match(uri string) (*template, map[string]string) {
	for _, name := range it.templateOrder {
		t := it.templates[name]
		if vars, ok := t.pattern.match(uri); ok {
			return t, vars
		}
	}
	return nil, nil
}
