package routes

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/internal/testkit/upstreams"
	"github.com/junctor-mcp/junctor/internal/testkit/visitor"
)

// within is in titles, names and secrets of the tenant default, and in nothing
// that callers of another say.
const within = "kept-within"

// scene is an instance with every route switched on, and everybody who may come
// to it. Their things are in the tenant default; the wrong tenant is empty.
type scene struct {
	*testkit.Instance
	t    *testing.T
	peer string // an MCP server
	made int    // names so far

	program string // that people consent to, by its id
	room    string // where something was said; "" where each asker gets a new one

	maker  []string // header lines of who makes things; nil is the admin key
	person string   // whose logins and consents there are, by name; "" is ever other people

	callers map[string][]string // header lines by column
}

func start(t *testing.T) *scene {
	t.Helper()
	s := &scene{t: t, peer: upstreams.Start(t, upstreams.Modern).URL}
	idp := provider(t)
	s.Instance = testkit.Start(t, testkit.Settings{
		"egress-allow": "127.0.0.0/8", "pprof": "true", "oidc-issuer": idp, "oidc-client-id": "junctor", "oidc-domains": "*", "oauth-issuers": idp, "oauth-server": "on",
	})
	s.add("POST", "/servers", fmt.Sprintf(`{"id":"books","url":%q,"title":%q}`, s.peer, within))
	s.add("POST", "/agents", `{"name":"clerk","title":"`+within+`","tools":["books/*"],"brain":{"rules":"fallback: `+within+`"}}`)

	bearer := func(token string) []string { return []string{"Authorization: Bearer " + token} }
	expired := s.add("POST", "/keys", `{"name":"short","scopes":["admin"],"expires_at":"`+time.Now().Add(time.Second).UTC().Format(time.RFC3339Nano)+`"}`)
	revoked := s.add("POST", "/keys", `{"name":"gone","scopes":["admin"]}`)
	s.expect(204, "DELETE", "/api/v1/keys/"+revoked.ID, "")
	s.callers = map[string][]string{
		"nobody":  nil,
		"tenant":  bearer(s.add("POST", "/tenants", `{"id":"elsewhere"}`).AdminKey.Key),
		"viewer":  bearer(s.user("vic-"+within, junctor.UserViewer)),
		"dev":     bearer(s.user("dan-"+within, junctor.UserDeveloper)),
		"admin":   bearer(s.user("ada-"+within, junctor.UserAdmin)),
		"agent":   bearer(s.add("POST", "/agents", `{"name":"bot","tools":["books/tag"]}`).Key),
		"expired": bearer(expired.Key),
		"revoked": bearer(revoked.Key),
		"Origin":  append(bearer(testkit.AdminKey), "Origin: https://evil.example"),
		"Host":    append(bearer(testkit.AdminKey), "Host: evil.example:8717"),
	}
	s.user("lou-"+within, junctor.UserAdmin)
	s.browser()
	poll.Until(t, "the end of a key", time.Minute, func() bool { // one that has expired already cannot be made
		return s.Do(t, "GET", "/api/v1/whoami", "", s.callers["expired"]...).Status != http.StatusOK
	})
	return s
}

// made is what the scene reads of answers.
type made struct {
	ID, Name, Key, URL string
	AdminKey           struct{ Key string } `json:"admin_key"`
}

// add makes something with the admin key.
func (s *scene) add(method, path, body string) (out made) {
	s.t.Helper()
	r := s.Do(s.t, method, "/api/v1"+path, body, s.maker...)
	if r.Status/100 != 2 {
		s.t.Fatalf("%s %s: %d %s", method, path, r.Status, r.Body)
	}
	if r.Body != "" {
		if err := json.Unmarshal([]byte(r.Body), &out); err != nil {
			s.t.Fatal(err)
		}
	}
	return out
}

func (s *scene) expect(status int, method, path, body string, header ...string) {
	s.t.Helper()
	if r := s.Do(s.t, method, path, body, header...); r.Status != status {
		s.t.Fatalf("%s %s: %d %s", method, path, r.Status, r.Body)
	}
}

// user makes a user with a key of all that the role has.
func (s *scene) user(name string, role junctor.UserRole) string {
	s.t.Helper()
	s.add("POST", "/users", fmt.Sprintf(`{"name":%q,"role":%q}`, name, role))
	scopes, err := json.Marshal(role.Scopes())
	if err != nil {
		s.t.Fatal(err)
	}
	return s.add("POST", "/keys", fmt.Sprintf(`{"name":"k","user":%q,"scopes":%s}`, name, scopes)).Key
}

// browser signs lou in anew, and makes that the login of who has one.
func (s *scene) browser() {
	s.t.Helper()
	cookie := "Cookie: " + s.signIn("lou-"+within)
	s.callers["login"] = []string{cookie, "X-Junctor-Console: 1", "Sec-Fetch-Site: same-origin"}
	s.callers["x-site"] = []string{cookie, "X-Junctor-Console: 1", "Sec-Fetch-Site: cross-site"}
	s.callers["bare"] = []string{cookie}
}

// signIn gives the cookie of a new login.
func (s *scene) signIn(name string) string {
	s.t.Helper()
	link, err := url.Parse(s.add("POST", "/users/"+name+"/link", "").URL)
	if err != nil {
		s.t.Fatal(err)
	}
	r := s.Do(s.t, "POST", "/login", link.RawQuery, "Authorization:", "Content-Type: application/x-www-form-urlencoded")
	cookie, _, _ := strings.Cut(r.Header.Get("Set-Cookie"), ";")
	if r.Status != http.StatusOK || cookie == "" {
		s.t.Fatalf("sign in: %d %q", r.Status, r.Body)
	}
	return cookie
}

// client is the id of a program that people may consent to.
func (s *scene) client() string {
	s.t.Helper()
	if s.program == "" {
		r := s.Do(s.t, "POST", "/oauth/register", `{"client_name":"`+within+`","redirect_uris":["https://a.example/cb"]}`)
		var c struct {
			ID string `json:"client_id"`
		}
		if err := json.Unmarshal([]byte(r.Body), &c); err != nil || r.Status != http.StatusCreated {
			s.t.Fatalf("%d %s", r.Status, r.Body)
		}
		s.program = c.ID
	}
	return s.program
}

func (s *scene) name() string {
	s.made++
	return fmt.Sprintf("thing-%d", s.made)
}

// somebody is whom a login or a consent is of.
func (s *scene) somebody() string {
	s.t.Helper()
	if s.person != "" {
		return s.person
	}
	name := s.name()
	s.add("POST", "/users", fmt.Sprintf(`{"name":%q,"role":"developer"}`, name))
	return name
}

// thing gives the id of something that a route is about, in the tenant default
// and an admin's. Where the route may take it away it is a new one.
func (s *scene) thing(kind string, fresh bool) string {
	s.t.Helper()
	switch kind {
	case "server":
		if !fresh {
			return "books"
		}
		return s.add("POST", "/servers", fmt.Sprintf(`{"id":%q,"url":%q}`, s.name(), s.peer)).ID
	case "personal": // is called with the credentials of each user
		id := s.add("POST", "/servers", fmt.Sprintf(`{"id":%q,"url":%q,"credentials":"per-user"}`, s.name(), s.peer)).ID
		for _, who := range []string{"dev", "admin", "login"} {
			s.expect(200, "PUT", "/api/v1/servers/"+id+"/credentials/me", `{"auth":{"type":"bearer","token":"t"}}`, append([]string{"Authorization:"}, s.callers[who]...)...)
		}
		return id
	case "guarded": // people log in to it
		return s.add("POST", "/servers", fmt.Sprintf(`{"id":%q,"url":%q,"auth":{"type":"oauth"}}`, s.name(), upstreams.NewGuarded(s.t, upstreams.Modern).URL)).ID
	case "agent":
		if !fresh {
			return "clerk"
		}
		return s.add("POST", "/agents", fmt.Sprintf(`{"name":%q,"brain":{"rules":"fallback: %s"}}`, s.name(), within)).Name
	case "published":
		return s.add("POST", "/agents", fmt.Sprintf(`{"name":%q,"published":true,"brain":{"rules":"fallback: %s"}}`, s.name(), within)).Name
	case "model":
		return s.add("POST", "/models", fmt.Sprintf(`{"name":%q,"kind":"openai","model":%q,"base_url":%q}`, s.name(), within, s.peer)).Name
	case "catalog":
		name := "fleet"
		if fresh {
			name = s.name()
		}
		s.expect(200, "PUT", "/api/v1/component-catalogs/"+name, fmt.Sprintf(`{"document":{"description":%q,"components":{"%s:X":{}}}}`, within, name))
		return name
	case "document":
		return "banking-v1.json"
	case "tool":
		return "books__tag"
	case "key":
		return s.add("POST", "/keys", `{"name":"k","scopes":["tools:read"]}`).ID
	case "user":
		return s.add("POST", "/users", fmt.Sprintf(`{"name":%q}`, s.name())).ID
	case "login":
		name := s.somebody()
		s.signIn(name)
		var page struct{ Items []made }
		r := s.Do(s.t, "GET", "/api/v1/logins?user="+name, "")
		if err := json.Unmarshal([]byte(r.Body), &page); err != nil || len(page.Items) == 0 {
			s.t.Fatal(r.Body)
		}
		return page.Items[0].ID
	case "consent":
		name := s.somebody()
		v := visitor.New(s.t, s.URL)
		v.SignIn(s.add("POST", "/users/"+name+"/link", "").URL, s.App.ConsoleURL())
		v.Consent(s.App.ConsoleURL() + "/oauth/authorize?" + url.Values{
			"response_type": {"code"}, "client_id": {s.client()}, "redirect_uri": {"https://a.example/cb"}, "code_challenge_method": {"S256"},
			"code_challenge": {strings.Repeat("x", 43)}, "state": {within},
		}.Encode())
		var page struct{ Items []made }
		r := s.Do(s.t, "GET", "/api/v1/consents?user="+name, "")
		if err := json.Unmarshal([]byte(r.Body), &page); err != nil || len(page.Items) == 0 {
			s.t.Fatal(r.Body)
		}
		return page.Items[0].ID
	case "secret":
		name := s.name()
		s.add("PUT", "/secrets/books/"+name, `{"value":"`+within+`"}`)
		return name
	case "policy":
		name := s.name()
		s.add("PUT", "/policies/"+name, `{"verdict":"deny","target":{"items":["nothing/`+name+`"]},"title":"`+within+`"}`)
		return name
	case "event":
		return s.add("POST", "/events", `{"type":"`+within+`"}`).ID
	case "trigger":
		return s.add("POST", "/triggers", fmt.Sprintf(`{"name":%q,"title":%q,"match":{"type":"never"},"action":{"agent":"event","tool":"x"}}`, s.name(), within)).Name
	case "source":
		return s.add("POST", "/sources", fmt.Sprintf(`{"id":%q,"title":%q,"style":"github","secret":"a fine long secret"}`, s.name(), within)).ID
	case "schedule":
		name := s.name()
		s.add("PUT", "/schedules/"+name, `{"cron":"@yearly","type":"`+within+`"}`)
		return name
	case "role":
		name := s.name()
		s.add("PUT", "/roles/"+name, "")
		return name
	case "call":
		s.expect(200, "POST", "/api/v1/tools/demo__echo/call", `{"arguments":{"text":"x"}}`)
		var page struct{ Items []made }
		for { // it is written behind the call's back
			r := s.Do(s.t, "GET", "/api/v1/calls/history?limit=1", "")
			if err := json.Unmarshal([]byte(r.Body), &page); err != nil {
				s.t.Fatal(err)
			}
			if len(page.Items) > 0 {
				return page.Items[0].ID
			}
		}
	case "view": // of nobody's session: whose it is, is a test of its own
		return strings.Repeat("a", 26)
	case "ask":
		return "nothing"
	case "delivery", "run", "message", "change":
		return "none"
	case "room":
		if s.room != "" && !fresh {
			return s.room
		}
		return s.add("POST", "/rooms", `{"name":"`+within+`"}`).ID
	case "recipient":
		name := s.name()
		s.expect(200, "PUT", "/api/v1/agent-tokens/"+name, `{"url":"https://agent.example/mcp"}`)
		return name
	case "other":
		return "spare"
	}
	s.t.Fatalf("what is a %s?", kind)
	return ""
}

// provider is an OpenID Connect provider as far as somebody is sent there.
func provider(t *testing.T) string {
	t.Helper()
	var p *httptest.Server
	p = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"issuer":%q,"authorization_endpoint":"%[2]s/a","token_endpoint":"%[2]s/t","jwks_uri":"%[2]s/k","code_challenge_methods_supported":["S256"],"id_token_signing_alg_values_supported":["RS256"],"response_types_supported":["code"],"subject_types_supported":["public"]}`, p.URL, p.URL)
	}))
	t.Cleanup(p.Close)
	return p.URL
}

// ask sends a request, follows nothing, and reads the body unless it is a stream.
func (s *scene) ask(method, path, body string, header ...string) testkit.Reply {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, s.URL+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		if name == "Host" {
			req.Host = value
		} else {
			req.Header.Set(name, value)
		}
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	r := testkit.Reply{Status: resp.StatusCode, Header: resp.Header}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return r
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Body = string(b)
	return r
}
