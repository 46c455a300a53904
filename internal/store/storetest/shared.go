package storetest

import (
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store"

	"github.com/google/go-cmp/cmp"
)

func sharedTests() map[string]func(*trial) {
	return map[string]func(*trial){
		"shared/many writers in two stores": manyWriters,
		"shared/a state has one first user": oneFirstUser,
		"shared/one store sees the other": func(t *trial) {
			a, b := t.open(), t.open()
			for n := range 20 {
				value := json.RawMessage(fmt.Sprint(n))
				ok(t, a.For(junctor.DefaultTenant).PutSetting(t.Context(), "turn", value))
				if got := must(b.For(junctor.DefaultTenant).Setting(t.Context(), "turn"))(t); string(got.Value) != string(value) {
					t.Fatalf("one store put %s, the other reads %s", value, got.Value)
				}
				a, b = b, a
			}
		},
		"shared/reopening keeps everything":  reopening,
		"shared/one admin, from any replica": oneAdmin,
		"shared/what is removed stays away":  staysAway,
	}
}

func manyWriters(t *trial) {
	const writers, rounds = 8, 12
	var m fixtures
	stores := []*store.Store{t.open(), t.open()}
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			st := stores[w%len(stores)].For(junctor.DefaultTenant)
			for n := range rounds {
				id := fmt.Sprintf("w%d-%d", w, n)
				for _, err := range []error{
					st.CreateKey(t.Context(), m.key(id, id)),
					st.PutSetting(t.Context(), id, json.RawMessage(`true`)),
					st.PutSetting(t.Context(), "shared", json.RawMessage(`true`)),
					st.TouchKeys(t.Context(), map[string]time.Time{id: moment(n)}),
					st.EnsureBuiltin(t.Context(), id, id),
					st.RemoveServer(t.Context(), id),
				} {
					if err != nil {
						t.Errorf("writer %d, round %d: %v (%v)", w, n, err, junctor.AsError(err).Cause)
					}
				}
			}
		})
	}
	wg.Wait()
	st := stores[0].For(junctor.DefaultTenant)
	if n := len(must(st.Keys(t.Context()))(t)); n != writers*rounds {
		t.Errorf("%d keys, want %d", n, writers*rounds)
	}
	if n := len(must(st.Settings(t.Context()))(t)); n != writers*rounds+1 {
		t.Errorf("%d settings, want %d", n, writers*rounds+1)
	}
	if n := len(must(st.Servers(t.Context()))(t)); n != 0 {
		t.Errorf("%d servers are left", n)
	}
}

func oneFirstUser(t *trial) {
	const users, states = 12, 15
	stores := []*store.Store{t.open(), t.open(), t.open()}
	for n := range states {
		var firsts atomic.Int64
		var wg sync.WaitGroup
		start := make(chan struct{})
		for u := range users {
			wg.Go(func() {
				<-start
				first, err := stores[u%len(stores)].For(junctor.DefaultTenant).UseState(t.Context(), fmt.Sprint("state ", n), moment(0))
				if err != nil {
					t.Errorf("UseState: %v", err)
				}
				if first {
					firsts.Add(1)
				}
			})
		}
		close(start)
		wg.Wait()
		if firsts.Load() != 1 {
			t.Fatalf("%d of %d users of one state were the first", firsts.Load(), users)
		}
	}
}

// oneAdmin sets the admin key from several stores at once: none is refused, and
// one key is left.
func oneAdmin(t *trial) {
	var m fixtures
	stores := []*store.Store{t.open(), t.open(), t.open()}
	for range 5 {
		var wg sync.WaitGroup
		for n := range 9 {
			k := m.key(fmt.Sprint("admin", m.n.Load()), "")
			wg.Go(func() {
				if _, err := stores[n%len(stores)].For(junctor.DefaultTenant).ReplaceAdmin(t.Context(), k); err != nil {
					t.Errorf("ReplaceAdmin: %v (%v)", err, junctor.AsError(err).Cause)
				}
			})
		}
		wg.Wait()
		if keys := must(stores[0].Keys(t.Context()))(t); len(keys) != 1 {
			t.Fatalf("%d admin keys", len(keys))
		}
	}
}

// staysAway ensures a server from one store while another removes it.
func staysAway(t *trial) {
	a, b := t.open().For(junctor.DefaultTenant), t.open().For(junctor.DefaultTenant)
	for n := range 30 {
		id := fmt.Sprint("s", n)
		ok(t, a.EnsureBuiltin(t.Context(), id, id))
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if err := a.EnsureBuiltin(t.Context(), id, id); err != nil {
					t.Errorf("EnsureBuiltin: %v", err)
				}
			})
		}
		ok(t, b.RemoveServer(t.Context(), id))
		wg.Wait()
		if _, err := a.Server(t.Context(), id); junctor.CodeOf(err) != junctor.CodeNotFound {
			t.Fatalf("the server %s is back: %v", id, err)
		}
	}
}

// contents is everything that a store answers.
type contents struct {
	Tenants  []junctor.Tenant
	Keys     []junctor.Key
	Users    []junctor.User
	Logins   []junctor.Login
	Servers  []junctor.Server
	Settings []store.Setting
	Session  store.Session
	Revoked  bool
	Unused   bool
	Ring     []store.RingKey
	Instance string
}

func reopening(t *trial) {
	var m fixtures
	read := func(st *store.Store) contents {
		acme := st.For("acme")
		return contents{
			Tenants:  must(st.Tenants(t.Context()))(t),
			Keys:     must(st.Keys(t.Context()))(t),
			Users:    must(st.Users(t.Context()))(t),
			Logins:   must(st.Logins(t.Context(), moment(0)))(t),
			Servers:  must(acme.Servers(t.Context()))(t),
			Settings: must(acme.Settings(t.Context()))(t),
			Session:  must(acme.Session(t.Context(), "s"))(t),
			Revoked:  must(acme.Revoked(t.Context(), "r"))(t),
			Unused:   must(acme.UseState(t.Context(), "u", moment(1)))(t),
			Ring:     must(st.RingKeys(t.Context()))(t),
			Instance: must(st.Instance(t.Context()))(t),
		}
	}
	st := t.open()
	ok(t, st.EnsureTenant(t.Context(), "acme", "Acme"))
	acme := st.For("acme")
	ok(t, acme.CreateUser(t.Context(), user("u", "alice")))
	ok(t, acme.AddLogin(t.Context(), m.login("l", "u")))
	ok(t, acme.CreateKey(t.Context(), m.key("a", "one")))
	ok(t, acme.RevokeKey(t.Context(), "a", moment(1)))
	ok(t, acme.EnsureBuiltin(t.Context(), "demo", "Demo"))
	ok(t, acme.SetServerState(t.Context(), "demo", junctor.StateError, "why"))
	ok(t, acme.PutSetting(t.Context(), "a", json.RawMessage(`{"b":[1]}`)))
	ok(t, acme.SaveSession(t.Context(), session("s", "alice", 5)))
	ok(t, acme.RevokeSession(t.Context(), "r", moment(5)))
	must(acme.UseState(t.Context(), "u", moment(1)))(t)
	ok(t, st.AddRingKey(t.Context(), store.RingKey{ID: "k", CreatedAt: moment(1), Wrapped: []byte{0, 1, 2}}))
	before := read(st)
	ok(t, st.Close())

	if diff := cmp.Diff(before, read(t.open())); diff != "" {
		t.Errorf("reopening changed (-before +after):\n%s", diff)
	}
	if !before.Revoked || before.Unused || len(before.Tenants) != 2 || len(before.Keys) != 1 || len(before.Ring) != 1 || len(before.Users) != 1 || len(before.Logins) != 1 {
		t.Errorf("before: %+v", before)
	}
}
