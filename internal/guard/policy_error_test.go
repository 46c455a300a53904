package guard_test

import (
	"errors"
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/guard"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// upstreamError is an error as a server answers it, with an address in each of its parts.
func upstreamError() error {
	own := &wire.Error{Code: -32050, Message: "no mail for bob@example.com", Data: []byte(`{"bob@example.com":["bob@example.com"],"n":1}`)}
	return &junctor.Error{Code: junctor.CodeUpstream, Message: "server srv answered: " + own.Message, Cause: own}
}

// TestRulesOnErrors redacts the errors that a server answers with: what the caller gets,
// and what is recorded.
func TestRulesOnErrors(t *testing.T) {
	t.Parallel()
	for name, op := range goodOps() {
		if op.Kind == junctor.KindTask || op.Kind == junctor.KindTaskUpdate || op.Kind == junctor.KindTaskCancel {
			continue
		}
		r := newPolicyRig(t, junctor.PolicyRule{Name: "mail", Phase: junctor.PhaseResult, Kinds: []junctor.Kind{op.Kind}, Verdict: junctor.VerdictRedact, Redact: []string{"email"}})
		r.backend.failed = upstreamError()
		_, err := r.Do(t.Context(), op, nil)
		own, ok := errors.AsType[*wire.Error](err)
		if !ok || own.Code != -32050 || own.Message != "no mail for [redacted]" || string(own.Data) != `{"[redacted]":["[redacted]"],"n":1}` {
			t.Errorf("%s: the caller gets %+v", name, own)
		}
		if e := junctor.AsError(err); e.Code != junctor.CodeUpstream || e.Message != "server srv answered: no mail for [redacted]" {
			t.Errorf("%s: %s, %s", name, e.Code, e.Message)
		}
		calls := r.records()
		end := calls[len(calls)-1]
		if strings.Contains(end.Reason, "bob") || end.Status != junctor.StatusError || len(end.Policy) != 1 || end.Policy[0].Changed == 0 {
			t.Errorf("%s: recorded %+v", name, end)
		}
	}
}

// TestRulesOnErrorsOnly has errors that no rule is to change, and rules that withhold,
// shorten or do not match.
func TestRulesOnErrorsOnly(t *testing.T) {
	t.Parallel()
	rule := func(verdict junctor.PolicyVerdict, when string) junctor.PolicyRule {
		return junctor.PolicyRule{Name: "r", Phase: junctor.PhaseResult, When: when, Verdict: verdict, Message: "withheld"}
	}
	cut := rule(junctor.VerdictCut, "")
	cut.MaxSize = 10
	for name, c := range map[string]struct {
		rule    junctor.PolicyRule
		failed  error
		code    junctor.Code
		message string
	}{
		"withheld":             {rule(junctor.VerdictDeny, ""), upstreamError(), junctor.CodeDenied, "withheld"},
		"withheld by its text": {rule(junctor.VerdictDeny, `result.content.exists(c, has(c.text) && c.text.contains("bob"))`), upstreamError(), junctor.CodeDenied, "withheld"},
		"withheld as an error": {rule(junctor.VerdictDeny, `has(result.isError) && result.isError`), upstreamError(), junctor.CodeDenied, "withheld"},
		"another text":         {rule(junctor.VerdictDeny, `result.content.exists(c, has(c.text) && c.text.contains("eve"))`), upstreamError(), junctor.CodeUpstream, "server srv answered: no mail for bob@example.com"},
		"Junctor's own":        {rule(junctor.VerdictDeny, ""), junctor.Errorf(junctor.CodeUnreachable, "no answer"), junctor.CodeUnreachable, "no answer"},
		"shortened":            {cut, upstreamError(), junctor.CodeUpstream, "server srv answered: no mail"},
	} {
		r := newPolicyRig(t, c.rule)
		r.backend.failed = c.failed
		_, err := r.Do(t.Context(), tool("echo", `{"text":"x"}`), nil)
		e := junctor.AsError(err)
		if e.Code != c.code || !strings.HasPrefix(e.Message, c.message) || len(e.Message) > 60 {
			t.Errorf("%s: %s, %q", name, e.Code, e.Message)
		}
		if own, ok := errors.AsType[*wire.Error](err); ok && name != "another text" && strings.Contains(own.Message+string(own.Data), "bob") {
			t.Errorf("%s: the caller gets %+v", name, own)
		}
	}
}

// TestRulesOnErrorsOfTasks redacts the error that a task ended with.
func TestRulesOnErrorsOfTasks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	setRules(t, r, junctor.PolicyRule{Name: "mail", Phase: junctor.PhaseResult, Verdict: junctor.VerdictRedact, Redact: []string{"email"}})
	o := r.options()
	o.Tasks = taskStore{}
	o.Policy = r.policy
	g, err := guard.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	const body = `{"taskId":"own","status":"failed","error":{"code":-32050,"message":"no bob@example.com","data":{"m":"bob@example.com"}}}`
	if err := r.catalog.Attach(t.Context(), junctor.DefaultTenant, "tasks", junctor.ModeBYO, &taskServer{r.backend, body}); err != nil {
		t.Fatal(err)
	}
	op := tool("echo", `{"text":"x"}`)
	op.Name, op.Caller.Tasks = strings.Replace(op.Name, "srv", "tasks", 1), true
	res, err := g.Do(t.Context(), op, nil)
	if err != nil || !res.Task || string(wire.Get(res.Body, "error")) != `{"code":-32050,"message":"no [redacted]","data":{"m":"[redacted]"}}` {
		t.Errorf("%s, %v", res.Body, err)
	}
}
