package judge_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/judge"
	"github.com/junctor-mcp/junctor/internal/policy"
)

// TestFilters has a webhook decide about calls and results: it gets a signed request, and
// what it does not answer is denied.
func TestFilters(t *testing.T) {
	t.Parallel()
	const secret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
	var answer atomic.Value
	var asked atomic.Int64
	answer.Store(`{"verdict":"allow"}`)
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		body, _ := io.ReadAll(r.Body)
		if _, _, err := junctor.VerifyWebhook([]string{secret}, r.Header, body, time.Now()); err != nil {
			t.Errorf("%v", err)
		}
		var got map[string]any
		if err := json.Unmarshal(body, &got); err != nil || got["rule"] != "outside" || got["name"] != "pay" {
			t.Errorf("%s, %v", body, err)
		}
		text, _ := answer.Load().(string)
		if text == "" {
			http.Error(w, "no", http.StatusInternalServerError)
			return
		}
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(hook.Close)
	now := time.Now()
	filters := judge.NewFilters(judge.FilterOptions{
		Client:     hook.Client(),
		ReadSecret: func(context.Context, string) (string, error) { return secret, nil },
		Now:        func() time.Time { return now },
		NewID:      func() string { return "id-1" },
	})
	compiler, err := policy.NewCompiler()
	if err != nil {
		t.Fatal(err)
	}
	rule := junctor.PolicyRule{Name: "outside", When: `args.amount > 10`, Verdict: junctor.VerdictDeny, Message: "too much", Filter: &junctor.PolicyFilter{URL: hook.URL, Secret: "env:FILTER"}}
	result := junctor.PolicyRule{Name: "outside", Phase: junctor.PhaseResult, Verdict: junctor.VerdictDeny, Filter: rule.Filter}
	set := compiler.Compile(nil, []junctor.PolicyRule{rule, result}, filters)
	call := &policy.Call{Kind: junctor.KindTool, Server: "bank", Name: "pay", Arguments: []byte(`{"amount":11}`), Time: now}
	for _, c := range []struct {
		answer  string
		verdict junctor.PolicyVerdict
		message string
	}{
		{`{"verdict":"allow"}`, "", ""},
		{`{"verdict":"deny","message":"ask your boss"}`, junctor.VerdictDeny, "ask your boss"},
		{`{"verdict":"deny"}`, junctor.VerdictDeny, "too much"},
		{`{"verdict":"perhaps"}`, junctor.VerdictDeny, "too much"},
		{`nonsense`, junctor.VerdictDeny, "too much"},
	} {
		answer.Store(c.answer)
		if d := set.JudgeCall(t.Context(), call); d.Verdict != c.verdict || d.Message != c.message {
			t.Errorf("%s: %+v", c.answer, d)
		}
		if d := set.JudgeResult(t.Context(), call, []byte(`{"content":[]}`)); d.Denied != (c.verdict == junctor.VerdictDeny) {
			t.Errorf("%s: %+v", c.answer, d)
		}
	}
	// A call that the condition does not match is not sent.
	before := asked.Load()
	small := *call
	small.Arguments = []byte(`{"amount":1}`)
	if d := set.JudgeCall(t.Context(), &small); d.Verdict != "" || asked.Load() != before {
		t.Errorf("%+v", d)
	}
	// A record is not sent either.
	record := *call
	record.Recorded = true
	if d := set.JudgeCall(t.Context(), &record); !d.Undecidable || asked.Load() != before {
		t.Errorf("%+v", d)
	}
	// After failures in a row the filter is left alone, and asked again later.
	answer.Store("")
	for range 8 {
		if d := set.JudgeCall(t.Context(), call); d.Verdict != junctor.VerdictDeny {
			t.Errorf("%+v", d)
		}
	}
	if n := asked.Load() - before; n >= 8 {
		t.Errorf("a filter that fails was asked %d times", n)
	}
	d := set.JudgeCall(t.Context(), call)
	if len(d.Hits) != 1 || !strings.Contains(d.Hits[0].Error, "in a row") {
		t.Errorf("%+v", d.Hits)
	}
	now = now.Add(time.Minute)
	answer.Store(`{"verdict":"allow"}`)
	call.Time = now
	if d := set.JudgeCall(t.Context(), call); d.Verdict != "" {
		t.Errorf("%+v", d)
	}
	// Where the operator says so, a filter that fails lets calls pass.
	open := rule
	open.Filter = &junctor.PolicyFilter{URL: "http://127.0.0.1:1/", OnFailure: junctor.VerdictAllow}
	if d := compiler.Compile(nil, []junctor.PolicyRule{open}, filters).JudgeCall(t.Context(), call); d.Verdict != "" || d.Hits[0].Error == "" {
		t.Errorf("%+v", d)
	}
}
