package pack

import (
	"cmp"
	"io/fs"
	"path"
	"slices"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/packs"
)

// Gallery returns the built-in packs, sorted by title. An error means that the binary
// was built with an invalid pack; a test prevents that.
func Gallery() ([]*Pack, error) {
	names, err := fs.Glob(packs.Files, "*.yaml")
	if err != nil {
		return nil, err
	}
	out := make([]*Pack, 0, len(names))
	for _, name := range names {
		text, err := packs.Files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		p, err := Parse("packs/"+name, text)
		if err != nil {
			return nil, err
		}
		if p.ID+path.Ext(name) != name {
			return nil, junctor.Errorf(junctor.CodeInternal, "packs/%s contains the pack %q", name, p.ID)
		}
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b *Pack) int { return cmp.Compare(a.Title, b.Title) })
	return out, nil
}
