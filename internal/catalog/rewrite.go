package catalog

import (
	"slices"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// ExposeURIs gives a result with the URIs of its resources as a joined view
// shows them, so that a client can read what a tool or prompt pointed it to.
// All other bytes stay as they are; a result without URIs is returned as it is.
func ExposeURIs(server string, kind junctor.Kind, body []byte) []byte {
	if !wire.Mentions(body, `uri"`, "ui://") {
		return body
	}
	e := editor{server: server, body: body}
	switch kind {
	case junctor.KindTool:
		e.blocks(wire.Get(body, "content"))
		e.pages(wire.Get(body, "_meta"))
	case junctor.KindResource:
		for c := range wire.Elements(wire.Get(body, "contents")) {
			e.uri(c)
		}
	case junctor.KindPrompt:
		for m := range wire.Elements(wire.Get(body, "messages")) {
			e.block(wire.Get(m, "content"))
		}
		e.pages(wire.Get(body, "_meta"))
	default: // their results point to nothing
	}
	return e.apply()
}

// exposePages gives a tool whose definition names its pages as a joined view shows
// them, in both places where a definition may: hosts read what they find there.
func exposePages(server string, def *ToolVersion) *ToolVersion {
	if !wire.Mentions(def.JSON, "ui://") {
		return def
	}
	e := editor{server: server, body: def.JSON}
	e.pages(wire.Get(def.JSON, "_meta"))
	changed := *def
	if changed.JSON = e.apply(); def.name != nil {
		changed.name = wire.Get(changed.JSON, "name")
	}
	return &changed
}

// editor gathers replacements.
type editor struct {
	server string
	body   []byte
	edits  []edit
}

type edit struct {
	at, end int
	text    []byte
}

func (e *editor) blocks(content []byte) {
	for b := range wire.Elements(content) {
		e.block(b)
	}
}

// block handles one content block: a link names a URI itself, an embedded
// resource holds one.
func (e *editor) block(b []byte) {
	switch kind, _ := wire.String(wire.Get(b, "type")); kind {
	case "resource_link":
		e.uri(b)
	case "resource":
		e.uri(wire.Get(b, "resource"))
	}
}

// pages handles the _meta of a tool or a result, which may name a page in two
// places.
func (e *editor) pages(meta []byte) {
	e.replace(wire.Get(wire.Get(meta, "ui"), "resourceUri"))
	e.replace(wire.Get(meta, "ui/resourceUri"))
}

func (e *editor) uri(object []byte) { e.replace(wire.Get(object, "uri")) }

// replace exposes a URI; raw is where it stands.
func (e *editor) replace(raw []byte) {
	uri, ok := wire.String(raw)
	if !ok {
		return
	}
	at := wire.Offset(e.body, raw)
	e.edits = append(e.edits, edit{at, at + len(raw), wire.AppendString(nil, ExposedURI(e.server, uri))})
}

func (e *editor) apply() []byte {
	if len(e.edits) == 0 {
		return e.body
	}
	slices.SortFunc(e.edits, func(a, b edit) int { return a.at - b.at })
	out := make([]byte, 0, len(e.body)+len(e.edits)*(len(e.server)+2))
	from := 0
	for _, x := range e.edits {
		out = append(out, e.body[from:x.at]...)
		out = append(out, x.text...)
		from = x.end
	}
	return append(out, e.body[from:]...)
}
