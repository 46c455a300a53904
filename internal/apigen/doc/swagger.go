package doc

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// readSwagger reads Swagger 2.0.
func readSwagger(ctx context.Context, in *Input) (*Document, string) {
	root, problems := in.Tree()
	version := root.Get("swagger")
	if version == nil {
		return nil, "it has no member swagger"
	}
	b := newBundle(ctx, in, root)
	b.problems = append(b.problems, problems...)
	d := &Document{Format: Swagger, Version: version.Str(), Schemas: b}
	if !strings.HasPrefix(d.Version, "2") {
		b.report(version.At, b.way("swagger"), Warning, UnknownValue, fmt.Sprintf("Version %q of Swagger is not known; it is read as 2.0.", truncateText(d.Version, 20)), "Write \"2.0\".")
	}
	b.info(d)
	s := swagger{bundle: b}
	d.Servers = s.own(in.URL)
	d.Schemes = b.schemes(root.Get("securityDefinitions"), b.way("securityDefinitions"))
	r := paths{bundle: b, doc: d, dialect: s}
	r.read()
	d.Models = b.models(root.Get("definitions"), b.way("definitions"))
	b.finish(d)
	return d, ""
}

// swagger reads what Swagger 2.0 says otherwise than OpenAPI 3.
type swagger struct{ *bundle }

// own is the server of host, basePath and schemes; what is missing is that of
// the document itself.
func (s swagger) own(from string) []Server {
	root := s.main.root
	host, base := root.Get("host").Str(), root.Get("basePath").Str()
	base = strings.TrimSuffix("/"+strings.TrimPrefix(base, "/"), "/")
	if host == "" {
		return s.ownServer(from, "/"+strings.TrimPrefix(base, "/"))
	}
	return []Server{{URL: s.scheme(root, from) + "://" + strings.TrimSuffix(host, "/") + base}}
}

// scheme is https wherever it is offered.
func (s swagger) scheme(n *Node, from string) string {
	schemes := s.strings(n.Get("schemes"), s.way("schemes"))
	switch {
	case slices.Contains(schemes, "https"), len(schemes) == 0 && !strings.HasPrefix(from, "http://"):
		return "https"
	default:
		return "http"
	}
}

// servers: an operation may have schemes of its own, on the same host.
func (s swagger) servers(_, op *Node, _ *where) []Server {
	host := s.main.root.Get("host").Str()
	if op.Get("schemes") == nil || host == "" {
		return nil
	}
	if scheme := s.scheme(op, ""); scheme != s.scheme(s.main.root, s.main.url) {
		base := s.main.root.Get("basePath").Str()
		return []Server{{URL: scheme + "://" + host + strings.TrimSuffix("/"+strings.TrimPrefix(base, "/"), "/")}}
	}
	return nil
}

// parameter reads one of query, header or path. One of the body or a form
// becomes part of the operation's body, see body.
func (s swagger) parameter(n *Node, w *where, op *Operation) (Param, bool) {
	switch n.Get("in").Str() {
	case "body":
		op.Body = &Body{Required: n.Get("required").True(), Declared: true, Description: n.Get("description").Str(), At: n.At}
		op.Body.Contents = []Content{{Schema: s.schema(n.Get("schema"), w.to("schema"))}}
		return Param{}, false
	case "formData":
		s.field(n, w, op)
		return Param{}, false
	}
	p := Param{In: Place(n.Get("in").Str()), Schema: s.schema(schemaOf(n), w)}
	p.Style, p.Explode = s.collection(n, p.In, w)
	return p, true
}

// collection is the style that a collectionFormat stands for. Those that a path
// or header does not have as a style of its own are kept: see apigen/call.
func (s swagger) collection(n *Node, in Place, w *where) (style string, explode bool) {
	format := n.Get("collectionFormat").Str()
	plain := "form"
	if in == InPath || in == InHeader {
		plain = "simple"
	}
	switch format {
	case "", "csv":
		return plain, false
	case "ssv":
		return "spaceDelimited", false
	case "pipes":
		return "pipeDelimited", false
	case "tsv":
		return "tabDelimited", false
	case "multi":
		return plain, plain == "form"
	default:
		s.report(n.Get("collectionFormat").At, w.to("collectionFormat"), Warning, UnknownValue, fmt.Sprintf("%q is no collectionFormat; csv is used.", truncateText(format, 40)), "Use csv, ssv, tsv, pipes or multi.")
		return plain, false
	}
}

// schemaOf takes the parts of a parameter that say what its values are.
func schemaOf(n *Node) *Node {
	schema := &Node{Kind: Object, At: n.At}
	if given := n.Get("schema"); given != nil && given.Kind == Object {
		return given // as OpenAPI 3 has it: often seen
	}
	for _, m := range n.Members {
		switch m.Key {
		case "name", "in", "required", "description", "collectionFormat", "allowEmptyValue", "deprecated":
		default:
			if !strings.HasPrefix(m.Key, "x-") || m.Key == "x-nullable" {
				schema.Members = append(schema.Members, m)
			}
		}
	}
	return schema
}

// field adds a field to the form that an operation takes.
func (s swagger) field(n *Node, w *where, op *Operation) {
	if op.Body == nil || len(op.Body.Contents) == 0 || op.Body.Contents[0].Encoding == nil {
		form := &Node{Kind: Object, translated: true, At: n.At}
		form.setMember("type", NewString("object", n.At))
		form.setMember("properties", &Node{Kind: Object, At: n.At})
		form.setMember("required", &Node{Kind: Array, At: n.At})
		op.Body = &Body{Declared: true, At: n.At, Contents: []Content{{Schema: form, Encoding: map[string]Encoding{}}}}
	}
	form := op.Body.Contents[0]
	name := n.Get("name").Str()
	schema := s.schema(schemaOf(n), w)
	if d := n.Get("description"); d != nil {
		schema.setMember("description", d)
	}
	form.Schema.Get("properties").setMember(name, schema)
	required := form.Schema.Get("required")
	required.Items = slices.DeleteFunc(required.Items, func(c *Node) bool { return c.Text == name })
	if n.Get("required").True() {
		required.Items = append(required.Items, NewString(name, n.At))
		op.Body.Required = true
	}
	style, explode := s.collection(n, InQuery, w)
	form.Encoding[name] = Encoding{Style: style, Explode: &explode}
}

// body gives the body its media types. A form is one even where consumes names
// JSON alone.
func (s swagger) body(n *Node, w *where, op *Operation) {
	if op.Body == nil {
		return
	}
	consumes := s.inherited("consumes", n, w)
	content := op.Body.Contents[0]
	if content.Schema == nil {
		s.report(op.Body.At, w.to("parameters"), Warning, BodyUnknown, "The parameter in body has no schema; what the body holds is not known, and anything is taken.", "Add a schema.")
		op.lack(BodyUnknown)
	}
	if content.Encoding != nil {
		op.Body.Contents[0].Media = s.formMedia(content, consumes)
		return
	}
	if len(consumes) == 0 {
		consumes = []string{"application/json"}
	}
	op.Body.Contents = nil
	for _, media := range consumes {
		if strings.HasPrefix(media, "multipart/") || media == "application/x-www-form-urlencoded" {
			if len(consumes) > 1 {
				continue // a body that is no form
			}
			media = "application/json"
		}
		op.Body.Contents = append(op.Body.Contents, Content{Media: media, Schema: content.Schema})
	}
}

func (s swagger) formMedia(content Content, consumes []string) string {
	const form, multipart = "application/x-www-form-urlencoded", "multipart/form-data"
	for _, p := range content.Schema.Get("properties").Members {
		if p.Value.Get("format").Str() == "binary" && p.Value.Get("type").Str() == "string" {
			return multipart
		}
	}
	if slices.Contains(consumes, multipart) && !slices.Contains(consumes, form) {
		return multipart
	}
	return form
}

// inherited is a list of media types of the operation, or the document's.
func (s swagger) inherited(key string, n *Node, w *where) []string {
	if n.Get(key) != nil {
		return s.strings(n.Get(key), w.to(key))
	}
	return s.strings(s.main.root.Get(key), s.way(key))
}

func (s swagger) response(n *Node, w *where, op *Node) []Content {
	schema := n.Get("schema")
	if schema == nil {
		return nil
	}
	produces := s.inherited("produces", op, w.up.up)
	if len(produces) == 0 {
		produces = []string{"application/json"}
	}
	list := make([]Content, 0, len(produces))
	for _, media := range produces {
		list = append(list, Content{Media: media, Schema: s.schema(schema, w.to("schema"))})
	}
	return list
}
