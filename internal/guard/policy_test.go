package guard_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/guard"
	"github.com/junctor-mcp/junctor/internal/judge"
	"github.com/junctor-mcp/junctor/internal/policy"
)

// newPolicyRig is a rig with rules of operators.
func newPolicyRig(t *testing.T, rules ...junctor.PolicyRule) *rig {
	t.Helper()
	r := newRig(t)
	setRules(t, r, rules...)
	return r
}

// setRules gives a rig a guard with other rules.
func setRules(t *testing.T, r *rig, rules ...junctor.PolicyRule) {
	t.Helper()
	compiler, err := policy.NewCompiler()
	if err != nil {
		t.Fatal(err)
	}
	j := judge.New(judge.Options{Catalog: r.catalog, Now: time.Now, Subject: func(p *junctor.Principal) policy.Subject {
		return policy.Subject{Tenant: p.Tenant, User: p.User, Agent: p.Agent, Key: p.Key, Client: p.Client}
	}})
	set := compiler.Compile(nil, rules, nil)
	for name, err := range set.Problems() {
		t.Fatalf("%s: %v", name, err)
	}
	j.SetRules(map[junctor.TenantID]*policy.Set{junctor.DefaultTenant: set})
	o := r.options()
	o.Policy, r.policy = j, j
	if r.Guard, err = guard.New(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
}

// TestRulesOfEveryKind denies each kind of operation by a rule about it: no backend is
// reached, the caller gets the message of the rule, and the record names the rule.
func TestRulesOfEveryKind(t *testing.T) {
	t.Parallel()
	for name, op := range goodOps() {
		if op.Kind == junctor.KindTask || op.Kind == junctor.KindTaskUpdate || op.Kind == junctor.KindTaskCancel {
			continue
		}
		r := newPolicyRig(t, junctor.PolicyRule{Name: "never", Kinds: []junctor.Kind{op.Kind}, Target: junctor.PolicyTarget{Items: []string{"srv/*"}}, Verdict: junctor.VerdictDeny, Message: "not today"})
		_, err := r.Do(t.Context(), op, nil)
		e := junctor.AsError(err)
		if e.Code != junctor.CodeDenied || e.Message != "not today" || r.heard() != 0 || op.Dispatched {
			t.Errorf("%s: %v, the backend was reached %d times", name, err, r.heard())
		}
		if calls := r.records(); len(calls) != 1 || calls[0].Status != junctor.StatusDenied || calls[0].Reason != "denied by the rule never" || len(calls[0].Policy) != 1 {
			t.Errorf("%s: recorded %+v", name, calls)
		}
	}
}

// TestRulesOnArguments lets through what a rule does not match, and judges each round of
// a call again.
func TestRulesOnArguments(t *testing.T) {
	t.Parallel()
	r := newPolicyRig(t, junctor.PolicyRule{Name: "words", Target: junctor.PolicyTarget{Items: []string{"srv/echo"}}, When: `args.text == "bad"`, Verdict: junctor.VerdictDeny})
	if _, err := r.Do(t.Context(), tool("echo", `{"text":"good"}`), nil); err != nil {
		t.Error(err)
	}
	if _, err := r.Do(t.Context(), tool("echo", `{"text":"bad"}`), nil); junctor.CodeOf(err) != junctor.CodeDenied {
		t.Error(err)
	}
	// The tool that calls others is judged as the tool that it calls.
	found := tool("echo", `{}`)
	found.Name, found.Arguments = catalog.CallTool, []byte(`{"name":"srv__echo","arguments":{"text":"bad"}}`)
	if _, err := r.Do(t.Context(), found, nil); err == nil {
		t.Error("call_tool passed")
	}
	if r.heard() != 1 {
		t.Errorf("the backend was reached %d times", r.heard())
	}
}

// TestResumedCallIsJudged changes the rules while a call waits for its client's input.
func TestResumedCallIsJudged(t *testing.T) {
	t.Parallel()
	r := newPolicyRig(t)
	op := tool("ask", `{}`)
	op.HasState, op.RequestState, op.InputResponses = true, begin(t, r, tool("ask", `{}`)), []byte(answer)
	setRules(t, r, junctor.PolicyRule{Name: "no-questions", Target: junctor.PolicyTarget{Items: []string{"srv/ask"}}, Verdict: junctor.VerdictDeny})
	if _, err := r.Do(t.Context(), op, nil); junctor.CodeOf(err) != junctor.CodeDenied {
		t.Errorf("%v", err)
	}
	if r.heard() != 1 {
		t.Errorf("the backend was reached %d times", r.heard())
	}
}

// TestRulesOnResults withholds a result: neither the caller nor the records get it.
func TestRulesOnResults(t *testing.T) {
	t.Parallel()
	r := newPolicyRig(t, junctor.PolicyRule{Name: "quiet", Phase: junctor.PhaseResult, When: `result.content.exists(c, has(c.text) && c.text.contains("secret"))`, Verdict: junctor.VerdictDeny, Message: "the result is confidential"})
	if res, err := r.Do(t.Context(), tool("echo", `{"text":"fine"}`), nil); err != nil || !strings.Contains(string(res.Body), "fine") {
		t.Errorf("%s, %v", res.Body, err)
	}
	r.forget()
	res, err := r.Do(t.Context(), tool("echo", `{"text":"secret"}`), nil)
	if e := junctor.AsError(err); e.Message != "the result is confidential" || res.Body != nil {
		t.Errorf("%s, %v", res.Body, err)
	}
	calls := r.records()
	if end := calls[len(calls)-1]; len(calls) != 2 || end.BytesOut != 0 || end.ResultDigest != [32]byte{} || end.Reason != "denied by the rule quiet" {
		t.Errorf("recorded %+v", calls)
	}
	var denied *guard.RuleError
	if !errors.As(junctor.AsError(err).Cause, &denied) || denied.Rule != "quiet" {
		t.Errorf("cause %v", junctor.AsError(err).Cause)
	}
}

// TestListsFollowRules hides what no call can use, and nothing else.
func TestListsFollowRules(t *testing.T) {
	t.Parallel()
	r := newPolicyRig(t,
		junctor.PolicyRule{Name: "no-hang", Target: junctor.PolicyTarget{Items: []string{"srv/hang*"}}, Verdict: junctor.VerdictDeny, Message: "it never ends"},
		junctor.PolicyRule{Name: "words", Target: junctor.PolicyTarget{Items: []string{"srv/echo"}}, When: `args.text == "bad"`, Verdict: junctor.VerdictDeny},
		junctor.PolicyRule{Name: "no-page", Kinds: []junctor.Kind{junctor.KindResource, junctor.KindPrompt}, Verdict: junctor.VerdictDeny},
	)
	p := caller(junctor.ScopeToolsRead, junctor.ScopeToolsCall)
	list, err := r.List(p, catalog.Scope{}, catalog.ListTools)
	if err != nil || strings.Contains(string(list), "srv__hang") || !strings.Contains(string(list), "srv__echo") {
		t.Errorf("%s, %v", list, err)
	}
	for _, kind := range []catalog.ListKind{catalog.ListResources, catalog.ListPrompts} {
		if list, err = r.List(p, catalog.Scope{}, kind); err != nil || strings.Contains(string(list), `"name"`) {
			t.Errorf("%s, %v", list, err)
		}
	}
	if found := r.catalog.Snapshot().For(p.Tenant).Search(p, catalog.Scope{}, "hang", 10); len(found) > 0 {
		t.Errorf("found %+v", found[0].Tool.Name)
	}
	if _, err := r.Do(t.Context(), tool("hang", `{}`), nil); junctor.AsError(err).Message != "it never ends" {
		t.Errorf("%v", err)
	}
}

// TestRecordsQuoteNoArguments has a condition fail on an argument: the reason in the records,
// which are no payload, does not quote it.
func TestRecordsQuoteNoArguments(t *testing.T) {
	t.Parallel()
	r := newPolicyRig(t, junctor.PolicyRule{Name: "numbers", Target: junctor.PolicyTarget{Items: []string{"srv/echo"}}, When: `{"five": 1}[args.text] > 5`, Verdict: junctor.VerdictDeny})
	_, err := r.Do(t.Context(), tool("echo", `{"text":"sesame"}`), nil)
	if e := junctor.AsError(err); e.Code != junctor.CodeDenied || strings.Contains(e.Message, "sesame") {
		t.Errorf("%v", err)
	}
	calls := r.records()
	if len(calls) != 1 || calls[0].Reason != "the rule numbers could not be evaluated" || len(calls[0].Policy) != 1 || !strings.Contains(calls[0].Policy[0].Error, "sesame") {
		t.Errorf("recorded %+v", calls)
	}
}
