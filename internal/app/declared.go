package app

import (
	"context"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/apigen"
	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/internal/credential"
	"github.com/junctor-mcp/junctor/internal/declare"
)

// Apply makes the instance have what somebody describes. What a file declares is
// the file's.
func (a applier) Apply(ctx context.Context, p *junctor.Principal, w admin.Wanted) ([]admin.Change, error) {
	k := a.app.servers.NewKind(p, w.Servers, "", w.Unseen, false)
	for _, one := range w.Servers {
		if err := a.app.servers.CheckApply(ctx, p, one.Server); err != nil {
			return nil, junctor.Errorf(junctor.CodeOf(err), "servers.%s: %s", one.Server.ID, junctor.AsError(err).Message)
		}
	}
	r := declare.Rule{
		CheckChange: func(noun, id string, h declare.Holding) error {
			return a.app.file.CheckNotDeclared(noun, id, h.Declared)
		},
		Removes: func(h declare.Holding) bool { return w.Prune && !a.app.file.InForce(h.Declared) },
	}
	var kinds []declare.Kind
	events := w.Sources != nil || w.Triggers != nil || w.Schedules != nil
	if w.Servers != nil || w.Agents == nil && !events {
		kinds = append(kinds, k)
	}
	if events && !p.Has(junctor.ScopeAdmin) {
		return nil, junctor.Errorf(junctor.CodeDenied, "sources, triggers and schedules are made with the scope %s", junctor.ScopeAdmin)
	}
	there, err := declare.Remaining(ctx, k, len(kinds) > 0, r)
	if err != nil {
		return nil, err
	}
	if w.Agents != nil {
		if err := mayMakeAgents(p); err != nil {
			return nil, err
		}
		kinds = append(kinds, &agentKind{a: agents(a), p: p, want: w.Agents, servers: there})
	}
	kinds = append(kinds, a.app.eventKinds(p, &w, "", there, false)...)
	steps, err := declare.Survey(ctx, kinds, r)
	for i := range steps {
		steps[i].Command = k.CommandStarted(&steps[i].Change)
	}
	if err != nil || w.DryRun {
		return declare.ChangesOf(steps), err
	}
	declare.CarryOut(ctx, steps)
	return declare.ChangesOf(steps), nil
}

// applier is what the admin API asks for.
type applier struct{ app *App }

// File is how the settings file is doing.
func (a applier) File() admin.FileState { return a.app.file.State() }

// newFile describes the settings file.
func (a *App) newFile() *declare.File {
	return declare.NewFile(declare.FileOptions{
		Config: a.cfg, Log: a.log, Kinds: a.declaredKinds,
		Check: func(cfg *config.Config) []config.Problem { return CheckDeclared(cfg, a.cfg.DataDir) },
	})
}

// declaredKinds gives what a file declares, for the operator who wrote it.
func (a *App) declaredKinds(ctx context.Context, cfg *config.Config, r declare.Rule, starting bool) ([]declare.Kind, error) {
	servers := a.servers.NewKind(a.identity.Local(), wantedServers(cfg), cfg.File(), true, starting)
	there, err := declare.Remaining(ctx, servers, true, r)
	if err != nil {
		return nil, err
	}
	return append([]declare.Kind{servers, a.declaredAgents(cfg, there)}, a.declaredEvents(cfg, there, starting)...), nil
}

// Reload reads the settings file again and puts what it declares into force. A
// file with a problem changes nothing: the error says every one.
func (a *App) Reload(ctx context.Context) error { return a.file.Reload(ctx) }

// wantedServers are those that a file declares.
func wantedServers(cfg *config.Config) (want []admin.WantedServer) {
	for _, d := range cfg.Declared().Servers {
		want = append(want, admin.WantedServer{ServerInput: admin.DeclaredInput(d), Where: d.Where})
	}
	return want
}

// CheckDeclared finds what is wrong with what a file declares that reading it
// cannot tell: references that can never be read, and rules, templates and times
// that are none.
func CheckDeclared(cfg *config.Config, dataDir string) (problems []config.Problem) {
	reader := credential.Reader{DataDir: dataDir}
	for _, s := range cfg.Declared().Servers {
		if s.API != nil {
			if _, err := apigen.NewFilter(s.API); err != nil {
				problems = append(problems, config.Problem{Where: s.Where, Message: "servers." + s.ID + ": " + junctor.AsError(err).Message})
			}
		}
		for _, ref := range s.Connection().References() {
			if err := reader.Check(ref); err != nil {
				problems = append(problems, config.Problem{Where: s.Where, Message: "servers." + s.ID + ": " + junctor.AsError(err).Message})
			}
		}
	}
	d := cfg.Declared()
	return append(problems, checkDeclaredEvents(&d, reader)...)
}
