package agents

import (
	"context"
	"slices"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// The tool that requires a scope which keys of agents do not have by default.
const (
	eventsServer   = "events"
	eventsSendTool = "send"
)

// hiddenReason is the reason of a tool that an operator has hidden.
const hiddenReason = "the server's settings hide it (hide in overrides)"

// WithheldTools lists the tools that the grants of an agent name and that the agent
// cannot call all the same. Only its owner and admins may know: for the agent itself, a
// tool that it cannot call does not exist.
func (a *Registry) WithheldTools(ctx context.Context, p *junctor.Principal, name string) ([]junctor.WithheldTool, error) {
	one, err := a.Agent(ctx, p, name)
	if err != nil || p.Agent != "" || one.Disabled || !p.Has(junctor.ScopeAdmin) && !p.Is(one.Owner) {
		return nil, err
	}
	rows, err := a.parts.Servers.Servers(ctx, p)
	if err != nil {
		return nil, err
	}
	byID := make(map[string]*junctor.Server, len(rows))
	for i := range rows {
		byID[rows[i].ID] = &rows[i]
	}
	var out []junctor.WithheldTool
	for _, g := range one.Tools {
		out = append(out, a.withheldBy(&one, byID[g.Server], g)...)
	}
	if one.Allows(junctor.KindTool, eventsServer, eventsSendTool) && a.parts.Servers.IsAttached(p.Tenant, eventsServer) {
		if why, err := a.missingScope(ctx, &one, junctor.ScopeEventsSend); err != nil {
			return nil, err
		} else if why != "" {
			out = append(out, junctor.WithheldTool{Server: eventsServer, Tool: eventsSendTool, Reason: why})
		}
	}
	slices.SortStableFunc(out, func(x, y junctor.WithheldTool) int { return strings.Compare(x.String(), y.String()) })
	return slices.CompactFunc(out, func(x, y junctor.WithheldTool) bool { return x.String() == y.String() }), nil
}

// withheldBy returns what one grant names and the agent cannot call. row is nil for a
// server that does not exist, or that the principal may not know of.
func (a *Registry) withheldBy(one *junctor.Agent, row *junctor.Server, g junctor.Grant) []junctor.WithheldTool {
	whole := func(why string) []junctor.WithheldTool {
		return []junctor.WithheldTool{{Server: g.Server, Tool: g.Item, Reason: why}}
	}
	switch {
	case row == nil:
		return whole("no server has this name")
	case row.State == junctor.StateInactive:
		return whole("the server is off; switch it on with: junctor server enable " + row.ID)
	case !a.parts.Servers.IsAttached(one.Tenant, row.ID):
		return whole("the server is not working: " + row.LastError)
	case row.State == junctor.StateError:
		return whole("the server is unavailable, so calls fail: " + row.LastError)
	}
	as := junctor.Principal{Tenant: one.Tenant, Issuer: junctor.IssuerAgent, Subject: one.Name, Agent: one.Name, Scopes: agentScopes()}
	out := a.o.Catalog.Snapshot().For(one.Tenant).WithheldTools(&as, g)
	if g.Item != junctor.AnyItem {
		if o := row.Overrides[g.Item]; len(out) > 0 && o.Hide {
			out[0].Reason = hiddenReason
		} else if len(out) > 0 && o.Name != "" {
			out[0].Reason = "the server's settings give it another name; grant " + row.ID + "/" + o.Name
		}
		return out
	}
	for tool, o := range row.Overrides {
		if o.Hide {
			out = append(out, junctor.WithheldTool{Server: row.ID, Tool: tool, Reason: hiddenReason})
		}
	}
	return out
}

// missingScope returns what to do if no key of an agent that is in use carries a scope;
// "" if one does.
func (a *Registry) missingScope(ctx context.Context, one *junctor.Agent, scope junctor.Scope) (string, error) {
	keys, err := a.o.Store.For(one.Tenant).Keys(ctx)
	if err != nil {
		return "", err
	}
	now := time.Now()
	for i := range keys {
		if k := &keys[i]; k.Agent == one.Name && k.Live(now) && slices.Contains(k.Scopes, scope) {
			return "", nil
		}
	}
	scopes := []string{string(scope)}
	for _, s := range agentScopes() {
		scopes = append(scopes, string(s))
	}
	return "it requires the scope " + string(scope) + ", which no key of the agent has; make one with: junctor key create NAME --agent " + one.Name + " --scope " + strings.Join(scopes, ","), nil
}
