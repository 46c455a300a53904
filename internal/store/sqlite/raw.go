package sqlite

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store"
)

// catalogQuery is the query of store.Raw.Catalog.
const catalogQuery = `SELECT m.name, c.name, c.pk FROM sqlite_schema m, pragma_table_info(m.name) c
	WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' ORDER BY m.rowid, c.cid`

// Raw opens the tables of the store's file, which other processes may use meanwhile. It
// does not create the file; MigrateTo does.
func Raw(ctx context.Context, path string) (*store.Raw, error) {
	return openRaw(ctx, path, mainSchema())
}

// RawHistory opens the tables of the call history's file in the same way.
func RawHistory(ctx context.Context, path string) (*store.Raw, error) {
	return openRaw(ctx, path, historySchema())
}

// openRaw opens a file as store.Raw. An empty file counts as absent.
func openRaw(_ context.Context, path string, schema store.Schema) (*store.Raw, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "cannot open the database %s: invalid path: %w", path, err)
	}
	write, err := openWriter(path)
	if err != nil {
		return nil, openError(path, err)
	}
	read, err := openPool(path, maxReaders, url.Values{"_query_only": {"on"}})
	if err != nil {
		return nil, openError(path, errors.Join(err, write.Close()))
	}
	return &store.Raw{
		Database: store.Database{Write: write, Read: read, Dialect: dialect{}},
		Engine:   "sqlite", Schema: schema, Catalog: catalogQuery,
		Absent: func() bool {
			info, err := os.Stat(path)
			return errors.Is(err, os.ErrNotExist) || err == nil && info.Size() == 0
		},
		Make: func() error { return createPrivateFile(path) },
	}, nil
}
