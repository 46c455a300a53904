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

// Bounds of requests to the webhooks of rules; each rule has its own time-out below.
const (
	maxFilterTime   = 30 * time.Second
	maxFilterAnswer = 64 << 10
)

// readFilterSecret reads the secret that a stored rule refers to. Whoever stored the rule
// was allowed to refer to it.
func (a *App) readFilterSecret(ctx context.Context, text string) (string, error) {
	secret, err := instance.ReadSetting(ctx, a.cfg, text)
	return secret.Reveal(), err
}

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
		Filter: judge.NewFilters(judge.FilterOptions{
			Client: a.egress.Client(egress.ClientOptions{Timeout: maxFilterTime, MaxBytes: maxFilterAnswer}), ReadSecret: a.readFilterSecret, Now: a.clock.Now, NewID: newID,
		}),
		Apply: a.judge.SetRules,
	}
	if a.replicas != nil {
		o.Announce = a.replicas.AnnounceRules
	}
	a.policies, err = policies.Open(ctx, o)
	return err
}

// confirmedPolicy asks the rules about calls, once it is certain that nobody has replaced
// them. If they are replaced meanwhile, while a webhook is asked or because the process
// was stopped, it asks again: a verdict of former rules never counts.
type confirmedPolicy struct {
	*judge.Judge
	policies *policies.Policies
}

// JudgeCall implements guard.Policy.
func (c confirmedPolicy) JudgeCall(ctx context.Context, op *guard.Op, item *catalog.Item, call *junctor.Call) error {
	_, err := c.judgeByLatestRules(ctx, op, call, func() ([]byte, error) { return nil, c.Judge.JudgeCall(ctx, op, item, call) })
	return err
}

// JudgeResult implements guard.Policy.
func (c confirmedPolicy) JudgeResult(ctx context.Context, op *guard.Op, item *catalog.Item, call *junctor.Call, body []byte) ([]byte, error) {
	return c.judgeByLatestRules(ctx, op, call, func() ([]byte, error) { return c.Judge.JudgeResult(ctx, op, item, call, body) })
}

// judgeByLatestRules calls ask until the rules did not change while it ran.
func (c confirmedPolicy) judgeByLatestRules(ctx context.Context, op *guard.Op, call *junctor.Call, ask func() ([]byte, error)) ([]byte, error) {
	former := len(call.Policy)
	for {
		if err := c.policies.Confirm(ctx, op.Principal.Tenant); err != nil {
			return nil, err
		}
		set := c.policies.Set(op.Principal.Tenant)
		body, err := ask()
		if c.policies.Holds(op.Principal.Tenant, set) {
			return body, err
		}
		call.Policy = call.Policy[:former]
	}
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
	return policy.Tool{Server: server, Name: name, Definition: t.JSON, Digest: t.Digest, Hints: t.Hints, Tags: t.Tags, Output: t}
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
