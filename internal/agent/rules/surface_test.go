package rules

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/junctor-mcp/junctor/internal/a2ui"
	"github.com/junctor-mcp/junctor/internal/agent"
)

const shops = `
intents:
  - name: where
    match: '\bwhere\b'
    action: show
    context: [id, query]
    calls:
      - tool: geo__find
        take: {items: $.items}
      - from: "{{items}}"
        where: {id: "{{id}}"}
        first: pressed
      - set: {query: "{{pressed.name}}"}
        unless: "{{query}}"
      - set: {query: "{{message}}"}
        unless: "{{query}}"
      - from: "{{items}}"
        words: {of: "{{query}}", in: name, as: shop}
        sort: -date
        prefer: {id: "{{id}}"}
        limit: 3
        as: matches
        first: item
        rest: others
      - tool: sky__now
        when: "{{item}}"
        arguments: {query: "{{item.name}}"}
        may_fail: true
        find: '(?s)\A1\. (?P<label>[^\n]+)(?P<place>.*?)(?:\n\n|\z)'
      - in: "{{place}}"
        find: ['Coordinates: (?P<all>[^\n]+)', 'Coordinates: (?P<lat>[-\d.]+), (?P<lon>[-\d.]+)', 'Box: (?P<south>[-\d.]+) (?P<north>[-\d.]+)']
      - numbers: {lat: [-90, 90], lon: [-180, 180], south: [-90, 90], north: [-90, 90]}
      - middle: {lat: [south, north]}
        unless: "{{all}}"
    answers:
      - unless: "{{item}}"
        say: no such shop
      - when: "{{error}}"
        say: "no map: {{error}}"
      - unless: "{{lat}}"
        say: nowhere
      - when: ["{{others}}", "{{lat}}"]
        say: "the last {{shop}} of {{matches|count}}, {{item.date|day}}"
        surface: try/card
        with: {title: "{{label}}", n: "{{lat}}", many: "{{others}}", extra: "{{message}}"}
      - say: "{{shop}}"
        surface: {components: [{id: root, component: Text, text: "{{label}}"}], data: {lat: "{{lat}}", item: "{{item}}"}}
  - name: else
    match: pressed
    say: "what was {{message}}?"
fallback: hm
`

// list is what geo__find gives.
const list = `{"items":[{"id":"a","name":"Tesco Express","date":"2026-02-09"},{"id":"b","name":"Tesco Superstore","date":"2026-02-14"},
 {"id":"c","name":"Tesco Extra","date":"2026-01-31"},{"id":"d","name":"Costa","date":"2026-02-16"},{"id":"e","name":"Tesco Metro","date":"2025-01-01"},{"id":"f","name":"To Go","date":"2026-01-01"}]}`

func TestSteps(t *testing.T) {
	t.Parallel()
	r, err := Parse(shops, templates())
	if err != nil {
		t.Fatal(err)
	}
	const here = "1. Isleworth\n Coordinates: 51.5, -0.50\n Box: 1 2\n\n2. Elsewhere\n Coordinates: 7, 7"
	for _, c := range []struct {
		name, said string
		action     *a2ui.Action
		place      agent.Result
		asked      string // what the map is asked for
		answer     string
		surface    string // its data
	}{
		{
			name: "the last of several, and the others", said: "Where was TESCO?", place: agent.Result{Text: here}, asked: "Tesco Superstore", answer: "the last Tesco of 3, Feb 14",
			surface: `{"many":[{"date":"2026-02-09","id":"a","name":"Tesco Express"},{"date":"2026-01-31","id":"c","name":"Tesco Extra"}],"n":51.5,"said":"Where was TESCO?!"}`,
		},
		{
			name: "most of the words", said: "where was my tesco extra shop", place: agent.Result{Text: here}, asked: "Tesco Extra", answer: "Tesco Extra",
			surface: `{"item":{"date":"2026-01-31","id":"c","name":"Tesco Extra"},"lat":51.5}`,
		},
		{
			name: "what was pressed comes first", said: "pressed show", action: &a2ui.Action{Surface: "card-1", Name: "show", Context: json.RawMessage(`{"id":"a","query":"tesco"}`)},
			place: agent.Result{Text: here}, asked: "Tesco Express", answer: "the last Tesco of 3, Feb 9",
			surface: `{"many":[{"date":"2026-02-14","id":"b","name":"Tesco Superstore"},{"date":"2026-01-31","id":"c","name":"Tesco Extra"}],"n":51.5,"said":"pressed show!"}`,
		},
		{
			name: "what was pressed is found by its id", said: "pressed show", action: &a2ui.Action{Name: "show", Context: json.RawMessage(`{"id":"d","query":""}`)},
			place: agent.Result{Text: here}, asked: "Costa", answer: "Costa", surface: `{"item":{"date":"2026-02-16","id":"d","name":"Costa"},"lat":51.5}`,
		},
		{name: "an id that is not there", said: "pressed show", action: &a2ui.Action{Name: "show", Context: json.RawMessage(`{"id":"z"}`)}, answer: "no such shop"},
		{name: "a context that is none", said: "where", action: &a2ui.Action{Name: "show", Context: json.RawMessage(`[1`)}, answer: "no such shop"},
		{name: "an action that nobody knows is read like words", said: "pressed sing", action: &a2ui.Action{Name: "sing"}, answer: "what was pressed sing?"},
		{name: "short words mean nothing", said: "where to go", answer: "no such shop"},
		{name: "none", said: "where was Waitrose?", answer: "no such shop"},
		{name: "a call that may fail", said: "where was costa?", place: agent.Result{IsError: true, Text: "asleep"}, asked: "Costa", answer: "no map: asleep"},
		{
			name: "the middle of the box", said: "where was costa?", place: agent.Result{Text: "1. Here\n Box: -10 20"}, asked: "Costa", answer: "Costa",
			surface: `{"item":{"date":"2026-02-16","id":"d","name":"Costa"},"lat":5}`,
		},
		{
			name: "zero is a place", said: "where was costa?", place: agent.Result{Text: "1. Here\n Coordinates: -0.0, 0"}, asked: "Costa", answer: "Costa",
			surface: `{"item":{"date":"2026-02-16","id":"d","name":"Costa"},"lat":0}`,
		},
		{name: "coordinates out of bounds have no middle", said: "where was costa?", place: agent.Result{Text: "1. Here\n Coordinates: 90.1, 0\n Box: 1 2"}, asked: "Costa", answer: "nowhere"},
		{name: "coordinates that are no numbers", said: "where was costa?", place: agent.Result{Text: "1. Here\n Coordinates: NaN, NaN\n Box: 1 2"}, asked: "Costa", answer: "nowhere"},
		{name: "two dots", said: "where was costa?", place: agent.Result{Text: "1. Here\n Coordinates: 1.2.3, 0\n Box: 1 2"}, asked: "Costa", answer: "nowhere"},
		{name: "a box that is upside down", said: "where was costa?", place: agent.Result{Text: "1. Here\n Box: 20 -10"}, asked: "Costa", answer: "nowhere"},
		{name: "a box beyond the poles", said: "where was costa?", place: agent.Result{Text: "1. Here\n Box: -1000 1000"}, asked: "Costa", answer: "nowhere"},
		{name: "the second result is not asked", said: "where was costa?", place: agent.Result{Text: "1. Here\n\n2. There\n Coordinates: 1, 1"}, asked: "Costa", answer: "nowhere"},
		{name: "no result at all", said: "where was costa?", place: agent.Result{Text: "sorry"}, asked: "Costa", answer: "nowhere"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			with := &tools{answers: map[string]agent.Result{"geo__find": {Text: list}, "sky__now": c.place}}
			story := []agent.Message{{Role: agent.RoleUser, Text: c.said, Action: c.action}}
			var asked string
			calls, text, shown := r.nextReply(agent.Request{Messages: story})
			for len(calls) > 0 {
				m, res := agent.Message{Role: agent.RoleAssistant}, agent.Message{Role: agent.RoleTool}
				for i, one := range calls {
					one.ID = fmt.Sprint(len(story), i)
					if one.Name == "sky__now" {
						asked = string(one.Arguments)
					}
					result := with.Call(t.Context(), one)
					result.CallID = one.ID
					m.Calls, res.Results = append(m.Calls, one), append(res.Results, result)
				}
				story = append(story, m, res)
				calls, text, shown = r.nextReply(agent.Request{Messages: story})
			}
			if c.asked != "" {
				c.asked = `{"query":"` + c.asked + `"}`
			}
			if text != c.answer || asked != c.asked {
				t.Errorf("%q, and the map was asked %s", text, asked)
			}
			data := ""
			if shown != nil {
				data = string(shown.Data)
			}
			if d := cmp.Diff(c.surface, data); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestSurfaces(t *testing.T) {
	t.Parallel()
	r, err := Parse(shops, templates())
	if err != nil {
		t.Fatal(err)
	}
	show := func(story ...agent.Message) *a2ui.Surface {
		for i, text := range []string{list, "1. Isleworth\n Coordinates: 1, 2"} {
			id := fmt.Sprint("call", len(story), i)
			story = append(story, agent.Message{Role: agent.RoleAssistant, Calls: []agent.Call{{ID: id}}}, agent.Message{Role: agent.RoleTool, Results: []agent.Result{{CallID: id, Text: text}}})
		}
		_, _, shown := r.nextReply(agent.Request{Messages: story})
		if shown == nil {
			t.Fatal("there is no surface")
		}
		return shown
	}
	ask := agent.Message{Role: agent.RoleUser, Text: "where was tesco?"}
	first := show(ask)
	if !strings.HasPrefix(first.ID, "card-") || first.ID != show(ask).ID {
		t.Errorf("the same story has another surface: %s", first.ID)
	}
	if d := cmp.Diff([]string{`{"children":["a","where was tesco?"],"component":"Column","id":"root"}`, `{"component":"Text","id":"a","text":"Isleworth"}`}, texts(first.Components)); d != "" {
		t.Error(d)
	}
	if again := show(ask, agent.Message{Role: agent.RoleAssistant, Text: "there"}, ask); again.ID == first.ID {
		t.Errorf("another question has the same surface %s", again.ID)
	}
	pressed := func(surface string) agent.Message {
		return agent.Message{Role: agent.RoleUser, Action: &a2ui.Action{Surface: surface, Name: "show", Context: json.RawMessage(`{"id":"a","query":"tesco"}`)}}
	}
	if moved := show(ask, pressed(first.ID)); moved.ID != first.ID {
		t.Errorf("what was pressed on %s shows %s", first.ID, moved.ID)
	}
	if other := show(ask, pressed("list-1")); !strings.HasPrefix(other.ID, "card-") || other.ID == first.ID {
		t.Errorf("what was pressed elsewhere shows %s", other.ID)
	}
}

// Of several surfaces the first is shown whose Apps can be: by who listens, and of
// tools that the agent has.
func TestOneOfSeveralSurfaces(t *testing.T) {
	t.Parallel()
	r, err := Parse(`
intents:
  - match: show
    calls:
      - set: {n: 1, far: 7}
      - around: {low: [n, -0.5], high: [n, 0.5], far: [n, 2], lost: [message, 1]}
    say: shown
    surface:
      - catalogs: [https://aibank.local/catalogs/mcp-v1.json]
        components: [{id: root, component: mcp:AppFrame, server: map, resourceUri: ui://a/b, toolName: show, toolInput: {low: "{{low}}", high: "{{high}}", far: "{{far}}", lost: "{{lost}}"}}]
      - {components: [{id: root, component: Text, text: words}]}
fallback: hm
`, nil)
	if err != nil {
		t.Fatal(err)
	}
	show := agent.Tool{Name: "map__show", Server: "map", OriginalName: "show", ViewURI: "ui://a/b"}
	for name, c := range map[string]struct {
		apps  bool
		tools []agent.Tool
		frame bool
	}{
		"the App":                    {true, []agent.Tool{{Name: "x"}, show}, true},
		"nobody shows Apps":          {false, []agent.Tool{show}, false},
		"the tool is not the agents": {true, []agent.Tool{{Name: "x"}}, false},
		"the tool of another server": {true, []agent.Tool{{Server: "other", OriginalName: "show", ViewURI: "ui://a/b"}}, false},
		"the tool has no page":       {true, []agent.Tool{{Server: "map", OriginalName: "show"}}, false},
	} {
		_, _, shown := r.nextReply(agent.Request{Messages: []agent.Message{{Role: agent.RoleUser, Text: "show"}}, ShowsApps: c.apps, Tools: c.tools})
		want := `{"component":"Text","id":"root","text":"words"}`
		if c.frame {
			want = `{"component":"mcp:AppFrame","id":"root","resourceUri":"ui://a/b","server":"map","toolInput":{"far":7,"high":1.5,"low":0.5},"toolName":"show"}`
		}
		if d := cmp.Diff([]string{want}, texts(shown.Components)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// A surface of a catalog that is not known, such as one that an admin removed, gives way
// to the next one, and to the text alone if there is none.
func TestSurfaceOfAnUnknownCatalogIsLeftOut(t *testing.T) {
	t.Parallel()
	const fleetID = "https://fleet.example.com/catalogs/fleet-v1.json"
	fleet, err := a2ui.ReadCatalog([]byte(`{"catalogId":"`+fleetID+`","components":{"fleet:Gauge":{"properties":{"label":{"type":"string"}}}}}`), "")
	if err != nil {
		t.Fatal(err)
	}
	with, err := a2ui.BuiltinCatalogs().With(fleet)
	if err != nil {
		t.Fatal(err)
	}
	const gauge, words = `{"component":"fleet:Gauge","id":"root","label":"Speed"}`, `{"component":"Text","id":"root","text":"words"}`
	named := "{catalogs: ['" + fleetID + "'], components: [" + gauge + "]}"
	unnamed, plain := "{components: ["+gauge+"]}", "{components: ["+words+"]}"
	const column, inside = `{"children":["words","gauge"],"component":"Column","id":"root"}`, `{"component":"fleet:Gauge","id":"gauge"}`
	const beside = `{"component":"Text","id":"words","text":"words"}`
	among := "{components: [" + column + "," + beside + "," + inside + "]}"
	for name, c := range map[string]struct {
		surface string
		known   *a2ui.Catalogs
		want    []string
	}{
		"registered":                    {named, with, []string{gauge}},
		"removed":                       {named, a2ui.BuiltinCatalogs(), nil},
		"removed, without its id":       {unnamed, a2ui.BuiltinCatalogs(), nil},
		"removed, of several":           {"[" + named + "," + plain + "]", a2ui.BuiltinCatalogs(), []string{words}},
		"removed, among others":         {among, a2ui.BuiltinCatalogs(), []string{column, beside, inside}},
		"removed, among others, first":  {"[" + among + "," + plain + "]", a2ui.BuiltinCatalogs(), []string{words}},
		"registered, of several":        {"[" + named + "," + plain + "]", with, []string{gauge}},
		"a name of a catalog, not used": {"{catalogs: ['" + fleetID + "'], components: [" + words + "]}", a2ui.BuiltinCatalogs(), nil},
		"nothing is known":              {named, nil, []string{gauge}},
	} {
		r, err := Parse("intents:\n  - match: speed\n    say: It drives.\n    surface: "+c.surface+"\nfallback: hm\n", nil)
		if err != nil {
			t.Fatal(name, err)
		}
		_, text, shown := r.nextReply(agent.Request{Messages: []agent.Message{{Role: agent.RoleUser, Text: "speed"}}, Catalogs: c.known})
		var got []string
		if shown != nil {
			got = texts(shown.Components)
		}
		if d := cmp.Diff(c.want, got); d != "" || text != "It drives." {
			t.Errorf("%s: %q: %s", name, text, d)
		}
	}
}

func TestThousands(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "", "0": "0", "12": "12", "123": "123", "1234": "1,234", "-123": "-123", "-1234.5": "-1,234.5", "+123456": "+123,456", "1234567.8901": "1,234,567.8901", ".5": ".5", "1e9": "1e9", "1,234": "1,234", "words": "words",
	} {
		if got := formatThousands(in); got != want {
			t.Errorf("%q is written %q, not %q", in, got, want)
		}
	}
}

// An agent of rules gives its surface behind its words, and a run keeps it.
func TestARunShowsSurfaces(t *testing.T) {
	t.Parallel()
	r, err := Parse(shops, templates())
	if err != nil {
		t.Fatal(err)
	}
	end, _ := talk(t, r, "where was costa?", &tools{answers: map[string]agent.Result{"geo__find": {Text: list}, "sky__now": {Text: "1. Here\n Coordinates: 1, 2"}}})
	last := end.Messages[len(end.Messages)-1]
	if end.Text() != "Costa" || len(last.Surfaces) != 1 || !strings.HasPrefix(last.Surfaces[0].ID, "surface-") {
		t.Errorf("%s %s: %+v", end.Outcome, end.Reason, last)
	}
}

func texts(list []json.RawMessage) []string {
	out := make([]string, len(list))
	for i, one := range list {
		out[i] = string(one)
	}
	return out
}

// Choosing invents nothing and loses nothing: what is first and the rest are the
// whole, in order, and all of it was there.
func TestListsKeepWhatTheyHave(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(rapid.SampledFrom([]string{"Tesco Extra", "Tesco", "Costa Coffee", "", "für immer"}), 0, 12).Draw(t, "names")
		items := make([]any, len(names))
		for i, n := range names {
			items[i] = map[string]any{"id": json.Number(fmt.Sprint(i)), "name": n, "n": json.Number(fmt.Sprint(rapid.IntRange(-3, 3).Draw(t, "n")))}
		}
		l := &listStep{
			source: template{{name: "items"}}, sortKey: "n", isDescending: rapid.Bool().Draw(t, "last"), limit: rapid.IntRange(0, 5).Draw(t, "limit"),
			prefer: []member{{"id", valueTemplate{kind: 't', text: template{{name: "id"}}}}}, listName: "all", firstName: "first", restName: "rest",
		}
		if rapid.Bool().Draw(t, "words") {
			l.wordMatch = &wordMatch{text: template{{name: "said"}}, memberName: "name", sharedName: "shared"}
		}
		vars := variables{"items": items, "said": rapid.SampledFrom([]string{"tesco extra", "costa", "IMMER", "x"}).Draw(t, "said"), "first": "old", "rest": "old"}
		if rapid.Bool().Draw(t, "prefers") {
			vars["id"] = fmt.Sprint(rapid.IntRange(0, 12).Draw(t, "id"))
		}
		if rapid.Bool().Draw(t, "filters") {
			l.where = []member{{"name", valueTemplate{kind: 't', text: template{{literal: "Tesco"}}}}}
		}
		l.apply(vars)
		if l.where != nil && slices.ContainsFunc(toList(vars["all"]), func(x any) bool { return memberValue(x, "name") != "Tesco" }) {
			t.Fatalf("%v", vars["all"])
		}
		all := toList(vars["all"])
		if l.limit > 0 && len(all) > l.limit {
			t.Fatalf("%d of %d", len(all), l.limit)
		}
		var joined []any
		if vars["first"] != nil {
			joined = append([]any{vars["first"]}, toList(vars["rest"])...)
		}
		if !cmp.Equal(all, joined) {
			t.Fatalf("%v is not %v", joined, all)
		}
		for i, one := range all {
			if !slices.ContainsFunc(items, func(x any) bool { return cmp.Equal(x, one) }) {
				t.Fatalf("%v comes from nowhere", one)
			}
			if i > 1 { // the one before it is none that was preferred
				n := compareValues(memberValue(all[i-1], "n"), memberValue(one, "n"))
				if n > 0 && !l.isDescending || n < 0 && l.isDescending {
					t.Fatalf("%v is out of order", all)
				}
			}
		}
	})
}
