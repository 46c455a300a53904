package deliveries

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/test/program"
)

// withKey adds a key to every request.
type withKey string

func (k withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(k))
	return http.DefaultTransport.RoundTrip(r)
}

// agentKey makes a key of an agent.
func agentKey(t *testing.T, in *program.Instance, agent, scopes string) string {
	t.Helper()
	var made struct{ Key string }
	api(t, in, http.MethodPost, "/keys", `{"name":"k","agent":"`+agent+`","scopes":[`+scopes+`]}`, http.StatusCreated, &made)
	return made.Key
}

// An agent sends an event by a tool, hears that something was delivered to it,
// and reads what: its own, and nobody else's. Both eras.
func TestAgentSendsEventsAndReadsDeliveries(t *testing.T) {
	in := program.Start(t, program.FreeAddr(t), t.TempDir())
	api(t, in, http.MethodPost, "/triggers", `{"name":"on-report","match":{"type":"report"},"action":{"server":"demo","tool":"echo","template":{"text":"{{data.text}}"}}}`, http.StatusCreated, nil)
	api(t, in, http.MethodPost, "/agents", `{"name":"bot","tools":["events/*"],"resources":["events/*"]}`, http.StatusCreated, nil)
	key := agentKey(t, in, "bot", `"tools:read","tools:call","events:send"`)
	silent := agentKey(t, in, "bot", `"tools:read","tools:call"`)
	for _, protocol := range []string{"2026-07-28", "2025-11-25"} {
		t.Run(protocol, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patient)
			defer cancel()
			told := make(chan string, 16)
			connect := func(key string) *mcp.ClientSession {
				client := mcp.NewClient(&mcp.Implementation{Name: "bot", Version: "1"}, &mcp.ClientOptions{
					ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { told <- r.Params.URI },
				})
				s, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: in.URL + "/mcp", HTTPClient: &http.Client{Transport: withKey(key)}}, &mcp.ClientSessionOptions{ProtocolVersion: protocol})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = s.Close() })
				return s
			}
			s := connect(key)
			const uri = "events+junctor://agents/bot/feedback"
			if err := s.Subscribe(ctx, &mcp.SubscribeParams{URI: uri}); err != nil {
				t.Fatal(err)
			}
			text := "hello in " + protocol
			send := &mcp.CallToolParams{Name: "events__send", Arguments: map[string]any{"type": "report", "agent": "bot", "data": map[string]any{"text": text}}}
			res, err := s.CallTool(ctx, send)
			if err != nil || res.IsError {
				t.Fatalf("%+v %v", res, err)
			}
			var taken junctor.Taken
			body, err := json.Marshal(res.StructuredContent)
			if err == nil {
				err = json.Unmarshal(body, &taken)
			}
			if err != nil || len(taken.Deliveries) != 1 {
				t.Fatalf("%s %v", body, err)
			}
			var event junctor.Event
			if api(t, in, http.MethodGet, "/events/"+taken.ID, "", http.StatusOK, &event); event.Source != "agent:bot" || event.Agent != "bot" {
				t.Errorf("the event is %+v", event)
			}
			select {
			case got := <-told:
				if got != uri {
					t.Errorf("told of %s", got)
				}
			case <-time.After(patient):
				t.Fatal("nobody told the agent that there is something to read")
			}
			read, err := s.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
			if err != nil || len(read.Contents) != 1 {
				t.Fatalf("%+v %v", read, err)
			}
			var feedback struct {
				Agent string
				Items []struct {
					Delivery, State, Tool, Result string
					Arguments                     struct{ Text string }
				}
			}
			if err := json.Unmarshal([]byte(read.Contents[0].Text), &feedback); err != nil || len(feedback.Items) == 0 {
				t.Fatalf("%s %v", read.Contents[0].Text, err)
			}
			if first := feedback.Items[0]; first.Delivery != taken.Deliveries[0] || first.State != "done" || first.Tool != "echo" || first.Arguments.Text != text || !strings.Contains(first.Result, text) {
				t.Errorf("%+v", first)
			}
			if _, err := s.ReadResource(ctx, &mcp.ReadResourceParams{URI: "events+junctor://agents/other/feedback"}); err == nil {
				t.Error("an agent reads what another was told")
			}
			if res, err := connect(silent).CallTool(ctx, send); err == nil && !res.IsError {
				t.Errorf("without the scope %s: %+v", junctor.ScopeEventsSend, res)
			}
		})
	}
}
