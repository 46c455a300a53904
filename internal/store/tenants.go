package store

import (
	"context"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Tenants lists all tenants by id. The default tenant is there from the first
// migration on.
func (s *Store) Tenants(ctx context.Context) ([]junctor.Tenant, error) {
	list, err := all(ctx, s, func(row scanner) (junctor.Tenant, error) {
		var t junctor.Tenant
		var created int64
		err := row.Scan(&t.ID, &t.Name, &created)
		t.CreatedAt = fromMicros(created)
		return t, err
	}, `SELECT tenant_id, name, created_at FROM tenants ORDER BY tenant_id`)
	if err != nil {
		return nil, s.fail(ctx, err, "list the tenants")
	}
	return list, nil
}

// EnsureTenant creates a tenant where there is none with that id, and leaves an
// existing one as it is.
func (s *Store) EnsureTenant(ctx context.Context, id junctor.TenantID, name string) error {
	if id == "" {
		return junctor.Errorf(junctor.CodeInvalid, "a tenant needs an id")
	}
	_, err := s.do(ctx, `INSERT INTO tenants (tenant_id, name, created_at) VALUES (?, ?, ?)
		ON CONFLICT (tenant_id) DO NOTHING`, string(id), name, micros(time.Now()))
	if err != nil {
		return s.fail(ctx, err, "create the tenant %q", string(id))
	}
	return nil
}
