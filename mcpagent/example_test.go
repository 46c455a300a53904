package mcpagent_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/junctor-mcp/junctor/mcpagent"
)

// An agent that quotes prices, and asks for less when it is told that it was too
// dear.
type trader struct{ margin atomic.Int64 }

func newTrader() (*trader, *mcpagent.Agent) {
	t := &trader{}
	t.margin.Store(30)
	agent := mcpagent.New("trader", mcpagent.Options{})
	mcpagent.AddHandler(agent, mcpagent.ReceiveFeedbackTool, "Feedback on my quotes", func(_ context.Context, _ mcpagent.Delivery, f mcpagent.Feedback) error {
		if f.IsBelow(40) {
			t.margin.Store(t.margin.Load() / 2)
		}
		return nil
	})
	return t, agent
}

func (t *trader) quote(cost int64) int64 { return cost * (100 + t.margin.Load()) / 100 }

// The agent's behaviour after low feedback is another than before, and the same
// feedback sent twice counts once.
func Example() {
	trader, agent := newTrader()
	server := httptest.NewServer(agent)
	defer server.Close()

	ctx := context.Background()
	client := mcp.NewClient(&mcp.Implementation{Name: "sender", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: server.URL}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()

	fmt.Println("before:", trader.quote(100))
	for _, id := range []string{"d1", "d1", "d2"} {
		_, err := session.CallTool(ctx, &mcp.CallToolParams{
			Name:      mcpagent.ReceiveFeedbackTool,
			Arguments: map[string]any{"score": 20, "clientAddress": "0xab", "feedbackIndex": 1},
			Meta:      mcp.Meta{"junctor/delivery": map[string]any{"id": id}},
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("after", id+":", trader.quote(100))
	}
	// Output:
	// before: 130
	// after d1: 115
	// after d1: 115
	// after d2: 107
}
