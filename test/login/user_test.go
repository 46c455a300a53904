package login

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/testkit/upstreams"
)

// loginSite is an instance with a server that each user logs in to for themselves.
type loginSite struct {
	*testkit.Instance
	t *testing.T
	g *upstreams.Guarded
}

func newOffice(t *testing.T, way upstreams.Way, credentials junctor.Credentials) *loginSite {
	t.Helper()
	o := &loginSite{testkit.Start(t, testkit.Settings{"egress-allow": "127.0.0.0/8"}), t, upstreams.NewGuarded(t, way)}
	o.add("/servers", fmt.Sprintf(`{"id":"notes","url":%q,"auth":{"type":"oauth"},"credentials":%q}`, o.g.URL, credentials))
	return o
}

// add makes something with the admin key.
func (o *loginSite) add(path, body string) (out struct{ Key, URL string }) {
	o.t.Helper()
	r := o.Do(o.t, "POST", "/api/v1"+path, body)
	if r.Status/100 != 2 || json.Unmarshal([]byte(r.Body), &out) != nil {
		o.t.Fatalf("POST %s: %d %s", path, r.Status, r.Body)
	}
	return out
}

// user makes a user, and gives the header with their key.
func (o *loginSite) user(name string) string {
	o.t.Helper()
	o.add("/users", fmt.Sprintf(`{"name":%q,"role":"developer"}`, name))
	return "Authorization: Bearer " + o.add("/keys", fmt.Sprintf(`{"name":"k","user":%q,"scopes":["tools:read","tools:call"]}`, name)).Key
}

// logIn logs somebody in by the API: who has the key here is who there.
func (o *loginSite) logIn(who, body string, header ...string) testkit.Reply {
	o.t.Helper()
	r := o.Do(o.t, "POST", "/api/v1/servers/notes/login", body, header...)
	var started admin.LoginStarted
	if r.Status != 201 || json.Unmarshal([]byte(r.Body), &started) != nil {
		o.t.Fatalf("login: %d %s", r.Status, r.Body)
	}
	back, err := json.Marshal(map[string]string{"login": started.Login, "url": o.g.Browse(o.t, started.AuthorizationURL, who).String()})
	if err != nil {
		o.t.Fatal(err)
	}
	return o.Do(o.t, "POST", "/api/v1/servers/notes/login/finish", string(back), header...)
}

const plainCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"notes__whoami","arguments":{}}}`

// TestNobodyActsAsAnother has fifty users call at once, five hundred times to a
// server of each era, while their tokens end again and again: each is always who
// they are there.
func TestNobodyActsAsAnother(t *testing.T) {
	t.Parallel()
	for _, way := range []upstreams.Way{upstreams.Legacy, upstreams.Modern} {
		t.Run(string(way), func(t *testing.T) {
			t.Parallel()
			o := newOffice(t, way, junctor.CredentialsPerUser)
			if r := o.logIn("the-lists", `{"shared":true}`); r.Status != 200 {
				t.Fatalf("the server's own login: %d %s", r.Status, r.Body)
			}
			const users, calls = 50, 10 // as often as a user may in a second
			keys := make([]string, users)
			for i := range keys {
				name := "user-" + strconv.Itoa(i)
				keys[i] = o.user(name)
				if r := o.Do(t, "POST", "/mcp/request", plainCall, keys[i]); !strings.Contains(r.Body, "requires you to log in") || !strings.Contains(r.Body, "/connect/notes?ticket=") {
					t.Fatalf("a user who has not logged in: %s", r.Body)
				}
				if r := o.logIn(name+"-there", `{}`, keys[i]); r.Status != 200 {
					t.Fatalf("login: %d %s", r.Status, r.Body)
				}
			}
			if r := o.Do(t, "POST", "/mcp/request", plainCall); strings.Contains(r.Body, "there") || !strings.Contains(r.Body, "belongs to no user") {
				t.Errorf("a key of no user: %s", r.Body)
			}
			var wg sync.WaitGroup
			var done atomic.Int64
			for i, key := range keys {
				wg.Go(func() {
					want := fmt.Sprintf(`"user-%d-there"`, i)
					for n := range calls {
						r := o.Do(t, "POST", "/mcp/request", plainCall, key)
						// On a busy machine all tokens may end again between a renewal and
						// its use. Then the call fails, as it should, and the user repeats it.
						for try := 0; try < 5 && strings.Contains(r.Body, "rejects a token that"); try++ {
							r = o.Do(t, "POST", "/mcp/request", plainCall, key)
						}
						if !strings.Contains(r.Body, want) {
							t.Errorf("%s in call %d: %s", want, n, r.Body)
							return
						}
						if done.Add(1)%120 == 0 {
							o.g.ExpireAll()
						}
					}
				})
			}
			wg.Wait()
			t.Logf("figure: %d calls of %d users, %d renewals, none as another", users*calls, users, o.g.Refreshes.Load())
		})
	}
}

// TestFinishIsBound has the answer of one login brought by another, twice, and to
// another place: none of it is a login.
func TestFinishIsBound(t *testing.T) {
	t.Parallel()
	o := newOffice(t, upstreams.Modern, junctor.CredentialsPerUser)
	ann, bob := o.user("ann"), o.user("bob")
	start := func(key string) (s admin.LoginStarted) {
		if r := o.Do(t, "POST", "/api/v1/servers/notes/login", `{}`, key); json.Unmarshal([]byte(r.Body), &s) != nil || s.Login == "" {
			t.Fatal(r.Body)
		}
		return s
	}
	finish := func(key, login, to string) testkit.Reply {
		body, err := json.Marshal(map[string]string{"login": login, "url": to})
		if err != nil {
			t.Fatal(err)
		}
		return o.Do(t, "POST", "/api/v1/servers/notes/login/finish", string(body), key)
	}
	s, other := start(ann), start(ann)
	answer := o.g.Browse(t, s.AuthorizationURL, "ann").String()
	if r := finish(bob, s.Login, answer); r.Status != 422 {
		t.Errorf("by another: %d %s", r.Status, r.Body)
	}
	if r := finish(ann, other.Login, answer); r.Status != 502 || !strings.Contains(r.Body, "belongs to another login") {
		t.Errorf("of another login: %d %s", r.Status, r.Body)
	}
	if r := finish(ann, s.Login, answer); r.Status != 200 || !strings.Contains(r.Body, `"live"`) {
		t.Errorf("%d %s", r.Status, r.Body)
	}
	if r := finish(ann, s.Login, answer); r.Status != 422 || !strings.Contains(r.Body, "already complete") {
		t.Errorf("twice: %d %s", r.Status, r.Body)
	}
	for _, to := range []string{"https://evil.example/callback", "http://evil.example:8719/callback", "http://127.0.0.1.evil.example/", "javascript:alert(1)"} {
		if r := o.Do(t, "POST", "/api/v1/servers/notes/login", fmt.Sprintf(`{"redirect_uri":%q}`, to), ann); r.Status != 422 {
			t.Errorf("redirect to %s: %d %s", to, r.Status, r.Body)
		}
	}
}

var away = regexp.MustCompile(`<a href="([^"]+)">Continue</a>`)

// TestOnDemand has a call of a client that can open addresses answered with one,
// a person follow it with a browser, and the call go on; then a tool that wants
// more rights.
func TestOnDemand(t *testing.T) {
	t.Parallel()
	o := newOffice(t, upstreams.Modern, junctor.CredentialsPerUser)
	o.logIn("the-lists", `{"shared":true}`)
	ann := o.user("ann")
	o.user("eve")
	address, state := o.loginURL(ann, "whoami", "", "")

	cookie := o.signIn("ann")
	own := []string{"Authorization:", "Cookie: " + cookie, "Sec-Fetch-Site: none"}
	page := func(method, path, body string, header ...string) testkit.Reply {
		t.Helper()
		if body != "" {
			header = append(header, "Content-Type: application/x-www-form-urlencoded")
		}
		return o.Do(t, method, path, body, header...)
	}
	if r := page("GET", address.RequestURI(), "", "Authorization:"); r.Status != 401 || !strings.Contains(r.Body, "sign in to Junctor first") {
		t.Errorf("a stranger: %d %s", r.Status, r.Body)
	}
	if r := page("GET", address.RequestURI(), "", "Authorization:", "Cookie: "+o.signIn("eve"), "Sec-Fetch-Site: none"); r.Status != 403 || !strings.Contains(r.Body, "for another user") {
		t.Errorf("another user: %d %s", r.Status, r.Body)
	}
	if r := page("GET", address.RequestURI(), "", own...); r.Status != 200 || !strings.Contains(r.Body, "requires you to log in") || !strings.Contains(r.Body, "ann") {
		t.Errorf("the page: %d %s", r.Status, r.Body)
	}
	o.follow(address, cookie, "ann-there")
	if got := o.call(ann, "whoami", state, `{"login":{"action":"accept"}}`); !strings.Contains(got, `"ann-there"`) {
		t.Errorf("the call does not go on: %s", got)
	}

	// More rights, beside those that there are.
	address, state = o.loginURL(ann, "admin", "", "")
	o.follow(address, cookie, "ann-there")
	if got := o.call(ann, "admin", state, `{"login":{"action":"accept"}}`); !strings.Contains(got, `"done"`) {
		t.Errorf("the call does not go on: %s", got)
	}
	r := o.Do(t, "GET", "/api/v1/servers/notes/login", "", ann)
	if !strings.Contains(r.Body, `"scopes":["read","admin"]`) {
		t.Errorf("the rights of before are gone: %s", r.Body)
	}
	_, state = func() (*url.URL, string) { o.g.EndAll(); return o.loginURL(ann, "whoami", "", "") }()
	if got := o.call(ann, "whoami", state, `{"login":{"action":"decline"}}`); !strings.Contains(got, "you declined it") {
		t.Errorf("a person who says no: %s", got)
	}
	for _, secret := range o.g.Secrets() {
		if strings.Contains(o.Log.String(), secret) {
			t.Errorf("a secret is in the log: %.8s…", secret)
		}
	}
}

// call calls a tool as a modern client that can open addresses.
func (o *loginSite) call(key, tool, state, responses string) string {
	o.t.Helper()
	more := ""
	if state != "" {
		more = fmt.Sprintf(`,"requestState":%q,"inputResponses":%s`, state, responses)
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"notes__%s","arguments":{}%s,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"url":{}}}}}}`, tool, more)
	r := o.Do(o.t, "POST", "/mcp", body, key, "MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: notes__"+tool)
	return r.Body
}

// loginURL calls a tool and gives the address that the client is asked to open.
func (o *loginSite) loginURL(key, tool, state, responses string) (*url.URL, string) {
	o.t.Helper()
	body := o.call(key, tool, state, responses)
	var got struct {
		Result struct {
			ResultType, RequestState string
			InputRequests            map[string]struct {
				Method string
				Params struct{ Mode, URL, Message string }
			}
		}
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		o.t.Fatal(err)
	}
	in := got.Result.InputRequests["login"]
	u, err := url.Parse(in.Params.URL)
	if got.Result.ResultType != "input_required" || in.Method != "elicitation/create" || in.Params.Mode != "url" || err != nil || u.Path != "/connect/notes" {
		o.t.Fatalf("no address is asked to be opened: %s", body)
	}
	return u, got.Result.RequestState
}

// signIn gives the cookie of a user's browser.
func (o *loginSite) signIn(name string) string {
	o.t.Helper()
	link, err := url.Parse(o.add("/users/"+name+"/link", "").URL)
	if err != nil {
		o.t.Fatal(err)
	}
	r := o.Do(o.t, "POST", "/login", link.RawQuery, "Authorization:", "Content-Type: application/x-www-form-urlencoded")
	cookie, _, _ := strings.Cut(r.Header.Get("Set-Cookie"), ";")
	return cookie
}

// The offer of a server that waits for a login is empty.
func TestOfferBeforeLogin(t *testing.T) {
	t.Parallel()
	for _, credentials := range []junctor.Credentials{junctor.CredentialsShared, junctor.CredentialsPerUser} {
		o := newOffice(t, upstreams.Modern, credentials)
		if r := o.Do(t, "GET", "/api/v1/servers/notes/offer", ""); r.Status != 200 || r.Body != `{"resources":[],"templates":[],"prompts":[]}`+"\n" {
			t.Errorf("%s: %d %s", credentials, r.Status, r.Body)
		}
	}
}

// follow is a browser that goes all the way.
func (o *loginSite) follow(address *url.URL, cookie, who string) {
	t := o.t
	t.Helper()
	r := o.Do(t, "POST", address.Path, address.RawQuery, "Authorization:", "Content-Type: application/x-www-form-urlencoded", "Cookie: "+cookie, "Sec-Fetch-Site: same-origin")
	found := away.FindStringSubmatch(r.Body)
	flow, _, _ := strings.Cut(r.Header.Get("Set-Cookie"), ";")
	if r.Status != 200 || found == nil || !strings.Contains(r.Header.Get("Set-Cookie"), "SameSite=Lax") {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	back := o.g.Browse(t, html.UnescapeString(found[1]), who)
	// Authorization servers accept a loopback address; from there it goes to the console, which
	// has the cookies of browsers.
	console := "http://console.junctor.localhost:" + back.Port()
	r = o.Do(t, "GET", back.RequestURI(), "", "Authorization:", "Sec-Fetch-Site: cross-site")
	if found = away.FindStringSubmatch(r.Body); "http://"+back.Host != o.URL || found == nil || html.UnescapeString(found[1]) != console+back.RequestURI() {
		t.Fatalf("back at %s: %d, on to %q", back.Host, r.Status, found)
	}
	if r := o.Do(t, "GET", back.RequestURI(), "", "Host: "+strings.TrimPrefix(console, "http://"), "Authorization:", "Cookie: "+cookie, "Sec-Fetch-Site: same-origin"); r.Status != 403 {
		t.Errorf("a browser that did not begin it: %d %s", r.Status, r.Body)
	}
	// From another site the strict cookie does not come: the page leads to itself.
	r = o.Do(t, "GET", back.RequestURI(), "", "Authorization:", "Cookie: "+flow, "Sec-Fetch-Site: cross-site")
	found = away.FindStringSubmatch(r.Body)
	if r.Status != 200 || found == nil {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	r = o.Do(t, "GET", html.UnescapeString(found[1]), "", "Authorization:", "Cookie: "+flow+"; "+cookie, "Sec-Fetch-Site: same-origin")
	if r.Status != 200 || !strings.Contains(r.Body, "You are logged in to") {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
}

// TestClockOfTheServer has a server whose clock is wrong refuse new tokens: what
// is said is not that somebody should log in.
func TestClockOfTheServer(t *testing.T) {
	t.Parallel()
	o := newOffice(t, upstreams.Modern, junctor.CredentialsShared)
	o.logIn("zoe", `{}`)
	o.g.Break("/mcp", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", time.Now().Add(-3*time.Hour).UTC().Format(http.TimeFormat))
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
		w.WriteHeader(http.StatusUnauthorized)
	})
	const want = "is 3h0m"
	if r := o.Do(t, "POST", "/mcp/request", plainCall); !strings.Contains(r.Body, want) || strings.Contains(r.Body, "/connect/") {
		t.Errorf("the call says: %s", r.Body)
	}
	if r := o.Do(t, "GET", "/api/v1/servers/notes/traces", ""); !strings.Contains(r.Body, want) {
		t.Errorf("the traces say: %s", r.Body)
	}
}

// TestSessionGoesOn has a session at a server of the older protocol go on when the
// token that it was opened with is renewed, and end with the login.
func TestSessionGoesOn(t *testing.T) {
	t.Parallel()
	for _, credentials := range []junctor.Credentials{junctor.CredentialsShared, junctor.CredentialsPerUser} {
		t.Run(string(credentials), func(t *testing.T) {
			t.Parallel()
			o := newOffice(t, upstreams.Legacy, credentials)
			o.logIn("zoe", `{"shared":true}`)
			var key []string
			if credentials == junctor.CredentialsPerUser {
				key = []string{o.user("zoe")}
				o.logIn("zoe", `{}`, key...)
			}
			call := func(want string) {
				t.Helper()
				if r := o.Do(t, "POST", "/mcp/request", plainCall, key...); !strings.Contains(r.Body, want) {
					t.Fatalf("want %s: %s", want, r.Body)
				}
			}
			call("zoe")
			opened := o.g.Handshakes.Load()
			for range 3 {
				o.g.ExpireAll()
				call("zoe")
				call("zoe")
			}
			if n := o.g.Handshakes.Load(); n != opened || o.g.Refreshes.Load() < 3 {
				t.Errorf("%d sessions were opened after the first, in %d renewals", n-opened, o.g.Refreshes.Load())
			}
			o.logIn("yan", `{}`, key...)
			call("yan")
			if n := o.g.Handshakes.Load(); n == opened {
				t.Error("the session of a former login goes on with another")
			}
		})
	}
}

// TestPinned has a client that was registered by hand stay with the authorization
// server that it was used with, whatever the server says later, until its
// operator says otherwise.
func TestPinned(t *testing.T) {
	t.Parallel()
	o := newOffice(t, upstreams.Modern, junctor.CredentialsShared)
	set := func(auth string) {
		t.Helper()
		if r := o.Do(t, "PATCH", "/api/v1/servers/notes", `{"auth":`+auth+`}`); r.Status != 200 {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
	}
	set(`{"type":"oauth","client_id":"by-hand"}`)
	if r := o.logIn("zoe", `{}`); r.Status != 200 {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	other := upstreams.NewGuarded(t, upstreams.Modern)
	o.g.Break("/.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"resource":%q,"authorization_servers":[%q]}`, o.g.URL, other.Issuer)
	})
	want := "the client by-hand was used with " + o.g.Issuer + " until now, but the server now names " + other.Issuer
	if r := o.Do(t, "POST", "/api/v1/servers/notes/login", `{}`); r.Status != 502 || !strings.Contains(r.Body, want) {
		t.Errorf("another issuer: %d %s", r.Status, r.Body)
	}
	if r := o.Do(t, "GET", "/api/v1/servers/notes/traces", ""); !strings.Contains(r.Body, want) {
		t.Errorf("the trace: %s", r.Body)
	}
	set(fmt.Sprintf(`{"type":"oauth","client_id":"by-hand","issuer":%q}`, other.Issuer))
	if r := o.Do(t, "POST", "/api/v1/servers/notes/login", `{}`); r.Status != 201 || !strings.Contains(r.Body, other.Issuer) {
		t.Errorf("the operator's issuer: %d %s", r.Status, r.Body)
	}
}
