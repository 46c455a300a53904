package app

import (
	"github.com/junctor-mcp/junctor/internal/agents"
	"github.com/junctor-mcp/junctor/internal/instance"
)

// newAgents makes the registry of agents. attachAgents connects it.
func (a *App) newAgents() *agents.Registry {
	return agents.New(agents.Options{
		Store: a.store, Vault: a.vault, Catalog: a.catalog, Egress: a.egress, Limits: a.limits, SecretRow: instance.SecretRow,
		URL: a.URL, Loopback: a.cfg.Loopback(), ThisMachineOnly: a.cfg.ThisMachineOnly(), Log: a.log,
	})
}

// attachAgents connects the parts that are made after the agents.
func (a *App) attachAgents() {
	a.agents.Attach(agents.Parts{
		Identity: a.identity, Servers: a.servers, Pipeline: a.guard, Apps: a.apps, EndSessions: a.gateway.EndSessions, CheckNotDeclared: a.file.CheckNotDeclared,
	})
}
