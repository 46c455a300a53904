package storetest

import (
	"encoding/json"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store"

	"github.com/google/go-cmp/cmp"
)

// Snapshot checks a store that was made by running a driver's
// testdata/schema_0001.sql and opening what came of it: everything that was in
// it is there, and what later versions added can be used.
func Snapshot(t testing.TB, st *store.Store) {
	t.Helper()
	at := func(us int64) time.Time { return time.UnixMicro(us).UTC() }
	fill := func(b byte) (hash [32]byte) {
		for i := range hash {
			hash[i] = b
		}
		return hash
	}
	same := func(what string, want, got any) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	ctx, acme, def := t.Context(), st.For("acme"), st.For(junctor.DefaultTenant)
	tenants := must(st.Tenants(ctx))(t)
	if len(tenants) != 2 || tenants[0] != (junctor.Tenant{ID: "acme", Name: "Acme", CreatedAt: at(1000001)}) || tenants[1].ID != junctor.DefaultTenant {
		t.Errorf("tenants %+v", tenants)
	}
	same("instance", "INSTANCE", must(st.Instance(ctx))(t))
	same("keys", []junctor.Key{
		{
			ID: "k1", Tenant: "acme", Name: "admin", Prefix: "jct_a", Hash: fill(1), Scopes: []junctor.Scope{"tools:read", "tools:call"},
			CreatedAt: at(1000003), ExpiresAt: at(2000003), RevokedAt: at(3000003), LastUsedAt: at(4000003),
		},
		{ID: "k2", Tenant: junctor.DefaultTenant, Name: "it's", Prefix: "jct_b", Hash: fill(2), CreatedAt: at(1000004)},
	}, must(st.Keys(ctx))(t))
	same("servers", []junctor.Server{{
		ID: "demo", Tenant: "acme", Mode: junctor.ModeBuiltin, Title: "Demo", State: junctor.StateError, LastError: "why", CreatedAt: at(1000005), UpdatedAt: at(1000006),
	}}, must(acme.Servers(ctx))(t))
	ok(t, def.EnsureBuiltin(ctx, "ocr", "OCR"))
	same("removed servers", 0, len(must(def.Servers(ctx))(t)))
	same("settings", []store.Setting{{Key: "limit", Value: json.RawMessage(`{"b": [1], "a": "é"}`), UpdatedAt: at(1000008)}}, must(acme.Settings(ctx))(t))
	bytes := fill(3)
	same("session", store.Session{
		ID: "s1", Issuer: "key", Subject: "k1", LogLevel: "info", Subscriptions: []string{"file:///a"}, Capabilities: bytes[:], ExpiresAt: at(9000000000000000),
	}, must(acme.Session(ctx, "s1"))(t))
	same("revoked session", true, must(acme.Revoked(ctx, "s2"))(t))
	same("used state", false, must(acme.UseState(ctx, "u1", at(9000000000000000)))(t))
	bytes = fill(4)
	same("ring", []store.RingKey{{ID: "r1", CreatedAt: at(1000009), Wrapped: bytes[:]}}, must(st.RingKeys(ctx))(t))

	ok(t, acme.PutSecret(ctx, sealedSecret("o", "n", "k")))
	ok(t, st.AddAudit(ctx, records("a", 1, 3)))
}

// Paged makes a database of version 4, in which each record of a journal was a
// row, and checks that they all come back from the pages of later versions.
func Paged(t testing.TB, old *store.Raw, open func() *store.Store) {
	t.Helper()
	ctx := t.Context()
	ok(t, old.MigrateTo(ctx, 4))
	tx := must(old.Begin(ctx))(t)
	want := append(records("a", 1, 600), records("a", 700, 701)...)
	for _, r := range append(records("b", 1, 1), want...) {
		_, err := tx.ExecContext(ctx, old.Dialect.Bind(`INSERT INTO audit_records
			(node, seq, hash, line, at, phase, tenant_id, call_id, server, name, subject, status) VALUES (?, ?, ?, ?, 1, 'end', 'acme', 'c', 's', 'n', 'u', 'ok')`),
			r.Replica, int64(r.Seq), r.Hash, r.Line) //nolint:gosec // small
		ok(t, err)
	}
	ok(t, tx.Commit())
	st := open()
	var got []store.AuditRecord
	for r, err := range st.AuditRecords(ctx, "a", 0) {
		ok(t, err)
		got = append(got, r)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := must(st.PruneAudit(ctx, "a", 700))(t); n != 601 {
		t.Errorf("%d pruned", n)
	}
}

// RoomsRenamed checks that the tables of rooms and of tasks keep their rows when they
// and their columns get other names. old is an empty database, open opens it.
func RoomsRenamed(t testing.TB, old *store.Raw, open func() *store.Store) {
	t.Helper()
	ctx := t.Context()
	ok(t, old.MigrateTo(ctx, 48))
	tx := must(old.Begin(ctx))(t)
	for _, statement := range []string{
		`INSERT INTO tenants (tenant_id, name, created_at) VALUES ('acme', 'Acme', 1)`,
		`INSERT INTO workspaces (tenant_id, id, name, config, owner, created_at, updated_at, updated_by)
			VALUES ('acme', 'kitchen', 'Kitchen', '{"policy":"all","max_rounds":2,"approvals":"ask"}', 'user:u', 1, 2, 'user:u')`,
		`INSERT INTO workspace_members (tenant_id, workspace_id, kind, member, place) VALUES ('acme', 'kitchen', 'agent', 'cook', 0)`,
		`INSERT INTO workspace_messages (tenant_id, workspace_id, id, seq, run_id, author_kind, author, author_id, body, search, said_at)
			VALUES ('acme', 'kitchen', 'm1', 1, 'r1', 'agent', 'cook', '', '{"text":"Soup","calls":[{"id":"c1","name":"stir","state":"waiting"}]}', 'soup', 3)`,
		`INSERT INTO workspace_runs (tenant_id, workspace_id, id, state, by_party, node, reason, plan, stop, input_tokens, output_tokens, begun_at, beat_at, ended_at)
			VALUES ('acme', 'kitchen', 'r1', 'waiting', 'user:u', 'n', '', '{"queue":["cook"]}', 0, 1, 2, 3, 4, 5)`,
		`INSERT INTO workspace_approvals (tenant_id, workspace_id, id, run_id, agent, call, state, remember, decided_by, asked_at, decided_at, reason)
			VALUES ('acme', 'kitchen', 'a1', 'r1', 'cook', '{"id":"c1","name":"stir"}', 'open', 0, '', 6, NULL, '')`,
		`INSERT INTO agents (tenant_id, name, role, tier, owner, disabled, config, created_at, updated_at) VALUES ('acme', 'cook', '', '', '', 0, '{}', 1, 1)`,
		`INSERT INTO agent_tasks (tenant_id, id, agent, owner, context_id, state, running, version, body, story, node, begun_at, status_at, stop, beat_at)
			VALUES ('acme', 't1', 'cook', 'user:u', 'c', 'TASK_STATE_COMPLETED', 0, 1, '{}', '[{"role":"user"}]', 'n', 1, 1, 0, 1)`,
	} {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	ok(t, tx.Commit())
	acme, at := open().For("acme"), func(us int64) time.Time { return time.UnixMicro(us).UTC() }
	same := func(what string, want, got any) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	same("room", junctor.Room{
		Tenant: "acme", ID: "kitchen", Name: "Kitchen", Members: []junctor.Member{{Agent: "cook"}}, Policy: junctor.PolicyAll, MaxRounds: 2, Approvals: junctor.ApproveAsk,
		Owner: "user:u", CreatedAt: at(1), UpdatedAt: at(2), UpdatedBy: "user:u", LastMessageAt: at(3),
	}, must(acme.Room(ctx, "kitchen"))(t))
	same("messages", []junctor.Message{{
		Tenant: "acme", Room: "kitchen", ID: "m1", At: at(3), Author: junctor.Author{Kind: junctor.AuthorAgent, Name: "cook"}, Run: "r1", Text: "Soup",
		Calls: []junctor.MessageCall{{ID: "c1", Name: "stir", State: junctor.MessageCallWaiting}},
	}}, must(acme.Messages(ctx, "kitchen", store.MessageFilter{Query: "SOUP", Limit: 9}))(t))
	run := must(acme.RoomRun(ctx, "kitchen", "r1"))(t)
	same("run", []any{junctor.RunWaiting, "user:u", `{"queue":["cook"]}`, at(3), at(5)}, []any{run.State, run.By, string(run.Plan), run.BegunAt, run.EndedAt})
	same("approvals", []junctor.CallApproval{{
		Tenant: "acme", Room: "kitchen", ID: "a1", Run: "r1", Agent: "cook", State: junctor.CallOpen, At: at(6), Call: junctor.RequestedCall{ID: "c1", Name: "stir"},
	}}, must(acme.CallApprovals(ctx, "kitchen", ""))(t))
	same("task", `[{"role":"user"}]`, string(must(acme.AgentTask(ctx, "cook", "user:u", "t1"))(t).Messages))
	ok(t, acme.DeleteRoom(ctx, "kitchen"))
	same("messages of a deleted room", 0, len(must(acme.Messages(ctx, "kitchen", store.MessageFilter{Limit: 9}))(t)))
}
