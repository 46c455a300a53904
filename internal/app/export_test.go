package app

import (
	"context"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/queue"
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
