// Package policymodel is a model of the rules about calls that knows nothing of CEL:
// conditions are trees that write themselves as CEL and evaluate themselves by the rules
// of three values. Tests hold the engine and whole instances to it. It shares only the
// type of a stored rule with what it judges, and only tests import it.
package policymodel

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	junctor "github.com/junctor-mcp/junctor"
)

// The tools of each server in the model. ReadingTool is the one that changes nothing.
const (
	ReadingTool = "read"
	WritingTool = "write"
)

// Servers returns the servers of the model.
func Servers() []string { return []string{"files", "mail"} }

// Tools returns the tools of each of them.
func Tools() []string { return []string{ReadingTool, WritingTool} }

// Users returns the users of the model; "" is a caller who is none.
func Users() []string { return []string{"ada", "bob", "cyd@example.com", ""} }

// Agents returns the agents of the model; "" is a caller who is none.
func Agents() []string { return []string{"", "bot", "helper"} }

// EntryPoints returns the entry points that conditions ask for.
func EntryPoints() []junctor.EntryPoint {
	return []junctor.EntryPoint{
		junctor.EntryMCP, junctor.EntryPlain, junctor.EntryBridge, junctor.EntryAdmin, junctor.EntryAppView, junctor.EntryTurn, junctor.EntryDelivery,
	}
}

func argumentNames() []string { return []string{"path", "amount", "note"} }

// Call is a call of a tool, with all that conditions of the model read.
type Call struct {
	User, Agent  string
	Groups       []string
	Server, Name string
	EntryPoint   junctor.EntryPoint
	Time         time.Time
	Args         map[string]any
}

// Arguments returns the arguments as a JSON object.
func (c *Call) Arguments() []byte {
	text, _ := json.Marshal(c.Args) // texts, numbers and what is made of them
	return text
}

// Rule is a rule with its condition as a tree.
type Rule struct {
	junctor.PolicyRule
	condition node
}

// Stored returns rules as they are stored.
func Stored(rules []Rule) []junctor.PolicyRule {
	out := make([]junctor.PolicyRule, len(rules))
	for i := range rules {
		out[i] = rules[i].PolicyRule
	}
	return out
}

// DrawRule draws a rule about calls.
func DrawRule(t *rapid.T, name string) Rule {
	some := func(label string, from ...string) []string {
		return rapid.SliceOfNDistinct(rapid.SampledFrom(from), 0, 2, rapid.ID).Draw(t, label)
	}
	r := Rule{condition: drawNode(t, 3)}
	r.PolicyRule = junctor.PolicyRule{
		Name: name, When: r.condition.text(), Message: "because of " + name,
		Verdict: rapid.SampledFrom([]junctor.PolicyVerdict{junctor.VerdictDeny, junctor.VerdictDeny, junctor.VerdictAsk, junctor.VerdictAllow}).Draw(t, "verdict"),
		Mode:    rapid.SampledFrom([]junctor.PolicyMode{junctor.ModeEnforce, junctor.ModeEnforce, junctor.ModeEnforce, junctor.ModeAudit}).Draw(t, "mode"),
		Target: junctor.PolicyTarget{
			Items: some("items", "files/*", "files/read", "*/write", "mail/*", "*/*"), Agents: some("agents", "*", "bot", "h*"), Users: some("users", "ada", "b*", "cyd@*"),
		},
	}
	return r
}

// DrawCall draws a call by anybody.
func DrawCall(t *rapid.T) *Call {
	return &Call{
		User: rapid.SampledFrom(Users()).Draw(t, "user"), Agent: rapid.SampledFrom(append(Agents(), "")).Draw(t, "agent"),
		Groups: rapid.SampledFrom([][]string{nil, {"ops"}, {"finance", "ops"}}).Draw(t, "groups"),
		Server: rapid.SampledFrom(Servers()).Draw(t, "server"), Name: rapid.SampledFrom(Tools()).Draw(t, "tool"),
		EntryPoint: rapid.SampledFrom(EntryPoints()).Draw(t, "entry point"),
		Time:       time.Date(2026, 11, rapid.IntRange(16, 22).Draw(t, "day"), rapid.IntRange(0, 23).Draw(t, "hour"), 0, 0, 0, time.UTC),
		Args:       DrawArguments(t),
	}
}

// DrawArguments draws the arguments of a call: some are absent, and others are of a type
// that conditions do not expect.
func DrawArguments(t *rapid.T) map[string]any {
	args := map[string]any{}
	for _, name := range argumentNames() {
		switch rapid.IntRange(0, 4).Draw(t, name) {
		case 0:
			args[name] = rapid.SampledFrom([]string{"a", "b", "/srv/x", "/srv", "/etc"}).Draw(t, "text")
		case 1:
			args[name] = rapid.IntRange(0, 12).Draw(t, "integer")
		case 2:
			args[name] = rapid.SampledFrom([]float64{0.5, 3.25, 7.75}).Draw(t, "number")
		case 3:
			args[name] = rapid.SampledFrom([]any{true, nil, []any{"a"}, map[string]any{"a": 1}}).Draw(t, "other")
		}
	}
	return args
}

// Levels are the rules of operators, and those of the tenant.
type Levels [2][]Rule

// DrawLevels draws both, with a prefix for the names.
func DrawLevels(t *rapid.T, prefix string) (l Levels) {
	for level, name := range []string{"op", "own"} {
		for i := range rapid.IntRange(0, 5).Draw(t, "rules") {
			l[level] = append(l[level], DrawRule(t, prefix+name+"-"+string(rune('a'+i))))
		}
	}
	return l
}

// Judge returns what the rules come to for a call: deny, ask or allow, and the rule that
// decided; "" if none did.
func (l *Levels) Judge(c *Call) (verdict junctor.PolicyVerdict, by string) {
	for _, rules := range l {
		for i := range rules {
			r := &rules[i]
			if r.Mode == junctor.ModeAudit || !applies(r, c) {
				continue
			}
			v := r.condition.eval(c)
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

// applies reports whether a call is of a rule's target.
func applies(r *Rule, c *Call) bool {
	isItem := func(p string) bool {
		server, name, _ := strings.Cut(p, "/")
		return (server == "*" || server == c.Server) && (name == "*" || name == c.Name)
	}
	return (len(r.Target.Items) == 0 || slices.ContainsFunc(r.Target.Items, isItem)) && matches(r.Target.Agents, c.Agent) && matches(r.Target.Users, c.User)
}

// matches reports whether a value fits one of the patterns, which end in a star or have
// none.
func matches(patterns []string, value string) bool {
	for _, p := range patterns {
		prefix, isPrefix := strings.CutSuffix(p, "*")
		if value != "" && (p == value || isPrefix && strings.HasPrefix(value, prefix)) {
			return true
		}
	}
	return len(patterns) == 0
}

// Rules are rules about calls, and rules about their results.
type Rules struct {
	Calls, Results Levels
}

// DrawRules draws both, with a prefix for the names.
func DrawRules(t *rapid.T, prefix string) Rules {
	r := Rules{Calls: DrawLevels(t, prefix)}
	for level, name := range []string{"op-result", "own-result"} {
		for i := range rapid.IntRange(0, 3).Draw(t, "rules about results") {
			one := DrawRule(t, prefix+name+"-"+string(rune('a'+i)))
			one.Phase = junctor.PhaseResult
			if one.Verdict != junctor.VerdictDeny || rapid.Bool().Draw(t, "redacts") {
				one.Verdict, one.Redact = junctor.VerdictRedact, []string{"email"}
			}
			r.Results[level] = append(r.Results[level], one)
		}
	}
	return r
}

// Stored returns all rules as they are stored. Those of operators name the tenant.
func (r *Rules) Stored(tenant junctor.TenantID) []junctor.PolicyRule {
	out := []junctor.PolicyRule{}
	for level := range r.Calls {
		for _, rule := range append(Stored(r.Calls[level]), Stored(r.Results[level])...) {
			if level == 0 {
				rule.Target.Tenants = []string{string(tenant)}
			}
			out = append(out, rule)
		}
	}
	return out
}

// Confine keeps the rules that read arguments to the servers of the model, as an instance
// has other servers, too, whose tools have other arguments.
func (r *Rules) Confine() {
	for _, levels := range []*Levels{&r.Calls, &r.Results} {
		for _, rules := range levels {
			for i := range rules {
				one := &rules[i]
				if strings.Contains(one.When, "args.") && (len(one.Target.Items) == 0 || slices.Contains(one.Target.Items, "*/*")) {
					one.Target.Items = nil
					for _, server := range Servers() {
						one.Target.Items = append(one.Target.Items, server+"/*")
					}
				}
			}
		}
	}
}

// Ends of calls, in the words of explanations and simulations.
const (
	Made          = "made"
	Denied        = "denied"
	NeedsApproval = "asked"
	Redacted      = "redacted"
)

// Outcome is how a call ends.
type Outcome struct {
	End, Rule string
	IsCalled  bool // the server is called
}

// Judge returns how a call ends whose result has a mail address.
func (r *Rules) Judge(c *Call) Outcome {
	verdict, by := r.Calls.Judge(c)
	switch verdict {
	case junctor.VerdictDeny:
		return Outcome{End: Denied, Rule: by}
	case junctor.VerdictAsk:
		return Outcome{End: NeedsApproval, Rule: by}
	default:
	}
	out := r.JudgeResult(c)
	if out.End == Made {
		out.Rule = by // of the rule that allowed it
	}
	return out
}

// JudgeResult is Judge for a call that was made.
func (r *Rules) JudgeResult(c *Call) Outcome {
	out := Outcome{End: Made, IsCalled: true}
	for _, rules := range r.Results {
		for i := range rules {
			one := &rules[i]
			if one.Mode == junctor.ModeAudit || !applies(one, c) {
				continue
			}
			v := one.condition.eval(c)
			switch {
			case v == isFalse:
			case v == isError || one.Verdict == junctor.VerdictDeny:
				return Outcome{End: Denied, Rule: one.Name, IsCalled: true}
			case out.End == Made: // a later rule finds nothing more to replace
				out.End, out.Rule = Redacted, one.Name
			}
		}
	}
	return out
}
