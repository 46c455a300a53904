package pack_test

import (
	"testing"

	"github.com/junctor-mcp/junctor/internal/apigen"
	"github.com/junctor-mcp/junctor/internal/apigen/doc"
	"github.com/junctor-mcp/junctor/internal/pack"
)

// The documents in packs of the gallery become tools, each of them whole, and the
// tools of which a pack says what they are for are among them.
func TestGalleryDocuments(t *testing.T) {
	t.Parallel()
	all, err := pack.Gallery()
	if err != nil {
		t.Fatal(err)
	}
	apis := 0
	for _, p := range all {
		f, err := p.Fill(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		names := map[string]bool{}
		for _, s := range f.Servers {
			if s.API == nil {
				continue
			}
			apis++
			if s.Document == "" { // at an address
				continue
			}
			made, err := apigen.ImportAPI(t.Context(), doc.Source{Name: p.ID, Text: []byte(s.Document)}, nil, s.ID, s.Connection().URL, nil)
			if err != nil || len(made.Problems) > 0 || len(made.Tools) == 0 {
				t.Errorf("%s: %v, %+v", s.ID, err, made.Problems)
				continue
			}
			for _, tool := range made.Tools {
				names[s.ID+"/"+tool.Name] = true
				if len(tool.Incomplete)+len(tool.Partial) > 0 || tool.Description == "" {
					t.Errorf("%s/%s: %+v", s.ID, tool.Name, tool)
				}
			}
		}
		for _, tool := range p.Tools {
			if !names[tool.Server+"/"+tool.Tool] {
				t.Errorf("%s says what %s/%s is for, which is not there: %v", p.ID, tool.Server, tool.Tool, names)
			}
		}
	}
	if apis < 4 {
		t.Errorf("%d APIs", apis)
	}
}
