package storetest

import (
	"github.com/google/go-cmp/cmp"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admission"
	"github.com/junctor-mcp/junctor/internal/store"
)

func serverTests() map[string]func(*trial) {
	return map[string]func(*trial){
		"servers/built-in ones": func(t *trial) {
			st := t.open().For(junctor.DefaultTenant)
			ok(t, st.EnsureBuiltin(t.Context(), "ocr", "OCR"))
			ok(t, st.EnsureBuiltin(t.Context(), "demo", "Demo"))
			ok(t, st.EnsureBuiltin(t.Context(), "demo", "Another title"))
			list := must(st.Servers(t.Context()))(t)
			if len(list) != 2 || list[0].ID != "demo" || list[1].ID != "ocr" {
				t.Fatalf("got %+v", list)
			}
			demo := must(st.Server(t.Context(), "demo"))(t)
			if diff := cmp.Diff(demo, list[0]); diff != "" {
				t.Errorf("Server and Servers differ:\n%s", diff)
			}
			if demo.Title != "Demo" || demo.Mode != junctor.ModeBuiltin || demo.State != junctor.StateActive ||
				demo.Tenant != junctor.DefaultTenant || demo.CreatedAt.IsZero() || !demo.UpdatedAt.Equal(demo.CreatedAt) {
				t.Errorf("got %+v", demo)
			}
			fails(t, st.EnsureBuiltin(t.Context(), "No_Id", ""), junctor.CodeInvalid)
			_, err := st.Server(t.Context(), "nobody")
			fails(t, err, junctor.CodeNotFound)
		},
		"servers/state": func(t *trial) {
			st := t.open().For(junctor.DefaultTenant)
			ok(t, st.EnsureBuiltin(t.Context(), "demo", "Demo"))
			before := must(st.Server(t.Context(), "demo"))(t)
			for _, step := range []struct {
				state           junctor.ServerState
				lastError, want string
			}{
				{junctor.StateError, "no route", "no route"},
				{junctor.StateInactive, "", ""},
				{junctor.StateError, "again", "again"},
				{junctor.StateActive, "left over", ""},
			} {
				ok(t, st.SetServerState(t.Context(), "demo", step.state, step.lastError))
				got := must(st.Server(t.Context(), "demo"))(t)
				if got.State != step.state || got.LastError != step.want {
					t.Errorf("after %+v: %+v", step, got)
				}
				if got.UpdatedAt.Before(before.UpdatedAt) || !got.CreatedAt.Equal(before.CreatedAt) {
					t.Errorf("times after %+v: %+v", step, got)
				}
			}
			fails(t, st.SetServerState(t.Context(), "demo", "sleeping", ""), junctor.CodeInvalid)
			fails(t, st.SetServerState(t.Context(), "nobody", junctor.StateActive, ""), junctor.CodeNotFound)
		},
		"servers/take along what users entered": func(t *trial) {
			st := t.open().For(junctor.DefaultTenant)
			_, err := st.AddServer(t.Context(), admission.Stored(junctor.Server{Tenant: junctor.DefaultTenant, ID: "notes", Mode: junctor.ModeBYO}))
			ok(t, err)
			put := func(owner, name string) {
				ok(t, st.PutSecret(t.Context(), store.Secret{SecretName: store.SecretName{Owner: owner, Name: name}, KeyID: "k"}))
			}
			for _, user := range []string{"u1", "u2"} {
				put(junctor.UserOwner(user), junctor.UserSecret("notes"))
				put(junctor.UserOwner(user), junctor.UserPins("notes"))
				put(junctor.UserOwner(user), junctor.UserSecret("notes-2"))
			}
			put("agent:u1", junctor.UserSecret("notes"))
			ok(t, st.RemoveServer(t.Context(), "notes"))
			want := []store.SecretName{
				{Owner: "agent:u1", Name: junctor.UserSecret("notes")},
				{Owner: junctor.UserOwner("u1"), Name: junctor.UserSecret("notes-2")},
				{Owner: junctor.UserOwner("u2"), Name: junctor.UserSecret("notes-2")},
			}
			if diff := cmp.Diff(want, must(st.SecretNames(t.Context()))(t)); diff != "" {
				t.Errorf("left:\n%s", diff)
			}
		},
		"servers/what was removed stays away": func(t *trial) {
			first := t.open()
			st := first.For(junctor.DefaultTenant)
			ok(t, first.EnsureTenant(t.Context(), "acme", "Acme"))
			ok(t, st.EnsureBuiltin(t.Context(), "demo", "Demo"))
			ok(t, st.EnsureBuiltin(t.Context(), "ocr", "OCR"))
			ok(t, st.RemoveServer(t.Context(), "demo"))
			fails(t, st.RemoveServer(t.Context(), "demo"), junctor.CodeNotFound)
			fails(t, st.RemoveServer(t.Context(), "never"), junctor.CodeNotFound)
			ok(t, first.Close())

			again := t.open()
			st = again.For(junctor.DefaultTenant)
			for _, id := range []string{"demo", "ocr", "never"} {
				ok(t, st.EnsureBuiltin(t.Context(), id, id))
			}
			list := must(st.Servers(t.Context()))(t)
			if len(list) != 2 || list[0].ID != "never" || list[1].ID != "ocr" {
				t.Errorf("after the restart: %+v", list)
			}
			ok(t, again.For("acme").EnsureBuiltin(t.Context(), "demo", "Demo"))
			if n := len(must(again.For("acme").Servers(t.Context()))(t)); n != 1 {
				t.Errorf("a removal in one tenant keeps the server from another: %d servers", n)
			}
		},
	}
}
