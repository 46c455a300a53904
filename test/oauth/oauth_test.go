// Package oauth lets the official clients find their way from a bare 401 to a
// call, through a real authorization server and the real binary.
package oauth

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/junctor-mcp/junctor/internal/testkit/canary"
	"github.com/junctor-mcp/junctor/internal/testkit/oauthserver"
	"github.com/junctor-mcp/junctor/test/program"
)

const limit = 3 * time.Minute

func TestMain(m *testing.M) {
	program.SetParallel(6) // clients that wait for the end of a token
	os.Exit(program.Main(m))
}

// seen is what a client reports.
type seen struct {
	Statuses []int    `json:"statuses"` // of the endpoint, for calls and streams
	Scopes   []string `json:"scopes"`   // that it asked its person for
	Tokens   []string `json:"tokens"`   // the scopes of those that it got
	First    result   `json:"first"`
	Second   result   `json:"second"`

	Third   result   `json:"third"`
	Secrets []string `json:"secrets"` // codes, verifiers and tokens
	Client  string   `json:"client"`  // who the program is, by its id

	Session      string `json:"session"`
	SessionAfter string `json:"sessionAfter"`
}

type result struct {
	Content []struct{ Text string } `json:"content"`
}

func (r result) contains(text string) bool {
	return len(r.Content) == 1 && strings.Contains(r.Content[0].Text, text)
}

// clients are the generations and modes that know OAuth.
func clients() map[string]map[string]any {
	return map[string]map[string]any{
		"sdk 1.32":               {"client": 1, "mode": "legacy"},
		"client 2.4, legacy":     {"client": 2, "mode": "legacy"},
		"client 2.4, modern":     {"client": 2, "mode": "modern"},
		"client 2.4, one server": {"client": 2, "mode": "modern", "endpoint": "/mcp/s/demo", "tool": "echo"},
	}
}

// walkClient lets a client go its way.
func walkClient(t *testing.T, node *program.Node, base string, set map[string]any, more map[string]any) seen {
	t.Helper()
	all := map[string]any{"endpoint": "/mcp", "tool": "demo__echo"}
	maps.Copy(all, set)
	maps.Copy(all, more)
	endpoint, _ := all["endpoint"].(string)
	all["url"] = base + endpoint
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	out, err := node.Run(t, limit, "oauth.mjs", string(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var s seen
	if err := json.Unmarshal(out, &s); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return s
}

func startInstance(t *testing.T, a *oauthserver.Server, more ...string) *program.Instance {
	t.Helper()
	return program.Start(t, program.FreeAddr(t), t.TempDir(), append([]string{
		"--oauth-issuers", a.URL, "--oauth-users", "create", "--oauth-domains", "example.com", "--oauth-role", "developer",
	}, more...)...)
}

// TestOAuth goes from a bare 401 to a call: metadata of the endpoint, metadata of
// the authorization server, registration, consent, code and token. Then the
// token expires, and the client refreshes it and goes on in its session.
func TestOAuth(t *testing.T) {
	t.Parallel()
	node := program.FindNode(t)
	for name, set := range clients() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := oauthserver.Start(t)
			in := startInstance(t, a)
			// Clocks may differ by 30 s: such a token is good for 20 more.
			a.Lifetime(-10 * time.Second)
			s := walkClient(t, node, in.URL, set, map[string]any{"leeway": 30})
			if len(s.Statuses) == 0 || s.Statuses[0] != http.StatusUnauthorized {
				t.Errorf("the endpoint answered %v", s.Statuses)
			}
			if n := countOf(s.Statuses, http.StatusUnauthorized); n < 2 {
				t.Errorf("the token never expired: %v", s.Statuses)
			}
			if diff := cmp.Diff([]string{"tools:read tools:call"}, s.Scopes); diff != "" {
				t.Errorf("its person was asked for (-want +got):\n%s", diff)
			}
			if !s.First.contains("first") || !s.Second.contains("second") || len(s.Tokens) < 2 {
				t.Errorf("calls answer %+v and %+v, with %d tokens", s.First, s.Second, len(s.Tokens))
			}
			if s.Session != s.SessionAfter || (s.Session == "") == (set["mode"] == "legacy") {
				t.Errorf("the session was %q and is %q", s.Session, s.SessionAfter)
			}
			checkNoTokens(t, in, a)
		})
	}
}

func countOf(list []int, n int) int {
	return len(slices.DeleteFunc(slices.Clone(list), func(m int) bool { return m != n }))
}

// TestStepUp gives a client less than it asked for, until it is told what is
// missing and asks again.
func TestStepUp(t *testing.T) {
	t.Parallel()
	node := program.FindNode(t)
	for name, set := range clients() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := oauthserver.Start(t)
			in := startInstance(t, a)
			var once sync.Once
			a.Grant(func(asked string) string {
				once.Do(func() { asked = "tools:read" })
				return asked
			})
			s := walkClient(t, node, in.URL, set, nil)
			if countOf(s.Statuses, http.StatusForbidden) == 0 || !s.First.contains("first") {
				t.Errorf("the endpoint answered %v, the call %+v", s.Statuses, s.First)
			}
			t.Logf("asked for %q, got %q", s.Scopes, s.Tokens)
		})
	}
}

// TestTokensStayHere holds that no server behind Junctor sees a token, in
// whatever form.
func TestTokensStayHere(t *testing.T) {
	t.Parallel()
	a := oauthserver.Start(t)
	var mu sync.Mutex
	var heard strings.Builder
	server := startUpstream(t, func(text string) {
		mu.Lock()
		defer mu.Unlock()
		heard.WriteString(text)
	})
	in := startInstance(t, a, "--egress-allow", "127.0.0.0/8")
	if res, err := in.Request(t.Context(), http.MethodPost, "/api/v1/servers", `{"id":"spy","url":"`+server+`"}`); err != nil || res.Status != http.StatusCreated {
		t.Fatalf("%v %d %s", err, res.Status, res.Body)
	}
	for _, endpoint := range []string{"/mcp", "/mcp/s/spy"} {
		token, err := a.Sign(a.Claims(in.URL+endpoint, "tools:read tools:call"), nil)
		if err != nil {
			t.Fatal(err)
		}
		tool := map[string]string{"/mcp": "spy__look", "/mcp/s/spy": "look"}[endpoint]
		for _, version := range []string{"2025-11-25", "2026-07-28"} {
			meta, header := "", []string{"Authorization: Bearer " + token, "MCP-Protocol-Version: " + version, "X-Custom: " + token, "Cookie: a=" + token}
			if version == "2026-07-28" {
				meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
				header = append(header, "Mcp-Method: tools/call", "Mcp-Name: "+tool)
			}
			res, err := in.Request(t.Context(), http.MethodPost, endpoint, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`","arguments":{"text":"seen by the spy"}`+meta+`}}`, header...)
			if err != nil || res.Status != http.StatusOK || !strings.Contains(res.Body, "seen by the spy") {
				t.Fatalf("%s %s: %v %d %s", endpoint, version, err, res.Status, res.Body)
			}
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if n := strings.Count(heard.String(), "seen by the spy"); n != 4 {
		t.Errorf("the server heard of %d calls", n)
	}
	for _, token := range a.Issued() {
		for _, part := range strings.Split(token, ".")[1:] {
			if strings.Contains(heard.String(), part) {
				t.Error("the server behind saw a token, or its claims or signature")
			}
		}
	}
	checkNoTokens(t, in, a)
}

// checkNoTokens holds that tokens are neither logged nor stored.
func checkNoTokens(t *testing.T, in *program.Instance, a *oauthserver.Server) {
	t.Helper()
	secrets := canary.New(0)
	for _, token := range a.Issued() {
		secrets.Add("a token's signature", token[strings.LastIndexByte(token, '.')+1:])
	}
	if secrets.Len() == 0 {
		t.Error("no token was issued")
	}
	in.Stop(t, limit)
	hits, _, err := secrets.Tree(in.DataDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, hit := range append(hits, secrets.Text("the log", in.Log())...) {
		t.Error(hit)
	}
}

// startUpstream is a server with one tool, which says what it was given. All that
// comes to it is told to hear.
func startUpstream(t *testing.T, hear func(string)) string {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "spy", Version: "1"}, nil)
	type given struct {
		Text string `json:"text"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "look", Description: "Says what it was given."}, func(_ context.Context, _ *mcp.CallToolRequest, g given) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: g.Text}}}, nil, nil
	})
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if text, err := httputil.DumpRequest(r, true); err == nil {
			hear(string(text))
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	return srv.URL
}
