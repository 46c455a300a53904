package apigen_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
)

const learnedAPI = `openapi: 3.1.0
info: {title: T, version: '1'}
servers: [{url: https://a.example}]
paths:
  /api/v1/cats: {get: {operationId: get_cats, description: Finds cats. Needs the scope read., responses: {}}, post: {operationId: post_cats, description: Adds a cat., responses: {}}}
  /api/v1/cats/{id}: {get: {operationId: get_cat, description: Finds a cat. Needs the scope read., responses: {}}}
  /api/v1/dogs: {get: {operationId: get_dogs, description: Finds dogs. Needs the scope read., responses: {}}, delete: {operationId: delete_dogs, description: Removes dogs., responses: {}}}
  /api/v1/old: {get: {operationId: get_old, description: Old. Needs the scope read., deprecated: true, responses: {}}}
  /api/v1/other: {get: {operationId: other, description: Something., responses: {}}}
`

// A correction that was made once is proposed for operations that are like it, and
// for no others.
func TestCorrectionsAreProposedForSimilarOperations(t *testing.T) {
	t.Parallel()
	m := made(t, learnedAPI)
	for name, c := range map[string]struct {
		edited map[string]junctor.Override
		want   []string
	}{
		"a word of a name":        {map[string]junctor.Override{"get_cats": {Name: "list_cats"}}, []string{"get_cat list_cat", "get_dogs list_dogs"}},
		"another name altogether": {map[string]junctor.Override{"get_cats": {Name: "felines"}}, nil},
		"a word that is added":    {map[string]junctor.Override{"get_cats": {Name: "get_cats_now"}}, []string{"get_cat get_cat_now"}},
		"a name that is taken":    {map[string]junctor.Override{"get_cats": {Name: "list_cats"}, "get_dogs": {Name: "list_cat"}}, nil},
		"a phrase that is taken out": {
			map[string]junctor.Override{"get_cats": {Description: "Finds cats."}},
			[]string{"get_cat Finds a cat.", "get_dogs Finds dogs."},
		},
		"a phrase that is replaced": {
			map[string]junctor.Override{"get_cats": {Description: "Finds cats. Free for all."}},
			[]string{"get_cat Finds a cat. Free for all.", "get_dogs Finds dogs. Free for all."},
		},
		"a phrase that is added":  {map[string]junctor.Override{"get_cats": {Description: "Finds cats. Needs the scope read. Not at night."}}, []string{"get_cat Finds a cat. Needs the scope read. Not at night."}},
		"another text altogether": {map[string]junctor.Override{"get_cats": {Description: "Meow."}}, nil},
		"one that is hidden":      {map[string]junctor.Override{"get_cats": {Hide: true}}, []string{"get_cat hide"}},
		"what people said stays":  {map[string]junctor.Override{"get_cats": {Name: "list_cats"}, "get_cat": {Name: "one_cat"}, "get_dogs": {Hide: true}}, nil},
	} {
		var got []string
		for _, p := range m.ProposeImprovements(c.edited) {
			if p.Code != "like_correction" {
				continue
			}
			edit := p.Edit.Name + p.Edit.Description
			if p.Edit.Hide {
				edit = "hide"
			}
			got = append(got, p.Edit.Tool+" "+edit)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	tags := map[string]junctor.ToolTag{"list_cats": {Roles: []junctor.Role{"Finance"}, Category: "Cats"}}
	var got []string
	for _, p := range m.ProposeRoles(map[string]junctor.Override{"get_cats": {Name: "list_cats"}}, tags, func([]byte, string) junctor.Class { return junctor.Class{Roles: []junctor.Role{"General"}} }) {
		got = append(got, fmt.Sprint(p.Edit.Tool, p.Edit.Roles, p.Edit.Category, p.Line))
	}
	if strings.Join(got, " ") != "get_cat[Finance]Cats6" {
		t.Errorf("roles: %q", got)
	}
}
