package apigen_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/internal/apigen"
	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// TestDocumentedOperations reads the document that docs/guides/apis.md shows for operations
// written by hand: each becomes a tool with its parameters, and nothing is a problem.
func TestDocumentedOperations(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "guides", "apis.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)```json\n(.*?\"operations\".*?)```").FindSubmatch(page)
	if found == nil {
		t.Fatal("docs/guides/apis.md shows no document with operations")
	}
	made, err := apigen.ImportAPI(t.Context(), doc.Source{Name: "notes.json", Text: found[1]}, nil, "notes", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if made.Document.Format != doc.Table {
		t.Errorf("it is read as %s", made.Document.Format)
	}
	for _, p := range made.Problems {
		if p.Severity != doc.Hint {
			t.Errorf("line %d: %s", p.At.Line, p.Message)
		}
	}
	var got []string
	for _, tool := range made.Tools {
		if len(tool.Incomplete)+len(tool.Partial) > 0 {
			t.Errorf("%s is incomplete: %v %v", tool.Name, tool.Incomplete, tool.Partial)
		}
		got = append(got, tool.Name+" "+tool.Key+" "+string(tool.Input))
	}
	want := []string{
		`list_notes GET /notes {"additionalProperties":false,"properties":{"limit":{"description":"At most so many","type":"integer"}},"type":"object"}`,
		`get_note_by_id GET /notes/{id} {"additionalProperties":false,"properties":{"id":{"type":"integer"}},"required":["id"],"type":"object"}`,
		`create_notes POST /notes {"additionalProperties":false,"properties":{"pinned":{"type":"boolean"},"title":{"type":"string"}},"required":["title"],"type":"object"}`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("the tools are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
