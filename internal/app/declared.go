package app

import (
	"context"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/agents"
	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/internal/declare"
	"github.com/junctor-mcp/junctor/internal/events"
	"github.com/junctor-mcp/junctor/internal/policies"
	"github.com/junctor-mcp/junctor/internal/servers"
	"github.com/junctor-mcp/junctor/internal/upstreamauth"
)

// newFile describes the settings file, and connects the parts that make what it declares.
func (a *App) newFile() *declare.File {
	a.sources = declare.Sources{
		Servers: func(p *junctor.Principal, want []admin.WantedServer, file string, unseen, starting bool) declare.ServerKind {
			return a.servers.NewKind(p, want, file, unseen, starting)
		},
		Agents: func(p *junctor.Principal, want []admin.WantedAgent, file string, servers map[string]bool) declare.Kind {
			return a.agents.NewKind(p, want, file, servers)
		},
		Events: func(p *junctor.Principal, w *admin.Wanted, file string, servers map[string]bool, starting bool) []declare.Kind {
			return a.events.Kinds(p, w, file, servers, starting)
		},
		Policies: func(p *junctor.Principal, want []admin.WantedPolicy, file string, starting bool) declare.Kind {
			return a.policies.NewKind(p, want, file, starting)
		},
		CheckServer: a.servers.CheckApply, CheckAgentMaker: agents.CheckMaker, Operator: a.identity.OperatorPrincipal,
		Changes: a.changes, Show: a.showDeclared,
	}
	return declare.NewFile(declare.FileOptions{
		Config: a.cfg, Log: a.log, Kinds: a.sources.FileKinds, Record: a.sources.RecordFileStep,
		Check: func(cfg *config.Config) []config.Problem { return CheckDeclared(cfg, a.cfg.DataDir) },
	})
}

// showDeclared returns a thing that can be declared, as the admin API shows it.
func (a *App) showDeclared(ctx context.Context, p *junctor.Principal, noun, id string) (any, error) {
	switch noun {
	case "server":
		return servers.AdminAPI{Registry: a.servers}.Server(ctx, p, id)
	case "agent":
		return a.agents.Agent(ctx, p, id)
	case "trigger":
		return a.events.EventAPI().Trigger(ctx, p, id)
	case "source":
		return a.events.EventAPI().Source(ctx, p, id)
	case "schedule":
		list, err := a.events.EventAPI().Schedules(ctx, p)
		for i := range list {
			if list[i].Name == id {
				return list[i], err
			}
		}
		return nil, err
	case "policy":
		return a.policies.Rule(ctx, p, id)
	}
	return nil, junctor.Errorf(junctor.CodeInternal, "a %s cannot be declared", noun)
}

// Reload reads the settings file again and applies what it declares. A file
// with problems changes nothing; the error lists all of them.
func (a *App) Reload(ctx context.Context) error { return a.file.Reload(ctx) }

// CheckDeclared returns the problems of what a file declares that reading it cannot
// find: references that can never be read, and invalid rules, templates and times.
func CheckDeclared(cfg *config.Config, dataDir string) []config.Problem {
	reader := upstreamauth.ReferenceReader{DataDir: dataDir}
	d := cfg.Declared()
	return append(servers.CheckDeclared(&d, reader), append(events.CheckDeclared(&d, reader), policies.CheckDeclared(&d)...)...)
}
