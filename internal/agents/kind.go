package agents

import (
	"context"
	"slices"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/declare"
)

// Kind puts described agents into force; it implements declare.Kind. It creates no
// keys, because nobody would see them.
type Kind struct {
	a       *Registry
	p       *junctor.Principal // who describes them
	want    []admin.WantedAgent
	file    string          // settings file that declares them; "" if a person describes them
	servers map[string]bool // ids of the servers that will exist
}

// NewKind describes the agents that p wants. file is the settings file that declares
// them; "" if a person describes them. servers has the ids of the servers that will
// exist when the agents are stored.
func (a *Registry) NewKind(p *junctor.Principal, want []admin.WantedAgent, file string, servers map[string]bool) *Kind {
	return &Kind{a: a, p: p, want: want, file: file, servers: servers}
}

// Noun implements declare.Kind.
func (k *Kind) Noun() string { return "agent" }

// Wanted lists the described agents.
func (k *Kind) Wanted() []declare.Wish {
	out := make([]declare.Wish, len(k.want))
	for i, w := range k.want {
		out[i] = declare.Wish{ID: w.Name, Where: w.Where}
	}
	return out
}

// find returns a described agent.
func (k *Kind) find(name string) admin.WantedAgent {
	i := slices.IndexFunc(k.want, func(w admin.WantedAgent) bool { return w.Name == name })
	return k.want[i]
}

// Present lists the stored agents that the principal may change. FindFault refuses the
// others.
func (k *Kind) Present(ctx context.Context) (map[string]declare.Holding, error) {
	rows, err := k.a.o.Store.For(k.p.Tenant).Agents(ctx)
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

// FindFault checks a described agent before anything is changed.
func (k *Kind) FindFault(ctx context.Context, name string) error {
	want := k.find(name)
	if _, err := k.a.ownedAgent(ctx, k.p, name); err != nil && junctor.CodeOf(err) != junctor.CodeNotFound {
		return err
	}
	if err := k.a.CheckRole(ctx, k.p.Tenant, want.Role); err != nil {
		return err
	}
	if want.Tier != "" {
		if err := k.a.o.Limits.CheckTier(ctx, k.p.Tenant, want.Tier); err != nil {
			return err
		}
	}
	if err := k.a.checkBrain(ctx, k.p.Tenant, want.Brain); err != nil {
		return err
	}
	if err := want.CheckPublished(); err != nil {
		return err
	}
	for _, g := range slices.Concat(want.Tools, want.Resources, want.Prompts) {
		if !k.servers[g.Server] {
			return junctor.Errorf(junctor.CodeInvalid, "%s cannot be given to an agent: there is no server %q, and the files declare none; declare it too, or remove the grant", g, g.Server)
		}
	}
	return nil
}

// Diff lists the fields in which the stored agent differs from the described one.
func (k *Kind) Diff(ctx context.Context, name string) ([]admin.FieldChange, error) {
	former, err := k.a.ownedAgent(ctx, k.p, name)
	if err != nil {
		return nil, err
	}
	want := k.find(name)
	from, to := declare.Flatten(former), declare.Flatten(want.Agent)
	if k.file != "" {
		from["declared"], to["declared"] = former.Declared, k.file
	}
	return declare.Differences(from, to), nil
}

// Put stores an agent as it is described. A new grant is checked if the lists of its
// server are known; every call is checked in any case.
func (k *Kind) Put(ctx context.Context, name string) error {
	want := k.find(name)
	rows := k.a.o.Store.For(k.p.Tenant).By(k.p.ID())
	had, err := k.a.ownedAgent(ctx, k.p, name)
	added := junctor.CodeOf(err) == junctor.CodeNotFound
	if err != nil && !added {
		return err
	}
	row := want.Agent
	row.Tenant, row.Owner, row.Declared, row.UpdatedAt = k.p.Tenant, had.Owner, k.file, had.UpdatedAt
	if added || had.Declared != "" && k.file == "" { // its file is no longer in use
		row.Owner = k.p.ID()
	}
	j := grantCheck{Registry: k.a, p: k.p, allowUnlisted: true}
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
		if err := j.checkList(ctx, of.kind, of.to, &given); err != nil {
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
	return k.a.PublishChange(ctx, k.p.Tenant)
}

// Remove deletes an agent.
func (k *Kind) Remove(ctx context.Context, name string) error {
	return k.a.deleteAgent(ctx, k.p.Tenant, name)
}
