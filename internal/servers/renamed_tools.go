package servers

import (
	"cmp"
	"context"
	"log/slog"
	"slices"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/telemetry"
)

// moveRenamedTags takes what people said of tools to the names that the tools have now:
// a row was changed that says how they are shown. That it did not work is logged,
// since the change itself is made.
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
	err := s.moveTags(ctx, row, moved)
	if err == nil {
		err = s.o.Agents.Reload(ctx, row.Tenant)
	}
	if err != nil {
		s.o.Log.Error("what people said of tools could not be kept when the tools were renamed", slog.String("server", row.ID), telemetry.Err(err))
	}
}

// moveTags gives tags the names that their tools have now. Names may be
// exchanged: all are taken away before any is given.
func (s *Registry) moveTags(ctx context.Context, row *junctor.Server, moved map[string]string) error {
	rows := s.o.Store.For(row.Tenant)
	tags, err := rows.Tags(ctx)
	if err != nil {
		return err
	}
	tags = slices.DeleteFunc(tags, func(t junctor.ToolTag) bool { return t.Server != row.ID || moved[t.Tool] == "" })
	for _, t := range tags {
		if err := rows.DeleteTag(ctx, t.Server, t.Tool); err != nil {
			return err
		}
	}
	for _, t := range tags {
		t.Tool = moved[t.Tool]
		if err := rows.PutTag(ctx, t); err != nil {
			return err
		}
	}
	return nil
}
