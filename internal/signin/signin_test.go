package signin_test

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/junctor-mcp/junctor/internal/testkit"
)

const (
	password = "canary of a password"
)

func TestLink(t *testing.T) {
	t.Parallel()
	i := testkit.Start(t, nil)
	object(t, i, "POST", "/users", `{"name":"ann","role":"developer"}`, 201)
	link := object(t, i, "POST", "/users/ann/link", "", 200).URL
	if !strings.HasPrefix(link, console(i)+"/login?token=jcl_") {
		t.Fatalf("the link is %s", link)
	}
	b := newBrowser(t, i)
	// Whatever looks at a link ahead of the person leaves it as it is.
	for range 3 {
		if r := b.do("GET", link, nil, "Sec-Fetch-Site: none", "Sec-Purpose: prefetch"); r.status != 200 || len(b.cookies) != 0 || !strings.Contains(r.body, `name="token"`) {
			t.Fatalf("%d %s %v", r.status, r.body, b.cookies)
		}
	}
	u, _ := url.Parse(link)
	form := url.Values{"token": u.Query()["token"]}
	// Nobody is let in by a page elsewhere.
	if r := b.do("POST", "/login", form, "Sec-Fetch-Site: cross-site"); r.status != 403 || len(b.cookies) != 0 {
		t.Errorf("from elsewhere: %d, %v", r.status, b.cookies)
	}
	var in atomic.Int64
	var wg sync.WaitGroup
	windows := make([]*browser, 6)
	for n := range windows {
		windows[n] = newBrowser(t, i)
		wg.Go(func() {
			if r := windows[n].do("POST", "/login", form); r.status == 200 {
				in.Add(1)
				b = windows[n]
			} else if r.status != 401 || len(windows[n].cookies) != 0 {
				t.Errorf("%d %v", r.status, windows[n].cookies)
			}
		})
	}
	wg.Wait()
	if in.Load() != 1 {
		t.Fatalf("%d were let in by one link", in.Load())
	}
	c := b.cookies[b.sessionCookie()]
	if c == nil || !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Domain != "" || c.MaxAge != 30*24*3600 {
		t.Fatalf("the cookie is %+v", c)
	}
	if me := b.me(); me.Person.Name != "ann" || me.Issuer != "user" || me.Login == "" {
		t.Errorf("signed in as %+v", me)
	}
	if r := b.do("GET", "/login", nil, "Sec-Fetch-Site: none"); !strings.Contains(r.body, "<strong>ann</strong>") {
		t.Errorf("the page says %s", r.body)
	}
	if r := b.do("POST", "/logout", url.Values{}); r.status != 303 || len(b.cookies) != 0 {
		t.Errorf("%d %v", r.status, b.cookies)
	}
	b.cookies[b.sessionCookie()] = c
	if r := b.do("GET", "/api/v1/me", nil); r.status != 401 {
		t.Errorf("after signing out: %d", r.status)
	}
}

func TestPassword(t *testing.T) {
	t.Parallel()
	i := testkit.Start(t, nil)
	key := object(t, i, "POST", "/tenants", `{"id":"acme"}`, 201).AdminKey.Key
	acme := "Authorization: Bearer " + key
	object(t, i, "POST", "/users", `{"name":"ann","role":"admin"}`, 201)
	object(t, i, "PUT", "/users/ann/password", `{"password":"`+password+`"}`, 204)
	if r := i.Do(t, "POST", "/api/v1/users", `{"name":"ann","role":"admin"}`, acme); r.Status != 201 {
		t.Fatal(r.Body)
	}
	if r := i.Do(t, "PUT", "/api/v1/users/ann/password", `{"password":"another password"}`, acme); r.Status != 204 {
		t.Fatal(r.Body)
	}
	sign := func(name, password string) (*browser, reply) {
		b := newBrowser(t, i)
		return b, b.do("POST", "/login", url.Values{"name": {name}, "password": {password}})
	}
	var said string
	for _, try := range [][2]string{{"ann", "wrong"}, {"nobody", password}, {"acme/ann", password}, {"ann", "another password"}, {"nowhere/ann", password}, {"ann", ""}} {
		b, r := sign(try[0], try[1])
		if r.status != 401 || len(b.cookies) != 0 || strings.Contains(r.body, try[1]) && try[1] != "" {
			t.Errorf("%v: %d", try, r.status)
		}
		body := strings.ReplaceAll(r.body, `value="`+try[0]+`"`, "")
		if said != "" && body != said {
			t.Errorf("%v is answered otherwise: %s", try, body)
		}
		said = body
	}
	for name, want := range map[string][2]string{"ann": {password, "default"}, "acme/ann": {"another password", "acme"}, "default/ann": {password, "default"}} {
		b, r := sign(name, want[0])
		if me := b.me(); r.status != 200 || me.Tenant != want[1] || me.Person.Name != "ann" {
			t.Errorf("%s: %d, %+v", name, r.status, me)
		}
	}
	// The wall: an admin of acme, signed in, sees acme alone and is not the operator.
	b, _ := sign("acme/ann", "another password")
	if r := b.do("GET", "/api/v1/tenants", nil); r.status != 403 {
		t.Errorf("tenants: %d %s", r.status, r.body)
	}
	if r := b.do("GET", "/api/v1/users", nil); strings.Count(r.body, `"id"`) != 1 {
		t.Errorf("users: %s", r.body)
	}
	if r := b.do("GET", "/api/v1/tools", nil); r.body != "{\"items\":[],\"total\":0}\n" {
		t.Errorf("tools: %s", r.body)
	}
	nowhere(t, i, map[string]string{"a password": password, "another": "another password", "a cookie": b.cookies[b.sessionCookie()].Value, "a key": key})
}

// What a cookie may do, and where.
func TestCookies(t *testing.T) {
	t.Parallel()
	i := testkit.Start(t, nil)
	object(t, i, "POST", "/users", `{"name":"ann","role":"admin"}`, 201)
	object(t, i, "PUT", "/users/ann/password", `{"password":"`+password+`"}`, 204)
	ann := newBrowser(t, i)
	ann.do("POST", "/login", url.Values{"name": {"ann"}, "password": {password}})
	if ann.me().Person.Name != "ann" {
		t.Fatal("not signed in")
	}
	const marked = "X-Junctor-Console: 1"
	json := "Content-Type: application/json"
	for name, tt := range map[string]struct {
		method, path string
		header       []string
		want         int
	}{
		"look":                             {"GET", "/api/v1/users", nil, 200},
		"look, without fetch metadata":     {"GET", "/api/v1/users", []string{"Sec-Fetch-Site:"}, 200},
		"look, for a sibling":              {"GET", "/api/v1/users", []string{"Sec-Fetch-Site: same-site"}, 403},
		"look, for another site":           {"GET", "/api/v1/users", []string{"Sec-Fetch-Site: cross-site"}, 403},
		"change":                           {"DELETE", "/api/v1/logins/nope", []string{marked}, 404},
		"change, without the header":       {"DELETE", "/api/v1/logins/nope", nil, 403},
		"change, for another site":         {"DELETE", "/api/v1/logins/nope", []string{marked, "Sec-Fetch-Site: cross-site"}, 403},
		"change, old browser, elsewhere":   {"DELETE", "/api/v1/logins/nope", []string{marked, "Sec-Fetch-Site:", "Origin: https://evil.example"}, 403},
		"change, old browser, other port":  {"DELETE", "/api/v1/logins/nope", []string{marked, "Sec-Fetch-Site:", "Origin: http://127.0.0.1:1"}, 403},
		"change, odd origin":               {"DELETE", "/api/v1/logins/nope", []string{marked, "Origin: null"}, 403},
		"form in place of JSON":            {"POST", "/api/v1/users", nil, 403},
		"a key counts before it":           {"GET", "/api/v1/users", []string{"Authorization: Bearer nope"}, 401},
		"an x-api-key too":                 {"GET", "/api/v1/users", []string{"X-API-Key: nope"}, 401},
		"MCP":                              {"POST", "/mcp", []string{marked, json}, 401},
		"MCP of a server":                  {"POST", "/mcp/s/demo", []string{marked, json}, 401},
		"plain JSON-RPC":                   {"POST", "/mcp/request", []string{marked, json}, 401},
		"the list of tools":                {"GET", "/mcp/tools", nil, 401},
		"the bridge":                       {"POST", "/mcp/call", []string{marked, json}, 401},
		"SSE":                              {"GET", "/sse", nil, 401},
		"metrics":                          {"GET", "/metrics", nil, 401},
		"sign out, from elsewhere":         {"POST", "/logout", []string{"Sec-Fetch-Site: cross-site", "Content-Type: application/x-www-form-urlencoded"}, 403},
		"sign out, as what a script sends": {"POST", "/logout", []string{json}, 400},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := ann.fork()
			b.t = t
			if r := b.do(tt.method, tt.path, nil, tt.header...); r.status != tt.want {
				t.Errorf("%d %s, want %d", r.status, r.body, tt.want)
			}
		})
	}
	t.Run("under another name, or twice", func(t *testing.T) {
		t.Parallel()
		b := ann.fork()
		b.t, b.cookies = t, nil
		session := ann.sessionCookie()
		value := ann.cookies[session].Value
		for _, header := range []string{"junctor-session=" + value, session + "=" + value + "; " + session + "=x", session + "=", session + "=" + strings.Repeat("x", 2000)} {
			if r := b.do("GET", "/api/v1/users", nil, "Cookie: "+header); r.status != 401 {
				t.Errorf("%s: %d", header, r.status)
			}
		}
	})
}

// Without TLS, on a bare address, the cookie has neither the prefix nor the
// flag that would keep it from being sent; over TLS it has both.
func TestCookieNames(t *testing.T) {
	t.Parallel()
	i := testkit.Start(t, nil)
	object(t, i, "POST", "/users", `{"name":"ann"}`, 201)
	link := object(t, i, "POST", "/users/ann/link", "", 200).URL
	u, _ := url.Parse(link)
	b := newBrowser(t, i)
	b.home = i.URL
	b.do("POST", "/login", url.Values{"token": u.Query()["token"]})
	c := b.cookies[strings.TrimPrefix(b.sessionCookie(), "__Host-")]
	if c == nil || c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || b.me().Person.Name != "ann" {
		t.Errorf("%+v", b.cookies)
	}
}

// Browsers have one set of cookies for all ports of a host.
func TestTwoInstancesOnOneHost(t *testing.T) {
	t.Parallel()
	jar := map[string]*http.Cookie{}
	var browsers []*browser
	for range 2 {
		i := testkit.Start(t, nil)
		object(t, i, "POST", "/users", `{"name":"ann"}`, 201)
		u, _ := url.Parse(object(t, i, "POST", "/users/ann/link", "", 200).URL)
		b := newBrowser(t, i)
		b.cookies = jar
		if r := b.do("POST", "/login", url.Values{"token": u.Query()["token"]}); r.status != 200 {
			t.Fatal(r.body)
		}
		browsers = append(browsers, b)
	}
	for _, b := range browsers {
		if r := b.do("GET", "/api/v1/me", nil); r.status != 200 {
			t.Errorf("at %s: %d", b.home, r.status)
		}
	}
	if browsers[0].do("POST", "/logout", url.Values{}); browsers[1].do("GET", "/api/v1/me", nil).status != 200 {
		t.Error("signing out of one instance ends the login at the other")
	}
}

func TestLoginsEndAtOnce(t *testing.T) {
	t.Parallel()
	i := testkit.Start(t, nil)
	object(t, i, "POST", "/users", `{"name":"ann","role":"viewer"}`, 201)
	enter := func() *browser {
		u, _ := url.Parse(object(t, i, "POST", "/users/ann/link", "", 200).URL)
		b := newBrowser(t, i)
		b.do("POST", "/login", url.Values{"token": u.Query()["token"]})
		if b.me().Person.Name != "ann" {
			t.Fatal("not signed in")
		}
		return b
	}
	one, two := enter(), enter()
	if r := one.do("DELETE", "/api/v1/logins/"+two.me().Login, nil, "X-Junctor-Console: 1"); r.status != 204 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	if one.me().Login == "" || two.me().Login != "" {
		t.Error("the wrong one ended")
	}
	// What the person chose outlasts the login and the instance.
	if r := one.do("PUT", "/api/v1/me/sources", nil, "X-Junctor-Console: 1", "Content-Type: application/json"); r.status != 400 {
		t.Errorf("%d %s", r.status, r.body)
	}
	object(t, i, "PATCH", "/users/ann", `{"disabled":true}`, 200)
	if one.me().Login != "" {
		t.Error("a login of a disabled user lives")
	}
	object(t, i, "PATCH", "/users/ann", `{"disabled":false}`, 200)
	three := enter()
	object(t, i, "DELETE", "/users/ann", "", 200)
	if three.me().Login != "" {
		t.Error("a login of a deleted user lives")
	}
}

// The page needs no script and lets none in, and its own style only.
func TestPage(t *testing.T) {
	t.Parallel()
	i := testkit.Start(t, nil)
	b := newBrowser(t, i)
	r := b.do("GET", "/login?token="+url.QueryEscape(`"><script>alert(1)</script>`), nil)
	if strings.Contains(r.body, "<script") || r.header.Get("Referrer-Policy") != "same-origin" || r.header.Get("Cache-Control") != "no-store" {
		t.Errorf("%s %v", r.body, r.header)
	}
	r = b.do("GET", "/login", nil)
	styles := regexp.MustCompile(`(?s)<style>(.*)</style>`).FindStringSubmatch(r.body)
	if styles == nil || strings.Contains(r.body, " style=") || !strings.Contains(r.body, "width=device-width") || !strings.Contains(styles[1], "prefers-color-scheme: dark") {
		t.Fatal(r.body)
	}
	sum := sha256.Sum256([]byte(styles[1]))
	want := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
	if got := r.header.Get("Content-Security-Policy"); got != want {
		t.Errorf("policy %s\nwant   %s", got, want)
	}
	if r := b.do("GET", "/login/oidc", nil); r.status != 404 {
		t.Errorf("without a provider: %d", r.status)
	}
}

// nowhere fails where the data directory, the log or a page holds a secret.
func nowhere(t *testing.T, i *testkit.Instance, secrets map[string]string) {
	t.Helper()
	places := map[string]string{"the log": i.Log.String()}
	err := filepath.WalkDir(i.Dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		places[path] = string(content)
		return err
	})
	if err != nil || len(places) < 4 {
		t.Fatal(err, len(places))
	}
	for what, secret := range secrets {
		if len(secret) < 8 {
			t.Fatalf("%s is %q", what, secret)
		}
		for place, content := range places {
			if strings.Contains(content, secret) {
				t.Errorf("%s is in %s", what, place)
			}
		}
	}
}
