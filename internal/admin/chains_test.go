package admin

import (
	"context"
	"net/http"
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
)

// ledger is a chain with an agent.
type ledger struct{}

func (ledger) Chains(context.Context, junctor.TenantID) ([]junctor.ChainStatus, error) {
	return []junctor.ChainStatus{{Chain: junctor.Chain{Name: "local", ID: 31337, Nodes: []string{"https://node.example/secret-key"}, Registries: []junctor.ChainRegistry{}}, Head: 9, Read: 8}}, nil
}

func (ledger) ChainEvents(_ context.Context, _ junctor.TenantID, f ChainEventFilter, _ *junctor.RowPage) ([]junctor.ChainEvent, junctor.RowTotal, error) {
	if f.State == "" {
		f.State = "seen"
	}
	return []junctor.ChainEvent{{Chain: "local", Type: "NewFeedback", State: f.State, Data: []byte(`{"value":80}`)}}, junctor.RowTotal{Rows: 1}, nil
}

func (ledger) ChainAgents(context.Context, junctor.TenantID) ([]junctor.ChainAgent, error) {
	return []junctor.ChainAgent{{Agent: "eip155:31337:0x0/42", Blocked: []junctor.ChainAgentBlock{}, Problems: []string{}}}, nil
}

func (ledger) FindAgent(_ context.Context, _ junctor.TenantID, agent string) (junctor.ChainAgent, error) {
	if agent == "nobody" {
		return junctor.ChainAgent{}, junctor.Errorf(junctor.CodeInvalid, "it is no agent")
	}
	return junctor.ChainAgent{Agent: agent, Reason: "it has no endpoint", Blocked: []junctor.ChainAgentBlock{}, Problems: []string{}}, nil
}

func (ledger) RewindChain(_ context.Context, _ junctor.TenantID, name string, to uint64) error {
	if name != "local" || to != 7 {
		return junctor.Errorf(junctor.CodeNotFound, "no chain %s to be rewound to %d", name, to)
	}
	return nil
}

func TestChainsOfTheAPI(t *testing.T) {
	t.Parallel()
	h := newWorld().handler(t)
	for name, c := range map[string]struct {
		method, path, body string
		status             int
		says               string
	}{
		"chains, without their keys": {http.MethodGet, "/chains", "", 200, `"head":9`},
		"events in a state":          {http.MethodGet, "/chains/events?state=counted", "", 200, `"state":"counted"`},
		"events in no state":         {http.MethodGet, "/chains/events?state=lost", "", 422, "state"},
		"agents":                     {http.MethodGet, "/chains/agents", "", 200, "eip155:31337:0x0/42"},
		"one that is found":          {http.MethodPost, "/chains/agents/find", `{"agent":"eip155:1:0x0/1"}`, 200, "it has no endpoint"},
		"a chain that is rewound":    {http.MethodPost, "/chains/local/rewind", `{"to":7}`, 204, ""},
		"one that is not there":      {http.MethodPost, "/chains/none/rewind", `{"to":7}`, 404, "no chain"},
		"to no block":                {http.MethodPost, "/chains/local/rewind", `{"to":-1}`, 422, "to"},
		"to nothing said":            {http.MethodPost, "/chains/local/rewind", `{}`, 422, "to"},
		"one that is none":           {http.MethodPost, "/chains/agents/find", `{"agent":"nobody"}`, 422, "it is no agent"},
	} {
		got := ask(h, "admin", c.method, c.path, c.body)
		if got.Code != c.status || !strings.Contains(got.Body.String(), c.says) || strings.Contains(got.Body.String(), "secret-key") {
			t.Errorf("%s: %d %s", name, got.Code, got.Body)
		}
	}
}
