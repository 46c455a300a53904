package apigen_test

import (
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
)

// TestImprovements: what would help is an edit to accept, and what people have
// edited is left alone.
func TestImprovements(t *testing.T) {
	t.Parallel()
	const ok = "responses: {'200': {description: ok}}"
	m := made(t, `openapi: 3.1.0
info: {title: T, version: '1'}
paths:
  /: {get: {operationId: root, `+ok+`}}
  /cat-food/{id}: {parameters: [{name: id, in: path, required: true, schema: {type: string}}], put: {operationId: feed, `+ok+`}}
  /fine: {get: {operationId: fine, description: Is fine., `+ok+`}}
  /old: {get: {operationId: old, deprecated: true, `+ok+`}}
  /a: {get: {operationId: get_the_settings_of_the_settings_for_the_administration, description: One., `+ok+`}}
  /b: {get: {operationId: get_settings_and_settings_of_administration_of_an_api_v1, description: Two., `+ok+`}}
`)
	said := func(edited map[string]junctor.Override) string {
		var all []string
		for _, p := range m.ProposeImprovements(edited) {
			if p.Severity != "hint" || p.Line == 0 || p.Edit == nil {
				t.Errorf("%+v", p)
				continue
			}
			edit := p.Edit.Name + p.Edit.Description
			if p.Edit.Hide {
				edit = "hide"
			}
			all = append(all, p.Code+" "+p.Edit.Tool+" "+edit)
		}
		return strings.Join(all, "\n")
	}
	want := strings.Join([]string{
		"no_description root Get root.",
		"no_description feed Replace cat food by id.",
		"deprecated old hide",
		"long_name get_the_settings_of_the_settings_for_the_administration get_settings_administration",
	}, "\n") // the other long name would be the same when it is shorter
	if got := said(nil); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	edited := map[string]junctor.Override{
		"root": {Description: "x"}, "feed": {Hide: true}, "old": {Hide: true},
		"get_the_settings_of_the_settings_for_the_administration":  {Name: "settings"},
		"get_settings_and_settings_of_administration_of_an_api_v1": {Name: "more_settings"},
	}
	if got := said(edited); got != "" {
		t.Errorf("what was edited is improved again:\n%s", got)
	}
}

// TestImproveGraphQL: fields of a schema have no path to describe them by.
func TestImproveGraphQL(t *testing.T) {
	t.Parallel()
	m := made(t, "type Query { bookCount: Int }\ntype Mutation { addBook: Int }")
	var got []string
	for _, p := range m.ProposeImprovements(nil) {
		got = append(got, p.Edit.Description)
	}
	if want := "Get book count.|Create or run add book."; strings.Join(got, "|") != want {
		t.Errorf("%q", got)
	}
}
