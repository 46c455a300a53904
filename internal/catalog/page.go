package catalog

import "github.com/junctor-mcp/junctor/internal/wire"

// paged gives a version of a tool whose definition names the page that was made
// for it, as that of a tool names its own.
func (v *ToolVersion) paged() *ToolVersion {
	if v.page == "" || v.own != "" {
		return v
	}
	meta := objectOf(wire.Get(v.JSON, "_meta"))
	ui := wire.AppendObject(nil, objectOf(wire.Get(meta, "ui")), nil, member("resourceUri", v.page))
	meta = wire.AppendObject(nil, meta, nil, wire.Member{Key: "ui", Value: ui})
	changed := *v
	if changed.JSON = wire.AppendObject(nil, v.JSON, nil, wire.Member{Key: "_meta", Value: meta}); v.name != nil {
		changed.name = wire.Get(changed.JSON, "name")
	}
	return &changed
}

// WithPage gives a result that names the page of the tool that it is of: for hosts
// that called another in its place, and so do not have its definition.
func (v *ToolVersion) WithPage(body []byte, shown string) []byte {
	page := v.Page()
	if page == "" {
		return body
	}
	meta := objectOf(wire.Get(body, "_meta"))
	ui := objectOf(wire.Get(meta, "ui"))
	if wire.Get(ui, "resourceUri") == nil { // else the server has named another
		ui = wire.AppendObject(nil, ui, nil, member("resourceUri", page))
	}
	meta = wire.AppendObject(nil, meta, nil, wire.Member{Key: "ui", Value: ui}, member(wire.MetaJunctorTool, shown))
	return wire.AppendObject(nil, body, nil, wire.Member{Key: "_meta", Value: meta})
}

func objectOf(raw []byte) []byte {
	if len(raw) == 0 || raw[0] != '{' {
		return []byte("{}")
	}
	return raw
}
