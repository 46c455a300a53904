package doc

import (
	"context"
	"fmt"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// readOpenAPI is the Reader of OpenAPI 3.0, 3.1 and 3.2. An unknown version is
// read as 3.1.
func readOpenAPI(ctx context.Context, in *Input) (*Document, string) {
	root, problems := in.ParseTree()
	version := root.Get("openapi")
	if version == nil {
		return nil, "it has no field openapi"
	}
	b := newBundle(ctx, in, root)
	b.problems = append(b.problems, problems...)
	d := &Document{Format: OpenAPI, Version: version.ScalarText(), Schemas: b}
	if !strings.HasPrefix(d.Version, "3.") {
		b.reportProblem(version.At, b.pathFromRoot("openapi"), Warning, UnknownValue, fmt.Sprintf("Version %q of OpenAPI is unknown; the document is read as 3.1.", junctor.ShortenText(d.Version, 20)), "Write 3.1.0.")
	}
	b.readInfo(d)
	components := root.Get("components")
	d.Servers = b.readServers(root, b.pathFromRoot())
	if len(d.Servers) == 0 {
		d.Servers = b.documentServer(in.URL, "/")
	}
	d.Schemes = b.readSchemes(components.Get("securitySchemes"), b.pathFromRoot("components", "securitySchemes"))
	r := pathsReader{bundle: b, doc: d, dialect: openAPIDialect{b}}
	r.readPaths()
	d.Models = b.readModels(components.Get("schemas"), b.pathFromRoot("components", "schemas"))
	b.finishDocument(d)
	return d, ""
}

// pathFromRoot returns the path to a value from the root of the document.
func (b *bundle) pathFromRoot(segments ...string) *pointerPath {
	w := &pointerPath{}
	for _, s := range segments {
		w = w.childPath(s)
	}
	return w
}

// finishDocument translates the remaining schemas, hands the problems over and
// ends all fetching. The bundle does not change after it.
func (b *bundle) finishDocument(d *Document) {
	b.translatePending()
	b.ctx, b.reported = nil, nil
	d.Problems = b.problems
}

// readInfo reads the title, version and description of the API.
func (b *bundle) readInfo(d *Document) {
	root := b.mainFile.root
	info := root.Get("info")
	if info == nil || info.Kind != Object {
		b.reportProblem(root.keyPosition("info"), b.pathFromRoot("info"), Warning, Missing, "The document has no info.", "Add info with a title and a version.")
		return
	}
	d.Title, d.APIVersion, d.Description = info.Get("title").ScalarText(), info.Get("version").ScalarText(), info.Get("description").ScalarText()
	if info.Get("title") == nil {
		b.reportProblem(root.keyPosition("info"), b.pathFromRoot("info", "title"), Warning, Missing, "info has no title.", "Give the API a name.")
	}
	if info.Get("version") == nil {
		b.reportProblem(info.At, b.pathFromRoot("info", "version"), Warning, Missing, "info has no version.", "Write the version of the API, such as \"1.0\".")
	}
}

// readModels returns the data models. It also translates those that no
// operation uses, so that their problems are reported.
func (b *bundle) readModels(schemas *Node, w *pointerPath) []Model {
	if schemas == nil {
		return nil
	}
	models := make([]Model, 0, len(schemas.Members))
	for _, m := range schemas.Members {
		b.translateSchema(m.Value, w.childPath(m.Key))
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

// dropDuplicateKeys reports members that occur twice in one object, in n and all below,
// and drops all but the last one, as JSON parsers do. Otherwise those who list the
// members would use what those who look one up do not see.
func (b *bundle) dropDuplicateKeys(n *Node, w *pointerPath, depth int) {
	if n == nil || depth > maxDepth {
		return
	}
	if hasDuplicateKeys(n.Members) {
		kept := make(map[string]int, len(n.Members)) // the index of the last one
		for i, m := range n.Members {
			if _, ok := kept[m.Key]; ok {
				b.reportProblem(m.At, w.childPath(m.Key), Warning, DuplicateKey, fmt.Sprintf("%q is repeated here; the last one is used.", junctor.ShortenText(m.Key, 80)), "Remove one of them.")
			}
			kept[m.Key] = i
		}
		last := make([]Member, 0, len(kept))
		for i, m := range n.Members {
			if kept[m.Key] == i {
				last = append(last, m)
			}
		}
		n.Members = last
	}
	for _, m := range n.Members {
		b.dropDuplicateKeys(m.Value, &pointerPath{w, m.Key}, depth+1)
	}
	for i, c := range n.Items {
		if c.Kind >= Array {
			b.dropDuplicateKeys(c, &pointerPath{w, fmt.Sprint(i)}, depth+1)
		}
	}
}

// hasDuplicateKeys reports whether a key occurs twice. Most objects are small, and
// comparing their keys pairwise makes no garbage; for large ones it would take time with
// their square.
func hasDuplicateKeys(members []Member) bool {
	if len(members) > 64 {
		seen := make(map[string]bool, len(members))
		for _, m := range members {
			seen[m.Key] = true
		}
		return len(seen) < len(members)
	}
	for i, m := range members {
		if slices.ContainsFunc(members[:i], func(o Member) bool { return o.Key == m.Key }) {
			return true
		}
	}
	return false
}

// openAPIDialect reads the parts that OpenAPI 3 writes differently from Swagger
// 2.0.
type openAPIDialect struct{ *bundle }

// readParameter reads one parameter. OpenAPI 3 declares bodies elsewhere, so it
// always returns true.
func (o openAPIDialect) readParameter(n *Node, w *pointerPath, _ *Operation) (Param, bool) {
	p := Param{Style: n.Get("style").ScalarText(), AllowReserved: n.Get("allowReserved").IsTrue()}
	p.In = Place(n.Get("in").ScalarText())
	if content := n.Get("content"); content != nil && content.Kind == Object && len(content.Members) > 0 {
		m := content.Members[0]
		p.Media = m.Key
		media := o.followRefs(m.Value, w.childPath("content").childPath(m.Key))
		p.Schema = o.translateSchema(media.Get("schema"), w.childPath("content").childPath(m.Key).childPath("schema"))
	} else {
		p.Schema = o.translateSchema(n.Get("schema"), w.childPath("schema"))
	}
	o.setStyle(&p, n, w)
	return p, true
}

// setStyle sets the style and explode of a parameter: the declared ones, or the
// defaults of its place. A style that the place does not allow is reported and
// replaced.
func (o openAPIDialect) setStyle(p *Param, n *Node, w *pointerPath) {
	byPlace := map[Place][]string{
		InPath: {"simple", "label", "matrix"}, InHeader: {"simple"}, InCookie: {"form", "cookie"},
		InQuery: {"form", "spaceDelimited", "pipeDelimited", "deepObject"}, InQueryString: {"form"},
	}[p.In]
	if len(byPlace) == 0 {
		return
	}
	if p.Style != "" && !slices.Contains(byPlace, p.Style) {
		o.reportProblem(n.Get("style").At, w.childPath("style"), Warning, UnknownValue,
			fmt.Sprintf("A parameter in %s has no style %q; %s is used.", p.In, junctor.ShortenText(p.Style, 40), byPlace[0]), "Use one of "+strings.Join(byPlace, ", ")+".")
		p.Style = ""
	}
	if p.Style == "" {
		p.Style = byPlace[0]
	}
	p.Explode = p.Style == "form" || p.Style == "cookie" || p.Style == "deepObject"
	if e := n.Get("explode"); e != nil && p.Style != "deepObject" {
		p.Explode = e.IsTrue()
	}
}

// readBody reads requestBody into op. A body without known content still
// accepts any JSON, so that the operation stays callable.
func (o openAPIDialect) readBody(n *Node, w *pointerPath, op *Operation) {
	rb := n.Get("requestBody")
	if rb == nil || rb.Kind == Null {
		return
	}
	w = w.childPath("requestBody")
	at := n.keyPosition("requestBody")
	if rb = o.followRefs(rb, w); rb == nil {
		op.markIncomplete(UnresolvedRef)
		return
	}
	if rb.Kind != Object {
		o.reportProblem(rb.At, w, Error, WrongType, "requestBody must be an object; its content is unknown, and any JSON is accepted.", "Write an object with content.")
		op.acceptAnyBody(&Body{DeclaresRequired: true, At: at})
		return
	}
	required := rb.Get("required")
	op.Body = &Body{Required: required.IsTrue(), DeclaresRequired: required != nil, Description: rb.Get("description").ScalarText(), At: at}
	op.Body.Contents = o.readContents(rb.Get("content"), w.childPath("content"))
	switch {
	case len(op.Body.Contents) == 0:
		o.reportProblem(rb.keyPosition("content"), w.childPath("content"), Error, Missing, "requestBody has no content; its form is unknown, and any JSON is accepted.", "Add content with a media type and its schema.")
		op.acceptAnyBody(op.Body)
	case !slices.ContainsFunc(op.Body.Contents, func(c Content) bool { return c.Schema != nil || c.ItemSchema != nil || !isStructuredMedia(c.Media) }):
		o.reportProblem(rb.keyPosition("content"), w.childPath("content"), Warning, BodyUnknown, "No media type of requestBody has a schema; its content is unknown, and any value is accepted.", "Add a schema.")
		op.markPartial(BodyUnknown)
	}
}

// acceptAnyBody makes an operation accept any JSON. It is for documents that
// declare a body, but not its content.
func (op *Operation) acceptAnyBody(body *Body) {
	body.Contents = []Content{{Media: "application/json"}}
	op.Body = body
	op.markPartial(BodyUnknown)
}

// isStructuredMedia reports whether a body of a media type has parts that a
// schema would name. A text or a file needs no schema.
func isStructuredMedia(media string) bool {
	media, _, _ = strings.Cut(strings.ToLower(media), ";")
	media = strings.TrimSpace(media)
	return strings.HasSuffix(media, "json") || media == "*/*" || media == "application/x-www-form-urlencoded" || strings.HasPrefix(media, "multipart/")
}

// readResponse reads the contents of a response.
func (o openAPIDialect) readResponse(n *Node, w *pointerPath, _ *Node) []Content {
	return o.readContents(n.Get("content"), w.childPath("content"))
}

// readContents reads the media types of a body, with their schemas and
// encodings.
func (o openAPIDialect) readContents(content *Node, w *pointerPath) []Content {
	if content == nil || content.Kind != Object {
		return nil
	}
	list := make([]Content, 0, len(content.Members))
	for _, m := range content.Members {
		at := w.childPath(m.Key)
		media := o.followRefs(m.Value, at)
		c := Content{Media: strings.TrimSpace(m.Key)}
		c.Schema = o.translateSchema(media.Get("schema"), at.childPath("schema"))
		c.ItemSchema = o.translateSchema(media.Get("itemSchema"), at.childPath("itemSchema"))
		if enc := media.Get("encoding"); enc != nil && enc.Kind == Object {
			c.Encoding = make(map[string]Encoding, len(enc.Members))
			for _, e := range enc.Members {
				one := Encoding{Media: e.Value.Get("contentType").ScalarText(), Style: e.Value.Get("style").ScalarText(), AllowReserved: e.Value.Get("allowReserved").IsTrue()}
				if x := e.Value.Get("explode"); x != nil {
					explode := x.IsTrue()
					one.Explode = &explode
				}
				c.Encoding[e.Key] = one
			}
		}
		list = append(list, c)
	}
	return list
}

// operationServers returns the servers of the operation, or else those of its
// path item.
func (o openAPIDialect) operationServers(item, op *Node, w *pointerPath) []Server {
	if list := o.readServers(op, w); len(list) > 0 {
		return list
	}
	return o.readServers(item, w.parent)
}
