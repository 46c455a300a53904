package builtin

import (
	"context"
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
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

// pattern is a URI template of RFC 6570 level 1: text, variable, text, …, text.
// Variables stand between texts, and no two touch.
type pattern struct {
	texts []string // one more than names
	names []string
}

func parsePattern(s string) (*pattern, error) {
	fail := func(why string) (*pattern, error) {
		return nil, junctor.Errorf(junctor.CodeInvalid, "%q is not a URI template that can be matched: %s", s, why)
	}
	p := &pattern{}
	rest := s
	for {
		text, after, found := strings.Cut(rest, "{")
		if strings.Contains(text, "}") {
			return fail("a } without {")
		}
		if text == "" && found && len(p.names) > 0 {
			return fail("two variables touch, so a URI could be read in several ways")
		}
		p.texts = append(p.texts, text)
		if !found {
			break
		}
		name, tail, closed := strings.Cut(after, "}")
		switch ok, _ := regexp.MatchString(`^[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)*$`, name); {
		case !closed:
			return fail("a { without }")
		case !ok:
			return fail("a variable is letters, digits, underscores and dots; operators are not supported")
		case p.has(name):
			return fail("variable " + name + " stands there twice")
		}
		p.names = append(p.names, name)
		rest = tail
	}
	if len(p.names) == 0 {
		return fail("it has no {variable}; add it as a resource")
	}
	return p, nil
}

func (p *pattern) has(name string) bool {
	for _, n := range p.names {
		if n == name {
			return true
		}
	}
	return false
}

// match reads the variables out of a URI. A value is at least one character and
// has no / ? or #; it is given with its percent escapes decoded.
//
// Taking each text at its first possible place is enough: a text without those
// characters may move to the front at the cost of the next value alone, and one
// with them has only one place where it can stand.
func (p *pattern) match(uri string) (map[string]string, bool) {
	rest, ok := strings.CutPrefix(uri, p.texts[0])
	if !ok {
		return nil, false
	}
	vars := make(map[string]string, len(p.names))
	for i, name := range p.names {
		text := p.texts[i+1]
		end := len(rest) - len(text)
		if i < len(p.names)-1 {
			if rest == "" {
				return nil, false
			}
			end = 1 + strings.Index(rest[1:], text)
		}
		if end < 1 || rest[end:end+len(text)] != text {
			return nil, false
		}
		value, err := url.PathUnescape(rest[:end])
		if err != nil || strings.ContainsAny(rest[:end], "/?#") {
			return nil, false
		}
		vars[name] = value
		rest = rest[end+len(text):]
	}
	return vars, true
}
