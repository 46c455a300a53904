package graphql

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

const library = `
schema { query: Root mutation: Change subscription: News }
scalar DateTime
scalar Anything
enum Shelf { FRONT BACK @deprecated }
interface Thing { id: ID! name: String }
type Book implements Thing { id: ID! name: String pages: Int! author: Person loans(first: Int!): LoanPage written: DateTime old: String @deprecated }
type Film implements Thing { id: ID! name: String pages: String minutes: Int }
type Person { id: ID! name: String books: [Book!]! }
type Loan { id: ID! by: Person book: Book }
type LoanPage { totalCount: Int nodes: [Loan] pageInfo: PageInfo! }
type PageInfo { hasNextPage: Boolean! hasPreviousPage: Boolean endCursor: String startCursor: String }
union Found = Book | Film | Person
input Filter { shelf: Shelf = FRONT and: [Filter!] after: DateTime any: Anything text: String! }
type Root {
  "One book."
  book(id: ID!): Book
  find(filter: Filter!, first: Int = 10): [Found!]!
  thing(id: ID!): Thing
  loans(first: Int, after: String): LoanPage
  count: Int!
  me: Person
}
type Change {
  addBook(name: String!, by: ID): Book
  book(id: ID!): BookOps
}
type BookOps { delete: Boolean rename(id: ID, name: String!): Book loan: LoanMutation }
type LoanMutation { end: Boolean start(by: ID!): Loan }
type News { bookAdded: Book }
`

func read(t *testing.T, text string, saved ...doc.Source) *doc.Document {
	t.Helper()
	d, _, err := readSDL(doc.Source{Name: "schema.graphql", Text: []byte(text), SavedOperations: saved})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func byKey(t *testing.T, d *doc.Document, key string) *doc.Operation {
	t.Helper()
	for _, op := range d.Operations {
		if op.Key == key {
			return op
		}
	}
	t.Fatalf("there is no operation %q", key)
	return nil
}

func sent(op *doc.Operation) string { return op.GraphQL.Head + op.GraphQL.Selection + op.GraphQL.Tail }

func TestOperations(t *testing.T) {
	t.Parallel()
	d := read(t, library)
	var got []string
	for _, op := range d.Operations {
		got = append(got, op.Key)
	}
	want := []string{
		"query book", "query find", "query thing", "query loans", "query count", "query me",
		"mutation addBook", "mutation book.delete", "mutation book.rename", "mutation book.loan.end", "mutation book.loan.start",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	for key, text := range map[string]string{
		"query count":              `query count { count }`,
		"query me":                 `query me { me { id name books { id name pages written } } }`,
		"query loans":              `query loans($first: Int, $after: String) { loans(first: $first, after: $after) { totalCount nodes { id by { id name } book { id name pages written } } pageInfo { hasNextPage endCursor } } }`,
		"query thing":              `query thing($id: ID!) { thing(id: $id) { __typename id name ... on Book { pages written author { id name } } ... on Film { Film_pages: pages minutes } } }`,
		"mutation book.delete":     `mutation book_delete($id: ID!) { book(id: $id) { delete } }`,
		"mutation book.rename":     `mutation book_rename($book_id: ID!, $rename_id: ID, $name: String!) { book(id: $book_id) { rename(id: $rename_id, name: $name) { id name pages written author { id name } } } }`,
		"mutation book.loan.start": `mutation book_loan_start($id: ID!, $by: ID!) { book(id: $id) { loan { start(by: $by) { id by { id name } book { id name pages written } } } } }`,
	} {
		if got := sent(byKey(t, d, key)); got != text {
			t.Errorf("%s sends\n%s, want\n%s", key, got, text)
		}
	}
	if p := d.Problems; len(p) != 1 || p[0].Code != codeSubscription || p[0].At.Line == 0 {
		t.Errorf("problems: %+v", p)
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	d := read(t, library)
	op := byKey(t, d, "query find")
	if len(op.Params) != 2 || !op.Params[0].Required || op.Params[1].Required || op.Params[1].Schema.Get("default").Text != "10" {
		t.Fatalf("parameters: %+v", op.Params)
	}
	filter, err := d.Schemas.Resolve(op.Params[0].Schema.Get("$ref").Text, nil)
	if err != nil {
		t.Fatal(err)
	}
	again, _ := d.Schemas.Resolve(filter.Get("properties").Get("and").Get("items").Get("$ref").Text, nil)
	if again != filter {
		t.Error("a cycle does not lead to the same schema")
	}
	if got := filter.Get("required").Items; len(got) != 1 || got[0].Text != "text" {
		t.Errorf("required: %v", got)
	}
	if shelf := filter.Get("properties").Get("shelf"); len(shelf.Get("enum").Items) != 1 || shelf.Get("default").Text != "FRONT" {
		t.Errorf("shelf: %+v", shelf)
	}
}

// TestBroken: each fault is found where it is, and costs nothing else.
func TestBroken(t *testing.T) {
	t.Parallel()
	d := read(t, `type Query {
  a: String
  a: Int
  b: Nowhere
  c(x: Nowhere, y: Int): String
}

"""
about "type" of
type Good
"""
type Bad {
  x String
}

type Good { x: Int }
extend type Query { d: Good }
`)
	var got []string
	for _, p := range d.Problems {
		got = append(got, string(p.Code)+" "+p.At.File)
		if p.At.Column == 0 || p.Remedy == "" {
			t.Errorf("%+v", p)
		}
	}
	lines := []int32{}
	for _, p := range d.Problems {
		lines = append(lines, p.At.Line)
	}
	slices.Sort(lines)
	if !slices.Equal(lines, []int32{3, 4, 5, 13}) {
		t.Errorf("problems at lines %v: %q", lines, got)
	}
	var keys []string
	for _, op := range d.Operations {
		keys = append(keys, op.Key)
	}
	if !slices.Equal(keys, []string{"query a", "query c", "query d"}) {
		t.Errorf("operations %q", keys)
	}
	for _, text := range []string{"", "hello", "{}", "type A { b: Int }", "type Query"} {
		if d, _, err := readSDL(doc.Source{Text: []byte(text)}); err == nil && len(d.Operations) > 0 {
			t.Errorf("%q gives %+v", text, d.Operations)
		}
	}
}

func TestSelect(t *testing.T) {
	t.Parallel()
	s := schemaOf(t, library)
	for given, want := range map[string]string{
		"id name":                                "{ id name }",
		"{ id, author { name } }":                "{ id author { name } }",
		"t: name loans(first: 3) { totalCount }": "{ t: name loans(first: 3) { totalCount } }",
		"... on Book { pages } # and\n":          "{ ... on Book { pages } }",
		"__typename":                             "{ __typename }",
		"} } mutation m { addBook(name: 1) { id": "",
		"id } evil { id":                         "",
		"{ id } query x { count }":               "",
		"mutation { book }":                      "",
		"nothing":                                "",
		"author":                                 "",
		"id { x }":                               "",
		"loans { totalCount }":                   "",
		"loans(first: $id) { totalCount }":       "",
		"loans(first: 1, x: 2) { totalCount }":   "",
		"id @include(if: true)":                  "",
		"...Frag":                                "",
		"... on LoanMutation { end }":            "",
		"{ id } fragment F on Book { id }":       "",
		"author{" + strings.Repeat("books{author{", 9) + "id" + strings.Repeat("}}", 9) + "}": "",
	} {
		got, err := s.CheckSelection("Book", given)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("_select %q is %q, %v", given, got, err)
		}
	}
}

func schemaOf(t *testing.T, text string) *Schema {
	t.Helper()
	s := &Schema{}
	s.joinDefinitions(s.parseSDL(text))
	return s
}

func TestSaved(t *testing.T) {
	t.Parallel()
	d := read(t, library,
		doc.Source{Name: "ops.graphql", Text: []byte("# The newest loans.\nquery NewLoans($n: Int = 3) { loans(first: $n) { ...P } }\nfragment P on LoanPage { totalCount }\nfragment Unused on Book { id }\nquery Bad { nowhere }\nsubscription S { bookAdded { id } }")},
		doc.Source{Name: "manifest.json", Text: []byte(`{"format":"apollo-persisted-query-manifest","operations":[{"id":"1","name":"Count","type":"query","body":"query Count { count }"}]}`)})
	op := byKey(t, d, "query saved NewLoans")
	if !op.GraphQL.IsSaved || op.Description != "The newest loans." || len(op.Params) != 1 || !strings.Contains(sent(op), "fragment P on LoanPage") || strings.Contains(sent(op), "Unused") {
		t.Errorf("%+v sends %s", op, sent(op))
	}
	byKey(t, d, "query saved Count")
	bad := 0
	for _, p := range d.Problems {
		if p.Code == codeSaved && p.At.File == "ops.graphql" && p.At.Line > 1 {
			bad++
		}
	}
	if bad != 2 {
		t.Errorf("%d faults of saved operations: %+v", bad, d.Problems)
	}
}

// TestRealSchemas: every operation that is made of a real schema is valid by
// that schema, queries are queries, and a mutation does one thing.
func TestRealSchemas(t *testing.T) {
	t.Parallel()
	check(t, library)
	files, _ := filepath.Glob("../../../../shared/data/specs/*.graphql")
	if len(files) == 0 {
		t.Log("no schemas beside the checkout: only the test's own was read")
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		check(t, string(text))
	}
}

func check(t *testing.T, text string) {
	t.Helper()
	parsed, err := gqlparser.LoadSchema(&ast.Source{Input: text})
	if err != nil {
		t.Fatal(err)
	}
	d := read(t, text)
	longest := 0
	for _, op := range d.Operations {
		query := sent(op)
		longest = max(longest, len(query))
		q, err := parser.ParseQuery(&ast.Source{Input: query})
		if err != nil {
			t.Fatalf("%s: %v in %s", op.Key, err, query)
		}
		if errs := validator.ValidateWithRules(parsed, q, nil); len(errs) > 0 {
			t.Errorf("%s: %v in %s", op.Key, errs, query)
		}
		if o := q.Operations[0]; (o.Operation == ast.Mutation) != op.GraphQL.Mutation || len(o.SelectionSet) != 1 {
			t.Errorf("%s does %s", op.Key, query)
		}
		if op.GraphQL.Mutation {
			oneLeaf(t, schemaOf(t, text), op, q.Operations[0].SelectionSet)
		}
	}
	t.Logf("%d operations, %d problems, the longest query has %d bytes", len(d.Operations), len(d.Problems), longest)
}

// oneLeaf holds that below namespaces one field is chosen, down to one that is
// none.
func oneLeaf(t *testing.T, s *Schema, op *doc.Operation, set ast.SelectionSet) {
	t.Helper()
	for len(set) > 0 {
		f, ok := set[0].(*ast.Field)
		if !ok || !s.isNamespace(f.ObjectDefinition) && f.ObjectDefinition.Name != s.rootTypes[ast.Mutation] {
			return
		}
		if len(set) != 1 {
			t.Errorf("%s does %d things", op.Key, len(set))
		}
		set = f.SelectionSet
	}
}

func FuzzRead(f *testing.F) {
	f.Add(library)
	f.Add("type Query { a: [String!]! b(c: Int = 1): Query }")
	f.Add("\"\"\"x\ntype A\n\"\"\" type Query { a: A } type")
	f.Fuzz(func(t *testing.T, text string) {
		begin := time.Now()
		defer func() {
			if took := time.Since(begin); took > 10*time.Second {
				t.Errorf("%v for %d bytes", took, len(text))
			}
		}()
		d, _, err := readSDL(doc.Source{Text: []byte(text)})
		if err != nil {
			return
		}
		for _, p := range d.Problems {
			if p.At.Line < 1 || p.At.Column < 1 {
				t.Errorf("%+v has no place", p)
			}
		}
		for _, op := range d.Operations {
			if _, err := parser.ParseQuery(&ast.Source{Input: sent(op)}); err != nil {
				t.Errorf("%s: %v in %s", op.Key, err, sent(op))
			}
		}
	})
}

func FuzzSelect(f *testing.F) {
	s := &Schema{}
	s.joinDefinitions(s.parseSDL(library))
	f.Add("id name")
	f.Add("... on Film { id } x: loans(first: {a: [\"}\"]}) { totalCount }")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := s.CheckSelection("Book", text)
		if err != nil {
			return
		}
		q, err := parser.ParseQuery(&ast.Source{Input: "query q { book(id: 1) " + got + " }"})
		if err != nil || len(q.Operations) != 1 || len(q.Operations[0].SelectionSet) != 1 {
			t.Errorf("%q became %q: %v", text, got, err)
		}
	})
}

// TestWhatNeedNotBeGiven: of an enum the values that are not deprecated are shown,
// and where all are, all of them, since it takes nothing else; the variable of an
// argument with a default may be absent.
func TestWhatNeedNotBeGiven(t *testing.T) {
	t.Parallel()
	const text = "type Query { some(a: A, b: B! = V, c: [Int!]! = [1], d: Int!): Int }\nenum A { X Y @deprecated }\nenum B { V @deprecated W @deprecated }"
	d, err := doc.Read(t.Context(), doc.Source{Name: "s", Text: []byte(text)}, nil, Readers()...)
	if err != nil {
		t.Fatal(err)
	}
	op := d.Operations[0]
	for i, want := range []string{"X", "V,W"} {
		var values []string
		for _, v := range op.Params[i].Schema.List("enum") {
			values = append(values, v.ScalarText())
		}
		if got := strings.Join(values, ","); got != want {
			t.Errorf("values: %s, want %s", got, want)
		}
	}
	if want := "query some($a: A, $b: B, $c: [Int!], $d: Int!) { some(a: $a, b: $b, c: $c, d: $d)"; op.GraphQL.Head != want {
		t.Errorf("%s, want %s", op.GraphQL.Head, want)
	}
}
