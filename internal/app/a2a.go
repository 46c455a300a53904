package app

import (
	"context"
	"time"

	"github.com/junctor-mcp/junctor/internal/a2a"
	"github.com/junctor-mcp/junctor/internal/egress"
)

// pushTimeout bounds one push notification about a task.
const pushTimeout = 15 * time.Second

// openA2A makes the A2A endpoints at which remote agents reach published
// agents.
func (a *App) openA2A() (err error) {
	client := a.egress.Client(egress.ClientOptions{Timeout: pushTimeout, MaxBytes: 64 << 10})
	a.a2a, err = a2a.New(a2a.Options{
		Store: a.store, Vault: a.vault, NewTurn: a.agents.Turns.NewTurn, Tools: a.agents.PublishedTools, Catalogs: a.agents.Components.Known, Authenticate: a.authenticateEndpoint, Client: client,
		URL: a.URL, Now: a.clock.Now, Replica: a.replica, MaxBody: a.cfg.MaxBody, Log: a.log,
	})
	if err == nil {
		a.onClose(func(context.Context) {
			a.a2a.Close()
			client.CloseIdleConnections()
		})
	}
	return err
}
