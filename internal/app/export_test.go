package app

import (
	"context"
	"net/http"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/queue"
	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/worker"
)

// Place hands orders over as a trigger does.
func (a *App) Place(ctx context.Context, tenant junctor.TenantID, orders ...junctor.Order) (ids []string, err error) {
	err = a.queue.Write(ctx, func(ctx context.Context, tx *queue.Tx) (err error) {
		ids, err = worker.Place(ctx, tx, tenant, orders...)
		return err
	})
	return ids, err
}

// Arriving is what requests pass that another process may have sent on.
func (a *App) Arriving(next http.Handler) http.Handler { return a.peers.arriving(next) }

// Sending sends every request on to another process.
func (a *App) Sending(to string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var err error
		for range 10 { // the list may be read anew in between, where there is no such process
			a.peers.meet([]store.Node{{ID: "other", URL: to}})
			if err = a.peers.Forward(w, r, "other", nil); err == nil {
				return
			}
		}
		http.Error(w, err.Error(), http.StatusBadGateway)
	})
}
