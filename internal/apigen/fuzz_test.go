package apigen_test

import (
	"os"
	"path/filepath"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/apigen"
	"github.com/junctor-mcp/junctor/internal/apigen/doc"
	"github.com/junctor-mcp/junctor/internal/testkit/hostile"
)

// FuzzMake makes tools of texts of any kind, by whichever reader takes them:
// it ends within 10 seconds and with less than 512 MB, whatever stands there, and
// every problem has a place.
func FuzzMake(f *testing.F) {
	for _, seed := range []string{
		"openapi: 3.1.0\npaths: {/a/{b}: {post: {requestBody: {content: {multipart/form-data: {schema: {properties: {f: {format: binary}}}}}}}}}\n",
		"swagger: '2.0'\nhost: a.example\npaths: {/a: {get: {parameters: [{name: a, in: query, type: array, collectionFormat: pipes}]}}}\n",
		"type Query { a(b: [C!]! = []): D } input C { c: C } interface D { e: Int } type E implements D { e: Int }",
		`{"data":{"__schema":{"queryType":{"name":"Q"},"types":[{"kind":"OBJECT","name":"Q","fields":[{"name":"a","args":[],"type":{"kind":"LIST","ofType":{"kind":"SCALAR","name":"ID"}}}]}]}}}`,
		`{"info":{"schema":"https://schema.getpostman.com/json/collection/v2.1.0/"},"item":[{"name":"a","request":{"method":"POST","url":"{{base_url}}/:id","body":{"mode":"raw","raw":"{\"a\":1}"}}}],"variable":[{"key":"base_url","value":"https://a.example"}]}`,
		`{"log":{"entries":[{"request":{"method":"GET","url":"https://a.example/1?b=2"},"response":{"status":200,"content":{"mimeType":"application/json","text":"[1]"}}}]}}`,
		"FORMAT: 1A\nHOST: https://a.example\n## Cats [/cats{?size}]\n### List [GET]\n+ Response 200 (application/json)\n",
		"curl -X PUT https://a.example/cats/1 -H 'X: y' --data-urlencode 'a=b c'",
		"# Cats\n\n`DELETE https://a.example/cats/{id}`\n\n| name | type | required |\n|---|---|---|\n| id | integer | yes |\n",
		"<html><body><h2>GET https://a.example/cats</h2><table><tr><th>Parameter</th></tr><tr><td>size</td></tr></table></body></html>",
	} {
		f.Add([]byte(seed))
		f.Add([]byte(strings.Repeat(seed, 3)))
	}
	for _, c := range hostile.Documents() { // one of each family
		if strings.HasSuffix(c.Name, " 50") && len(c.Text) < 6000 {
			f.Add([]byte(c.Text))
		}
	}
	messy, _ := filepath.Glob("testdata/messy/*.want")
	for _, file := range messy {
		if text, err := os.ReadFile(strings.TrimSuffix(file, ".want")); err == nil {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		begin := time.Now()
		made, err := apigen.ImportAPI(t.Context(), doc.Source{Name: "f", Text: text}, nil, "s", "https://a.example", nil)
		if took := time.Since(begin); took > 10*time.Second {
			t.Errorf("%v for %d bytes", took, len(text))
		}
		memory := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
		if metrics.Read(memory); memory[0].Value.Uint64() > 512<<20 {
			t.Errorf("%d MB after %d bytes", memory[0].Value.Uint64()>>20, len(text))
		}
		if made == nil {
			t.Fatalf("nothing is said of it: %v", err)
		}
		for _, p := range made.Problems {
			if p.At.Line < 1 || p.At.Column < 1 || p.Code == "" || p.Message == "" {
				t.Errorf("a problem without a place: %+v", p)
			}
		}
		if err != nil {
			return
		}
		again, err := apigen.ImportAPI(t.Context(), doc.Source{Name: "f", Text: text}, nil, "s", "https://a.example", nil)
		if err != nil || len(again.Tools) != len(made.Tools) {
			t.Fatalf("another time: %v", err)
		}
		for i := range made.Tools {
			if made.Tools[i].Digest() != again.Tools[i].Digest() {
				t.Errorf("%s is another tool the second time", made.Tools[i].Key)
			}
		}
	})
}
