package servers

import (
	"context"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/guard"
	"github.com/junctor-mcp/junctor/internal/queue"
)

// ClassifyUnknownTool decides what happens to a delivery whose tool is unknown
// on this replica. If other replicas share the database, one of them may just
// have added or changed the server, so the delivery waits. It is also retried
// while the server has not listed its tools yet, or has listed them only just
// now.
func (s *Registry) ClassifyUnknownTool(ctx context.Context, op *guard.Op) queue.Outcome {
	if !s.o.SharesDatabase {
		return queue.OutcomeFatal
	}
	tenant, id := op.Principal.Tenant, op.Scope.Server
	key := serverKey{tenant, id}
	row, err := s.o.Store.For(tenant).Server(ctx, id)
	had, there := s.rowsAttached()[key]
	s.mu.Lock()
	_, broken := s.broken[key]
	s.mu.Unlock()
	switch {
	case junctor.CodeOf(err) == junctor.CodeNotFound || err == nil && !isAttachable(&row) || broken:
		return queue.OutcomeFatal
	case err != nil || !there || needsFollowing(&had, &row, false):
		return queue.OutcomeNotStarted
	}
	shelf := s.o.Catalog.Snapshot().For(tenant)
	if at, err := shelf.Server(s.o.Operator(), id); err != nil || at.Offer.Awaited {
		return queue.OutcomeRetry // it is being attached, or has not answered yet
	}
	if _, err := shelf.Tool(op.Principal, op.Scope, op.Name, ""); err == nil {
		return queue.OutcomeRetry
	}
	return queue.OutcomeFatal
}
