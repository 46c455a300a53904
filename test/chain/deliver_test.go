package chain

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/junctor-mcp/junctor/internal/erc8004"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/test/program"
)

// agent is an agent on a chain: an MCP server that keeps what it is told.
type agent struct {
	url   string
	mu    sync.Mutex
	calls []call
	heard []http.Header
}

type call struct {
	Tool      string
	Arguments map[string]any
	At        time.Time
}

func newAgent(t testing.TB) *agent {
	t.Helper()
	a := &agent{}
	s := mcp.NewServer(&mcp.Implementation{Name: "agent", Version: "1"}, nil)
	for _, name := range []string{"agent.receiveFeedback", "agent.receiveValidation", "agent.updateConfiguration"} {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			c := call{Tool: name, At: time.Now()}
			if err := json.Unmarshal(r.Params.Arguments, &c.Arguments); err != nil {
				return nil, err
			}
			a.mu.Lock()
			a.calls = append(a.calls, c)
			a.mu.Unlock()
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "noted"}}}, nil
		})
	}
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		a.heard = append(a.heard, r.Header.Clone())
		a.mu.Unlock()
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	a.url = web.URL + "/mcp"
	return a
}

func (a *agent) got() []call {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.calls)
}

// heardOf says whether a text was sent in any header.
func (a *agent) heardOf(secret string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return strings.Contains(fmt.Sprint(a.heard), secret)
}

// tokens are what was sent in the header.
func (a *agent) tokens(header string) (out []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, h := range a.heard {
		if v := h.Get(header); v != "" && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// rig is an instance that follows a chain.
type rig struct {
	*program.Instance
	evm     *evm
	gateway *gateway
}

// start starts one. more are further lines of its settings: of the chain, where
// they are indented.
func start(t testing.TB, e *evm, confirmations int, more string, env ...string) *rig {
	t.Helper()
	g, gatewayURL := newGateway(t)
	file := filepath.Join(t.TempDir(), "junctor.yaml")
	text := fmt.Sprintf(`
chains:
  local:
    id: 31337
    rpc: %s
    registries: [{identity: "%s", reputation: "%s", validation: "%s"}]
    confirmations: %d
    poll: 100ms
%s
ipfs_gateways: [%s]
`, e.url, identityRegistry, reputationRegistry, validationRegistry, confirmations, more, gatewayURL)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	in := program.Launch(t, program.Spec{
		Addr: program.FreeAddr(t), DataDir: t.TempDir(), Args: []string{"--config", file, "--egress-allow", "127.0.0.0/8"}, Env: env,
	})
	in.WaitReady(t)
	return &rig{in, e, g}
}

// api asks the admin API.
func (r *rig) api(t testing.TB, method, path, body string, want int) map[string]any {
	t.Helper()
	a, err := r.Request(t.Context(), method, "/api/v1"+path, body)
	if err != nil {
		t.Fatal(err)
	}
	if a.Status != want {
		t.Fatalf("%s %s: HTTP %d, want %d: %s", method, path, a.Status, want, a.Body)
	}
	var out map[string]any
	if len(a.Body) > 0 {
		if err := json.Unmarshal([]byte(a.Body), &out); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// trigger adds a ready-made one by name.
func (r *rig) trigger(t testing.TB, ready string, change func(map[string]any)) {
	t.Helper()
	for _, one := range r.api(t, "GET", "/triggers/ready", "", 200)["items"].([]any) {
		tr := one.(map[string]any)
		if tr["name"] != ready {
			continue
		}
		body := map[string]any{"name": ready, "title": tr["title"], "match": tr["match"], "action": tr["action"]}
		if change != nil {
			change(body)
		}
		raw, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		r.api(t, "POST", "/triggers", string(raw), 201)
		return
	}
	t.Fatalf("there is no ready-made trigger %q", ready)
}

// patience is far above what anything here takes.
const patience = time.Minute

// awaitRead waits until the chain was read up to a block.
func (r *rig) awaitRead(t testing.TB, block uint64) {
	t.Helper()
	poll.Until(t, fmt.Sprintf("block %d read", block), patience, func() bool {
		status := r.api(t, "GET", "/chains", "", 200)["items"].([]any)[0].(map[string]any)
		return uint64(status["read"].(float64)) == block
	})
}

// registration is an agent's file, inline.
func registration(id int, services string) string {
	return fmt.Sprintf(`data:application/json,{"name":"agent %d","services":%s,"registrations":[{"agentId":%d,"agentRegistry":"eip155:31337:%s"}]}`, id, services, id, identityRegistry)
}

func mcpAt(url string) string { return fmt.Sprintf(`[{"name":"MCP","endpoint":"%s"}]`, url) }

var client = erc8004.Address{0xc1}

// From a contract's event to the agent's tool, with its file proved.
func TestFromTheChainToTheAgent(t *testing.T) {
	e, a := anvil(t), newAgent(t)
	e.install(t, map[int64]string{42: registration(42, mcpAt(a.url))})
	r := start(t, e, 2, "")
	for _, name := range []string{"chain-feedback", "chain-validation", "chain-configuration"} {
		r.trigger(t, name, nil)
	}
	file := []byte(fmt.Sprintf(`{"agentId":42,"clientAddress":"eip155:31337:%s","value":-32,"comment":"%s"}`, client, strings.Repeat("good, ", 40)))
	uri := r.gateway.put(t, "tree", file)
	e.emit(t, reputationRegistry, newFeedback, 42, client, 7, -32, 1, "tradingYield", "tradingYield", "month", "", uri, erc8004.Keccak(file))
	e.mine(t, 1)
	r.awaitRead(t, e.head(t))
	if n := len(r.api(t, "GET", "/deliveries", "", 200)["items"].([]any)) + len(a.got()); n != 0 {
		t.Fatalf("%d deliveries and calls before the event counts", n)
	}
	e.mine(t, 1)
	poll.Until(t, "the feedback", patience, func() bool { return len(a.got()) == 1 })
	got := a.got()[0]
	if got.Tool != "agent.receiveFeedback" {
		t.Fatalf("%+v", got)
	}
	for name, want := range map[string]string{
		"value": "-32", "valueDecimals": "1", "tag1": "tradingYield", "tag2": "month", "clientAddress": client.String(), "feedbackIndex": "7", "fileUri": uri,
		"fileHash": erc8004.Keccak(file).String(), "score": "<nil>",
	} {
		if fmt.Sprint(got.Arguments[name]) != want {
			t.Errorf("%s is %v, want %s", name, got.Arguments[name], want)
		}
	}
	content, _ := got.Arguments["fileContent"].(map[string]any)
	if fmt.Sprint(content["agentId"]) != "42" || !strings.HasPrefix(fmt.Sprint(content["comment"]), "good, ") {
		t.Errorf("the file's content is %v", got.Arguments["fileContent"])
	}
	e.emit(t, validationRegistry, validationResponse, erc8004.Address{0xaa}, 42, erc8004.Word{1}, 100, "", erc8004.Word{}, "tee")
	e.emit(t, identityRegistry, metadataSet, 42, "model", "model", "new")
	e.mine(t, 2)
	poll.Until(t, "validation and configuration", patience, func() bool { return len(a.got()) == 3 })
	for _, c := range a.got()[1:] { // of two triggers, neither waits for the other
		switch c.Tool {
		case "agent.receiveValidation":
			if fmt.Sprint(c.Arguments["response"]) != "100" || c.Arguments["tag"] != "tee" {
				t.Errorf("%+v", c)
			}
		case "agent.updateConfiguration":
			if c.Arguments["key"] != "model" || c.Arguments["value"] != "new" {
				t.Errorf("%+v", c)
			}
		default:
			t.Errorf("%+v", c)
		}
	}
	stdout, stderr, code := r.CLI(t, "chain", "events", "--format", "json")
	if code != 0 || strings.Count(stdout, `"counted"`) < 3 {
		t.Errorf("chain events: %d %s %s", code, stdout, stderr)
	}
}
