package catalog

import (
	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// forProfile returns the version as clients of a profile are shown it. It is
// computed once per version and profile; versions live as long as their
// definition stays the same.
func (v *ToolVersion) forProfile(p junctor.Profile) *ToolVersion {
	if p == junctor.ProfileNone || v.formatFor == nil {
		return v
	}
	if done, ok := v.byProfile.Load(p); ok {
		return done.(*ToolVersion) //nolint:forcetypeassert // it holds nothing else
	}
	changed := *v
	if changed.JSON = v.formatFor(p); v.nameJSON != nil {
		changed.nameJSON = wire.Get(changed.JSON, "name")
	}
	changed.older = formForOlder(changed.JSON)
	done, _ := v.byProfile.LoadOrStore(p, &changed)
	return done.(*ToolVersion) //nolint:forcetypeassert // it holds nothing else
}

// Taken translates the arguments that a client of a profile sends into those
// that the tool's own schema describes.
func (v *ToolVersion) Taken(p junctor.Profile, arguments []byte) []byte {
	if p == junctor.ProfileNone || v.readArguments == nil || arguments == nil {
		return arguments
	}
	return v.readArguments(p, arguments)
}
