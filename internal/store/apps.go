package store

import (
	"context"
	"database/sql"
	"errors"

	junctor "github.com/junctor-mcp/junctor"
)

// Approval gives that of a server's page. not_found when it has none.
func (t *Tenant) Approval(ctx context.Context, server, resource string) (junctor.AppApproval, error) {
	a, err := one(ctx, t.s, scanApproval, `SELECT server, resource, digest, approved_by, approved_at FROM app_approvals
		WHERE tenant_id = ? AND server = ? AND resource = ?`, string(t.id), server, resource)
	if errors.Is(err, sql.ErrNoRows) {
		return junctor.AppApproval{}, missing("the page %q is not approved", resource)
	}
	if err != nil {
		return junctor.AppApproval{}, t.s.fail(ctx, err, "read the approval of the page %q", resource)
	}
	return a, nil
}

// PutApproval stores an approval in place of the one that the page had. not_found
// when the tenant has no such server.
func (t *Tenant) PutApproval(ctx context.Context, a junctor.AppApproval) error {
	_, err := t.s.do(ctx, `INSERT INTO app_approvals (tenant_id, server, resource, digest, approved_by, approved_at) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (tenant_id, server, resource) DO UPDATE SET digest = excluded.digest, approved_by = excluded.approved_by, approved_at = excluded.approved_at`,
		string(t.id), a.Server, a.Resource, a.Digest, a.By, micros(a.At))
	if err != nil && t.s.dialect.Code(err) == junctor.CodeNotFound {
		return missing("there is no server %q; junctor server ls lists them", a.Server)
	}
	if err != nil {
		return t.s.fail(ctx, err, "store the approval of the page %q", a.Resource)
	}
	return nil
}

// DeleteApproval takes the approval of a page back. It is no error when it has none.
func (t *Tenant) DeleteApproval(ctx context.Context, server, resource string) error {
	_, err := t.s.do(ctx, `DELETE FROM app_approvals WHERE tenant_id = ? AND server = ? AND resource = ?`, string(t.id), server, resource)
	if err != nil {
		return t.s.fail(ctx, err, "take the approval of the page %q back", resource)
	}
	return nil
}

func scanApproval(row scanner) (junctor.AppApproval, error) {
	var a junctor.AppApproval
	var at int64
	err := row.Scan(&a.Server, &a.Resource, &a.Digest, &a.By, &at)
	a.At = fromMicros(at)
	return a, err
}
