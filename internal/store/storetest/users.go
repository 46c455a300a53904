package storetest

import (
	"fmt"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func user(id, name string) junctor.User {
	return junctor.User{
		ID: id, Name: name, Role: junctor.UserDeveloper, Sources: junctor.SourcesBoth, Tier: junctor.TierFree,
		CreatedAt: moment(1), UpdatedAt: moment(2),
	}
}

func userTests() map[string]func(*trial) {
	return map[string]func(*trial){
		"users/come back whole": func(t *trial) {
			st := t.open()
			ok(t, st.EnsureTenant(t.Context(), "acme", "Acme"))
			acme := st.For("acme")
			a := user("a", "zoë@example.com")
			a.Tenant, a.Role, a.Sources, a.Tier, a.Disabled, a.Password, a.Groups = "acme", junctor.UserAdmin, junctor.SourcesBYO, junctor.TierPro, true, "$argon2id$x", []string{"ops", `a "quoted" one`, "été"}
			b := user("b", "bob")
			b.Tenant = "acme"
			ok(t, acme.CreateUser(t.Context(), a))
			ok(t, acme.CreateUser(t.Context(), b))
			want := []junctor.User{b, a}
			if diff := cmp.Diff(want, must(acme.Users(t.Context()))(t)); diff != "" {
				t.Errorf("Tenant.Users (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want, must(st.Users(t.Context()))(t)); diff != "" {
				t.Errorf("Store.Users (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(a, must(acme.UserByName(t.Context(), "zoë@example.com"))(t)); diff != "" {
				t.Errorf("UserByName (-want +got):\n%s", diff)
			}
			_, err := acme.UserByName(t.Context(), "nobody")
			fails(t, err, junctor.CodeNotFound)
			_, err = st.For(junctor.DefaultTenant).User(t.Context(), "a") // the wall
			fails(t, err, junctor.CodeNotFound)
		},
		"users/conflicts": func(t *trial) {
			st := t.open()
			ok(t, st.EnsureTenant(t.Context(), "acme", "Acme"))
			def := st.For(junctor.DefaultTenant)
			ok(t, def.CreateUser(t.Context(), user("a", "alice")))
			fails(t, def.CreateUser(t.Context(), user("a", "bob")), junctor.CodeConflict)
			fails(t, def.CreateUser(t.Context(), user("b", "alice")), junctor.CodeConflict)
			ok(t, st.For("acme").CreateUser(t.Context(), user("a", "alice"))) // another tenant's own
			bad := user("c", "carol")
			bad.Role = "root"
			fails(t, def.CreateUser(t.Context(), bad), junctor.CodeInvalid)
			fails(t, def.CreateUser(t.Context(), user("c", "a/b")), junctor.CodeInvalid)
			fails(t, st.For("nowhere").CreateUser(t.Context(), user("c", "carol")), junctor.CodeNotFound)
		},
		"users/changes": func(t *trial) {
			st := t.open().For(junctor.DefaultTenant)
			ok(t, st.CreateUser(t.Context(), user("a", "alice")))
			ok(t, st.CreateUser(t.Context(), user("b", "bob")))
			was := must(st.User(t.Context(), "a"))(t)
			next := was
			next.Name, next.Role, next.Disabled, next.Groups = "alicia", junctor.UserViewer, true, []string{"sales"}
			stored := must(st.UpdateUser(t.Context(), next))(t)
			next.UpdatedAt = stored.UpdatedAt
			if diff := cmp.Diff(next, stored); diff != "" || !stored.UpdatedAt.After(was.UpdatedAt) {
				t.Errorf("(-want +got):\n%s", diff)
			}
			_, err := st.UpdateUser(t.Context(), was) // read before the other's change
			fails(t, err, junctor.CodePrecondition)
			stored.Name = "bob"
			_, err = st.UpdateUser(t.Context(), stored)
			fails(t, err, junctor.CodeConflict)
			_, err = st.UpdateUser(t.Context(), user("nobody", "nobody"))
			fails(t, err, junctor.CodeNotFound)
		},
		"users/deleted":                  deleteUser,
		"users/links":                    linkUsers,
		"users/property 1, sources stay": sourcesStay,
	}
}

// deleteUser takes away what is the user's, and nothing of anybody else.
func deleteUser(t *trial) {
	var m fixtures
	st := t.open()
	ok(t, st.EnsureTenant(t.Context(), "acme", "Acme"))
	for _, tenant := range []junctor.TenantID{junctor.DefaultTenant, "acme"} {
		in := st.For(tenant)
		for _, id := range []string{"a", "b"} {
			ok(t, in.CreateUser(t.Context(), user(id, "user "+id)))
			k := m.key("k"+id, "of "+id)
			k.User = id
			ok(t, in.CreateKey(t.Context(), k))
			ok(t, in.AddLogin(t.Context(), m.login("l"+id, id)))
			ok(t, in.AddLink(t.Context(), m.login("o"+id, id)))
			ok(t, in.LinkUser(t.Context(), id, "https://idp", string(tenant)+id, moment(1)))
			ok(t, in.PutSecret(t.Context(), sealedSecret(junctor.UserOwner(id), "token", "k")))
		}
		ok(t, in.CreateKey(t.Context(), m.key("service", "service")))
	}
	def := st.For(junctor.DefaultTenant)
	ok(t, def.DeleteUser(t.Context(), "a", moment(50)))
	fails(t, def.DeleteUser(t.Context(), "a", moment(51)), junctor.CodeNotFound)
	for _, tenant := range []junctor.TenantID{junctor.DefaultTenant, "acme"} {
		in := st.For(tenant)
		for _, k := range must(in.Keys(t.Context()))(t) {
			if gone := tenant == junctor.DefaultTenant && k.ID == "ka"; k.RevokedAt.IsZero() == gone {
				t.Errorf("%s: the key %s was revoked at %s", tenant, k.ID, k.RevokedAt)
			}
		}
		names := must(in.SecretNames(t.Context()))(t)
		if want := len(must(in.Users(t.Context()))(t)); len(names) != want {
			t.Errorf("%s: %d users, secrets %v", tenant, want, names)
		}
	}
	if logins := must(st.Logins(t.Context(), moment(0)))(t); len(logins) != 3 {
		t.Errorf("logins %+v", logins)
	}
	_, err := st.LinkedUser(t.Context(), "https://idp", "defaulta")
	fails(t, err, junctor.CodeNotFound)
	must(st.LinkedUser(t.Context(), "https://idp", "acmea"))(t)
}

func linkUsers(t *trial) {
	st := t.open()
	ok(t, st.EnsureTenant(t.Context(), "acme", "Acme"))
	ok(t, st.For("acme").CreateUser(t.Context(), user("a", "alice")))
	ok(t, st.For(junctor.DefaultTenant).CreateUser(t.Context(), user("a", "anna")))
	ok(t, st.For("acme").LinkUser(t.Context(), "a", "https://idp", "1", moment(1)))
	// One party is one user, whatever the tenant.
	fails(t, st.For(junctor.DefaultTenant).LinkUser(t.Context(), "a", "https://idp", "1", moment(1)), junctor.CodeConflict)
	fails(t, st.For("acme").LinkUser(t.Context(), "nobody", "https://idp", "2", moment(1)), junctor.CodeNotFound)
	if u := must(st.LinkedUser(t.Context(), "https://idp", "1"))(t); u.Tenant != "acme" || u.Name != "alice" {
		t.Errorf("linked to %+v", u)
	}
	for issuer, want := range map[string]bool{"https://idp": true, "https://other": false} {
		if got := must(st.For("acme").UserLinked(t.Context(), "a", issuer))(t); got != want {
			t.Errorf("linked to %s: %v", issuer, got)
		}
	}
	if must(st.For(junctor.DefaultTenant).UserLinked(t.Context(), "a", "https://idp"))(t) {
		t.Error("another tenant's link counts")
	}
	for _, other := range [][2]string{{"https://idp", "2"}, {"https://other", "1"}} {
		_, err := st.LinkedUser(t.Context(), other[0], other[1])
		fails(t, err, junctor.CodeNotFound)
	}
}

// sourcesStay: what a user chose last is what every later process reads,
// whatever others chose, and choosing loses nothing.
func sourcesStay(t *trial) {
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		st := t.open()
		tenant := junctor.TenantID(fmt.Sprint("t", round))
		ok(t, st.EnsureTenant(t.Context(), tenant, "x"))
		want := map[string]junctor.User{}
		for n := range rapid.IntRange(1, 4).Draw(rt, "users") {
			u := user(fmt.Sprint("u", n), fmt.Sprint("user ", n))
			u.Tenant = tenant
			ok(t, st.For(tenant).CreateUser(t.Context(), u))
			want[u.ID] = u
		}
		for range rapid.IntRange(1, 6).Draw(rt, "switches") {
			id := rapid.SampledFrom(keysOf(want)).Draw(rt, "user")
			if rapid.Bool().Draw(rt, "restart") {
				st = reopen(t, st)
			}
			u := must(st.For(tenant).User(t.Context(), id))(t)
			u.Sources = rapid.SampledFrom([]junctor.Sources{junctor.SourcesGenerated, junctor.SourcesBYO, junctor.SourcesBoth}).Draw(rt, "sources")
			want[id] = must(st.For(tenant).UpdateUser(t.Context(), u))(t)
			if want[id].Sources != u.Sources {
				rt.Fatalf("chose %s, stored %s", u.Sources, want[id].Sources)
			}
		}
		st = reopen(t, st)
		got := map[string]junctor.User{}
		for _, u := range must(st.For(tenant).Users(t.Context()))(t) {
			got[u.ID] = u
		}
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatalf("(-want +got):\n%s", diff)
		}
		ok(t, st.Close())
	})
}

func reopen(t *trial, st *store.Store) *store.Store {
	t.Helper()
	ok(t, st.Close())
	return t.open()
}

func keysOf[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	return keys
}
