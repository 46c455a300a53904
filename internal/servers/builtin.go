package servers

import (
	"context"
	"maps"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/autoview"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/credential"
)

// RemoteAgentsID is the built-in server that has a tool for each remote agent. Each tenant
// has its own.
const RemoteAgentsID = "agents"

// AttachBuiltin shows a server inside the binary; one that this binary does not
// have stays away. Its tools get Views where its row says so.
func (s *Registry) AttachBuiltin(ctx context.Context, row *junctor.Server) error {
	b := s.builtin[row.ID]
	if row.ID == RemoteAgentsID {
		b = s.o.AgentServer(row.Tenant)
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

// changeBuiltin changes the one thing, beside its state, that can be changed of a
// server inside the binary: whether its tools get Views.
func (s *Registry) changeBuiltin(ctx context.Context, p *junctor.Principal, former junctor.Server, change func(*junctor.Server) (credential.Set, error)) (junctor.Server, error) {
	row := former
	entered, err := change(&row)
	if err != nil {
		return junctor.Server{}, err
	}
	views := row.Views
	row.Transport = former.Transport // which is said for every row
	same := sameConnection(&row.Connection, &former.Connection) && row.TimeoutMS == former.TimeoutMS && maps.Equal(row.Overrides, former.Overrides)
	if !same || len(entered) > 0 || row.Title != former.Title || row.Private != former.Private {
		return junctor.Server{}, junctor.Errorf(junctor.CodeInvalid, "the server %q is %s: only its state and views can be changed", former.ID, former.Mode)
	}
	if err := views.Check(); err != nil {
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
	s.detach(stored.Tenant, stored.ID)
	return stored, s.AttachBuiltin(ctx, &stored)
}

// OfferBuiltin has a tenant's catalogue offer a built-in server from now on, unless its
// row was removed. starting says that AttachAll is still to come.
func (s *Registry) OfferBuiltin(ctx context.Context, tenant junctor.TenantID, id string, starting bool) error {
	b := s.builtin[id]
	if b == nil {
		return nil
	}
	defer s.lockServer(tenant, id)() // the follower of the rows attaches it, too
	rows := s.o.Store.For(tenant)
	if _, err := rows.Server(ctx, id); junctor.CodeOf(err) != junctor.CodeNotFound {
		return err
	}
	if err := rows.EnsureBuiltin(ctx, b.ID(), b.Title()); err != nil {
		return err
	}
	row, err := rows.Server(ctx, id)
	if err != nil || starting { // it was removed once, and stays away
		return nil
	}
	return s.AttachBuiltin(ctx, &row)
}
