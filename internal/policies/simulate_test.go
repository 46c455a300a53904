package policies_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/history"
)

// call records a call of files/NAME with arguments, the newest last.
func (b *bench) call(name, agent, arguments string, change ...func(*history.Entry)) string {
	e := history.Entry{
		Call: junctor.Call{
			ID: fmt.Sprintf("call-%d", len(b.calls)), Tenant: junctor.DefaultTenant, Kind: junctor.KindTool, Server: "files", Name: name, Agent: agent, EntryPoint: junctor.EntryMCP,
			Status: junctor.StatusSuccess, Start: time.Date(2026, 11, 18, 10, 0, 0, 0, time.UTC), BytesIn: len(arguments), BytesOut: 10,
		},
		Params: json.RawMessage(`{"name":"files__` + name + `","arguments":` + arguments + `}`), Result: json.RawMessage(`{"content":[{"type":"text","text":"mail ada@example.com"}]}`),
	}
	for _, do := range change {
		do(&e)
	}
	b.calls = append(b.calls, e)
	b.total = len(b.calls)
	return e.ID
}

// hasFacts says that all calls but those of agents named old were recorded with facts.
func (b *bench) hasFacts() {
	b.SetFacts(func(e *history.Entry) (junctor.CallFacts, bool) {
		return junctor.CallFacts{Groups: []string{"sales"}}, e.Agent != "old"
	})
}

func denied(rule string) func(*history.Entry) {
	return func(e *history.Entry) {
		e.Status, e.Result, e.BytesOut = junctor.StatusDenied, nil, 0
		e.Policy = []junctor.PolicyHit{{Rule: rule, Version: "1", Verdict: junctor.VerdictDeny, Mode: junctor.ModeEnforce, Value: "true", Decided: true}}
	}
}

func (b *bench) simulate(rules []junctor.PolicyRule) admin.PolicySimulation {
	b.t.Helper()
	until := time.Date(2026, 11, 19, 0, 0, 0, 0, time.UTC)
	out, err := b.SimulatePolicies(b.t.Context(), admins(junctor.DefaultTenant), junctor.AllCalls(junctor.DefaultTenant), admin.SimulatePolicies{Rules: rules, Since: until.Add(-48 * time.Hour), Until: until})
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

// A simulation says which calls would have ended otherwise, and counts apart what it cannot
// know.
func TestSimulation(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.hasFacts()
	etc := `{"path":"/etc/passwd"}`
	first := b.call("read", "clerk", etc)
	second := b.call("read", "clerk", etc)
	b.call("read", "clerk", `{"path":"/srv/x"}`)
	other := b.call("read", "", etc)
	formerly := b.call("delete", "clerk", `{"path":"/srv/y"}`, denied("no-deletes"))
	b.call("read", "clerk", `{"path":"[redacted]"}`)
	b.call("read", "clerk", etc, func(e *history.Entry) { e.Params = json.RawMessage(`"{\"name [cut: 9000 bytes in all]"`) })
	b.call("read", "old", etc)
	b.call("write", "old", etc) // no rule is about it
	b.call("read", "clerk", etc, func(e *history.Entry) { e.Status, e.Reason = junctor.StatusLimited, "too many" })
	b.call("read", "clerk", etc, func(e *history.Entry) { e.Status = junctor.StatusRunning })
	b.total = 20
	rules := []junctor.PolicyRule{deny("etc", `args.path.startsWith("/etc")`, "files/read"), deny("audited", "", "files/delete")}
	rules[1].Mode = junctor.ModeAudit
	s := b.simulate(rules)
	want := []admin.PolicyDifference{
		{Rule: "etc", Tool: "files/read", Agent: "clerk", From: "made", To: "denied", Calls: 2, Samples: []string{first, second}},
		{Rule: "etc", Tool: "files/read", From: "made", To: "denied", Calls: 1, Samples: []string{other}},
		{Rule: "no-deletes", Tool: "files/delete", Agent: "clerk", From: "denied", To: "made", Calls: 1, Samples: []string{formerly}},
	}
	if diff := cmp.Diff(want, s.Differences); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}
	if s.Calls != 10 || s.Decided != 7 || s.Changed != 4 || s.Undecidable != (admin.PolicyUndecidable{Arguments: 2, Facts: 1}) || s.Total != 20 || s.Share != 0.5 {
		t.Errorf("counts: %+v", s)
	}
	if diff := cmp.Diff([]admin.PolicyRuleCount{{Rule: "etc", Mode: junctor.ModeEnforce, Matched: 3}, {Rule: "audited", Mode: junctor.ModeAudit, Matched: 1}}, s.Rules); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	// Calls that are recorded with their outcome agree with the rules that made it.
	if s := b.simulate([]junctor.PolicyRule{}); s.Changed != 1 || s.Differences[0].To != "made" {
		t.Errorf("without rules: %+v", s)
	}
}

// Rules about results are simulated on the recorded result.
func TestSimulationOfResults(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.hasFacts()
	b.call("read", "clerk", `{"path":"/a"}`)
	b.call("read", "clerk", `{"path":"/b"}`, func(e *history.Entry) { e.Result = json.RawMessage(`{"content":[{"type":"text","text":"nothing"}]}`) })
	b.call("read", "clerk", `{"path":"/c"}`, func(e *history.Entry) { e.Result = json.RawMessage(`"{ [cut: 90000 bytes in all]"`) })
	s := b.simulate([]junctor.PolicyRule{{Name: "mail", Phase: junctor.PhaseResult, Verdict: junctor.VerdictRedact, Redact: []string{"email"}}})
	if s.Changed != 1 || s.Undecidable.Result != 1 || len(s.Differences) != 1 || s.Differences[0].To != "redacted" || s.Differences[0].Samples[0] != "call-0" {
		t.Errorf("redaction: %+v", s)
	}
	s = b.simulate([]junctor.PolicyRule{{Name: "big", Phase: junctor.PhaseResult, When: `size(result.content) > 5`, Verdict: junctor.VerdictDeny}})
	if s.Changed != 0 || s.Undecidable.Result != 1 {
		t.Errorf("a condition about the result: %+v", s)
	}
}

// A webhook is never asked; what it would decide is unknown.
func TestSimulationAsksNoWebhook(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.hasFacts()
	b.call("read", "", `{"path":"/a"}`)
	rule := deny("asked", "", "files/*")
	rule.Filter = &junctor.PolicyFilter{URL: "https://filter.example/"}
	if s := b.simulate([]junctor.PolicyRule{rule}); s.Undecidable.Filter+s.Undecidable.Arguments != 1 || s.Changed != 0 {
		t.Errorf("%+v", s)
	}
}

// An explanation shows every rule that is evaluated, why, and what is different now.
func TestExplanation(t *testing.T) {
	t.Parallel()
	b, p := newBench(t), admins(junctor.DefaultTenant)
	b.hasFacts()
	b.put(p, deny("etc", `args.path.startsWith("/etc") && "sales" in principal.groups`, "files/read"), admin.PutPolicy{})
	b.put(p, deny("other", "", "nosuch/*"), admin.PutPolicy{})
	b.call("read", "", `{"path":"/etc/passwd"}`, denied("etc"), func(e *history.Entry) { e.Policy = append(e.Policy, junctor.PolicyHit{Rule: "gone"}) })
	e, err := b.ExplainPolicies(t.Context(), p, &b.calls[0])
	if err != nil {
		t.Fatal(err)
	}
	if e.Verdict != "denied" || e.Rule != "etc" || len(e.Rules) != 1 || !e.Rules[0].Decided || len(e.Rules[0].Parts) != 2 || len(e.Recorded) != 2 {
		t.Errorf("explanation: %+v", e)
	}
	for _, want := range []string{`the rule "etc" was changed after the call`, `the rule "gone" is no longer evaluated`} {
		if !slices.ContainsFunc(e.Notes, func(note string) bool { return strings.Contains(note, want) }) {
			t.Errorf("no note %q in %q", want, e.Notes)
		}
	}
	if !strings.Contains(string(e.Inputs), `"groups":["sales"]`) || !strings.Contains(string(e.Inputs), `"path":"/etc/passwd"`) {
		t.Errorf("inputs: %s", e.Inputs)
	}
}

// Cases say what rules come to for made-up calls.
func TestCases(t *testing.T) {
	t.Parallel()
	b, p := newBench(t), admins(junctor.DefaultTenant)
	yes := true
	rules := []junctor.PolicyRule{
		{Name: "reads", When: "tool.read_only", Verdict: junctor.VerdictAllow},
		{Name: "prod", When: `"prod" in tool.tags`, Verdict: junctor.VerdictAsk},
		{Name: "hours", Target: junctor.PolicyTarget{Agents: []string{"*"}}, When: `!hours("Mon-Fri 08:00-18:00", "UTC")`, Verdict: junctor.VerdictDeny},
		{Name: "mail", Phase: junctor.PhaseResult, Verdict: junctor.VerdictRedact, Redact: []string{"email"}},
	}
	night := time.Date(2026, 11, 18, 23, 0, 0, 0, time.UTC)
	args := json.RawMessage(`{"path":"/a"}`)
	cases := []admin.PolicyCase{
		{Call: "files/read", Args: args, Principal: admin.PolicyCasePrincipal{Agent: "clerk"}, Time: night, Expect: "denied", Rule: "hours"},
		{Call: "files/read", Args: args, Principal: admin.PolicyCasePrincipal{Agent: "clerk"}, Time: night.Add(-8 * time.Hour), Expect: "made"},
		{Call: "files/read", Args: args, Principal: admin.PolicyCasePrincipal{User: "ann"}, Time: night, Expect: "made"},
		{Call: "files/read", Args: args, Principal: admin.PolicyCasePrincipal{Agent: "clerk"}, Time: night, Tool: &admin.PolicyCaseTool{ReadOnly: &yes}, Expect: "made", Rule: "reads"},
		{Call: "files/read", Args: args, Tool: &admin.PolicyCaseTool{Tags: []string{"prod"}}, Expect: "asked", Rule: "prod"},
		{Call: "files/read", Args: args, Result: json.RawMessage(`{"content":[{"type":"text","text":"ada@example.com"}]}`), Expect: "redacted", Rule: "mail"},
		{Name: "wrong", Call: "files/read", Args: args, Expect: "denied"},
	}
	got, err := b.TestPolicies(t.Context(), p, rules, cases)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range got {
		if r.OK == (r.Name == "wrong") {
			t.Errorf("case %d: %+v", i+1, r)
		}
	}
	for _, bad := range []admin.PolicyCase{{Call: "read", Expect: "made"}, {Call: "files/read", Expect: "maybe"}, {Call: "files/read", Expect: "made", Kind: "task"}, {Call: "files/read", Expect: "made", Args: json.RawMessage(`[1]`)}} {
		_, err := b.TestPolicies(t.Context(), p, rules, []admin.PolicyCase{bad})
		b.fails(err, junctor.CodeInvalid)
	}
}
