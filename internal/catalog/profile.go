package catalog

import (
	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// in gives a version of a tool as clients of a profile are shown it. It is made
// once: versions are kept for as long as they stay the same.
func (v *ToolVersion) in(p junctor.Profile) *ToolVersion {
	if p == junctor.ProfileNone || v.as == nil {
		return v
	}
	if done, ok := v.shaped.Load(p); ok {
		return done.(*ToolVersion) //nolint:forcetypeassert // it holds nothing else
	}
	changed := *v
	if changed.JSON = v.as(p); v.name != nil {
		changed.name = wire.Get(changed.JSON, "name")
	}
	changed.older = formForOlder(changed.JSON)
	done, _ := v.shaped.LoadOrStore(p, &changed)
	return done.(*ToolVersion) //nolint:forcetypeassert // it holds nothing else
}

// Taken gives the arguments that a client of a profile means by those it sends.
func (v *ToolVersion) Taken(p junctor.Profile, arguments []byte) []byte {
	if p == junctor.ProfileNone || v.take == nil || arguments == nil {
		return arguments
	}
	return v.take(p, arguments)
}
