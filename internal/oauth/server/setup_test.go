package server_test

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/testkit/visitor"
)

// scene is an instance with a user, and a program that registered itself.
type scene struct {
	*testkit.Instance
	t      *testing.T
	about  map[string]any // what the instance says of itself
	client string
}

const callback = "http://127.0.0.1:5000/callback"

func start(t *testing.T, more testkit.Settings) *scene {
	t.Helper()
	s := &scene{Instance: testkit.Start(t, more), t: t}
	r := s.Do(t, "GET", "/.well-known/oauth-authorization-server", "", "Authorization:")
	if r.Status != 200 || json.Unmarshal([]byte(r.Body), &s.about) != nil {
		t.Fatalf("metadata: %d %s", r.Status, r.Body)
	}
	s.add("ann", "developer")
	s.client = s.register(`{"client_name":"Pad","redirect_uris":["` + callback + `"]}`)
	return s
}

func (s *scene) add(name, role string) {
	s.t.Helper()
	if r := s.Do(s.t, "POST", "/api/v1/users", `{"name":"`+name+`","role":"`+role+`"}`); r.Status != 201 {
		s.t.Fatalf("%d %s", r.Status, r.Body)
	}
}

func (s *scene) register(body string) string {
	s.t.Helper()
	r := s.Do(s.t, "POST", "/oauth/register", body, "Authorization:")
	var c struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
	}
	if err := json.Unmarshal([]byte(r.Body), &c); err != nil || r.Status != 201 || c.ID == "" || c.Secret != "" {
		s.t.Fatalf("register: %d %s", r.Status, r.Body)
	}
	return c.ID
}

// person opens a browser where somebody is signed in.
func (s *scene) person(name string) *visitor.Visitor {
	s.t.Helper()
	r := s.Do(s.t, "POST", "/api/v1/users/"+name+"/link", "")
	var link struct{ URL string }
	if err := json.Unmarshal([]byte(r.Body), &link); err != nil {
		s.t.Fatal(r.Body)
	}
	v := visitor.New(s.t, s.URL)
	v.SignIn(link.URL, s.App.ConsoleURL())
	return v
}

func (s *scene) authorize() string {
	at, _ := s.about["authorization_endpoint"].(string)
	return at
}

// verifier is what a program keeps while its person is away.
type verifier string

func newVerifier() verifier { return verifier(rand.Text() + rand.Text()) }

func (v verifier) challenge() string {
	sum := sha256.Sum256([]byte(v))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// request is a good request for a code, but for what is given as name, value.
func (s *scene) request(v verifier, more ...string) string {
	q := url.Values{
		"response_type": {"code"}, "client_id": {s.client}, "redirect_uri": {callback}, "state": {"st ate&="}, "code_challenge": {v.challenge()},
		"code_challenge_method": {"S256"}, "resource": {s.URL + "/mcp"}, "scope": {"tools:read tools:call"},
	}
	for i := 0; i < len(more); i += 2 {
		if q.Del(more[i]); more[i+1] != "-" {
			q.Set(more[i], more[i+1])
		}
	}
	return s.authorize() + "?" + q.Encode()
}

// tokens is the answer of the token endpoint.
type tokens struct {
	Status  int
	Access  string `json:"access_token"`
	Type    string `json:"token_type"`
	Expires int    `json:"expires_in"`
	Refresh string `json:"refresh_token"`
	Scope   string `json:"scope"`
	Error   string `json:"error"`
	Text    string `json:"error_description"`
}

func (s *scene) post(path string, form url.Values) tokens {
	s.t.Helper()
	r := s.Do(s.t, "POST", path, form.Encode(), "Authorization:", "Content-Type: application/x-www-form-urlencoded")
	got := tokens{Status: r.Status}
	if r.Body != "" {
		if err := json.Unmarshal([]byte(r.Body), &got); err != nil {
			s.t.Fatalf("%s: %d %s", path, r.Status, r.Body)
		}
	}
	if r.Header.Get("Cache-Control") != "no-store" {
		s.t.Errorf("%s may be kept: %v", path, r.Header)
	}
	return got
}

// trade wishes tokens for a code, but for what is given as name, value.
func (s *scene) trade(code string, v verifier, more ...string) tokens {
	s.t.Helper()
	form := url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "client_id": {s.client}, "redirect_uri": {callback}, "code_verifier": {string(v)}, "resource": {s.URL + "/mcp"},
	}
	for i := 0; i < len(more); i += 2 {
		if form.Del(more[i]); more[i+1] != "-" {
			form.Set(more[i], more[i+1])
		}
	}
	return s.post("/oauth/token", form)
}

func (s *scene) renew(refresh string, more ...string) tokens {
	s.t.Helper()
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refresh}, "client_id": {s.client}}
	for i := 0; i < len(more); i += 2 {
		form.Set(more[i], more[i+1])
	}
	return s.post("/oauth/token", form)
}

// login is the whole way of a person who consents.
func (s *scene) login(who *visitor.Visitor, more ...string) tokens {
	s.t.Helper()
	v := newVerifier()
	back := who.Consent(s.request(v, more...))
	got := s.trade(back.Query().Get("code"), v, "resource", "-", "redirect_uri", strings.TrimSuffix(callback, "")) // the endpoint is the one of the code
	if got.Status != 200 {
		s.t.Fatalf("no tokens: %+v", got)
	}
	return got
}

// call calls a tool at an endpoint, and gives the status and challenge.
func (s *scene) call(token, endpoint string) (int, string) {
	s.t.Helper()
	name := "demo__echo"
	if endpoint != "/mcp" {
		name = "echo"
	}
	r := s.Do(s.t, http.MethodPost, endpoint, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+name+`","arguments":{"text":"x"}}}`,
		"Authorization: Bearer "+token, "MCP-Protocol-Version: 2025-11-25")
	return r.Status, r.Header.Get("WWW-Authenticate")
}
