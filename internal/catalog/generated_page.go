package catalog

import "github.com/junctor-mcp/junctor/internal/wire"

// withGeneratedPage returns the version with a definition that names the
// generated page, in the same member in which a definition names its own page.
func (v *ToolVersion) withGeneratedPage() *ToolVersion {
	if v.generatedPage == "" || v.ownPage != "" {
		return v
	}
	meta := objectOrEmpty(wire.Get(v.JSON, "_meta"))
	ui := wire.AppendObject(nil, objectOrEmpty(wire.Get(meta, "ui")), nil, stringMember("resourceUri", v.generatedPage))
	meta = wire.AppendObject(nil, meta, nil, wire.Member{Key: "ui", Value: ui})
	changed := *v
	if changed.JSON = wire.AppendObject(nil, v.JSON, nil, wire.Member{Key: "_meta", Value: meta}); v.nameJSON != nil {
		changed.nameJSON = wire.Get(changed.JSON, "name")
	}
	return &changed
}

// WithPage returns a result that names the page of its tool. Hosts need it if
// they called CallTool, since they do not have the definition of the inner
// tool. shown is the name of that tool in the scope.
func (v *ToolVersion) WithPage(body []byte, shown string) []byte {
	page := v.Page()
	if page == "" {
		return body
	}
	meta := objectOrEmpty(wire.Get(body, "_meta"))
	ui := objectOrEmpty(wire.Get(meta, "ui"))
	if wire.Get(ui, "resourceUri") == nil { // otherwise the server has named another page
		ui = wire.AppendObject(nil, ui, nil, stringMember("resourceUri", page))
	}
	meta = wire.AppendObject(nil, meta, nil, wire.Member{Key: "ui", Value: ui}, stringMember(wire.MetaJunctorTool, shown))
	return wire.AppendObject(nil, body, nil, wire.Member{Key: "_meta", Value: meta})
}

// objectOrEmpty returns a JSON object, or {} for any other value.
func objectOrEmpty(raw []byte) []byte {
	if len(raw) == 0 || raw[0] != '{' {
		return []byte("{}")
	}
	return raw
}
