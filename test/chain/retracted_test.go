package chain

import (
	"fmt"
	"testing"

	"github.com/junctor-mcp/junctor/internal/erc8004"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

// An agent is told once when a chain takes back what it was told.
func TestRetractionIsAnnounced(t *testing.T) {
	e, a := anvil(t), newAgent(t)
	e.install(t, map[int64]string{42: registration(42, mcpAt(a.url))})
	r := start(t, e, 1, "")
	r.trigger(t, "chain-feedback", nil)
	r.trigger(t, "chain-retracted", nil)
	e.mine(t, 5)
	e.emit(t, reputationRegistry, newFeedback, 42, client, 7, 80, 0, "starred", "starred", "", "", "", erc8004.Word{})
	e.mine(t, 1)
	poll.Until(t, "the feedback", patience, func() bool { return len(a.got()) == 1 })
	e.must(t, "anvil_reorg", nil, 3, []any{})
	e.mine(t, 2)
	poll.Until(t, "that it was taken back", patience, func() bool { return len(a.got()) == 2 })
	got := a.got()[1]
	value, _ := got.Arguments["value"].(map[string]any)
	if got.Tool != "agent.updateConfiguration" || got.Arguments["key"] != "retracted" || value["type"] != "NewFeedback.retracted" ||
		value["clientAddress"] != client.String() || fmt.Sprint(value["feedbackIndex"]) != "7" || value["validatorAddress"] != nil {
		t.Errorf("%+v", got)
	}
	e.mine(t, 3)
	end := e.head(t)
	poll.Until(t, "the chain was read to its end", patience, func() bool {
		status := r.api(t, "GET", "/chains", "", 200)["items"].([]any)[0].(map[string]any)
		return uint64(status["read"].(float64)) == end
	})
	if n := len(r.deliveries(t, 42)); n != 2 {
		t.Errorf("%d deliveries", n)
	}
}
