package app

import (
	"context"
	"maps"
	"slices"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/config"
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

// remaining are the servers that will be there when the changes are made: agents
// can be given what they have. kinds are those that are changed.
func remaining(ctx context.Context, kinds []kind, servers *serverKind, r rule) (map[string]bool, error) {
	there, err := servers.present(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	changed := slices.Contains(kinds, kind(servers))
	for id, h := range there {
		out[id] = !changed || h.fixed || !r.drop(h)
	}
	for _, w := range servers.wanted() {
		out[w.id] = true
	}
	return out, nil
}

func (k *agentKind) noun() string { return "agent" }

func (k *agentKind) wanted() []wish {
	out := make([]wish, len(k.want))
	for i, w := range k.want {
		out[i] = wish{w.Name, w.Where}
	}
	return out
}

func (k *agentKind) find(name string) admin.WantedAgent {
	i := slices.IndexFunc(k.want, func(w admin.WantedAgent) bool { return w.Name == name })
	return k.want[i]
}

// present lists the agents that may be changed; fault names the others.
func (k *agentKind) present(ctx context.Context) (map[string]holding, error) {
	rows, err := k.a.app.store.For(k.p.Tenant).Agents(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]holding{}
	for i := range rows {
		if row := &rows[i]; k.p.Has(junctor.ScopeAdmin) || k.p.Is(row.Owner) {
			out[row.Name] = holding{declared: row.Declared}
		}
	}
	return out, nil
}

func (k *agentKind) fault(ctx context.Context, name string) error {
	want := k.find(name)
	if _, err := k.a.mine(ctx, k.p, name); err != nil && junctor.CodeOf(err) != junctor.CodeNotFound {
		return err
	}
	if err := k.a.known(ctx, k.p.Tenant, want.Role); err != nil {
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

func (k *agentKind) diff(ctx context.Context, name string) ([]admin.FieldChange, error) {
	former, err := k.a.mine(ctx, k.p, name)
	if err != nil {
		return nil, err
	}
	want := k.find(name)
	from, to := flatAgent(&former), flatAgent(&want.Agent)
	if k.file != "" {
		from["declared"], to["declared"] = former.Declared, k.file
	}
	return differences(from, to), nil
}

// differences lists the members that are not the same, in the order of their
// names.
func differences(from, to map[string]string) (out []admin.FieldChange) {
	for _, field := range slices.Sorted(maps.Keys(union(from, to))) {
		if from[field] != to[field] {
			out = append(out, admin.FieldChange{Field: field, From: from[field], To: to[field]})
		}
	}
	return out
}

// flatAgent is what somebody can want of an agent, by member.
func flatAgent(a *junctor.Agent) map[string]string {
	out := map[string]string{"title": a.Title, "role": string(a.Role), "tier": a.Tier, "published": yes(a.Published), "disabled": yes(a.Disabled)}
	if a.Limits != nil {
		out["limits"] = compact(a.Limits)
	}
	if a.Brain != nil {
		out["brain"] = compact(a.Brain)
	}
	for field, list := range map[string][]junctor.Grant{"tools": a.Tools, "resources": a.Resources, "prompts": a.Prompts} {
		if len(list) > 0 {
			out[field] = compact(list)
		}
	}
	return out
}

// put stores an agent as it is wanted. What it is newly given is judged where the
// list of its server is there, and at every call in any case.
func (k *agentKind) put(ctx context.Context, name string) error {
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

func (k *agentKind) remove(ctx context.Context, name string) error {
	return k.a.takeAway(ctx, k.p.Tenant, name)
}
