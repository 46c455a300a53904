package tool_test

import (
	"bytes"
	"encoding/json"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/apigen/doc"
	"github.com/junctor-mcp/junctor/internal/apigen/tool"
)

// FuzzBuild makes tools of whatever can be read as a document: each is a whole
// tool within its budget, and comes out the same again, in every profile.
func FuzzBuild(f *testing.F) {
	for _, seed := range []string{
		body(`{type: object, required: [a], properties: {a: {type: string, enum: [x]}, b: {allOf: [{type: integer}, {minimum: 3}]}}}`),
		body(`{oneOf: [{$ref: "#/components/schemas/T"}, {type: array, items: {$ref: "#/components/schemas/T"}}]}`) + "components: {schemas: {T: {type: object, properties: {t: {$ref: '#/components/schemas/T'}}}}}\n",
		paths("  /a/{b}: {get: {parameters: [{name: b, in: path, schema: {type: array}}, {name: b, in: query, content: {x: {}}}], responses: {200: {content: {a/json: {schema: {}}}}}}}\n"),
		body(`{allOf: [{anyOf: [{required: [a]}, {required: [b]}]}, {oneOf: [{type: "null"}, {enum: [1, 2, null]}]}], not: {}, properties: {a: false}}`),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := doc.Read(t.Context(), doc.Source{Name: "f", Text: text}, nil)
		if err != nil {
			return
		}
		first, _ := tool.Build(d, tool.Options{Server: "s", BaseURL: "https://a.example"})
		again, _ := tool.Build(d, tool.Options{Server: "s", BaseURL: "https://a.example"})
		named := map[string]bool{}
		for i := range first {
			x := &first[i]
			raw := x.JSON()
			if !bytes.Equal(raw, again[i].JSON()) || x.Digest() != again[i].Digest() {
				t.Fatalf("not the same again: %s", raw)
			}
			if named[x.Name] || x.Name == "" || len(x.Name) > 61 {
				t.Errorf("the name %q", x.Name)
			}
			named[x.Name] = true
			for _, p := range junctor.Profiles() {
				if !json.Valid(tool.ApplyProfile(p, x.Input)) {
					t.Errorf("%s: %s", p, tool.ApplyProfile(p, x.Input))
				}
			}
		}
	})
}
