package storetest

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store"
)

// tenantWrites is every write into a tenant's part that needs nothing to be there.
func tenantWrites(ctx context.Context, m *fixtures, st *store.Tenant) map[string]error {
	_, admin := st.ReplaceAdmin(ctx, m.key("b", "admin"))
	_, state := st.UseState(ctx, "s", moment(1))
	return map[string]error{
		"CreateKey":     st.CreateKey(ctx, m.key("a", "one")),
		"ReplaceAdmin":  admin,
		"CreateUser":    st.CreateUser(ctx, user("u", "alice")),
		"EnsureBuiltin": st.EnsureBuiltin(ctx, "demo", "Demo"),
		"PutSetting":    st.PutSetting(ctx, "a", json.RawMessage(`1`)),
		"SaveSession":   st.SaveSession(ctx, session("s", "alice", 1)),
		"RevokeSession": st.RevokeSession(ctx, "r", moment(1)),
		"UseState":      state,
		"PutSecret":     st.PutSecret(ctx, sealedSecret("o", "n", "k")),
	}
}

// instanceOperations is one read or conditional write of each kind.
func instanceOperations(ctx context.Context, st *store.Store) map[string]error {
	mine := st.For(junctor.DefaultTenant)
	got := map[string]error{}
	_, got["Store.Keys"] = st.Keys(ctx)
	_, got["Tenants"] = st.Tenants(ctx)
	_, got["RingKeys"] = st.RingKeys(ctx)
	_, got["Instance"] = st.Instance(ctx)
	_, got["Sweep"] = st.Sweep(ctx, moment(0))
	_, got["Store.Users"] = st.Users(ctx)
	_, got["Logins"] = st.Logins(ctx, moment(0))
	_, got["UseLink"] = st.UseLink(ctx, [32]byte{}, junctor.Login{}, moment(0))
	_, got["HasSignedIn"] = mine.HasSignedIn(ctx)
	got["ReplaceStartLink"] = mine.ReplaceStartLink(ctx, junctor.Login{})
	_, got["LinkedUser"] = st.LinkedUser(ctx, "a", "b")
	_, got["Agents"] = mine.Agents(ctx)
	_, got["Agent"] = mine.Agent(ctx, "a")
	_, got["Tags"] = mine.Tags(ctx)
	got["MergeTag"] = mine.MergeTag(ctx, junctor.ToolTag{Server: "a", Tool: "b"})
	got["ReplaceTag"] = mine.ReplaceTag(ctx, junctor.ToolTag{Server: "a", Tool: "b"}, time.Unix(1, 0))
	got["RenameTags"] = mine.RenameTags(ctx, "a", map[string]string{"b": "c"})
	_, got["ComponentCatalogs"] = mine.ComponentCatalogs(ctx)
	_, got["ComponentCatalogsStamp"] = mine.ComponentCatalogsStamp(ctx)
	_, got["PutComponentCatalog"] = mine.PutComponentCatalog(ctx, "a", []byte("{}"), time.Time{})
	_, got["PutSchedule"] = mine.PutSchedule(ctx, junctor.Schedule{Name: "a"})
	_, got["UpdateTrigger"] = mine.UpdateTrigger(ctx, junctor.Trigger{Name: "a"})
	_, got["ChangeSetting"] = mine.ChangeSetting(ctx, "a", func(store.Setting) (json.RawMessage, error) { return json.RawMessage("1"), nil })
	got["DeleteComponentCatalog"] = mine.DeleteComponentCatalog(ctx, "a")
	_, got["Changes"] = mine.Changes(ctx, "", "", 1)
	_, got["Users"] = mine.Users(ctx)
	_, got["User"] = mine.User(ctx, "a")
	_, got["Keys"] = mine.Keys(ctx)
	_, got["Key"] = mine.Key(ctx, "a")
	_, got["Servers"] = mine.Servers(ctx)
	_, got["Server"] = mine.Server(ctx, "a")
	_, got["Settings"] = mine.Settings(ctx)
	_, got["Setting"] = mine.Setting(ctx, "a")
	_, got["Session"] = mine.Session(ctx, "a")
	_, got["Revoked"] = mine.Revoked(ctx, "a")
	_, got["AuditShipped"] = st.AuditShipped(ctx, "a")
	_, got["AuditReplicas"] = st.AuditReplicas(ctx)
	_, got["AuditHead"] = st.AuditHead(ctx, "a")
	_, _, got["AuditLast"] = st.AuditLast(ctx, "a")
	got["KeepAuditHead"] = st.KeepAuditHead(ctx, "a", 1, "{}", false)
	_, got["PruneAudit"] = st.PruneAudit(ctx, "a", 1)
	_, got["SecretsNotUnder"] = st.SecretsNotUnder(ctx, "k", store.TenantSecret{}, 1)
	_, got["RewrapSecret"] = st.RewrapSecret(ctx, store.TenantSecret{}, "k", nil)
	_, got["SecretKeys"] = st.SecretKeys(ctx)
	_, got["Secret"] = mine.Secret(ctx, store.SecretName{Name: "a"})
	_, got["SecretNames"] = mine.SecretNames(ctx)
	got["DeleteSecret"] = mine.DeleteSecret(ctx, store.SecretName{Name: "a"})
	got["AddAudit"] = st.AddAudit(ctx, records("a", 1, 2))
	for _, err := range st.AuditRecords(ctx, "a", 0) {
		got["AuditRecords"] = err
	}
	got["EnsureTenant"] = st.EnsureTenant(ctx, "x", "x")
	got["AddRingKey"] = st.AddRingKey(ctx, store.RingKey{ID: "a", CreatedAt: moment(1), Wrapped: []byte("w")})
	got["DeleteRingKeys"] = st.DeleteRingKeys(ctx, moment(0))
	got["RevokeKey"] = mine.RevokeKey(ctx, "a", moment(0))
	got["TouchKeys"] = mine.TouchKeys(ctx, map[string]time.Time{"a": moment(0)})
	got["SetServerState"] = mine.SetServerState(ctx, "a", junctor.StateActive, "")
	got["RemoveServer"] = mine.RemoveServer(ctx, "a")
	return got
}

func errorTests() map[string]func(*trial) {
	return map[string]func(*trial){
		"errors/no such tenant": func(t *trial) {
			var m fixtures
			st := t.open()
			for _, tenant := range []junctor.TenantID{"nobody", ""} {
				for name, err := range tenantWrites(t.Context(), &m, st.For(tenant)) {
					if junctor.CodeOf(err) != junctor.CodeNotFound {
						t.Errorf("%s for the unknown tenant %q: %v", name, tenant, err)
					}
				}
			}
		},
		"errors/closed": func(t *trial) {
			var m fixtures
			st := t.open()
			ok(t, st.Close())
			wantEveryCode(t, junctor.CodeUnavailable, tenantWrites(t.Context(), &m, st.For(junctor.DefaultTenant)), instanceOperations(t.Context(), st))
		},
		"errors/canceled": func(t *trial) {
			var m fixtures
			st := t.open()
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			wantEveryCode(t, junctor.CodeCanceled, tenantWrites(ctx, &m, st.For(junctor.DefaultTenant)), instanceOperations(ctx, st))
		},
		"errors/deadline": func(t *trial) {
			var m fixtures
			st := t.open()
			ctx, cancel := context.WithDeadline(t.Context(), time.Unix(1, 0))
			defer cancel()
			wantEveryCode(t, junctor.CodeTimeout, tenantWrites(ctx, &m, st.For(junctor.DefaultTenant)), instanceOperations(ctx, st))
		},
		"errors/hold nothing that is stored": func(t *trial) {
			var m fixtures
			st := t.open().For(junctor.DefaultTenant)
			k := m.key("a", "one")
			copy(k.Hash[:], "canary-of-the-hash")
			k.Prefix = "canary-of-the-prefix"
			ok(t, st.CreateKey(t.Context(), k))
			err := st.CreateKey(t.Context(), k)
			fails(t, err, junctor.CodeConflict)
			if strings.Contains(err.Error(), "canary") {
				t.Errorf("the message quotes what is stored: %v", err)
			}
		},
	}
}

// wantEveryCode ends in an error where one of the results has another code.
func wantEveryCode(t testing.TB, want junctor.Code, results ...map[string]error) {
	t.Helper()
	for _, group := range results {
		for name, err := range group {
			if got := junctor.CodeOf(err); got != want {
				t.Errorf("%s: got code %q (%v), want %q", name, got, err, want)
			}
		}
	}
}
