package storetest

import (
	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store"

	"github.com/google/go-cmp/cmp"
)

func session(id, subject string, expires int) store.Session {
	return store.Session{
		ID: id, Issuer: junctor.IssuerKey, Subject: subject, LogLevel: "info",
		Subscriptions: []string{"file:///a", "file:///b?c=\"d\""}, Capabilities: []byte(`{"roots":{}}`), ExpiresAt: moment(expires),
	}
}

func sessionTests() map[string]func(*trial) {
	return map[string]func(*trial){
		"sessions/saved and changed": func(t *trial) {
			st := t.open().For(junctor.DefaultTenant)
			_, err := st.Session(t.Context(), "s")
			fails(t, err, junctor.CodeNotFound)

			want := session("s", "alice", 100)
			ok(t, st.SaveSession(t.Context(), want))
			if diff := cmp.Diff(want, must(st.Session(t.Context(), "s"))(t)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			want = store.Session{ID: "s", Issuer: want.Issuer, Subject: "alice", ExpiresAt: moment(200)}
			ok(t, st.SaveSession(t.Context(), want))
			if diff := cmp.Diff(want, must(st.Session(t.Context(), "s"))(t)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		},
		"sessions/bound to their principal": func(t *trial) {
			st := t.open().For(junctor.DefaultTenant)
			want := session("s", "alice", 100)
			ok(t, st.SaveSession(t.Context(), want))
			fails(t, st.SaveSession(t.Context(), session("s", "mallory", 300)), junctor.CodeNotFound)
			foreign := session("s", "alice", 300)
			foreign.Issuer = "https://issuer.example"
			fails(t, st.SaveSession(t.Context(), foreign), junctor.CodeNotFound)
			if diff := cmp.Diff(want, must(st.Session(t.Context(), "s"))(t)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		},
		"sessions/revoked for good": func(t *trial) {
			st := t.open().For(junctor.DefaultTenant)
			ok(t, st.SaveSession(t.Context(), session("stored", "alice", 100)))
			for _, id := range []string{"stored", "never stored"} {
				if must(st.Revoked(t.Context(), id))(t) {
					t.Errorf("%q is revoked before it was", id)
				}
				ok(t, st.RevokeSession(t.Context(), id, moment(100)))
				ok(t, st.RevokeSession(t.Context(), id, moment(50)))
				if !must(st.Revoked(t.Context(), id))(t) {
					t.Errorf("%q is not revoked", id)
				}
				_, err := st.Session(t.Context(), id)
				fails(t, err, junctor.CodeNotFound)
				fails(t, st.SaveSession(t.Context(), session(id, "alice", 100)), junctor.CodeNotFound)
				late := session(id, "", 100)
				late.Issuer = ""
				fails(t, st.SaveSession(t.Context(), late), junctor.CodeNotFound)
			}
		},
		"sessions/sweep": func(t *trial) {
			st := t.open()
			ok(t, st.EnsureTenant(t.Context(), "acme", "Acme"))
			for _, tenant := range []junctor.TenantID{junctor.DefaultTenant, "acme"} {
				mine := st.For(tenant)
				ok(t, mine.SaveSession(t.Context(), session("old", "alice", 10)))
				ok(t, mine.SaveSession(t.Context(), session("new", "alice", 11)))
				ok(t, mine.RevokeSession(t.Context(), "old revoked", moment(10)))
				ok(t, mine.RevokeSession(t.Context(), "new revoked", moment(10)))
				ok(t, mine.RevokeSession(t.Context(), "new revoked", moment(11)))
				ok(t, mine.RevokeSession(t.Context(), "new revoked", moment(9))) // the longer memory counts
				must(mine.UseState(t.Context(), "old", moment(10)))(t)
				must(mine.UseState(t.Context(), "new", moment(11)))(t)
			}
			if n := must(st.Sweep(t.Context(), moment(10)))(t); n != 6 {
				t.Errorf("swept %d rows, want 6", n)
			}
			if n := must(st.Sweep(t.Context(), moment(10)))(t); n != 0 {
				t.Errorf("swept %d rows again", n)
			}
			for _, tenant := range []junctor.TenantID{junctor.DefaultTenant, "acme"} {
				mine := st.For(tenant)
				_, err := mine.Session(t.Context(), "old")
				fails(t, err, junctor.CodeNotFound)
				must(mine.Session(t.Context(), "new"))(t)
				if must(mine.Revoked(t.Context(), "old revoked"))(t) || !must(mine.Revoked(t.Context(), "new revoked"))(t) {
					t.Errorf("%s: the wrong revocation was forgotten", tenant)
				}
				if must(mine.UseState(t.Context(), "new", moment(11)))(t) {
					t.Errorf("%s: a used state that has not expired was forgotten", tenant)
				}
				if !must(mine.UseState(t.Context(), "old", moment(20)))(t) {
					t.Errorf("%s: an expired state was not forgotten", tenant)
				}
			}
		},
		"states/used once": func(t *trial) {
			st := t.open()
			ok(t, st.EnsureTenant(t.Context(), "acme", "Acme"))
			for n, first := range []bool{true, false, false} {
				if got := must(st.For("acme").UseState(t.Context(), "s", moment(n)))(t); got != first {
					t.Errorf("use %d: first is %v", n+1, got)
				}
			}
			if !must(st.For(junctor.DefaultTenant).UseState(t.Context(), "s", moment(0)))(t) {
				t.Error("a state of one tenant is used up by another")
			}
		},
	}
}
