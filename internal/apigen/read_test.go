package apigen_test

import (
	"testing"

	"github.com/junctor-mcp/junctor/internal/apigen"
	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// TestFormats: a document is known by what it is, not by its name.
func TestFormats(t *testing.T) {
	t.Parallel()
	for want, text := range map[doc.Format]string{
		doc.OpenAPI:       "openapi: 3.1.0\ninfo: {title: T, version: '1'}\npaths: {/a: {get: {responses: {'200': {description: ok}}}}}",
		doc.Swagger:       `{"swagger":"2.0","info":{"title":"T","version":"1"},"paths":{"/a":{"get":{"responses":{"200":{"description":"ok"}}}}}}`,
		doc.GraphQL:       "# of a shop\ntype Query { a: String }",
		doc.Introspection: `{"data":{"__schema":{"queryType":{"name":"Q"},"types":[{"kind":"OBJECT","name":"Q","fields":[{"name":"a","args":[],"type":{"kind":"SCALAR","name":"String"}}]}]}}}`,
	} {
		d, err := apigen.ReadDocument(t.Context(), doc.Source{Name: "it.txt", Text: []byte(text)}, nil)
		if err != nil {
			t.Errorf("%s: %v", want, err)
			continue
		}
		if d.Format != want || len(d.Operations) != 1 || len(d.Attempts) == 0 || !d.Attempts[len(d.Attempts)-1].Accepted {
			t.Errorf("%s was read as %s: %+v", want, d.Format, d.Attempts)
		}
	}
}
