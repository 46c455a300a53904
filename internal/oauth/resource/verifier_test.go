package resource_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/google/go-cmp/cmp"

	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/testkit/oauthserver"
)

const both = "tools:read tools:call"

// start starts an instance that takes tokens of a, and makes users of everyone who
// has one.
func start(t *testing.T, a *oauthserver.Server, more testkit.Settings) *testkit.Instance {
	t.Helper()
	s := testkit.Settings{"oauth-issuers": a.URL, "oauth-users": "create", "oauth-domains": "example.com", "oauth-role": "developer"}
	maps.Copy(s, more)
	return testkit.Start(t, s)
}

// mint makes a token for /mcp with changed claims; a nil value takes one away.
func mint(t *testing.T, a *oauthserver.Server, i *testkit.Instance, change map[string]any) string {
	t.Helper()
	claims := a.Claims(i.URL+"/mcp", both)
	for name, value := range change {
		if claims[name] = value; value == nil {
			delete(claims, name)
		}
	}
	text, err := a.Sign(claims, nil)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// echo calls demo__echo at an endpoint in the modern era.
func echo(t *testing.T, i *testkit.Instance, endpoint, token string) testkit.Reply {
	t.Helper()
	const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"NAME","arguments":{"text":"hello"},` +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	name := "demo__echo"
	if strings.HasPrefix(endpoint, "/mcp/s/") {
		name = "echo"
	}
	return i.Do(t, http.MethodPost, endpoint, strings.Replace(body, "NAME", name, 1),
		"Authorization: Bearer "+token, "MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: "+name)
}

// legacyEcho is echo in the legacy era, without a session.
func legacyEcho(t *testing.T, i *testkit.Instance, token string, header ...string) testkit.Reply {
	t.Helper()
	return i.Do(t, http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"demo__echo","arguments":{"text":"hello"}}}`,
		append([]string{"Authorization: Bearer " + token, "MCP-Protocol-Version: 2025-11-25"}, header...)...)
}

func ran(r testkit.Reply) bool { return r.Status == http.StatusOK && strings.Contains(r.Body, "hello") }

func TestTokenOpensItsEndpoint(t *testing.T) {
	t.Parallel()
	a := oauthserver.Start(t)
	i := start(t, a, nil)
	text := mint(t, a, i, nil)
	for n := range 3 {
		if r := echo(t, i, "/mcp", text); !ran(r) {
			t.Fatalf("call %d: %d %s", n, r.Status, r.Body)
		}
		if r := legacyEcho(t, i, text); !ran(r) {
			t.Fatalf("legacy call %d: %d %s", n, r.Status, r.Body)
		}
	}
	if n := a.CountRequests("/jwks"); n != 1 {
		t.Errorf("the keys were fetched %d times", n)
	}
	if r := echo(t, i, "/mcp", testkit.AdminKey); !ran(r) {
		t.Errorf("a key: %d %s", r.Status, r.Body)
	}
	// Each endpoint is a resource of its own.
	if r := echo(t, i, "/mcp/s/demo", text); r.Status != http.StatusUnauthorized {
		t.Errorf("another endpoint: %d %s", r.Status, r.Body)
	}
	if r := echo(t, i, "/mcp/s/demo", mint(t, a, i, map[string]any{"aud": []string{"x", i.URL + "/mcp/s/demo"}})); !ran(r) {
		t.Errorf("the server's endpoint: %d %s", r.Status, r.Body)
	}
	// Tokens are for MCP: the API and the plain endpoints take keys.
	for _, path := range []string{"/api/v1/me", "/mcp/tools", "/metrics", "/sse"} {
		if r := i.Do(t, http.MethodGet, path, "", "Authorization: Bearer "+text); r.Status != http.StatusUnauthorized {
			t.Errorf("%s: %d %s", path, r.Status, r.Body)
		}
	}
	if r := i.Do(t, http.MethodGet, "/api/v1/users", ""); strings.Count(r.Body, `"name"`) != 1 || !strings.Contains(r.Body, "ann@example.com") {
		t.Errorf("users: %s", r.Body)
	}
}

func TestMetadata(t *testing.T) {
	t.Parallel()
	a := oauthserver.Start(t)
	i := start(t, a, testkit.Settings{"oauth-scopes": "tools:read,junctor.use=tools:call"})
	for path, resource := range map[string]string{
		"": "/mcp", "/mcp": "/mcp", "/mcp/s/demo": "/mcp/s/demo", "/mcp/s/none": "/mcp/s/none", "/mcp/a/bot": "/mcp/a/bot",
	} {
		r := i.Do(t, http.MethodGet, "/.well-known/oauth-protected-resource"+path, "", "Authorization:")
		var got map[string]any
		if err := json.Unmarshal([]byte(r.Body), &got); err != nil || r.Status != http.StatusOK || r.Header.Get("Content-Type") != "application/json" {
			t.Fatalf("%s: %d %s", path, r.Status, r.Body)
		}
		want := map[string]any{
			"resource": i.URL + resource, "resource_name": "Junctor", "authorization_servers": []any{a.URL},
			"scopes_supported": []any{"tools:read", "junctor.use"}, "bearer_methods_supported": []any{"header"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
	if r := i.Do(t, http.MethodGet, "/.well-known/oauth-protected-resource/mcp/tools", ""); r.Status != http.StatusNotFound {
		t.Errorf("an endpoint that takes no tokens: %d", r.Status)
	}
	none := testkit.Start(t, testkit.Settings{"oauth-server": "off"})
	if r := none.Do(t, http.MethodGet, "/.well-known/oauth-protected-resource", ""); r.Status != http.StatusNotFound {
		t.Errorf("without issuers: %d", r.Status)
	}
	if r := none.Do(t, http.MethodPost, "/mcp", "{}", "Authorization:"); r.Header.Get("WWW-Authenticate") != `Bearer realm="junctor"` {
		t.Errorf("without issuers: %q", r.Header)
	}
}

// TestExactAnswers holds what clients are told, to the letter.
func TestExactAnswers(t *testing.T) {
	t.Parallel()
	a, other := oauthserver.Start(t), oauthserver.Start(t)
	i := start(t, a, nil)
	where := `resource_metadata="` + i.URL + `/.well-known/oauth-protected-resource/mcp", scope="tools:read tools:call"`
	why := func(text string) string {
		return `Bearer error="invalid_token", error_description="` + text + `", ` + where
	}
	foreign, err := other.Sign(other.Claims(i.URL+"/mcp", both), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, token, says string
	}{
		{"expired", mint(t, a, i, map[string]any{"exp": time.Now().Add(-time.Minute).Unix()}), "the token has expired"},
		{"wrong audience", mint(t, a, i, map[string]any{"aud": "https://else.example/mcp"}), "the token is for another audience; its audience must be " + i.URL + "/mcp"},
		{"audience that begins alike", mint(t, a, i, map[string]any{"aud": i.URL + "/mcp/"}), "the token is for another audience; its audience must be " + i.URL + "/mcp"},
		{"wrong issuer", foreign, "this instance does not trust the issuer of the token"},
		{"another's signature", mint(t, other, i, map[string]any{"iss": a.URL}), "the signature of the token does not match a key of its issuer"},
		{"not yet", mint(t, a, i, map[string]any{"nbf": time.Now().Add(time.Hour).Unix()}), "the token is not valid yet"},
		{"from the future", mint(t, a, i, map[string]any{"iat": time.Now().Add(time.Hour).Unix()}), "iat of the token is in the future"},
		{"for ever", mint(t, a, i, map[string]any{"exp": nil}), "the token has no exp"},
		{"nobody's", mint(t, a, i, map[string]any{"sub": nil}), "the token is not an access token of a user or client"},
		{"an ID token", mint(t, a, i, map[string]any{"at_hash": "x"}), "the token is not an access token of a user or client"},
		{"of another type", signed(t, a, i, map[string]any{"typ": "logout+jwt"}), "the token is not an access token"},
		{"unsigned", unsigned(t, a, i), "the token is not a JWT with an asymmetric signature"},
		{"no JWT", "eyJ.x.y", "the token is not a JWT with an asymmetric signature"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for era, r := range map[string]testkit.Reply{"modern": echo(t, i, "/mcp", tt.token), "legacy": legacyEcho(t, i, tt.token)} {
				body := `{"jsonrpc":"2.0","id":null,"error":{"code":-31001,"message":"` + tt.says + `","data":{"code":"unauthenticated"}}}`
				if r.Status != http.StatusUnauthorized || r.Body != body || r.Header.Get("WWW-Authenticate") != why(tt.says) {
					t.Errorf("%s: %d %s\n%s", era, r.Status, r.Body, r.Header.Get("WWW-Authenticate"))
				}
			}
		})
	}
	r := i.Do(t, http.MethodPost, "/mcp", "{}", "Authorization:")
	if r.Status != http.StatusUnauthorized || r.Header.Get("WWW-Authenticate") != "Bearer "+where {
		t.Errorf("nothing shown: %d %q", r.Status, r.Header.Get("WWW-Authenticate"))
	}
	if users := i.Do(t, http.MethodGet, "/api/v1/users", ""); strings.Contains(users.Body, "ann") {
		t.Errorf("a token that is not valid made a user: %s", users.Body)
	}
}

func TestMissingScope(t *testing.T) {
	t.Parallel()
	a := oauthserver.Start(t)
	i := start(t, a, nil)
	header := func(lacks, scopes string) string {
		return `Bearer error="insufficient_scope", error_description="the token lacks the scope ` + lacks + `", ` +
			`resource_metadata="` + i.URL + `/.well-known/oauth-protected-resource/mcp", scope="` + scopes + `"`
	}
	reads := mint(t, a, i, map[string]any{"scope": "tools:read other"})
	const denied = `"error":{"code":-31001,"message":"this key or token lacks the scope tools:call; ask its issuer for one that has it","data":{"code":"denied"}}}`
	for era, r := range map[string]testkit.Reply{
		"modern": echo(t, i, "/mcp", reads), "legacy": legacyEcho(t, i, reads), "a stream": legacyEcho(t, i, reads, "Accept: text/event-stream, application/json"),
	} {
		if r.Status != http.StatusForbidden || r.Body != `{"jsonrpc":"2.0","id":1,`+denied || r.Header.Get("WWW-Authenticate") != header("tools:call", both) {
			t.Errorf("%s: %d %s\n%s", era, r.Status, r.Body, r.Header.Get("WWW-Authenticate"))
		}
	}
	none := mint(t, a, i, map[string]any{"scope": "openid"})
	r := echo(t, i, "/mcp", none)
	const nothing = `{"jsonrpc":"2.0","id":null,"error":{"code":-31001,"message":"the token has no scope of this instance","data":{"code":"denied"}}}`
	if r.Status != http.StatusForbidden || r.Body != nothing || r.Header.Get("WWW-Authenticate") != header("tools:read", both) {
		t.Errorf("no scope: %d %s\n%s", r.Status, r.Body, r.Header.Get("WWW-Authenticate"))
	}
	// No token of a viewer would help: they are not sent for one.
	if r := i.Do(t, http.MethodPatch, "/api/v1/users/ann@example.com", `{"role":"viewer"}`); r.Status != http.StatusOK {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	if r := echo(t, i, "/mcp", mint(t, a, i, nil)); r.Status != http.StatusForbidden || r.Header.Get("WWW-Authenticate") != "" {
		t.Errorf("a viewer: %d %q", r.Status, r.Header.Get("WWW-Authenticate"))
	}
	if r := legacyEcho(t, i, mint(t, a, i, nil)); r.Status != http.StatusOK || r.Header.Get("WWW-Authenticate") != "" || !strings.Contains(r.Body, "-31001") {
		t.Errorf("a viewer of the legacy era: %d %q", r.Status, r.Header.Get("WWW-Authenticate"))
	}
}

// TestOtherClaims holds the forms that issuers have for audiences and scopes.
func TestOtherClaims(t *testing.T) {
	t.Parallel()
	a := oauthserver.Start(t)
	i := start(t, a, testkit.Settings{"oauth-audiences": "api://junctor", "oauth-scopes": "tools:read,use=tools:call,use=tools:read"})
	for name, claims := range map[string]map[string]any{
		"a list":       {"scp": []string{"use"}, "scope": nil},
		"one text":     {"scp": "x use", "scope": nil},
		"by the RFC":   {"scope": "x use"},
		"two audience": {"scope": "use", "aud": []string{"y", "api://junctor"}},
	} {
		if claims["aud"] == nil {
			claims["aud"] = "api://junctor"
		}
		if r := echo(t, i, "/mcp/s/demo", mint(t, a, i, claims)); !ran(r) {
			t.Errorf("%s: %d %s", name, r.Status, r.Body)
		}
	}
	if r := echo(t, i, "/mcp", mint(t, a, i, nil)); r.Status != http.StatusUnauthorized || !strings.Contains(r.Body, "api://junctor") {
		t.Errorf("the endpoint's own address: %d %s", r.Status, r.Body)
	}
	if r := echo(t, i, "/mcp", mint(t, a, i, map[string]any{"aud": "api://junctor", "scope": "admin tools:call"})); r.Status != http.StatusForbidden {
		t.Errorf("scopes that are not listed: %d %s", r.Status, r.Body)
	}
}

func TestOnlySomePeople(t *testing.T) {
	t.Parallel()
	a := oauthserver.Start(t)
	i := start(t, a, testkit.Settings{"oauth-users": "link", "oauth-domains": ""})
	text := mint(t, a, i, nil)
	if r := echo(t, i, "/mcp", text); r.Status != http.StatusForbidden || !strings.Contains(r.Body, "The user ann@example.com does not exist") {
		t.Errorf("nobody: %d %s", r.Status, r.Body)
	}
	if r := i.Do(t, http.MethodPost, "/api/v1/users", `{"name":"ann@example.com","role":"developer"}`); r.Status != http.StatusCreated {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	if r := echo(t, i, "/mcp", mint(t, a, i, map[string]any{"email_verified": false})); r.Status != http.StatusForbidden {
		t.Errorf("an address that nobody made sure of: %d %s", r.Status, r.Body)
	}
	if r := echo(t, i, "/mcp", text); !ran(r) {
		t.Errorf("the user: %d %s", r.Status, r.Body)
	}
	// From then on the issuer's own id is enough.
	if r := echo(t, i, "/mcp", mint(t, a, i, map[string]any{"email": nil})); !ran(r) {
		t.Errorf("known by id: %d %s", r.Status, r.Body)
	}
	if r := echo(t, i, "/mcp", mint(t, a, i, map[string]any{"sub": "somebody-else"})); r.Status != http.StatusForbidden {
		t.Errorf("the same address, another person: %d %s", r.Status, r.Body)
	}
}

// TestGroupsOfTokens has a rule read the groups that a token states. They are stored for the keys
// of the user, and count for tokens that state none.
func TestGroupsOfTokens(t *testing.T) {
	t.Parallel()
	a := oauthserver.Start(t)
	i := start(t, a, testkit.Settings{"oauth-groups-claim": "teams"})
	if r := echo(t, i, "/mcp", mint(t, a, i, nil)); !ran(r) {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	r := i.Do(t, http.MethodPost, "/api/v1/keys", `{"name":"hers","scopes":["tools:read","tools:call"],"user":"ann@example.com"}`)
	var key struct{ Key string }
	if err := json.Unmarshal([]byte(r.Body), &key); err != nil || key.Key == "" {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	rule := `{"rules":[{"name":"blue-only","target":{"items":["demo/echo"]},"when":"!('blue' in principal.groups)","verdict":"deny","message":"for blue alone"}]}`
	if r := i.Do(t, http.MethodPut, "/api/v1/policies", rule); r.Status != http.StatusOK {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	for n, step := range []struct {
		claims   map[string]any
		ran, key bool
	}{
		{map[string]any{"groups": []string{"blue"}}, false, false},
		{map[string]any{"teams": []string{"red", "blue"}}, true, true},
		{map[string]any{"jti": "states none"}, true, true},
		{map[string]any{"teams": []string{}}, false, false},
	} {
		if r := echo(t, i, "/mcp", mint(t, a, i, step.claims)); ran(r) != step.ran {
			t.Errorf("token %d: %d %s", n, r.Status, r.Body)
		}
		if r := echo(t, i, "/mcp", key.Key); ran(r) != step.key {
			t.Errorf("key after token %d: %d %s", n, r.Status, r.Body)
		}
	}
}

func TestRevocationIsAtOnce(t *testing.T) {
	t.Parallel()
	a := oauthserver.Start(t)
	i := start(t, a, nil)
	text := mint(t, a, i, nil)
	if r := echo(t, i, "/mcp", text); !ran(r) {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	set := func(body string) {
		t.Helper()
		if r := i.Do(t, http.MethodPatch, "/api/v1/users/ann@example.com", body); r.Status != http.StatusOK {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
	}
	set(`{"disabled":true}`)
	if r := echo(t, i, "/mcp", text); r.Status != http.StatusForbidden {
		t.Errorf("switched off: %d %s", r.Status, r.Body)
	}
	set(`{"disabled":false}`)
	if r := echo(t, i, "/mcp", text); !ran(r) {
		t.Errorf("switched on: %d %s", r.Status, r.Body)
	}
	set(`{"role":"viewer"}`)
	if r := echo(t, i, "/mcp", text); r.Status != http.StatusForbidden {
		t.Errorf("a lesser role: %d %s", r.Status, r.Body)
	}
	if r := i.Do(t, http.MethodDelete, "/api/v1/users/ann@example.com", ""); r.Status >= 300 {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	if r := echo(t, i, "/mcp", text); r.Status != http.StatusForbidden {
		t.Errorf("deleted: %d %s", r.Status, r.Body)
	}
}

// TestRefreshedTokenGoesOn holds that a session is its person's, whatever token
// they show.
func TestRefreshedTokenGoesOn(t *testing.T) {
	t.Parallel()
	a := oauthserver.Start(t)
	i := start(t, a, nil)
	hello := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	first := mint(t, a, i, nil)
	r := i.Do(t, http.MethodPost, "/mcp", hello, "Authorization: Bearer "+first)
	session := "Mcp-Session-Id: " + r.Header.Get("Mcp-Session-Id")
	if r := legacyEcho(t, i, first, session); !ran(r) {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	if r := legacyEcho(t, i, mint(t, a, i, nil), session); !ran(r) {
		t.Errorf("with a new token: %d %s", r.Status, r.Body)
	}
	if r := legacyEcho(t, i, mint(t, a, i, map[string]any{"sub": "bob-2", "email": "bob@example.com"}), session); r.Status != http.StatusNotFound {
		t.Errorf("somebody else: %d %s", r.Status, r.Body)
	}
	if r := legacyEcho(t, i, testkit.AdminKey, session); r.Status != http.StatusNotFound {
		t.Errorf("the admin: %d %s", r.Status, r.Body)
	}
}

// TestStreamsEndWithTheirToken holds that what a token opened ends when that is no
// longer taken, which is half a minute after it says that it expires.
func TestStreamsEndWithTheirToken(t *testing.T) {
	t.Parallel()
	a := oauthserver.Start(t)
	i := start(t, a, nil)
	until := time.Now().Truncate(time.Second).Add(15 * time.Second)
	token := "Authorization: Bearer " + mint(t, a, i, map[string]any{"exp": until.Add(-30 * time.Second).Unix()})
	hello := i.Do(t, http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`, token)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	legacy := i.Open(ctx, t, http.MethodGet, "/mcp", "", token, "Mcp-Session-Id: "+hello.Header.Get("Mcp-Session-Id"), "Accept: text/event-stream")
	modern := i.Open(ctx, t, http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},`+
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		token, "MCP-Protocol-Version: 2026-07-28", "Mcp-Method: subscriptions/listen")
	for name, resp := range map[string]*http.Response{"legacy": legacy, "modern": modern} {
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d", name, resp.StatusCode)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if ctx.Err() != nil {
			t.Errorf("%s: it is still open", name)
		}
		if early := time.Until(until); early > 100*time.Millisecond {
			t.Errorf("%s: ended %s before its token", name, early)
		}
	}
}

// TestManyAtOnce lets one person come for the first time by many requests.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	a := oauthserver.Start(t)
	i := start(t, a, nil)
	tokens := make([]string, 8) // as many as a user may have under way at a time
	for n := range tokens {
		tokens[n] = mint(t, a, i, nil)
	}
	var all sync.WaitGroup
	for _, text := range tokens {
		all.Go(func() {
			if r := echo(t, i, "/mcp", text); !ran(r) {
				t.Errorf("%d %s", r.Status, r.Body)
			}
		})
	}
	all.Wait()
	if r := i.Do(t, http.MethodGet, "/api/v1/users", ""); strings.Count(r.Body, `"name"`) != 1 {
		t.Errorf("users: %s", r.Body)
	}
	if n := a.CountRequests("/jwks"); n != 1 {
		t.Errorf("the keys were fetched %d times", n)
	}
}

func TestKeysOfTheIssuer(t *testing.T) {
	t.Parallel()
	a := oauthserver.Start(t)
	i := start(t, a, nil)
	a.Hide(true, "/jwks")
	if r := echo(t, i, "/mcp", mint(t, a, i, nil)); r.Status != http.StatusServiceUnavailable || r.Header.Get("Retry-After") == "" {
		t.Errorf("no keys: %d %s", r.Status, r.Body)
	}
	// The issuer is left alone for a while, whatever comes.
	for range 5 {
		echo(t, i, "/mcp", mint(t, a, i, nil))
	}
	if n := a.CountRequests("/jwks"); n != 1 {
		t.Errorf("it was asked %d times", n)
	}

	open := oauthserver.Start(t)
	open.Hide(true, "/.well-known/oauth-authorization-server") // OpenID alone
	i = start(t, open, nil)
	if r := echo(t, i, "/mcp", mint(t, open, i, nil)); !ran(r) {
		t.Fatalf("by OpenID discovery: %d %s", r.Status, r.Body)
	}
	for range 5 {
		if r := echo(t, i, "/mcp", signed(t, open, i, map[string]any{"kid": rand.Text()})); r.Status != http.StatusUnauthorized {
			t.Errorf("an unknown key: %d %s", r.Status, r.Body)
		}
	}
	if n := open.CountRequests("/jwks"); n != 1 {
		t.Errorf("unknown keys made %d fetches", n)
	}
}

// signed makes a token with other members in its header.
func signed(t *testing.T, a *oauthserver.Server, i *testkit.Instance, header map[string]any) string {
	t.Helper()
	text, err := a.Sign(a.Claims(i.URL+"/mcp", both), header)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// unsigned makes one that nobody signed.
func unsigned(t *testing.T, a *oauthserver.Server, i *testkit.Instance) string {
	t.Helper()
	claims, err := json.Marshal(a.Claims(i.URL+"/mcp", both))
	if err != nil {
		t.Fatal(err)
	}
	b64 := base64.RawURLEncoding
	return b64.EncodeToString([]byte(`{"alg":"none","typ":"at+jwt"}`)) + "." + b64.EncodeToString(claims) + "."
}

// TestSharedSecretIsNoSignature holds that a public key is not taken for a
// secret that both sides know.
func TestSharedSecretIsNoSignature(t *testing.T) {
	t.Parallel()
	a := oauthserver.Start(t)
	i := start(t, a, nil)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	public, err := key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.HS256, Key: public}, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := jwt.Signed(signer).Claims(a.Claims(i.URL+"/mcp", both)).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	if r := echo(t, i, "/mcp", text); r.Status != http.StatusUnauthorized {
		t.Errorf("%d %s", r.Status, r.Body)
	}
}
