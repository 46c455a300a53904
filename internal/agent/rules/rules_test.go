package rules

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/agent"
)

const weather = `
intents:
  - name: weather
    match:
      - 'weather in (?P<city>[a-z ]+?)(?: for (?P<days>\d+) days)?\??$'
      - 'how warm is it'
    calls:
      - tool: geo__find
        arguments: {q: "{{city}}", limit: 1}
        take: {lat: "$.hits[0].lat", lon: "$.hits[0]['lon']"}
      - tool: sky__now
        arguments: {at: {lat: "{{lat}}", lon: "{{lon}}"}, days: "{{days|integer}}", note: "for {{city}}"}
        find: 'it is (?P<sky>\w+)'
        take: {highs: "$.days[*].high"}
      - tool: sky__stars
        also: true
        arguments: {lat: "{{lat}}"}
        as: stars
      - tool: notes__add
        when: "{{days}}"
        arguments: {text: "{{city|upper}}"}
    say: "In {{city}} it is {{sky}}: {{highs}} ({{highs|count}}).\n{{highs|list}}\nStars: {{stars}}"
    failed: "No weather for {{city}}: {{error}}"
  - name: hello
    match: ^(hi|hello)
    say: "Hello {{speaker}}!"
fallback: "I know about the weather, not about: {{message}}"
`

// tools answer as the table says.
type tools struct {
	answers map[string]agent.Result
}

func (t *tools) List(context.Context) ([]agent.Tool, error) {
	var out []agent.Tool
	for _, name := range []string{"geo__find", "sky__now", "sky__stars", "notes__add"} {
		out = append(out, agent.Tool{Name: name})
	}
	return out, nil
}

func (t *tools) Resolve(_ context.Context, c agent.Call) (agent.Tool, error) {
	return agent.Tool{Name: c.Name}, nil
}

func (t *tools) RecordRefusal(context.Context, agent.Call, error) string { return "" }

func (t *tools) Call(_ context.Context, c agent.Call) agent.Result { return t.answers[c.Name] }

func answers() map[string]agent.Result {
	return map[string]agent.Result{
		"geo__find":  {Text: `see the data`, Content: json.RawMessage(`{"content":[],"structuredContent":{"hits":[{"lat":52.5,"lon":13.40}]}}`)},
		"sky__now":   {Text: `{"says":"It is sunny","days":[{"high":20},{"high":21.5},{"low":1}]}`},
		"sky__stars": {Text: "many"},
		"notes__add": {Text: "noted"},
	}
}

func talk(t *testing.T, r *Rules, said string, with *tools) (agent.TurnResult, []string) {
	t.Helper()
	end := agent.Run(t.Context(), agent.Turn{Provider: r, Tools: with, Messages: []agent.Message{{Role: agent.RoleUser, Name: "ada", Text: said}}}, func(agent.Event) {})
	var calls []string
	for _, m := range end.Messages {
		var batch []string
		for _, c := range m.Calls {
			batch = append(batch, c.Name+" "+string(c.Arguments))
		}
		if len(batch) > 0 {
			calls = append(calls, strings.Join(batch, " & "))
		}
	}
	return end, calls
}

// What an exception fits is another intent's, or nobody's.
func TestExceptions(t *testing.T) {
	t.Parallel()
	r, err := Parse("fallback: what?\nintents:\n"+
		"  - {match: '\\bwhere\\b', except: ['\\bwhere can\\b', 'never'], say: there}\n"+
		"  - {match: savings, say: savings}", nil)
	if err != nil {
		t.Fatal(err)
	}
	for said, want := range map[string]string{
		"Where is it?": "there", "where are my savings": "there", "WHERE CAN I see my savings?": "savings", "where can I go": "what?", "where never": "what?",
	} {
		if end, _ := talk(t, r, said, &tools{}); end.Text() != want {
			t.Errorf("%q: %q, not %q", said, end.Text(), want)
		}
	}
	if _, err := Parse("fallback: x\nintents:\n  - {action: a, except: b, say: c}", nil); err == nil || !strings.Contains(err.Error(), "except requires match") {
		t.Errorf("%v", err)
	}
}

// Each of a list gets members of its own, and what was known before stays as it was.
func TestAddedMembers(t *testing.T) {
	t.Parallel()
	r, err := Parse(`
fallback: x
intents:
  - match: .
    calls:
      - tool: geo__find
        take: {all: $.hits}
      - from: "{{all}}"
        add: {price: "{{item|money}}", for: "{{speaker}}: {{item.name}}", gone: "{{item.gone}}"}
        as: priced
        first: one
    say: "{{priced|json}} {{one.price}} {{all[0]|json}}"
`, nil)
	if err != nil {
		t.Fatal(err)
	}
	hits := `{"hits":[{"name":"a","amount":"-1234.50","currency":"GBP"},{"name":"b","amount":5,"currency":"CHF"},{"name":"c","amount":"7"},{"name":"d"},"plain"]}`
	end, _ := talk(t, r, "now", &tools{answers: map[string]agent.Result{"geo__find": {Text: hits}}})
	want := `[{"amount":"-1234.50","currency":"GBP","for":"ada: a","name":"a","price":"-£1,234.50"},{"amount":5,"currency":"CHF","for":"ada: b","name":"b","price":"5 CHF"},` +
		`{"amount":"7","for":"ada: c","name":"c","price":"7"},{"for":"ada: d","name":"d","price":""},"plain"] -£1,234.50 {"amount":"-1234.50","currency":"GBP","name":"a"}`
	if end.Text() != want {
		t.Errorf("%s\nwant\n%s", end.Text(), want)
	}
}

func TestRules(t *testing.T) {
	t.Parallel()
	r, err := Parse(weather, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, said string
		fails      string // a tool that does
		calls      []string
		answer     string
	}{
		{
			name: "calls in sequence, together, and only when", said: "What is the WEATHER in new york for 3 days?",
			calls: []string{
				`geo__find {"limit":1,"q":"new york"}`,
				`sky__now {"at":{"lat":52.5,"lon":13.40},"days":3,"note":"for new york"} & sky__stars {"lat":52.5}`,
				`notes__add {"text":"NEW YORK"}`,
			},
			answer: "In new york it is sunny: 20, 21.5 (2).\n- 20\n- 21.5\nStars: many",
		},
		{
			name: "what is not known is left out", said: "how warm is it",
			calls: []string{
				`geo__find {"limit":1}`,
				`sky__now {"at":{"lat":52.5,"lon":13.40},"note":"for "} & sky__stars {"lat":52.5}`,
			},
			answer: "In  it is sunny: 20, 21.5 (2).\n- 20\n- 21.5\nStars: many",
		},
		{
			name: "a call that fails ends it", said: "weather in Rome", fails: "geo__find",
			calls: []string{`geo__find {"limit":1,"q":"Rome"}`}, answer: "No weather for Rome: gone",
		},
		{name: "an answer alone", said: "hello there", answer: "Hello ada!"},
		{name: "nothing fits", said: "sing!", answer: "I know about the weather, not about: sing!"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			with := &tools{answers: answers()}
			if c.fails != "" {
				with.answers[c.fails] = agent.Result{IsError: true, Text: "gone"}
			}
			end, calls := talk(t, r, c.said, with)
			if d := cmp.Diff(c.calls, calls); d != "" {
				t.Error(d)
			}
			if end.Outcome != agent.OutcomeDone || end.Text() != c.answer {
				t.Errorf("%s %s: %q", end.Outcome, end.Reason, end.Text())
			}
			if end.Usage.Total() != 0 {
				t.Errorf("rules cost %d tokens", end.Usage.Total())
			}
		})
	}
}

func TestTheSameWordsLeadToTheSameAnswer(t *testing.T) {
	t.Parallel()
	r, err := Parse(weather, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, first := talk(t, r, "weather in Oslo for 2 days", &tools{answers: answers()})
	for range 20 {
		if _, again := talk(t, r, "weather in Oslo for 2 days", &tools{answers: answers()}); !cmp.Equal(first, again) {
			t.Fatalf("%v, then %v", first, again)
		}
	}
}

// doing is a file with an intent that does this.
func doing(text string) string {
	return "fallback: x\nintents:\n  - match: a\n    say: b\n    calls:\n      - " + text
}

// templates come with the program.
func templates() fs.FS {
	return fstest.MapFS{
		"try/templates/card.json": {Data: []byte(`{"id": "card", "components": [
  {"id": "root", "component": "Column", "children": ["a", "{{extra}}"]},
  {"id": "a", "component": "Text", "text": "{{title}}"}],
  "data": {"n": "{{n}}", "many": "{{many}}", "said": "{{message}}!"}}`)},
		"try/templates/bad.json": {Data: []byte(`{"id`)},
	}
}

func TestFaultsOfAFile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, says string }{
		{"nothing", ``, "the text is empty"},
		{"no YAML", "intents: [", "line 1"},
		{"no fallback", "intents: []", "line 1: fallback is missing"},
		{"a list", "- a", "line 1: the file must have names and values"},
		{"an unknown name", "fallback: x\nintnets: []", `line 2: the file has no "intnets"; it has intents, fallback`},
		{"no pattern", "fallback: x\nintents:\n  - say: hi", "line 3: match and action are missing"},
		{"a bad pattern", "fallback: x\nintents:\n  - match: '(('\n    say: hi", "line 3: the pattern is invalid: missing closing )"},
		{"no answer", "fallback: x\nintents:\n  - match: a", "line 3: say is missing"},
		{"a name that nothing gives", "fallback: x\nintents:\n  - match: 'in (?P<city>.*)'\n    say: '{{citty}}'", "line 4: unknown name {{citty}}; the names known here are city, message, speaker"},
		{"used before it is known", "fallback: x\nintents:\n  - match: a\n    say: b\n    calls:\n      - tool: a__b\n        arguments: {x: '{{y}}'}\n        take: {y: $.y}", "line 7: unknown name {{y}}"},
		{"a bad placeholder", "fallback: '{{a b}}'", "line 1: \"{{a b}}\" is not a placeholder"},
		{"a bad form", "fallback: '{{message|loud}}'", "after the bar, write one of"},
		{"a bad path", "fallback: x\nintents:\n  - match: a\n    say: b\n    calls:\n      - tool: a__b\n        take: {y: y.z}", "line 7: \"y.z\" is not a path"},
		{"a filter in a path", "fallback: x\nintents:\n  - match: a\n    say: b\n    calls:\n      - tool: a__b\n        take: {y: '$[?(@.a)]'}", "filters and slices are not supported"},
		{"no tool", "fallback: x\nintents:\n  - match: a\n    say: b\n    calls:\n      - arguments: {}", "line 6: tool is missing"},
		{"the first is also", "fallback: x\nintents:\n  - match: a\n    say: b\n    calls:\n      - tool: a__b\n        also: true", "line 6: also requires a call before this one"},
		{"find that names nothing", "fallback: x\nintents:\n  - match: a\n    say: b\n    calls:\n      - tool: a__b\n        find: 'x+'", "line 7: find must have a named group"},
		{"a name twice", "fallback: x\nfallback: y", "twice"},
		{"an alias", "fallback: &a x\nintents: *a", "anchors and aliases are not supported"},
		{"a date", "fallback: x\nintents:\n  - match: a\n    say: b\n    calls:\n      - tool: a__b\n        arguments: {when: 2026-01-01}", "put it in quotes"},
		{"neither pattern nor action", "fallback: x\nintents:\n  - say: hi\n    context: [a]", "line 3: context requires action"},
		{"two kinds of step", doing("from: '{{message}}'\n        set: {a: b}\n        as: c"), "line 7: a step can have only one of from and set"},
		{"also behind no call", doing("set: {a: b}\n      - tool: a__b\n        also: true"), "line 7: also requires a call before this one"},
		{"may_fail", doing("tool: a__b\n        may_fail: perhaps"), "line 7: may_fail must be true or false"},
		{"a condition that asks nothing", doing("tool: a__b\n        when: always"), "line 7: when requires a placeholder"},
		{"an unless of what nothing gives", doing("tool: a__b\n        unless: ['{{message}}', '{{b}}']"), "line 7: unknown name {{b}}"},
		{"from no list", doing("from: message\n        as: a"), "line 6: from must be the placeholder of a list"},
		{"from for nothing", doing("from: '{{message}}'"), "line 6: the result has no name"},
		{"words of nothing", doing("from: '{{message}}'\n        as: a\n        words: {in: b}"), "line 8: words requires of"},
		{"words that it has not", doing("from: '{{message}}'\n        as: a\n        words: {of: b, in: b, to: c}"), `line 8: words has no "to"; it has of, in, as`},
		{"sort by nothing", doing("from: '{{message}}'\n        as: a\n        sort: '-'"), "line 8: sort must be the name of a member"},
		{"a limit of none", doing("from: '{{message}}'\n        as: a\n        limit: 0"), "line 8: limit must be a number of at least 1"},
		{"prefer what nothing gives", doing("from: '{{message}}'\n        as: a\n        prefer: {id: '{{b}}'}"), "line 8: unknown name {{b}}"},
		{"where it is what nothing gives", doing("from: '{{message}}'\n        as: a\n        where: {id: '{{b}}'}"), "line 8: unknown name {{b}}"},
		{"a member that a list has not", doing("from: '{{message}}'\n        as: a\n        near: b"), `line 8: a choice from a list has no "near"; it has from, where, words, sort, prefer, limit, add, as, first, rest, when, unless`},
		{"a search for nothing", doing("in: '{{message}}'"), "line 6: find is missing"},
		{"a search that names nothing", doing("in: '{{message}}'\n        find: 'a+'"), "line 7: find must have a named group"},
		{"set a name that is none", doing("set: {'a b': c}"), `line 6: "a b" is not a valid name`},
		{"numbers of what nothing gives", doing("numbers: {a: [1, 2]}"), "line 6: unknown name {{a}}"},
		{"numbers without bounds", doing("numbers: {message: 1}"), "line 6: expected the minimum and the maximum"},
		{"numbers the wrong way round", doing("numbers: {message: [2, 1]}"), "line 6: message: the minimum and the maximum must be numbers, the minimum first"},
		{"the middle of one", doing("middle: {a: [message]}"), "line 6: expected two names"},
		{"the middle of what nothing gives", doing("middle: {a: [message, b]}"), "line 6: unknown name {{b}}"},
		{"answers and say", "fallback: x\nintents:\n  - match: a\n    say: b\n    answers:\n      - say: c", "line 6: an intent must have either answers, or say and surface"},
		{"no answers", "fallback: x\nintents:\n  - match: a\n    answers: []", "line 4: answers is empty: write at least one answer"},
		{"an answer without words", "fallback: x\nintents:\n  - match: a\n    answers:\n      - surface: try/card", "line 5: say is missing"},
		{"the last answer holds not always", "fallback: x\nintents:\n  - match: a\n    answers:\n      - {say: b, when: '{{message}}'}", "line 5: the last of the answers must have neither when nor unless"},
		{"with for no surface", "fallback: x\nintents:\n  - match: a\n    say: b\n    with: {a: b}", "line 5: with requires surface"},
		{"a surface that nobody has", "fallback: x\nintents:\n  - match: a\n    say: b\n    surface: try/cart", `line 5: there is no built-in surface "try/cart"; write the surface out, or name one of try/bad, try/card`},
		{"a surface that cannot be read", "fallback: x\nintents:\n  - match: a\n    say: b\n    surface: try/bad", `line 5: the surface "try/bad" cannot be read`},
		{"a surface that wants more than is known", "fallback: x\nintents:\n  - match: a\n    say: b\n    surface: try/card", `line 5: the surface "try/card": line 2: unknown name {{extra}}`},
		{"a surface without components", "fallback: x\nintents:\n  - match: a\n    say: b\n    surface: {data: {}}", "line 5: a surface must have components"},
		{"a surface whose data are a list", "fallback: x\nintents:\n  - match: a\n    say: b\n    surface: {components: [], data: []}", "line 5: the data of a surface must have names and values"},
		{"a surface without a root", "fallback: x\nintents:\n  - match: a\n    say: b\n    surface: {components: [{id: a, component: Text, text: b}]}", `line 5: the surface is invalid: no component has the id "root"`},
		{"a list of no surface", "fallback: x\nintents:\n  - match: a\n    say: b\n    surface: []", "line 5: surface must be one surface, or a list of surfaces"},
		{"several at once", "intents:\n  - {}\n", "line 2: match and action are missing"},
		{"too long", "fallback: " + strings.Repeat("x", junctor.MaxRules), "longer than 256 KiB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse(c.text, templates())
			if err == nil || junctor.AsError(err).Code != junctor.CodeInvalid || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, not %q", err, c.says)
			}
		})
	}
}

func TestPaths(t *testing.T) {
	t.Parallel()
	var data any
	d := json.NewDecoder(strings.NewReader(`{"a":{"b":[1,{"c":"x"},{"c":["y","z"]}]},"odd name":true,"ü":1}`))
	d.UseNumber()
	if err := d.Decode(&data); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"$.a.b[0]": "1", "$.a.b[-1].c[1]": "z", "$['odd name']": "true", `$["a"]["b"][1].c`: "x", "$.a.b[*].c": "x, y, z", "$.a.b[*].c[*]": "y, z", "$.ü": "1",
		"$.a.b[9]": "-", "$.a[0]": "-", "$.b": "-", "$.a.b.c": "-", "$.*": "-", "$": `{"a":{"b":[1,{"c":"x"},{"c":["y","z"]}]},"odd name":true,"ü":1}`,
	} {
		p, err := parsePath(path)
		if err != nil {
			t.Fatal(err)
		}
		got := "-"
		if v, ok := p.lookup(data); ok {
			got = toText(v)
		}
		if got != want {
			t.Errorf("%s gives %s, not %s", path, got, want)
		}
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"12": "12", "1,234.5": "1234.5", "-3.9": "-3.9", "1e3": "1000", "many": "many", "NaN": "NaN", "inf": "inf"} {
		if got := fmt.Sprint(parseNumber(text, false)); got != want {
			t.Errorf("%q is %s", text, got)
		}
	}
	if got := fmt.Sprint(parseNumber("-3.9", true)); got != "-3" {
		t.Errorf("-3.9 as an integer is %s", got)
	}
}

// Whatever a file says, reading it ends with rules or a sentence; and whatever
// is said to rules, they answer.
func FuzzParse(f *testing.F) {
	f.Add(weather, "weather in Rome", `{"structuredContent":{"hits":[]}}`)
	f.Add("fallback: '{{message|json}}'", "x", "")
	f.Add("fallback: &a [*a]\n", "", "")
	f.Add(shops, "where was Tesco?", `{"structuredContent":{"items":[{"id":1,"name":"Tesco","date":"2026-02-14"},{"id":2,"name":"Tesco","date":7}]}}`)
	f.Add(shops, "tesco", "1. Tesco\n Coordinates: 1, -200\n Bounding box: 1 2")
	f.Add("intents:\n - match: ''\n   say: a\n   calls: [{tool: a, arguments: {a: [1.5, null, {b: '{{message|number}}'}]}, take: {x: '$[*]'}}]\nfallback: z", "1e999", "[[1],2]")
	f.Fuzz(func(t *testing.T, text, said, content string) {
		r, err := Parse(text, templates())
		if err != nil {
			if junctor.AsError(err).Code != junctor.CodeInvalid {
				t.Fatalf("%v", err)
			}
			return
		}
		story := []agent.Message{{Role: agent.RoleUser, Text: said}}
		for range maxSteps + 1 {
			calls, answer, shown := r.nextReply(agent.Request{Messages: story})
			if len(calls) == 0 {
				_ = answer
				if shown != nil && (shown.ID == "" || len(shown.Data) > 0 && shown.Data[0] != '{') {
					t.Fatalf("the surface %+v", shown)
				}
				return
			}
			m, res := agent.Message{Role: agent.RoleAssistant}, agent.Message{Role: agent.RoleTool}
			for i, c := range calls {
				if !json.Valid(c.Arguments) || c.Arguments[0] != '{' {
					t.Fatalf("arguments %q", c.Arguments)
				}
				c.ID = fmt.Sprint(len(story), i)
				m.Calls = append(m.Calls, c)
				res.Results = append(res.Results, agent.Result{CallID: c.ID, Text: content, Content: json.RawMessage(content)})
			}
			story = append(story, m, res)
		}
		t.Fatal("it does not end")
	})
}
