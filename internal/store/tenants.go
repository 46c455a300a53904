package store

import (
	"context"
	"database/sql"
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

// CreateTenant creates a tenant and its admin key, both or neither; conflict
// when the id is taken.
func (s *Store) CreateTenant(ctx context.Context, tenant junctor.Tenant, admin junctor.Key) error {
	if err := junctor.CheckTenantID(tenant.ID); err != nil {
		return err
	}
	err := s.tx(ctx, func(tx *sql.Tx) error {
		_, err := s.exec(ctx, tx, `INSERT INTO tenants (tenant_id, name, created_at) VALUES (?, ?, ?)`, string(tenant.ID), tenant.Name, micros(tenant.CreatedAt))
		if err != nil {
			return err
		}
		return s.For(tenant.ID).insertKey(ctx, tx, admin)
	})
	if err != nil {
		return s.fail(ctx, err, "create the tenant %q", string(tenant.ID))
	}
	return nil
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
