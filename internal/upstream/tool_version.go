package upstream

import (
	"slices"

	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// Bounds of the versions of one tool.
const (
	maxVersions    = 16
	maxVersionName = 64
)

// toolVersions gives the definitions of a tool in a server's list. There is one, unless
// the server declares versions in _meta, as Junctor does. Then the list has only the
// definition of the default version. The other versions accept any arguments here: the
// server knows their schemas and checks them.
func toolVersions(name string, raw []byte) []catalog.ToolDef {
	meta := wire.Get(raw, "_meta")
	current, ok := wire.String(wire.Get(meta, wire.MetaJunctorVersion))
	if !ok || !isVersionName(current) {
		return []catalog.ToolDef{{Name: name, JSON: raw}}
	}
	var names []string
	for one := range wire.Elements(wire.Get(meta, wire.MetaJunctorVersion+"s")) {
		version, ok := wire.String(one)
		if ok && isVersionName(version) && !slices.Contains(names, version) && len(names) < maxVersions {
			names = append(names, version)
		}
	}
	if !slices.Contains(names, current) {
		names = append(names, current)
	}
	defs := make([]catalog.ToolDef, 0, len(names))
	for _, version := range names {
		def := catalog.ToolDef{Name: name, JSON: raw, Version: version, Default: version == current}
		if !def.Default {
			def.JSON = wire.AppendObject(nil, raw, []string{"outputSchema"}, wire.Member{Key: "inputSchema", Value: []byte(`{"type":"object"}`)})
		}
		defs = append(defs, def)
	}
	return defs
}

// isVersionName reports whether text can name a version.
func isVersionName(text string) bool { return text != "" && len(text) <= maxVersionName }
