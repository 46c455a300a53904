package doc_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// TestFiles reads a document of several files of one origin, and dials no other.
func TestFiles(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"https://api.example.com/spec/paths/pets.yaml": "get:\n  parameters: [{$ref: '../common.json#/parameters/limit'}]\n  responses: {}\npost: {requestBody: {$ref: '../missing.yaml'}}\n",
		"https://api.example.com/spec/common.json":     `{"parameters":{"limit":{"name":"limit","in":"query","schema":{"$ref":"#/schemas/Limit"}}},"schemas":{"Limit":{"type":"integer","nullable":true}}}`,
	}
	var fetched []string
	fetch := func(_ context.Context, url string) ([]byte, error) {
		fetched = append(fetched, url)
		if text, ok := files[url]; ok {
			return []byte(text), nil
		}
		return nil, errors.New("404")
	}
	source := doc.Source{Name: "openapi.yaml", URL: "https://api.example.com/spec/openapi.yaml", Text: []byte(`openapi: 3.0.3
info: {title: t, version: "1"}
servers: [{url: ../v1}]
paths:
  /pets: {$ref: ./paths/pets.yaml}
  /a: {$ref: "http://169.254.169.254/latest"}
  /b: {$ref: "file:///etc/passwd"}
  /c: {$ref: "https://other.example.com/x.yaml"}
  /d: {$ref: "https://api.example.com:8443/x.yaml"}
`)}
	d, ops, problems := readDocument(t, source, fetch)
	if diff := cmp.Diff([]string{"GET /pets", "POST /pets unresolved_ref", "ANY /a unresolved_ref", "ANY /b unresolved_ref", "ANY /c unresolved_ref", "ANY /d unresolved_ref"}, ops); diff != "" {
		t.Error(diff)
	}
	want := []string{
		"4:28 error external_ref_blocked /paths/~1pets/post/requestBody",
		"6:14 error external_ref_blocked /paths/~1a", "7:14 error external_ref_blocked /paths/~1b", "8:14 error external_ref_blocked /paths/~1c", "9:14 error external_ref_blocked /paths/~1d",
	}
	if diff := cmp.Diff(want, problems); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"https://api.example.com/spec/paths/pets.yaml", "https://api.example.com/spec/common.json", "https://api.example.com/spec/missing.yaml"}, fetched); diff != "" {
		t.Error(diff)
	}
	if p := d.Operations[0].Params[0]; p.Name != "limit" || p.Schema == nil || d.Servers[0].URL != "https://api.example.com/v1" {
		t.Errorf("%+v %+v", p, d.Servers)
	}
}

// TestReferences follows what real documents write.
func TestReferences(t *testing.T) {
	t.Parallel()
	d, _, problems := readDocument(t, doc.Source{Text: []byte(`openapi: 3.1.0
info: {title: t, version: "1"}
servers: [{url: "https://a.example"}]
paths:
  /v2/a/{id}:
    get:
      parameters: [{name: id, in: path, required: true, schema: {$anchor: theId, type: string, format: uuid}}]
      responses: {"200": {description: ok, content: {application/json: {schema: {type: object, description: answer}}}}}
  /b:
    post:
      requestBody: {content: {application/json: {schema: {properties: {
        one: {$ref: "#/paths/~1v2~1a~1%7Bid%7D/get/responses/200/content/application~1json/schema"},
        two: {$ref: "#theId"}, three: {$ref: "#/components/schemas/Alias"}, four: {$ref: "#/components/schemas/Alias/properties/x"}}}}}}
components: {schemas: {Alias: {$ref: "#/components/schemas/Real"}, Real: {type: object, properties: {x: {type: integer}}},
  Self: {$recursiveAnchor: true, type: object, properties: {child: {$recursiveRef: "#"}}}}}
`)}, nil)
	if len(problems) != 0 {
		t.Error(problems)
	}
	props := d.Operations[1].Body.Contents[0].Schema.Get("properties")
	for name, want := range map[string]string{"one": "object", "two": "string", "three": "", "four": "integer"} {
		n := props.Get(name)
		to, err := d.Schemas.Resolve(n.Get("$ref").ScalarText(), n)
		if err != nil || to.Get("type").ScalarText() != want {
			t.Errorf("%s: %v %v", name, err, to)
		}
	}
}

// TestSwagger reads what only 2.0 has.
func TestSwagger(t *testing.T) {
	t.Parallel()
	d, _, problems := readDocument(t, doc.Source{URL: "http://h.example/spec.json", Text: []byte(`swagger: "2.0"
info: {title: t, version: "1"}
basePath: v1/
consumes: [application/json]
paths:
  /a/{p}:
    post:
      consumes: [application/json]
      parameters:
        - {name: p, in: path, required: true, type: array, items: {type: string}, collectionFormat: ssv}
        - {name: q, in: query, type: array, items: {type: string}, collectionFormat: multi}
        - {name: c, in: query, type: array, items: {type: string}}
        - {name: t, in: header, type: array, items: {type: string}, collectionFormat: tsv}
        - {name: f, in: formData, type: string, required: true}
      responses: {200: {description: ok, schema: {type: string}}}
  /b: {put: {consumes: [text/plain], parameters: [{name: x, in: body, schema: {$ref: Thing}}], responses: {}}}
definitions: {Thing: {type: string}}
`)}, nil)
	if len(problems) != 0 {
		t.Error(problems)
	}
	op := d.Operations[0]
	got := fmt.Sprint(op.Servers[0].URL, " ", op.Body.Contents[0].Media, " ", op.Body.Required, " ", d.Operations[1].Body.Contents[0].Media)
	for _, p := range op.Params {
		got += fmt.Sprintf(" %s:%s:%t", p.Name, p.Style, p.Explode)
	}
	if want := "http://h.example/v1 application/x-www-form-urlencoded true text/plain p:spaceDelimited:false q:form:true c:form:false t:tabDelimited:false"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}
