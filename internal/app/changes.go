package app

import (
	"context"
	"strconv"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/audit"
	"github.com/junctor-mcp/junctor/internal/store"
)

// changeAPI joins audit.ChangeLog and the stored changes to admin.Changes.
type changeAPI struct {
	*audit.ChangeLog
	store *store.Store
}

// Changes implements admin.Changes. A cursor has the time in microseconds and the ID of the
// last change of its page.
func (c changeAPI) Changes(ctx context.Context, tenant junctor.TenantID, f junctor.AdminChangeFilter, cursor string) ([]junctor.AdminChange, string, error) {
	if cursor != "" {
		at, id, ok := strings.Cut(cursor, "-")
		us, err := strconv.ParseInt(at, 10, 64)
		if !ok || id == "" || err != nil {
			return nil, "", junctor.Errorf(junctor.CodeInvalid, "unknown cursor %q: use the next of the page before", cursor)
		}
		f.BeforeAt, f.BeforeID = time.UnixMicro(us), id
	}
	limit := f.Limit
	f.Limit++ // one more tells whether there are more
	list, err := c.store.For(tenant).AdminChanges(ctx, &f)
	if err != nil || len(list) <= limit {
		return list, "", err
	}
	last := &list[limit-1]
	return list[:limit], strconv.FormatInt(last.At.UnixMicro(), 10) + "-" + last.ID, nil
}

// Change implements admin.Changes.
func (c changeAPI) Change(ctx context.Context, tenant junctor.TenantID, id string) (junctor.AdminChange, error) {
	return c.store.For(tenant).AdminChange(ctx, id)
}
