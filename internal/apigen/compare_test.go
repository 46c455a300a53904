package apigen_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/internal/apigen"
	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

const catsDocument = `openapi: 3.1.0
info: {title: Cats, version: '1'}
servers: [{url: https://cats.example.com}]
security: [{key: []}]
components: {securitySchemes: {key: {type: apiKey, in: header, name: X-Key}}}
paths:
  /cats:
    get:
      operationId: listCats
      description: List cats.
      parameters: [{name: size, in: query, schema: {type: integer}}]
      responses: {'200': {description: ok, content: {application/json: {schema: {type: object, properties: {a: {type: string}}}}}}}
`

// TestCompare: what differs is said, and whether callers that go on as before may
// fail of it.
func TestCompare(t *testing.T) {
	t.Parallel()
	const op = "    delete: {operationId: dropCats, description: Drop., responses: {'200': {description: ok}}}\n"
	for _, c := range []struct {
		name, old, now string // what is replaced in the later document
		want           string
		breaking       bool
	}{
		{"nothing", "", "", "", false},
		{"an operation more", "  /cats:\n", "  /cats:\n" + op, "added DELETE /cats:", false},
		{"another path", "  /cats:\n", "  /cat:\n", "added GET /cat:; removed GET /cats:", true},
		{"an argument less", "name: size", "name: count", "changed GET /cats: the argument size was removed, a new argument count", true},
		{"a new argument", "[{name: size", "[{name: new, in: query, schema: {type: string}}, {name: size", "changed GET /cats: a new argument new", false},
		{"a new one that is needed", "[{name: size", "[{name: new, in: query, required: true, schema: {type: string}}, {name: size", "changed GET /cats: a new argument new, which is required", true},
		{"needed now", "in: query", "in: query, required: true", "changed GET /cats: the argument size is now required", true},
		{"another type", "integer", "string", "changed GET /cats: the schema of the argument size", false},
		{"another host", "      operationId", "      servers: [{url: https://dogs.example.com}]\n      operationId", "changed GET /cats: it is called at another host", true},
		{"no authentication", "      operationId", "      security: []\n      operationId", "changed GET /cats: it no longer requires authentication", true},
		{"authentication if one likes", "      operationId", "      security: [{}, {key: []}]\n      operationId", "changed GET /cats: it no longer requires authentication", true},
		{"another description", "List cats.", "All cats.", "changed GET /cats: its description", false},
		{"another answer", "{a: {type: string}}", "{b: {type: string}}", "changed GET /cats: the schema of its answer", false},
		{"deprecated", "      operationId", "      deprecated: true\n      operationId", "changed GET /cats: its description, it is deprecated", false},
		{"sent otherwise", "in: query", "in: header", "changed GET /cats: the form of its request", false},
	} {
		before := made(t, catsDocument)
		later := strings.Replace(catsDocument, c.old, c.now, 1)
		if c.old != "" && later == catsDocument {
			t.Errorf("%s: nothing was replaced", c.name)
		}
		after, err := apigen.ImportAPI(t.Context(), doc.Source{Name: "it", Text: []byte(later)}, nil, "pets", "", apigen.NamesByKey(before.Tools))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var said []string
		breaking := false
		for _, ch := range apigen.Compare(before.Tools, after.Tools) {
			said = append(said, strings.TrimSpace(ch.Kind+" "+ch.Key+": "+strings.Join(ch.What, ", ")))
			breaking = breaking || ch.Breaking
		}
		slices.Sort(said)
		if got := strings.Join(said, "; "); got != c.want || breaking != c.breaking {
			t.Errorf("%s: %q, breaking %v; want %q, %v", c.name, got, breaking, c.want, c.breaking)
		}
	}
}

// TestCompareIncomplete: a tool that nobody could call breaks nobody when it goes.
func TestCompareIncomplete(t *testing.T) {
	t.Parallel()
	whole := made(t, catsDocument)
	broken := slices.Clone(whole.Tools)
	broken[0].Incomplete = []doc.Code{doc.NoServer}
	if got := apigen.Compare(broken, nil); len(got) != 1 || got[0].Kind != "removed" || got[0].Breaking {
		t.Errorf("gone: %+v", got)
	}
	if got := apigen.Compare(broken, whole.Tools); len(got) != 1 || got[0].Breaking || !slices.Equal(got[0].What, []string{"it can now be called"}) {
		t.Errorf("made whole: %+v", got)
	}
	if got := apigen.Compare(whole.Tools, broken); len(got) != 1 || !got[0].Breaking {
		t.Errorf("broken: %+v", got)
	}
	renamed := slices.Clone(whole.Tools)
	renamed[0].Name = "other"
	if got := apigen.Compare(whole.Tools, renamed); len(got) != 1 || !got[0].Breaking || got[0].Tool != "other" {
		t.Errorf("renamed: %+v", got)
	}
}
