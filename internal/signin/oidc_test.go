package signin_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/testkit"
)

// withProvider starts an instance that an identity provider vouches to.
func withProvider(t *testing.T, p *idp, s testkit.Settings) *testkit.Instance {
	t.Helper()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(clientSecret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	settings := testkit.Settings{"oidc-issuer": p.URL, "oidc-client-id": clientID, "oidc-client-secret": "file:" + secret}
	maps.Copy(settings, s)
	return testkit.Start(t, settings)
}

func create() testkit.Settings {
	return testkit.Settings{"oidc-users": "create", "oidc-domains": "example.com", "oidc-role": "developer"}
}

func TestProvider(t *testing.T) {
	t.Parallel()
	p := newIDP(t)
	i := withProvider(t, p, create())
	b := newBrowser(t, i)
	if r := b.do("GET", "/login", nil); !strings.Contains(r.body, "Continue with "+strings.TrimPrefix(p.URL, "http://")) {
		t.Errorf("the page says %s", r.body)
	}
	r := b.provider()
	me := b.me()
	if r.status != 200 || me.Person.Name != "ann@example.com" || me.Person.Role != "developer" || me.Tenant != "default" {
		t.Fatalf("%d %s, %+v", r.status, r.body, me)
	}
	if c := b.cookies[b.sessionCookie()]; c.SameSite != http.SameSiteStrictMode || !c.Secure || b.cookies[strings.Replace(b.sessionCookie(), "session", "oidc", 1)] != nil {
		t.Errorf("%v", b.cookies)
	}
	// Who comes again is the same user, whatever their address is by then.
	p.set(func(p *idp) { p.person["email"] = "ann.other@example.com" })
	again := newBrowser(t, i)
	again.provider()
	if you := again.me(); you.User != me.User || you.Login == me.Login {
		t.Errorf("%+v, then %+v", me, you)
	}
	secrets := map[string]string{"the client's secret": clientSecret, "a cookie": b.cookies[b.sessionCookie()].Value}
	for n, s := range p.seen {
		secrets[fmt.Sprint("what the provider saw, ", n)] = s
	}
	nowhere(t, i, secrets)
}

// Each way in which an answer can be wrong is refused, and lets nobody in.
func TestProviderRefused(t *testing.T) {
	t.Parallel()
	other := newKey(t)
	p := newIDP(t)
	i := withProvider(t, p, create())
	for name, tt := range map[string]struct {
		change func(*idp)
		status int
		says   string
	}{
		"another nonce":      {func(p *idp) { p.bend = func(c map[string]any) { c["nonce"] = "x" } }, 502, "identity provider"},
		"no nonce":           {func(p *idp) { p.bend = func(c map[string]any) { delete(c, "nonce") } }, 502, ""},
		"another audience":   {func(p *idp) { p.bend = func(c map[string]any) { c["aud"] = "other" } }, 502, ""},
		"several audiences":  {func(p *idp) { p.bend = func(c map[string]any) { c["aud"] = []string{clientID, "other"} } }, 502, ""},
		"another party":      {func(p *idp) { p.bend = func(c map[string]any) { c["azp"] = "other" } }, 502, ""},
		"another issuer":     {func(p *idp) { p.bend = func(c map[string]any) { c["iss"] = "https://evil.example" } }, 502, ""},
		"expired":            {func(p *idp) { p.bend = func(c map[string]any) { c["exp"] = time.Now().Add(-time.Hour).Unix() } }, 502, ""},
		"no subject":         {func(p *idp) { p.bend = func(c map[string]any) { delete(c, "sub") } }, 502, ""},
		"another key":        {func(p *idp) { p.sign = func(h, c any) string { return signWith(other, h, c) } }, 502, ""},
		"unsigned":           {func(p *idp) { p.sign = unsigned }, 502, ""},
		"no token":           {func(p *idp) { p.sign = func(any, any) string { return "" } }, 502, ""},
		"code of another":    {func(p *idp) { p.query = func(q url.Values) { q.Set("code", "code-of-another") } }, 502, ""},
		"mixed up":           {func(p *idp) { p.query = func(q url.Values) { q.Set("iss", "https://evil.example") } }, 403, "another identity provider"},
		"issuer left out":    {func(p *idp) { p.query = func(q url.Values) { q.Del("iss") } }, 403, "another identity provider"},
		"issuer twice":       {func(p *idp) { p.query = func(q url.Values) { q.Add("iss", q.Get("iss")) } }, 403, "another identity provider"},
		"another state":      {func(p *idp) { p.query = func(q url.Values) { q.Set("state", "x") } }, 403, "started in another browser"},
		"no state":           {func(p *idp) { p.query = func(q url.Values) { q.Del("state") } }, 403, "started in another browser"},
		"no code":            {func(p *idp) { p.query = func(q url.Values) { q.Del("code") } }, 403, "has no code"},
		"the person said no": {func(p *idp) { p.query = func(q url.Values) { q.Set("error", "access_denied"); q.Del("code") } }, 403, "access_denied"},
		"unverified address": {func(p *idp) { p.person["email_verified"] = false }, 403, "has not verified your e-mail address"},
		"another domain":     {func(p *idp) { p.person["email"] = "ann@evil.example" }, 403, "domain"},
		"a subdomain":        {func(p *idp) { p.person["email"] = "ann@x.example.com" }, 403, "domain"},
		"a likeness":         {func(p *idp) { p.person["email"] = "ann@example.com@evil.example" }, 403, "domain"},
	} {
		p.set(func(p *idp) { p.person, p.bend, p.sign, p.query = ann(), nil, nil, nil })
		p.set(tt.change)
		b := newBrowser(t, i)
		r := b.provider()
		if r.status != tt.status || !strings.Contains(r.body, tt.says) || len(b.cookies) != 0 {
			t.Errorf("%s: %d %s, %v", name, r.status, r.body, b.cookies)
		}
	}
	if users := i.Do(t, "GET", "/api/v1/users", "").Body; users != "{\"items\":[],\"total\":0}\n" {
		t.Errorf("made a user: %s", users)
	}
	p.set(func(p *idp) { p.person, p.bend, p.sign, p.query = ann(), nil, nil, nil })
	b := newBrowser(t, i)
	if b.provider(); b.me().Login == "" {
		t.Error("nobody is let in at all")
	}
}

func unsigned(_, claims any) string {
	h, _ := json.Marshal(map[string]any{"alg": "none"})
	c, _ := json.Marshal(claims)
	return b64.EncodeToString(h) + "." + b64.EncodeToString(c) + "."
}

// An answer is good once, in the browser that asked.
func TestProviderAnswersAreBound(t *testing.T) {
	t.Parallel()
	p := newIDP(t)
	i := withProvider(t, p, create())
	ann, eve := newBrowser(t, i), newBrowser(t, i)
	back := ann.do("GET", ann.start(), nil).header.Get("Location")
	eve.start()
	if r := eve.do("GET", back, nil); r.status != 403 || eve.cookies[eve.sessionCookie()] != nil {
		t.Errorf("another browser: %d", r.status)
	}
	if r := newBrowser(t, i).do("GET", back, nil); r.status != 403 {
		t.Errorf("a browser that began nothing: %d", r.status)
	}
	again := ann.fork()
	if r := ann.do("GET", back, nil); r.status != 200 || ann.me().Login == "" {
		t.Fatalf("%d %s", r.status, r.body)
	}
	if r := again.do("GET", back, nil); r.status != 403 || !strings.Contains(r.body, "already complete") {
		t.Errorf("again: %d %s", r.status, r.body)
	}
	if r := ann.do("GET", "/login/oidc", nil, "Sec-Fetch-Site: cross-site"); r.status != 403 {
		t.Errorf("begun from elsewhere: %d", r.status)
	}
	bare := newBrowser(t, i)
	bare.home = i.URL
	if r := bare.do("GET", "/login/oidc", nil); r.status != 303 || r.header.Get("Location") != console(i)+"/login" || len(bare.cookies) != 0 {
		t.Errorf("at another address: %d %v", r.status, r.header)
	}
}

func TestProviderRoles(t *testing.T) {
	t.Parallel()
	p := newIDP(t)
	i := withProvider(t, p, testkit.Settings{
		"oidc-users": "create", "oidc-roles": "groups=dev:developer,groups=ops:admin,hd=example.com:viewer", "oidc-scopes": "email,groups",
	})
	sign := func(claims map[string]any) (role, name string, status int) {
		t.Helper()
		p.set(func(p *idp) {
			p.person = map[string]any{"sub": "1", "email": "ann@example.com", "email_verified": true}
			maps.Copy(p.person, claims)
		})
		b := newBrowser(t, i)
		r := b.provider()
		me := b.me()
		return me.Person.Role, me.Person.Name, r.status
	}
	for _, step := range []struct {
		claims map[string]any
		role   string
	}{
		{map[string]any{"groups": []string{"x"}}, ""},
		{map[string]any{"groups": []string{"dev"}}, "developer"},
		{map[string]any{"groups": []string{"dev", "ops"}}, "admin"},
		{map[string]any{"hd": "example.com"}, "viewer"}, // one claim less is a right less
		{map[string]any{"groups": map[string]any{"ops": true}, "hd": 7}, ""},
		{map[string]any{"groups": "ops"}, "admin"},
	} {
		role, _, status := sign(step.claims)
		if role != step.role || (status == 200) != (step.role != "") {
			t.Errorf("%v: %q, %d", step.claims, role, status)
		}
	}
	// A provider with short ID tokens says the rest elsewhere; only of the same person.
	for sub, want := range map[string]string{"2": "zoe@example.com", "1": ""} {
		p.set(func(p *idp) {
			p.person = map[string]any{"sub": "2", "groups": "dev"}
			p.userinfo = map[string]any{"sub": sub, "email": "Zoe@example.com", "email_verified": true, "groups": "ops"}
		})
		b := newBrowser(t, i)
		b.provider()
		if me := b.me(); me.Person.Name != want || want != "" && me.Person.Role != "developer" {
			t.Errorf("%s: %+v", sub, me)
		}
	}
}

func TestProviderLinks(t *testing.T) {
	t.Parallel()
	p := newIDP(t)
	i := withProvider(t, p, testkit.Settings{"oidc-tenant": "acme"})
	key := object(t, i, "POST", "/tenants", `{"id":"acme"}`, 201).AdminKey.Key
	acme := "Authorization: Bearer " + key
	object(t, i, "POST", "/users", `{"name":"ann@example.com","role":"admin"}`, 201) // of the same name, in another tenant
	refused := func(says string) {
		t.Helper()
		b := newBrowser(t, i)
		if r := b.provider(); r.status != 403 || !strings.Contains(r.body, says) || len(b.cookies) != 0 {
			t.Errorf("%d %s", r.status, r.body)
		}
	}
	refused("The user ann@example.com does not exist")
	if r := i.Do(t, "POST", "/api/v1/users", `{"name":"ann@example.com","role":"viewer"}`, acme); r.Status != 201 {
		t.Fatal(r.Body)
	}
	b := newBrowser(t, i)
	b.provider()
	if me := b.me(); me.Tenant != "acme" || me.Person.Role != "viewer" {
		t.Errorf("signed in as %+v", me)
	}
	// The address was given to somebody else since.
	p.set(func(p *idp) { p.person["sub"] = "2" })
	refused("does not identify you as that user")
	// Nor is an address that nobody made sure of anybody's.
	p.set(func(p *idp) { p.person["sub"], p.person["email_verified"] = "3", false })
	refused("has not verified your e-mail address")
	// Somebody who is switched off stays out.
	p.set(func(p *idp) { p.person["sub"], p.person["email_verified"] = "1", true })
	if r := i.Do(t, "PATCH", "/api/v1/users/ann@example.com", `{"disabled":true}`, acme); r.Status != 200 {
		t.Fatal(r.Body)
	}
	refused("Your account is disabled")
}

func TestProviderUnreachable(t *testing.T) {
	t.Parallel()
	p := newIDP(t)
	i := withProvider(t, p, create())
	p.set(func(p *idp) { p.down = true })
	b := newBrowser(t, i)
	if r := b.do("GET", "/login/oidc", nil); r.status != 502 || len(b.cookies) != 0 {
		t.Errorf("%d %s", r.status, r.body)
	}
	p.set(func(p *idp) { p.down = false })
	if b.provider(); b.me().Login == "" {
		t.Error("it did not get over it")
	}
}

// TestProviderSecretStaysAtItsTokenEndpoint has the provider's discovery document name a
// token endpoint on another host from the beginning, as Google's does, and a third one
// after a restart: neither the client's secret nor a person's code goes there until an
// admin says so.
func TestProviderSecretStaysAtItsTokenEndpoint(t *testing.T) {
	t.Parallel()
	p := newIDP(t)
	second := httptest.NewServer(http.HandlerFunc(p.token))
	t.Cleanup(second.Close)
	var sent atomic.Int64
	third := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent.Add(1)
		p.token(w, r)
	}))
	t.Cleanup(third.Close)
	settings := create()
	p.set(func(p *idp) { p.tokenAt = second.URL + "/token" })
	i := withProvider(t, p, settings)
	signIn := func() string {
		t.Helper()
		b := newBrowser(t, i)
		b.provider()
		if b.cookies[b.sessionCookie()] == nil {
			return ""
		}
		return b.me().Login
	}
	if signIn() == "" {
		t.Fatalf("nobody gets in: %s", i.Log)
	}
	settings["data-dir"] = i.Dir
	i.Stop()

	p.set(func(p *idp) { p.tokenAt = third.URL + "/token" })
	i = withProvider(t, p, settings)
	if r := newBrowser(t, i).do("GET", "/login/oidc", nil); r.status != 502 || sent.Load() != 0 {
		t.Errorf("another token endpoint: %d, asked %d times", r.status, sent.Load())
	}
	for _, want := range []string{second.URL, third.URL, "junctor secret rm signin:oidc token-origin"} {
		if !strings.Contains(i.Log.String(), want) {
			t.Errorf("the log does not say %q: %s", want, i.Log)
		}
	}
	if r := i.Do(t, "PUT", "/api/v1/secrets/signin:oidc/token-origin", `{"value":"{}"}`); r.Status != 403 {
		t.Errorf("it was written by hand: %d %s", r.Status, r.Body)
	}
	if r := i.Do(t, "DELETE", "/api/v1/secrets/signin:oidc/token-origin", ""); r.Status != 204 && r.Status != 200 {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	if signIn() == "" || sent.Load() != 1 {
		t.Errorf("an admin allowed it, and it was sent %d times", sent.Load())
	}
}

// TestProviderGroups has a rule read the groups of people who have signed in: those of their
// keys and agents are the same, until they sign in with others.
func TestProviderGroups(t *testing.T) {
	t.Parallel()
	p := newIDP(t)
	settings := create()
	settings["oidc-groups-claim"] = "teams"
	i := withProvider(t, p, settings)
	rule := `{"rules":[{"name":"blue-only","target":{"items":["demo/echo"],"users":["ann@example.com"]},"when":"!('blue' in principal.groups)","verdict":"deny","message":"for blue alone"}]}`
	if r := i.Do(t, "PUT", "/api/v1/policies", rule); r.Status != 200 {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	var keys []string
	for n, step := range []struct {
		claims map[string]any
		calls  bool
	}{
		{map[string]any{"teams": []string{"red", "blue"}}, true},
		{map[string]any{"teams": []string{"red"}, "groups": []string{"blue"}}, false},
		{map[string]any{"teams": "blue"}, true},
		{map[string]any{}, false},
	} {
		p.set(func(p *idp) {
			p.person = ann()
			maps.Copy(p.person, step.claims)
		})
		b := newBrowser(t, i)
		if b.provider(); b.me().Login == "" {
			t.Fatal("nobody is signed in")
		}
		if n == 0 {
			own := object(t, i, "POST", "/keys", `{"name":"hers","scopes":["tools:read","tools:call","agents:write"],"user":"ann@example.com"}`, 201).Key
			r := i.Do(t, "POST", "/api/v1/agents", `{"name":"hers","tools":["demo/echo"]}`, "Authorization: Bearer "+own)
			var made struct{ Key string }
			if err := json.Unmarshal([]byte(r.Body), &made); err != nil || made.Key == "" {
				t.Fatalf("%d %s", r.Status, r.Body)
			}
			keys = []string{own, made.Key}
		}
		for kind, key := range keys {
			r := i.Do(t, "POST", "/mcp/request", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"demo__echo","arguments":{"text":"heard"}}}`, "Authorization: Bearer "+key)
			if strings.Contains(r.Body, "for blue alone") == step.calls || strings.Contains(r.Body, "heard") != step.calls {
				t.Errorf("%v: key %d: %d %s", step.claims, kind, r.Status, r.Body)
			}
		}
	}
	if r := i.Do(t, "GET", "/api/v1/users/ann@example.com", ""); strings.Contains(r.Body, "groups") {
		t.Errorf("groups of a user who is in none: %s", r.Body)
	}
}
