package app

import (
	"context"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/attention"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/egress"
	"github.com/junctor-mcp/junctor/internal/guard"
	"github.com/junctor-mcp/junctor/internal/identity"
	"github.com/junctor-mcp/junctor/internal/instance"
	"github.com/junctor-mcp/junctor/internal/judge"
	"github.com/junctor-mcp/junctor/internal/policies"
	"github.com/junctor-mcp/junctor/internal/policy"
	"github.com/junctor-mcp/junctor/internal/series"
)

// openPolicies reads the rules about calls and puts them into effect.
func (a *App) openPolicies(ctx context.Context) (err error) {
	o := policies.Options{
		Store: a.store, History: a.history, Shared: a.cfg.DB != nil, Now: a.clock.Now, Log: a.log,
		Tools:        a.policyTools,
		ToolsVersion: func() uint64 { return a.catalog.Snapshot().Version() },
		AgentRole: func(tenant junctor.TenantID, agent string) string {
			one, _ := a.catalog.Snapshot().For(tenant).Agent(agent)
			return string(one.Role)
		},
		CheckReference: func(ctx context.Context, p *junctor.Principal, text string) error {
			_, err := a.servers.Judge.Reference(ctx, p, "", text)
			return err
		},
		CheckNotDeclared: func(noun, id, file string) error { return a.file.CheckNotDeclared(noun, id, file) },
		CountCalls:       a.countCalls,
		Apply:            a.judge.SetRules,
		Filter:           a.newFilters(),
	}
	if a.replicas != nil {
		o.Announce = a.replicas.AnnounceRules
	}
	a.policies, err = policies.Open(ctx, o)
	return err
}

// newFilters makes what asks the webhooks of rules.
func (a *App) newFilters() *judge.Filters {
	reader := instance.NewReferenceReader(a.cfg)
	client := a.egress.Client(egress.ClientOptions{Timeout: time.Minute, MaxBytes: 1 << 20}) // each rule has a shorter time-out
	a.onClose(func(context.Context) { client.CloseIdleConnections() })
	return judge.NewFilters(judge.FilterOptions{
		Client: client, Now: a.clock.Now, NewID: newID,
		ReadSecret: func(ctx context.Context, text string) (string, error) {
			admitted, err := a.servers.Judge.Operator(text) // who may save it was judged then
			if err != nil {
				return "", err
			}
			secret, err := reader.Read(ctx, admitted)
			if err != nil {
				return "", err
			}
			return secret.Reveal(), nil
		},
	})
}

// confirmedPolicy asks the rules about calls, once it is certain that nobody has replaced
// them.
type confirmedPolicy struct {
	*judge.Judge
	policies *policies.Policies
}

// JudgeCall implements guard.Policy.
func (c confirmedPolicy) JudgeCall(ctx context.Context, op *guard.Op, item *catalog.Item, call *junctor.Call) error {
	if err := c.policies.Confirm(ctx, op.Principal.Tenant); err != nil {
		return err
	}
	return c.Judge.JudgeCall(ctx, op, item, call)
}

// policyTools returns the tools of a tenant as rules see them, and the servers that have
// not listed theirs yet.
func (a *App) policyTools(tenant junctor.TenantID) (tools []policy.Tool, awaited []string) {
	for s := range a.catalog.Snapshot().For(tenant).Servers() {
		if s.Offer.Awaited {
			awaited = append(awaited, s.ID)
		}
		for t := range s.Tools() {
			for _, v := range t.Versions {
				tools = append(tools, policyTool(s.ID, t.Name, v))
			}
		}
	}
	return tools, awaited
}

// policyTool returns a tool as rules see it.
func policyTool(server, name string, t *catalog.ToolVersion) policy.Tool {
	return policy.Tool{Server: server, Name: name, Definition: t.JSON, Digest: t.Digest}
}

// brokenRules returns the rules that no longer check.
func (a *App) brokenRules(ctx context.Context) ([]attention.BrokenRule, error) {
	broken, err := a.policies.Broken(ctx)
	out := make([]attention.BrokenRule, len(broken))
	for i, b := range broken {
		out[i] = attention.BrokenRule{Tenant: b.Tenant, Rule: b.Rule, Problem: b.Problem, Denies: b.Denies}
	}
	return out, err
}

// countCalls returns how many calls of the principal's tenant were made in a time.
func (a *App) countCalls(ctx context.Context, p *junctor.Principal, since, until time.Time) (int, error) {
	if a.series == nil {
		return 0, nil
	}
	if err := a.series.Flush(ctx); err != nil {
		return 0, err
	}
	answer, err := series.Read(ctx, a.store.Database(), p.Tenant, series.Query{
		By: series.ByAll, From: since.Truncate(time.Minute), To: until.Add(time.Minute).Truncate(time.Minute), Limit: 1,
	}, a.clock.Now())
	if err != nil || len(answer.Series) == 0 {
		return 0, err
	}
	return int(answer.Series[0].Total.Calls), nil
}

// tenantAPI makes operators' rules apply to a tenant from its first call.
type tenantAPI struct {
	*identity.Directory
	policies *policies.Policies
}

// CreateTenant implements admin.Tenants.
func (t tenantAPI) CreateTenant(ctx context.Context, id junctor.TenantID, name string) (junctor.Tenant, junctor.Key, string, error) {
	tenant, key, token, err := t.Directory.CreateTenant(ctx, id, name)
	if err == nil {
		err = t.policies.AddTenant(ctx)
	}
	return tenant, key, token, err
}
