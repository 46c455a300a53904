package chains

import (
	"cmp"
	"context"
	"slices"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/erc8004"
)

var _ admin.Chains = (*Follower)(nil)

// Chains implements admin.Chains.
func (f *Follower) Chains(_ context.Context, tenant junctor.TenantID) ([]junctor.ChainStatus, error) {
	if tenant != f.tenant {
		return nil, nil
	}
	out := make([]junctor.ChainStatus, len(f.watches))
	for i, w := range f.watches {
		s := w.watcher.Status()
		out[i] = junctor.ChainStatus{
			Chain: w.Chain, Node: s.Node, Head: s.Head, Read: s.Read, Final: s.Final, Lag: s.Head - min(s.Read, s.Head), Reorgs: s.Reorgs, Deepest: s.Deepest,
			Skipped: s.Skipped, Error: s.Error, SeenAt: s.At,
		}
	}
	return out, nil
}

// ChainEvents implements admin.Chains.
func (f *Follower) ChainEvents(ctx context.Context, tenant junctor.TenantID, want admin.ChainEventFilter, page *junctor.RowPage) ([]junctor.ChainEvent, junctor.RowTotal, error) {
	if tenant != f.tenant {
		return nil, junctor.RowTotal{}, nil
	}
	filter := erc8004.Filter{Agent: want.Agent, State: want.State}
	if want.Chain != "" {
		i := slices.IndexFunc(f.watches, func(x *chainWatch) bool { return x.Name == want.Chain })
		if i < 0 {
			return nil, junctor.RowTotal{}, junctor.Errorf(junctor.CodeNotFound, "unknown chain %q; junctor chain ls lists the chains", want.Chain)
		}
		filter.Chain = f.watches[i].ID
	}
	found, total, err := f.records.Page(ctx, filter, page)
	if err != nil {
		return nil, total, err
	}
	out := make([]junctor.ChainEvent, len(found))
	for i, e := range found {
		data, err := e.Data()
		if err != nil {
			return nil, total, err
		}
		out[i] = junctor.ChainEvent{
			Chain: f.chainName(e.Chain), Type: string(e.Kind), Agent: e.Of().String(), Block: e.Block, BlockHash: e.BlockHash.String(), Transaction: e.Transaction.String(),
			LogIndex: e.LogIndex, State: e.State, Counted: e.Counted, Retracted: e.Retracted, Data: data, SeenAt: e.SeenAt,
		}
	}
	return out, total, nil
}

// RewindChain implements admin.Chains.
func (f *Follower) RewindChain(ctx context.Context, tenant junctor.TenantID, name string, to uint64) error {
	i := slices.IndexFunc(f.watches, func(x *chainWatch) bool { return x.Name == name })
	if tenant != f.tenant || i < 0 {
		return junctor.Errorf(junctor.CodeNotFound, "unknown chain %q; junctor chain ls lists the chains", name)
	}
	chain := f.watches[i]
	if first := uint64(max(chain.Start, 1)) - 1; to < first {
		return junctor.Errorf(junctor.CodeInvalid, "to: the chain %s is read from block %d; rewind it to block %d or later", name, chain.Start, first)
	}
	block, err := chain.watcher.Block(ctx, to)
	if err != nil {
		return junctor.Errorf(junctor.CodeUnavailable, "cannot rewind the chain %s: %w", name, err)
	}
	return f.records.Rewind(ctx, chain.ID, block)
}

// chainName returns the name of a chain in the settings, or its network id if the
// settings no longer declare it.
func (f *Follower) chainName(id uint64) string {
	return cmp.Or(f.records.Names[id], erc8004.Agent{Chain: id}.Network())
}

// ChainAgents implements admin.Chains.
func (f *Follower) ChainAgents(ctx context.Context, tenant junctor.TenantID) ([]junctor.ChainAgent, error) {
	if tenant != f.tenant {
		return nil, nil
	}
	servers, err := f.Store.For(tenant).Servers(ctx)
	if err != nil {
		return nil, err
	}
	made := map[string]string{}
	for _, s := range servers {
		if s.Mode == junctor.ModeDiscovered {
			made[s.Discovered] = s.ID
		}
	}
	known := map[string]junctor.ChainAgent{}
	for _, found := range f.resolver.Known() {
		known[found.Agent.String()] = f.describeAgent(found, made[found.Agent.String()])
	}
	named, err := f.records.Agents(ctx)
	if err != nil {
		return nil, err
	}
	for _, text := range named {
		if _, ok := known[text]; ok {
			continue
		}
		agent, err := erc8004.ParseAgent(text)
		if err != nil {
			return nil, err
		}
		known[text] = junctor.ChainAgent{Server: cmp.Or(f.bound[agent], made[text]), Agent: text, Chain: f.chainName(agent.Chain), Blocked: []junctor.ChainAgentBlock{}, Problems: []string{}, Reason: "the endpoint was not resolved yet"}
	}
	out := make([]junctor.ChainAgent, 0, len(known))
	for _, one := range known {
		out = append(out, one)
	}
	slices.SortFunc(out, func(a, b junctor.ChainAgent) int { return cmp.Compare(a.Agent, b.Agent) })
	return out, nil
}

// FindAgent implements admin.Chains.
func (f *Follower) FindAgent(ctx context.Context, tenant junctor.TenantID, text string) (junctor.ChainAgent, error) {
	agent, err := erc8004.ParseAgent(text)
	if err != nil {
		return junctor.ChainAgent{}, junctor.Errorf(junctor.CodeInvalid, "%w", err)
	}
	if tenant != f.tenant || f.records.Names[agent.Chain] == "" {
		return junctor.ChainAgent{}, junctor.Errorf(junctor.CodeNotFound, "the chain of %s is not followed; junctor chain ls lists the chains", agent)
	}
	f.resolver.Forget(agent)
	if f.bound[agent] != "" { // the registration is shown but not used
		found, _ := f.resolver.Resolve(ctx, agent)
		return f.describeAgent(found, ""), nil
	}
	found, row, err := f.findAgentServer(ctx, agent)
	if err != nil && found.Err() == nil {
		return junctor.ChainAgent{}, err
	}
	return f.describeAgent(found, row.ID), nil // the reason is part of the description
}

// describeAgent describes what was found of an agent. made is the id of its discovered
// server, or "".
func (f *Follower) describeAgent(found erc8004.DiscoveredAgent, made string) junctor.ChainAgent {
	out := junctor.ChainAgent{
		Server: cmp.Or(f.bound[found.Agent], made), Agent: found.Agent.String(), Chain: f.chainName(found.Agent.Chain), Name: found.Registration.Name, Description: found.Registration.Description, URI: found.URI, Proof: string(found.Proof),
		Active: found.Registration.Active, Claimed: found.Registration.Claimed, Domain: found.Domain, Reason: found.Reason, DiscoveredAt: found.At,
		Blocked: []junctor.ChainAgentBlock{}, Problems: append([]string{}, found.Registration.Problems...),
	}
	if found.Err() == nil {
		out.Endpoint = found.Endpoint.URL
	}
	for _, b := range found.Registration.Blocked {
		out.Blocked = append(out.Blocked, junctor.ChainAgentBlock(b))
	}
	return out
}
