package doc_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// readDocument reads a text and gives its operations and problems as short lines.
func readDocument(t *testing.T, source doc.Source, fetch doc.Fetch) (*doc.Document, []string, []string) {
	t.Helper()
	if source.Name == "" {
		source.Name = "api"
	}
	d, err := doc.Read(t.Context(), source, fetch)
	if err != nil {
		t.Fatal(err)
	}
	var ops, problems []string
	for _, op := range d.Operations {
		line := op.Key
		for _, code := range op.Incomplete {
			if code != doc.NoServer {
				line += " " + string(code)
			}
		}
		ops = append(ops, line)
	}
	for _, p := range d.Problems {
		if p.Message == "" || p.Remedy == "" || p.At.File == "" {
			t.Errorf("a problem that says too little: %+v", p)
		}
		if p.Code != doc.NoServer {
			problems = append(problems, fmt.Sprintf("%d:%d %s %s %s", p.At.Line, p.At.Column, p.Severity, p.Code, p.Pointer))
		}
	}
	return d, ops, problems
}

// TestBroken reads what is wrong in many ways: each fault is found at its place,
// and costs no more than itself.
func TestBroken(t *testing.T) {
	t.Parallel()
	const head = "openapi: 3.0.3\ninfo: {title: t, version: '1'}\npaths:\n"
	for name, c := range map[string]struct {
		text          string
		ops, problems []string
	}{
		"a flow mapping left open": {
			head + "  /a:\n    get:\n      responses:\n        '200': {description: ok\n  /b:\n    get: {responses: {}}\n",
			[]string{"GET /b"},
			[]string{"7:16 error syntax "},
		},
		"JSON that breaks off": {
			`{"openapi":"3.0.3","info":{"title":"t","version":"1"},"paths":{"/a":{"get":{"responses":{}}},` + "\n" + `"/b":{"get":{"responses":{}},"post":{"oper`,
			[]string{"GET /a", "GET /b", "POST /b syntax"},
			[]string{"2:43 error syntax "},
		},
		"a comma too many": {`{"openapi":"3.0.3","info":{"title":"t","version":"1"},"paths":{"/a":{"get":{"responses":{}},}}}`, []string{"GET /a"}, []string{"1:92 warning repaired "}},
		"a reference to nothing": {
			head + "  /a/{id}:\n    get:\n      parameters: [{name: id, in: path, required: true, schema: {$ref: '#/components/schemas/Nope'}}]\n",
			[]string{"GET /a/{id}"},
			[]string{"6:72 error unresolved_ref /paths/~1a~1{id}/get/parameters/0/schema/$ref"},
		},
		"a body that is nowhere": {
			head + "  /a:\n    post:\n      requestBody: {$ref: '#/components/requestBodies/Nope'}\n    get: {responses: {}}\n",
			[]string{"POST /a unresolved_ref", "GET /a"},
			[]string{"6:27 error unresolved_ref /paths/~1a/post/requestBody"},
		},
		"references that lead round": {
			head + "  /a:\n    get:\n      parameters: [{$ref: '#/components/parameters/A'}]\ncomponents: {parameters: {A: {$ref: '#/components/parameters/A'}}}\n",
			[]string{"GET /a"},
			[]string{"7:37 error unresolved_ref /paths/~1a/get/parameters/0"},
		},
		"parameters that are a text": {
			head + "  /a/{id}:\n    get:\n      parameters: oops\n  /b: {get: {responses: {}}}\n",
			[]string{"GET /a/{id}", "GET /b"},
			[]string{"4:3 warning path_param_undeclared /paths/~1a~1{id}", "6:19 error wrong_type /paths/~1a~1{id}/get/parameters"},
		},
		"an operation that is a number": {head + "  /a: {get: 3, post: {responses: {}}}\n", []string{"GET /a wrong_type", "POST /a"}, []string{"4:13 error wrong_type /paths/~1a/get"}},
		"no such place, kind, method": {
			head + "  /a:\n    fetch: {responses: {}}\n    get:\n      parameters: [{name: q, in: nowhere, schema: {type: strng}}]\n",
			[]string{"GET /a"},
			[]string{"5:5 error unknown_method /paths/~1a/fetch", "7:34 error unknown_value /paths/~1a/get/parameters/0/in", "7:58 warning unknown_value /paths/~1a/get/parameters/0/schema/type"},
		},
		"an id and a key twice, one address twice": {
			head + "  /a/{x}: {get: {operationId: d, operationId: d, parameters: [{name: x, in: path, required: true, schema: {}}]}}\n  /a/{y}: {get: {operationId: d, parameters: [{name: y, in: path, required: true, schema: {}}]}}\n",
			[]string{"GET /a/{x}", "GET /a/{y}"},
			[]string{"4:34 warning duplicate_key /paths/~1a~1{x}/get/operationId", "5:3 warning duplicate_path /paths/~1a~1{y}", "5:31 warning duplicate_id /paths/~1a~1{y}/get/operationId"},
		},
		"a path twice": { // the last one counts, as it does for JSON parsers
			head + "  /a: {get: {operationId: first}, put: {responses: {}}}\n  /b: {get: {operationId: b}, get: {operationId: c, deprecated: true}}\n  /a: {post: {operationId: last}}\n",
			[]string{"GET /b", "POST /a"},
			[]string{"5:31 warning duplicate_key /paths/~1b/get", "6:3 warning duplicate_key /paths/~1a"},
		},
		"a path twice in JSON": {
			`{"openapi":"3.0.3","info":{"title":"t","version":"1"},"servers":[{"url":"https://x"}],"paths":{"/a":{"get":{"responses":{}}},` + "\n" + `"/a":{"post":{"responses":{}}}}}`,
			[]string{"POST /a"},
			[]string{"2:1 warning duplicate_key /paths/~1a"},
		},
		"tabs and control characters": {
			head + "  /a:\n\t\n    get: {summary: \"a\u007fb\", responses: {}}\n",
			[]string{"GET /a"},
			[]string{"5:1 warning repaired ", "6:22 warning repaired "},
		},
		"an alias in itself": {"openapi: 3.0.3\ninfo: &i {title: t, version: '1', x: *i}\npaths: {/a: {get: {responses: {}}}}\n", []string{"GET /a"}, []string{"2:38 error wrong_type "}},
		"nothing of info":    {"swagger: '2.0'\nhost: h\npaths: {/a: {get: {responses: {}}}}\n", []string{"GET /a"}, []string{"1:1 warning missing /info"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, ops, problems := readDocument(t, doc.Source{Text: []byte(c.text)}, nil)
			if diff := cmp.Diff(c.ops, ops); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.problems, problems); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestDuplicateKeysInLargeObjects: an object with many members is compared in another
// way, and the last one counts there too.
func TestDuplicateKeysInLargeObjects(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("openapi: 3.0.3\ninfo: {title: t, version: '1'}\nservers: [{url: https://x}]\npaths:\n")
	for i := range 200 {
		fmt.Fprintf(&b, "  /p%d: {get: {summary: first, responses: {}}}\n", i%150)
	}
	b.WriteString("  /p149: {get: {summary: last, responses: {}}}\n")
	d, ops, problems := readDocument(t, doc.Source{Text: []byte(b.String())}, nil)
	if len(ops) != 150 || len(problems) != 51 || d.Operations[len(d.Operations)-1].Summary != "last" {
		t.Errorf("%d operations, %d problems", len(ops), len(problems))
	}
}

// TestLaughs reads aliases of aliases that would expand to billions.
func TestLaughs(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("openapi: 3.0.3\ninfo: {title: t, version: '1'}\npaths: {/a: {get: {responses: {}}}}\nx-0: &a0 [lol, lol]\n")
	for i := range 40 {
		fmt.Fprintf(&b, "x-%d: &a%d [*a%d, *a%d, *a%d]\n", i+1, i+1, i, i, i)
	}
	_, ops, problems := readDocument(t, doc.Source{Text: []byte(b.String())}, nil)
	if len(ops) != 1 || len(problems) != 1 || !strings.Contains(problems[0], "too_large") {
		t.Errorf("%v %v", ops, problems)
	}
}

// TestManyValues reads texts that are small for what they hold.
func TestManyValues(t *testing.T) {
	t.Parallel()
	many := strings.Repeat("1,", 3<<20)
	for _, text := range []string{`{"openapi":"3.0.3","paths":{"/a":{"get":{}}},"x":[` + many + `1]}`, "x: [" + many + "1]\nopenapi: 3.0.3\n"} {
		d, _ := doc.Read(t.Context(), doc.Source{Name: "a", Text: []byte(text)}, nil)
		if len(d.Problems) == 0 || !slices.ContainsFunc(d.Problems, func(p doc.Problem) bool { return p.Code == doc.TooLarge }) {
			t.Errorf("%+v", d.Problems)
		}
	}
}

func TestNoDocument(t *testing.T) {
	t.Parallel()
	d, err := doc.Read(t.Context(), doc.Source{Name: "x", Text: []byte("hello")}, nil)
	if err == nil || len(d.Attempts) < 2 || d.Attempts[0].Reason == "" {
		t.Errorf("%v %+v", err, d.Attempts)
	}
	if d, err = doc.Read(t.Context(), doc.Source{Text: make([]byte, 33<<20)}, nil); err == nil || d.Problems[0].Code != doc.TooLarge {
		t.Errorf("%v", err)
	}
}
