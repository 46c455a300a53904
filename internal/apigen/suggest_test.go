package apigen_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/apigen"
)

const suggestDocument = `openapi: 3.1.0
info: {title: T, version: '1'}
paths:
  /a: {get: {operationId: one, description: Gets one., tags: [things], responses: {'200': {description: ok}}}}
  /b: {get: {operationId: two, responses: {'200': {description: ok}}}}
  /c: {get: {operationId: old, deprecated: true, responses: {'200': {description: ok}}}}
`

func suggestOperations(t testing.TB, edited map[string]junctor.Override) []apigen.Operation {
	t.Helper()
	m := made(t, suggestDocument)
	return apigen.ListOperations(m.Tools, apigen.Filter{}, edited, map[string]junctor.ToolTag{"one": {Roles: []junctor.Role{"QA"}, Category: "Things"}},
		func([]byte, string) junctor.Class {
			return junctor.Class{Roles: []junctor.Role{"Ops"}, Category: "Rules"}
		})
}

// TestOperations: a model is asked about what is offered, as it is shown.
func TestOperations(t *testing.T) {
	t.Parallel()
	ops := suggestOperations(t, map[string]junctor.Override{"two": {Name: "second", Description: "Is second."}})
	if len(ops) != 2 {
		t.Fatalf("%d operations", len(ops))
	}
	if got := fmt.Sprint(ops[0].Current); got != "{one Gets one. [QA] Things}" {
		t.Error(got)
	}
	if got := fmt.Sprint(ops[1].Current); got != "{second Is second. [Ops] Rules}" {
		t.Error(got)
	}
	if left := suggestOperations(t, map[string]junctor.Override{"one": {Hide: true}}); len(left) != 1 {
		t.Errorf("a hidden tool is asked about: %v", left)
	}
}

// TestSuggested: nothing is taken but what was asked for, and what a person can
// look at.
func TestSuggested(t *testing.T) {
	t.Parallel()
	ops := suggestOperations(t, nil)
	roles := []junctor.Role{"QA", "Ops"}
	taken := map[string]bool{"one": true, "two": true, "mine": true}
	for name, c := range map[string]struct{ answer, want string }{
		"all members":                    {`{"tools":[{"tool":"one","name":"get_one","description":"Get it.","roles":["Ops","Ops"],"category":"Stock"}]}`, "one to {get_one Get it. [Ops] Stock}"},
		"what is so already":             {`{"tools":[{"tool":"one","name":"one","description":" Gets one. ","roles":["QA"],"category":"Things"}]}`, ""},
		"nothing":                        {`{"tools":[]}`, ""},
		"in a fence":                     {"```json\n{\"tools\":[{\"tool\":\"two\",\"description\":\"Two.\"}]}\n```\n", "two to {Two.}"},
		"an operation that is not there": {`{"tools":[{"tool":"three","description":"Three."}]}`, "three left out"},
		"one that was not asked about":   {`{"tools":[{"tool":"old","description":"Old."}]}`, "old left out"},
		"one twice":                      {`{"tools":[{"tool":"two","category":"A"},{"tool":"two","category":"B"}]}`, "two to {A}, two left out"},
		"a name that is taken":           {`{"tools":[{"tool":"one","name":"mine"}]}`, "one left out"},
		"one name for two":               {`{"tools":[{"tool":"one","name":"x"},{"tool":"two","name":"x"}]}`, "one to {x}, two left out"},
		"a name with a space":            {`{"tools":[{"tool":"one","name":"get one"}]}`, "one left out"},
		"a role that is not there":       {`{"tools":[{"tool":"one","roles":["Admin"]}]}`, "one left out"},
		"a text that hides something":    {`{"tools":[{"tool":"one","description":"Get\u202eit."}]}`, "one left out"},
		"a text in tags":                 {`{"tools":[{"tool":"one","description":"Get\udb40\udc41it."}]}`, "one left out"},
		"a text that is too long":        {`{"tools":[{"tool":"one","description":"` + strings.Repeat("x", 1001) + `"}]}`, "one left out"},
		"a category with a slash":        {`{"tools":[{"tool":"one","category":"a/b"}]}`, "one left out"},
		"no tools":                       {`{}`, "error"},
		"no object":                      {`[]`, "error"},
		"a member too many":              {`{"tools":[{"tool":"one","annotations":{"readOnlyHint":true}}]}`, "error"},
		"a member twice":                 {`{"tools":[{"tool":"one","name":"a","name":"b"}]}`, "error"},
		"words around it":                {`Sure: {"tools":[]}`, "error"},
		"half a fence":                   {"```json\n{\"tools\":[]}", "error"},
	} {
		list, left, err := apigen.ParseSuggestions(c.answer, ops, roles, taken)
		var got []string
		if err != nil {
			got = append(got, "error")
		}
		for _, s := range list {
			got = append(got, s.Tool+" to {"+strings.Join(nonEmpty(s.To.Name, s.To.Description, join(s.To.Roles), s.To.Category), " ")+"}")
		}
		for _, l := range left {
			got = append(got, l.Tool+" left out")
		}
		if want := c.want; strings.Join(got, ", ") != want {
			t.Errorf("%s: %q, want %q (%v, %v)", name, strings.Join(got, ", "), want, left, err)
		}
	}
}

func join(roles []junctor.Role) string {
	if len(roles) == 0 {
		return ""
	}
	return fmt.Sprint(roles)
}

func nonEmpty(all ...string) []string {
	var out []string
	for _, s := range all {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}

// FuzzSuggested: whatever a model answers, what is taken is about the operations,
// short and visible.
func FuzzSuggested(f *testing.F) {
	for _, seed := range []string{`{"tools":[{"tool":"one","name":"a","description":"b","roles":["QA"],"category":"c"}]}`, "```json\n{}\n```", `{"tools":null}`, `[`} {
		f.Add(seed)
	}
	ops := suggestOperations(f, nil)
	f.Fuzz(func(t *testing.T, answer string) {
		list, _, err := apigen.ParseSuggestions(answer, ops, []junctor.Role{"QA"}, map[string]bool{"one": true, "two": true})
		if err != nil && len(list) > 0 {
			t.Fatal("an error, and something that is taken")
		}
		seen := map[string]bool{}
		for _, s := range list {
			if s.Tool != "one" && s.Tool != "two" || seen[s.Tool] || seen[s.To.Name] && s.To.Name != "" {
				t.Fatalf("%+v", s)
			}
			seen[s.Tool], seen[s.To.Name] = true, true
			for _, r := range s.To.Roles {
				if r != "QA" {
					t.Fatalf("%+v", s)
				}
			}
			if len(s.To.Name) > 64 || len(s.To.Description) > 1000 || !utf8.ValidString(s.To.Description) || strings.ContainsAny(s.To.Description, "\x00\x1b\u202e\u200b") {
				t.Fatalf("%+v", s)
			}
		}
	})
}
