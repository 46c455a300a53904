package oauth

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/junctor-mcp/junctor/internal/testkit/canary"
	"github.com/junctor-mcp/junctor/internal/testkit/visitor"
	"github.com/junctor-mcp/junctor/test/program"
)

// loginHome is an instance that issues tokens itself, with a person who is signed in
// there, and the site of a program.
type loginHome struct {
	*program.Instance
	t        *testing.T
	document string // where a program says who it is
	desk     string // where the person's browser is told what to do

	mu     sync.Mutex
	person *visitor.Visitor
	asked  int // how often they consented
}

const there = "http://127.0.0.1:9/callback"

func newHome(t *testing.T) *loginHome {
	t.Helper()
	h := &loginHome{t: t}
	site := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"client_id":"https://%s/client.json","client_name":"A program","redirect_uris":["http://127.0.0.1/callback"],"token_endpoint_auth_method":"none"}`, r.Host)
	}))
	t.Cleanup(site.Close)
	h.document = site.URL + "/client.json"
	roots := filepath.Join(t.TempDir(), "roots.pem")
	if err := os.WriteFile(roots, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: site.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	h.Instance = program.Launch(t, program.Spec{
		Addr: program.FreeAddr(t), DataDir: t.TempDir(), Args: []string{"--egress-allow", "127.0.0.0/8", "--log-level", "debug"}, Env: []string{"SSL_CERT_FILE=" + roots},
	})
	h.WaitReady(t)
	h.api(http.MethodPost, "/users", `{"name":"ann","role":"developer"}`, nil)
	var link struct{ URL string }
	h.api(http.MethodPost, "/users/ann/link", "", &link)
	h.person = visitor.New(t, h.URL)
	h.person.SignIn(link.URL, link.URL)
	desk := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			h.revoke()
			return
		}
		http.Redirect(w, r, h.consent(r.URL.Query().Get("to")).String(), http.StatusFound)
	}))
	t.Cleanup(desk.Close)
	h.desk = desk.URL
	return h
}

func (h *loginHome) api(method, path, body string, to any) {
	h.t.Helper()
	res, err := h.Request(h.t.Context(), method, "/api/v1"+path, body)
	if err != nil || res.Status/100 != 2 {
		h.t.Fatalf("%s %s: %v %d %s", method, path, err, res.Status, res.Body)
	}
	if to != nil {
		if err := json.Unmarshal([]byte(res.Body), to); err != nil {
			h.t.Fatal(err)
		}
	}
}

// consent has the person do what a program sent them for.
func (h *loginHome) consent(address string) *url.URL {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked++
	return h.person.Consent(address)
}

// revoke takes all consents away.
func (h *loginHome) revoke() {
	h.mu.Lock()
	defer h.mu.Unlock()
	out, stderr, code := h.CLI(h.t, "consent", "ls", "--format", "json")
	var list struct{ Items []struct{ ID string } }
	if err := json.Unmarshal([]byte(out), &list); err != nil || code != 0 || len(list.Items) == 0 {
		h.t.Errorf("%v %d %s %s", err, code, out, stderr)
	}
	for _, c := range list.Items {
		if out, stderr, code := h.CLI(h.t, "consent", "revoke", c.ID); code != 0 {
			h.t.Errorf("%d %s %s", code, out, stderr)
		}
	}
}

// checkNoSecrets holds that nothing secret is on the disk or in the log.
func (h *loginHome) checkNoSecrets(secrets []string) {
	h.t.Helper()
	set := canary.New(0)
	for _, s := range secrets {
		set.Add("a code, verifier or token", s)
	}
	if set.Len() < 4 {
		h.t.Errorf("only %d secrets", set.Len())
	}
	h.Stop(h.t, limit)
	hits, _, err := set.Tree(h.DataDir)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, hit := range append(hits, set.Text("the log", h.Log())...) {
		h.t.Error(hit)
	}
}

// TestOwn goes from a bare 401 to a call, with Junctor's own users: as a program
// that registers itself and as one that says at its site who it is. Then the
// access token is worth nothing, and the program renews it; then the consent is
// taken away, and the program asks its person again.
func TestOwn(t *testing.T) {
	t.Parallel()
	node := program.FindNode(t)
	for name, set := range clients() {
		for _, way := range []string{"registered", "described"} {
			t.Run(name+", "+way, func(t *testing.T) {
				t.Parallel()
				h := newHome(t)
				more := map[string]any{"browser": h.desk, "revoke": h.desk, "lose": true}
				if way == "described" {
					more["document"] = h.document
				}
				s := walkClient(t, node, h.URL, set, more)
				if len(s.Statuses) == 0 || s.Statuses[0] != http.StatusUnauthorized || countOf(s.Statuses, http.StatusUnauthorized) < 3 {
					t.Errorf("the endpoint answered %v", s.Statuses)
				}
				if !s.First.contains("first") || !s.Second.contains("second") || !s.Third.contains("third") {
					t.Errorf("calls answer %+v, %+v and %+v", s.First, s.Second, s.Third)
				}
				if h.asked != 2 || len(s.Tokens) != 3 || s.Tokens[0] != "tools:read tools:call" {
					t.Errorf("the person was asked %d times, and there were the tokens %q", h.asked, s.Tokens)
				}
				if (s.Client == h.document) != (way == "described") {
					t.Errorf("the program is %s", s.Client)
				}
				h.checkNoSecrets(s.Secrets)
			})
		}
	}
}

// TestOwnSDK is the same with the official SDK's client for Go.
func TestOwnSDK(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		for _, way := range []string{"registered", "described"} {
			t.Run(version+", "+way, func(t *testing.T) {
				t.Parallel()
				h := newHome(t)
				var secrets []string
				c := auth.AuthorizationCodeHandlerConfig{
					RedirectURL: there, RequestRefreshToken: true,
					AuthorizationCodeFetcher: func(_ context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
						back := h.consent(args.URL).Query()
						secrets = append(secrets, back.Get("code"))
						return &auth.AuthorizationResult{Code: back.Get("code"), State: back.Get("state"), Iss: back.Get("iss")}, nil
					},
				}
				if way == "described" {
					c.ClientIDMetadataDocumentConfig = &auth.ClientIDMetadataDocumentConfig{URL: h.document}
				} else {
					c.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
						ClientName: "own_test.go", RedirectURIs: []string{there}, GrantTypes: []string{"authorization_code", "refresh_token"},
					}}
				}
				handler, err := auth.NewAuthorizationCodeHandler(&c)
				if err != nil {
					t.Fatal(err)
				}
				client := mcp.NewClient(&mcp.Implementation{Name: "own", Version: "1"}, nil)
				session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: h.URL + "/mcp", OAuthHandler: handler}, &mcp.ClientSessionOptions{ProtocolVersion: version})
				if err != nil {
					t.Fatal(err)
				}
				defer session.Close()
				for n, text := range []string{"first", "second"} {
					res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "demo__echo", Arguments: map[string]any{"text": text}})
					if err != nil {
						t.Fatal(err)
					}
					if said, ok := res.Content[0].(*mcp.TextContent); !ok || !strings.Contains(said.Text, text) || h.asked != n+1 {
						t.Errorf("%+v, asked %d times", res.Content[0], h.asked)
					}
					source, err := handler.TokenSource(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					token, err := source.Token()
					if err != nil {
						t.Fatal(err)
					}
					secrets = append(secrets, token.AccessToken, token.RefreshToken)
					if n == 0 {
						h.revoke()
					}
				}
				h.checkNoSecrets(secrets)
			})
		}
	}
}
