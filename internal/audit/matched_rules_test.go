package audit

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
)

// TestMatchedRules writes the rules that matched into the record of the end of a call,
// and reads them from it as the follower has them in memory.
func TestMatchedRules(t *testing.T) {
	t.Parallel()
	hit := func(rule, value string, verdict junctor.PolicyVerdict, mode junctor.PolicyMode) junctor.PolicyHit {
		return junctor.PolicyHit{Rule: rule, Value: value, Verdict: verdict, Mode: mode, Error: "a secret"}
	}
	var many []junctor.PolicyHit
	for i := range 500 {
		many = append(many, hit(fmt.Sprintf("rule-%d", i), "true", junctor.VerdictRedact, junctor.ModeEnforce))
	}
	for name, c := range map[string]struct {
		hits []junctor.PolicyHit
		want string
	}{
		"none":      {nil, ""},
		"unmatched": {[]junctor.PolicyHit{hit("a", "false", junctor.VerdictDeny, junctor.ModeEnforce), hit("b", "unknown", junctor.VerdictDeny, junctor.ModeAudit), hit("c", "error", junctor.VerdictAllow, junctor.ModeEnforce)}, ""},
		"matched": {
			[]junctor.PolicyHit{hit("no-plans", "true", junctor.VerdictDeny, junctor.ModeAudit), hit("b", "false", junctor.VerdictDeny, junctor.ModeEnforce), hit("cards", "error", junctor.VerdictRedact, junctor.ModeEnforce)},
			"no-plans:deny:audit,cards:deny:enforce",
		},
		"damaged": {[]junctor.PolicyHit{hit("a\"},:\n", "true", "x\\", junctor.ModeEnforce)}, "a?????:x?:enforce"},
	} {
		call := ended("x")
		call.Policy = c.hits
		l := encodedLine(t, call)
		if l.Rules != c.want || !l.scanRecord(l.jsonText) || strings.Contains(l.jsonText, "secret") || (c.want == "") != !strings.Contains(l.jsonText, `"rules"`) {
			t.Errorf("%s: %q, want %q, in %s", name, l.Rules, c.want, l.jsonText)
		}
		if text := matchedRulesOf(call); text != c.want {
			t.Errorf("%s: in memory %q, want %q", name, text, c.want)
		}
		begun := started("x")
		begun.Policy = c.hits
		if l := encodedLine(t, begun); l.Rules != "" {
			t.Errorf("%s: the start names %q", name, l.Rules)
		}
	}
	call := ended("x")
	call.Policy = many
	l := encodedLine(t, call)
	if len(l.jsonText) > maxLine || !strings.HasSuffix(l.Rules, ":enforce…") || l.Rules != matchedRulesOf(call) {
		t.Errorf("%d bytes, in memory %q: %s", len(l.jsonText), matchedRulesOf(call), l.Rules)
	}
	var names []string
	for r := range (&EndedCall{Rules: l.Rules}).MatchedRules() {
		if r.Denies() || r.Verdict != junctor.VerdictRedact || r.Mode != junctor.ModeEnforce {
			t.Errorf("%+v", r)
		}
		names = append(names, r.Name)
	}
	if len(names) < 60 || !slices.Equal(names, namesOf(many[:len(names)])) {
		t.Errorf("%q", names)
	}
	for r := range (&EndedCall{Rules: "a:deny:audit,b:ask:enforce"}).MatchedRules() {
		if r.Denies() != (r.Name == "b") {
			t.Errorf("%+v", r)
		}
	}
}

// encodedLine returns the record of a call.
func encodedLine(t *testing.T, c *junctor.Call) line {
	t.Helper()
	e := newEncoder("n1")
	e.beginRecord(1, c.Start, phaseOf(c))
	e.addCall(c)
	b, _ := e.finishRecord(&[32]byte{})
	l, err := parseLine(b[:len(b)-1])
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func namesOf(hits []junctor.PolicyHit) (names []string) {
	for _, h := range hits {
		names = append(names, h.Rule)
	}
	return names
}
