package tool_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/internal/apigen/tool"
)

func TestFilter(t *testing.T) {
	t.Parallel()
	all := build(t, paths(`
  /pets: {get: {operationId: listPets, tags: [pets], responses: {}}, post: {operationId: addPet, tags: [pets], responses: {}}}
  /pets/{id}/toys: {get: {operationId: pets/list-toys, tags: [toys], responses: {}}}
  /admin/users: {get: {operationId: users, tags: [admin], responses: {}}, delete: {operationId: old, deprecated: true, responses: {}}}
`), tool.Options{})
	yes := true
	for name, c := range map[string]struct {
		rules []tool.Rule
		want  string
	}{
		"nothing said":          {nil, "list_pets add_pet pets_list_toys users"},
		"only reading":          {[]tool.Rule{{Methods: []string{"get"}}}, "list_pets pets_list_toys users"},
		"all but a path":        {[]tool.Rule{{Exclude: true, Path: "/admin/**"}}, "list_pets add_pet pets_list_toys"},
		"one segment":           {[]tool.Rule{{Path: "/pets/*/toys"}}, "pets_list_toys"},
		"the path itself too":   {[]tool.Rule{{Path: "/pets/**"}}, "list_pets add_pet pets_list_toys"},
		"a tag":                 {[]tool.Rule{{Tag: "toy*"}}, "pets_list_toys"},
		"an id with a slash":    {[]tool.Rule{{Operation: "pets/*"}}, "pets_list_toys"},
		"a regular expression":  {[]tool.Rule{{Matches: `^GET /(pets|admin/users)$`}}, "list_pets users"},
		"deprecated on purpose": {[]tool.Rule{{Deprecated: &yes}}, "old"},
		"the first decides":     {[]tool.Rule{{Exclude: true, Methods: []string{"POST"}}, {Tag: "pets"}}, "list_pets"},
	} {
		f, err := tool.NewFilter(c.rules)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, x := range all {
			if f.Takes(&x) {
				got = append(got, x.Name)
			}
		}
		want := strings.Fields(c.want)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v", name, got)
		}
	}
	for _, bad := range []tool.Rule{{Matches: "("}, {Tag: "["}} {
		if _, err := tool.NewFilter([]tool.Rule{bad}); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
}
