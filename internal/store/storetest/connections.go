package storetest

import (
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admission"
	"github.com/junctor-mcp/junctor/internal/store"
)

// upstreamServer is a server with something in every member.
func upstreamServer(id string) junctor.Server {
	return junctor.Server{
		ID: id, Tenant: junctor.DefaultTenant, Mode: junctor.ModeBYO, Title: "Notes", State: junctor.StateActive,
		Owner: "key:k1", Private: true, Credential: "conn-1", Trusted: true, Declared: "/etc/junctor.yaml", Discovered: "eip155:1:0xab/42",
		Connection: junctor.Connection{
			Transport: junctor.TransportHTTP, URL: "https://example.com/mcp", Command: []string{"a", "b c", "é"},
			Env: map[string]string{"A": junctor.Masked}, Cwd: "/srv",
			Auth:    &junctor.Auth{Type: junctor.AuthAPIKey, Header: "X-Key", Secret: "env:NAME"},
			Headers: map[string]string{"X-Team": junctor.Masked}, Isolation: junctor.IsolationUser, MaxSessions: 7, CallTimeout: junctor.Duration(90 * time.Second), Views: junctor.ViewsOff, Home: junctor.HomeEach,
			Overrides: map[string]junctor.Override{"drop": {Hide: true}, "find": {Name: "search", Description: "Finds"}},
		},
	}
}

func connectionTests() map[string]func(*trial) {
	ignoreTimes := cmpopts.IgnoreFields(junctor.Server{}, "CreatedAt", "UpdatedAt")
	return map[string]func(*trial){
		"connections/what was added is there": func(t *trial) {
			first := t.open()
			st := first.For(junctor.DefaultTenant)
			added := must(st.AddServer(t.Context(), admission.Stored(upstreamServer("notes"))))(t).Row()
			if diff := cmp.Diff(upstreamServer("notes"), added, ignoreTimes); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if added.CreatedAt.IsZero() || !added.UpdatedAt.Equal(added.CreatedAt) {
				t.Errorf("times: %+v", added)
			}
			off := upstreamServer("off")
			off.State = junctor.StateInactive
			if got := must(st.AddServer(t.Context(), admission.Stored(off)))(t).Row(); got.State != junctor.StateInactive {
				t.Errorf("added switched off: %+v", got)
			}
			_, err := st.AddServer(t.Context(), admission.Stored(upstreamServer("notes")))
			fails(t, err, junctor.CodeConflict)
			_, err = st.AddServer(t.Context(), admission.Stored(upstreamServer("No_Id")))
			fails(t, err, junctor.CodeInvalid)
			_, err = first.For("nobody").AddServer(t.Context(), admission.Stored(upstreamServer("notes")))
			fails(t, err, junctor.CodeInternal) // it was judged for another tenant
			nobodys := upstreamServer("notes")
			nobodys.Tenant = "nobody"
			_, err = first.For("nobody").AddServer(t.Context(), admission.Stored(nobodys))
			fails(t, err, junctor.CodeNotFound)
			ok(t, first.Close())

			again := t.open().For(junctor.DefaultTenant)
			if diff := cmp.Diff(added, must(again.Server(t.Context(), "notes"))(t)); diff != "" {
				t.Errorf("after a restart:\n%s", diff)
			}
			ok(t, again.SetServerState(t.Context(), "notes", junctor.StateInactive, ""))
			if got := must(again.Server(t.Context(), "notes"))(t); got.URL != added.URL || got.State != junctor.StateInactive {
				t.Errorf("switched off: %+v", got)
			}
		},
		"connections/of two changes one wins": func(t *trial) {
			st := t.open().For(junctor.DefaultTenant)
			was := must(st.AddServer(t.Context(), admission.Stored(upstreamServer("notes"))))(t).Row()
			one, two := was, was
			one.Title, one.Credential, one.URL, one.State = "One", "conn-2", "https://example.org/mcp", junctor.StateInactive
			two.Title = "Two"
			got := must(st.UpdateServer(t.Context(), admission.Stored(one)))(t).Row()
			if diff := cmp.Diff(one, got, ignoreTimes); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if !got.UpdatedAt.After(was.UpdatedAt) || !got.CreatedAt.Equal(was.CreatedAt) {
				t.Errorf("times: %v, then %v", was.UpdatedAt, got.UpdatedAt)
			}
			_, err := st.UpdateServer(t.Context(), admission.Stored(two))
			fails(t, err, junctor.CodePrecondition)
			if now := must(st.Server(t.Context(), "notes"))(t); now.Title != "One" {
				t.Errorf("the slower change was stored: %+v", now)
			}
			missing := was
			missing.ID = "other"
			_, err = st.UpdateServer(t.Context(), admission.Stored(missing))
			fails(t, err, junctor.CodeNotFound)
		},
		"connections/what was seen": func(t *trial) {
			st := t.open().For(junctor.DefaultTenant)
			_ = must(st.AddServer(t.Context(), admission.Stored(upstreamServer("notes"))))(t)
			_, err := st.SeenServer(t.Context(), "notes")
			fails(t, err, junctor.CodeNotFound)
			at := time.UnixMicro(1234567890).UTC()
			for _, seen := range []store.SeenServer{
				{Offer: []byte("{\"a\":\x00\xff}"), At: at},
				{Offer: []byte{}, Isolated: "it asked", At: at.Add(time.Second)},
			} {
				ok(t, st.SawServer(t.Context(), "notes", seen))
				if diff := cmp.Diff(seen, must(st.SeenServer(t.Context(), "notes"))(t), cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
			}
			fails(t, t.open().For("acme").SawServer(t.Context(), "notes", store.SeenServer{At: at}), junctor.CodeNotFound)
			_, err = t.open().For("acme").SeenServer(t.Context(), "notes")
			fails(t, err, junctor.CodeNotFound)
			fails(t, st.SawServer(t.Context(), "other", store.SeenServer{At: at}), junctor.CodeNotFound)
			ok(t, st.RemoveServer(t.Context(), "notes"))
			_ = must(st.AddServer(t.Context(), admission.Stored(upstreamServer("notes"))))(t)
			_, err = st.SeenServer(t.Context(), "notes")
			fails(t, err, junctor.CodeNotFound)
		},
	}
}
