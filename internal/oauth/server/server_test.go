package server_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/junctor-mcp/junctor/internal/testkit"
)

// TestLogin goes the whole way: 401, metadata, registration, sign-in, consent,
// code, call, renewal, revocation.
func TestLogin(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	status, challenge := s.call("jca_nothing", "/mcp")
	if status != 401 || !strings.Contains(challenge, `resource_metadata="`+s.URL+`/.well-known/oauth-protected-resource/mcp"`) {
		t.Fatalf("%d %s", status, challenge)
	}
	if r := s.Do(t, "GET", "/.well-known/oauth-protected-resource/mcp", ""); !strings.Contains(r.Body, `"authorization_servers":["`+s.URL+`"]`) {
		t.Errorf("the endpoint says %s", r.Body)
	}
	if s.about["issuer"] != s.URL {
		t.Errorf("it calls itself %v", s.about["issuer"])
	}

	ann, v := s.person("ann"), newVerifier()
	page, back := ann.Open(s.request(v), "cross-site") // from a page elsewhere, without the cookie at first
	if back != nil || page.Question() == "" {
		t.Fatalf("%d %s, %v", page.Status, page.Body, back)
	}
	for _, says := range []string{"Pad", "ann", "see tools", "call tools", "all servers that you can use", "127.0.0.1", "not verified"} {
		if !strings.Contains(page.Body, says) {
			t.Errorf("the page does not say %q: %s", says, page.Body)
		}
	}
	for name, want := range map[string]string{"X-Frame-Options": "DENY", "Content-Security-Policy": "frame-ancestors 'none'"} {
		if !strings.Contains(page.Header.Get(name), want) {
			t.Errorf("%s: %s", name, page.Header.Get(name))
		}
	}
	_, back = ann.Answer(page, "yes")
	if back == nil || back.Host != "127.0.0.1:5000" || back.Path != "/callback" {
		t.Fatalf("sent back to %v", back)
	}
	code := back.Query().Get("code")
	if diff := cmp.Diff(url.Values{"code": {code}, "state": {"st ate&="}, "iss": {s.URL}}, back.Query()); diff != "" || code == "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got := s.trade(code, v)
	if got.Status != 200 || got.Type != "Bearer" || got.Expires != 3600 || got.Scope != "tools:read tools:call" || got.Refresh == "" {
		t.Fatalf("%+v", got)
	}
	for endpoint, want := range map[string]int{"/mcp": 200, "/mcp/s/demo": 401} { // it is for one endpoint
		if status, challenge := s.call(got.Access, endpoint); status != want {
			t.Errorf("%s: %d %s", endpoint, status, challenge)
		}
	}
	for _, path := range []string{"/api/v1/whoami", "/mcp/tools"} {
		if r := s.Do(t, "GET", path, "", "Authorization: Bearer "+got.Access); r.Status != 401 {
			t.Errorf("%s: %d", path, r.Status)
		}
	}
	if status, _ := s.call(got.Refresh, "/mcp"); status != 401 {
		t.Errorf("a refresh token opens the endpoint: %d", status)
	}

	next := s.renew(got.Refresh)
	if next.Status != 200 || next.Access == got.Access || next.Refresh == got.Refresh {
		t.Fatalf("%+v", next)
	}
	if r := s.post("/oauth/revoke", url.Values{"token": {next.Refresh}, "client_id": {"another"}}); r.Status != 200 {
		t.Errorf("%+v", r)
	}
	if status, _ := s.call(next.Access, "/mcp"); status != 200 {
		t.Errorf("another program ended it: %d", status)
	}
	if r := s.post("/oauth/revoke", url.Values{"token": {next.Refresh}, "client_id": {s.client}}); r.Status != 200 {
		t.Errorf("%+v", r)
	}
	for _, token := range []string{got.Access, next.Access} {
		if status, challenge := s.call(token, "/mcp"); status != 401 || !strings.Contains(challenge, "invalid_token") {
			t.Errorf("%d %s", status, challenge)
		}
	}
	if r := s.renew(next.Refresh); r.Error != "invalid_grant" {
		t.Errorf("%+v", r)
	}
}

// TestCodes holds what a code is worth: to the program that asked, once.
func TestCodes(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	ann, other := s.person("ann"), s.register(`{"redirect_uris":["`+callback+`"]}`)
	for name, tt := range map[string]struct {
		want string
		more []string
	}{
		"another program":       {"invalid_grant", []string{"client_id", other}},
		"another verifier":      {"invalid_grant", []string{"code_verifier", string(newVerifier())}},
		"another redirect":      {"invalid_grant", []string{"redirect_uri", "http://127.0.0.1:5001/callback"}},
		"another endpoint":      {"invalid_target", []string{"resource", s.URL + "/mcp/s/demo"}},
		"no verifier":           {"invalid_request", []string{"code_verifier", "-"}},
		"the challenge instead": {"invalid_grant", []string{"code_verifier", ""}},
		"an unknown grant":      {"unsupported_grant_type", []string{"grant_type", "password"}},
	} {
		v := newVerifier()
		code := ann.Consent(s.request(v)).Query().Get("code")
		if name == "the challenge instead" {
			tt.more[1] = v.challenge()
		}
		if got := s.trade(code, v, tt.more...); got.Error != tt.want || got.Status != 400 {
			t.Errorf("%s: %+v", name, got)
		}
		// A try with somebody else's verifier uses the code up.
		if got := s.trade(code, v); (got.Error == "") != (tt.want == "invalid_request" || tt.want == "unsupported_grant_type") {
			t.Errorf("%s, then again: %+v", name, got)
		}
	}
	v := newVerifier()
	code := ann.Consent(s.request(v)).Query().Get("code")
	got := s.trade(code, v)
	if status, _ := s.call(got.Access, "/mcp"); status != 200 {
		t.Fatalf("%d", status)
	}
	if again := s.trade(code, v); again.Error != "invalid_grant" {
		t.Errorf("a code is good twice: %+v", again)
	}
	if status, _ := s.call(got.Access, "/mcp"); status != 401 { // somebody else had it
		t.Errorf("the token of a code that was used twice: %d", status)
	}
}

// TestRequests holds what programs may ask for: where the person is not sent on,
// where they may go back, and what is asked of them.
func TestRequests(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	s.add("vic", "viewer")
	ann, vic := s.person("ann"), s.person("vic")
	v := newVerifier()
	ask := func(more ...string) string { return s.request(v, more...) }
	for name, address := range map[string]string{
		"no client":          ask("client_id", "-"),
		"an unknown client":  ask("client_id", "nobody"),
		"no redirect":        ask("redirect_uri", "-"),
		"another path":       ask("redirect_uri", "http://127.0.0.1:5000/callback/x"),
		"another host":       ask("redirect_uri", "http://localhost:5000/callback"),
		"a longer host":      ask("redirect_uri", "http://127.0.0.1.evil.example:5000/callback"),
		"with a query":       ask("redirect_uri", callback+"?a=b"),
		"two redirects":      ask() + "&redirect_uri=https://evil.example/",
		"two clients":        ask() + "&client_id=x",
		"too long":           ask("state", strings.Repeat("x", 3000)),
		"http as a document": ask("client_id", "http://127.0.0.1/client.json"),
	} {
		if page, back := ann.Open(address, "none"); page.Status != 400 || back != nil || page.Question() != "" || strings.Contains(page.Body, "evil.example") {
			t.Errorf("%s: %d, %v, %s", name, page.Status, back, page.Body)
		}
	}
	for want, address := range map[string]string{
		"unsupported_response_type": ask("response_type", "token"),
		"invalid_request&2":         ask("response_type", "-"),
		"invalid_request&3":         ask("code_challenge", "-"),
		"invalid_request&4":         ask("code_challenge_method", "plain"),
		"invalid_request&5":         ask("code_challenge_method", "-"),
		"invalid_request&6":         ask("code_challenge", "short"),
		"invalid_request&7":         ask() + "&resource=" + url.QueryEscape(s.URL+"/mcp/s/demo"),
		"invalid_target":            ask("resource", "https://other.example/mcp"),
		"invalid_target&2":          ask("resource", s.URL+"/api"),
		"invalid_target&3":          ask("resource", s.URL+"/mcp/s/a/b"),
		"invalid_scope":             ask("scope", "everything"),
		"request_not_supported":     ask() + "&request=x",
		"request_uri_not_supported": ask() + "&request_uri=https://x.example/",
	} {
		page, back := ann.Open(address, "none")
		code, _, _ := strings.Cut(want, "&")
		if page.Status != 400 || back != nil || !strings.Contains(page.Body, `href="`+callback+`?error=`+code+`&amp;`) || !strings.Contains(page.Body, "iss=") {
			t.Errorf("%s: %d, %v, %s", want, page.Status, back, page.Body)
		}
	}
	for name, tt := range map[string]struct{ address, says string }{
		"any port":    {ask("redirect_uri", "http://127.0.0.1:61234/callback"), "a program on this computer (127.0.0.1)"},
		"a server":    {ask("resource", s.URL+"/mcp/s/demo"), "the server demo alone"},
		"an agent":    {ask("resource", s.URL+"/mcp/a/bot"), "the agent bot"},
		"one scope":   {ask("scope", "tools:read offline_access openid"), "see tools"},
		"no scope":    {ask("scope", "-"), "call tools"},
		"no endpoint": {ask("resource", "-"), "all servers"},
		"no state":    {ask("state", "-"), "all servers"},
	} {
		page, back := ann.Open(tt.address, "none")
		if back != nil || page.Question() == "" || !strings.Contains(page.Body, tt.says) {
			t.Errorf("%s: %d, %v, %s", name, page.Status, back, page.Body)
		}
		if name == "one scope" && strings.Contains(page.Body, "call tools") {
			t.Errorf("more than was asked for: %s", page.Body)
		}
	}
	if page, _ := vic.Open(ask(), "none"); page.Question() == "" || strings.Contains(page.Body, "call tools") {
		t.Errorf("a viewer is asked for what they cannot do: %s", page.Body)
	}
	if page, _ := vic.Open(ask("scope", "tools:call"), "none"); page.Status != 400 || !strings.Contains(page.Body, "access_denied") {
		t.Errorf("%d %s", page.Status, page.Body)
	}
}

// TestAnswers holds that only the person who was asked can answer, in their own
// browser, from our own page.
func TestAnswers(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	s.add("bob", "developer")
	ann, bob, v := s.person("ann"), s.person("bob"), newVerifier()
	page, _ := ann.Open(s.request(v), "none")
	if got, back := bob.Answer(page, "yes"); got.Status != 400 || back != nil {
		t.Errorf("bob answers for ann: %d %v", got.Status, back)
	}
	if got, back := s.person("ann").Answer(page, "yes"); got.Status != 400 || back != nil {
		t.Errorf("another login answers: %d %v", got.Status, back)
	}
	forged := page
	forged.Body = strings.Replace(page.Body, page.Question()[:20], strings.Repeat("A", 20), 1)
	if got, back := ann.Answer(forged, "yes"); got.Status != 400 || back != nil {
		t.Errorf("a question that nobody asked: %d %v", got.Status, back)
	}
	for _, site := range []string{"cross-site", "same-site"} {
		if got := ann.Do(http.MethodPost, s.App.ConsoleURL()+"/oauth/authorize", url.Values{"question": {page.Question()}, "answer": {"yes"}}, site); got.Status != 403 {
			t.Errorf("%s: %d", site, got.Status)
		}
	}
	if got := ann.Do(http.MethodPost, s.App.ConsoleURL()+"/oauth/authorize", url.Values{"question": {page.Question()}}, "same-origin"); !strings.Contains(got.Body, "error=access_denied") {
		t.Errorf("no answer is a yes: %s", got.Body)
	}
	_, back := ann.Answer(page, "no")
	if back == nil || back.Query().Get("error") != "access_denied" || back.Query().Get("state") != "st ate&=" || back.Query().Get("iss") != s.URL || back.Query().Has("code") {
		t.Errorf("sent back to %v", back)
	}
	if r := s.Do(t, "GET", "/api/v1/consents", ""); r.Status == 200 && strings.Contains(r.Body, s.client) {
		t.Errorf("a refusal is a consent: %s", r.Body)
	}
}

// TestRemembered holds when a person is not asked again: for an address that
// nobody else can be at, and no more than they allowed.
func TestRemembered(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	s.add("bob", "developer")
	const there = "https://pad.example/cb"
	s.client = s.register(`{"client_name":"Pad","redirect_uris":["` + there + `","https://pad.example/other","` + callback + `"]}`)
	ann := s.person("ann")
	ask := func(more ...string) string {
		return s.request(newVerifier(), append([]string{"redirect_uri", there, "scope", "tools:read"}, more...)...)
	}
	ann.Consent(ask())
	asked := func(address string) bool {
		page, back := ann.Open(address, "none")
		if back != nil && back.Query().Get("code") == "" {
			t.Errorf("%v, %s", back, page.Body)
		}
		return back == nil
	}
	if asked(ask()) {
		t.Error("the same is asked twice")
	}
	for name, address := range map[string]string{
		"more":             ask("scope", "tools:read tools:call"),
		"another endpoint": ask("resource", s.URL+"/mcp/s/demo"),
		"another address":  ask("redirect_uri", "https://pad.example/other"),
		"this computer":    ask("redirect_uri", callback),
		"on demand":        ask("prompt", "consent"),
	} {
		if !asked(address) {
			t.Errorf("%s is not asked", name)
		}
	}
	if page, back := s.person("bob").Open(ask(), "none"); back != nil || page.Question() == "" {
		t.Errorf("bob is not asked, for ann was: %v", back)
	}
	ann.Consent(s.request(newVerifier()))
	if page, _ := ann.Open(s.request(newVerifier()), "none"); !strings.Contains(page.Body, "allowed this before") {
		t.Errorf("%s", page.Body)
	}
}

// TestOff holds that nothing is there where the settings say so.
func TestOff(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]testkit.Settings{
		"off":             {"oauth-server": "off"},
		"another issues":  {"oauth-issuers": "https://idp.example.com"},
		"no pages":        {"endpoints-off": "admin"},
		"a plain address": {"public-url": "http://junctor.example.com"},
	} {
		i := testkit.Start(t, set)
		if r := i.Do(t, "GET", "/.well-known/oauth-authorization-server", ""); r.Status != 404 {
			t.Errorf("%s: %d", name, r.Status)
		}
		if r := i.Do(t, "POST", "/oauth/register", "{}"); r.Status != 404 && r.Status != 405 {
			t.Errorf("%s: %d", name, r.Status)
		}
		if r := i.Do(t, "POST", "/mcp", "{}", "Authorization: Bearer jca_x"); strings.Contains(r.Header.Get("WWW-Authenticate"), "resource_metadata") != (name == "another issues") {
			t.Errorf("%s: %v", name, r.Header)
		}
	}
}
