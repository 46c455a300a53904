package policy

import (
	"fmt"
	"runtime"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
)

// TestRulesAreCompiledOnce compiles a set in which one rule of several was changed: the others
// are those of the former set. Rules of no set are forgotten.
func TestRulesAreCompiledOnce(t *testing.T) {
	t.Parallel()
	c := newCompiler(t)
	all := rules(junctor.PolicyRule{When: `args.url == "a"`}, junctor.PolicyRule{When: `args.url == "b"`}, junctor.PolicyRule{When: `not a condition`})
	former := c.Compile(nil, all, nil)
	changed := append([]junctor.PolicyRule(nil), all...)
	changed[1].When = `args.url == "c"`
	next := c.Compile(nil, changed, nil)
	for i, same := range []bool{true, false, true} {
		if (former.levels[1][i] == next.levels[1][i]) != same {
			t.Errorf("rule %d: compiled again: %v", i, same)
		}
	}
	for url, rule := range map[string]string{"a": "rule-a", "b": "", "c": "rule-b"} {
		next.levels[1] = next.levels[1][:2]
		call := newCall(fetchTool(), `{"url":"`+url+`","options":{"mode":"m"}}`)
		if d := next.JudgeCall(t.Context(), call); d.Rule != rule {
			t.Errorf("%s: %+v", url, d)
		}
	}
	gone := digestOf(&all[1])
	if c.cache.find(gone) == nil {
		t.Error("a rule of a set is not known")
	}
	runtime.KeepAlive(former)
	for range 3 {
		runtime.GC()
	}
	if c.cache.find(gone) != nil {
		t.Error("a rule of no set is kept")
	}
	for i := range 3 * minSweep {
		r := junctor.PolicyRule{Name: fmt.Sprintf("r%d", i), Verdict: junctor.VerdictDeny}
		c.compileRule(&r)
		if i%minSweep == 0 {
			runtime.GC()
		}
	}
	if n := len(c.cache.rules); n > 2*minSweep+10 {
		t.Errorf("%d rules are noted, of which none is used", n)
	}
	runtime.KeepAlive(next)
}

// TestChecksAreRemembered checks a rule against tools whose schemas change under one digest.
func TestChecksAreRemembered(t *testing.T) {
	t.Parallel()
	c := newCompiler(t)
	r := rules(junctor.PolicyRule{When: `args.url == "a"`})[0]
	good, bad := *fetchTool(), *fetchTool()
	bad.Definition = []byte(`{"name":"fetch","inputSchema":{"type":"object","properties":{"uri":{"type":"string"}},"additionalProperties":false}}`)
	set := c.Compile(nil, []junctor.PolicyRule{r}, nil) // which keeps the rule
	for range 3 {
		if found := c.Check(&r, []Tool{good}); len(found) > 0 {
			t.Errorf("%+v", found)
		}
		if found := c.Check(&r, []Tool{good, bad, bad}); len(found) != 2 || found[0].Tool != "web/fetch" || found[0].Suggestion != "did you mean uri?" {
			t.Errorf("%+v", found)
		}
	}
	if n := len(set.levels[1][0].fits.known); n != 2 {
		t.Errorf("%d results are known", n)
	}
}
