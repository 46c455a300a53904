package catalog_test

import (
	"errors"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
)

// What changes together is seen, and announced, at once and no earlier.
func TestTogether(t *testing.T) {
	t.Parallel()
	c := newCatalog(t, catalog.Options{})
	attach(t, c, "old", junctor.ModeBuiltin, server(t, "old", "t"))
	before := c.Snapshot().Version()
	w := c.Watch()
	defer w.Stop()
	w.Take()
	why := errors.New("no more")
	err := c.Together(func() error {
		attach(t, c, "a", junctor.ModeBuiltin, server(t, "a", "t"))
		_ = c.Together(func() error {
			attach(t, c, "b", junctor.ModeBuiltin, server(t, "b", "t"))
			return nil
		})
		c.Detach(tenant, "old")
		if got := toolNames(t, c, catalog.Scope{}); len(got) != 1 || len(w.Take()) != 0 {
			t.Errorf("%q is seen before the end", got)
		}
		return why
	})
	if got := toolNames(t, c, catalog.Scope{}); !errors.Is(err, why) || len(got) != 2 || got[0] != "a__t" || got[1] != "b__t" {
		t.Errorf("%v, %q", err, got)
	}
	if n := c.Snapshot().Version() - before; n != 1 {
		t.Errorf("%d snapshots, want one for all", n)
	}
	if changes := w.Take(); len(changes) != 3 {
		t.Errorf("announced: %+v", changes)
	}
	// And what comes later is seen as ever; nothing changes for nothing.
	_ = c.Together(func() error { return nil })
	attach(t, c, "c", junctor.ModeBuiltin, server(t, "c", "t"))
	if n := c.Snapshot().Version() - before; n != 2 || len(toolNames(t, c, catalog.Scope{})) != 3 {
		t.Errorf("%d snapshots", n)
	}
}
