package policy

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	junctor "github.com/junctor-mcp/junctor"
)

// The model decides about calls without CEL: conditions are trees that write
// themselves as CEL and evaluate themselves by the rules of three values, where an
// error is neither true nor false.

// world is what the trees of the model read.
type world struct {
	call *Call
	args map[string]any
}

// node is a part of a condition.
type node interface {
	text() string
	eval(w *world) value
}

type (
	lit    bool
	not    struct{ x node }
	both   struct{ x, y node }
	either struct{ x, y node }
	choice struct{ c, x, y node }
	hasArg string
	textIs struct{ name, value string } // args.name == "value"
	above  struct {                     // args.name > n
		name string
		n    int
	}
	userIs   string
	inGroup  string
	agentIs  string
	viaEntry string
	readOnly struct{}
	under    struct{ name, folder string } // below(args.name, folder)
	office   struct{}                      // hours(…)
)

func (l lit) text() string { return strconv.FormatBool(bool(l)) }
func (l lit) eval(*world) value {
	if l {
		return isTrue
	}
	return isFalse
}
func (n not) text() string { return "!(" + n.x.text() + ")" }
func (n not) eval(w *world) value {
	switch n.x.eval(w) {
	case isTrue:
		return isFalse
	case isFalse:
		return isTrue
	}
	return isError
}
func (b both) text() string { return "(" + b.x.text() + " && " + b.y.text() + ")" }
func (b both) eval(w *world) value {
	x, y := b.x.eval(w), b.y.eval(w)
	switch {
	case x == isFalse || y == isFalse:
		return isFalse
	case x == isError || y == isError:
		return isError
	}
	return isTrue
}
func (e either) text() string { return "(" + e.x.text() + " || " + e.y.text() + ")" }
func (e either) eval(w *world) value {
	x, y := e.x.eval(w), e.y.eval(w)
	switch {
	case x == isTrue || y == isTrue:
		return isTrue
	case x == isError || y == isError:
		return isError
	}
	return isFalse
}

func (c choice) text() string {
	return "(" + c.c.text() + " ? " + c.x.text() + " : " + c.y.text() + ")"
}

func (c choice) eval(w *world) value {
	switch c.c.eval(w) {
	case isTrue:
		return c.x.eval(w)
	case isFalse:
		return c.y.eval(w)
	}
	return isError
}

func truth(b bool) value { return lit(b).eval(nil) }

func (h hasArg) text() string { return "has(args." + string(h) + ")" }
func (h hasArg) eval(w *world) value {
	_, ok := w.args[string(h)]
	return truth(ok)
}
func (t textIs) text() string { return fmt.Sprintf("args.%s == %q", t.name, t.value) }
func (t textIs) eval(w *world) value {
	v, ok := w.args[t.name]
	if !ok {
		return isError
	}
	return truth(v == t.value) // values of other types are not equal
}
func (a above) text() string { return fmt.Sprintf("args.%s > %d", a.name, a.n) }
func (a above) eval(w *world) value {
	switch v := w.args[a.name].(type) {
	case int:
		return truth(v > a.n)
	case float64:
		return truth(v > float64(a.n))
	}
	return isError
}
func (u userIs) text() string        { return fmt.Sprintf("principal.user == %q", string(u)) }
func (u userIs) eval(w *world) value { return truth(w.call.Subject.User == string(u)) }
func (g inGroup) text() string       { return fmt.Sprintf("%q in principal.groups", string(g)) }
func (g inGroup) eval(w *world) value {
	return truth(slices.Contains(w.call.Subject.Groups, string(g)))
}
func (a agentIs) text() string         { return fmt.Sprintf("principal.agent == %q", string(a)) }
func (a agentIs) eval(w *world) value  { return truth(w.call.Subject.Agent == string(a)) }
func (e viaEntry) text() string        { return fmt.Sprintf("request.entry_point == %q", string(e)) }
func (e viaEntry) eval(w *world) value { return truth(string(w.call.EntryPoint) == string(e)) }
func (readOnly) text() string          { return "tool.read_only" }
func (readOnly) eval(w *world) value   { return truth(w.call.Tool.Hints.ReadOnly == junctor.HintTrue) }

func (u under) text() string { return fmt.Sprintf("below(args.%s, %q)", u.name, u.folder) }

func (u under) eval(w *world) value {
	v, ok := w.args[u.name].(string)
	if !ok {
		return isError
	}
	return truth(v == u.folder || strings.HasPrefix(v, u.folder+"/")) // the model's paths are clean
}
func (office) text() string { return `hours("Mon-Fri 09:00-17:00", "UTC")` }
func (office) eval(w *world) value {
	day, hour := w.call.Time.Weekday(), w.call.Time.Hour()
	return truth(day != time.Saturday && day != time.Sunday && hour >= 9 && hour < 17)
}

// drawNode draws a condition.
func drawNode(t *rapid.T, depth int) node {
	kind := rapid.IntRange(0, 14).Draw(t, "node")
	if depth == 0 {
		kind = rapid.IntRange(4, 14).Draw(t, "leaf")
	}
	name := func() string { return rapid.SampledFrom(argumentNames()).Draw(t, "argument") }
	switch kind {
	case 0:
		return not{drawNode(t, depth-1)}
	case 1:
		return both{drawNode(t, depth-1), drawNode(t, depth-1)}
	case 2:
		return either{drawNode(t, depth-1), drawNode(t, depth-1)}
	case 3:
		return choice{drawNode(t, depth-1), drawNode(t, depth-1), drawNode(t, depth-1)}
	case 4:
		return lit(rapid.Bool().Draw(t, "literal"))
	case 5:
		return hasArg(name())
	case 6:
		return textIs{name(), rapid.SampledFrom([]string{"a", "b", "/srv/x"}).Draw(t, "text")}
	case 7:
		return above{name(), rapid.IntRange(0, 9).Draw(t, "number")}
	case 8:
		return userIs(rapid.SampledFrom(modelUsers()).Draw(t, "user"))
	case 9:
		return inGroup(rapid.SampledFrom([]string{"finance", "ops"}).Draw(t, "group"))
	case 10:
		return agentIs(rapid.SampledFrom([]string{"", "bot", "helper"}).Draw(t, "agent"))
	case 11:
		return viaEntry(rapid.SampledFrom([]string{"mcp", "delivery"}).Draw(t, "entry point"))
	case 12:
		return readOnly{}
	case 13:
		return under{name(), "/srv"}
	}
	return office{}
}

func argumentNames() []string { return []string{"path", "amount", "note"} }
func modelUsers() []string    { return []string{"ada", "bob", ""} }

// modelRule is a rule with its condition as a tree.
type modelRule struct {
	junctor.PolicyRule
	condition node
}

func drawRule(t *rapid.T, name string) modelRule {
	some := func(label string, from ...string) []string {
		return rapid.SliceOfNDistinct(rapid.SampledFrom(from), 0, 2, rapid.ID).Draw(t, label)
	}
	r := modelRule{condition: drawNode(t, 3)}
	r.PolicyRule = junctor.PolicyRule{
		Name: name, When: r.condition.text(), Message: "because of " + name,
		Verdict: rapid.SampledFrom([]junctor.PolicyVerdict{junctor.VerdictDeny, junctor.VerdictDeny, junctor.VerdictAsk, junctor.VerdictAllow}).Draw(t, "verdict"),
		Mode:    rapid.SampledFrom([]junctor.PolicyMode{junctor.ModeEnforce, junctor.ModeEnforce, junctor.ModeEnforce, junctor.ModeAudit}).Draw(t, "mode"),
		Target: junctor.PolicyTarget{
			Items: some("items", "files/*", "files/read", "*/write", "mail/*", "*/*"), Agents: some("agents", "*", "bot", "h*"), Users: some("users", "ada", "b*"),
		},
	}
	return r
}

// modelMatches is the model of a pattern of the rules above.
func modelMatches(patterns []string, value string) bool {
	for _, p := range patterns {
		if p == value && p != "" || p == "*" && value != "" || strings.HasSuffix(p, "*") && value != "" && strings.HasPrefix(value, strings.TrimSuffix(p, "*")) {
			return true
		}
	}
	return len(patterns) == 0
}

// modelApplies reports whether a call is of a rule's target.
func modelApplies(r *modelRule, c *Call) bool {
	item := len(r.Target.Items) == 0
	for _, p := range r.Target.Items {
		server, name, _ := strings.Cut(p, "/")
		item = item || (server == "*" || server == c.Server) && (name == "*" || name == c.Name)
	}
	return item && modelMatches(r.Target.Agents, c.Subject.Agent) && modelMatches(r.Target.Users, c.Subject.User)
}

// modelJudge is the model of JudgeCall.
func modelJudge(levels [2][]modelRule, w *world) (junctor.PolicyVerdict, string) {
	verdict, by := junctor.PolicyVerdict(""), ""
	for _, rules := range levels {
		for i := range rules {
			r := &rules[i]
			if r.Mode == junctor.ModeAudit || !modelApplies(r, w.call) {
				continue
			}
			v := r.condition.eval(w)
			if v == isFalse || v == isError && r.Verdict == junctor.VerdictAllow {
				continue
			}
			verdict, by = r.Verdict, r.Name
			if v == isError {
				verdict = junctor.VerdictDeny
			}
			if verdict == junctor.VerdictAllow {
				break
			}
			return verdict, by
		}
	}
	return verdict, by
}

// drawWorld draws a call and its arguments.
func drawWorld(t *rapid.T) *world {
	w := &world{args: map[string]any{}}
	for _, name := range argumentNames() {
		switch rapid.IntRange(0, 4).Draw(t, name) {
		case 0:
			w.args[name] = rapid.SampledFrom([]string{"a", "b", "/srv/x", "/srv", "/etc"}).Draw(t, "text")
		case 1:
			w.args[name] = rapid.IntRange(0, 12).Draw(t, "integer")
		case 2:
			w.args[name] = rapid.SampledFrom([]float64{0.5, 3.25, 7.75}).Draw(t, "number")
		case 3:
			w.args[name] = rapid.SampledFrom([]any{true, nil, []any{"a"}, map[string]any{"a": 1}}).Draw(t, "other")
		}
	}
	raw, err := json.Marshal(w.args)
	if err != nil {
		t.Fatal(err)
	}
	server, name := rapid.SampledFrom([]string{"files", "mail"}).Draw(t, "server"), rapid.SampledFrom([]string{"read", "write"}).Draw(t, "tool")
	w.call = &Call{
		Subject: Subject{Tenant: "default", User: rapid.SampledFrom(modelUsers()).Draw(t, "user"), Agent: rapid.SampledFrom([]string{"", "", "bot", "helper"}).Draw(t, "agent"), Groups: rapid.SampledFrom([][]string{nil, {"ops"}, {"finance", "ops"}}).Draw(t, "groups")},
		Kind:    junctor.KindTool, Server: server, Name: name, Arguments: raw,
		Tool:       &Tool{Server: server, Name: name, Digest: server + name, Definition: []byte(`{"name":"` + name + `","inputSchema":{"type":"object"}}`), Hints: junctor.ToolHints{ReadOnly: map[string]junctor.Hint{"read": junctor.HintTrue}[name]}},
		EntryPoint: rapid.SampledFrom([]junctor.EntryPoint{junctor.EntryMCP, junctor.EntryDelivery}).Draw(t, "entry point"),
		Time:       time.Date(2026, 11, rapid.IntRange(16, 22).Draw(t, "day"), rapid.IntRange(0, 23).Draw(t, "hour"), 0, 0, 0, time.UTC),
	}
	return w
}

// TestAgainstModel compares calls, explanations, simulations and lists with a model
// that knows nothing of CEL.
func TestAgainstModel(t *testing.T) {
	t.Parallel()
	compiler := newCompiler(t)
	rapid.Check(t, func(t *rapid.T) {
		var levels [2][]modelRule
		var plain [2][]junctor.PolicyRule
		for level := range levels {
			for i := range rapid.IntRange(0, 4).Draw(t, "rules") {
				r := drawRule(t, fmt.Sprintf("rule-%d-%d", level, i))
				levels[level], plain[level] = append(levels[level], r), append(plain[level], r.PolicyRule)
			}
		}
		set := compiler.Compile(plain[0], plain[1], nil)
		for name, err := range set.Problems() {
			t.Fatalf("%s: %v", name, err)
		}
		for range 8 {
			w := drawWorld(t)
			c := w.call
			verdict, by := modelJudge(levels, w)
			d := set.JudgeCall(t.Context(), c)
			if d.Verdict != verdict || d.Rule != by || d.Undecidable {
				t.Fatalf("%s on %s: %q by %q, the model %q by %q\n%+v", c.Arguments, c.Server+"/"+c.Name, d.Verdict, d.Rule, verdict, by, d.Hits)
			}
			// What explains a call names the rule that decided it.
			decided := ""
			for _, trace := range set.Explain(c, nil) {
				if trace.Decided {
					decided = trace.Rule
				}
			}
			if decided != by {
				t.Fatalf("explained as decided by %q, not %q", decided, by)
			}
			// Without the arguments, a decision is the same or none.
			part := *c
			part.Incomplete, part.Recorded = true, true
			if known := set.JudgeCall(t.Context(), &part); !known.Undecidable && (known.Verdict != verdict || known.Rule != by) {
				t.Fatalf("without arguments %q by %q, with them %q by %q", known.Verdict, known.Rule, verdict, by)
			}
			// A hidden tool is one that no call can use.
			if set.Hides(&c.Subject, c.Kind, c.Server, c.Name, c.Tool) && verdict != junctor.VerdictDeny {
				t.Fatalf("hidden, and the call ends with %q by %q", verdict, by)
			}
			// Subjects with one key see the same lists.
			other := drawWorld(t).call
			if set.ListKey(&c.Subject) == set.ListKey(&other.Subject) &&
				set.Hides(&c.Subject, c.Kind, c.Server, c.Name, c.Tool) != set.Hides(&other.Subject, c.Kind, c.Server, c.Name, c.Tool) {
				t.Fatalf("%+v and %+v share lists that differ", c.Subject, other.Subject)
			}
		}
	})
}
