package store

import (
	"context"
	"database/sql"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Tenants lists all tenants by id. The first migration creates the default tenant.
func (s *Store) Tenants(ctx context.Context) ([]junctor.Tenant, error) {
	list, err := readAll(ctx, s, func(row scanner) (junctor.Tenant, error) {
		var t junctor.Tenant
		var created int64
		err := row.Scan(&t.ID, &t.Name, &created)
		t.CreatedAt = fromMicros(created)
		return t, err
	}, `SELECT tenant_id, name, created_at FROM tenants ORDER BY tenant_id`)
	if err != nil {
		return nil, s.wrapError(ctx, err, "list the tenants")
	}
	return list, nil
}

// CreateTenant stores a tenant and its admin key, both or neither; conflict if the id is
// taken.
func (s *Store) CreateTenant(ctx context.Context, tenant junctor.Tenant, admin junctor.Key) error {
	if err := junctor.CheckTenantID(tenant.ID); err != nil {
		return err
	}
	err := s.runTx(ctx, func(tx *sql.Tx) error {
		_, err := s.exec(ctx, tx, `INSERT INTO tenants (tenant_id, name, created_at) VALUES (?, ?, ?)`, string(tenant.ID), tenant.Name, toMicros(tenant.CreatedAt))
		if err != nil {
			return err
		}
		return s.For(tenant.ID).insertKey(ctx, tx, admin)
	})
	if err != nil {
		return s.wrapError(ctx, err, "create the tenant %q", string(tenant.ID))
	}
	return nil
}

// EnsureTenant stores a tenant unless there is one with that id, which stays as it is.
func (s *Store) EnsureTenant(ctx context.Context, id junctor.TenantID, name string) error {
	if id == "" {
		return junctor.Errorf(junctor.CodeInvalid, "a tenant needs an id")
	}
	_, err := s.execWrite(ctx, `INSERT INTO tenants (tenant_id, name, created_at) VALUES (?, ?, ?)
		ON CONFLICT (tenant_id) DO NOTHING`, string(id), name, toMicros(time.Now()))
	if err != nil {
		return s.wrapError(ctx, err, "create the tenant %q", string(id))
	}
	return nil
}
