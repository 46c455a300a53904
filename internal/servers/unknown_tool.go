package servers

import (
	"context"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/guard"
	"github.com/junctor-mcp/junctor/internal/queue"
)

// ClassifyUnknownTool says what becomes of a delivery whose tool was not known here. Where
// others share the database, one of them may have added the server, or changed it,
// a moment ago: then the delivery waits. A server that has not said yet what it has
// is tried again, and so is one of which that has just been heard.
func (s *Registry) ClassifyUnknownTool(ctx context.Context, op *guard.Op) queue.Class {
	if !s.o.SharesDatabase {
		return queue.Fatal
	}
	tenant, id := op.Principal.Tenant, op.View.Server
	key := serverKey{tenant, id}
	row, err := s.o.Store.For(tenant).Server(ctx, id)
	had, there := s.rowsAttached()[key]
	s.mu.Lock()
	_, broken := s.broken[key]
	s.mu.Unlock()
	switch {
	case junctor.CodeOf(err) == junctor.CodeNotFound || err == nil && !attachable(&row) || broken:
		return queue.Fatal
	case err != nil || !there || differs(&had, &row, false):
		return queue.Unbegun
	}
	shelf := s.o.Catalog.Snapshot().For(tenant)
	if at, err := shelf.Server(s.o.Operator(), id); err != nil || at.Offer.Awaited {
		return queue.Retry // it is just being attached, or has not answered
	}
	if _, err := shelf.Tool(op.Principal, op.View, op.Name, ""); err == nil {
		return queue.Retry
	}
	return queue.Fatal
}
