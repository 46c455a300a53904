package app

import (
	"context"
	"slices"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/internal/declare"
)

// agentKind makes an instance have agents. It makes no keys: one that nobody
// sees is of no use.
type agentKind struct {
	a       agents
	p       *junctor.Principal // who wants them
	want    []admin.WantedAgent
	file    string          // that declares them; "" where people want them
	servers map[string]bool // that will be there
}

// declaredAgents are those of a file, for the operator who wrote it.
func (a *App) declaredAgents(cfg *config.Config, servers map[string]bool) *agentKind {
	k := &agentKind{a: agents{a}, p: a.identity.Local(), file: cfg.File(), servers: servers}
	for _, d := range cfg.Declared().Agents {
		k.want = append(k.want, admin.WantedAgent{Agent: d.Agent, Where: d.Where})
	}
	return k
}

func (k *agentKind) Noun() string { return "agent" }

func (k *agentKind) Wanted() []declare.Wish {
	out := make([]declare.Wish, len(k.want))
	for i, w := range k.want {
		out[i] = declare.Wish{ID: w.Name, Where: w.Where}
	}
	return out
}

func (k *agentKind) find(name string) admin.WantedAgent {
	i := slices.IndexFunc(k.want, func(w admin.WantedAgent) bool { return w.Name == name })
	return k.want[i]
}

// Present lists the agents that may be changed; fault names the others.
func (k *agentKind) Present(ctx context.Context) (map[string]declare.Holding, error) {
	rows, err := k.a.app.store.For(k.p.Tenant).Agents(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]declare.Holding{}
	for i := range rows {
		if row := &rows[i]; k.p.Has(junctor.ScopeAdmin) || k.p.Is(row.Owner) {
			out[row.Name] = declare.Holding{Declared: row.Declared}
		}
	}
	return out, nil
}

func (k *agentKind) FindFault(ctx context.Context, name string) error {
	want := k.find(name)
	if _, err := k.a.mine(ctx, k.p, name); err != nil && junctor.CodeOf(err) != junctor.CodeNotFound {
		return err
	}
	if err := k.a.CheckRole(ctx, k.p.Tenant, want.Role); err != nil {
		return err
	}
	if want.Tier != "" {
		if err := k.a.app.limits.knownTier(ctx, k.p.Tenant, want.Tier); err != nil {
			return err
		}
	}
	if err := k.a.app.checkBrain(ctx, k.p.Tenant, want.Brain); err != nil {
		return err
	}
	if err := want.CheckPublished(); err != nil {
		return err
	}
	for _, g := range slices.Concat(want.Tools, want.Resources, want.Prompts) {
		if !k.servers[g.Server] {
			return junctor.Errorf(junctor.CodeInvalid, "%s cannot be given to an agent: there will be no server %q; declare it too, or take the grant out", g, g.Server)
		}
	}
	return nil
}

func (k *agentKind) Diff(ctx context.Context, name string) ([]admin.FieldChange, error) {
	former, err := k.a.mine(ctx, k.p, name)
	if err != nil {
		return nil, err
	}
	want := k.find(name)
	from, to := flatAgent(&former), flatAgent(&want.Agent)
	if k.file != "" {
		from["declared"], to["declared"] = former.Declared, k.file
	}
	return declare.Differences(from, to), nil
}

// flatAgent is what somebody can want of an agent, by member.
func flatAgent(a *junctor.Agent) map[string]string {
	out := map[string]string{"title": a.Title, "role": string(a.Role), "tier": a.Tier, "published": declare.BoolText(a.Published), "disabled": declare.BoolText(a.Disabled)}
	if a.Limits != nil {
		out["limits"] = declare.JSONText(a.Limits)
	}
	if a.Brain != nil {
		out["brain"] = declare.JSONText(a.Brain)
	}
	for field, list := range map[string][]junctor.Grant{"tools": a.Tools, "resources": a.Resources, "prompts": a.Prompts} {
		if len(list) > 0 {
			out[field] = declare.JSONText(list)
		}
	}
	return out
}

// Put stores an agent as it is wanted. What it is newly given is judged where the
// list of its server is there, and at every call in any case.
func (k *agentKind) Put(ctx context.Context, name string) error {
	want := k.find(name)
	rows := k.a.app.store.For(k.p.Tenant).By(k.p.ID())
	had, err := k.a.mine(ctx, k.p, name)
	added := junctor.CodeOf(err) == junctor.CodeNotFound
	if err != nil && !added {
		return err
	}
	row := want.Agent
	row.Tenant, row.Owner, row.Declared, row.UpdatedAt = k.p.Tenant, had.Owner, k.file, had.UpdatedAt
	if added || had.Declared != "" && k.file == "" { // its file is not read any more
		row.Owner = k.p.ID()
	}
	j := judge{agents: k.a, p: k.p, role: row.Role, roleIsNew: row.Role != had.Role, unseen: true}
	for _, of := range []struct {
		kind     junctor.Kind
		to       *[]junctor.Grant
		had, new []junctor.Grant
	}{
		{junctor.KindTool, &row.Tools, had.Tools, want.Tools},
		{junctor.KindResource, &row.Resources, had.Resources, want.Resources},
		{junctor.KindPrompt, &row.Prompts, had.Prompts, want.Prompts},
	} {
		*of.to = of.had
		given := make([]string, len(of.new))
		for i, g := range of.new {
			given[i] = g.String()
		}
		if err := j.list(ctx, of.kind, of.to, &given); err != nil {
			return err
		}
	}
	if added {
		_, err = rows.AddAgent(ctx, row)
	} else {
		_, err = rows.UpdateAgent(ctx, row)
	}
	if err != nil {
		return err
	}
	return k.a.settle(ctx, k.p.Tenant)
}

func (k *agentKind) Remove(ctx context.Context, name string) error {
	return k.a.takeAway(ctx, k.p.Tenant, name)
}
