package upstreamauth_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admission"
	oauthclient "github.com/junctor-mcp/junctor/internal/oauth/client"
	"github.com/junctor-mcp/junctor/internal/seal"
	"github.com/junctor-mcp/junctor/internal/upstreamauth"
)

const canary = "canary-77aa"

func web() junctor.Connection {
	return junctor.Connection{
		Transport: junctor.TransportHTTP, URL: "https://example.com/mcp?key=" + canary,
		Auth:    &junctor.Auth{Type: junctor.AuthBearer, Secret: canary},
		Headers: map[string]string{"X-Team": canary, "X-Ref": "env:TEAM"},
	}
}

// admitted is a connection that somebody was allowed to bring.
func admitted(c junctor.Connection) admission.Connection {
	return admission.Stored(junctor.Server{Connection: c}).Connection()
}

func reader(t *testing.T) upstreamauth.ReferenceReader {
	t.Helper()
	return upstreamauth.ReferenceReader{DataDir: t.TempDir(), Lookup: func(name string) (string, bool) {
		v, ok := map[string]string{"TEAM": "blue\n", "JUNCTOR_SEAL_KEY": canary, "EMPTY": ""}[name]
		return v, ok
	}}
}

func TestSplitPackUnpack(t *testing.T) {
	t.Parallel()
	c, set := upstreamauth.SplitLiterals(web())
	if text := fmt.Sprintf("%+v %#v %v", c, set, set); strings.Contains(text, canary) {
		t.Errorf("shown: %s", text)
	}
	if c.Auth.Secret != junctor.Masked || c.Headers["X-Team"] != junctor.Masked || c.Headers["X-Ref"] != "env:TEAM" || c.URL != "https://example.com/mcp?***" {
		t.Errorf("%+v %+v", c, c.Auth)
	}
	packed, err := set.Pack(c)
	if err != nil {
		t.Fatal(err)
	}
	source := upstreamauth.NewSource(admitted(c), func(context.Context) (upstreamauth.LiteralSet, error) { return upstreamauth.UnpackLiterals(packed, c) }, reader(t), nil)
	h, err := source.Header(t.Context())
	if err != nil || h.Get("Authorization") != "Bearer "+canary || h.Get("X-Team") != canary || h.Get("X-Ref") != "blue" {
		t.Errorf("%v, %v", h, err)
	}
	if got := source.Scrub("401: " + canary + " is not valid, blue"); got != "401: *** is not valid, blue" {
		t.Errorf("scrubbed to %q", got)
	}
	if u, err := source.URL(t.Context()); err != nil || u.String() != web().URL {
		t.Errorf("%v, %v", u, err)
	}
	elsewhere := c
	elsewhere.URL = "https://example.org/mcp"
	if _, err := upstreamauth.UnpackLiterals(packed, elsewhere); junctor.CodeOf(err) != junctor.CodeDenied {
		t.Errorf("for another origin: %v", err)
	}
}

func TestKeep(t *testing.T) {
	t.Parallel()
	former, stored := upstreamauth.SplitLiterals(web())
	for name, tt := range map[string]struct {
		change func(*junctor.Connection)
		want   junctor.Code
	}{
		"all":          {func(*junctor.Connection) {}, ""},
		"another path": {func(c *junctor.Connection) { c.URL = "https://example.com/other" }, ""},
		"another host": {func(c *junctor.Connection) { c.URL = "https://example.org/mcp" }, junctor.CodeDenied},
		"another port": {func(c *junctor.Connection) { c.URL = "https://example.com:8443/mcp" }, junctor.CodeDenied},
		"plain http":   {func(c *junctor.Connection) { c.URL = "http://example.com/mcp" }, junctor.CodeDenied},
		"another token address": {func(c *junctor.Connection) {
			c.Auth = &junctor.Auth{Type: junctor.AuthOAuthClient, Secret: junctor.Masked, ClientID: "me", TokenURL: "https://evil.example/"}
		}, junctor.CodeDenied},
		"none is stored": {func(c *junctor.Connection) { c.Headers = map[string]string{"X-New": junctor.Masked} }, junctor.CodeInvalid},
	} {
		now := former
		tt.change(&now)
		now, entered := upstreamauth.SplitLiterals(now)
		got, err := upstreamauth.KeepLiterals(&junctor.Server{Connection: now}, entered, &junctor.Server{Connection: former}, stored)
		if junctor.CodeOf(err) != tt.want {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
		if err == nil && got["auth"].Reveal() != canary {
			t.Errorf("%s: the credential was not kept", name)
		}
	}
	moved := former
	moved.URL, moved.Headers = "https://example.org/", nil
	moved.Auth = &junctor.Auth{Type: junctor.AuthBearer, Secret: "new"}
	moved, entered := upstreamauth.SplitLiterals(moved)
	if set, err := upstreamauth.KeepLiterals(&junctor.Server{Connection: moved}, entered, &junctor.Server{Connection: former}, stored); err != nil || set["auth"].Reveal() != "new" || len(set) != 1 {
		t.Errorf("entered again: %v, %v", set, err)
	}
}

func TestReferences(t *testing.T) {
	t.Parallel()
	r := reader(t)
	file := filepath.Join(t.TempDir(), "token")
	own := filepath.Join(r.DataDir, "seal.key")
	for _, path := range []string{file, own} {
		if err := os.WriteFile(path, []byte(canary+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(own, link); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		ref, want string
		code      junctor.Code
	}{
		{"env:TEAM", "blue", ""},
		{"env:NONE", "", junctor.CodeUnavailable},
		{"env:EMPTY", "", junctor.CodeUnavailable},
		{"env:JUNCTOR_SEAL_KEY", "", junctor.CodeDenied},
		{"file:" + file, canary, ""},
		{"file:" + file + "x", "", junctor.CodeUnavailable},
		{"file:token", "", junctor.CodeInvalid},
		{"file:" + own, "", junctor.CodeDenied},
		{"file:" + filepath.Dir(file) + "/../" + filepath.Base(filepath.Dir(file)) + "/token", canary, ""},
		{"file:" + link, "", junctor.CodeDenied},
		{"file:" + t.TempDir(), "", junctor.CodeUnavailable},
		{"cmd:cat " + file, canary, ""},
		{`cmd:["cat","` + file + `"]`, canary, ""},
		{"cmd:cat " + file + "; echo x", "", junctor.CodeUnavailable},
		{"cmd:", "", junctor.CodeInvalid},
		{"cmd:no-such-program-here", "", junctor.CodeUnavailable},
	} {
		got, err := r.Read(t.Context(), admitted(junctor.Connection{Auth: &junctor.Auth{Secret: tt.ref}}).Reference(tt.ref))
		if got.Reveal() != tt.want || junctor.CodeOf(err) != tt.code {
			t.Errorf("%s: %q, %v", tt.ref, got.Reveal(), err)
		}
		if err != nil && strings.Contains(err.Error(), canary) {
			t.Errorf("%s: the error shows the value: %v", tt.ref, err)
		}
	}
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		auth         junctor.Auth
		header, want string
	}{
		"api-key": {junctor.Auth{Type: junctor.AuthAPIKey, Secret: "s", Header: "X-Mine"}, "X-Mine", "s"},
		"default": {junctor.Auth{Type: junctor.AuthAPIKey, Secret: "s"}, "X-Api-Key", "s"},
		"basic":   {junctor.Auth{Type: junctor.AuthBasic, Secret: "s", Username: "u"}, "Authorization", "Basic dTpz"},
	} {
		c, set := upstreamauth.SplitLiterals(junctor.Connection{Transport: junctor.TransportHTTP, URL: "https://x", Auth: &tt.auth})
		h, err := upstreamauth.NewSource(admitted(c), upstreamauth.StaticLiterals(set), reader(t), nil).Header(t.Context())
		if err != nil || h.Get(tt.header) != tt.want {
			t.Errorf("%s: %v, %v", name, h, err)
		}
	}
	c, set := upstreamauth.SplitLiterals(junctor.Connection{Transport: junctor.TransportHTTP, URL: "https://x", Headers: map[string]string{"X-A": canary + "\r\nX-B: 1"}})
	if h, err := upstreamauth.NewSource(admitted(c), upstreamauth.StaticLiterals(set), reader(t), nil).Header(t.Context()); err == nil || strings.Contains(err.Error(), canary) {
		t.Errorf("a line break: %v, %v", h, err)
	}
	c, set = upstreamauth.SplitLiterals(junctor.Connection{Transport: junctor.TransportStdio, Command: []string{"x"}, Env: map[string]string{"B": canary, "A": "env:TEAM", "C": ""}})
	if env, err := upstreamauth.NewSource(admitted(c), upstreamauth.StaticLiterals(set), reader(t), nil).Env(t.Context()); err != nil || strings.Join(env, " ") != "A=blue B="+canary+" C=" {
		t.Errorf("%v, %v", env, err)
	}
}

func TestOAuthClient(t *testing.T) {
	t.Parallel()
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		id, secret, _ := r.BasicAuth()
		if r.FormValue("grant_type") != "client_credentials" || r.FormValue("scope") != "mcp" || id != "me%40x" {
			t.Errorf("asked with %v by %q", r.Form, id)
		}
		if secret != canary {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = fmt.Fprintf(w, `{"access_token":"t-%d","expires_in":3600}`, asked)
	}))
	t.Cleanup(server.Close)
	source := func(secret string) *upstreamauth.Source {
		c, set := upstreamauth.SplitLiterals(junctor.Connection{Transport: junctor.TransportHTTP, URL: "https://x", Auth: &junctor.Auth{
			Type: junctor.AuthOAuthClient, Secret: secret, ClientID: "me@x", TokenURL: server.URL, Scope: "mcp",
		}})
		return upstreamauth.NewSource(admitted(c), upstreamauth.StaticLiterals(set), reader(t), machine(server.Client()))
	}
	good := source(canary)
	for range 3 {
		if h, err := good.Header(t.Context()); err != nil || h.Get("Authorization") != "Bearer t-1" {
			t.Errorf("%v, %v", h, err)
		}
	}
	if _, err := source("wrong").Header(t.Context()); junctor.CodeOf(err) != junctor.CodeUnauthenticated {
		t.Errorf("a wrong secret: %v", err)
	}
	if asked != 2 {
		t.Errorf("asked %d times", asked)
	}
}

// A token that the server does not take is got anew, but not at every call.
func TestTokenIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		c, set := upstreamauth.SplitLiterals(junctor.Connection{Transport: junctor.TransportHTTP, URL: "https://x", Auth: &junctor.Auth{
			Type: junctor.AuthOAuthClient, Grant: junctor.GrantTokenExchange, Subject: canary + "-s", IDPSecret: canary + "-i", TokenURL: "https://x",
		}})
		if len(set) != 2 || c.Auth.Subject != junctor.Masked || c.Auth.IDPSecret != junctor.Masked {
			t.Fatalf("%+v", c.Auth)
		}
		s := upstreamauth.NewSource(admitted(c), upstreamauth.StaticLiterals(set), reader(t), func(_ context.Context, _ junctor.Auth, with oauthclient.TokenProof) (seal.Secret, time.Duration, error) {
			asked++
			if with.Subject.Reveal() != canary+"-s" || with.IDPSecret.Reveal() != canary+"-i" {
				t.Errorf("asked with %v", with)
			}
			return seal.NewSecret(fmt.Sprintf("t-%d", asked)), time.Hour, nil
		})
		expect := func(want string) {
			t.Helper()
			if h, err := s.Header(t.Context()); err != nil || h.Get("Authorization") != "Bearer "+want {
				t.Errorf("%v, %v, want %s", h, err, want)
			}
		}
		expect("t-1")
		s.Forget()
		expect("t-1") // it was got a moment ago
		time.Sleep(time.Minute)
		expect("t-1")
		s.Forget()
		expect("t-2")
		if text := s.Scrub("with " + canary + "-s " + canary + "-i t-2"); strings.Contains(text, canary) {
			t.Errorf("%s", text)
		}
	})
}

// A call must not open what is sealed, nor start a program, each time.
func TestHeaderIsRemembered(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "token")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("first")
	c := junctor.Connection{
		URL: "https://example.com/mcp", Auth: &junctor.Auth{Type: junctor.AuthBearer, Secret: "file:" + file}, Headers: map[string]string{"X-Team": junctor.Masked},
	}
	opened := 0
	s := upstreamauth.NewSource(admitted(c), func(context.Context) (upstreamauth.LiteralSet, error) {
		opened++
		_, set := upstreamauth.SplitLiterals(junctor.Connection{URL: c.URL, Headers: map[string]string{"X-Team": canary}})
		return set, nil
	}, reader(t), nil)
	expect := func(want string) {
		t.Helper()
		h, err := s.Header(t.Context())
		if err != nil || h.Get("Authorization") != "Bearer "+want || h.Get("X-Team") != canary {
			t.Fatalf("%v, %v", h, err)
		}
	}
	expect("first")
	write("second")
	expect("first")
	s.Forget() // the server did not take it
	expect("second")
	if opened != 1 {
		t.Errorf("what is sealed was opened %d times", opened)
	}
}

func TestReferencesAreReadAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		value := "first"
		look := upstreamauth.ReferenceReader{DataDir: t.TempDir(), Lookup: func(string) (string, bool) { return value, true }}
		s := upstreamauth.NewSource(admitted(junctor.Connection{URL: "https://example.com/", Auth: &junctor.Auth{Type: junctor.AuthBearer, Secret: "env:TOKEN"}}), upstreamauth.StaticLiterals(nil), look, nil)
		for _, want := range []string{"first", "second"} {
			h, err := s.Header(t.Context())
			if err != nil || h.Get("Authorization") != "Bearer "+want {
				t.Errorf("%v, %v", h, err)
			}
			value = "second"
			time.Sleep(time.Minute)
		}
	})
}

// Who waits for a token that another asks for does so within its own time.
func TestNobodyWaitsForAnothersToken(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}, 8), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm() // or its end is not seen
		entered <- struct{}{}
		<-release
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(release) })
	c, set := upstreamauth.SplitLiterals(junctor.Connection{Transport: junctor.TransportHTTP, URL: "https://x", Auth: &junctor.Auth{
		Type: junctor.AuthOAuthClient, Secret: canary, ClientID: "me", TokenURL: server.URL,
	}})
	source := upstreamauth.NewSource(admitted(c), upstreamauth.StaticLiterals(set), reader(t), machine(server.Client()))
	ask := func(ctx context.Context) chan error {
		done := make(chan error, 1)
		go func() {
			_, err := source.Header(ctx)
			done <- err
		}()
		return done
	}
	patient, giveUp := context.WithCancel(t.Context())
	first := ask(patient)
	<-entered
	hasty, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	select {
	case err := <-ask(hasty):
		if junctor.CodeOf(err) != junctor.CodeTimeout {
			t.Errorf("%v", err)
		}
	case <-time.After(time.Minute):
		t.Error("it waits for another's request")
	}
	giveUp()
	<-first
}

// machine gets tokens as an instance does.
func machine(client *http.Client) oauthclient.TokenRequester {
	return (&oauthclient.Client{HTTP: client, Now: time.Now}).NewTokenRequester("https://example.com/mcp", func(context.Context, *junctor.Trace) {}, nil)
}
