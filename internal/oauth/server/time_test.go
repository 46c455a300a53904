package server_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/identity"
	oauthserver "github.com/junctor-mcp/junctor/internal/oauth/server"
	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/store/sqlite"
	"github.com/junctor-mcp/junctor/internal/store/storetest"
)

// open is a sealer that seals nothing: who may answer is tested elsewhere.
type open struct{}

func (open) Seal(_ string, b []byte) string      { return base64.StdEncoding.EncodeToString(b) }
func (open) Open(_, text string) ([]byte, error) { return base64.StdEncoding.DecodeString(text) }

// clocked is a Server whose time the test sets.
type clocked struct {
	*oauthserver.Server
	t      testing.TB
	store  *store.Store
	people *identity.Identity
	mux    *http.ServeMux
	ann    *junctor.Principal
	client string

	mu    sync.Mutex
	now   time.Time
	ended int
}

const base = "https://j.example"

func newClocked(t testing.TB) *clocked {
	t.Helper()
	c := &clocked{t: t, mux: http.NewServeMux(), now: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)}
	var err error
	if c.store, err = sqlite.Open(t.Context(), storetest.Fresh(t)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.store.Close() })
	now := func() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.now }
	if c.people, err = identity.New(t.Context(), identity.Config{Store: c.store, Now: now}); err != nil {
		t.Fatal(err)
	}
	u, err := c.people.CreateUser(t.Context(), junctor.DefaultTenant, identity.NewUser{Name: "ann", Role: junctor.UserDeveloper})
	if err != nil {
		t.Fatal(err)
	}
	c.ann = &junctor.Principal{Tenant: junctor.DefaultTenant, Issuer: junctor.IssuerUser, Subject: u.ID, User: u.ID, Name: "ann", Login: "l"}
	c.Server, err = oauthserver.New(oauthserver.Options{
		Identity: c.people, Store: c.store, Sealer: open{}, URL: func() string { return base },
		Scopes: []oauthserver.Scope{{Name: "tools:read", Scope: junctor.ScopeToolsRead}, {Name: "tools:call", Scope: junctor.ScopeToolsCall}},
		Client: http.DefaultClient, Address: func(*http.Request) netip.Addr { return netip.MustParseAddr("192.0.2.1") }, Now: now,
		OnTokensEnded: func(context.Context, junctor.TenantID, string) error { c.ended++; return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	c.Routes(c.mux)
	c.client = "pad"
	if err := c.store.For(junctor.DefaultTenant).AddClient(t.Context(), junctor.Client{ID: c.client, Redirects: []string{callback}, CreatedAt: now()}, 10); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *clocked) later(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// code is one that ann consented to.
func (c *clocked) code(v verifier) string {
	c.t.Helper()
	q, err := c.PromptConsent(c.t.Context(), c.ann, url.Values{
		"response_type": {"code"}, "client_id": {c.client}, "redirect_uri": {callback}, "code_challenge": {v.challenge()}, "code_challenge_method": {"S256"},
	})
	if err != nil {
		c.t.Fatal(err)
	}
	back, err := c.AnswerConsent(c.t.Context(), c.ann, q.Sealed, true)
	if err != nil {
		c.t.Fatal(err)
	}
	u, err := url.Parse(back)
	if err != nil {
		c.t.Fatal(err)
	}
	return u.Query().Get("code")
}

func (c *clocked) post(form url.Values) (got tokens) {
	c.t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(c.t.Context(), http.MethodPost, "/oauth/token", strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	c.mux.ServeHTTP(w, r)
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		c.t.Fatalf("%d %s", w.Code, w.Body)
	}
	return got
}

func (c *clocked) trade(code string, v verifier) tokens {
	c.t.Helper()
	return c.post(url.Values{"grant_type": {"authorization_code"}, "code": {code}, "client_id": {c.client}, "redirect_uri": {callback}, "code_verifier": {string(v)}})
}

func (c *clocked) renew(refresh string, more ...string) tokens {
	c.t.Helper()
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refresh}, "client_id": {c.client}}
	for i := 0; i < len(more); i += 2 {
		form.Set(more[i], more[i+1])
	}
	return c.post(form)
}

func (c *clocked) good(access string) bool {
	c.t.Helper()
	_, _, _, err := c.LookupToken(c.t.Context(), access)
	if code := junctor.CodeOf(err); code != "" && code != junctor.CodeUnauthenticated {
		c.t.Fatal(err)
	}
	return err == nil
}

func TestLifetimes(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	v := newVerifier()
	code := c.code(v)
	c.later(time.Minute)
	if got := c.trade(code, v); got.Error != "invalid_grant" {
		t.Errorf("an old code: %+v", got)
	}
	first := c.trade(c.code(v), v)
	c.later(time.Hour - time.Second)
	if !c.good(first.Access) {
		t.Error("it is good for an hour")
	}
	c.later(time.Second)
	if c.good(first.Access) {
		t.Error("it is good for more than an hour")
	}
	c.later(29 * 24 * time.Hour)
	second := c.renew(first.Refresh)
	c.later(29 * 24 * time.Hour)
	third := c.renew(second.Refresh)
	if third.Access == "" || !c.good(third.Access) {
		t.Fatalf("%+v", third)
	}
	c.later(30 * 24 * time.Hour)
	if got := c.renew(third.Refresh); got.Error != "invalid_grant" {
		t.Errorf("a refresh token that nobody used for 30 days: %+v", got)
	}
}

func TestRotation(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	v := newVerifier()
	first := c.trade(c.code(v), v)
	if got := c.renew(first.Refresh, "scope", "tools:read"); got.Scope != "tools:read" {
		t.Errorf("less was asked for: %+v", got)
	} else {
		first = c.renew(got.Refresh)
	}
	if first.Scope != "tools:read tools:call" {
		t.Errorf("less for good: %+v", first)
	}
	for want, more := range map[string][]string{"invalid_scope": {"scope", "admin"}, "invalid_target": {"resource", base + "/mcp/s/x"}, "invalid_grant": {"client_id", "another"}} {
		if got := c.renew(first.Refresh, more...); got.Error != want {
			t.Errorf("%s: %+v", want, got)
		}
	}
	second := c.renew(first.Refresh, "resource", base+"/mcp")
	c.later(9 * time.Second)
	if again := c.renew(first.Refresh); again.Access != second.Access || again.Refresh != second.Refresh || again.Expires != 3591 || c.ended != 0 {
		t.Errorf("the answer was lost, and is another now: %+v", again)
	}
	third := c.renew(second.Refresh)
	if again := c.renew(first.Refresh); again.Error != "invalid_grant" || c.ended != 1 { // its follower was used
		t.Errorf("a refresh token of before: %+v", again)
	}
	for _, token := range []string{first.Access, second.Access, third.Access} {
		if c.good(token) {
			t.Error("somebody else has the tokens, and they are good")
		}
	}
	if got := c.renew(third.Refresh); got.Error != "invalid_grant" {
		t.Errorf("%+v", got)
	}
	other := c.trade(c.code(v), v)
	next := c.renew(other.Refresh)
	c.later(10 * time.Second)
	if again := c.renew(other.Refresh); again.Error != "invalid_grant" || c.good(next.Access) || c.ended != 2 {
		t.Errorf("a refresh token of before, later: %+v", again)
	}
}

// TestAtOnce renews with one token from many sides: all get the same.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	v := newVerifier()
	last := c.trade(c.code(v), v)
	for range 4 {
		got := make([]tokens, 6)
		var wg sync.WaitGroup
		for i := range got {
			wg.Go(func() { got[i] = c.renew(last.Refresh) })
		}
		wg.Wait()
		for _, g := range got {
			if g.Access == "" || g.Access != got[0].Access || g.Refresh != got[0].Refresh {
				t.Fatalf("%+v and %+v", got[0], g)
			}
		}
		if last = got[0]; !c.good(last.Access) {
			t.Fatal("the token is not good")
		}
	}
}

// TestFamilies plays with tokens in any order, and holds that whatever was
// revoked or used twice opens nothing, with all that came of the same code.
func TestFamilies(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	type family struct {
		all   []tokens
		ended bool
	}
	rapid.Check(t, func(rt *rapid.T) {
		var families []*family
		login := func() {
			v := newVerifier()
			families = append(families, &family{all: []tokens{c.trade(c.code(v), v)}})
		}
		login()
		// Few steps: each writes, and that is slow where races are looked for.
		for _, step := range rapid.SliceOfN(rapid.SampledFrom([]string{"login", "renew", "renew", "former"}), 1, 6).Draw(rt, "steps") {
			f := rapid.SampledFrom(families).Draw(rt, "login")
			switch {
			case step == "login":
				login()
			case step == "renew":
				got := c.renew(f.all[len(f.all)-1].Refresh)
				if (got.Error == "") == f.ended {
					rt.Fatalf("ended %v: %+v", f.ended, got)
				}
				if !f.ended {
					f.all = append(f.all, got)
				}
				c.later(11 * time.Second)
			case len(f.all) > 1:
				if got := c.renew(f.all[rapid.IntRange(0, len(f.all)-2).Draw(rt, "which")].Refresh); got.Error != "invalid_grant" {
					rt.Fatalf("%+v", got)
				}
				f.ended = true
			}
		}
		for _, f := range families {
			if last := f.all[len(f.all)-1]; c.good(last.Access) == f.ended {
				rt.Fatalf("ended %v, and its token is good: %v", f.ended, !f.ended)
			}
		}
	})
}

func TestPersonGone(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	v := newVerifier()
	got := c.trade(c.code(v), v)
	party, endpoint, _, err := c.LookupToken(t.Context(), got.Access)
	if err != nil || endpoint != base+"/mcp" {
		t.Fatalf("%v, for %s", err, endpoint)
	}
	p, err := party.Principal()
	if err != nil || !p.Same(c.ann) || p.Client != c.client || p.Consent == "" || p.Has(junctor.ScopeAdmin) || p.Expires.IsZero() {
		t.Fatalf("%v, %+v", err, p)
	}
	set := func(change func(*junctor.User)) {
		if _, err := c.people.ChangeUser(t.Context(), junctor.DefaultTenant, c.ann.User, func(u *junctor.User) error { change(u); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	set(func(u *junctor.User) { u.Role = junctor.UserViewer })
	if p, err := party.Principal(); err != nil || p.Has(junctor.ScopeToolsCall) {
		t.Errorf("a viewer's token can do more than the viewer: %v, %+v", err, p)
	}
	set(func(u *junctor.User) { u.Disabled = true })
	if _, err := party.Principal(); junctor.CodeOf(err) != junctor.CodeDenied {
		t.Errorf("%v", err)
	}
	if again := c.renew(got.Refresh); again.Error != "invalid_grant" {
		t.Errorf("%+v", again)
	}
	set(func(u *junctor.User) { u.Disabled = false })
	if again := c.renew(got.Refresh); again.Error != "" {
		t.Errorf("%+v", again)
	}
	if err := c.people.DeleteUser(t.Context(), junctor.DefaultTenant, c.ann.User); err != nil {
		t.Fatal(err)
	}
	if c.good(got.Access) || c.renew(got.Refresh).Error != "invalid_grant" {
		t.Error("a token outlives its person")
	}
}
