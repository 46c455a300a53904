package config_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/config"
)

const eventsFile = `
triggers:
  on-feedback:
    title: Low feedback
    match:
      source: "chain:*"
      tags: [a, 5]
      min_value: -3
      where:
        - {field: data.state, op: "=", value: open}
        - {field: data.n, op: in, value: [1, 2.50, true, null, 0x1F, 2020-01-01]}
    action:
      agent: event
      tool: agent.receiveFeedback
      template: {score: "{{data.score}}", file: &f {a: "<b>"}, again: *f}
      timeout_ms: 1500
      sign: true
    disabled: true
sources:
  jobs: {style: redis, secret: "redis://:secret-canary@10.0.0.1:6379/0", key: jobs}
  github: {style: github, secret: "env:HOOK_SECRET", agent_field: data.agent}
schedules:
  nightly: {cron: "0 3 * * *", timezone: Europe/Berlin, type: report.due, data: {days: 7}}
`

func TestEvents(t *testing.T) {
	t.Parallel()
	d, err := config.Parse("f", []byte(eventsFile))
	if err != nil {
		t.Fatal(err)
	}
	least := -3.0
	want := junctor.Trigger{
		Name: "on-feedback", Title: "Low feedback", Disabled: true,
		Match: junctor.Match{Source: "chain:*", Tags: []string{"a", "5"}, MinValue: &least, Where: []junctor.Condition{
			{Field: "data.state", Op: "=", Value: junctor.JSON(`"open"`)},
			{Field: "data.n", Op: "in", Value: junctor.JSON(`[1,2.50,true,null,31,"2020-01-01"]`)},
		}},
		Action: junctor.Action{
			Agent: "event", Tool: "agent.receiveFeedback", Template: json.RawMessage(`{"score":"{{data.score}}","file":{"a":"\u003cb\u003e"},"again":{"a":"\u003cb\u003e"}}`), TimeoutMS: 1500, Sign: true,
		},
	}
	if diff := cmp.Diff(want, d.Triggers[0].Trigger); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if at := d.Triggers[0].Where; at != "f:3:3" {
		t.Errorf("the trigger is at %s", at)
	}
	if s := d.Sources; len(s) != 2 || s[0].ID != "github" || s[0].Secret() != "env:HOOK_SECRET" || s[1].Style != junctor.StyleRedis || s[1].Key != "jobs" || !strings.Contains(s[1].Secret(), "canary") {
		t.Errorf("sources: %+v", s)
	}
	if s := d.Schedules; len(s) != 1 || s[0].Cron != "0 3 * * *" || s[0].Timezone != "Europe/Berlin" || string(s[0].Data) != `{"days":7}` {
		t.Errorf("schedules: %+v", s)
	}
	if shown := fmt.Sprintf("%v %+v %#v", d, d, d.Sources); strings.Contains(shown, "canary") {
		t.Errorf("a secret is printed: %s", shown)
	}
	path := writeFile(t, eventsFile)
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	cfg := mustLoad(t, config.Sources{File: path, Env: env("HOME", t.TempDir())})
	if w := strings.Join(cfg.Warnings(), "\n"); !strings.Contains(w, `the source "jobs" contains its secret`) || strings.Contains(w, "canary") {
		t.Errorf("warnings: %s", w)
	}
}

func TestEventProblems(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 70) + strings.Repeat("]", 70)
	bomb := "a0: &a0 [x, x]"
	for i := 1; i < 40; i++ {
		bomb += fmt.Sprintf(", a%d: &a%d [*a%d, *a%d]", i, i, i-1, i-1)
	}
	for _, tt := range []struct{ name, text, says string }{
		{"a list", "triggers: []", `f:1:11: triggers must be a map`},
		{"a name", "triggers:\n  No_Name: {}", `f:2:3: "No_Name" is not a trigger's name`},
		{"no action", "triggers:\n  a: {match: {}}", `f:2:3: triggers.a has no action`},
		{"unknown key", "triggers: {a: {action: {tol: x}}}", `unknown key "tol" in triggers.a.action; did you mean tool?`},
		{"match", "triggers: {a: {match: {typ: x}, action: {tool: x}}}", `did you mean type?`},
		{"where", "triggers: {a: {match: {where: {field: x}}, action: {tool: x}}}", `triggers.a.match.where must be a list of conditions`},
		{"bound", "triggers: {a: {match: {min_value: '3'}, action: {tool: x}}}", `triggers.a.match.min_value must be a number`},
		{"a value that JSON has not", "triggers: {a: {action: {tool: x, template: {n: .inf}}}}", `triggers.a.action.template.n is not a JSON value`},
		{"a member twice", "triggers: {a: {action: {tool: x, template: {n: 1, n: 2}}}}", `triggers.a.action.template already has "n" on line 1`},
		{"too deep", "triggers: {a: {action: {tool: x, template: " + deep + "}}}", `is too large: a value may have at most`},
		{"much of little", "triggers: {a: {action: {tool: x, template: {" + bomb + "}}}}", `is too large: a value may have at most`},
		{"style", "sources: {a: {style: githup, secret: canary}}", `did you mean github?`},
		{"no style", "sources: {a: {secret: canary}}", `sources.a has no style`},
		{"a mask", "sources: {a: {style: hmac, secret: '***'}}", `sources.a.secret is ***`},
		{"no cron", "schedules: {a: {type: x}}", `schedules.a needs cron`},
		{"an id", "sources: {A: {}}", `"A" is not a valid source id`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if _, err := config.Parse("f", []byte(tt.text)); err == nil || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "canary") {
				t.Errorf("%v\nwant %s", err, tt.says)
			}
		})
	}
}

// drawEvents makes what concerns events as it is stored.
func drawEvents(t *rapid.T) (triggers []junctor.Trigger, sources []junctor.Source, schedules []junctor.Schedule) {
	text := rapid.OneOf(rapid.StringOf(rapid.Rune()), rapid.SampledFrom([]string{"true", "null", "~", "0x1F", "1e3", "2020-01-01", "- a", "a: b", "#x", "'", `"`, " ", "\n", "\u2028", "\t\n", "a\n\tb\n", "***", "<b>"}))
	word := rapid.SampledFrom([]string{"", "a", "true", "5", "x: y", "chain:*", "a\n\tb\n", "\u2028"})
	name := rapid.StringMatching(`[a-z][a-z0-9-]{0,8}`)
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		leaf := rapid.OneOf(text.AsAny(), rapid.IntRange(-1<<40, 1<<40).AsAny(), rapid.Float64Range(-1e6, 1e6).AsAny(), rapid.Bool().AsAny(), rapid.Just[any](nil))
		if depth == 0 {
			return leaf
		}
		return rapid.OneOf(leaf, rapid.SliceOfN(value(depth-1), 0, 3).AsAny(), rapid.MapOfN(text, value(depth-1), 0, 3).AsAny())
	}
	raw := func(label string) json.RawMessage {
		out, err := json.Marshal(rapid.MapOfN(text, value(2), 0, 3).Draw(t, label))
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	names := func(label string) []string {
		list := rapid.SliceOfNDistinct(name, 0, 3, rapid.ID).Draw(t, label)
		slices.Sort(list)
		return list
	}
	for _, n := range names("triggers") {
		one := junctor.Trigger{Name: n, Title: word.Draw(t, "title"), Disabled: rapid.Bool().Draw(t, "off")}
		one.Match = junctor.Match{Source: word.Draw(t, "source"), Tags: rapid.SliceOfN(word, 0, 2).Draw(t, "tags")}
		if rapid.Bool().Draw(t, "where") {
			one.Match.Where = []junctor.Condition{{Field: "data.x", Op: "=", Value: junctor.JSON(raw("value"))}}
			least := rapid.Float64Range(-1e6, 1e6).Draw(t, "least")
			one.Match.MinValue = &least
		}
		one.Action = junctor.Action{Server: word.Draw(t, "server"), Tool: "t", Template: raw("template"), Batch: rapid.IntRange(0, 3).Draw(t, "batch"), Raise: rapid.Bool().Draw(t, "raise")}
		one.Owner = "who made it"
		triggers = append(triggers, one)
	}
	for _, id := range names("sources") {
		sources = append(sources, junctor.Source{ID: id, Style: rapid.SampledFrom(junctor.SourceStyles()).Draw(t, "style"), Title: word.Draw(t, "title"), Key: word.Draw(t, "key"), Declared: "somewhere"})
	}
	for _, n := range names("schedules") {
		schedules = append(schedules, junctor.Schedule{Name: n, Cron: "@daily", Type: "x", Agent: word.Draw(t, "agent"), Data: raw("data")})
	}
	return triggers, sources, schedules
}

// What is written declares what was there, in both forms.
func TestWrittenEventsAreRead(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		triggers, sources, schedules := drawEvents(t)
		d := config.Declared{Servers: []config.Server{}}
		sealed := d.AddEvents(triggers, sources, schedules)
		asYAML, err := d.YAML()
		if err != nil {
			t.Fatal(err)
		}
		asJSON, err := d.JSON()
		if err != nil {
			t.Fatal(err)
		}
		if len(sealed) != len(sources) {
			t.Fatalf("%d secrets of %d sources", len(sealed), len(sources))
		}
		for _, text := range [][]byte{asYAML, asJSON} {
			got, err := config.Parse("f", text)
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			same := cmp.Options{
				cmpopts.EquateEmpty(),
				cmpopts.IgnoreFields(config.Trigger{}, "Where"), cmpopts.IgnoreFields(config.Source{}, "Where"), cmpopts.IgnoreFields(config.Schedule{}, "Where"),
				cmpopts.IgnoreUnexported(config.Source{}), cmp.Transformer("JSON", func(text json.RawMessage) any { return meaning(t, text) }),
				cmp.Transformer("value", func(text junctor.JSON) any { return meaning(t, text) }),
			}
			if diff := cmp.Diff([]any{d.Triggers, d.Sources, d.Schedules}, []any{got.Triggers, got.Sources, got.Schedules}, same); diff != "" {
				t.Fatalf("-want +got:\n%s\n%s", diff, text)
			}
			for i, s := range got.Sources {
				if !strings.HasPrefix(s.Secret(), "env:MCP_SOURCE_") {
					t.Fatalf("source %d: %s", i, s.Secret())
				}
			}
		}
	})
}

func meaning(t *rapid.T, text []byte) (v any) {
	if len(text) > 0 {
		if err := json.Unmarshal(text, &v); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
	}
	return v
}
