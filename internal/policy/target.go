package policy

import (
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// target is the target of a rule, ready to be matched.
type target struct {
	allows  bool // of a rule that allows
	kinds   []junctor.Kind
	items   []itemPattern
	agents  []string
	users   []string
	tenants []string
}

// itemPattern is server/item with wildcards. plain is the item as plainName spells it.
type itemPattern struct{ server, item, plain string }

func newTarget(r *junctor.PolicyRule) target {
	t := target{allows: r.Verdict == junctor.VerdictAllow, kinds: r.Kinds, agents: r.Target.Agents, users: r.Target.Users, tenants: r.Target.Tenants}
	for _, text := range r.Target.Items {
		server, item, _ := strings.Cut(text, "/")
		t.items = append(t.items, itemPattern{server, item, plainName(item)})
	}
	return t
}

// matchesItem reports whether the rule can be about calls of an item.
func (t *target) matchesItem(kind junctor.Kind, server, name string) bool {
	if !slices.Contains(t.kinds, kind) {
		return false
	}
	return len(t.items) == 0 || slices.ContainsFunc(t.items, func(p itemPattern) bool {
		return MatchPattern(p.server, server) && t.matchesName(&p, kind, name)
	})
}

// matchesName reports whether a pattern matches the name of an item. Callers choose how
// they spell the URI of a resource: a rule that allows has to match it as it is spelled and
// as it is plain, and any other rule has to match one of both.
func (t *target) matchesName(p *itemPattern, kind junctor.Kind, name string) bool {
	matches := MatchPattern(p.item, name)
	if matches != t.allows || kind == junctor.KindTool || kind == junctor.KindPrompt {
		return matches
	}
	return MatchPattern(p.plain, plainName(name))
}

// matchesSubject reports whether the rule is about calls of a subject.
func (t *target) matchesSubject(s *Subject) bool {
	return matchesOne(t.agents, s.Agent) && matchesOne(t.users, s.User) && matchesOne(t.tenants, string(s.Tenant))
}

// matchesOne reports whether a value matches one of the patterns; without patterns
// every value does. Nothing matches the absence of a value.
func matchesOne(patterns []string, value string) bool {
	return len(patterns) == 0 || value != "" && slices.ContainsFunc(patterns, func(p string) bool { return MatchPattern(p, value) })
}

// MatchPattern reports whether a pattern of a target matches all of a text. A * stands for any
// text.
func MatchPattern(pattern, text string) bool {
	head, rest, wild := strings.Cut(pattern, "*")
	if !wild {
		return pattern == text
	}
	if text, wild = strings.CutPrefix(text, head); !wild {
		return false
	}
	for {
		part, next, more := strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(text, part)
		}
		at := strings.Index(text, part)
		if at < 0 {
			return false
		}
		text, rest = text[at+len(part):], next
	}
}
