package tool_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/apigen/doc"
	"github.com/junctor-mcp/junctor/internal/apigen/tool"
)

// build makes the tools of a document, by their Keys.
func build(t *testing.T, source string, o tool.Options) map[string]tool.Tool {
	t.Helper()
	d, err := doc.Read(t.Context(), doc.Source{Name: "api.yaml", Text: []byte(source)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	tools, _ := tool.Build(d, o)
	all := map[string]tool.Tool{}
	for _, x := range tools {
		all[x.Key] = x
	}
	return all
}

// paths is a document of nothing but paths.
func paths(lines string) string {
	return "openapi: 3.1.0\ninfo: {title: t, version: '1'}\nservers: [{url: https://api.example.com}]\npaths:\n" + lines
}

// body is a document with one operation that takes a body.
func body(schema string) string {
	return paths("  /a: {post: {operationId: a, requestBody: {required: true, content: {application/json: {schema: " + schema + "}}}, responses: {}}}\n")
}

func TestNames(t *testing.T) {
	t.Parallel()
	long := "organizations-repositories-environments-deployment-branch-policies-configurations-update"
	all := build(t, paths(`
  /a: {get: {operationId: repos/list-for-org, responses: {}}}
  /b: {get: {operationId: getHTTPServerIDs, responses: {}}}
  /c: {get: {operationId: ünïcode Ärger, responses: {}}}
  /pets: {get: {responses: {}}, post: {responses: {}}}
  /pets/{petId}: {get: {responses: {}}, put: {responses: {}}, patch: {responses: {}}, delete: {responses: {}}}
  /api/v1/orgs/{org}/repos: {get: {responses: {}}}
  /: {get: {responses: {}}}
  /d: {get: {operationId: same, responses: {}}}
  /e: {get: {operationId: Same, responses: {}}}
  /f: {get: {operationId: `+long+`, responses: {}}}
  /g: {get: {operationId: 日本, responses: {}}}
`), tool.Options{Server: "shop", FormerNames: map[string]string{"GET /b": "kept"}})
	got := map[string]string{}
	for key, x := range all {
		got[key] = x.Name
	}
	want := map[string]string{
		"GET /a": "repos_list_for_org", "GET /b": "kept", "GET /c": "unicode_arger", "GET /pets": "list_pets", "POST /pets": "create_pets",
		"GET /pets/{petId}": "get_pet_by_id", "PUT /pets/{petId}": "replace_pet_by_id", "PATCH /pets/{petId}": "update_pet_by_id", "DELETE /pets/{petId}": "delete_pet_by_id",
		"GET /api/v1/orgs/{org}/repos": "list_org_repos", "GET /": "get_root", "GET /d": "same_f0d2111f", "GET /e": "same_c7c8a10a",
		"GET /f": "orgs_repos_envs_deploy_branch_policies_configs_update", "GET /g": "get_g",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSchemas(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ schema, want string }{
		"allOf is merged": {
			`{allOf: [{type: object, required: [a], properties: {a: {type: string}}}, {required: [b], properties: {b: {type: integer, minimum: 1}, a: {maxLength: 3}}}]}`,
			`{"a":{"maxLength":3,"type":"string"},"b":{"minimum":1,"type":"integer"}} required [a b]`,
		},
		"readOnly leaves, required or not": {`{type: object, required: [id, n], properties: {id: {type: string, readOnly: true}, n: {type: string}}}`, `{"n":{"type":"string"}} required [n]`},
		"const and enums":                  {`{type: object, properties: {k: {const: x}, e: {type: string, enum: [a, b, a, 3]}}}`, `{"e":{"enum":["a","b","3"],"type":"string"},"k":{"enum":["x"]}} required []`},
		"texts of which one":               {`{type: object, properties: {k: {oneOf: [{const: a, title: A}, {const: b}]}}}`, `{"k":{"enum":["a","b"],"type":"string"}} required []`},
		"or null":                          {`{type: object, properties: {k: {anyOf: [{type: string}, {type: "null"}]}}}`, `{"k":{"type":["string","null"]}} required []`},
		"what no model reads": {
			`{type: object, properties: {k: {type: string, xml: {name: x}, externalDocs: {url: u}, x-y: 1, example: e, pattern: "(?<=a)b", description: "<b>Bold</b> [link](http://x) \u0007text"}}}`,
			`{"k":{"description":"Bold link text Pattern: (?<=a)b","type":"string"}} required []`,
		},
		"a choice of bodies":   {`{oneOf: [{type: object, properties: {a: {type: string}}}, {type: object, properties: {b: {type: string}}}]}`, `{"body":{"anyOf":[{"properties":{"a":{"type":"string"}},"type":"object"},{"properties":{"b":{"type":"string"}},"type":"object"}]}} required [body]`},
		"a list is the body":   {`{type: array, items: {type: string}}`, `{"body":{"items":{"type":"string"},"type":"array"}} required [body]`},
		"a map is the body":    {`{type: object, additionalProperties: {type: string}}`, `{"body":{"additionalProperties":{"type":"string"},"type":"object"}} required [body]`},
		"required undeclared":  {`{type: object, required: [z], properties: {a: {type: string}}}`, `{"a":{"type":"string"},"z":{}} required [z]`},
		"names of any kind":    {`{type: object, properties: {"a[b]": {type: string}, "$c": {type: string}}}`, `{"a_b":{"type":"string"},"c":{"type":"string"}} required []`},
		"old limits and words": {`{type: object, properties: {n: {type: integer, minimum: 1, exclusiveMinimum: true}, s: {type: string, nullable: true}, f: {type: strng}}}`, `{"f":{},"n":{"exclusiveMinimum":1,"type":"integer"},"s":{"type":["null","string"]}} required []`},
	} {
		x := build(t, body(c.schema), tool.Options{})["POST /a"]
		var input struct {
			Type       string
			Properties json.RawMessage
			Required   []string
		}
		if err := json.Unmarshal(x.Input, &input); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%s required %v", input.Properties, input.Required); got != c.want || input.Type != "object" {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}

func TestCycles(t *testing.T) {
	t.Parallel()
	x := build(t, body(`{$ref: "#/components/schemas/Tree"}`)+"components: {schemas: {Tree: {type: object, properties: {name: {type: string}, next: {$ref: '#/components/schemas/Node'}}}, Node: {type: object, properties: {tree: {$ref: '#/components/schemas/Tree'}}}, Self: {$ref: '#/components/schemas/Self'}}}\n", tool.Options{})["POST /a"]
	want := `{"$defs":{"Node":{"properties":{"tree":{"$ref":"#/$defs/Tree"}},"type":"object"},"Tree":{"properties":{"name":{"type":"string"},"next":{"$ref":"#/$defs/Node"}},"type":"object"}},` +
		`"additionalProperties":false,"properties":{"name":{"type":"string"},"next":{"$ref":"#/$defs/Node"}},"type":"object"}`
	if string(x.Input) != want {
		t.Errorf("%s", x.Input)
	}
	if flat := string(tool.ApplyProfile(junctor.ProfileNoDefs, x.Input)); strings.Contains(flat, "$") || strings.Count(flat, `"name"`) < 3 {
		t.Errorf("without definitions: %s", flat)
	}
}

// TestRequiredWithoutEnd takes an object that requires itself.
func TestRequiredWithoutEnd(t *testing.T) {
	t.Parallel()
	x := build(t, body(`{$ref: "#/components/schemas/A"}`)+"components: {schemas: {A: {type: object, required: [b, n], properties: {n: {type: string}, b: {$ref: '#/components/schemas/B'}}}, B: {type: object, required: [a], properties: {a: {$ref: '#/components/schemas/A'}}}}}\n", tool.Options{})["POST /a"]
	var s struct {
		Defs map[string]struct{ Required []string } `json:"$defs"`
	}
	if err := json.Unmarshal(x.Input, &s); err != nil || len(s.Defs) != 2 || len(s.Defs["A"].Required)+len(s.Defs["B"].Required) != 2 {
		t.Errorf("%v: %s", err, x.Input)
	}
}

// TestBudget makes a schema that is far too large in several ways.
func TestBudget(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("components:\n  schemas:\n")
	for i := range 12 {
		fmt.Fprintf(&b, "    S%d: {type: object, required: [id], properties: {id: {type: string}, text: {type: string, description: %q}", i, strings.Repeat("many words ", 40))
		for j := range 6 {
			if i < 11 {
				fmt.Fprintf(&b, ", p%d: {$ref: '#/components/schemas/S%d'}", j, i+1)
			}
		}
		b.WriteString("}}\n")
	}
	x := build(t, body(`{$ref: "#/components/schemas/S0"}`)+b.String(), tool.Options{})["POST /a"]
	if n := len(x.JSON()); n > 16<<10 || n < 1000 || !x.Truncated {
		t.Errorf("%d bytes, truncated %t", n, x.Truncated)
	}
	if !strings.Contains(string(x.Input), `"p0":{"properties":{"id":`) {
		t.Errorf("what a part requires is not described: %.300s", x.Input)
	}
}

func TestAnnotationsAndAnswers(t *testing.T) {
	t.Parallel()
	all := build(t, paths(`
  /a:
    get: {responses: {"200": {description: ok, content: {application/json: {schema: {type: array, items: {type: string}}}}}}}
    put: {responses: {"204": {description: ok}}}
    post: {operationId: cancelIt, responses: {"201": {description: ok, content: {application/json: {schema: {type: object, required: [a], properties: {a: {type: string, enum: [x], format: uuid}, w: {type: string, writeOnly: true}}}}}}}}
    patch: {responses: {default: {description: ok}}}
    delete: {responses: {}}
`), tool.Options{})
	for key, want := range map[string]string{
		"GET /a":    `{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":true} {"properties":{"result":{"items":{"type":["string","null"]},"type":["array","null"]}},"type":"object"} true`,
		"PUT /a":    `{"destructiveHint":false,"idempotentHint":true,"openWorldHint":true}  false`,
		"POST /a":   `{"destructiveHint":true,"openWorldHint":true} {"properties":{"a":{"type":["string","null"]}},"type":"object"} false`,
		"PATCH /a":  `{"destructiveHint":false,"openWorldHint":true}  false`,
		"DELETE /a": `{"destructiveHint":true,"idempotentHint":true,"openWorldHint":true}  false`,
	} {
		x := all[key]
		if got := fmt.Sprintf("%s %s %t", x.Annotations, x.Output, x.Plan.WrapsResult); got != want {
			t.Errorf("%s: %s", key, got)
		}
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	all := build(t, paths(`
  /v/{name}:
    patch:
      parameters: [{name: name, in: path, required: true, schema: {type: string}}]
      requestBody: {content: {application/json: {schema: {type: object, required: [name], properties: {name: {type: string}}}}}}
      responses: {}
    post:
      parameters: [{name: name, in: path, required: true, schema: {type: string}}, {name: name, in: query, schema: {type: string}}]
      requestBody: {required: false, content: {application/x-www-form-urlencoded: {schema: {type: object, properties: {name: {type: string}, m: {type: object}}}, encoding: {m: {style: deepObject}}}}}
      responses: {}
  /w:
    get:
      parameters: [{name: page_token, in: query, schema: {type: string}}]
      requestBody: {required: true, content: {application/json: {schema: {type: object, properties: {q: {type: string}}}}}}
      responses: {"200": {description: ok, content: {application/json: {schema: {type: object, properties: {meta: {type: object, properties: {nextPageToken: {type: string}}}}}}}}}
    post:
      requestBody: {required: false, content: {application/json: {schema: {type: object, required: [q], properties: {q: {type: string}}}}}}
      responses: {}
`), tool.Options{})
	for key, want := range map[string]string{
		"PATCH /v/{name}": `name path name, body body body; required true`,
		"POST /v/{name}":  `name__path path name, name__query query name, m field m, name__body field name; required false`,
		"GET /w":          `page_token query page_token, q field q; required false; next by page_token of /meta/nextPageToken`,
		"POST /w":         `body body body; required false`,
	} {
		x := all[key]
		var args []string
		for _, a := range x.Plan.Args {
			args = append(args, fmt.Sprintf("%s %s %s", a.Name, a.Place, a.Key))
		}
		got := fmt.Sprintf("%s; required %t", strings.Join(args, ", "), x.Plan.Body.Required)
		if p := x.Plan.Paging; p != nil {
			got += "; next by " + p.Arg + " of " + p.Cursor
		}
		if got != want {
			t.Errorf("%s:\n got %s\nwant %s", key, got, want)
		}
	}
}

// TestShuffled makes the same tools of a document whose members stand in any order.
func TestShuffled(t *testing.T) {
	t.Parallel()
	var v any
	source := `{"openapi":"3.0.3","info":{"title":"t","version":"1"},"servers":[{"url":"https://a.example"}],"paths":{
		"/a":{"get":{"operationId":"one","parameters":[{"name":"q","in":"query","schema":{"$ref":"#/components/schemas/A"}}],"responses":{"200":{"description":"ok","content":{"application/json":{"schema":{"$ref":"#/components/schemas/B"}}}}}},
		"post":{"operationId":"two","requestBody":{"required":true,"content":{"application/json":{"schema":{"$ref":"#/components/schemas/B"}}}},"responses":{}}},
		"/b":{"post":{"operationId":"One","requestBody":{"content":{"multipart/form-data":{"schema":{"$ref":"#/components/schemas/B"}}}},"responses":{}}}},
		"components":{"schemas":{"A":{"type":"object","properties":{"x":{"type":"string"},"y":{"$ref":"#/components/schemas/C"}}},
		"B":{"allOf":[{"$ref":"#/components/schemas/A"},{"type":"object","required":["z"],"properties":{"z":{"oneOf":[{"type":"string"},{"type":"integer"}]},"b":{"$ref":"#/components/schemas/B"}}}]},
		"C":{"type":"object","properties":{"a":{"$ref":"#/components/schemas/A"},"d":{"type":"string","format":"binary"}}}}}}`
	if err := json.Unmarshal([]byte(source), &v); err != nil {
		t.Fatal(err)
	}
	list := func(text string) string {
		all := build(t, text, tool.Options{Server: "s"})
		var lines []string
		for _, x := range all {
			lines = append(lines, x.Key+" "+x.Digest()+" "+string(x.JSON()))
		}
		slices.Sort(lines)
		return strings.Join(lines, "\n")
	}
	want := list(source)
	for seed := range 20 {
		if diff := cmp.Diff(want, list(shuffled(v, rand.New(rand.NewPCG(uint64(seed), 1))))); diff != "" {
			t.Fatal(diff)
		}
	}
}

// shuffled is a value as JSON with the members of objects in any order.
func shuffled(v any, r *rand.Rand) string {
	switch v := v.(type) {
	case map[string]any:
		var parts []string
		for key, value := range v {
			name, _ := json.Marshal(key)
			parts = append(parts, string(name)+":"+shuffled(value, r))
		}
		slices.Sort(parts)
		r.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		return "{" + strings.Join(parts, ",") + "}"
	case []any:
		parts := make([]string, len(v))
		for i, one := range v {
			parts[i] = shuffled(one, r)
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	raw, _ := json.Marshal(v)
	return string(raw)
}
