package storetest

import (
	"context"
	"testing"

	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/store/pgtest"
	"github.com/junctor-mcp/junctor/internal/store/postgres"
	"github.com/junctor-mcp/junctor/internal/store/sqlite"
)

// EachEngine runs a test on both engines at the same time, each on an empty database. open
// opens the database, as one more process of the instance would.
func EachEngine(t *testing.T, pool *pgtest.Pool, test func(t *testing.T, open func(context.Context) (*store.Store, error))) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := Fresh(t)
		test(t, func(ctx context.Context) (*store.Store, error) { return sqlite.Open(ctx, path) })
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		url := pgtest.Seeded(t, pool, postgres.Open)
		test(t, func(ctx context.Context) (*store.Store, error) { return postgres.Open(ctx, url) })
	})
}
