package tool_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
	"github.com/junctor-mcp/junctor/internal/apigen/tool"
)

// TestProperty2EveryEndpointHasATool generates documents, sound and broken in
// places: every endpoint has a tool, or a reason with a place.
func TestProperty2EveryEndpointHasATool(t *testing.T) {
	t.Parallel()
	documents, endpoints, flagged := 0, 0, 0
	defer func() {
		t.Logf("figure: property 2: %d documents generated with %d endpoints, each with a tool or, %d of them, with a reason and its place", documents, endpoints, flagged)
	}()
	rapid.Check(t, func(t *rapid.T) {
		text, want := document(t)
		documents, endpoints = documents+1, endpoints+len(want)
		d, err := doc.Read(t.Context(), doc.Source{Name: "api.yaml", Text: []byte(text)}, nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		tools, _ := tool.Build(d, tool.Options{Server: "s", BaseURL: "https://api.example.com"})
		for _, key := range want {
			i := slices.IndexFunc(tools, func(x tool.Tool) bool { return x.Key == key })
			if i < 0 {
				t.Fatalf("%s has no tool and no reason\n%s", key, text)
			}
			x := tools[i]
			if len(x.Incomplete) > 0 {
				flagged++
			}
			if len(x.Incomplete) == 0 && (len(x.Input) == 0 || x.Plan.Method == "" || x.Plan.Path == "") {
				t.Fatalf("%s is ready and cannot be called\n%s", key, text)
			}
			if len(x.Incomplete) > 0 && !slices.ContainsFunc(d.Problems, func(p doc.Problem) bool {
				return p.At.Line > 0 && p.At.Column > 0 && slices.Contains(x.Incomplete, p.Code)
			}) {
				t.Fatalf("%s is said to be incomplete, and nothing says where\n%s", key, text)
			}
		}
		if len(tools) != len(want) {
			t.Fatalf("%d tools for %d endpoints\n%s", len(tools), len(want), text)
		}
	})
}

// document draws one, and says which endpoints it has.
func document(t *rapid.T) (text string, keys []string) {
	var b strings.Builder
	old := rapid.Bool().Draw(t, "swagger")
	if old {
		b.WriteString("swagger: '2.0'\n")
	} else {
		fmt.Fprintf(&b, "openapi: %s\n", rapid.SampledFrom([]string{"3.0.0", "3.0.3", "3.1.0", "3.2.0"}).Draw(t, "version"))
	}
	b.WriteString("info: {title: t, version: '1'}\npaths:\n")
	for i := range rapid.IntRange(1, 5).Draw(t, "paths") {
		path := fmt.Sprintf("/p%d%s", i, rapid.SampledFrom([]string{"", "/{id}", "/{id}/", "/{a}.{b}", "#x", "?y=1"}).Draw(t, "path"))
		fmt.Fprintf(&b, "  %q:\n", path)
		methods := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"get", "put", "post", "delete", "patch", "head", "options"}), 1, 4, rapid.ID[string]).Draw(t, "methods")
		for _, m := range methods {
			keys = append(keys, strings.ToUpper(m)+" "+path)
			fmt.Fprintf(&b, "    %s: %s\n", m, operation(t, old))
		}
	}
	if old {
		b.WriteString("definitions: {S: " + schemaText(t, 2) + "}\n")
	} else {
		b.WriteString("components: {schemas: {S: " + schemaText(t, 2) + "}}\n")
	}
	return b.String(), keys
}

func operation(t *rapid.T, old bool) string {
	parts := []string{
		rapid.SampledFrom([]string{"operationId: same", "operationId: 'Ünïq/x'", "operationId: 7", "summary: s", "tags: oops", "deprecated: true"}).Draw(t, "about"),
		rapid.SampledFrom([]string{"responses: {}", "responses: {200: {description: ok}}", "responses: [1]", "responses: {200: {$ref: '#/nowhere'}}"}).Draw(t, "responses"),
	}
	schema := schemaText(t, 2)
	parts = append(parts, rapid.SampledFrom([]string{
		"parameters: [{name: id, in: path, required: true, schema: " + schema + ", type: string}]",
		"parameters: [{name: q, in: query, schema: " + schema + ", type: integer}, {name: q, in: header, schema: {}, type: string}]",
		"parameters: {}", "parameters: [1, {in: query}, {$ref: '#/nowhere'}]", "parameters: [{name: z, in: nowhere}]",
	}).Draw(t, "parameters"))
	if old {
		parts = append(parts, "consumes: [application/json]")
	} else {
		parts = append(parts, rapid.SampledFrom([]string{
			"requestBody: {content: {application/json: {schema: " + schema + "}}}", "requestBody: {required: true, content: {text/plain: {}}}", "requestBody: {$ref: '#/nowhere'}",
			"requestBody: 5", "requestBody: {content: {multipart/form-data: {schema: " + schema + "}}}", "requestBody: {required: true, content: {application/x-www-form-urlencoded: {schema: " + schema + "}}}",
		}).Draw(t, "body"))
	}
	if rapid.IntRange(0, 9).Draw(t, "broken") == 0 {
		return rapid.SampledFrom([]string{"3", "[]", "null", "{$ref: '#/nowhere'}", "text"}).Draw(t, "instead")
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func schemaText(t *rapid.T, depth int) string {
	leaf := []string{"{type: string}", "{type: integer, minimum: 1}", "{type: strng}", "{}", "true", "{enum: [a, b, a]}", "{$ref: '#/components/schemas/S'}", "{$ref: '#/definitions/S'}", "{$ref: '#/nowhere'}", "{type: [string, 'null']}", "12", "{const: x}"}
	if depth == 0 {
		return rapid.SampledFrom(leaf).Draw(t, "leaf")
	}
	a, b := schemaText(t, depth-1), schemaText(t, depth-1)
	return rapid.SampledFrom([]string{
		"{type: object, required: [a, c], properties: {a: " + a + ", b: " + b + "}}", "{allOf: [" + a + ", " + b + "]}", "{oneOf: [" + a + ", " + b + "], description: d}",
		"{type: array, items: " + a + "}", "{type: object, additionalProperties: " + a + "}", "{anyOf: [" + a + ", {type: 'null'}], properties: {x: " + b + "}}", a,
	}).Draw(t, "schema")
}
