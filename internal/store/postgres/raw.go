package postgres

import (
	"context"
	"database/sql"

	"github.com/junctor-mcp/junctor/internal/store"
)

// catalogQuery is the query of store.Raw.Catalog.
const catalogQuery = `SELECT t.relname, c.attname, COALESCE(array_position(k.indkey::int2[], c.attnum) + 1, 0)
	FROM pg_class t JOIN pg_attribute c ON c.attrelid = t.oid AND c.attnum > 0 AND NOT c.attisdropped AND c.attgenerated = ''
	LEFT JOIN pg_index k ON k.indrelid = t.oid AND k.indisprimary
	WHERE t.relkind = 'r' AND t.relnamespace = current_schema()::regnamespace ORDER BY t.oid, c.attnum`

// Raw opens the tables of the store, which replicas may use meanwhile.
func Raw(ctx context.Context, url string) (*store.Raw, error) { return openRaw(ctx, url, mainSchema()) }

// RawHistory opens the tables of the call history in the same database.
func RawHistory(ctx context.Context, url string) (*store.Raw, error) {
	return openRaw(ctx, url, historySchema())
}

// openRaw opens a database as store.Raw, and connects to it once to fail early.
func openRaw(ctx context.Context, url string, schema store.Schema) (*store.Raw, error) {
	// A copy of a database reads or writes it at the pace of the other side.
	db, err := openPool(url, historyConns, noTimeout)
	if err != nil {
		return nil, err
	}
	if err := db.PingContext(ctx); err != nil {
		_ = db.Close() // the first error counts
		return nil, openError(ctx, err)
	}
	return &store.Raw{
		Database: store.Database{Write: db, Read: db, Dialect: dialect{}},
		Engine:   "postgres", Schema: schema, Catalog: catalogQuery, Isolation: sql.LevelRepeatableRead,
	}, nil
}
