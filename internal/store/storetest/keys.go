package storetest

import (
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store"

	"github.com/google/go-cmp/cmp"
)

func keyTests() map[string]func(*trial) {
	return map[string]func(*trial){
		"keys/come back whole": func(t *trial) {
			var m fixtures
			st := t.open()
			ok(t, st.EnsureTenant(t.Context(), "acme", "Acme"))
			full := m.key("a", "full")
			full.Tenant, full.ExpiresAt, full.RevokedAt, full.LastUsedAt = "acme", moment(1), moment(2), moment(3)
			bare := m.key("b", "bare")
			bare.Tenant, bare.Scopes = "acme", nil
			ok(t, st.For("acme").CreateKey(t.Context(), full))
			ok(t, st.For("acme").CreateKey(t.Context(), bare))

			want := []junctor.Key{full, bare}
			if diff := cmp.Diff(want, must(st.For("acme").Keys(t.Context()))(t)); diff != "" {
				t.Errorf("Tenant.Keys (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want, must(st.Keys(t.Context()))(t)); diff != "" {
				t.Errorf("Store.Keys (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(full, must(st.For("acme").Key(t.Context(), "a"))(t)); diff != "" {
				t.Errorf("Key (-want +got):\n%s", diff)
			}
			_, err := st.For("acme").Key(t.Context(), "c")
			fails(t, err, junctor.CodeNotFound)
		},
		"keys/conflicts": func(t *trial) {
			var m fixtures
			st := t.open()
			ok(t, st.EnsureTenant(t.Context(), "acme", "Acme"))
			def := st.For(junctor.DefaultTenant)
			first := m.key("a", "one")
			ok(t, def.CreateKey(t.Context(), first))
			fails(t, def.CreateKey(t.Context(), m.key("a", "same id")), junctor.CodeConflict)
			same := m.key("b", "same hash")
			same.Hash = first.Hash
			fails(t, def.CreateKey(t.Context(), same), junctor.CodeConflict)
			fails(t, st.For("acme").CreateKey(t.Context(), same), junctor.CodeConflict) // a token names one tenant
			ok(t, def.CreateKey(t.Context(), m.key("c", store.AdminName)))
			fails(t, def.CreateKey(t.Context(), m.key("d", store.AdminName)), junctor.CodeConflict)
			ok(t, st.For("acme").CreateKey(t.Context(), m.key("a", store.AdminName))) // another tenant's own
		},
		"keys/revoke keeps the first time": func(t *trial) {
			var m fixtures
			st := t.open().For(junctor.DefaultTenant)
			ok(t, st.CreateKey(t.Context(), m.key("a", "one")))
			ok(t, st.RevokeKey(t.Context(), "a", moment(10)))
			ok(t, st.RevokeKey(t.Context(), "a", moment(20)))
			if k := must(st.Key(t.Context(), "a"))(t); !k.RevokedAt.Equal(moment(10)) {
				t.Errorf("revoked at %s, want %s", k.RevokedAt, moment(10))
			}
			fails(t, st.RevokeKey(t.Context(), "nobody", moment(10)), junctor.CodeNotFound)
		},
		"keys/touch only moves forward": func(t *trial) {
			var m fixtures
			st := t.open().For(junctor.DefaultTenant)
			for _, id := range []string{"a", "b", "c"} {
				ok(t, st.CreateKey(t.Context(), m.key(id, id)))
			}
			ok(t, st.TouchKeys(t.Context(), nil))
			ok(t, st.TouchKeys(t.Context(), map[string]time.Time{"a": moment(10), "b": moment(20), "nobody": moment(30)}))
			ok(t, st.TouchKeys(t.Context(), map[string]time.Time{"a": moment(5), "b": moment(25)}))
			got := map[string]time.Time{}
			for _, k := range must(st.Keys(t.Context()))(t) {
				got[k.ID] = k.LastUsedAt
			}
			if diff := cmp.Diff(map[string]time.Time{"a": moment(10), "b": moment(25), "c": {}}, got); diff != "" {
				t.Errorf("last used (-want +got):\n%s", diff)
			}
		},
		"keys/admin is replaced": replaceAdmin,
		"keys/owners":            keyOwners,
		"keys/rotated":           rotateKey,
	}
}

func keyOwners(t *trial) {
	var m fixtures
	st := t.open()
	ok(t, st.EnsureTenant(t.Context(), "acme", "Acme"))
	def := st.For(junctor.DefaultTenant)
	ok(t, def.CreateUser(t.Context(), user("u", "alice")))
	k := m.key("a", "of alice")
	k.Tenant, k.User = junctor.DefaultTenant, "u"
	ok(t, def.CreateKey(t.Context(), k))
	if diff := cmp.Diff(k, must(def.Key(t.Context(), "a"))(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	k = m.key("b", "of alice")
	k.User = "u"
	fails(t, st.For("acme").CreateKey(t.Context(), k), junctor.CodeNotFound) // the wall
	k = m.key("b", "of nobody")
	k.Agent = "nobody"
	fails(t, def.CreateKey(t.Context(), k), junctor.CodeNotFound)
	ok(t, def.CreateKey(t.Context(), m.key("c", "service")))
	fails(t, def.RevokeKeysOf(t.Context(), "", "", moment(1)), junctor.CodeInternal) // would be every service
	fails(t, def.RevokeKeysOf(t.Context(), "u", "x", moment(1)), junctor.CodeInternal)
	ok(t, def.RevokeKeysOf(t.Context(), "u", "", moment(9)))
	for _, k := range must(def.Keys(t.Context()))(t) {
		if (k.User == "u") == k.RevokedAt.IsZero() {
			t.Errorf("%+v", k)
		}
	}
}

func rotateKey(t *trial) {
	var m fixtures
	st := t.open()
	ok(t, st.EnsureTenant(t.Context(), "acme", "Acme"))
	def := st.For(junctor.DefaultTenant)
	first, next := m.key("a", "one"), m.key("a", "")
	first.Tenant = junctor.DefaultTenant
	ok(t, def.CreateKey(t.Context(), first))
	got := must(def.RotateKey(t.Context(), next, moment(20), moment(10)))(t)
	want := first
	want.Prefix, want.Hash, want.Former, want.FormerUntil = next.Prefix, next.Hash, first.Hash, moment(20)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	third := m.key("a", "")
	got = must(def.RotateKey(t.Context(), third, moment(10), moment(10)))(t)
	want.Prefix, want.Hash, want.Former, want.FormerUntil = third.Prefix, third.Hash, [32]byte{}, time.Time{}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("without a grace (-want +got):\n%s", diff)
	}
	_, err := st.For("acme").RotateKey(t.Context(), m.key("a", ""), moment(20), moment(10))
	fails(t, err, junctor.CodeNotFound)
	other := m.key("b", "other")
	ok(t, def.CreateKey(t.Context(), other))
	other.ID = "a"
	_, err = def.RotateKey(t.Context(), other, moment(20), moment(10))
	fails(t, err, junctor.CodeConflict)
	ok(t, def.RevokeKey(t.Context(), "a", moment(11)))
	_, err = def.RotateKey(t.Context(), m.key("a", ""), moment(20), moment(12))
	fails(t, err, junctor.CodeNotFound)
}

func replaceAdmin(t *trial) {
	var m fixtures
	st := t.open().For(junctor.DefaultTenant)
	first := m.key("first", "whatever it is called")
	stored := must(st.ReplaceAdmin(t.Context(), first))(t)
	if stored.Name != store.AdminName || stored.Tenant != junctor.DefaultTenant || stored.ID != "first" {
		t.Fatalf("the first admin key is stored as %+v", stored)
	}
	ok(t, st.TouchKeys(t.Context(), map[string]time.Time{"first": moment(50)}))

	// The same hash again changes nothing.
	again := m.key("again", "")
	again.Hash = first.Hash
	kept := must(st.ReplaceAdmin(t.Context(), again))(t)
	if kept.ID != "first" || !kept.LastUsedAt.Equal(moment(50)) || !kept.CreatedAt.Equal(first.CreatedAt) {
		t.Errorf("the same admin key again is stored as %+v", kept)
	}

	// Another hash takes its place, under its id, and lives even if the former was revoked.
	ok(t, st.RevokeKey(t.Context(), "first", moment(60)))
	second := m.key("second", "")
	stored = must(st.ReplaceAdmin(t.Context(), second))(t)
	want := second
	want.ID, want.Name, want.Tenant = "first", store.AdminName, junctor.DefaultTenant
	if diff := cmp.Diff(want, stored); diff != "" {
		t.Errorf("ReplaceAdmin (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]junctor.Key{want}, must(st.Keys(t.Context()))(t)); diff != "" {
		t.Errorf("Keys (-want +got):\n%s", diff)
	}

	// A revoked admin key that is set again lives again.
	ok(t, st.RevokeKey(t.Context(), "first", moment(70)))
	if k := must(st.ReplaceAdmin(t.Context(), second))(t); !k.RevokedAt.IsZero() {
		t.Errorf("set again, the admin key is still revoked: %+v", k)
	}

	// Nobody's key becomes the admin key, and a failure leaves the former one.
	other := m.key("other", "other")
	ok(t, st.CreateKey(t.Context(), other))
	_, err := st.ReplaceAdmin(t.Context(), other)
	fails(t, err, junctor.CodeConflict)
	if k := must(st.Key(t.Context(), "first"))(t); k.Hash != second.Hash {
		t.Error("a refused replacement changed the admin key")
	}
}
