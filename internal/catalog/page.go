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

func objectOf(raw []byte) []byte {
	if len(raw) == 0 || raw[0] != '{' {
		return []byte("{}")
	}
	return raw
}
