package generated

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"golang.org/x/oauth2"

	"github.com/junctor-mcp/junctor/internal/testkit"
)

// bankAPI is an API and the authorization server that its document names. It
// publishes nothing about itself and knows one client.
type bankAPI struct {
	*httptest.Server
	mu     sync.Mutex
	codes  map[string][2]string // a code's challenge, and whose it is
	tokens map[string]string    // whose a token is
	asked  []url.Values         // at the page for people
	calls  int                  // of the API
	renews int
}

func newBank(t *testing.T) *bankAPI {
	t.Helper()
	b := &bankAPI{codes: map[string][2]string{}, tokens: map[string]string{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /login", b.login)
	mux.HandleFunc("POST /token", b.token)
	mux.HandleFunc("GET /v1/accounts", b.accounts)
	mux.HandleFunc("GET /v1/rates", func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "rates for %q", r.Header.Get("Authorization"))
	})
	b.Server = httptest.NewServer(mux)
	t.Cleanup(b.Close)
	return b
}

func (b *bankAPI) login(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := r.URL.Query()
	b.asked = append(b.asked, q)
	code := rand.Text()
	b.codes[code] = [2]string{q.Get("code_challenge"), r.Header.Get("X-Person")}
	back := q.Get("redirect_uri") + "?" + url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {"https://what-it-calls-itself.example"}}.Encode()
	http.Redirect(w, r, back, http.StatusFound)
}

func (b *bankAPI) token(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	id, secret, _ := r.BasicAuth()
	who := strings.TrimPrefix(r.FormValue("refresh_token"), "renew-")
	if r.FormValue("grant_type") == "authorization_code" {
		code := b.codes[r.FormValue("code")]
		delete(b.codes, r.FormValue("code"))
		if who = code[1]; oauth2.S256ChallengeFromVerifier(r.FormValue("code_verifier")) != code[0] {
			who = ""
		}
	} else {
		b.renews++
	}
	w.Header().Set("Content-Type", "application/json")
	if id != "teller" || secret != "the-secret-of-the-teller" || who == "" || r.FormValue("resource") != "" {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprint(w, `{"error":"invalid_grant"}`)
		return
	}
	token := "token-of-" + who + "-" + rand.Text()
	b.tokens[token] = who
	_, _ = fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer","expires_in":3600,"refresh_token":%q}`, token, "renew-"+who)
}

func (b *bankAPI) counts() (calls, renews int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.calls, b.renews
}

func (b *bankAPI) accounts(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls++
	who := b.tokens[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	if who == "" {
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"accounts_of":%q,"with":%q}`, who, r.Header.Get("Authorization"))
}

const bankDocument = `{"openapi":"3.1.0","info":{"title":"Bank","version":"1"},"security":[{"people":["read","accounts"]}],
	"components":{"securitySchemes":{"people":{"type":"oauth2","flows":{"authorizationCode":{"authorizationUrl":"/login","tokenUrl":"/token","scopes":{"read":"","accounts":"","admin":""}}}}}},
	"paths":{"/accounts":{"get":{"operationId":"accounts","responses":{"200":{"description":"ok"}}}},
		"/rates":{"get":{"operationId":"rates","security":[{},{"people":[]}],"responses":{"200":{"description":"ok"}}}}}}`

// People log in to an API by the flow that its document declares: each for
// themselves, their tokens renewed when the API does not take them any more. Who
// has not logged in is told how to, and nothing is sent for them.
func TestPeopleLogInToAnAPI(t *testing.T) {
	t.Parallel()
	api := newBank(t)
	instance := testkit.Start(t, testkit.Settings{"egress-allow": "127.0.0.0/8"})
	preview := instance.Do(t, http.MethodPost, "/api/v1/servers/preview", fmt.Sprintf(`{"document":%q,"base_url":%q}`, bankDocument, api.URL+"/v1"))
	if !strings.Contains(preview.Body, `"suggested":"oauth"`) {
		t.Errorf("the preview does not suggest a login: %.600s", preview.Body)
	}
	addServer(t, instance, fmt.Sprintf(`{"id":"bank","mode":"auto-generated","document":%q,"base_url":%q,"credentials":"per-user","auth":{"type":"oauth","client_id":"teller","client_secret":"the-secret-of-the-teller"}}`, bankDocument, api.URL+"/v1"))
	keys := map[string]string{}
	for _, name := range []string{"ann", "bob"} {
		if r := instance.Do(t, http.MethodPost, "/api/v1/users", `{"name":"`+name+`","role":"developer","tier":"unlimited"}`); r.Status != http.StatusCreated {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		var made struct{ Key string }
		readReply(t, instance.Do(t, http.MethodPost, "/api/v1/keys", `{"name":"`+name+`","user":"`+name+`","scopes":["tools:read","tools:call"]}`), &made)
		keys[name] = "Authorization: Bearer " + made.Key
	}
	call := func(who, tool string) string {
		t.Helper()
		return instance.Do(t, http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"bank__`+tool+`","arguments":{}}}`, keys[who]).Body
	}
	for _, who := range []string{"ann", "bob"} {
		if said := call(who, "accounts"); !strings.Contains(said, "/connect/bank") || !strings.Contains(said, "junctor server login bank") {
			t.Errorf("%s is not told how to log in: %s", who, said)
		}
		if said := call(who, "rates"); !strings.Contains(said, `rates for \"\"`) {
			t.Errorf("what needs no login: %s", said)
		}
	}
	if calls, _ := api.counts(); calls != 0 {
		t.Errorf("%d calls were sent without a login", calls)
	}
	for _, who := range []string{"ann", "bob"} {
		logIn(t, instance, keys[who], who)
	}
	for _, who := range []string{"ann", "bob", "ann"} {
		if said := call(who, "accounts"); !strings.Contains(said, `"accounts_of":"`+who+`"`) || strings.Contains(said, "token-of-") {
			t.Errorf("%s: %s", who, said)
		}
	}
	if said := call("bob", "rates"); strings.Contains(said, `rates for \"\"`) || strings.Contains(said, "token-of-") {
		t.Errorf("what may have a login: %s", said)
	}
	api.mu.Lock()
	if q := api.asked[0]; q.Get("scope") != "accounts read" || q.Get("client_id") != "teller" || q.Has("resource") || q.Get("code_challenge_method") != "S256" {
		t.Errorf("asked for: %v", q)
	}
	for token, who := range api.tokens { // ann's are not taken any more
		if who == "ann" {
			delete(api.tokens, token)
		}
	}
	api.mu.Unlock()
	if said := call("ann", "accounts"); !strings.Contains(said, `"accounts_of":"ann"`) {
		t.Errorf("after it ended: %s", said)
	}
	if _, renews := api.counts(); renews != 1 {
		t.Errorf("renewed %d times", renews)
	}
	if r := instance.Do(t, http.MethodDelete, "/api/v1/servers/bank/login", "", keys["ann"]); r.Status != http.StatusNoContent {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	if said := call("ann", "accounts"); !strings.Contains(said, "/connect/bank") {
		t.Errorf("logged out: %s", said)
	}
	if said := call("bob", "accounts"); !strings.Contains(said, `"accounts_of":"bob"`) {
		t.Errorf("another's login: %s", said)
	}
	if log := instance.Log.String(); strings.Contains(log, "token-of-") || strings.Contains(log, "the-secret-of") {
		t.Error("a secret is in the log")
	}
}

func readReply(t *testing.T, r testkit.Reply, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.Body), v); err != nil || r.Status >= 300 {
		t.Fatalf("%d %s: %v", r.Status, r.Body, err)
	}
}

// logIn is a person who logs in to the bank, with a browser on this machine.
func logIn(t *testing.T, instance *testkit.Instance, key, who string) {
	t.Helper()
	const redirect = "http://127.0.0.1:1/back"
	var begun struct {
		AuthorizationURL string `json:"authorization_url"`
		Login            string `json:"login"`
	}
	readReply(t, instance.Do(t, http.MethodPost, "/api/v1/servers/bank/login", `{"redirect_uri":"`+redirect+`"}`, key), &begun)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, begun.AuthorizationURL, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Person", who)
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	body, err := json.Marshal(map[string]string{"login": begun.Login, "url": resp.Header.Get("Location")})
	if err != nil {
		t.Fatal(err)
	}
	if r := instance.Do(t, http.MethodPost, "/api/v1/servers/bank/login/finish", string(body), key); r.Status != http.StatusOK {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
}
