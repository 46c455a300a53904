package doc

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// readOpenAPI reads OpenAPI 3.0, 3.1 and 3.2.
func readOpenAPI(ctx context.Context, in *Input) (*Document, string) {
	root, problems := in.Tree()
	version := root.Get("openapi")
	if version == nil {
		return nil, "it has no member openapi"
	}
	b := newBundle(ctx, in, root)
	b.problems = append(b.problems, problems...)
	d := &Document{Format: OpenAPI, Version: version.Str(), Schemas: b}
	if !strings.HasPrefix(d.Version, "3.") {
		b.report(version.At, b.way("openapi"), Warning, UnknownValue, fmt.Sprintf("Version %q of OpenAPI is not known; it is read as 3.1.", truncateText(d.Version, 20)), "Write 3.1.0.")
	}
	b.info(d)
	components := root.Get("components")
	d.Servers = b.servers(root, b.way())
	if len(d.Servers) == 0 {
		d.Servers = b.ownServer(in.URL, "/")
	}
	d.Schemes = b.schemes(components.Get("securitySchemes"), b.way("components", "securitySchemes"))
	r := paths{bundle: b, doc: d, dialect: openapi{b}}
	r.read()
	d.Models = b.models(components.Get("schemas"), b.way("components", "schemas"))
	b.finish(d)
	return d, ""
}

// way is the way to a value from the document's root.
func (b *bundle) way(segments ...string) *where {
	w := &where{}
	for _, s := range segments {
		w = w.to(s)
	}
	return w
}

// finish looks at what is left and ends fetching.
func (b *bundle) finish(d *Document) {
	b.rest()
	b.duplicates(b.main.root, b.way(), 0)
	b.ctx, b.seen = nil, nil
	d.Problems = b.problems
}

// info takes the title and version of the API.
func (b *bundle) info(d *Document) {
	root := b.main.root
	info := root.Get("info")
	if info == nil || info.Kind != Object {
		b.report(root.keyPosition("info"), b.way("info"), Warning, Missing, "The document has no info.", "Add info with a title and a version.")
		return
	}
	d.Title, d.Edition, d.Description = info.Get("title").Str(), info.Get("version").Str(), info.Get("description").Str()
	if info.Get("title") == nil {
		b.report(root.keyPosition("info"), b.way("info", "title"), Warning, Missing, "info has no title.", "Give the API a name.")
	}
	if info.Get("version") == nil {
		b.report(info.At, b.way("info", "version"), Warning, Missing, "info has no version.", "Write the version of the API, such as \"1.0\".")
	}
}

// models lists the data models, and looks at those that no operation uses.
func (b *bundle) models(schemas *Node, w *where) []Model {
	if schemas == nil {
		return nil
	}
	models := make([]Model, 0, len(schemas.Members))
	for _, m := range schemas.Members {
		b.schema(m.Value, w.to(m.Key))
		model := Model{Name: m.Key, At: m.At}
		if p := m.Value.Get("properties"); p != nil {
			for _, field := range p.Members {
				model.Fields = append(model.Fields, field.Key)
			}
		}
		models = append(models, model)
	}
	return models
}

// duplicates reports members that stand in one object twice. The last one counts.
func (b *bundle) duplicates(n *Node, w *where, depth int) {
	if n == nil || depth > maxDepth {
		return
	}
	for i, m := range n.Members {
		if i > 0 && slices.ContainsFunc(n.Members[:min(i, 64)], func(o Member) bool { return o.Key == m.Key }) {
			b.report(m.At, w.to(m.Key), Warning, DuplicateKey, fmt.Sprintf("%q stands here a second time; the last one counts.", truncateText(m.Key, 80)), "Take one of them out.")
		}
		if i == 64 {
			b.wideDuplicates(n, w)
		}
		b.duplicates(m.Value, &where{w, m.Key}, depth+1)
	}
	for i, c := range n.Items {
		if c.Kind >= Array {
			b.duplicates(c, &where{w, fmt.Sprint(i)}, depth+1)
		}
	}
}

// wideDuplicates is duplicates for objects with many members.
func (b *bundle) wideDuplicates(n *Node, w *where) {
	seen := make(map[string]bool, len(n.Members))
	for _, m := range n.Members {
		if seen[m.Key] {
			b.report(m.At, w.to(m.Key), Warning, DuplicateKey, fmt.Sprintf("%q stands here a second time; the last one counts.", truncateText(m.Key, 80)), "Take one of them out.")
		}
		seen[m.Key] = true
	}
}

// openapi reads what OpenAPI 3 says otherwise than Swagger 2.0.
type openapi struct{ *bundle }

// parameter reads one parameter; what it says of a body is of Swagger alone.
func (o openapi) parameter(n *Node, w *where, _ *Operation) (Param, bool) {
	p := Param{Style: n.Get("style").Str(), Reserved: n.Get("allowReserved").True()}
	p.In = Place(n.Get("in").Str())
	if content := n.Get("content"); content != nil && content.Kind == Object && len(content.Members) > 0 {
		m := content.Members[0]
		p.Media = m.Key
		media := o.deref(m.Value, w.to("content").to(m.Key))
		p.Schema = o.schema(media.Get("schema"), w.to("content").to(m.Key).to("schema"))
	} else {
		p.Schema = o.schema(n.Get("schema"), w.to("schema"))
	}
	o.style(&p, n, w)
	return p, true
}

// style fills in the defaults, and corrects what cannot be.
func (o openapi) style(p *Param, n *Node, w *where) {
	byPlace := map[Place][]string{
		InPath: {"simple", "label", "matrix"}, InHeader: {"simple"}, InCookie: {"form", "cookie"},
		InQuery: {"form", "spaceDelimited", "pipeDelimited", "deepObject"}, InQueryString: {"form"},
	}[p.In]
	if len(byPlace) == 0 {
		return
	}
	if p.Style != "" && !slices.Contains(byPlace, p.Style) {
		o.report(n.Get("style").At, w.to("style"), Warning, UnknownValue,
			fmt.Sprintf("A parameter in %s has no style %q; %s is used.", p.In, truncateText(p.Style, 40), byPlace[0]), "Use one of "+strings.Join(byPlace, ", ")+".")
		p.Style = ""
	}
	if p.Style == "" {
		p.Style = byPlace[0]
	}
	p.Explode = p.Style == "form" || p.Style == "cookie" || p.Style == "deepObject"
	if e := n.Get("explode"); e != nil && p.Style != "deepObject" {
		p.Explode = e.True()
	}
}

// body reads requestBody.
func (o openapi) body(n *Node, w *where, op *Operation) {
	rb := n.Get("requestBody")
	if rb == nil || rb.Kind == Null {
		return
	}
	w = w.to("requestBody")
	at := n.keyPosition("requestBody")
	if rb = o.deref(rb, w); rb == nil {
		op.fail(UnresolvedRef)
		return
	}
	if rb.Kind != Object {
		o.report(rb.At, w, Error, WrongType, "requestBody must be an object; what it holds is not known, and any JSON is taken.", "Write an object with content.")
		op.takeAnyBody(&Body{Declared: true, At: at})
		return
	}
	required := rb.Get("required")
	op.Body = &Body{Required: required.True(), Declared: required != nil, Description: rb.Get("description").Str(), At: at}
	op.Body.Contents = o.contents(rb.Get("content"), w.to("content"))
	switch {
	case len(op.Body.Contents) == 0:
		o.report(rb.keyPosition("content"), w.to("content"), Error, Missing, "requestBody has no content; what it holds is not known, and any JSON is taken.", "Add content with a media type and its schema.")
		op.takeAnyBody(op.Body)
	case !slices.ContainsFunc(op.Body.Contents, func(c Content) bool { return c.Schema != nil || c.Item != nil || !structured(c.Media) }):
		o.report(rb.keyPosition("content"), w.to("content"), Warning, BodyUnknown, "No media type of requestBody has a schema; what it holds is not known, and anything is taken.", "Add a schema.")
		op.lack(BodyUnknown)
	}
}

// takeAnyBody lets an operation take any JSON, where the document says that it has
// a body and not what is in it.
func (op *Operation) takeAnyBody(body *Body) {
	body.Contents = []Content{{Media: "application/json"}}
	op.Body = body
	op.lack(BodyUnknown)
}

// structured says whether a body of a media type has parts that a schema would
// name. A text or file is known without one.
func structured(media string) bool {
	media, _, _ = strings.Cut(strings.ToLower(media), ";")
	media = strings.TrimSpace(media)
	return strings.HasSuffix(media, "json") || media == "*/*" || media == "application/x-www-form-urlencoded" || strings.HasPrefix(media, "multipart/")
}

func (o openapi) response(n *Node, w *where, _ *Node) []Content {
	return o.contents(n.Get("content"), w.to("content"))
}

func (o openapi) contents(content *Node, w *where) []Content {
	if content == nil || content.Kind != Object {
		return nil
	}
	list := make([]Content, 0, len(content.Members))
	for _, m := range content.Members {
		at := w.to(m.Key)
		media := o.deref(m.Value, at)
		c := Content{Media: strings.TrimSpace(m.Key)}
		c.Schema = o.schema(media.Get("schema"), at.to("schema"))
		c.Item = o.schema(media.Get("itemSchema"), at.to("itemSchema"))
		if enc := media.Get("encoding"); enc != nil && enc.Kind == Object {
			c.Encoding = make(map[string]Encoding, len(enc.Members))
			for _, e := range enc.Members {
				one := Encoding{Media: e.Value.Get("contentType").Str(), Style: e.Value.Get("style").Str(), Reserved: e.Value.Get("allowReserved").True()}
				if x := e.Value.Get("explode"); x != nil {
					explode := x.True()
					one.Explode = &explode
				}
				c.Encoding[e.Key] = one
			}
		}
		list = append(list, c)
	}
	return list
}

func (o openapi) servers(item, op *Node, w *where) []Server {
	if list := o.bundle.servers(op, w); len(list) > 0 {
		return list
	}
	return o.bundle.servers(item, w.up)
}
