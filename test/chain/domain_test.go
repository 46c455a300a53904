package chain

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/internal/erc8004"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

// domain is an agent behind https, on a domain that says which agents are its
// own: claims, or nothing where that is "".
func domain(t testing.TB, a *agent, claims string) *httptest.Server {
	t.Helper()
	at, err := url.Parse(strings.TrimSuffix(a.url, "/mcp"))
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", httputil.NewSingleHostReverseProxy(at))
	mux.HandleFunc("/.well-known/agent-registration.json", func(w http.ResponseWriter, _ *http.Request) {
		if claims == "" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = w.Write([]byte(claims))
	})
	s := httptest.NewTLSServer(mux)
	t.Cleanup(s.Close)
	return s
}

// Where domains must vouch for agents, only those that do are delivered to.
func TestDomainsVouchForAgents(t *testing.T) {
	says := func(id int) string {
		return fmt.Sprintf(`{"registrations":[{"agentId":%d,"agentRegistry":"eip155:31337:%s"}]}`, id, identityRegistry)
	}
	agents := map[int]*agent{}
	uris := map[int64]string{}
	var certificate []byte
	for id, claims := range map[int]string{1: says(1), 2: says(1), 3: "", 4: "no JSON"} {
		agents[id] = newAgent(t)
		s := domain(t, agents[id], claims)
		uris[int64(id)] = registration(id, mcpAt(s.URL+"/mcp"))
		certificate = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}) // all have the same
	}
	roots := filepath.Join(t.TempDir(), "roots.pem")
	if err := os.WriteFile(roots, certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	e := anvil(t)
	e.install(t, uris)
	r := start(t, e, 0, "agent_domains: require", "SSL_CERT_FILE="+roots, "SSL_CERT_DIR="+t.TempDir())
	r.trigger(t, "chain-feedback", nil)
	for id := range agents {
		e.emit(t, reputationRegistry, newFeedback, id, client, 1, 80, 0, "starred", "starred", "", "", "", erc8004.Word{})
	}
	poll.Until(t, "the agent whose domain names it", patience, func() bool { return len(agents[1].got()) == 1 })
	for id, why := range map[int]string{2: "does not name", 3: "HTTP 404", 4: "does not name"} {
		poll.Until(t, fmt.Sprintf("why %d is not told", id), patience, func() bool {
			all := r.deliveries(t, id)
			return len(all) == 1 && strings.Contains(fmt.Sprint(all[0]["error"]), "not verified") && strings.Contains(fmt.Sprint(all[0]["error"]), why)
		})
		if n := len(agents[id].got()); n != 0 {
			t.Errorf("agent %d was told %d times", id, n)
		}
	}
	for _, one := range r.api(t, "GET", "/chains/agents", "", 200)["items"].([]any) {
		got := one.(map[string]any)
		want, endpoint := "unverified", false
		if got["agent"] == agentName(1) {
			want, endpoint = "verified", true
		}
		if got["domain"] != want || (got["endpoint"] != nil) != endpoint {
			t.Errorf("%v is %v, at %v", got["agent"], got["domain"], got["endpoint"])
		}
	}
}
