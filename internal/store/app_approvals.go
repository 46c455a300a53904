package store

import (
	"context"
	"database/sql"
	"errors"

	junctor "github.com/junctor-mcp/junctor"
)

// Approval returns the approval of a server's page; not_found if it has none.
func (t *Tenant) Approval(ctx context.Context, server, resource string) (junctor.AppApproval, error) {
	a, err := readOne(ctx, t.s, scanApproval, `SELECT server, resource, digest, approved_by, approved_at FROM app_approvals
		WHERE tenant_id = ? AND server = ? AND resource = ?`, string(t.id), server, resource)
	if errors.Is(err, sql.ErrNoRows) {
		return junctor.AppApproval{}, notFound("the page %q is not approved", resource)
	}
	if err != nil {
		return junctor.AppApproval{}, t.s.wrapError(ctx, err, "read the approval of the page %q", resource)
	}
	return a, nil
}

// AppApprovals returns the approvals of all pages of the tenant.
func (t *Tenant) AppApprovals(ctx context.Context) ([]junctor.AppApproval, error) {
	all, err := readAll(ctx, t.s, scanApproval, `SELECT server, resource, digest, approved_by, approved_at FROM app_approvals
		WHERE tenant_id = ? ORDER BY server, resource`, string(t.id))
	if err != nil {
		return nil, t.s.wrapError(ctx, err, "read the approvals of pages")
	}
	return all, nil
}

// PutApproval stores the approval of a page, in place of a former one; not_found if the
// tenant has no such server.
func (t *Tenant) PutApproval(ctx context.Context, a junctor.AppApproval) error {
	_, err := t.s.execWrite(ctx, `INSERT INTO app_approvals (tenant_id, server, resource, digest, approved_by, approved_at) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (tenant_id, server, resource) DO UPDATE SET digest = excluded.digest, approved_by = excluded.approved_by, approved_at = excluded.approved_at`,
		string(t.id), a.Server, a.Resource, a.Digest, a.By, toMicros(a.At))
	if err != nil && t.s.dialect.Code(err) == junctor.CodeNotFound {
		return notFound("unknown server %q; junctor server ls lists the servers", a.Server)
	}
	if err != nil {
		return t.s.wrapError(ctx, err, "store the approval of the page %q", a.Resource)
	}
	return nil
}

// DeleteApproval deletes the approval of a page. A missing one is not an error.
func (t *Tenant) DeleteApproval(ctx context.Context, server, resource string) error {
	_, err := t.s.execWrite(ctx, `DELETE FROM app_approvals WHERE tenant_id = ? AND server = ? AND resource = ?`, string(t.id), server, resource)
	if err != nil {
		return t.s.wrapError(ctx, err, "revoke the approval of the page %q", resource)
	}
	return nil
}

// scanApproval reads the columns of an approval.
func scanApproval(row scanner) (junctor.AppApproval, error) {
	var a junctor.AppApproval
	var at int64
	err := row.Scan(&a.Server, &a.Resource, &a.Digest, &a.By, &at)
	a.At = fromMicros(at)
	return a, err
}
