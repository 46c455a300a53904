package audit

import (
	"iter"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// MatchedRule is a rule that matched a call, as the record of the call names it.
type MatchedRule struct {
	Name    string
	Verdict junctor.PolicyVerdict
	Mode    junctor.PolicyMode
}

// Denies reports whether the call or its result was denied because of the rule.
func (r *MatchedRule) Denies() bool {
	return r.Mode == junctor.ModeEnforce && (r.Verdict == junctor.VerdictDeny || r.Verdict == junctor.VerdictAsk)
}

// hasMatchedRules reports whether the record of a call names rules. The start of a call
// names none: its end does.
func hasMatchedRules(c *junctor.Call) bool {
	return c.Status != junctor.StatusRunning && slices.ContainsFunc(c.Policy, func(h junctor.PolicyHit) bool { return h.Matched() })
}

// moreRules ends the text of matched rules if there are more than it can hold.
const moreRules = "…"

// appendMatchedRules appends the rules that matched, each as name:verdict:mode, with commas
// between them. It appends at most limit bytes, and then moreRules if some are left out.
func appendMatchedRules(dst []byte, hits []junctor.PolicyHit, limit int) []byte {
	begin := len(dst)
	for i := range hits {
		h := &hits[i]
		if !h.Matched() {
			continue
		}
		end := len(dst)
		if end > begin {
			dst = append(dst, ',')
		}
		dst = append(appendRuleWord(dst, h.Rule), ':')
		dst = append(appendRuleWord(dst, string(h.EffectiveVerdict())), ':')
		dst = appendRuleWord(dst, string(h.Mode))
		if len(dst)-begin > limit {
			return append(dst[:end], moreRules...)
		}
	}
	return dst
}

// appendRuleWord appends a name, a verdict or a mode. All of them are made of the
// characters of rule names; anything else, which only a damaged database could bring, is
// replaced, so that the text needs no escape and can be split again.
func appendRuleWord(dst []byte, word string) []byte {
	for i := range len(word) {
		if c := word[i]; c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' {
			dst = append(dst, c)
		} else {
			dst = append(dst, '?')
		}
	}
	return dst
}

// matchedRulesOf returns the text of the rules that matched a call, as its record has it;
// "" if there are none.
func matchedRulesOf(c *junctor.Call) string {
	if !hasMatchedRules(c) {
		return ""
	}
	return string(appendMatchedRules(nil, c.Policy, maxRules))
}

// MatchedRules returns the rules that matched the call, in the order in which they were
// evaluated. It allocates nothing.
func (c *EndedCall) MatchedRules() iter.Seq[MatchedRule] {
	return func(yield func(MatchedRule) bool) {
		for text := range strings.SplitSeq(strings.TrimSuffix(c.Rules, moreRules), ",") {
			name, rest, ok := strings.Cut(text, ":")
			verdict, mode, _ := strings.Cut(rest, ":")
			if ok && name != "" && !yield(MatchedRule{Name: name, Verdict: junctor.PolicyVerdict(verdict), Mode: junctor.PolicyMode(mode)}) {
				return
			}
		}
	}
}
