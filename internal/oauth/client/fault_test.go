package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/egress"
	oauthclient "github.com/junctor-mcp/junctor/internal/oauth/client"
	"github.com/junctor-mcp/junctor/internal/seal"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/internal/testkit/upstreams"
)

const redirect = "http://127.0.0.1:8719/callback"

// newClient makes a client that may reach this machine.
func newClient(t *testing.T) *oauthclient.Client {
	t.Helper()
	out, err := egress.New(egress.Options{Logger: slog.New(slog.DiscardHandler), Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	if err != nil {
		t.Fatal(err)
	}
	client := out.Client(egress.ClientOptions{})
	t.Cleanup(client.CloseIdleConnections)
	return &oauthclient.Client{HTTP: client, Name: "Junctor", Now: time.Now}
}

func document(change map[string]any, g *upstreams.Guarded) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		m := g.Metadata()
		maps.Copy(m, change)
		for k, v := range m {
			if v == nil {
				delete(m, k)
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(m)
	}
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func answers(code int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for _, h := range header {
			name, value, _ := strings.Cut(h, ": ")
			w.Header().Set(name, value)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = w.Write([]byte(body))
	}
}

const (
	resourceAt = "/.well-known/oauth-protected-resource/mcp"
	serverAt   = "/.well-known/oauth-authorization-server"
)

// TestFaults breaks a login at each step: the trace names the true cause, and
// nothing secret is in it.
func TestFaults(t *testing.T) {
	t.Parallel()
	late := time.Now().Add(-3 * time.Hour).UTC().Format(http.TimeFormat)
	for name, tt := range map[string]struct {
		set    func(g *upstreams.Guarded)
		server func(s *oauthclient.Server)
		answer func(q url.Values) // changes what the browser brings back
		redo   bool               // the answer is used twice
		pinned oauthclient.Pin    // of the operator's client
		want   string             // in the verdict
		remedy string
	}{
		"all is well":      {},
		"the server fails": {set: func(g *upstreams.Guarded) { g.Break(resourceAt, status(503)) }, want: "the server failed with HTTP 503", remedy: "later"},
		"metadata for another server": {set: func(g *upstreams.Guarded) {
			g.Break(resourceAt, answers(200, `{"resource":"https://evil.example/mcp"}`))
		}, want: "for the server https://evil.example/mcp"},
		"no authorization server": {set: func(g *upstreams.Guarded) { g.Break(resourceAt, answers(200, `{"resource":"`+g.URL+`"}`)) }, want: "names no authorization server"},
		"an address that is none": {set: func(g *upstreams.Guarded) {
			g.Break(resourceAt, answers(200, `{"resource":"`+g.URL+`","authorization_servers":["javascript:alert(1)"]}`))
		}, want: "is not an http or https URL"},
		"an address within": {set: func(g *upstreams.Guarded) {
			g.Break(resourceAt, answers(200, `{"resource":"`+g.URL+`","authorization_servers":["http://169.254.169.254"]}`))
		}, want: "cannot read the metadata"},
		"not valid metadata":    {set: func(g *upstreams.Guarded) { g.Break(serverAt, status(404)) }, want: "publishes no metadata"},
		"metadata that is none": {set: func(g *upstreams.Guarded) { g.Break(serverAt, answers(200, "<html>")) }, want: "not valid metadata"},
		"the issuer fails":      {set: func(g *upstreams.Guarded) { g.Break(serverAt, status(500)) }, want: "authorization server failed with HTTP 500", remedy: "later"},
		"another issuer": {set: func(g *upstreams.Guarded) {
			g.Break(serverAt, document(map[string]any{"issuer": "https://evil.example"}, g))
		}, want: "has the issuer https://evil.example"},
		"not the operator's issuer":    {server: func(s *oauthclient.Server) { s.Issuer = "https://idp.example" }, want: "auth.issuer allows only https://idp.example", remedy: "change issuer"},
		"the client of another issuer": {server: func(s *oauthclient.Server) { s.ClientID = "by-hand" }, pinned: oauthclient.Pin{Issuer: "https://idp.example"}, want: "was used with https://idp.example until now", remedy: "issuer"},
		"no PKCE": {set: func(g *upstreams.Guarded) {
			g.Break(serverAt, document(map[string]any{"code_challenge_methods_supported": []string{"plain"}}, g))
		}, want: "PKCE"},
		"no registration": {set: func(g *upstreams.Guarded) {
			g.Break(serverAt, document(map[string]any{"registration_endpoint": nil}, g))
		}, want: "does not support client registration", remedy: "client_id"},
		"registration refused": {set: func(g *upstreams.Guarded) {
			g.Break("/register", answers(403, `{"error":"access_denied","error_description":"not you"}`))
		}, want: "rejected the registration (HTTP 403: access_denied, not you)", remedy: "client_id"},
		"a script for a page": {set: func(g *upstreams.Guarded) {
			g.Break(serverAt, document(map[string]any{"authorization_endpoint": "javascript:alert(1)"}, g))
		}, want: "authorization_endpoint is not an http or https URL"},

		"mix-up":             {answer: func(q url.Values) { q.Set("iss", "https://evil.example") }, want: "authorization server mix-up"},
		"no issuer named":    {answer: func(q url.Values) { q.Del("iss") }, want: "sends iss with each response"},
		"another state":      {answer: func(q url.Values) { q.Set("state", "x") }, want: "belongs to another login"},
		"the person says no": {answer: func(q url.Values) { q.Set("error", "access_denied"); q.Del("code") }, want: "denied the login"},
		"nothing came":       {answer: func(q url.Values) { q.Del("code") }, want: "no code"},
		"a code of another":  {answer: func(q url.Values) { q.Set("code", "code-of-another") }, want: "the authorization server rejected the code: it has expired, or was used before", remedy: "log in again"},
		"a code used twice":  {redo: true, want: "rejected the code"},
		"no token":           {set: func(g *upstreams.Guarded) { g.Break("/token", answers(200, `{}`)) }, want: "without a token"},
		"the token fails":    {set: func(g *upstreams.Guarded) { g.Break("/token", status(502)) }, want: "failed with HTTP 502", remedy: "later"},
		"unknown client":     {set: func(g *upstreams.Guarded) { g.Break("/token", answers(401, `{"error":"invalid_client"}`)) }, want: "does not accept the client"},
		"clocks": {set: func(g *upstreams.Guarded) {
			g.Break("/token", answers(400, `{"error":"invalid_grant"}`, "Date: "+late))
		}, want: "the clock of the authorization server is 3h0m", remedy: "clock"},
		"a strange token": {set: func(g *upstreams.Guarded) {
			g.Break("/token", answers(200, `{"access_token":"abcdefgh","token_type":"DPoP"}`))
		}, want: "of the type DPoP"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := upstreams.NewGuarded(t, upstreams.Modern)
			if tt.set != nil {
				tt.set(g)
			}
			c, server := newClient(t), oauthclient.Server{URL: g.URL}
			if tt.server != nil {
				tt.server(&server)
			}
			var shown []byte
			keep := func(trace *junctor.Trace) {
				text, err := json.Marshal(trace)
				if err != nil {
					t.Fatal(err)
				}
				shown = append(shown, text...)
			}
			pending, address, trace, err := c.BeginLogin(t.Context(), oauthclient.LoginRequest{Server: server, Redirect: redirect, Pin: tt.pinned})
			keep(trace)
			if err == nil {
				q := g.Browse(t, address, "zoe").Query()
				if tt.answer != nil {
					tt.answer(q)
				}
				if tt.redo {
					_, _, _ = c.FinishLogin(t.Context(), pending, q)
				}
				_, trace, err = c.FinishLogin(t.Context(), pending, q)
				keep(trace)
				if strings.Contains(string(shown), pending.State) || strings.Contains(string(shown), pending.Verifier) {
					t.Error("the state or the verifier is in the trace")
				}
			}
			switch {
			case tt.want == "" && (err != nil || !trace.OK):
				t.Fatalf("%v: %s", err, shown)
			case tt.want != "" && (err == nil || trace.OK || !strings.Contains(trace.Verdict, tt.want) || !strings.Contains(err.Error(), trace.Verdict)):
				t.Errorf("the verdict is %q, want %q; the error is %v", trace.Verdict, tt.want, err)
			case !strings.Contains(trace.Remedy, tt.remedy), tt.want != "" && trace.Remedy == "":
				t.Errorf("the remedy is %q, want %q", trace.Remedy, tt.remedy)
			}
			for _, secret := range g.Secrets() {
				if strings.Contains(string(shown), secret) || err != nil && strings.Contains(err.Error(), secret) {
					t.Errorf("a secret is in the trace or the error: %.8s…", secret)
				}
			}
		})
	}
}

// drawer keeps a login.
type drawer struct {
	mu    sync.Mutex
	grant *oauthclient.Grant
}

func (d *drawer) Load(context.Context) (*oauthclient.Grant, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.grant, nil
}

func (d *drawer) Save(_ context.Context, g *oauthclient.Grant) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.grant = g
	return nil
}

// logIn logs somebody in and gives the login, and the traces of its renewals.
func logIn(t *testing.T, c *oauthclient.Client, g *upstreams.Guarded) (*oauthclient.Login, *drawer, func() []*junctor.Trace) {
	t.Helper()
	pending, address, _, err := c.BeginLogin(t.Context(), oauthclient.LoginRequest{Server: oauthclient.Server{URL: g.URL}, Redirect: redirect})
	if err != nil {
		t.Fatal(err)
	}
	grant, _, err := c.FinishLogin(t.Context(), pending, g.Browse(t, address, "zoe").Query())
	if err != nil {
		t.Fatal(err)
	}
	d := &drawer{grant: grant}
	var mu sync.Mutex
	var traces []*junctor.Trace
	l := oauthclient.NewLogin(c, d, func(context.Context) (oauthclient.Server, error) { return oauthclient.Server{URL: g.URL}, nil }, func(_ context.Context, tr *junctor.Trace) {
		mu.Lock()
		defer mu.Unlock()
		traces = append(traces, tr)
	})
	return l, d, func() []*junctor.Trace {
		mu.Lock()
		defer mu.Unlock()
		return traces
	}
}

// TestRenewal has tokens renewed: once for all who want it, before the end where
// there is time, with the cause where it fails, and never with a token of before.
func TestRenewal(t *testing.T) {
	t.Parallel()
	t.Run("many at once", func(t *testing.T) {
		t.Parallel()
		g := upstreams.NewGuarded(t, upstreams.Modern)
		l, _, _ := logIn(t, newClient(t), g)
		token, number, err := l.Token(t.Context())
		if err != nil || token == "" {
			t.Fatal(token, err)
		}
		var wg sync.WaitGroup
		for range 200 {
			wg.Go(func() {
				if again, err := l.RenewToken(t.Context(), number); !again || err != nil {
					t.Errorf("%v %v", again, err)
				}
			})
		}
		wg.Wait()
		if now, _, _ := l.Token(t.Context()); now == token || g.Refreshes.Load() != 1 {
			t.Errorf("%d renewals, and the token is the same: %v", g.Refreshes.Load(), now == token)
		}
	})
	t.Run("ahead of time", func(t *testing.T) {
		t.Parallel()
		g := upstreams.NewGuarded(t, upstreams.Modern)
		g.Life(100 * time.Second)
		c := newClient(t)
		var mu sync.Mutex
		now := time.Now()
		c.Now = func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
		l, _, traces := logIn(t, c, g)
		first, _, _ := l.Token(t.Context())
		mu.Lock()
		now = now.Add(90 * time.Second)
		mu.Unlock()
		if token, _, err := l.Token(t.Context()); token != first || err != nil {
			t.Errorf("a token that still serves is not given: %v", err)
		}
		poll.Holds(time.Minute, func() bool { // it is renewed beside that, and takes effect after it is traced
			token, _, _ := l.Token(t.Context())
			return token != first && len(traces()) > 0
		})
		if token, _, _ := l.Token(t.Context()); token == first || g.Refreshes.Load() != 1 {
			t.Errorf("it was not renewed ahead of its end: %d", g.Refreshes.Load())
		}
	})
	for name, life := range map[string]string{"a life that overflows": "10000000000", "a tiny life": "0.000001", "a life beyond numbers": "1e300"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := upstreams.NewGuarded(t, upstreams.Modern)
			g.Life(100 * time.Second)
			c := newClient(t)
			var past atomic.Int64 // by which the clock is ahead
			c.Now = func() time.Time { return time.Now().Add(time.Duration(past.Load())) }
			l, _, _ := logIn(t, c, g)
			if _, _, err := l.Token(t.Context()); err != nil {
				t.Fatal(err)
			}
			var asked atomic.Int64
			g.Break("/token", func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				answers(200, fmt.Sprintf(`{"access_token":"access-%d","refresh_token":"again","token_type":"Bearer","expires_in":%s}`, asked.Load(), life))(w, r)
			})
			past.Store(int64(time.Hour))
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			for range 50 {
				if token, _, err := l.Token(ctx); token != "access-1" || err != nil {
					t.Fatalf("%q, %v", token, err)
				}
			}
			if n := asked.Load(); n != 1 {
				t.Errorf("renewed %d times", n)
			}
		})
	}
	t.Run("for nobody", func(t *testing.T) {
		t.Parallel()
		g := upstreams.NewGuarded(t, upstreams.Modern)
		g.Life(100 * time.Second)
		c := newClient(t)
		var past atomic.Int64
		c.Now = func() time.Time { return time.Now().Add(time.Duration(past.Load())) }
		l, _, _ := logIn(t, c, g)
		_, number, err := l.Token(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		past.Store(int64(time.Hour))
		left, leave := context.WithCancel(t.Context())
		leave()
		if _, _, err := l.Token(left); err == nil {
			t.Error("a caller who left has a token")
		}
		if again, err := l.RenewToken(left, number); again || err == nil {
			t.Errorf("a caller who left is to try again: %v, %v", again, err)
		}
		if n := g.Refreshes.Load(); n != 0 {
			t.Errorf("renewed %d times for somebody who left", n)
		}
	})
	t.Run("once for a call", func(t *testing.T) {
		t.Parallel()
		g := upstreams.NewGuarded(t, upstreams.Modern)
		l, _, _ := logIn(t, newClient(t), g)
		if _, _, err := l.Token(t.Context()); err != nil {
			t.Fatal(err)
		}
		calls := 0
		refuses := func(error) (oauthclient.Challenge, bool) {
			return oauthclient.Challenge{Status: http.StatusUnauthorized}, true
		}
		if wants, err := l.CallWithRetry(t.Context(), refuses, func() error { calls++; return errors.New("no") }); wants == nil || err == nil {
			t.Errorf("%v, %v", wants, err)
		}
		if calls != 2 || g.Refreshes.Load() != 1 {
			t.Errorf("%d calls, %d renewals", calls, g.Refreshes.Load())
		}
	})
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		g := upstreams.NewGuarded(t, upstreams.Modern)
		l, d, traces := logIn(t, newClient(t), g)
		_, number, _ := l.Token(t.Context())
		g.EndAll()
		if again, err := l.RenewToken(t.Context(), number); again || err != nil {
			t.Errorf("%v %v", again, err)
		}
		kept, _ := d.Load(t.Context())
		if tr := traces(); len(tr) != 1 || tr[0].OK || !strings.Contains(tr[0].Verdict, "rejected the refresh token") || kept.IsLive() || kept.Token.Refresh != "" {
			t.Errorf("%+v %+v", tr, kept)
		}
	})
	t.Run("fails for a while", func(t *testing.T) {
		t.Parallel()
		g := upstreams.NewGuarded(t, upstreams.Modern)
		l, d, traces := logIn(t, newClient(t), g)
		_, number, _ := l.Token(t.Context())
		g.Break("/token", status(503))
		if _, err := l.RenewToken(t.Context(), number); junctor.CodeOf(err) != junctor.CodeUnavailable {
			t.Errorf("%v", err)
		}
		if tr := traces(); len(tr) != 1 || !strings.Contains(tr[0].Verdict, "failed with HTTP 503") {
			t.Errorf("%+v", tr)
		}
		if kept, _ := d.Load(t.Context()); !kept.IsLive() {
			t.Error("the login is over")
		}
		g.Break("/token", nil)
		if again, err := l.RenewToken(t.Context(), number); !again || err != nil {
			t.Errorf("%v %v", again, err)
		}
	})
	t.Run("by another instance", func(t *testing.T) {
		t.Parallel()
		g := upstreams.NewGuarded(t, upstreams.Modern)
		c := newClient(t)
		l, d, _ := logIn(t, c, g)
		other := oauthclient.NewLogin(c, d, func(context.Context) (oauthclient.Server, error) { return oauthclient.Server{URL: g.URL}, nil }, func(context.Context, *junctor.Trace) {})
		_, number, _ := l.Token(t.Context())
		_, otherNumber, _ := other.Token(t.Context())
		if again, err := other.RenewToken(t.Context(), otherNumber); !again || err != nil {
			t.Fatal(again, err)
		}
		if again, err := l.RenewToken(t.Context(), number); !again || err != nil || g.Refreshes.Load() != 1 {
			t.Errorf("%v %v, %d renewals", again, err, g.Refreshes.Load())
		}
	})
}

// pins keeps one pin.
type pins struct{ pin oauthclient.Pin }

func (p *pins) LoadPin(context.Context, string) (oauthclient.Pin, error) { return p.pin, nil }

func (p *pins) SavePin(_ context.Context, _ string, pin oauthclient.Pin) error {
	p.pin = pin
	return nil
}

// TestSecretStaysAtItsTokenEndpoint moves the token endpoint to another origin
// while the issuer stays: the operator's client secret is not sent there, neither
// when a person logs in nor by a machine.
func TestSecretStaysAtItsTokenEndpoint(t *testing.T) {
	t.Parallel()
	evil, sent := newEvil(t)
	g := upstreams.NewGuarded(t, upstreams.Modern)
	issuer, _ := g.Metadata()["issuer"].(string)
	moved := document(map[string]any{"token_endpoint": evil + "/token"}, g)
	c, pinned := newClient(t), oauthclient.Pin{Issuer: issuer, TokenOrigin: oauthclient.OriginOf(g.URL)}
	server := oauthclient.Server{URL: g.URL, ClientID: "by-hand", Secret: seal.NewSecret("the-secret")}
	refused := func(what string, err error) {
		t.Helper()
		if junctor.CodeOf(err) != junctor.CodeDenied || !strings.Contains(err.Error(), "token endpoint") || sent.Load() != 0 {
			t.Errorf("%s: %v, %d requests", what, err, sent.Load())
		}
	}
	g.Break(serverAt, moved)
	for _, named := range []string{"", issuer} {
		server.Issuer = named
		_, _, _, err := c.BeginLogin(t.Context(), oauthclient.LoginRequest{Server: server, Redirect: redirect, Pin: pinned})
		refused("a person, and the issuer "+named, err)
	}
	g.Break(serverAt, nil)
	server.Issuer = ""
	if _, _, _, err := c.BeginLogin(t.Context(), oauthclient.LoginRequest{Server: server, Redirect: redirect, Pin: pinned}); err != nil {
		t.Errorf("where it was before: %v", err)
	}

	g.Break("/token", answers(200, `{"access_token":"machine-token","token_type":"Bearer"}`))
	kept := &pins{}
	ask := c.NewTokenRequester(g.URL, func(context.Context, *junctor.Trace) {}, kept)
	auth := junctor.Auth{Type: junctor.AuthOAuthClient, ClientID: "by-hand", Issuer: issuer}
	with := oauthclient.TokenProof{Secret: seal.NewSecret("the-secret")}
	if token, _, err := ask(t.Context(), auth, with); err != nil || token.Reveal() != "machine-token" || kept.pin != pinned {
		t.Fatalf("%v, pinned to %+v", err, kept.pin)
	}
	g.Break(serverAt, moved)
	_, _, err := ask(t.Context(), auth, with)
	refused("a machine", err)
}

// TestSecretStaysAtItsTokenEndpointWhenRevoked has an issuer name a revocation endpoint at
// another origin, and gives back grants that name one: neither the tokens nor the
// client's secret go there.
func TestSecretStaysAtItsTokenEndpointWhenRevoked(t *testing.T) {
	t.Parallel()
	evil, sent := newEvil(t)
	g := upstreams.NewGuarded(t, upstreams.Modern)
	issuer, _ := g.Metadata()["issuer"].(string)
	c := newClient(t)
	server := oauthclient.Server{URL: g.URL, ClientID: "by-hand", Secret: seal.NewSecret("the-secret")}

	g.Break(serverAt, document(map[string]any{"revocation_endpoint": evil + "/revoke"}, g))
	pending, _, _, err := c.BeginLogin(t.Context(), oauthclient.LoginRequest{Server: server, Redirect: redirect})
	if err != nil {
		t.Fatal(err)
	}
	if at := pending.Endpoints.Revocation; at != "" {
		t.Errorf("tokens would be given back at %s", at)
	}
	g.Break(serverAt, nil)
	if pending, _, _, err = c.BeginLogin(t.Context(), oauthclient.LoginRequest{Server: server, Redirect: redirect}); err != nil || pending.Endpoints.Revocation != issuer+"/revoke" {
		t.Errorf("where the token endpoint is: %v, %+v", err, pending)
	}

	ours := oauthclient.Endpoints{Issuer: issuer, Token: issuer + "/token", Revocation: issuer + "/revoke"}
	theirs := oauthclient.Endpoints{Issuer: issuer, Token: evil + "/token", Revocation: evil + "/revoke"}
	mixed := oauthclient.Endpoints{Issuer: issuer, Token: issuer + "/token", Revocation: evil + "/revoke"}
	moved := oauthclient.Endpoints{Issuer: evil, Token: evil + "/token", Revocation: evil + "/revoke"}
	pinned := oauthclient.Pin{Issuer: issuer, TokenOrigin: oauthclient.OriginOf(g.URL)}
	for name, tt := range map[string]struct {
		at     oauthclient.Endpoints
		auth   oauthclient.AuthMethod
		client string
		pinned oauthclient.Pin
		issuer string
		ok     bool
	}{
		"as it should be":            {at: ours, auth: oauthclient.AuthBasic, client: "by-hand", pinned: pinned, ok: true},
		"stored before":              {at: mixed, auth: oauthclient.AuthBasic, client: "by-hand"},
		"in the body":                {at: mixed, auth: oauthclient.AuthPost, client: "by-hand"},
		"without a secret":           {at: mixed, auth: oauthclient.AuthNone, client: "public"},
		"registered":                 {at: mixed, auth: oauthclient.AuthBasic, client: "registered"},
		"away from the pin":          {at: theirs, auth: oauthclient.AuthBasic, client: "by-hand", pinned: pinned},
		"another issuer than pinned": {at: moved, auth: oauthclient.AuthBasic, client: "by-hand", pinned: pinned},
		"another issuer than named":  {at: moved, auth: oauthclient.AuthBasic, client: "by-hand", issuer: issuer},
	} {
		grant := &oauthclient.Grant{
			Origin: oauthclient.OriginOf(g.URL), Endpoints: tt.at, Since: time.Now(),
			Client: oauthclient.RegisteredClient{Issuer: tt.at.Issuer, ID: tt.client, Secret: "the-secret", Auth: tt.auth},
			Token:  oauthclient.Token{Access: "access", Refresh: "refresh", ObtainedAt: time.Now()},
		}
		by := server
		by.Pin, by.Issuer = tt.pinned, tt.issuer
		trace := c.RevokeGrant(t.Context(), grant, by)
		if sent.Load() != 0 || trace.Verdict == "" || tt.ok != strings.Contains(trace.Verdict, "are revoked") {
			t.Errorf("%s: %d requests, %q", name, sent.Swap(0), trace.Verdict)
		}
	}
}

// TestRenewalStaysWithItsPin renews grants from before the secret of the operator's
// client was changed: a new secret does not go to where the client is not used any
// more.
func TestRenewalStaysWithItsPin(t *testing.T) {
	t.Parallel()
	evil, sent := newEvil(t)
	for name, server := range map[string]oauthclient.Server{
		"another token endpoint": {Pin: oauthclient.Pin{Issuer: evil, TokenOrigin: "https://idp.example"}},
		"another issuer":         {Pin: oauthclient.Pin{Issuer: "https://idp.example"}},
		"another issuer, named":  {Issuer: "https://idp.example"},
	} {
		server.URL, server.ClientID, server.Secret = "https://notes.example/mcp", "by-hand", seal.NewSecret("the-new-secret")
		d := &drawer{grant: &oauthclient.Grant{
			Origin: "https://notes.example", Endpoints: oauthclient.Endpoints{Issuer: evil, Token: evil + "/token"}, Since: time.Now(),
			Client: oauthclient.RegisteredClient{Issuer: evil, ID: "by-hand", Secret: "the-old-secret", Auth: oauthclient.AuthPost},
			Token:  oauthclient.Token{Access: "access", Refresh: "refresh", ObtainedAt: time.Now()},
		}}
		var traces []*junctor.Trace
		l := oauthclient.NewLogin(newClient(t), d, func(context.Context) (oauthclient.Server, error) { return server, nil }, func(_ context.Context, tr *junctor.Trace) { traces = append(traces, tr) })
		_, number, err := l.Token(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if again, err := l.RenewToken(t.Context(), number); again || sent.Load() != 0 {
			t.Errorf("%s: %v, %v, %d requests", name, again, err, sent.Swap(0))
		}
		if kept, _ := d.Load(t.Context()); kept.IsLive() || len(traces) != 1 || traces[0].OK {
			t.Errorf("%s: the login goes on: %+v", name, kept)
		}
	}
}

// newEvil starts a server that nothing secret must go to, and counts what it gets.
func newEvil(t *testing.T) (at string, sent *atomic.Int64) {
	t.Helper()
	sent = &atomic.Int64{}
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent.Add(1)
		answers(200, `{"access_token":"evil-token","token_type":"Bearer"}`)(w, r)
	}))
	t.Cleanup(evil.Close)
	return evil.URL, sent
}
