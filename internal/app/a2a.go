package app

import (
	"context"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/a2a"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/egress"
)

// pushTimeout is how long an address may take that is told of a task.
const pushTimeout = 15 * time.Second

// openA2A joins the doors at which agents of others meet ours.
func (a *App) openA2A() (err error) {
	client := a.egress.Client(egress.ClientOptions{Timeout: pushTimeout, MaxBytes: 64 << 10})
	a.a2a, err = a2a.New(a2a.Options{
		Store: a.store, Vault: a.vault, Mind: minds{a}.Mind, Tools: a.publishedTools, Catalogs: a.components.Known, Authenticate: a.authenticateDoor, Client: client,
		URL: a.URL, Now: a.clock.Now, Node: a.node, MaxBody: a.cfg.MaxBody, Log: a.log,
	})
	if err == nil {
		a.onClose(func(context.Context) {
			a.a2a.Close()
			client.CloseIdleConnections()
		})
	}
	return err
}

// publishedTools lists what a published agent can call.
func (a *App) publishedTools(_ context.Context, one *junctor.Agent) ([]junctor.Tool, error) {
	as := &junctor.Principal{Tenant: one.Tenant, Issuer: junctor.IssuerAgent, Subject: one.Name, Agent: one.Name, Scopes: agentScopes()}
	return a.catalog.Snapshot().For(one.Tenant).Describe(as, catalog.Filter{}), nil
}
