package admin

import (
	"maps"
	"slices"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
)

// A notice of a change reaches admins of the tenant and the user who made the change, and nobody
// else.
func TestChangesReachWhoMayKnowThem(t *testing.T) {
	t.Parallel()
	person := func(tenant junctor.TenantID, id string, scopes ...junctor.Scope) *junctor.Principal {
		return &junctor.Principal{Tenant: tenant, Issuer: junctor.IssuerUser, Subject: id, User: id, Scopes: scopes}
	}
	owner := person("a", "owner", junctor.ScopeServersWrite, junctor.ScopeAuditRead)
	agent := person("a", "agent", junctor.ScopeAdmin)
	agent.Agent = "helper"
	readers := map[string]struct {
		p    *junctor.Principal
		sees []string
	}{
		"the user who made it": {owner, []string{"servers"}},
		"an admin":             {person("a", "root", junctor.ScopeAdmin), []string{"keys", "servers"}},
		"another user":         {person("a", "other", junctor.ScopeAuditRead, junctor.ScopeServersWrite), nil},
		"an agent":             {agent, nil},
		"another tenant":       {person("b", "root", junctor.ScopeAdmin), nil},
		"a namesake":           {person("b", "owner", junctor.ScopeServersWrite), nil},
	}
	var hub ListFeed
	watchers := map[string]*changeWatcher{}
	for name, r := range readers {
		watchers[name] = hub.watch(r.p.Tenant)
	}
	for range 3 { // equal changes are merged
		hub.note("a", listChange{"servers", owner.ID()})
	}
	hub.NoteForAdmins("a", "keys")
	for name, r := range readers {
		w, lists := watchers[name], map[string]bool{}
		if len(w.pending) > 2 || len(w.ready) != min(len(w.pending), 1) {
			t.Errorf("%s: %d changes wait, %d signals", name, len(w.pending), len(w.ready))
		}
		w.take(r.p, lists)
		if got := slices.Sorted(maps.Keys(lists)); !slices.Equal(got, r.sees) {
			t.Errorf("%s is notified of %q, not of %q", name, got, r.sees)
		}
		if w.take(r.p, map[string]bool{}); len(w.pending) != 0 {
			t.Errorf("%s is notified again", name)
		}
		w.stop()
	}
	if len(hub.watchers) != 0 {
		t.Error("a watcher is left")
	}
}

// A successful change names the list that it changes; calls and conversations change none.
func TestChangedList(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ method, operation, path, want string }{
		{"POST", "create-server", "/servers", "servers"},
		{"POST", "disable-server", "/servers/{id}/disable", "servers"},
		{"DELETE", "delete-key", "/keys/{id}", "keys"},
		{"PUT", "put-role", "/roles/{role}", "roles"},
		{"POST", "apply", "/apply", allLists},
		{"POST", "add-pack", "/packs/{name}", allLists},
		{"GET", "list-servers", "/servers", ""},
		{"POST", "call-tool", "/tools/{name}/call", ""},
		{"POST", "run-room", "/rooms/{id}/runs", ""},
	} {
		if got := changedList(c.method, c.operation, c.path); got != c.want {
			t.Errorf("%s changes the list %q, not %q", c.operation, got, c.want)
		}
	}
}
