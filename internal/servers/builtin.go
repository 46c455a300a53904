package servers

import (
	"context"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/autoview"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/upstreamauth"
)

// AttachBuiltin attaches a built-in server. A row for a server that this binary
// does not have is ignored. The tools get generated App views if the row says
// so.
func (s *Registry) AttachBuiltin(ctx context.Context, row *junctor.Server) error {
	b := s.builtin[row.ID]
	if row.ID == RemoteAgentsID {
		b = nil
		if agents := s.o.AgentServer(row.Tenant); agents != nil {
			b = agents.Server
		}
	}
	if b == nil {
		return nil
	}
	var backend catalog.Backend = b
	if row.Views == junctor.ViewsOn {
		backend = autoview.With(b, false)
	}
	if err := s.o.Catalog.Attach(ctx, row.Tenant, row.ID, row.Mode, backend); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inside[serverKey{row.Tenant, row.ID}] = *row
	return nil
}

// changeBuiltin changes the only member of a built-in server that can change
// apart from its state: whether its tools get generated App views.
func (s *Registry) changeBuiltin(ctx context.Context, p *junctor.Principal, former junctor.Server, change func(*junctor.Server) (upstreamauth.LiteralSet, error)) (junctor.Server, error) {
	row := former
	entered, err := change(&row)
	if err != nil {
		return junctor.Server{}, err
	}
	views := row.Views
	row.Transport = former.Transport // set for every row
	row.Views = former.Views
	if len(row.DifferentFields(&former.Connection)) > 0 || len(entered) > 0 || row.Title != former.Title || row.Private != former.Private {
		return junctor.Server{}, junctor.Errorf(junctor.CodeInvalid, "the server %q is %s: only its state and views can be changed", former.ID, former.Mode)
	}
	if err := junctor.CheckFields(junctor.Connection{Views: views}); err != nil {
		return junctor.Server{}, err
	}
	row = former
	row.Views = views
	admitted, err := s.Judge.Server(ctx, p, row, &former)
	if err != nil {
		return junctor.Server{}, err
	}
	defer s.lockServer(row.Tenant, row.ID)()
	changed, err := s.o.Store.For(row.Tenant).By(p.ID()).UpdateServer(ctx, admitted)
	stored := changed.Row()
	if err != nil || stored.State == junctor.StateInactive || stored.Views == former.Views {
		return stored, err
	}
	s.detachServer(stored.Tenant, stored.ID)
	return stored, s.AttachBuiltin(ctx, &stored)
}

// OfferBuiltin stores and attaches a built-in server for a tenant, unless its
// row was removed before. starting means that AttachAll is still to come, which
// attaches it. added reports that the tenant did not have it before.
func (s *Registry) OfferBuiltin(ctx context.Context, tenant junctor.TenantID, id string, starting bool) (added bool, err error) {
	b := s.builtin[id]
	if b == nil {
		return false, nil
	}
	defer s.lockServer(tenant, id)() // Follow may attach it at the same time
	rows := s.o.Store.For(tenant)
	if _, err := rows.Server(ctx, id); junctor.CodeOf(err) != junctor.CodeNotFound {
		return false, err
	}
	if err := rows.EnsureBuiltin(ctx, b.ID(), b.Title()); err != nil {
		return false, err
	}
	row, err := rows.Server(ctx, id)
	switch {
	case err != nil: // it was removed once, and stays removed
		return false, nil
	case starting:
		return true, nil
	}
	return true, s.AttachBuiltin(ctx, &row)
}
