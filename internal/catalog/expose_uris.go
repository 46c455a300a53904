package catalog

import (
	"slices"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// ExposeURIs rewrites the URIs of the resources in a result as endpoints that
// join servers show them. A client can then read a resource that a tool or
// prompt mentioned. All other bytes stay the same; a result without URIs is
// returned as it is.
func ExposeURIs(server string, kind junctor.Kind, body []byte) []byte {
	if !wire.MentionsAny(body, `uri"`, "ui://") {
		return body
	}
	e := uriEditor{server: server, body: body}
	switch kind {
	case junctor.KindTool:
		e.exposeBlocks(wire.Get(body, "content"))
		e.exposePageURIs(wire.Get(body, "_meta"))
	case junctor.KindResource:
		for c := range wire.Elements(wire.Get(body, "contents")) {
			e.exposeMember(c)
		}
	case junctor.KindPrompt:
		for m := range wire.Elements(wire.Get(body, "messages")) {
			e.exposeBlock(wire.Get(m, "content"))
		}
		e.exposePageURIs(wire.Get(body, "_meta"))
	default: // results of other kinds have no URIs
	}
	return e.applyEdits()
}

// exposePages rewrites the page URIs of a definition in the same way, in both
// members that may hold one: hosts read either.
func exposePages(server string, def *ToolVersion) *ToolVersion {
	if !wire.MentionsAny(def.JSON, "ui://") {
		return def
	}
	e := uriEditor{server: server, body: def.JSON}
	e.exposePageURIs(wire.Get(def.JSON, "_meta"))
	changed := *def
	if changed.JSON = e.applyEdits(); def.nameJSON != nil {
		changed.nameJSON = wire.Get(changed.JSON, "name")
	}
	return &changed
}

// uriEditor collects the replacements of URIs in one JSON text, and makes them
// in one pass.
type uriEditor struct {
	server string
	body   []byte
	edits  []textEdit
}

// textEdit replaces the bytes from at to end.
type textEdit struct {
	at, end int
	text    []byte
}

// exposeBlocks rewrites a list of content blocks.
func (e *uriEditor) exposeBlocks(content []byte) {
	for b := range wire.Elements(content) {
		e.exposeBlock(b)
	}
}

// exposeBlock rewrites one content block. A link has a URI of its own; an
// embedded resource contains one.
func (e *uriEditor) exposeBlock(b []byte) {
	switch kind, _ := wire.String(wire.Get(b, "type")); kind {
	case "resource_link":
		e.exposeMember(b)
	case "resource":
		e.exposeMember(wire.Get(b, "resource"))
	}
}

// exposePageURIs rewrites the _meta of a tool or a result, which may name a
// page in two members.
func (e *uriEditor) exposePageURIs(meta []byte) {
	e.exposeURI(wire.Get(wire.Get(meta, "ui"), "resourceUri"))
	e.exposeURI(wire.Get(meta, "ui/resourceUri"))
}

// exposeMember rewrites the member uri of an object.
func (e *uriEditor) exposeMember(object []byte) { e.exposeURI(wire.Get(object, "uri")) }

// exposeURI rewrites one URI. raw must be a slice of body.
func (e *uriEditor) exposeURI(raw []byte) {
	uri, ok := wire.String(raw)
	if !ok {
		return
	}
	at := wire.Offset(e.body, raw)
	e.edits = append(e.edits, textEdit{at, at + len(raw), wire.AppendString(nil, ExposedURI(e.server, uri))})
}

// applyEdits returns the text with all replacements.
func (e *uriEditor) applyEdits() []byte {
	if len(e.edits) == 0 {
		return e.body
	}
	// Members may stand in any order, and the text is written in one pass.
	slices.SortFunc(e.edits, func(a, b textEdit) int { return a.at - b.at })
	out := make([]byte, 0, len(e.body)+len(e.edits)*(len(e.server)+2))
	from := 0
	for _, x := range e.edits {
		out = append(out, e.body[from:x.at]...)
		out = append(out, x.text...)
		from = x.end
	}
	return append(out, e.body[from:]...)
}
