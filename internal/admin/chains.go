package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
)

// Chains is what is read of chains. They belong to the default tenant: others
// have none.
type Chains interface {
	Chains(ctx context.Context, tenant junctor.TenantID) ([]junctor.ChainStatus, error)
	// ChainEvents lists the newest first.
	ChainEvents(ctx context.Context, tenant junctor.TenantID, f ChainEventFilter) ([]junctor.ChainEvent, error)
	// ChainAgents lists the agents that something was said about, and what was found
	// of those that were looked for.
	ChainAgents(ctx context.Context, tenant junctor.TenantID) ([]junctor.ChainAgent, error)
	// FindAgent looks for an agent's endpoint now. That there is none is no error:
	// the answer says why.
	FindAgent(ctx context.Context, tenant junctor.TenantID, agent string) (junctor.ChainAgent, error)
	// RewindChain has a chain, by its name, be read again above a block. Events that
	// were delivered are not delivered again.
	RewindChain(ctx context.Context, tenant junctor.TenantID, name string, to uint64) error
}

// ChainEventFilter says which events are wanted; zero members do not filter.
type ChainEventFilter struct {
	Chain string
	Agent string
	State string
	Limit int
}

type chainEventQuery struct {
	Chain string `query:"chain" maxLength:"63" doc:"Only events of this chain, by name."`
	Agent string `query:"agent" maxLength:"200" doc:"Only events about this agent, as eip155:CHAIN:REGISTRY/ID."`
	State string `query:"state" enum:"seen,counted,orphaned" doc:"Only events in this state."`
	Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"At most this many."`
}

type findAgentInput struct {
	Body struct {
		Agent string `json:"agent" maxLength:"200" doc:"The agent, as eip155:CHAIN:REGISTRY/ID."`
	}
}

type rewindChainInput struct {
	Name string `path:"name" maxLength:"63" doc:"The chain's name."`
	Body struct {
		To uint64 `json:"to" maximum:"9007199254740991" doc:"The last block that counts as read. The blocks above it are read again."`
	}
}

type chainAgentOutput struct{ Body junctor.ChainAgent }

func (a *api) chainRoutes() {
	tags := []string{"chains"}
	route(a, huma.Operation{
		OperationID: "list-chains", Method: http.MethodGet, Path: "/chains", Tags: tags,
		Summary: "List the chains whose agent registries are followed, and how far they were read",
	}, func(ctx context.Context, _ *none) (*pageOf[junctor.ChainStatus], error) {
		list, err := a.Chains.Chains(ctx, caller(ctx).Tenant)
		return newPage(list, ""), err
	})
	route(a, huma.Operation{
		OperationID: "list-chain-events", Method: http.MethodGet, Path: "/chains/events", Tags: tags,
		Summary: "List what registries said, newest first",
	}, func(ctx context.Context, in *chainEventQuery) (*pageOf[junctor.ChainEvent], error) {
		list, err := a.Chains.ChainEvents(ctx, caller(ctx).Tenant, ChainEventFilter(*in))
		return newPage(list, ""), err
	})
	route(a, huma.Operation{
		OperationID: "list-chain-agents", Method: http.MethodGet, Path: "/chains/agents", Tags: tags,
		Summary: "List agents on chains, with their registrations as found",
	}, func(ctx context.Context, _ *none) (*pageOf[junctor.ChainAgent], error) {
		list, err := a.Chains.ChainAgents(ctx, caller(ctx).Tenant)
		return newPage(list, ""), err
	})
	route(a, huma.Operation{
		OperationID: "find-chain-agent", Method: http.MethodPost, Path: "/chains/agents/find", Tags: tags,
		Summary: "Look for the MCP endpoint of an agent on a chain now",
	}, func(ctx context.Context, in *findAgentInput) (*chainAgentOutput, error) {
		found, err := a.Chains.FindAgent(ctx, caller(ctx).Tenant, in.Body.Agent)
		if err != nil {
			return nil, err
		}
		return &chainAgentOutput{found}, nil
	})
	route(a, huma.Operation{
		OperationID: "rewind-chain", Method: http.MethodPost, Path: "/chains/{name}/rewind", Tags: tags, DefaultStatus: http.StatusNoContent,
		Summary: "Read a chain again above a block; events that were delivered are not delivered again",
	}, func(ctx context.Context, in *rewindChainInput) (*none, error) {
		return nil, a.Chains.RewindChain(ctx, caller(ctx).Tenant, in.Name, in.Body.To)
	})
}
