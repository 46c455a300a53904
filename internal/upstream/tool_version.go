package upstream

import (
	"slices"

	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// Bounds of the versions that a server declares for one tool.
const (
	maxVersions    = 16
	maxVersionName = 64
)

// toolVersions are the definitions of a tool that a server lists: one, unless the
// server declares versions of it in _meta, as Junctor does. It lists the definition
// of its default version alone. The others take whatever arguments a caller sends:
// the server knows their schemas, and checks.
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

func isVersionName(text string) bool { return text != "" && len(text) <= maxVersionName }
