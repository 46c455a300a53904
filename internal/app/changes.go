package app

import (
	"context"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/audit"
	"github.com/junctor-mcp/junctor/internal/store"
)

// changeAPI joins audit.ChangeLog and the stored changes to admin.Changes.
type changeAPI struct {
	*audit.ChangeLog
	store *store.Store
}

// Changes implements admin.Changes.
func (c changeAPI) Changes(ctx context.Context, tenant junctor.TenantID, f *junctor.AdminChangeFilter, page *junctor.RowPage) ([]junctor.AdminChange, junctor.RowTotal, error) {
	return c.store.For(tenant).AdminChanges(ctx, f, page)
}

// Change implements admin.Changes.
func (c changeAPI) Change(ctx context.Context, tenant junctor.TenantID, id string) (junctor.AdminChange, error) {
	return c.store.For(tenant).AdminChange(ctx, id)
}
