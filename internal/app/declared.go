package app

import (
	"context"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/admission"
	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/internal/credential"
	"github.com/junctor-mcp/junctor/internal/declare"
)

// Apply makes the instance have what somebody describes. What a file declares is
// the file's.
func (s *servers) Apply(ctx context.Context, p *junctor.Principal, w admin.Wanted) ([]admin.Change, error) {
	k := &serverKind{s: s, p: p, want: w.Servers, unseen: w.Unseen}
	for _, one := range w.Servers {
		if err := s.mayApply(ctx, p, one.Server); err != nil {
			return nil, junctor.Errorf(junctor.CodeOf(err), "servers.%s: %s", one.Server.ID, junctor.AsError(err).Message)
		}
	}
	r := declare.Rule{
		CheckChange: func(noun, id string, h declare.Holding) error {
			return s.app.file.CheckNotDeclared(noun, id, h.Declared)
		},
		Removes: func(h declare.Holding) bool { return w.Prune && !s.app.file.InForce(h.Declared) },
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
		kinds = append(kinds, &agentKind{a: agents{s.app}, p: p, want: w.Agents, servers: there})
	}
	kinds = append(kinds, s.app.eventKinds(p, &w, "", there, false)...)
	steps, err := declare.Survey(ctx, kinds, r)
	for i := range steps {
		steps[i].Command = k.starts(&steps[i].Change)
	}
	if err != nil || w.DryRun {
		return declare.ChangesOf(steps), err
	}
	declare.CarryOut(ctx, steps)
	return declare.ChangesOf(steps), nil
}

// mayApply refuses a server that p may not bring before anything is read, compared
// or run for any of them. One of another's is told of with its own step.
func (s *servers) mayApply(ctx context.Context, p *junctor.Principal, row junctor.Server) error {
	judge := s.judge.Server
	if row.Mode == junctor.ModeGenerated {
		judge = s.judge.Unread
	}
	former, err := s.app.store.For(p.Tenant).Server(ctx, row.ID)
	switch {
	case junctor.CodeOf(err) == junctor.CodeNotFound:
		_, err = judge(ctx, p, row, nil)
	case err == nil && former.Mode != junctor.ModeBuiltin && admission.Owns(p, former.Owner):
		row.Command = credential.KeepCommand(row.Command, former.Command)
		_, err = judge(ctx, p, row, &former)
	case err == nil:
		_, err = s.judge.Preview(ctx, p, row)
	}
	return err
}

// applier is what the admin API asks for.
type applier struct {
	*servers
	file *declare.File
}

// File is how the settings file is doing.
func (a applier) File() admin.FileState { return a.file.State() }

// newFile describes the settings file.
func (a *App) newFile() *declare.File {
	return declare.NewFile(declare.FileOptions{
		Config: a.cfg, Log: a.log, Kinds: a.declaredKinds,
		Check: func(cfg *config.Config) []config.Problem { return CheckDeclared(cfg, a.cfg.DataDir) },
	})
}

// declaredKinds gives what a file declares, for the operator who wrote it.
func (a *App) declaredKinds(ctx context.Context, cfg *config.Config, r declare.Rule, starting bool) ([]declare.Kind, error) {
	servers := a.declaredServers(cfg)
	servers.still = starting
	there, err := declare.Remaining(ctx, servers, true, r)
	if err != nil {
		return nil, err
	}
	return append([]declare.Kind{servers, a.declaredAgents(cfg, there)}, a.declaredEvents(cfg, there, starting)...), nil
}

// Reload reads the settings file again and puts what it declares into force. A
// file with a problem changes nothing: the error says every one.
func (a *App) Reload(ctx context.Context) error { return a.file.Reload(ctx) }
