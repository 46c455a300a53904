package policy

import (
	"testing"

	junctor "github.com/junctor-mcp/junctor"
)

// TestSpellingsOfResources names resources in ways that servers understand alike. A rule
// that denies matches each of them, and one that allows matches none that leads elsewhere.
func TestSpellingsOfResources(t *testing.T) {
	t.Parallel()
	judge := func(uri string, r ...junctor.PolicyRule) junctor.PolicyVerdict {
		for i := range r {
			r[i].Kinds = []junctor.Kind{junctor.KindResource, junctor.KindSubscription}
		}
		set := newCompiler(t).Compile(nil, rules(r...), nil)
		c := &Call{Subject: Subject{Tenant: "default"}, Kind: junctor.KindResource, Server: "files", Name: uri}
		if decided := set.JudgeCall(t.Context(), c).Verdict; decided == "" || set.CanApply(junctor.PhaseCall, c.Kind, c.Server, c.Name) {
			return decided
		}
		return "missed"
	}
	of := func(verdict junctor.PolicyVerdict, pattern string) junctor.PolicyRule {
		return junctor.PolicyRule{Verdict: verdict, Target: junctor.PolicyTarget{Items: []string{pattern}}}
	}
	for _, uri := range []string{
		"file:///etc/secret.txt", "file:///etc/%73ecret.txt", "file:///etc/./secret.txt", "file:///tmp/../etc/secret.txt", "file:///tmp/%2e%2E/etc/secret.txt",
		"file:///tmp/..%2Fetc/secret.txt", "FILE:///etc/secret.txt", "file:///etc//secret.txt", "file:/etc/secret.txt", "file://localhost/etc/secret.txt", "file:///etc/secret.txt#x",
		"file:///etc/secret.txt?x", "file:////etc/secret.txt",
	} {
		if got := judge(uri, of(junctor.VerdictDeny, "files/file:///etc/secret*")); got != junctor.VerdictDeny {
			t.Errorf("%s: %q", uri, got)
		}
		if got := judge(uri, of(junctor.VerdictAllow, "files/file:///tmp/*"), of(junctor.VerdictDeny, "files/*")); got != junctor.VerdictDeny {
			t.Errorf("%s with a rule that allows another folder: %q", uri, got)
		}
	}
	for uri, pattern := range map[string]string{
		"file:///tmp/a.txt": "files/file:///tmp/*", "file:///tmp/my%20file": "files/file:///tmp/my%20*", "mem://Host/a": "files/mem://Host/*", "note:Some/../thing": "files/note:*", "plain": "files/plain",
		"file:///tmp/": "files/file:///tmp/", "https://h/p?q=/../x": "files/https://h/p*",
	} {
		if got := judge(uri, of(junctor.VerdictAllow, pattern), of(junctor.VerdictDeny, "files/*")); got != junctor.VerdictAllow {
			t.Errorf("%s, allowed by %s: %q", uri, pattern, got)
		}
	}
	for _, uri := range []string{"file:///etc/other", "file:///etc/secre", "mem:///etc/secret.txt", "file:///x?/../etc/secret.txt"} {
		if got := judge(uri, of(junctor.VerdictDeny, "files/file:///etc/secret*")); got != "" {
			t.Errorf("%s: %q", uri, got)
		}
	}
}

// TestPlainNamesAllocateNothing compares names that have no other spelling.
func TestPlainNamesAllocateNothing(t *testing.T) {
	for _, uri := range []string{"file:///tmp/a.txt", "mem://a/b", "plain"} {
		if n := testing.AllocsPerRun(100, func() { _ = plainName(uri) }); n > 0 || plainName(uri) != uri {
			t.Errorf("%s: %v allocations, %s", uri, n, plainName(uri))
		}
	}
}
