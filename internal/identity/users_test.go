package identity_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/identity"

	"pgregory.net/rapid"
)

// user makes a user of the default tenant.
func (b *bundle) user(t testing.TB, name string, role junctor.UserRole) junctor.User {
	t.Helper()
	u, err := b.CreateUser(t.Context(), junctor.DefaultTenant, identity.NewUser{Name: name, Role: role})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// keyOf makes a key with an owner.
func (b *bundle) keyOf(t testing.TB, n identity.NewKey) (junctor.Key, string) {
	t.Helper()
	n.Name = "of somebody"
	k, token, err := b.CreateKey(t.Context(), junctor.DefaultTenant, n)
	if err != nil {
		t.Fatal(err)
	}
	return k, token
}

// agent puts an agent's row there, as the registry of agents does.
func (b *bundle) agent(t testing.TB, name, owner string) {
	t.Helper()
	if err := b.addAgent(t.Context(), name, owner); err != nil {
		t.Fatal(err)
	}
	if err := b.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func scopes(s ...junctor.Scope) []junctor.Scope { return s }

func TestHoldersOfKeys(t *testing.T) {
	t.Parallel()
	b := setup(t)
	dev := b.user(t, "dev", junctor.UserDeveloper)
	b.agent(t, "qa", junctor.UserOwner(dev.ID))
	one, first := b.keyOf(t, identity.NewKey{User: dev.ID, Scopes: scopes(junctor.ScopeToolsCall, junctor.ScopeKeysWrite)})
	_, second := b.keyOf(t, identity.NewKey{User: dev.ID, Scopes: scopes(junctor.ScopeToolsRead)})
	_, agents := b.keyOf(t, identity.NewKey{Agent: "qa", Scopes: scopes(junctor.ScopeToolsCall)})
	service, services := b.key(t, "ci", time.Time{})

	p, err := b.AuthenticateToken(first)
	if err != nil || p.Issuer != junctor.IssuerUser || p.Subject != dev.ID || p.User != dev.ID || p.Name != "dev" || p.Key != one.ID {
		t.Errorf("a user's key is %+v, %v", p, err)
	}
	q, err := b.AuthenticateToken(second)
	if err != nil || !q.Same(p) || q.Has(junctor.ScopeToolsCall) {
		t.Errorf("their other key is %+v, %v", q, err)
	}
	p, err = b.AuthenticateToken(agents)
	if err != nil || p.Issuer != junctor.IssuerAgent || p.Subject != "qa" || p.Agent != "qa" || p.User != dev.ID {
		t.Errorf("an agent's key is %+v, %v", p, err)
	}
	p, err = b.AuthenticateToken(services)
	if err != nil || p.Issuer != junctor.IssuerKey || p.Subject != service.ID || p.Key != service.ID || p.User != "" {
		t.Errorf("a service's key is %+v, %v", p, err)
	}

	for name, n := range map[string]identity.NewKey{
		"more than the role":  {User: dev.ID, Scopes: scopes(junctor.ScopeAdmin)},
		"more than any agent": {Agent: "qa", Scopes: scopes(junctor.ScopeBridgeCall)},
		"two owners":          {Agent: "qa", User: dev.ID, Scopes: scopes(junctor.ScopeToolsCall)},
	} {
		n.Name = "x"
		if _, _, err := b.CreateKey(t.Context(), junctor.DefaultTenant, n); junctor.CodeOf(err) != junctor.CodeInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, n := range map[string]identity.NewKey{"no user": {User: "x"}, "no agent": {Agent: "x"}} {
		n.Name, n.Scopes = "x", scopes(junctor.ScopeToolsCall)
		if _, _, err := b.CreateKey(t.Context(), junctor.DefaultTenant, n); junctor.CodeOf(err) != junctor.CodeNotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A key has no more than its user's role has now, and nothing while the user is
// switched off.
func TestRolesCutKeys(t *testing.T) {
	t.Parallel()
	b := setup(t)
	u := b.user(t, "ann", junctor.UserAdmin)
	_, token := b.keyOf(t, identity.NewKey{User: u.ID, Scopes: scopes(junctor.ScopeAdmin)})
	cookie, _, err := b.CreateLogin(t.Context(), u.Tenant, u.ID, junctor.LoginLink)
	if err != nil {
		t.Fatal(err)
	}
	set := func(change func(*junctor.User)) {
		t.Helper()
		if _, err := b.ChangeUser(t.Context(), u.Tenant, u.ID, func(u *junctor.User) error { change(u); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	for role, can := range map[junctor.UserRole]map[junctor.Scope]bool{
		junctor.UserAdmin:     {junctor.ScopeAdmin: true, junctor.ScopeToolsRead: true, junctor.ScopeServersWrite: true},
		junctor.UserDeveloper: {junctor.ScopeAdmin: false, junctor.ScopeToolsRead: true, junctor.ScopeServersWrite: true},
		junctor.UserViewer:    {junctor.ScopeAdmin: false, junctor.ScopeToolsRead: true, junctor.ScopeServersWrite: false, junctor.ScopeToolsCall: false},
	} {
		set(func(u *junctor.User) { u.Role = role })
		byKey, err := b.AuthenticateToken(token)
		if err != nil {
			t.Fatal(err)
		}
		byCookie, err := b.AuthenticateCookie(cookie)
		if err != nil || !byCookie.Same(byKey) || byCookie.Login == "" || byCookie.Key != "" {
			t.Fatalf("%+v, %v", byCookie, err)
		}
		for scope, want := range can {
			if byKey.Has(scope) != want || byCookie.Has(scope) != want {
				t.Errorf("%s of a %s: key %v, login %v", scope, role, byKey.Has(scope), byCookie.Has(scope))
			}
		}
	}
	set(func(u *junctor.User) { u.Disabled = true })
	_, err = b.AuthenticateToken(token)
	fails(t, err, junctor.CodeUnauthenticated)
	_, err = b.AuthenticateCookie(cookie)
	fails(t, err, junctor.CodeUnauthenticated)
	_, _, err = b.CreateLogin(t.Context(), u.Tenant, u.ID, junctor.LoginLink)
	fails(t, err, junctor.CodeUnauthenticated)
	set(func(u *junctor.User) { u.Disabled = false })
	if _, err := b.AuthenticateToken(token); err != nil {
		t.Errorf("switched on again: %v", err)
	}
	if _, err = b.AuthenticateCookie(cookie); err == nil {
		t.Error("a login outlived that its user was switched off")
	}
}

// An agent acts for the user who made it: while they are switched off, so is it.
func TestAgentsOfADisabledUser(t *testing.T) {
	t.Parallel()
	b := setup(t)
	u := b.user(t, "dev", junctor.UserDeveloper)
	token := map[string]string{}
	for name, owner := range map[string]string{"theirs": junctor.UserOwner(u.ID), "operators": b.OperatorPrincipal().ID(), "nobodys": ""} {
		b.agent(t, name, owner)
		_, token[name] = b.keyOf(t, identity.NewKey{Agent: name, Scopes: scopes(junctor.ScopeToolsCall)})
	}
	revoked, gone := b.keyOf(t, identity.NewKey{Agent: "theirs", Scopes: scopes(junctor.ScopeToolsCall)})
	if err := b.RevokeKey(t.Context(), u.Tenant, revoked.ID); err != nil {
		t.Fatal(err)
	}
	_, asRevoked := b.AuthenticateToken(gone)
	for _, disabled := range []bool{true, false} {
		if _, err := b.ChangeUser(t.Context(), u.Tenant, u.ID, func(u *junctor.User) error { u.Disabled = disabled; return nil }); err != nil {
			t.Fatal(err)
		}
		for name := range token {
			p, err := b.AuthenticateToken(token[name])
			switch {
			case disabled && name == "theirs":
				if err == nil || err.Error() != asRevoked.Error() {
					t.Errorf("the agent of a disabled user: %+v, %v; a revoked key: %v", p, err, asRevoked)
				}
			case err != nil:
				t.Errorf("disabled %v: %s: %v", disabled, name, err)
			case (p.User == u.ID) != (name == "theirs"):
				t.Errorf("%s acts for %q", name, p.User)
			}
		}
	}
}

func TestDeletedOwners(t *testing.T) {
	t.Parallel()
	b := setup(t)
	u := b.user(t, "dev", junctor.UserDeveloper)
	b.agent(t, "qa", "")
	_, theirs := b.keyOf(t, identity.NewKey{User: u.ID, Scopes: scopes(junctor.ScopeToolsCall)})
	_, agents := b.keyOf(t, identity.NewKey{Agent: "qa", Scopes: scopes(junctor.ScopeToolsCall)})
	_, stays := b.key(t, "ci", time.Time{})
	cookie, _, err := b.CreateLogin(t.Context(), u.Tenant, u.ID, junctor.LoginLink)
	if err != nil {
		t.Fatal(err)
	}
	other := another(t, b)
	if err := b.RevokeAgentKeys(t.Context(), junctor.DefaultTenant, "qa"); err != nil {
		t.Fatal(err)
	}
	if err := b.DeleteUser(t.Context(), junctor.DefaultTenant, u.ID); err != nil {
		t.Fatal(err)
	}
	fails(t, b.DeleteUser(t.Context(), junctor.DefaultTenant, u.ID), junctor.CodeNotFound)
	if err := other.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, i := range []*identity.Identity{b.Identity, other} {
		for _, token := range []string{theirs, agents} {
			_, err := i.AuthenticateToken(token)
			fails(t, err, junctor.CodeUnauthenticated)
		}
		_, err := i.AuthenticateCookie(cookie)
		fails(t, err, junctor.CodeUnauthenticated)
		if _, err := i.AuthenticateToken(stays); err != nil {
			t.Error(err)
		}
	}
}

func TestManages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if _, _, _, err := b.CreateTenant(t.Context(), "acme", ""); err != nil {
		t.Fatal(err)
	}
	ann, dev, eve := b.user(t, "ann", junctor.UserAdmin), b.user(t, "dev", junctor.UserDeveloper), b.user(t, "eve", junctor.UserDeveloper)
	b.agent(t, "qa", junctor.UserOwner(dev.ID))
	call := scopes(junctor.ScopeToolsCall)
	keys := map[string]junctor.Key{}
	keys["ann's"], _ = b.keyOf(t, identity.NewKey{User: ann.ID, Scopes: scopes(junctor.ScopeAdmin)})
	keys["dev's"], _ = b.keyOf(t, identity.NewKey{User: dev.ID, Scopes: call})
	keys["the agent's"], _ = b.keyOf(t, identity.NewKey{Agent: "qa", Scopes: call})
	keys["a service's"], _ = b.keyOf(t, identity.NewKey{Scopes: call})
	keys["a strong service's"], _ = b.keyOf(t, identity.NewKey{Scopes: scopes(junctor.ScopeAdmin)})

	login := func(u junctor.User) *junctor.Principal {
		cookie, _, err := b.CreateLogin(t.Context(), u.Tenant, u.ID, junctor.LoginLink)
		if err != nil {
			t.Fatal(err)
		}
		p, err := b.AuthenticateCookie(cookie)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	_, weak := b.keyOf(t, identity.NewKey{User: dev.ID, Scopes: scopes(junctor.ScopeKeysWrite)})
	weakly, _ := b.AuthenticateToken(weak)
	service := &junctor.Principal{Tenant: junctor.DefaultTenant, Issuer: junctor.IssuerKey, Subject: "s", Scopes: scopes(junctor.ScopeKeysWrite, junctor.ScopeToolsCall)}
	for who, c := range map[string]struct {
		p    *junctor.Principal
		want []string
	}{
		"an admin":               {login(ann), []string{"a service's", "a strong service's", "ann's", "dev's", "the agent's"}},
		"the operator":           {b.OperatorPrincipal(), []string{"a service's", "a strong service's", "ann's", "dev's", "the agent's"}},
		"a developer":            {login(dev), []string{"dev's", "the agent's"}},
		"another":                {login(eve), nil},
		"a weak key of theirs":   {weakly, nil},
		"a service":              {service, []string{"a service's"}},
		"another tenant's admin": {&junctor.Principal{Tenant: "acme", Issuer: junctor.IssuerKey, Scopes: scopes(junctor.ScopeAdmin)}, nil},
	} {
		var got []string
		for name, k := range keys {
			if b.CanManageKey(c.p, &k) {
				got = append(got, name)
			}
		}
		if slices.Sort(got); !slices.Equal(got, c.want) {
			t.Errorf("%s manages %q, want %q", who, got, c.want)
		}
	}
}

// While a key is rotated again and again, no caller that takes the newest token
// it was given is ever refused, and nobody becomes somebody else.
func TestRotationUnderLoad(t *testing.T) {
	t.Parallel()
	b := setup(t)
	u := b.user(t, "dev", junctor.UserDeveloper)
	b.agent(t, "qa", "")
	call := scopes(junctor.ScopeToolsCall)
	for name, n := range map[string]identity.NewKey{"user": {User: u.ID, Scopes: call}, "agent": {Agent: "qa", Scopes: call}, "service": {Scopes: call}} {
		k, token := b.keyOf(t, n)
		was, err := b.AuthenticateToken(token)
		if err != nil {
			t.Fatal(err)
		}
		var now atomic.Pointer[string]
		var stop atomic.Bool
		var calls [2]atomic.Int64
		now.Store(&token)
		// each waits until every caller has begun another call, with what it was given last.
		each := func() {
			for n := range calls {
				for seen := calls[n].Load(); calls[n].Load() < seen+2 && !t.Failed(); {
					runtime.Gosched()
				}
			}
		}
		var wg sync.WaitGroup
		for n := range calls {
			wg.Go(func() {
				for !stop.Load() {
					p, err := b.AuthenticateToken(*now.Load())
					if err != nil || !p.Same(was) || !p.Has(junctor.ScopeToolsCall) {
						t.Errorf("%s: %+v, %v", name, p, err)
						return
					}
					calls[n].Add(1)
				}
			})
		}
		former := token
		for range 4 {
			_, next, err := b.RotateKey(t.Context(), junctor.DefaultTenant, k.ID, time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := b.AuthenticateToken(former); err != nil {
				t.Fatalf("%s: the former token in its grace: %v", name, err)
			}
			each() // with the former one, in its grace
			now.Store(&next)
			each() // and none with it any more
			former = next
		}
		stop.Store(true)
		wg.Wait()
		_, err = b.AuthenticateToken(token)
		fails(t, err, junctor.CodeUnauthenticated) // the first one's grace ended with the second rotation
	}
}

func TestRotateKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	k, first := b.key(t, "ci", time.Time{})
	_, second, err := b.RotateKey(t.Context(), junctor.DefaultTenant, k.ID, 10*time.Minute)
	if err != nil || second == first || second[:12] != k.Prefix {
		t.Fatalf("%q, %v", second[:12], err)
	}
	b.clock.add(10*time.Minute - time.Second)
	for _, token := range []string{first, second} {
		if _, err := b.AuthenticateToken(token); err != nil {
			t.Error(err)
		}
	}
	b.clock.add(time.Second)
	_, err = b.AuthenticateToken(first)
	fails(t, err, junctor.CodeUnauthenticated)
	_, third, err := b.RotateKey(t.Context(), junctor.DefaultTenant, k.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.AuthenticateToken(second)
	fails(t, err, junctor.CodeUnauthenticated)
	// A grace outlives neither the key's own end nor its revocation.
	short, token := b.key(t, "short", b.clock.Now().Add(time.Minute))
	if _, _, err := b.RotateKey(t.Context(), junctor.DefaultTenant, short.ID, time.Hour); err != nil {
		t.Fatal(err)
	}
	b.clock.add(time.Minute)
	_, err = b.AuthenticateToken(token)
	fails(t, err, junctor.CodeUnauthenticated)
	_, _, err = b.RotateKey(t.Context(), junctor.DefaultTenant, short.ID, time.Hour)
	fails(t, err, junctor.CodeNotFound)
	if _, _, err = b.RotateKey(t.Context(), junctor.DefaultTenant, k.ID, time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := b.RevokeKey(t.Context(), junctor.DefaultTenant, k.ID); err != nil {
		t.Fatal(err)
	}
	_, err = b.AuthenticateToken(third)
	fails(t, err, junctor.CodeUnauthenticated)
	for _, grace := range []time.Duration{-1, identity.MaxRotationGrace + 1} {
		_, _, err = b.RotateKey(t.Context(), junctor.DefaultTenant, k.ID, grace)
		fails(t, err, junctor.CodeInvalid)
	}
	if err := b.SetAdminKey(t.Context(), "chosen-by-the-operator"); err != nil {
		t.Fatal(err)
	}
	admin, _ := b.AuthenticateToken("chosen-by-the-operator")
	_, _, err = b.RotateKey(t.Context(), junctor.DefaultTenant, admin.Subject, 0)
	fails(t, err, junctor.CodeConflict)
}

func TestTenants(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, k, token, err := b.CreateTenant(t.Context(), "acme", "Acme")
	if err != nil {
		t.Fatal(err)
	}
	p, err := b.AuthenticateToken(token)
	if err != nil || p.Tenant != "acme" || !p.Has(junctor.ScopeAdmin) || p.Operator() {
		t.Errorf("its admin is %+v, %v", p, err)
	}
	again, next, err := b.ReplaceAdminKey(t.Context(), "acme")
	if err != nil || again.ID != k.ID {
		t.Fatalf("%+v, %v", again, err)
	}
	_, err = b.AuthenticateToken(token)
	fails(t, err, junctor.CodeUnauthenticated)
	if q, err := b.AuthenticateToken(next); err != nil || !q.Same(p) {
		t.Errorf("%+v, %v", q, err)
	}
	_, _, err = b.ReplaceAdminKey(t.Context(), "nobody")
	fails(t, err, junctor.CodeNotFound)
	_, _, err = b.ReplaceAdminKey(t.Context(), junctor.DefaultTenant)
	fails(t, err, junctor.CodeInvalid)
	_, _, _, err = b.CreateTenant(t.Context(), "acme", "")
	fails(t, err, junctor.CodeConflict)
}

// Whatever names, passwords and tenants there are: who a login is, is who
// signed in, in their tenant, by their password, and by nothing else.
func TestPasswords(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Cheapen()
	tenants := []junctor.TenantID{"a", "b"}
	for _, tenant := range tenants {
		if _, _, _, err := b.CreateTenant(t.Context(), tenant, ""); err != nil {
			t.Fatal(err)
		}
	}
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		password := rapid.StringN(12, 40, 200).Draw(rt, "password")
		wrong := rapid.StringN(1, 40, 200).Draw(rt, "wrong")
		name := fmt.Sprint("user ", round)
		var ids []string
		for _, tenant := range tenants {
			u, err := b.CreateUser(t.Context(), tenant, identity.NewUser{Name: name, Role: junctor.UserViewer})
			if err != nil {
				rt.Fatal(err)
			}
			ids = append(ids, u.ID)
		}
		a, other := tenants[0], tenants[1]
		if err := b.SetPassword(t.Context(), a, ids[0], password, ""); err != nil {
			rt.Fatal(err)
		}
		cookie, _, err := b.SignIn(t.Context(), a, name, password)
		if err != nil {
			rt.Fatal(err)
		}
		if p, err := b.AuthenticateCookie(cookie); err != nil || p.Tenant != a || p.User != ids[0] {
			rt.Fatalf("%+v, %v", p, err)
		}
		if _, _, err := b.SignIn(t.Context(), other, name, password); junctor.CodeOf(err) != junctor.CodeUnauthenticated {
			rt.Fatalf("the password opens another tenant: %v", err)
		}
		if wrong != password {
			if _, _, err := b.SignIn(t.Context(), a, name, wrong); junctor.CodeOf(err) != junctor.CodeUnauthenticated {
				rt.Fatalf("a wrong password: %v", err)
			}
		}
		for n, tenant := range tenants {
			if err := b.DeleteUser(t.Context(), tenant, ids[n]); err != nil {
				rt.Fatal(err)
			}
		}
	})
}

func TestSignInRevealsNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const password = "a fine long password"
	ann, off := b.user(t, "ann", junctor.UserViewer), b.user(t, "off", junctor.UserViewer)
	b.user(t, "none", junctor.UserViewer)
	for _, u := range []junctor.User{ann, off} {
		if err := b.SetPassword(t.Context(), u.Tenant, u.ID, password, ""); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.ChangeUser(t.Context(), off.Tenant, off.ID, func(u *junctor.User) error { u.Disabled = true; return nil }); err != nil {
		t.Fatal(err)
	}
	said := map[string]bool{}
	for _, try := range [][2]string{
		{"ann", "wrong"}, {"ann", ""}, {"off", password}, {"none", password}, {"none", ""}, {"nobody", password}, {"ann", strings.Repeat("x", 1<<20)}, {"", ""},
	} {
		_, _, err := b.SignIn(t.Context(), junctor.DefaultTenant, try[0], try[1])
		fails(t, err, junctor.CodeUnauthenticated)
		said[err.Error()] = true
	}
	if len(said) != 1 {
		t.Errorf("answers differ: %v", said)
	}
	for _, bad := range []string{"short", "elevenchars", strings.Repeat("x", 1025)} {
		err := b.SetPassword(t.Context(), ann.Tenant, ann.ID, bad, "")
		fails(t, err, junctor.CodeInvalid)
		if strings.Contains(err.Error(), bad) {
			t.Error(err)
		}
	}
	long := b.user(t, "a-name-that-is-long", junctor.UserViewer)
	fails(t, b.SetPassword(t.Context(), long.Tenant, long.ID, "A-name-that-is-LONG", ""), junctor.CodeInvalid)
}

func TestLogins(t *testing.T) {
	t.Parallel()
	b := setup(t)
	u := b.user(t, "ann", junctor.UserViewer)
	sign := func() string {
		t.Helper()
		cookie, _, err := b.CreateLogin(t.Context(), u.Tenant, u.ID, "https://idp")
		if err != nil {
			t.Fatal(err)
		}
		return cookie
	}
	valid := func(cookie string) bool { _, err := b.AuthenticateCookie(cookie); return err == nil }
	cookie := sign()
	if _, err := b.AuthenticateToken(cookie); err == nil {
		t.Error("what a browser holds is a key")
	}
	_, key := b.key(t, "ci", time.Time{})
	if valid(key) || valid("") || valid(strings.Repeat("x", 1000)) {
		t.Error("what is no cookie opened")
	}
	// Half a day without use ends it, wherever it was used.
	b.clock.add(junctor.LoginIdle - time.Second)
	if !valid(cookie) {
		t.Fatal("ended too early")
	}
	if err := b.FlushUsage(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.clock.add(junctor.LoginIdle - time.Second)
	if _, err := another(t, b).AuthenticateCookie(cookie); err != nil {
		t.Errorf("another process: %v", err)
	}
	if !valid(cookie) {
		t.Error("use was forgotten")
	}
	idle := sign()
	b.clock.add(junctor.LoginIdle)
	if valid(idle) {
		t.Error("an idle login lives")
	}
	// Thirty days end it however much it is used.
	cookie = sign()
	for used := time.Duration(0); used < junctor.LoginLife-time.Hour; used += time.Hour {
		b.clock.add(time.Hour)
		if !valid(cookie) {
			t.Fatalf("ended after %s", used)
		}
	}
	b.clock.add(time.Hour)
	if valid(cookie) {
		t.Error("lives for ever")
	}

	one, two := sign(), sign()
	list, err := b.ListLogins(t.Context(), u.Tenant, u.ID)
	if err != nil || len(list) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	p, _ := b.AuthenticateCookie(one)
	fails(t, b.RevokeLogin(t.Context(), "acme", p.Login), junctor.CodeNotFound)
	if err := b.RevokeLogin(t.Context(), u.Tenant, p.Login); err != nil || valid(one) || !valid(two) {
		t.Errorf("%v, %v, %v", err, valid(one), valid(two))
	}
	three := sign()
	p, _ = b.AuthenticateCookie(three)
	if err := b.SetPassword(t.Context(), u.Tenant, u.ID, "a fine long password", p.Login); err != nil || valid(two) || !valid(three) {
		t.Errorf("%v, %v, %v", err, valid(two), valid(three))
	}
}

func TestLinks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	u := b.user(t, "ann", junctor.UserViewer)
	link := func() string {
		t.Helper()
		token, _, err := b.CreateLink(t.Context(), u.Tenant, u.ID)
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	ids := []*identity.Identity{b.Identity, another(t, b)}
	for range 5 {
		token := link()
		var got atomic.Int64
		var wg sync.WaitGroup
		for n := range 8 {
			wg.Go(func() {
				cookie, l, err := ids[n%2].UseLink(t.Context(), token)
				if err != nil {
					return
				}
				got.Add(1)
				if p, err := ids[n%2].AuthenticateCookie(cookie); err != nil || p.User != u.ID || l.How != junctor.LoginLink {
					t.Errorf("%+v, %v", p, err)
				}
			})
		}
		wg.Wait()
		if got.Load() != 1 {
			t.Fatalf("%d were let in by one link", got.Load())
		}
	}
	late := link()
	b.clock.add(identity.SignInLinkLifetime)
	for _, token := range []string{late, "", "jcl_unknown", strings.Repeat("x", 10_000)} {
		_, _, err := b.UseLink(t.Context(), token)
		fails(t, err, junctor.CodeNotFound)
	}
	_, _, err := b.CreateLink(t.Context(), u.Tenant, "nobody")
	fails(t, err, junctor.CodeNotFound)
	if _, err := b.AuthenticateCookie(link()); err == nil {
		t.Error("a link is a session")
	}
}

// What people sign in with is nowhere but with them.
func TestSignInSecretsAreNowhere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var said bytes.Buffer
	note := func(err error) {
		if err != nil {
			fmt.Fprintln(&said, err, junctor.AsError(err).Cause)
		}
	}
	const password, wrong = "canary of a password", "canary of a wrong one"
	u := b.user(t, "ann", junctor.UserViewer)
	note(b.SetPassword(t.Context(), u.Tenant, u.ID, password, ""))
	note(b.SetPassword(t.Context(), u.Tenant, "nobody", password, ""))
	cookie, _, err := b.SignIn(t.Context(), u.Tenant, "ann", password)
	note(err)
	_, _, err = b.SignIn(t.Context(), u.Tenant, "ann", wrong)
	note(err)
	_, _, err = b.SignIn(gone(t), u.Tenant, "ann", password)
	note(err)
	link, _, err := b.CreateLink(t.Context(), u.Tenant, u.ID)
	note(err)
	for range 2 {
		_, _, err = b.UseLink(t.Context(), link)
		note(err)
	}
	_, _, err = b.UseLink(gone(t), link)
	note(err)
	_, err = b.AuthenticateCookie(cookie + "x")
	note(err)
	k, token := b.key(t, "ci", time.Time{})
	_, next, err := b.RotateKey(t.Context(), u.Tenant, k.ID, time.Minute)
	note(err)
	note(b.FlushUsage(t.Context()))
	files, err := filepath.Glob(b.path + "*")
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	places := map[string][]byte{"the errors": said.Bytes(), "the log": b.log.Bytes()}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		places[filepath.Base(file)] = content
	}
	if said.Len() == 0 || !bytes.Contains(b.log.Bytes(), []byte(u.ID)) || !bytes.Contains(places["junctor.db-wal"], []byte("$argon2id$")) {
		t.Fatal("the test does not see what it looks at")
	}
	for what, secret := range map[string]string{"password": password, "wrong password": wrong, "cookie": cookie[4:], "link": link[4:], "token": token[13:], "rotated token": next[13:]} {
		for place, content := range places {
			if bytes.Contains(content, []byte(secret)) {
				t.Errorf("a %s is in %s", what, place)
			}
		}
	}
}

// What is stored of a password is what OWASP recommends, and what is stored
// otherwise opens nothing.
func TestStoredPasswords(t *testing.T) {
	t.Parallel()
	b := setup(t)
	u := b.user(t, "ann", junctor.UserViewer)
	const password = "a fine long password"
	stored := func() string {
		t.Helper()
		u, err := b.store.For(u.Tenant).User(t.Context(), u.ID)
		if err != nil {
			t.Fatal(err)
		}
		return u.Password
	}
	for range 2 {
		was := stored()
		if err := b.SetPassword(t.Context(), u.Tenant, u.ID, password, ""); err != nil {
			t.Fatal(err)
		}
		if now := stored(); !strings.HasPrefix(now, "$argon2id$v=19$m=19456,t=2,p=1$") || now == was {
			t.Errorf("stored as %q, before %q", now, was)
		}
	}
	good := stored()
	for _, odd := range []string{
		"x", "$argon2i$v=19$m=64,t=1,p=1$AAAA$AAAA", strings.Replace(good, "m=19456", "m=99999999", 1), strings.Replace(good, "t=2", "t=0", 1),
		strings.Replace(good, "p=1", "p=0", 1), strings.Replace(good, "v=19", "v=16", 1), good[:len(good)-4], good + "$",
	} {
		if _, err := b.ChangeUser(t.Context(), u.Tenant, u.ID, func(u *junctor.User) error { u.Password = odd; return nil }); err != nil {
			t.Fatal(err)
		}
		_, _, err := b.SignIn(t.Context(), u.Tenant, "ann", password)
		fails(t, err, junctor.CodeInternal)
	}
	if err := b.SetPassword(t.Context(), u.Tenant, u.ID, "", ""); err != nil {
		t.Fatal(err)
	}
	_, _, err := b.SignIn(t.Context(), u.Tenant, "ann", "")
	fails(t, err, junctor.CodeUnauthenticated)
}
