package admin

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
)

// Chains reads agent registries on chains. Chains belong to the default tenant: other
// tenants have none.
type Chains interface {
	// Chains lists the followed chains, with how far each was read.
	Chains(ctx context.Context, tenant junctor.TenantID) ([]junctor.ChainStatus, error)
	// ChainEvents returns a page of the events of registries, with one more if there is
	// another page, and the number of events of all pages. The ID of a row is
	// BLOCK/LOG_INDEX/BLOCK_HASH.
	ChainEvents(ctx context.Context, tenant junctor.TenantID, f ChainEventFilter, page *junctor.RowPage) ([]junctor.ChainEvent, junctor.RowTotal, error)
	// ChainAgents lists the agents that events are about, with the registrations that were
	// discovered.
	ChainAgents(ctx context.Context, tenant junctor.TenantID) ([]junctor.ChainAgent, error)
	// FindAgent looks for an agent's endpoint now. A missing endpoint is not an error: the
	// answer says why there is none.
	FindAgent(ctx context.Context, tenant junctor.TenantID, agent string) (junctor.ChainAgent, error)
	// RewindChain makes Junctor read a chain, by its name, again above a block. Events
	// that were delivered are not delivered again.
	RewindChain(ctx context.Context, tenant junctor.TenantID, name string, to uint64) error
}

// ChainEventFilter selects events. Zero members do not filter.
type ChainEventFilter struct {
	Chain string
	Agent string
	State string
}

// chainEventQuery is the query of list-chain-events.
type chainEventQuery struct {
	ListQuery
	Chain string `query:"chain" maxLength:"63" doc:"Only events of this chain, by name."`
	Agent string `query:"agent" maxLength:"200" doc:"Only events about this agent, as eip155:CHAIN:REGISTRY/ID."`
	State string `query:"state" enum:"seen,counted,orphaned" doc:"Only events with this state."`
}

// findAgentInput is the request that looks for an agent.
type findAgentInput struct {
	Body struct {
		Agent string `json:"agent" maxLength:"200" doc:"The agent, as eip155:CHAIN:REGISTRY/ID."`
	}
}

// rewindChainInput is the request that rewinds a chain.
type rewindChainInput struct {
	Name string `path:"name" maxLength:"63" doc:"Name of the chain."`
	Body struct {
		To uint64 `json:"to" maximum:"9007199254740991" doc:"Last block to keep as read. Blocks after it are read again."`
	}
}

// chainAgentOutput is one agent on a chain.
type chainAgentOutput struct{ Body junctor.ChainAgent }

// registerChainRoutes registers the routes below /chains.
func (a *api) registerChainRoutes() {
	tags := []string{"chains"}
	registerList(a, huma.Operation{
		OperationID: "list-chains", Method: http.MethodGet, Path: "/chains", Tags: tags,
		Summary: "List the chains whose agent registries are followed, with their progress",
	}, chainList(), func(ctx context.Context, _ *ListQuery) ([]junctor.ChainStatus, error) {
		list, err := a.Chains.Chains(ctx, callerOf(ctx).Tenant)
		return list, err
	})
	registerRows(a, huma.Operation{
		OperationID: "list-chain-events", Method: http.MethodGet, Path: "/chains/events", Tags: tags,
		Summary: "List events of agent registries, newest first",
	}, rowShape[junctor.ChainEvent]{
		id:    func(e *junctor.ChainEvent) string { return fmt.Sprintf("%d/%d/%s", e.Block, e.LogIndex, e.BlockHash) },
		order: "block", newest: true,
	}, func(ctx context.Context, in *chainEventQuery, page *junctor.RowPage) ([]junctor.ChainEvent, junctor.RowTotal, error) {
		return a.Chains.ChainEvents(ctx, callerOf(ctx).Tenant, ChainEventFilter{in.Chain, in.Agent, in.State}, page)
	})
	registerList(a, huma.Operation{
		OperationID: "list-chain-agents", Method: http.MethodGet, Path: "/chains/agents", Tags: tags,
		Summary: "List discovered agents, with their registrations",
	}, chainAgentList(), func(ctx context.Context, _ *ListQuery) ([]junctor.ChainAgent, error) {
		list, err := a.Chains.ChainAgents(ctx, callerOf(ctx).Tenant)
		return list, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "find-chain-agent", Method: http.MethodPost, Path: "/chains/agents/find", Tags: tags,
		Summary: "Look up the MCP endpoint of an agent on a chain",
	}, func(ctx context.Context, in *findAgentInput) (*chainAgentOutput, error) {
		found, err := a.Chains.FindAgent(ctx, callerOf(ctx).Tenant, in.Body.Agent)
		if err != nil {
			return nil, err
		}
		return &chainAgentOutput{found}, nil
	})
	registerRoute(a, huma.Operation{
		OperationID: "rewind-chain", Method: http.MethodPost, Path: "/chains/{name}/rewind", Tags: tags, DefaultStatus: http.StatusNoContent,
		Summary: "Read a chain again from a block; delivered events are not delivered again",
	}, func(ctx context.Context, in *rewindChainInput) (*empty, error) {
		return &empty{}, a.Chains.RewindChain(ctx, callerOf(ctx).Tenant, in.Name, in.Body.To)
	})
}

// chainList is the shape of list-chains.
func chainList() listShape[junctor.ChainStatus] {
	return listShape[junctor.ChainStatus]{
		id: func(v *junctor.ChainStatus) string { return v.Name },
		orders: []listOrder[junctor.ChainStatus]{
			byText("name", func(v *junctor.ChainStatus) string { return v.Name }),
			byNumber("lag", func(v *junctor.ChainStatus) int64 { return int64(min(v.Lag, math.MaxInt64)) }),
		},
		text: func(v *junctor.ChainStatus) []string { return []string{v.Name, v.Node, v.Error} },
	}
}

// chainAgentList is the shape of list-chain-agents.
func chainAgentList() listShape[junctor.ChainAgent] {
	return listShape[junctor.ChainAgent]{
		id: func(v *junctor.ChainAgent) string { return v.Agent },
		orders: []listOrder[junctor.ChainAgent]{
			byText("agent", func(v *junctor.ChainAgent) string { return v.Agent }),
			byText("name", func(v *junctor.ChainAgent) string { return v.Name }),
			byText("endpoint", func(v *junctor.ChainAgent) string { return v.Endpoint }),
			byTime("discovered_at", func(v *junctor.ChainAgent) time.Time { return v.DiscoveredAt }),
		},
		text: func(v *junctor.ChainAgent) []string {
			return []string{v.Agent, v.Name, v.Description, v.Endpoint, v.Chain}
		},
	}
}
