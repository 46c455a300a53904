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

const catalog = `SELECT m.name, c.name, c.pk FROM sqlite_schema m, pragma_table_info(m.name) c
	WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' ORDER BY m.rowid, c.cid`

// Raw gives the tables of the store's file, which may be in use by others. The
// file is not made until its schema is.
func Raw(ctx context.Context, path string) (*store.Raw, error) { return raw(ctx, path, mainSchema()) }

// RawHistory gives the tables of the call history's file.
func RawHistory(ctx context.Context, path string) (*store.Raw, error) {
	return raw(ctx, path, historySchema())
}

func raw(_ context.Context, path string, schema store.Schema) (*store.Raw, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "cannot open the database %s: the path makes no sense here: %w", path, err)
	}
	write, err := writer(path)
	if err != nil {
		return nil, openError(path, err)
	}
	read, err := pool(path, readers, url.Values{"_query_only": {"on"}})
	if err != nil {
		return nil, openError(path, errors.Join(err, write.Close()))
	}
	return &store.Raw{
		Database: store.Database{Write: write, Read: read, Dialect: dialect{}},
		Engine:   "sqlite", Schema: schema, Catalog: catalog,
		Absent: func() bool {
			info, err := os.Stat(path)
			return errors.Is(err, os.ErrNotExist) || err == nil && info.Size() == 0
		},
		Make: func() error { return private(path) },
	}, nil
}
