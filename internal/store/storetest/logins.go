package storetest

import (
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store"

	"github.com/google/go-cmp/cmp"
)

// login makes a login of its own.
func (m *fixtures) login(id, user string) junctor.Login {
	n := m.n.Add(1)
	l := junctor.Login{ID: id, User: user, How: junctor.LoginPassword, CreatedAt: moment(int(n)), ExpiresAt: moment(1000)}
	copy(l.Hash[:], "login "+strconv.FormatInt(n, 10))
	return l
}

func loginTests() map[string]func(*trial) {
	return map[string]func(*trial){
		"logins/come back whole": func(t *trial) {
			var m fixtures
			st := t.open()
			def := st.For(junctor.DefaultTenant)
			ok(t, def.CreateUser(t.Context(), user("a", "alice")))
			one := m.login("one", "a")
			one.Tenant, one.LastUsedAt = junctor.DefaultTenant, moment(3)
			two := m.login("two", "a")
			two.Tenant, two.ExpiresAt = junctor.DefaultTenant, moment(500)
			ok(t, def.AddLogin(t.Context(), one))
			ok(t, def.AddLogin(t.Context(), two))
			ok(t, def.AddLink(t.Context(), m.login("link", "a"))) // is none
			if diff := cmp.Diff([]junctor.Login{one, two}, must(st.Logins(t.Context(), moment(499)))(t)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]junctor.Login{one}, must(st.Logins(t.Context(), moment(500)))(t)); diff != "" {
				t.Errorf("after an end (-want +got):\n%s", diff)
			}
			fails(t, def.AddLogin(t.Context(), m.login("x", "nobody")), junctor.CodeNotFound)
			again := m.login("three", "a")
			again.Hash = one.Hash
			fails(t, def.AddLogin(t.Context(), again), junctor.CodeConflict)
			must(st.Sweep(t.Context(), moment(500)))(t)
			if left := must(st.Logins(t.Context(), moment(0)))(t); len(left) != 1 {
				t.Errorf("after a sweep: %+v", left)
			}
		},
		"logins/revoked": func(t *trial) {
			var m fixtures
			st := t.open()
			ok(t, st.EnsureTenant(t.Context(), "acme", "Acme"))
			def, acme := st.For(junctor.DefaultTenant), st.For("acme")
			ok(t, def.CreateUser(t.Context(), user("a", "alice")))
			ok(t, def.CreateUser(t.Context(), user("b", "bob")))
			ok(t, acme.CreateUser(t.Context(), user("a", "alice")))
			link := m.login("link", "a")
			ok(t, def.AddLink(t.Context(), link))
			for _, l := range []junctor.Login{m.login("1", "a"), m.login("2", "a"), m.login("3", "a"), m.login("4", "b")} {
				ok(t, def.AddLogin(t.Context(), l))
			}
			ok(t, acme.AddLogin(t.Context(), m.login("1", "a")))
			left := func() (ids string) {
				for _, l := range must(st.Logins(t.Context(), moment(0)))(t) {
					ids += string(l.Tenant[0]) + l.ID + " "
				}
				return ids
			}
			fails(t, acme.RevokeLogin(t.Context(), "2", moment(5)), junctor.CodeNotFound) // the wall
			fails(t, def.RevokeLogin(t.Context(), "link", moment(5)), junctor.CodeNotFound)
			for range 2 {
				ok(t, def.RevokeLogin(t.Context(), "2", moment(5)))
			}
			if got := left(); got != "d1 d3 d4 a1 " {
				t.Errorf("left %s", got)
			}
			ok(t, def.RevokeLogins(t.Context(), "a", "3", moment(6)))
			if got := left(); got != "d3 d4 a1 " {
				t.Errorf("left %s", got)
			}
			_, err := st.UseLink(t.Context(), link.Hash, m.login("new", ""), moment(7))
			fails(t, err, junctor.CodeNotFound)
		},
		"logins/touch only moves forward": func(t *trial) {
			var m fixtures
			st := t.open()
			def := st.For(junctor.DefaultTenant)
			ok(t, def.CreateUser(t.Context(), user("a", "alice")))
			ok(t, def.AddLogin(t.Context(), m.login("1", "a")))
			for _, at := range []int{10, 5} {
				ok(t, def.TouchLogins(t.Context(), map[string]time.Time{"1": moment(at), "nobody": moment(at)}))
			}
			if l := must(st.Logins(t.Context(), moment(0)))(t)[0]; !l.LastUsedAt.Equal(moment(10)) {
				t.Errorf("last used %s", l.LastUsedAt)
			}
		},
		"logins/a link is good for one":  linkOnce,
		"logins/links of starts":         startLinks,
		"logins/links that open nothing": linksRefused,
	}
}

func linkOnce(t *trial) {
	var m fixtures
	stores := []*store.Store{t.open(), t.open(), t.open()}
	ok(t, stores[0].EnsureTenant(t.Context(), "acme", "Acme"))
	ok(t, stores[0].For("acme").CreateUser(t.Context(), user("a", "alice")))
	for range 10 {
		link := m.login("link"+strconv.FormatInt(m.n.Load(), 10), "a")
		ok(t, stores[0].For("acme").AddLink(t.Context(), link))
		var got atomic.Int64
		var wg sync.WaitGroup
		for n := range 9 {
			l := m.login("login"+strconv.FormatInt(m.n.Load(), 10), "")
			wg.Go(func() {
				made, err := stores[n%len(stores)].UseLink(t.Context(), link.Hash, l, moment(1))
				switch {
				case err == nil && made.Tenant == "acme" && made.User == "a" && made.How == junctor.LoginLink:
					got.Add(1)
				case junctor.CodeOf(err) != junctor.CodeNotFound:
					t.Errorf("UseLink: %+v, %v", made, err)
				}
			})
		}
		wg.Wait()
		if got.Load() != 1 {
			t.Fatalf("%d got a login by one link", got.Load())
		}
	}
	if n := len(must(stores[1].Logins(t.Context(), moment(1)))(t)); n != 10 {
		t.Errorf("%d logins by 10 links", n)
	}
}

// startLinks checks that a start ends the link of the former one, and that the first sign-in
// of a tenant is recorded for good and ends the link of a start, but no other.
func startLinks(t *trial) {
	var m fixtures
	st := t.open()
	ok(t, st.EnsureTenant(t.Context(), "acme", "Acme"))
	def, acme := st.For(junctor.DefaultTenant), st.For("acme")
	ok(t, def.CreateUser(t.Context(), user("a", "alice")))
	ok(t, acme.CreateUser(t.Context(), user("a", "alice")))
	first, second, elsewhere, sent := m.login("1", "a"), m.login("2", "a"), m.login("3", "a"), m.login("4", "a")
	ok(t, def.ReplaceStartLink(t.Context(), first))
	ok(t, acme.ReplaceStartLink(t.Context(), elsewhere))
	ok(t, def.AddLink(t.Context(), sent))
	ok(t, def.ReplaceStartLink(t.Context(), second))
	fails(t, def.ReplaceStartLink(t.Context(), m.login("5", "nobody")), junctor.CodeNotFound)
	_, err := st.UseLink(t.Context(), first.Hash, m.login("6", ""), moment(20))
	fails(t, err, junctor.CodeNotFound)
	if must(def.HasSignedIn(t.Context()))(t) {
		t.Error("somebody has signed in")
	}
	ok(t, def.AddLogin(t.Context(), m.login("7", "a")))
	_, err = st.UseLink(t.Context(), second.Hash, m.login("8", ""), moment(20))
	fails(t, err, junctor.CodeNotFound)
	if !must(def.HasSignedIn(t.Context()))(t) || must(acme.HasSignedIn(t.Context()))(t) {
		t.Error("the sign-in was recorded for another tenant, or not at all")
	}
	must(st.UseLink(t.Context(), sent.Hash, m.login("9", ""), moment(20)))(t)
	made := must(st.UseLink(t.Context(), elsewhere.Hash, m.login("10", ""), moment(20)))(t)
	if made.How != junctor.LoginLink || !must(acme.HasSignedIn(t.Context()))(t) {
		t.Errorf("by the link of a start: %+v", made)
	}
	must(st.Sweep(t.Context(), moment(2000)))(t)
	if !must(def.HasSignedIn(t.Context()))(t) {
		t.Error("forgotten when the login was swept")
	}
}

func linksRefused(t *trial) {
	var m fixtures
	st := t.open()
	def := st.For(junctor.DefaultTenant)
	ok(t, def.CreateUser(t.Context(), user("a", "alice")))
	off := user("b", "bob")
	off.Disabled = true
	ok(t, def.CreateUser(t.Context(), off))
	disabled, expired, session := m.login("1", "b"), m.login("2", "a"), m.login("3", "a")
	expired.ExpiresAt = moment(10)
	ok(t, def.AddLink(t.Context(), disabled))
	ok(t, def.AddLink(t.Context(), expired))
	ok(t, def.AddLogin(t.Context(), session))
	for name, hash := range map[string][32]byte{"disabled": disabled.Hash, "expired": expired.Hash, "a session": session.Hash, "unknown": {1}} {
		if _, err := st.UseLink(t.Context(), hash, m.login(name, ""), moment(10)); junctor.CodeOf(err) != junctor.CodeNotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := len(must(st.Logins(t.Context(), moment(1)))(t)); n != 1 {
		t.Errorf("%d logins", n)
	}
}
