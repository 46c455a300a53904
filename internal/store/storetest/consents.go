package storetest

import (
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/go-cmp/cmp"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store"
)

func consent(id, user, client string) junctor.Consent {
	return junctor.Consent{
		ID: id, Tenant: junctor.DefaultTenant, User: user, Client: client, ClientName: "Pad \"of\" é", Redirect: "http://127.0.0.1/cb", Resource: "https://j.example/mcp",
		Scopes: []junctor.Scope{junctor.ScopeToolsRead}, CreatedAt: moment(1), UpdatedAt: moment(1),
	}
}

// token makes a token of its own.
func (m *fixtures) token(kind store.TokenKind, consent, family string) store.ConsentToken {
	n := m.n.Add(1)
	t := store.ConsentToken{
		Kind: kind, Consent: consent, Family: family, Scopes: []junctor.Scope{junctor.ScopeToolsRead}, CreatedAt: moment(int(n)), ExpiresAt: moment(1000),
	}
	copy(t.Hash[:], "token "+strconv.FormatInt(n, 10))
	return t
}

func consentTests() map[string]func(*trial) {
	return map[string]func(*trial){
		"consents/clients":               clients,
		"consents/come back whole":       consentsWhole,
		"consents/a token is used once":  tokenOnce,
		"consents/end with what is gone": consentsEnd,
	}
}

func clients(t *trial) {
	st := t.open()
	def := st.For(junctor.DefaultTenant)
	add := func(id string, at int) junctor.Client {
		c := junctor.Client{ID: id, Name: "é", Redirects: []string{"https://a.example/cb", "b://c"}, CreatedAt: moment(at)}
		ok(t, def.AddClient(t.Context(), c, 2))
		return c
	}
	one := add("one", 1)
	if diff := cmp.Diff(one, must(def.Client(t.Context(), "one"))(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	ok(t, def.TouchClient(t.Context(), "one", moment(2)))
	ok(t, def.TouchClient(t.Context(), "nobody", moment(2)))
	add("two", 2)
	add("three", 3)
	add("four", 4)
	there := func() (ids string) {
		for _, id := range []string{"one", "two", "three", "four"} {
			if _, err := def.Client(t.Context(), id); err == nil {
				ids += id + " "
			} else {
				fails(t, err, junctor.CodeNotFound)
			}
		}
		return ids
	}
	if got := there(); got != "one three four " { // the oldest that nobody wanted has gone
		t.Errorf("there are %s", got)
	}
	must(st.Sweep(t.Context(), moment(3).Add(store.ClientLife)))(t)
	if got := there(); got != "one four " {
		t.Errorf("after a sweep there are %s", got)
	}
	_, err := st.For("acme").Client(t.Context(), "one")
	fails(t, err, junctor.CodeNotFound)
}

func consentsWhole(t *trial) {
	var m fixtures
	st := t.open()
	def := st.For(junctor.DefaultTenant)
	ok(t, def.CreateUser(t.Context(), user("a", "alice")))
	ok(t, def.CreateUser(t.Context(), user("b", "bob")))
	code := m.token(store.TokenCode, "", "f1")
	code.Redirect, code.Challenge = "http://127.0.0.1:5/cb", "abc"
	want := consent("one", "a", "pad")
	if id := must(def.Allow(t.Context(), want, code))(t); id != "one" {
		t.Errorf("its id is %q", id)
	}
	again := consent("two", "a", "pad")
	again.Scopes, again.UpdatedAt = append(again.Scopes, junctor.ScopeToolsCall), moment(9)
	if id := must(def.Allow(t.Context(), again, m.token(store.TokenCode, "", "f2")))(t); id != "one" {
		t.Errorf("the same consent has another id, %q", id)
	}
	want.Scopes, want.UpdatedAt = again.Scopes, again.UpdatedAt
	bobs := consent("three", "b", "pad")
	must(def.Allow(t.Context(), bobs, m.token(store.TokenCode, "", "f3")))(t)

	if diff := cmp.Diff([]junctor.Consent{want, bobs}, must(def.Consents(t.Context(), ""))(t)); diff != "" {
		t.Errorf("all (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]junctor.Consent{bobs}, must(def.Consents(t.Context(), "b"))(t)); diff != "" {
		t.Errorf("of one (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, must(def.ConsentOf(t.Context(), "a", "pad", want.Resource))(t)); diff != "" {
		t.Errorf("one (-want +got):\n%s", diff)
	}
	got, of, err := st.ConsentToken(t.Context(), code.Hash)
	ok(t, err)
	code.Consent = "one"
	if diff := cmp.Diff(code, got) + cmp.Diff(want, of); diff != "" {
		t.Errorf("its code (-want +got):\n%s", diff)
	}
	_, _, err = st.ConsentToken(t.Context(), [32]byte{1})
	fails(t, err, junctor.CodeNotFound)
	_, err = def.ConsentOf(t.Context(), "a", "pad", "elsewhere")
	fails(t, err, junctor.CodeNotFound)
	_, err = def.Allow(t.Context(), consent("x", "nobody", "pad"), m.token(store.TokenCode, "", "f"))
	fails(t, err, junctor.CodeNotFound)
	for _, tenant := range []junctor.TenantID{"acme"} {
		if list := must(st.For(tenant).Consents(t.Context(), ""))(t); len(list) > 0 {
			t.Errorf("%s sees %+v", tenant, list)
		}
		fails(t, st.For(tenant).RevokeConsent(t.Context(), "one"), junctor.CodeNotFound)
	}
}

func tokenOnce(t *trial) {
	var m fixtures
	stores := []*store.Store{t.open(), t.open(), t.open()}
	def := stores[0].For(junctor.DefaultTenant)
	ok(t, def.CreateUser(t.Context(), user("a", "alice")))
	last := m.token(store.TokenCode, "", "f")
	must(def.Allow(t.Context(), consent("one", "a", "pad"), last))(t)
	for range 10 {
		used, _, err := stores[0].ConsentToken(t.Context(), last.Hash)
		ok(t, err)
		var got atomic.Pointer[store.ConsentToken]
		var n atomic.Int64
		var wg sync.WaitGroup
		for i := range 9 {
			next := m.token(store.TokenRefresh, "one", "f")
			access := m.token(store.TokenAccess, "one", "f")
			wg.Go(func() {
				first, err := stores[i%len(stores)].For(junctor.DefaultTenant).UseToken(t.Context(), used, []byte(strconv.Itoa(i)), moment(5), next, access)
				if err != nil {
					t.Error(err)
				}
				if first {
					n.Add(1)
					next.Salt = []byte(strconv.Itoa(i))
					got.Store(&next)
				}
			})
		}
		wg.Wait()
		if n.Load() != 1 {
			t.Fatalf("%d used one token", n.Load())
		}
		used, of, err := stores[1].ConsentToken(t.Context(), last.Hash)
		ok(t, err)
		if !used.UsedAt.Equal(moment(5)) || string(used.Salt) != string(got.Load().Salt) || !of.LastUsedAt.Equal(moment(5)) {
			t.Errorf("a used token is %+v of %+v", used, of)
		}
		last = *got.Load()
	}
	if n := len(must(stores[2].AccessTokens(t.Context(), moment(999)))(t)); n != 10 {
		t.Errorf("%d access tokens", n)
	}
	if n := len(must(stores[2].AccessTokens(t.Context(), moment(1000)))(t)); n != 0 {
		t.Errorf("%d access tokens that have expired", n)
	}
}

func consentsEnd(t *trial) {
	var m fixtures
	st := t.open()
	def := st.For(junctor.DefaultTenant)
	ok(t, def.CreateUser(t.Context(), user("a", "alice")))
	ok(t, def.CreateUser(t.Context(), user("b", "bob")))
	hold := func(id, user, client, family string) store.ConsentToken {
		code, access := m.token(store.TokenCode, "", family), m.token(store.TokenAccess, id, family)
		must(def.Allow(t.Context(), consent(id, user, client), code))(t)
		if first := must(def.UseToken(t.Context(), code, nil, moment(2), access))(t); !first {
			t.Fatal("it is new")
		}
		return access
	}
	revoked, ended, stays := hold("1", "a", "x", "f1"), hold("2", "a", "y", "f2"), hold("2", "a", "y", "f3")
	gone := hold("3", "b", "x", "f4")
	ok(t, def.RevokeConsent(t.Context(), "1"))
	fails(t, def.RevokeConsent(t.Context(), "1"), junctor.CodeNotFound)
	ok(t, def.EndFamily(t.Context(), "f2"))
	ok(t, def.DeleteUser(t.Context(), "b", moment(3)))
	for name, token := range map[string]store.ConsentToken{"of a consent that was revoked": revoked, "of a family that ended": ended, "of a user who is gone": gone} {
		if _, _, err := st.ConsentToken(t.Context(), token.Hash); junctor.CodeOf(err) != junctor.CodeNotFound {
			t.Errorf("a token %s: %v", name, err)
		}
	}
	if diff := cmp.Diff([][32]byte{stays.Hash}, must(st.AccessTokens(t.Context(), moment(0)))(t)); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
	must(st.Sweep(t.Context(), moment(1000).Add(time.Second)))(t)
	if left := must(st.AccessTokens(t.Context(), moment(0)))(t); len(left) > 0 {
		t.Errorf("after a sweep: %d", len(left))
	}
}
