package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/internal/worker"
)

const agentsToken = "canary-of-the-agent's-token"

// agent is an agent's own MCP server that wants a token and keeps what it was
// sent.
type agent struct {
	*httptest.Server
	mu      sync.Mutex
	headers []http.Header // of its calls
	bodies  [][]byte
}

func newAgent(t *testing.T) *agent {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "agent", Version: "1"}, nil)
	type feedback struct {
		Score int `json:"score"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "agent.receiveFeedback"}, func(_ context.Context, _ *mcp.CallToolRequest, _ feedback) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "acknowledged, you sent " + agentsToken}}}, nil, nil
	})
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true})
	a := &agent{}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Agent-Token") != agentsToken {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if bytes.Contains(body, []byte(`"tools/call"`)) {
			a.mu.Lock()
			a.headers, a.bodies = append(a.headers, r.Header.Clone()), append(a.bodies, body)
			a.mu.Unlock()
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		a.CloseClientConnections()
		a.Close()
	})
	return a
}

// awaitState waits until a delivery is in a state.
func awaitState(t *testing.T, i *testkit.Instance, id, state, held string) worker.Delivery {
	t.Helper()
	var d worker.Delivery
	if !poll.Holds(2*time.Minute, func() bool {
		r := i.Do(t, http.MethodGet, "/api/v1/deliveries/"+id, "")
		d = worker.Delivery{}
		if err := json.Unmarshal([]byte(r.Body), &d); err != nil {
			t.Fatal(err, r.Body)
		}
		return string(d.State) == state && d.Held == held
	}) {
		t.Fatalf("it is %s (held: %q), want %s (held: %q): %+v", d.State, d.Held, state, held, d)
	}
	return d
}

// A delivery to an agent's own endpoint: held until there is one, held while the
// token is refused, then made, with the token in its header and a signature, and
// with nothing secret in what is kept.
func TestDeliveryToAnAgent(t *testing.T) {
	t.Parallel()
	peer := newAgent(t)
	i := testkit.Start(t, testkit.Settings{"egress-allow": "127.0.0.0/8"})
	order := junctor.Order{
		Event: "e1", EventType: "feedback", Trigger: "on-feedback", Agent: "42", Target: junctor.Target{Agent: "42"}, Tool: "agent.receiveFeedback", Arguments: []byte(`{"score":7}`), Sign: true,
	}
	ids, err := i.App.Place(t.Context(), junctor.DefaultTenant, order)
	if err != nil {
		t.Fatal(err)
	}
	awaitState(t, i, ids[0], "held", "endpoint_not_found")
	enter := func(token string) (secret string) {
		t.Helper()
		body, err := json.Marshal(map[string]any{"url": peer.URL, "header": "X-Agent-Token", "token": token, "sign": true})
		if err != nil {
			t.Fatal(err)
		}
		r := i.Do(t, http.MethodPut, "/api/v1/agent-tokens/42", string(body))
		var made struct {
			Signing string `json:"signing_secret"`
		}
		if err := json.Unmarshal([]byte(r.Body), &made); err != nil || r.Status != http.StatusOK || made.Signing == "" || strings.Contains(r.Body, token) {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		return made.Signing
	}
	enter("another-token")
	awaitState(t, i, ids[0], "held", "authentication_failed")
	secret := enter(agentsToken)
	d := awaitState(t, i, ids[0], "done", "")
	if len(d.Tried) != 3 || d.Tried[2].Outcome != "delivered" || !strings.Contains(d.Tried[2].Answer, "acknowledged") || strings.Contains(d.Tried[2].Answer, agentsToken) || d.Tried[2].Call == "" {
		t.Errorf("attempts %+v", d.Tried)
	}
	peer.mu.Lock()
	defer peer.mu.Unlock()
	if len(peer.bodies) != 1 {
		t.Fatalf("the agent was called %d times", len(peer.bodies))
	}
	if id, _, err := junctor.VerifyWebhook([]string{secret}, peer.headers[0], peer.bodies[0], time.Now()); err != nil || id != ids[0] {
		t.Errorf("signed as %q: %v", id, err)
	}
	if !bytes.Contains(peer.bodies[0], []byte(`"`+junctor.MetaDelivery+`":{"id":"`+ids[0]+`"`)) {
		t.Errorf("it does not say which delivery it is: %s", peer.bodies[0])
	}
	if !poll.Holds(time.Minute, func() bool { // the depth of the queue is counted now and then
		r := i.Do(t, http.MethodGet, "/metrics", "")
		return strings.Contains(r.Body, `delivery_attempts_total{outcome="delivered"} 1`) && strings.Contains(r.Body, `queue_depth{state="dead"} 0`)
	}) {
		t.Error("the metrics do not say so")
	}
}

// What cannot succeed is not sent; what goes to a registered server goes through
// its tools.
func TestDeliveriesThatCannotSucceed(t *testing.T) {
	t.Parallel()
	peer := newAgent(t)
	i := testkit.Start(t, testkit.Settings{"egress-allow": "127.0.0.0/8"})
	body := `{"url":"` + peer.URL + `","header":"X-Agent-Token","token":"` + agentsToken + `"}`
	if r := i.Do(t, http.MethodPut, "/api/v1/agent-tokens/42", body); r.Status != http.StatusOK {
		t.Fatal(r.Body)
	}
	at := func(tool, arguments string, target junctor.Target) junctor.Order {
		return junctor.Order{Trigger: "t", Agent: "42", Unordered: true, Target: target, Tool: tool, Arguments: []byte(arguments)}
	}
	own := junctor.Target{URL: peer.URL}
	ids, err := i.App.Place(t.Context(), junctor.DefaultTenant,
		at("agent.nothing", `{}`, own), at("agent.receiveFeedback", `{"score":"high"}`, own), at("echo", `{"text":"hello"}`, junctor.Target{Server: "demo"}), at("x", `{}`, junctor.Target{Resolve: "chain"}))
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range []string{"tool_not_found", "invalid_arguments", "", "endpoint_not_found"} {
		state := "dead"
		if want == "" {
			state = "done"
		}
		if d := awaitState(t, i, ids[n], state, ""); len(d.Tried) != 1 || d.Tried[0].Kind != want {
			t.Errorf("delivery %d: %+v, want %q", n, d.Tried, want)
		}
	}
	peer.mu.Lock()
	defer peer.mu.Unlock()
	if len(peer.bodies) != 0 {
		t.Errorf("the agent was called %d times", len(peer.bodies))
	}
}
