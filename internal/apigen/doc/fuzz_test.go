package doc_test

import (
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// FuzzRead reads texts of any kind: whatever stands there, it ends, and every
// problem has a place.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		`{"openapi":"3.0.3","paths":{"/a/{b}":{"get":{"parameters":[{"$ref":"#/components/parameters/P"}]}}},"components":{"parameters":{"P":{"name":"b","in":"path","schema":{"type":"integer","nullable":true}}}}}`,
		"openapi: 3.1.0\npaths:\n  /a:\n    post:\n      requestBody: {content: {a/b: {schema: {$ref: '#/components/schemas/S'}}}}\ncomponents: {schemas: {S: {allOf: [{$ref: '#/components/schemas/S'}]}}}\n",
		"swagger: '2.0'\npaths: {/a: {get: {parameters: [{name: a, in: formData, type: file}, {in: body, schema: {}}]}}}\n",
		"a: &a [*a, *a]\nopenapi: 3\n<<: *a\n", "{\"openapi\": \"\\ud83d\\ude00\", \"a\": [1e5, -0, tru", "openapi: 3.0.0\npaths: {/a: {get: {x: {a: [\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		begin := time.Now()
		d, err := doc.Read(t.Context(), doc.Source{Name: "f", URL: "https://a.example/x", Text: text}, nil)
		if d == nil {
			t.Fatal("no document and no reason")
		}
		for _, p := range d.Problems {
			if p.At.Line < 1 || p.At.Column < 1 || p.At.File == "" || p.Message == "" || p.Code == "" {
				t.Errorf("a problem without a place: %+v", p)
			}
		}
		if err == nil && d.Format == "" {
			t.Error("a document of no format")
		}
		if time.Since(begin) > 10*time.Second {
			t.Errorf("%v for %d bytes", time.Since(begin), len(text))
		}
	})
}
