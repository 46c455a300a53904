package servers

import (
	"context"
	"log/slog"
	"maps"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admission"
	"github.com/junctor-mcp/junctor/internal/telemetry"
)

// Follow attaches, changes and detaches servers so that they match the stored
// rows. documents means that the documents of generated servers may have
// changed too.
func (s *Registry) Follow(ctx context.Context, documents bool) error {
	tenants, err := s.o.Store.Tenants(ctx)
	if err != nil {
		return err
	}
	rest := s.rowsAttached()
	for _, tenant := range tenants {
		rows, err := s.o.Store.For(tenant.ID).Servers(ctx)
		if err != nil {
			return err
		}
		for _, row := range rows {
			key := serverKey{row.Tenant, row.ID}
			had, there := rest[key]
			delete(rest, key)
			if !there && !isAttachable(&row) || there && !needsFollowing(&had, &row, documents) {
				continue
			}
			if err := s.followOne(ctx, key, documents); err != nil {
				return err
			}
		}
	}
	for key := range rest {
		if err := s.followOne(ctx, key, documents); err != nil {
			return err
		}
	}
	return nil
}

// isAttachable reports whether a row is attached as soon as it exists. Discovered
// servers are attached at their first delivery.
func isAttachable(row *junctor.Server) bool {
	return row.State != junctor.StateInactive && row.Mode != junctor.ModeDiscovered
}

// needsFollowing reports whether the attached server may differ from its stored row.
func needsFollowing(had, row *junctor.Server, documents bool) bool {
	return !isAttachable(row) || had.Mode != row.Mode || !row.UpdatedAt.Equal(had.UpdatedAt) || documents && row.Mode == junctor.ModeGenerated
}

// followOne makes one attached server match its row. It reads the row under the
// server's lock, because a row read earlier may be older than what is attached.
func (s *Registry) followOne(ctx context.Context, key serverKey, documents bool) error {
	defer s.lockServer(key.tenant, key.id)()
	admitted, err := s.o.Store.For(key.tenant).AdmittedServer(ctx, key.id)
	row := admitted.Row()
	if err != nil && junctor.CodeOf(err) != junctor.CodeNotFound {
		return err
	}
	wanted := err == nil && isAttachable(&row)
	had, there := s.rowsAttached()[key]
	switch {
	case there && wanted && !needsFollowing(&had, &row, documents):
		return nil
	case there && (!wanted || had.Mode != row.Mode):
		s.detachServer(key.tenant, key.id)
		there = false
	}
	if wanted {
		s.followRow(ctx, admitted, there)
	}
	return nil
}

// followRow attaches a server as its row says. Errors are shown by addStatus.
func (s *Registry) followRow(ctx context.Context, admitted admission.Server, there bool) {
	row := admitted.Row()
	switch row.Mode {
	case junctor.ModeBYO:
		if there && !s.isCurrent(&row) {
			s.reconnect(ctx, admitted) // the new destination must answer first
			return
		}
		_ = s.attachUpstream(ctx, admitted, nil) // visibility and names must be in force when this returns
	case junctor.ModeGenerated:
		_ = s.attachGenerated(ctx, admitted)
	case junctor.ModeBuiltin:
		if there {
			s.detachServer(row.Tenant, row.ID)
		}
		if err := s.AttachBuiltin(ctx, &row); err != nil {
			s.o.Log.Warn("cannot attach a server", slog.String("server", row.ID), telemetry.ErrorAttr(err))
		}
	case junctor.ModeDiscovered: // attached at its first delivery
	}
}

// rowsAttached returns the rows of the attached servers, as they were when
// attached.
func (s *Registry) rowsAttached() map[serverKey]junctor.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	rows := maps.Clone(s.inside)
	for key, b := range s.live {
		rows[key] = b.currentConnection().row
	}
	for key, g := range s.made {
		rows[key] = g.attachedRow()
	}
	return rows
}

// IsAttached reports whether a server of a tenant is attached.
func (s *Registry) IsAttached(tenant junctor.TenantID, id string) bool {
	_, attached := s.rowsAttached()[serverKey{tenant, id}]
	return attached
}
