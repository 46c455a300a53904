package limit_test

import (
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/limit"
)

func enter(t *testing.T, b *limit.Enforcer, p *junctor.Principal, server, tool string) error {
	t.Helper()
	pass, err := b.Enter(t.Context(), p, server, tool, time.Now())
	pass.Leave()
	return err
}

func TestBook(t *testing.T) {
	t.Parallel()
	users := []junctor.User{{ID: "u1", Tier: "small"}, {ID: "u2", Tier: junctor.TierUnlimited}}
	agents := []junctor.Agent{
		{Name: "own", Limits: &junctor.Limits{PerDay: 2}},
		{Name: "tiered", Tier: "small"},
		{Name: "inherits", Owner: "user:u1"},
		{Name: "free"},
	}
	policy := &junctor.LimitPolicy{
		Tiers: map[string]junctor.Limits{"small": {PerDay: 3}},
		Tools: map[string]junctor.Limits{"notes/search": {PerDay: 1}},
	}
	fresh := func() *limit.Enforcer {
		b := limit.NewEnforcer(nil)
		b.SetTenantLimits("t", policy, users, agents)
		return b
	}
	agent := func(name string) *junctor.Principal {
		return &junctor.Principal{Tenant: "t", Issuer: junctor.IssuerAgent, Subject: name, Agent: name}
	}
	user := func(id string) *junctor.Principal {
		return &junctor.Principal{Tenant: "t", Issuer: junctor.IssuerUser, Subject: id, User: id}
	}
	for _, tc := range []struct {
		name string
		p    *junctor.Principal
		tool string
		most int // calls that pass; -1 is no limit
	}{
		{"an agent's own limits", agent("own"), "x", 2},
		{"an agent's tier", agent("tiered"), "x", 3},
		{"the tier of an agent's owner", agent("inherits"), "x", 3},
		{"an agent without limits", agent("free"), "x", -1},
		{"a user's tier", user("u1"), "x", 3},
		{"a user without limits", user("u2"), "x", -1},
		{"a service", &junctor.Principal{Tenant: "t", Issuer: junctor.IssuerKey, Subject: "k"}, "x", -1},
		{"a tool, for every caller", user("u2"), "search", 1},
		{"another tenant", &junctor.Principal{Tenant: "other", Agent: "own"}, "search", -1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b, passed := fresh(), 0
			for range 10 {
				if enter(t, b, tc.p, "notes", tc.tool) == nil {
					passed++
				}
			}
			if want := tc.most; want >= 0 && passed != want || want < 0 && passed != 10 {
				t.Fatalf("%d of 10 calls passed, want %d", passed, tc.most)
			}
		})
	}

	t.Run("an agent spends what its owner has", func(t *testing.T) {
		t.Parallel()
		b := fresh()
		for range 3 {
			if err := enter(t, b, user("u1"), "notes", "x"); err != nil {
				t.Fatal(err)
			}
		}
		if err := enter(t, b, agent("inherits"), "notes", "x"); junctor.CodeOf(err) != junctor.CodeLimited {
			t.Fatalf("the owner's calls of the day are used up: %v", err)
		}
	})

	t.Run("what was used outlives a change and a restart", func(t *testing.T) {
		t.Parallel()
		b := fresh()
		if err := enter(t, b, agent("own"), "notes", "x"); err != nil {
			t.Fatal(err)
		}
		b.SetTenantLimits("t", policy, users, agents)
		next := fresh()
		next.RestoreDayCounts(b.DayCounts())
		if err := enter(t, next, agent("own"), "notes", "x"); err != nil {
			t.Fatal(err)
		}
		if err := enter(t, next, agent("own"), "notes", "x"); junctor.CodeOf(err) != junctor.CodeLimited {
			t.Fatalf("the third of two calls: %v", err)
		}
	})
}
