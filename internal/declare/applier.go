package declare

import (
	"context"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/config"
)

// ServerKind is the kind of servers. Other kinds refer to servers, so it comes first.
type ServerKind interface {
	Kind
	// CommandStarted returns the command that a change runs for the first time, if any.
	CommandStarted(c *admin.Change) []string
}

// Sources make the kinds of things that can be declared. All fields are required. file is
// the settings file that declares the things, or "" if a person wants them. servers are
// the ids of the servers that will exist. starting is set before anything is attached:
// then rows are stored and nothing is attached.
type Sources struct {
	Servers func(p *junctor.Principal, want []admin.WantedServer, file string, unseen, starting bool) ServerKind
	Agents  func(p *junctor.Principal, want []admin.WantedAgent, file string, servers map[string]bool) Kind
	Events  func(p *junctor.Principal, w *admin.Wanted, file string, servers map[string]bool, starting bool) []Kind
	// Policies returns the rules about calls.
	Policies func(p *junctor.Principal, want []admin.WantedPolicy, file string, starting bool) Kind
	// CheckServer refuses a server that the principal may not bring, before anything is
	// read, compared or run for any server.
	CheckServer func(ctx context.Context, p *junctor.Principal, want admin.WantedServer) error
	// CheckAgentMaker refuses a principal who may not make agents.
	CheckAgentMaker func(p *junctor.Principal) error
	// Operator returns the operator, who wrote the settings file.
	Operator func() *junctor.Principal
	// Changes records the changes, with the values that Show returns.
	Changes admin.ChangeLog
	// Show returns a thing as the API shows it to a principal.
	Show func(ctx context.Context, p *junctor.Principal, noun, id string) (any, error)
}

// FileKinds returns the kinds of what a settings file declares, the servers first. It is
// FileOptions.Kinds.
func (s *Sources) FileKinds(ctx context.Context, cfg *config.Config, r Rule, starting bool) ([]Kind, error) {
	operator, declared := s.Operator(), cfg.Declared()
	// A list that the file lacks is an empty list.
	w := admin.Wanted{Sources: []admin.WantedSource{}, Triggers: []admin.WantedTrigger{}, Schedules: []admin.WantedSchedule{}, Policies: []admin.WantedPolicy{}}
	for _, d := range declared.Servers {
		w.Servers = append(w.Servers, admin.WantedServer{ServerInput: admin.DeclaredInput(d), Where: d.Where})
	}
	for _, d := range declared.Agents {
		w.Agents = append(w.Agents, admin.WantedAgent{Agent: d.Agent, Where: d.Where})
	}
	w.DeclaredEvents(&declared)
	w.DeclaredPolicies(&declared)
	servers := s.Servers(operator, w.Servers, cfg.File(), true, starting)
	remaining, err := Remaining(ctx, servers, true, r)
	if err != nil {
		return nil, err
	}
	kinds := append([]Kind{servers, s.Agents(operator, w.Agents, cfg.File(), remaining)}, s.Events(operator, &w, cfg.File(), remaining, starting)...)
	return append(kinds, s.Policies(operator, w.Policies, cfg.File(), starting)), nil
}

// RecordFileStep is FileOptions.Record: it carries a step of the settings file out, and records
// it as a change of the operator.
func (s *Sources) RecordFileStep(ctx context.Context, step *Step, carryOut func(context.Context) error) error {
	operator := s.Operator()
	origin := admin.ChangeOrigin(operator, junctor.ChangeBySettings)
	origin.Address = step.Where
	return s.record(operator)(admin.WithChangeOrigin(ctx, origin), step, carryOut)
}

// record returns the function that records the changes of a principal. The context has their
// origin.
func (s *Sources) record(p *junctor.Principal) RecordFunc {
	return func(ctx context.Context, step *Step, carryOut func(context.Context) error) error {
		c := admin.NewChange(ctx, step.operation(), step.Kind, step.ID)
		return admin.RecordChange(ctx, s.Changes, c, func(ctx context.Context) (any, error) { return s.Show(ctx, p, step.Kind, step.ID) }, carryOut)
	}
}

// operation returns the operation of the admin API that makes such a change.
func (s *Step) operation() string {
	switch {
	case s.Action == admin.ActionRemove:
		return "delete-" + s.Kind
	case s.Kind == "schedule", s.Kind == "policy":
		return "put-" + s.Kind
	case s.Action == admin.ActionAdd:
		return "create-" + s.Kind
	}
	return "patch-" + s.Kind
}

// Applier makes the instance have what callers of the admin API describe. It implements
// admin.Applier.
type Applier struct {
	Sources  *Sources
	Settings *File // the file whose things nobody else may change
}

// File returns the state of the settings file.
func (a Applier) File() admin.FileState { return a.Settings.State() }

// Apply changes what differs, except things that the settings file declares. An error of
// one thing is in its Change and does not keep the others from being applied.
func (a Applier) Apply(ctx context.Context, p *junctor.Principal, w admin.Wanted) ([]admin.Change, error) {
	servers := a.Sources.Servers(p, w.Servers, "", w.Unseen, false)
	for _, one := range w.Servers {
		if err := a.Sources.CheckServer(ctx, p, one); err != nil {
			return nil, junctor.Errorf(junctor.CodeOf(err), "servers.%s: %s", one.Server.ID, junctor.AsError(err).Message)
		}
	}
	r := Rule{
		CheckChange: func(noun, id string, h Holding) error { return a.Settings.CheckNotDeclared(noun, id, h.Declared) },
		Removes:     func(h Holding) bool { return w.Prune && !a.Settings.InForce(h.Declared) },
	}
	kinds, err := a.kinds(ctx, p, &w, servers, r)
	if err != nil {
		return nil, err
	}
	steps, err := Survey(ctx, kinds, r)
	for i := range steps {
		steps[i].Command = servers.CommandStarted(&steps[i].Change)
	}
	if err != nil || w.DryRun {
		return ChangesOf(steps), err
	}
	CarryOut(ctx, steps, a.Sources.record(p))
	return ChangesOf(steps), nil
}

// kinds returns the kinds that a description is about, in the order in which they are
// made. A list that is nil is no part of the description; one with nothing else is about
// servers.
func (a Applier) kinds(ctx context.Context, p *junctor.Principal, w *admin.Wanted, servers ServerKind, r Rule) (kinds []Kind, err error) {
	hasEvents := w.Sources != nil || w.Triggers != nil || w.Schedules != nil
	if w.Servers != nil || w.Agents == nil && w.Policies == nil && !hasEvents {
		kinds = append(kinds, servers)
	}
	if hasEvents && !p.Has(junctor.ScopeAdmin) {
		return nil, junctor.Errorf(junctor.CodeDenied, "sources, triggers and schedules require the scope %s", junctor.ScopeAdmin)
	}
	remaining, err := Remaining(ctx, servers, len(kinds) > 0, r)
	if err != nil {
		return nil, err
	}
	if w.Agents != nil {
		if err := a.Sources.CheckAgentMaker(p); err != nil {
			return nil, err
		}
		kinds = append(kinds, a.Sources.Agents(p, w.Agents, "", remaining))
	}
	kinds = append(kinds, a.Sources.Events(p, w, "", remaining, false)...)
	if w.Policies != nil {
		if !p.Has(junctor.ScopePolicyWrite) {
			return nil, junctor.Errorf(junctor.CodeDenied, "rules about calls require the scope %s", junctor.ScopePolicyWrite)
		}
		kinds = append(kinds, a.Sources.Policies(p, w.Policies, "", false))
	}
	return kinds, nil
}
