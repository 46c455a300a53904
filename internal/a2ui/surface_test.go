package a2ui_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/internal/a2ui"
)

func surface(data string, components ...string) *a2ui.Surface {
	s := &a2ui.Surface{ID: "main_surface", Data: json.RawMessage(data)}
	for _, c := range components {
		s.Components = append(s.Components, json.RawMessage(c))
	}
	return s
}

const title = `{"id":"t","component":"Text","text":"hi"}`

func TestBuiltinCatalogsFitTogether(t *testing.T) {
	t.Parallel()
	known := a2ui.BuiltinCatalogs()
	if n := len(known.All()); n != 4 {
		t.Fatalf("%d catalogs", n)
	}
	for _, name := range []string{"Text", "ChoicePicker", "AccountCard", "TransactionList", "googlemaps:MapView", "mcp:AppFrame"} {
		if _, _, ok := known.Component(name); !ok {
			t.Errorf("%s is not known", name)
		}
	}
	if c, ok := known.Catalog(a2ui.BasicCatalogID(a2ui.V10)); !ok || !c.Basic || len(c.Components) != 18 {
		t.Errorf("the basic catalog of v1.0 is %+v", c)
	}
}

func TestCatalogsDoNotCollide(t *testing.T) {
	t.Parallel()
	text := a2ui.Catalog{ID: "x:one", Components: []a2ui.Component{{Name: "Text"}}}
	spaced := a2ui.Catalog{ID: "x:maps", Namespace: "googlemaps", Components: []a2ui.Component{{Name: "googlemaps:MapView"}}}
	for name, c := range map[string]struct {
		list []a2ui.Catalog
		want string
	}{
		"the same component":            {[]a2ui.Catalog{text, {ID: "x:two", Components: text.Components}}, `a component "Text" already`},
		"the same id":                   {[]a2ui.Catalog{text, {ID: "x:one"}}, `the catalog id "x:one"`},
		"an alias that is another's id": {[]a2ui.Catalog{text, {ID: "x:two", Aliases: []string{"x:one"}}}, `the catalog id "x:one"`},
		"no id":                         {[]a2ui.Catalog{{}}, `the catalog id ""`},
		"the same namespace":            {[]a2ui.Catalog{spaced, {ID: "x:other", Namespace: "googlemaps"}}, `namespace "googlemaps"`},
		"a name of another namespace":   {[]a2ui.Catalog{{ID: "x:evil", Namespace: "evil", Components: spaced.Components}}, `does not have the namespace "evil"`},
		"a name without the namespace":  {[]a2ui.Catalog{{ID: "x:evil", Namespace: "evil", Components: text.Components}}, `does not have the namespace "evil"`},
		"a name with two colons":        {[]a2ui.Catalog{{ID: "x:evil", Namespace: "a", Components: []a2ui.Component{{Name: "a:b:C"}}}}, "is not the name of a component"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := a2ui.NewCatalogs(c.list...); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	if known, err := a2ui.NewCatalogs(text, spaced, a2ui.Catalog{ID: "x:own", Components: []a2ui.Component{{Name: "MapView"}}}); err != nil {
		t.Error(err)
	} else if _, c, _ := known.Component("googlemaps:MapView"); c.ID != "x:maps" {
		t.Errorf("googlemaps:MapView is of %s, though another catalog has a MapView", c.ID)
	}
}

func TestNamesSplitInOneWay(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][2]string{
		"googlemaps:MapView": {"googlemaps", "MapView"}, "Text": {"", "Text"}, "mcp:AppFrame": {"mcp", "AppFrame"}, "a-1:B_c-d": {"a-1", "B_c-d"},
	} {
		space, own, err := a2ui.SplitComponentName(name)
		if err != nil || space != want[0] || own != want[1] {
			t.Errorf("%s is %q %q, %v", name, space, own, err)
		}
	}
	for _, name := range []string{"", ":", ":MapView", "googlemaps:", "a:b:C", "Google:Map", "a/b", "a b", "1a", "googlemaps:1", "g\x00:M", "gö:M", strings.Repeat("a", 33) + ":M"} {
		if space, own, err := a2ui.SplitComponentName(name); err == nil {
			t.Errorf("%q was read as %q and %q", name, space, own)
		}
	}
}

func TestCheckNamesProblems(t *testing.T) {
	t.Parallel()
	many := make([]string, 0, 30)
	for i := range 30 { // each draws the next twice
		n, next := string(rune('a'+i/10))+string(rune('0'+i%10)), string(rune('a'+(i+1)/10))+string(rune('0'+(i+1)%10))
		if i == 0 {
			n = "root"
		}
		many = append(many, `{"id":"`+n+`","component":"Row","children":["`+next+`","`+next+`"]}`)
	}
	many = append(many, `{"id":"d0","component":"Divider"}`)
	deep := []string{`{"id":"root","component":"Card","child":"c0"}`}
	for i := range 120 {
		deep = append(deep, strings.NewReplacer("N", string(rune('0'+i%10))+string(rune('a'+i/10)), "M", string(rune('0'+(i+1)%10))+string(rune('a'+(i+1)/10))).Replace(`{"id":"cN","component":"Card","child":"cM"}`))
	}
	deep[0] = `{"id":"root","component":"Card","child":"c0a"}`
	deep = append(deep, `{"id":"c0m","component":"Divider"}`)
	// Two chains of 60: the second leads into the first, which was seen before it.
	joined := []string{`{"id":"root","component":"Column","children":["x0","y0"]}`, `{"id":"x60","component":"Divider"}`, `{"id":"y60","component":"Card","child":"x0"}`}
	for i := range 60 {
		joined = append(joined, fmt.Sprintf(`{"id":"x%d","component":"Card","child":"x%d"}`, i, i+1), fmt.Sprintf(`{"id":"y%d","component":"Card","child":"y%d"}`, i, i+1))
	}
	for name, c := range map[string]struct {
		s     *a2ui.Surface
		grade a2ui.Grade
		want  string
	}{
		"no id":                      {&a2ui.Surface{Components: surface("", `{"id":"root","component":"Divider"}`).Components}, a2ui.GradeBroken, "its id"},
		"nothing":                    {surface(""), a2ui.GradeBroken, `the id "root"`},
		"no root":                    {surface("", title), a2ui.GradeBroken, `the id "root"`},
		"data that is a list":        {surface("[1]", `{"id":"root","component":"Divider"}`), a2ui.GradeBroken, "must be a JSON object"},
		"data with a name twice":     {surface(`{"a":1,"a":2}`, `{"id":"root","component":"Divider"}`), a2ui.GradeBroken, "must be a JSON object"},
		"two of one id":              {surface("", `{"id":"root","component":"Divider"}`, title, title), a2ui.GradeBroken, "t: two components"},
		"a component without a kind": {surface("", `{"id":"root"}`), a2ui.GradeBroken, "component is missing"},
		"a component that is a text": {surface("", `"root"`), a2ui.GradeBroken, "must be a JSON object"},
		"a child that is not there":  {surface("", `{"id":"root","component":"Card","child":"x"}`), a2ui.GradeBroken, `root.child: there is no component "x"`},
		"a template that is gone":    {surface("", `{"id":"root","component":"List","children":{"componentId":"x","path":"/l"}}`), a2ui.GradeBroken, `root.children: there is no component "x"`},
		"a tab that is not there":    {surface("", `{"id":"root","component":"Tabs","tabs":[{"title":"a","child":"x"}]}`), a2ui.GradeBroken, `root.tabs: there is no component "x"`},
		"a component within itself":  {surface("", `{"id":"root","component":"Card","child":"a"}`, `{"id":"a","component":"Row","children":["root"]}`), a2ui.GradeBroken, "contains itself"},
		"one that doubles":           {surface("", many...), a2ui.GradeBroken, "draws more than"},
		"one too deep":               {surface("", deep...), a2ui.GradeBroken, "components deep"},
		"two chains, one too deep":   {surface("", joined...), a2ui.GradeBroken, "components deep"},
		"too big":                    {surface(`{"a":"`+strings.Repeat("x", a2ui.MaxBytes)+`"}`, `{"id":"root","component":"Divider"}`), a2ui.GradeBroken, "KiB"},
		"a property that is missing": {surface("", `{"id":"root","component":"Text"}`), a2ui.GradeWrong, "root.text: Text requires it"},
		"one that it does not have":  {surface("", `{"id":"root","component":"Text","text":"a","onclick":"alert(1)"}`), a2ui.GradeWrong, "root.onclick: Text has no such property"},
		"a word that is none":        {surface("", `{"id":"root","component":"Text","text":"a","variant":"h9"}`), a2ui.GradeWrong, "one of h1"},
		"a number as text":           {surface("", `{"id":"root","component":"Text","text":1}`), a2ui.GradeWrong, "a text"},
		"a date that is none":        {surface("", `{"id":"root","component":"DateTimeInput","value":"","min":"soon"}`), a2ui.GradeWrong, "a date or a time"},
		"an action without a name":   {surface("", `{"id":"root","component":"Button","child":"t","action":{"event":{}}}`, title), a2ui.GradeWrong, "event"},
		"a catalog not named":        {surface("", `{"id":"root","component":"googlemaps:MapView","latitude":1,"longitude":2}`), a2ui.GradeWrong, "does not name"},
		"an unknown component":       {surface("", `{"id":"root","component":"Chart"}`), a2ui.GradeUnknown, "no component Chart"},
		"an unknown namespace":       {surface("", `{"id":"root","component":"foo:Bar","x":1}`), a2ui.GradeUnknown, "the namespace foo"},
		"unknown in its namespace":   {surface("", `{"id":"root","component":"googlemaps:Street"}`), a2ui.GradeUnknown, "has no component Street"},
		"a name that is none":        {surface("", `{"id":"root","component":"a:b:c"}`), a2ui.GradeUnknown, "is not the name of a component"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			problems := c.s.Check(nil)
			for _, p := range problems {
				if p.Grade == c.grade && strings.Contains(p.String(), c.want) {
					return
				}
			}
			t.Errorf("%v, want %s %q", problems, c.grade, c.want)
		})
	}
	good := surface(`{"l":[{"n":1}],"location":{"latitude":1}}`,
		`{"id":"root","component":"Column","children":["t","m","l"],"align":"start"}`, title,
		`{"id":"m","component":"googlemaps:MapView","latitude":{"path":"/location/latitude"},"longitude":2,"zoom":15,"weight":1}`,
		`{"id":"l","component":"List","children":{"componentId":"n","path":"/l"}}`, `{"id":"n","component":"Text","text":{"call":"formatNumber","args":{"value":{"path":"n"}},"returnType":"string"}}`)
	good.Catalogs = []string{a2ui.MapsCatalogID}
	if problems := good.Check(nil); len(problems) > 0 {
		t.Errorf("nothing is wrong with it, but: %v", problems)
	}
}
