package policies_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/history"
	"github.com/junctor-mcp/junctor/internal/policy"
	"github.com/junctor-mcp/junctor/internal/store/sqlite"
)

// call records a call of files/NAME with arguments, the newest last. Those of agents named
// old have no facts.
func (b *bench) call(name, agent, arguments string, change ...func(*history.Entry)) string {
	e := history.Entry{
		Call: junctor.Call{
			ID: fmt.Sprintf("call-%d", len(b.calls)), Tenant: junctor.DefaultTenant, Kind: junctor.KindTool, Server: "files", Name: name, Agent: agent, EntryPoint: junctor.EntryMCP,
			Status: junctor.StatusSuccess, Start: time.Date(2026, 11, 18, 10, 0, 0, 0, time.UTC), BytesIn: len(arguments), BytesOut: 10,
		},
		Params: json.RawMessage(`{"name":"files__` + name + `","arguments":` + arguments + `}`), Result: json.RawMessage(`{"content":[{"type":"text","text":"mail ada@example.com"}]}`),
	}
	if e.HasFacts = agent != "old"; e.HasFacts {
		e.Facts.Groups = []string{"sales"}
	}
	for _, do := range change {
		do(&e)
	}
	b.calls = append(b.calls, e)
	b.total = len(b.calls)
	return e.ID
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

// Calls come back from the history with what conditions read; those that were recorded
// without it, or whose payload the reader may not see, are not decided.
func TestSimulationOfStoredFacts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	db, err := sqlite.OpenHistory(t.Context(), filepath.Join(t.TempDir(), "history.db"))
	if err != nil {
		t.Fatal(err)
	}
	h, err := history.New(history.Options{Write: db.Write, Read: db.Read, Dialect: db.Dialect, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close(t.Context())
	for _, group := range []string{"sales", "finance"} {
		b.call("read", "clerk", `{"path":"/srv/x"}`, func(e *history.Entry) {
			e.Facts = junctor.CallFacts{Groups: []string{group}, Address: netip.MustParseAddr("192.0.2.7"), Hints: junctor.ToolHints{ReadOnly: junctor.HintTrue}, Tags: []string{"prod"}, Digest: "d1"}
		})
		e := &b.calls[len(b.calls)-1]
		h.Record(&e.Call, e.Params, e.Result)
	}
	if err := h.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	page, err := h.Query(t.Context(), junctor.AllCalls(junctor.DefaultTenant), history.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	b.calls, b.total = page.Calls, len(page.Calls)
	rules := []junctor.PolicyRule{deny("sales", `"sales" in principal.groups && tool.read_only && "prod" in tool.tags && cidr(request.address, "192.0.2.0/24")`, "files/*")}
	if s := b.simulate(rules); s.Decided != 2 || s.Changed != 1 || s.Undecidable != (admin.PolicyUndecidable{}) || len(s.Differences) != 1 || s.Differences[0].Samples[0] != "call-0" {
		t.Errorf("%+v", s)
	}
	for i := range b.calls { // as an earlier version recorded it
		b.calls[i].Facts, b.calls[i].HasFacts = junctor.CallFacts{}, false
	}
	if s := b.simulate(rules); s.Decided != 0 || s.Changed != 0 || s.Undecidable.Facts != 2 {
		t.Errorf("without facts: %+v", s)
	}
}

// Rules about results are simulated on the recorded result.
func TestSimulationOfResults(t *testing.T) {
	t.Parallel()
	b := newBench(t)
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

// The error that a server answered with is judged when the call is made, and not recorded as
// a result: it is not known, unless no rule about results reads it.
func TestSimulationOfErrors(t *testing.T) {
	t.Parallel()
	mail := junctor.PolicyRule{Name: "mail", Phase: junctor.PhaseResult, Verdict: junctor.VerdictRedact, Redact: []string{"email"}}
	b := newBench(t)
	failed := func(code junctor.Code, hits ...junctor.PolicyHit) func(*history.Entry) {
		return func(e *history.Entry) {
			e.Status, e.Code, e.Result, e.BytesOut, e.Policy = junctor.StatusError, code, nil, 0, hits
		}
	}
	id := b.call("read", "clerk", `{"path":"/a"}`, failed(junctor.CodeUpstream, junctor.PolicyHit{Rule: "mail", Version: "1", Verdict: junctor.VerdictRedact, Mode: junctor.ModeEnforce, Value: "true", Decided: true, Changed: 1}))
	b.call("read", "clerk", `{"path":"/b"}`, failed(junctor.CodeUnreachable))
	if s := b.simulate([]junctor.PolicyRule{mail}); s.Changed != 0 || s.Undecidable.Result != 1 || s.Decided != 1 {
		t.Errorf("redaction: %+v", s)
	}
	s := b.simulate([]junctor.PolicyRule{{Name: "none", Phase: junctor.PhaseResult, Verdict: junctor.VerdictDeny}})
	if s.Changed != 1 || len(s.Differences) != 1 || s.Differences[0].To != "denied" || s.Differences[0].Samples[0] != id {
		t.Errorf("errors that are withheld: %+v", s)
	}
}

// A call whose result a rule withheld was made: its rules come to the same again, and what
// depends on the result is not known.
func TestSimulationOfWithheldResults(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.call("read", "clerk", `{"path":"/a"}`, func(e *history.Entry) {
		e.Status, e.Code, e.Result, e.BytesOut = junctor.StatusError, junctor.CodeDenied, nil, 0
		e.Policy = []junctor.PolicyHit{{Rule: "withheld", Version: "1", Verdict: junctor.VerdictDeny, Mode: junctor.ModeEnforce, Value: "true", Decided: true}}
	})
	withheld := junctor.PolicyRule{Name: "withheld", Phase: junctor.PhaseResult, When: `args.path == "/a"`, Verdict: junctor.VerdictDeny}
	if s := b.simulate([]junctor.PolicyRule{withheld}); s.Changed != 0 || s.Decided != 1 {
		t.Errorf("the same rule: %+v", s)
	}
	if s := b.simulate([]junctor.PolicyRule{}); s.Changed != 1 || s.Differences[0].From != "denied" || s.Differences[0].To != "made" {
		t.Errorf("without it: %+v", s)
	}
	withheld.When = `size(result.content) > 5`
	if s := b.simulate([]junctor.PolicyRule{withheld}); s.Changed != 0 || s.Undecidable.Result != 1 {
		t.Errorf("a condition about the result: %+v", s)
	}
}

// A webhook is never asked; what it would decide is unknown.
func TestSimulationAsksNoWebhook(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.call("read", "", `{"path":"/a"}`)
	rule := deny("asked", "", "files/*")
	rule.Filter = &junctor.PolicyFilter{URL: "https://filter.example/"}
	if s := b.simulate([]junctor.PolicyRule{rule}); s.Undecidable != (admin.PolicyUndecidable{Filter: 1}) || s.Changed != 0 {
		t.Errorf("%+v", s)
	}
}

// An explanation shows every rule that is evaluated, why, and what is different now.
func TestExplanation(t *testing.T) {
	t.Parallel()
	b, p := newBench(t), admins(junctor.DefaultTenant)
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
	// Only a call that no rule was asked about was refused before that.
	for note, c := range map[string]struct {
		wanted bool
		change func(*history.Entry)
	}{
		"refused before rules were asked: too many": {true, func(e *history.Entry) { e.Status, e.Reason = junctor.StatusLimited, "too many" }},
		"refused before rules were asked":           {false, denied("etc")},
	} {
		b.call("read", "", `{"path":"/etc/passwd"}`, c.change)
		e, err := b.ExplainPolicies(t.Context(), p, &b.calls[len(b.calls)-1])
		if err != nil || slices.ContainsFunc(e.Notes, func(have string) bool { return strings.Contains(have, note) }) != c.wanted {
			t.Errorf("%q: %v, %v", note, e.Notes, err)
		}
	}
	b.put(p, junctor.PolicyRule{Name: "asked", Verdict: junctor.VerdictDeny, Filter: &junctor.PolicyFilter{URL: "https://filter.example/"}}, admin.PutPolicy{Place: admin.PolicyPlace{First: true}})
	if e, err := b.ExplainPolicies(t.Context(), p, &b.calls[0]); err != nil || e.Verdict != "undecidable" || !slices.ContainsFunc(e.Notes, func(note string) bool { return strings.Contains(note, "a webhook decides") }) {
		t.Errorf("with a webhook: %+v, %v", e, err)
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

// fitsOnly is an output schema that one text fits.
type fitsOnly string

func (f fitsOnly) FitsOutput(_ context.Context, structured []byte) bool {
	return strings.Contains(string(structured), string(f))
}

// Whether a redacted result still fits its schema is decided by the definition that the call was
// recorded with. If the tool has another one now, the call is counted apart.
func TestSimulatedResultsFitTheirSchema(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	mail := []junctor.PolicyRule{{Name: "mail", Phase: junctor.PhaseResult, Target: junctor.PolicyTarget{Items: []string{"files/read"}}, Verdict: junctor.VerdictRedact, Redact: []string{"email"}}}
	structured := func(digest string) func(*history.Entry) {
		return func(e *history.Entry) {
			e.Facts.Digest = digest
			e.Result = json.RawMessage(`{"content":[],"structuredContent":{"mail":"ada@example.com"}}`)
		}
	}
	now := b.tools[0].Digest
	for name, c := range map[string]struct {
		output policy.OutputChecker
		change func(*history.Entry)
		to     string // what would have happened
		tool   int    // calls that are undecidable
	}{
		"it fits":                         {fitsOnly(""), structured(now), "redacted", 0},
		"it does not fit":                 {fitsOnly("ada@example.com"), structured(now), "denied", 0},
		"the tool has another definition": {fitsOnly(""), structured("former"), "", 1},
		"without structured content":      {fitsOnly(""), func(e *history.Entry) { e.Facts.Digest = "former" }, "redacted", 0},
		"nothing is found in what it has": {fitsOnly(""), func(e *history.Entry) {
			structured("former")(e)
			e.Result = json.RawMessage(`{"content":[],"structuredContent":{"n":1}}`)
		}, "", 0},
	} {
		b.calls, b.tools[0].Output = nil, c.output
		b.version++
		b.call("read", "clerk", `{"path":"/srv/x"}`, c.change)
		s := b.simulate(mail)
		to := ""
		if len(s.Differences) == 1 {
			to = s.Differences[0].To
		}
		if to != c.to || s.Undecidable != (admin.PolicyUndecidable{Tool: c.tool}) {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// Another tenant sees of an operators' rule what it did with a call, and nothing that quotes its
// condition: not in what was recorded, explained or tested.
func TestOperatorsRulesInHits(t *testing.T) {
	t.Parallel()
	b, operator, acme := newBench(t), admins(junctor.DefaultTenant), admins("acme")
	rule := deny("everywhere", `{"4711": 1}[args.path] > 5`, "files/*")
	rule.Target.Tenants, rule.Title, rule.Message, rule.Kinds = []string{"*"}, "canary title", "canary message", []junctor.Kind{junctor.KindTool}
	b.put(operator, rule, admin.PutPolicy{})
	set := b.applied["acme"]
	d := set.JudgeCall(t.Context(), &policy.Call{Subject: policy.Subject{Tenant: "acme"}, Kind: junctor.KindTool, Server: "files", Name: "read", Tool: &b.tools[0], Arguments: []byte(`{"path":"canary"}`)})
	if d.Verdict != junctor.VerdictDeny || len(d.Hits) != 1 || !d.Hits[0].Operators || !strings.Contains(d.Hits[0].Error, "canary") {
		t.Fatalf("%+v", d)
	}
	for tenant, want := range map[junctor.TenantID]string{junctor.DefaultTenant: d.Hits[0].Error, "acme": ""} {
		if got := junctor.LimitHits(tenant, d.Hits); got[0].Error != want || got[0].Rule != "everywhere" {
			t.Errorf("%s: %+v", tenant, got)
		}
	}
	b.call("read", "clerk", `{"path":"x"}`, denied("everywhere"), func(e *history.Entry) { e.Tenant, e.Policy, e.Reason = "acme", d.Hits, "" })
	e, err := b.ExplainPolicies(t.Context(), acme, &b.calls[0])
	if err != nil || len(e.Rules) != 1 || len(e.Recorded) != 1 || e.Rules[0].Value != "error" {
		t.Fatalf("%+v, %v", e, err)
	}
	results, err := b.TestPolicies(t.Context(), acme, nil, []admin.PolicyCase{{Call: "files/read", Args: json.RawMessage(`{"path":"canary"}`), Expect: "made"}})
	if err != nil || len(results) != 1 || results[0].OK {
		t.Fatalf("%+v, %v", results, err)
	}
	list, _, err := b.PolicyRules(t.Context(), acme)
	if err != nil || len(list) != 1 || list[0].Name != "everywhere" || list[0].Verdict != junctor.VerdictDeny || !list[0].Restricted {
		t.Fatalf("%+v, %v", list, err)
	}
	seen, err := json.Marshal([]any{e, results, list})
	for _, secret := range []string{"canary", "4711", "files/*", "args.path", "no such key"} {
		if err != nil || strings.Contains(string(seen), secret) {
			t.Errorf("%q is seen, %v: %s", secret, err, seen)
		}
	}
}

// TestToolsAreReadOnce simulates many calls: the tools of the tenant are read once, and again when
// they have changed.
func TestToolsAreReadOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for range 50 {
		b.call("read", "clerk", `{"path":"/etc/passwd"}`)
	}
	for range 2 {
		b.asked = 0
		b.version++
		if s := b.simulate([]junctor.PolicyRule{deny("etc", `args.path.startsWith("/etc")`, "files/read")}); s.Changed != 50 || b.asked > 2 {
			t.Errorf("%d calls changed, tools were read %d times", s.Changed, b.asked)
		}
	}
}
