package event_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/event"

	"pgregory.net/rapid"
)

func where(field, op, value string) junctor.Match {
	return junctor.Match{Where: []junctor.Condition{{Field: field, Op: op, Value: junctor.JSON(value)}}}
}

func TestMatches(t *testing.T) {
	t.Parallel()
	e := &junctor.Event{
		ID: "e1", Source: "github", Type: "issues.opened", Agent: "42",
		Data: json.RawMessage(`{"value":-32,"valueDecimals":1,"tags":"a, b","tag1":"c","n":5,"s":"hello","l":["x",2],"o":{"p":true},"big":9007199254740993,"nil":null}`),
	}
	for name, c := range map[string]struct {
		match junctor.Match
		want  bool
	}{
		"everything":                {junctor.Match{}, true},
		"its source":                {junctor.Match{Source: "github"}, true},
		"another source":            {junctor.Match{Source: "git"}, false},
		"a star":                    {junctor.Match{Source: "git*", Type: "*.opened"}, true},
		"a star in the middle":      {junctor.Match{Type: "iss*open*d"}, true},
		"stars that overlap":        {junctor.Match{Source: "github*github"}, false},
		"its agent":                 {junctor.Match{Agent: "42"}, true},
		"another agent":             {junctor.Match{Agent: "4"}, false},
		"all its tags":              {junctor.Match{Tags: []string{"a", "b", "c"}}, true},
		"a tag too many":            {junctor.Match{Tags: []string{"a", "d"}}, false},
		"its value with decimals":   {junctor.Match{MinValue: new(-3.2), MaxValue: new(-3.2)}, true},
		"a value above":             {junctor.Match{MinValue: new(-3.1)}, false},
		"a value below":             {junctor.Match{MaxValue: new(-3.3)}, false},
		"is":                        {where("data.n", "=", `5`), true},
		"is as a text":              {where("data.n", "=", `"5.0"`), true},
		"is not":                    {where("data.n", "!=", `6`), true},
		"is not, where it is":       {where("data.n", "!=", `5`), false},
		"is not, where nothing is":  {where("data.none", "!=", `5`), true},
		"less":                      {where("data.n", "<", `5.1`), true},
		"not less":                  {where("data.n", "<", `5`), false},
		"at most":                   {where("data.n", "<=", `5`), true},
		"more":                      {where("data.n", ">", `4`), true},
		"at least, as texts":        {where("data.s", ">=", `"hell"`), true},
		"a text and a number":       {where("data.s", ">", `1`), false},
		"in":                        {where("data.s", "in", `["a","hello"]`), true},
		"not in":                    {where("data.s", "in", `[]`), false},
		"contains, in a text":       {where("data.s", "contains", `"ell"`), true},
		"contains, in a list":       {where("data.l", "contains", `2`), true},
		"does not contain":          {where("data.l", "contains", `"2x"`), false},
		"starts":                    {where("type", "starts", `"issues."`), true},
		"exists":                    {where("data.o.p", "exists", ``), true},
		"does not exist":            {where("data.o.q", "exists", `false`), true},
		"null does not exist":       {where("data.nil", "exists", `true`), false},
		"the same object":           {where("data.o", "=", `{"p": true}`), true},
		"true is not 1":             {where("data.o.p", "=", `1`), false},
		"numbers keep their digits": {where("data.big", "=", `9007199254740992`), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := event.NewMatcher(c.match)
			if err != nil {
				t.Fatal(err)
			}
			if got := m.Matches(e); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestMatchRefusals(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]junctor.Match{
		"no comparison":     where("data.n", "~", `1`),
		"no place":          where("nothing", "=", `1`),
		"no value":          where("data.n", "=", ``),
		"a broken value":    where("data.n", "=", `{`),
		"in without a list": where("data.n", "in", `1`),
		"starts with 1":     where("data.n", "starts", `1`),
		"exists maybe":      where("data.n", "exists", `"x"`),
		"a value as text":   {MinValue: new(math.Inf(1))},
		"too much":          {Where: make([]junctor.Condition, 51)},
	} {
		if _, err := event.NewMatcher(m); junctor.CodeOf(err) != junctor.CodeInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestMatchesTypeWithoutAction holds that the name of a GitHub event matches all its
// actions, and that no other type matches by its beginning.
func TestMatchesTypeWithoutAction(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		want       bool
		match      string
		event      string
		data       string
		whatItsFor string
	}{
		{true, "issues", "issues.opened", `{"action":"opened"}`, "the event without its action"},
		{true, "issues.opened", "issues.opened", `{"action":"opened"}`, "the whole type"},
		{true, "issues.*", "issues.opened", `{"action":"opened"}`, "a star"},
		{true, "push", "push", `{"ref":"main"}`, "an event without actions"},
		{false, "issues.closed", "issues.opened", `{"action":"opened"}`, "another action"},
		{false, "issue", "issues.opened", `{"action":"opened"}`, "the beginning of a name"},
		{false, "issues.", "issues.opened", `{"action":"opened"}`, "a dot and no action"},
		{false, "issues", "issues.opened", `{"action":"closed"}`, "an action that the data does not have"},
		{false, "issues", "issues.opened", `{}`, "no action in the data"},
		{false, "issues", "issues.opened", `none`, "no JSON"},
		{false, "NewFeedback", "NewFeedback.retracted", `{"value":1}`, "a retracted event of a chain"},
	} {
		m, err := event.NewMatcher(junctor.Match{Type: c.match})
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Matches(&junctor.Event{ID: "e", Source: "github", Type: c.event, Data: json.RawMessage(c.data)}); got != c.want {
			t.Errorf("%s: %q matches %q with %s: %t", c.whatItsFor, c.match, c.event, c.data, got)
		}
	}
}

// Exactly one of <, = and > holds for two numbers, and <=, >= and != follow.
func TestComparisonsAgree(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.Custom(func(t *rapid.T) string {
			b, _ := json.Marshal(rapid.OneOf(rapid.Float64Range(-1e6, 1e6), rapid.Map(rapid.IntRange(-3, 3), func(i int) float64 { return float64(i) })).Draw(t, "n"))
			return string(b)
		})
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		e := &junctor.Event{Data: json.RawMessage(`{"n":` + a + `}`)}
		holds := map[string]bool{}
		for _, op := range []string{"=", "!=", "<", "<=", ">", ">="} {
			m, err := event.NewMatcher(where("data.n", op, b))
			if err != nil {
				t.Fatal(err)
			}
			holds[op] = m.Matches(e)
		}
		n := 0
		for _, op := range []string{"<", "=", ">"} {
			if holds[op] {
				n++
			}
		}
		if n != 1 || holds["!="] == holds["="] || holds["<="] == holds[">"] || holds[">="] == holds["<"] {
			t.Fatalf("%s and %s: %v", a, b, holds)
		}
	})
}

func TestRules(t *testing.T) {
	t.Parallel()
	good := junctor.Trigger{Name: "a", Action: junctor.Action{Server: "notes", Tool: "agent.receiveFeedback"}}
	change := func(f func(*junctor.Trigger)) junctor.Trigger {
		c := good
		f(&c)
		return c
	}
	for says, bad := range map[string]junctor.Trigger{
		"trigger's name":   change(func(t *junctor.Trigger) { t.Name = "A" }),
		"one of server":    change(func(t *junctor.Trigger) { t.Action.Agent = "x" }),
		"name one":         change(func(t *junctor.Trigger) { t.Action.Server = "" }),
		"tool must be":     change(func(t *junctor.Trigger) { t.Action.Tool = "a b" }),
		"batch must be":    change(func(t *junctor.Trigger) { t.Action.Batch = 101 }),
		"batch_wait_ms":    change(func(t *junctor.Trigger) { t.Action.BatchWaitMS = 5 }),
		"timeout_ms":       change(func(t *junctor.Trigger) { t.Action.TimeoutMS = -1 }),
		"attempts":         change(func(t *junctor.Trigger) { t.Action.Attempts = 99 }),
		"verify_file_hash": change(func(t *junctor.Trigger) { t.Action.VerifyFile = true }),
		"unknown":          change(func(t *junctor.Trigger) { t.Action.Template = json.RawMessage(`{"a":"{{unknown}}"}`) }),
		"min_value":        change(func(t *junctor.Trigger) { t.Match.MinValue = new(math.NaN()) }),
		"server":           change(func(t *junctor.Trigger) { t.Action.Server = "a__b" }),
	} {
		if _, err := event.NewRule(bad); junctor.CodeOf(err) != junctor.CodeInvalid || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
	many, err := event.NewRule(change(func(t *junctor.Trigger) { t.Action.Batch, t.Action.Template = 5, json.RawMessage(`{"id":"{{id}}"}`) }))
	if err != nil {
		t.Fatal(err)
	}
	got, err := many.Arguments(&junctor.Event{ID: "x"}, &junctor.Event{ID: "y"})
	if err != nil || string(got) != `{"events":[{"id":"x"},{"id":"y"}]}` {
		t.Errorf("%s, %v", got, err)
	}
	off, err := event.NewRule(change(func(t *junctor.Trigger) { t.Disabled = true }))
	if err != nil || off.Matches(sample()) {
		t.Errorf("one that is off matches (%v)", err)
	}
	for _, ready := range event.Ready() {
		if _, err := event.NewRule(ready); err != nil {
			t.Errorf("%s: %v", ready.Name, err)
		}
	}
}

// A retraction names the event it takes back by transaction and log index, so each
// ready trigger for a chain delivers both.
func TestReadyTriggersOfChainsNameTheirEvent(t *testing.T) {
	t.Parallel()
	for _, trigger := range event.Ready() {
		for _, want := range []string{"{{transaction_hash", "{{log_index|integer"} {
			if strings.HasPrefix(trigger.Name, "chain-") && !strings.Contains(string(trigger.Action.Template), want) {
				t.Errorf("%s does not deliver %s", trigger.Name, want)
			}
		}
	}
}
