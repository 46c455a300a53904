package apigen_test

import (
	"slices"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/apigen"
	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

const petsDocument = `openapi: 3.1.0
info: {title: Pets, version: '1'}
servers: [{url: https://pets.example.com}]
paths:
  /pets:
    get: {operationId: listPets, tags: [Pets], description: List pets., responses: {'200': {description: ok}}}
    post: {operationId: pets/add, tags: [pets, write/all], description: Add a pet., responses: {'200': {description: ok}}}
  /pets/{id}:
    get: {operationId: getPet, tags: [pets], description: Get a pet., parameters: [{name: id, in: path, required: true, schema: {type: string}}], responses: {'200': {description: ok}}}
  /pets/{id}/toys/all:
    get: {operationId: listToys, tags: [toys], description: List toys., parameters: [{name: id, in: path, required: true, schema: {type: string}}], responses: {'200': {description: ok}}}
  /old:
    get: {operationId: old, deprecated: true, responses: {'200': {description: ok}}}
`

func made(t testing.TB, text string) *apigen.ImportedAPI {
	t.Helper()
	m, err := apigen.ImportAPI(t.Context(), doc.Source{Name: "it", Text: []byte(text)}, nil, "pets", "https://pets.example.com", nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestInclude: the first rule that fits an operation decides.
func TestInclude(t *testing.T) {
	t.Parallel()
	m := made(t, petsDocument)
	const list, add, get, toys, old = "GET /pets", "POST /pets", "GET /pets/{id}", "GET /pets/{id}/toys/all", "GET /old"
	for _, c := range []struct {
		rules []string
		want  []string
	}{
		{nil, []string{list, add, get, toys}},
		{[]string{"get"}, []string{list, get, toys, old}},
		{[]string{"/pets"}, []string{list, add}},
		{[]string{"/pets/*"}, []string{get}},
		{[]string{"/pets/**"}, []string{list, add, get, toys}},
		{[]string{"/**/all"}, []string{toys}},
		{[]string{"GET /pets/**"}, []string{list, get, toys}},
		{[]string{"* /pets"}, []string{list, add}},
		{[]string{"tag:PETS"}, []string{list, add, get}},
		{[]string{"tag:write*"}, []string{add}},
		{[]string{"op:list*"}, []string{list, toys}},
		{[]string{"op:pets*"}, []string{add}},
		{[]string{"deprecated"}, []string{old}},
		{[]string{"~^POST|toys"}, []string{add, toys}},
		{[]string{"!GET"}, []string{add}},
		{[]string{"!deprecated", "GET"}, []string{list, get, toys}},
		{[]string{"op:getPet", "!/pets/**", "GET"}, []string{get, old}},
		{[]string{" ! tag:toys "}, []string{list, add, get}},
	} {
		f, err := apigen.NewFilter(&junctor.API{APISettings: junctor.APISettings{Include: c.rules}})
		if err != nil {
			t.Errorf("%q: %v", c.rules, err)
			continue
		}
		var got []string
		for i := range m.Tools {
			if f.Includes(&m.Tools[i]) {
				got = append(got, m.Tools[i].Key)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q takes %q, want %q", c.rules, got, c.want)
		}
	}
}

// TestNoRules: what could never fit is refused, not kept as a rule that takes
// nothing.
func TestNoRules(t *testing.T) {
	t.Parallel()
	for _, rule := range []string{"", "!", "GET pets", "pets/*", "GET,POST", "~(", "op:[a", "tag:[", "/pets/[x"} {
		if _, err := apigen.NewFilter(&junctor.API{APISettings: junctor.APISettings{Include: []string{rule}}}); junctor.CodeOf(err) != junctor.CodeInvalid {
			t.Errorf("%q is taken for a rule: %v", rule, err)
		}
	}
}

// TestMutations: they are tools where somebody says so.
func TestMutations(t *testing.T) {
	t.Parallel()
	m := made(t, "type Query { book: String }\ntype Mutation { addBook(name: String): String dropBook: String }")
	for _, c := range []struct {
		mutations string
		rules     []string
		want      []string
	}{
		{"", nil, []string{"query book"}},
		{"", []string{"op:*"}, []string{"query book"}},
		{"none", []string{"~Book"}, nil},
		{"explicit", nil, []string{"query book"}},
		{"explicit", []string{"op:add*", "tag:query"}, []string{"query book", "mutation addBook"}},
		{"explicit", []string{"!op:drop*"}, []string{"query book"}},
		{"all", nil, []string{"query book", "mutation addBook", "mutation dropBook"}},
		{"all", []string{"!op:drop*"}, []string{"query book", "mutation addBook"}},
	} {
		f, err := apigen.NewFilter(&junctor.API{APISettings: junctor.APISettings{Include: c.rules, Mutations: c.mutations}})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i := range m.Tools {
			if f.Includes(&m.Tools[i]) {
				got = append(got, m.Tools[i].Key)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("mutations %q with %q takes %q, want %q", c.mutations, c.rules, got, c.want)
		}
	}
}
