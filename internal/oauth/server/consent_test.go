package server_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/app"
	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/testkit/visitor"
)

func (s *scene) consents(query string) []junctor.Consent {
	s.t.Helper()
	var page struct{ Items []junctor.Consent }
	r := s.Do(s.t, "GET", "/api/v1/consents"+query, "")
	if err := json.Unmarshal([]byte(r.Body), &page); err != nil || r.Status != 200 {
		s.t.Fatalf("%d %s", r.Status, r.Body)
	}
	return page.Items
}

// TestRevokedAtOnce holds that a revoked consent opens nothing any more, and
// that what is open by it ends.
func TestRevokedAtOnce(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	s.add("bob", "developer")
	anns, bobs := s.login(s.person("ann")), s.login(s.person("bob"))
	list := s.consents("?user=ann")
	if len(list) != 1 || list[0].ClientName != "Pad" || list[0].Client != s.client || list[0].Resource != s.URL+"/mcp" || list[0].LastUsedAt.IsZero() ||
		list[0].Redirect != "http://127.0.0.1/callback" || len(s.consents("")) != 2 {
		t.Fatalf("%+v", list)
	}
	resp := s.Open(t.Context(), t, http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		"Authorization: Bearer "+anns.Access, "MCP-Protocol-Version: 2026-07-28", "Mcp-Method: subscriptions/listen")
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("no stream: %d", resp.StatusCode)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for b := make([]byte, 1024); ; {
			if _, err := resp.Body.Read(b); err != nil {
				return
			}
		}
	}()
	if status, _ := s.call(anns.Access, "/mcp"); status != 200 {
		t.Fatal(status)
	}
	// Records name the person and the program.
	if r := s.Do(t, "GET", "/api/v1/calls?limit=1", ""); !strings.Contains(r.Body, `"user":"`+list[0].User+`"`) || !strings.Contains(r.Body, `"client":"`+s.client+`"`) {
		t.Errorf("the record is %s", r.Body)
	}
	if r := s.Do(t, "DELETE", "/api/v1/consents/"+list[0].ID, ""); r.Status != 204 {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	if status, _ := s.call(anns.Access, "/mcp"); status != 401 {
		t.Errorf("a revoked token: %d", status)
	}
	if r := s.renew(anns.Refresh); r.Error != "invalid_grant" {
		t.Errorf("%+v", r)
	}
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("what it had open goes on")
	}
	if status, _ := s.call(bobs.Access, "/mcp"); status != 200 || len(s.consents("")) != 1 {
		t.Errorf("another's went with it: %d", status)
	}
	if r := s.Do(t, "DELETE", "/api/v1/consents/"+list[0].ID, ""); r.Status != 404 {
		t.Errorf("%d", r.Status)
	}
}

// TestKnownTokenCostsNothing holds that a call with a token that was seen before
// asks the database nothing about it.
func TestKnownTokenCostsNothing(t *testing.T) {
	t.Parallel()
	var statements atomic.Int64
	s := &scene{t: t, Instance: testkit.Start(t, nil, app.WithStatements(func(ctx context.Context) {
		if ctx.Value(http.LocalAddrContextKey) != nil { // it is for a request
			statements.Add(1)
		}
	}))}
	r := s.Do(t, "GET", "/.well-known/oauth-authorization-server", "")
	if err := json.Unmarshal([]byte(r.Body), &s.about); err != nil {
		t.Fatal(err)
	}
	s.add("ann", "developer")
	s.client = s.register(`{"redirect_uris":["` + callback + `"]}`)
	got := s.login(s.person("ann"))
	s.call(got.Access, "/mcp")
	before := statements.Load()
	if before == 0 {
		t.Fatal("no statement is seen")
	}
	for range 20 {
		if status, _ := s.call(got.Access, "/mcp"); status != 200 {
			t.Fatal(status)
		}
	}
	if n := statements.Load() - before; n > 0 {
		t.Errorf("%d statements", n)
	}
}

// TestRestart holds that nothing is forgotten: consents, tokens, registrations.
func TestRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, testkit.Settings{"data-dir": dir})
	addr := strings.TrimPrefix(s.URL, "http://")
	ann := s.person("ann")
	got := s.login(ann)
	s.Stop()
	s.Instance = testkit.Start(t, testkit.Settings{"data-dir": dir, "listen": addr})
	if status, _ := s.call(got.Access, "/mcp"); status != 200 {
		t.Errorf("%d", status)
	}
	if next := s.renew(got.Refresh); next.Status != 200 {
		t.Errorf("%+v", next)
	}
	again := s.login(ann) // is still signed in, and the program still registered
	if status, _ := s.call(again.Access, "/mcp"); status != 200 {
		t.Errorf("%d", status)
	}
}

// TestTenantsApart holds that a person of another tenant consents for
// themselves, and is seen by nobody here.
func TestTenantsApart(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	r := s.Do(t, "POST", "/api/v1/tenants", `{"id":"acme"}`)
	var made struct {
		AdminKey struct{ Key string } `json:"admin_key"`
	}
	if err := json.Unmarshal([]byte(r.Body), &made); err != nil || made.AdminKey.Key == "" {
		t.Fatal(r.Body)
	}
	theirs := "Authorization: Bearer " + made.AdminKey.Key
	s.Do(t, "POST", "/api/v1/users", `{"name":"ann","role":"developer"}`, theirs)
	r = s.Do(t, "POST", "/api/v1/users/ann/link", "", theirs)
	var link struct{ URL string }
	if err := json.Unmarshal([]byte(r.Body), &link); err != nil {
		t.Fatal(r.Body)
	}
	other := visitor.New(t, s.URL)
	other.SignIn(link.URL, s.App.ConsoleURL())
	if page, _ := other.Open(s.request(newVerifier()), "none"); !strings.Contains(page.Body, "acme") {
		t.Errorf("it does not say of which tenant: %s", page.Body)
	}
	got := s.login(other)
	if len(s.consents("")) != 0 {
		t.Error("the tenant default sees it")
	}
	r = s.Do(t, "GET", "/api/v1/consents", "", theirs)
	if !strings.Contains(r.Body, s.client) {
		t.Errorf("%s", r.Body)
	}
	r = s.Do(t, "POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "Authorization: Bearer "+got.Access, "MCP-Protocol-Version: 2025-11-25")
	if r.Status != 200 || strings.Contains(r.Body, "demo__") {
		t.Errorf("%d %s", r.Status, r.Body)
	}
}

// TestHostileNames holds that what a program calls itself is text, and short.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	ann := s.person("ann")
	for _, name := range []string{`</strong><script>alert(1)</script>`, `"><img src=x>`, `{{.Person}}`, "\u202eevil", strings.Repeat("long ", 3000)[:3000]} {
		text, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		s.client = s.register(`{"client_name":` + string(text) + `,"redirect_uris":["` + callback + `"]}`)
		page, _ := ann.Open(s.request(newVerifier()), "none")
		if page.Question() == "" || strings.Contains(page.Body, "<script>") || strings.Contains(page.Body, "<img") || strings.Contains(page.Body, "\u202e") || len(page.Body) > 10_000 {
			t.Errorf("%q: %s", name, page.Body)
		}
		if _, back := ann.Answer(page, "yes"); back == nil {
			t.Errorf("%q: nobody is sent back", name)
		}
	}
	s.client = s.register(`{"redirect_uris":["cursor://anysphere.cursor-mcp/cb"]}`)
	page, _ := ann.Open(s.request(newVerifier(), "redirect_uri", "cursor://anysphere.cursor-mcp/cb"), "none")
	if !strings.Contains(page.Body, "A program without a name") || !strings.Contains(page.Body, "(cursor:)") {
		t.Errorf("%s", page.Body)
	}
	page, back := ann.Answer(page, "yes")
	if back == nil || back.Scheme != "cursor" || !strings.Contains(page.Body, `href="cursor://anysphere.cursor-mcp/cb?code=`) {
		t.Errorf("%v %s", back, page.Body)
	}
}

func TestRegistrationsRefused(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	for body, want := range map[string]string{
		`{}`: "invalid_redirect_uri", `{"redirect_uris":["http://evil.example/"]}`: "invalid_redirect_uri", `{"redirect_uris":["javascript:x"]}`: "invalid_redirect_uri", `nothing`: "invalid_client_metadata",
		`{"redirect_uris":["https://a.example/"],"grant_types":["client_credentials"]}`: "invalid_client_metadata", `{"redirect_uris":"https://a.example/"}`: "invalid_client_metadata",
		`{"redirect_uris":["https://a.example/"],"x":"` + strings.Repeat("x", 20<<10) + `"}`: "invalid_client_metadata",
	} {
		if r := s.Do(t, "POST", "/oauth/register", body, "Authorization:"); r.Status != 400 || !strings.Contains(r.Body, `"error":"`+want+`"`) {
			t.Errorf("%.60s: %d %s", body, r.Status, r.Body)
		}
	}
	if r := s.Do(t, "POST", "/oauth/register", `{"redirect_uris":["https://a.example/"]}`, "Content-Type: text/plain"); r.Status != 400 {
		t.Errorf("%d %s", r.Status, r.Body)
	}
	var last testkit.Reply
	for range 40 {
		if last = s.Do(t, "POST", "/oauth/register", `{"redirect_uris":["https://a.example/"]}`); last.Status != 201 {
			break
		}
	}
	if last.Status != 429 || last.Header.Get("Retry-After") == "" {
		t.Errorf("%d %v", last.Status, last.Header)
	}
}
