package doc

import (
	"context"
	"fmt"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// readSwagger is the Reader of Swagger 2.0.
func readSwagger(ctx context.Context, in *Input) (*Document, string) {
	root, problems := in.ParseTree()
	version := root.Get("swagger")
	if version == nil {
		return nil, "it has no field swagger"
	}
	b := newBundle(ctx, in, root)
	b.problems = append(b.problems, problems...)
	d := &Document{Format: Swagger, Version: version.ScalarText(), Schemas: b}
	if !strings.HasPrefix(d.Version, "2") {
		b.reportProblem(version.At, b.pathFromRoot("swagger"), Warning, UnknownValue, fmt.Sprintf("Version %q of Swagger is unknown; the document is read as 2.0.", junctor.ShortenText(d.Version, 20)), "Write \"2.0\".")
	}
	b.readInfo(d)
	s := swaggerDialect{bundle: b}
	d.Servers = s.readHostServer(in.URL)
	d.Schemes = b.readSchemes(root.Get("securityDefinitions"), b.pathFromRoot("securityDefinitions"))
	r := pathsReader{bundle: b, doc: d, dialect: s}
	r.readPaths()
	d.Models = b.readModels(root.Get("definitions"), b.pathFromRoot("definitions"))
	b.finishDocument(d)
	return d, ""
}

// swaggerDialect reads the parts that Swagger 2.0 writes differently from
// OpenAPI 3.
type swaggerDialect struct{ *bundle }

// readHostServer returns the server of host, basePath and schemes. Missing
// parts are those of the document's own address.
func (s swaggerDialect) readHostServer(from string) []Server {
	root := s.mainFile.root
	host, base := root.Get("host").ScalarText(), root.Get("basePath").ScalarText()
	base = strings.TrimSuffix("/"+strings.TrimPrefix(base, "/"), "/")
	if host == "" {
		return s.documentServer(from, "/"+strings.TrimPrefix(base, "/"))
	}
	return []Server{{URL: s.chooseScheme(root, from) + "://" + strings.TrimSuffix(host, "/") + base}}
}

// chooseScheme returns https wherever the document offers it, or offers nothing
// and was not itself loaded by http.
func (s swaggerDialect) chooseScheme(n *Node, from string) string {
	schemes := s.readStrings(n.Get("schemes"), s.pathFromRoot("schemes"))
	switch {
	case slices.Contains(schemes, "https"), len(schemes) == 0 && !strings.HasPrefix(from, "http://"):
		return "https"
	default:
		return "http"
	}
}

// operationServers returns a server only if the operation declares schemes of
// its own that change the URL.
func (s swaggerDialect) operationServers(_, op *Node, _ *pointerPath) []Server {
	host := s.mainFile.root.Get("host").ScalarText()
	if op.Get("schemes") == nil || host == "" {
		return nil
	}
	if scheme := s.chooseScheme(op, ""); scheme != s.chooseScheme(s.mainFile.root, s.mainFile.url) {
		base := s.mainFile.root.Get("basePath").ScalarText()
		return []Server{{URL: scheme + "://" + host + strings.TrimSuffix("/"+strings.TrimPrefix(base, "/"), "/")}}
	}
	return nil
}

// readParameter reads a parameter of query, header or path. A parameter in body
// or formData becomes part of the operation's body, which readBody completes.
func (s swaggerDialect) readParameter(n *Node, w *pointerPath, op *Operation) (Param, bool) {
	switch n.Get("in").ScalarText() {
	case "body":
		op.Body = &Body{Required: n.Get("required").IsTrue(), DeclaresRequired: true, Description: n.Get("description").ScalarText(), At: n.At}
		op.Body.Contents = []Content{{Schema: s.translateSchema(n.Get("schema"), w.childPath("schema"))}}
		return Param{}, false
	case "formData":
		s.addFormField(n, w, op)
		return Param{}, false
	}
	p := Param{In: Place(n.Get("in").ScalarText()), Schema: s.translateSchema(parameterSchema(n), w)}
	p.Style, p.Explode = s.readCollectionFormat(n, p.In, w)
	return p, true
}

// readCollectionFormat returns the style that a collectionFormat stands for. It
// also returns styles that a path or header does not have in OpenAPI 3;
// apigen/call sends them all the same.
func (s swaggerDialect) readCollectionFormat(n *Node, in Place, w *pointerPath) (style string, explode bool) {
	format := n.Get("collectionFormat").ScalarText()
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
		s.reportProblem(n.Get("collectionFormat").At, w.childPath("collectionFormat"), Warning, UnknownValue, fmt.Sprintf("%q is not a collectionFormat; csv is used.", junctor.ShortenText(format, 40)), "Use csv, ssv, tsv, pipes or multi.")
		return plain, false
	}
}

// parameterSchema returns the members of a parameter that describe its values,
// as a schema.
func parameterSchema(n *Node) *Node {
	schema := &Node{Kind: Object, At: n.At}
	if given := n.Get("schema"); given != nil && given.Kind == Object {
		return given // the notation of OpenAPI 3, a common mistake
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

// addFormField adds a formData parameter to the form that an operation takes.
// Content.Encoding is non-nil for forms only; readBody tells forms by it.
func (s swaggerDialect) addFormField(n *Node, w *pointerPath, op *Operation) {
	if op.Body == nil || len(op.Body.Contents) == 0 || op.Body.Contents[0].Encoding == nil {
		form := &Node{Kind: Object, translated: true, At: n.At}
		form.setMember("type", NewString("object", n.At))
		form.setMember("properties", &Node{Kind: Object, At: n.At})
		form.setMember("required", &Node{Kind: Array, At: n.At})
		op.Body = &Body{DeclaresRequired: true, At: n.At, Contents: []Content{{Schema: form, Encoding: map[string]Encoding{}}}}
	}
	form := op.Body.Contents[0]
	name := n.Get("name").ScalarText()
	schema := s.translateSchema(parameterSchema(n), w)
	if d := n.Get("description"); d != nil {
		schema.setMember("description", d)
	}
	form.Schema.Get("properties").setMember(name, schema)
	required := form.Schema.Get("required")
	required.Items = slices.DeleteFunc(required.Items, func(c *Node) bool { return c.Text == name })
	if n.Get("required").IsTrue() {
		required.Items = append(required.Items, NewString(name, n.At))
		op.Body.Required = true
	}
	style, explode := s.readCollectionFormat(n, InQuery, w)
	form.Encoding[name] = Encoding{Style: style, Explode: &explode}
}

// readBody sets the media types of the body. A form stays a form even if
// consumes names JSON only.
func (s swaggerDialect) readBody(n *Node, w *pointerPath, op *Operation) {
	if op.Body == nil {
		return
	}
	consumes := s.readMediaTypes("consumes", n, w)
	content := op.Body.Contents[0]
	if content.Schema == nil {
		s.reportProblem(op.Body.At, w.childPath("parameters"), Warning, BodyUnknown, "The parameter in body has no schema; the content of the body is unknown, and any value is accepted.", "Add a schema.")
		op.markPartial(BodyUnknown)
	}
	if content.Encoding != nil {
		op.Body.Contents[0].Media = s.chooseFormMedia(content, consumes)
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

// chooseFormMedia returns multipart/form-data for a form with a file or if
// consumes names nothing else, and the URL-encoded form otherwise.
func (s swaggerDialect) chooseFormMedia(content Content, consumes []string) string {
	const form, multipart = "application/x-www-form-urlencoded", "multipart/form-data"
	for _, p := range content.Schema.Get("properties").Members {
		if p.Value.Get("format").ScalarText() == "binary" && p.Value.Get("type").ScalarText() == "string" {
			return multipart
		}
	}
	if slices.Contains(consumes, multipart) && !slices.Contains(consumes, form) {
		return multipart
	}
	return form
}

// readMediaTypes returns the media types of the operation, or else those of the
// document. key is consumes or produces.
func (s swaggerDialect) readMediaTypes(key string, n *Node, w *pointerPath) []string {
	if n.Get(key) != nil {
		return s.readStrings(n.Get(key), w.childPath(key))
	}
	return s.readStrings(s.mainFile.root.Get(key), s.pathFromRoot(key))
}

// readResponse returns the schema of a response under each media type that the
// operation produces.
func (s swaggerDialect) readResponse(n *Node, w *pointerPath, op *Node) []Content {
	schema := n.Get("schema")
	if schema == nil {
		return nil
	}
	produces := s.readMediaTypes("produces", op, w.parent.parent)
	if len(produces) == 0 {
		produces = []string{"application/json"}
	}
	list := make([]Content, 0, len(produces))
	for _, media := range produces {
		list = append(list, Content{Media: media, Schema: s.translateSchema(schema, w.childPath("schema"))})
	}
	return list
}
