package servers

import (
	"cmp"
	"context"
	"log/slog"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/telemetry"
)

// moveRenamedTags moves the tags of tools to their new names after a change of
// a row renamed the tools. Failures are only logged, because the change itself
// is stored.
func (s *Registry) moveRenamedTags(ctx context.Context, former, row *junctor.Server) {
	shown := func(overrides map[string]junctor.Override, own string) string {
		return cmp.Or(overrides[own].Name, own)
	}
	moved := map[string]string{}
	for _, all := range []map[string]junctor.Override{former.Overrides, row.Overrides} {
		for own := range all {
			if was, is := shown(former.Overrides, own), shown(row.Overrides, own); was != is {
				moved[was] = is
			}
		}
	}
	if len(moved) == 0 {
		return
	}
	ctx = context.WithoutCancel(ctx)
	err := s.o.Store.For(row.Tenant).RenameTags(ctx, row.ID, moved)
	if err == nil {
		err = s.o.Agents.Reload(ctx, row.Tenant)
	}
	if err != nil {
		s.o.Log.Error("cannot move the tags of renamed tools", slog.String("server", row.ID), telemetry.ErrorAttr(err))
	}
}
