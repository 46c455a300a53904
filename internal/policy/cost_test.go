package policy

import (
	"fmt"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
)

// fiftyRules are 50 rules of which 3 are about calls of fetchTool.
func fiftyRules() []junctor.PolicyRule {
	var all []junctor.PolicyRule
	for i := range 47 {
		all = append(all, junctor.PolicyRule{Name: fmt.Sprintf("other-%d", i), Verdict: junctor.VerdictDeny, When: `has(args.path) && !below(args.path, "/srv")`, Target: junctor.PolicyTarget{Items: []string{fmt.Sprintf("server-%d/*", i)}}})
	}
	return append(all,
		junctor.PolicyRule{Name: "domains", Verdict: junctor.VerdictDeny, When: `!(domain(args.url) in ["example.com", "example.org"])`, Target: junctor.PolicyTarget{Items: []string{"web/*"}}},
		junctor.PolicyRule{Name: "amounts", Verdict: junctor.VerdictDeny, When: `has(args.amount) && args.amount > 100.0 && principal.role != "admin"`, Target: junctor.PolicyTarget{Items: []string{"web/fetch"}}},
		junctor.PolicyRule{Name: "office", Verdict: junctor.VerdictDeny, When: `!tool.read_only && principal.agent != "" && !hours("Mon-Fri 08:00-18:00", "UTC")`},
	)
}

// TestAllocations holds what rules add to a call: nothing if none can apply, and at
// most 40 allocations for 3 of 50.
func TestAllocations(t *testing.T) { //nolint:paralleltest // it counts allocations
	set := newCompiler(t).Compile(nil, fiftyRules()[:49], nil)
	call := newCall(fetchTool(), `{"url":"https://example.com/x","amount":12.5,"options":{"mode":"m"},"count":3}`)
	judge := func(c *Call) func() {
		return func() {
			if d := set.JudgeCall(t.Context(), c); d.Verdict != "" {
				t.Fatalf("%+v", d)
			}
		}
	}
	other := *call
	other.Server, other.Name = "none", "tool"
	other.Tool = &Tool{Server: "none", Name: "tool", Digest: "d9", Definition: []byte(`{"name":"tool","inputSchema":{"type":"object"}}`)}
	judge(&other)()
	ctx := t.Context()
	if n := testing.AllocsPerRun(100, func() { set.JudgeCall(ctx, &other) }); n > 0 {
		t.Errorf("%v allocations with rules of which none applies", n)
	}
	set = newCompiler(t).Compile(nil, fiftyRules(), nil)
	judge(call)()
	n := testing.AllocsPerRun(100, func() { set.JudgeCall(ctx, call) })
	t.Logf("%v allocations with 50 rules of which 3 apply", n)
	if n > 40 {
		t.Errorf("%v allocations with 50 rules of which 3 apply; at most 40", n)
	}
}

func BenchmarkJudgeCall(b *testing.B) {
	set := newCompiler(b).Compile(nil, fiftyRules(), nil)
	call := newCall(fetchTool(), `{"url":"https://example.com/x","amount":12.5,"options":{"mode":"m"},"count":3}`)
	b.ReportAllocs()
	for b.Loop() {
		set.JudgeCall(b.Context(), call)
	}
}
