package servers

import (
	"context"
	"log/slog"
	"maps"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admission"
	"github.com/junctor-mcp/junctor/internal/telemetry"
)

// Follow attaches, changes and detaches servers as the rows say that are stored
// by now. documents says that those of generated servers may be others.
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
			if !there && !attachable(&row) || there && !differs(&had, &row, documents) {
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

// attachable says whether a row is of a server that is attached for its own sake:
// one that was found is so when something is delivered to it.
func attachable(row *junctor.Server) bool {
	return row.State != junctor.StateInactive && row.Mode != junctor.ModeFound
}

// differs says whether what is attached may not be what is stored.
func differs(had, row *junctor.Server, documents bool) bool {
	return !attachable(row) || had.Mode != row.Mode || !row.UpdatedAt.Equal(had.UpdatedAt) || documents && row.Mode == junctor.ModeGenerated
}

// followOne has one server be as its row says. The row is read while nobody else
// changes it: what was read before may be older than what is attached.
func (s *Registry) followOne(ctx context.Context, key serverKey, documents bool) error {
	defer s.lockServer(key.tenant, key.id)()
	admitted, err := s.o.Store.For(key.tenant).AdmittedServer(ctx, key.id)
	row := admitted.Row()
	if err != nil && junctor.CodeOf(err) != junctor.CodeNotFound {
		return err
	}
	wanted := err == nil && attachable(&row)
	had, there := s.rowsAttached()[key]
	switch {
	case there && wanted && !differs(&had, &row, documents):
		return nil
	case there && (!wanted || had.Mode != row.Mode):
		s.detach(key.tenant, key.id)
		there = false
	}
	if wanted {
		s.followRow(ctx, admitted, there)
	}
	return nil
}

// followRow has a server be as its row says. dress says what went wrong.
func (s *Registry) followRow(ctx context.Context, admitted admission.Server, there bool) {
	row := admitted.Row()
	switch row.Mode {
	case junctor.ModeBYO:
		if there && !s.isCurrent(&row) {
			s.reconnect(ctx, admitted) // another place has to be reached first
			return
		}
		_ = s.attachUpstream(ctx, admitted, nil) // who sees it, and under which names, is so when this returns
	case junctor.ModeGenerated:
		_ = s.attachGenerated(ctx, admitted)
	case junctor.ModeBuiltin:
		if there {
			s.detach(row.Tenant, row.ID)
		}
		if err := s.AttachBuiltin(ctx, &row); err != nil {
			s.o.Log.Warn("a server could not be attached", slog.String("server", row.ID), telemetry.Err(err))
		}
	case junctor.ModeFound: // attached when something is delivered to it
	}
}

// rowsAttached gives the rows that are attached, as they were then.
func (s *Registry) rowsAttached() map[serverKey]junctor.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	rows := maps.Clone(s.inside)
	for key, b := range s.live {
		rows[key] = b.current().row
	}
	for key, g := range s.made {
		rows[key] = g.served()
	}
	return rows
}

// IsAttached reports whether a server of a tenant is attached.
func (s *Registry) IsAttached(tenant junctor.TenantID, id string) bool {
	_, attached := s.rowsAttached()[serverKey{tenant, id}]
	return attached
}
