// Package sqlite opens a store in one SQLite file: the driver that needs
// nothing else to be started. It stands below package store, which holds the
// queries, and only app imports it.
package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
)

//go:embed migrations/*.sql history/*.sql
var migrations embed.FS

// readers is how many reads may run at a time. They do not wait for the writer,
// nor it for them.
const readers = 4

// busyTimeout is how long, in milliseconds, one attempt to write waits for the
// writer of another process; package store makes several. SQLite does not hear
// of a context that ends while it waits, so this is also how late a write can
// notice.
const busyTimeout = "100"

// Open opens the database at path, which is made when it is not there, and
// brings its schema up to date. The file is readable by its owner only. Several
// processes may have it open. Errors: unavailable when the file cannot be used,
// conflict when a newer Junctor wrote it.
func Open(ctx context.Context, path string) (*store.Store, error) {
	db, err := openDatabase(ctx, path, mainSchema())
	if err != nil {
		return nil, err
	}
	return store.New(db.Write, db.Read, db.Dialect), nil
}

// OpenHistory opens the file of the call history in the same way: a file of its
// own, so that its writer is in nobody's way.
func OpenHistory(ctx context.Context, path string) (store.Database, error) {
	return openDatabase(ctx, path, historySchema())
}

func openDatabase(ctx context.Context, path string, schema store.Schema) (store.Database, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return store.Database{}, junctor.Errorf(junctor.CodeInvalid, "cannot open the database %s: the path makes no sense here: %w", path, err)
	}
	write, err := openWriter(path)
	if err != nil {
		return store.Database{}, openError(path, err)
	}
	if err := store.Migrate(ctx, write, dialect{}, schema); err != nil {
		return store.Database{}, openError(path, errors.Join(err, write.Close()))
	}
	read, err := pool(path, readers, url.Values{"_query_only": {"on"}})
	if err != nil {
		return store.Database{}, openError(path, errors.Join(err, write.Close()))
	}
	return store.Database{Write: write, Read: read, Dialect: dialect{}}, nil
}

// openWriter makes the file where there is none, and opens it for one writer.
func openWriter(path string) (*sql.DB, error) {
	if err := private(path); err != nil {
		return nil, err
	}
	return writer(path)
}

func writer(path string) (*sql.DB, error) {
	return pool(path, 1, url.Values{
		"_txlock":       {"immediate"}, // a transaction that reads first must not find itself unable to write
		"_journal_mode": {"WAL"},
		"_synchronous":  {"NORMAL"}, // survives kill -9; a power cut may cost the last commits, never the file
		"_foreign_keys": {"on"},
	})
}

func mainSchema() store.Schema    { return schema("migrations", store.VersionTable) }
func historySchema() store.Schema { return schema("history", store.HistoryVersionTable) }

func schema(folder, table string) store.Schema {
	files, err := fs.Sub(migrations, folder)
	if err != nil {
		files = embed.FS{} // the name is no path: a mistake that every test sees
	}
	return store.Schema{Files: files, Format: goose.DialectSQLite3, Table: table}
}

// private makes the file with mode 0600, and takes group and others out of the
// mode of one that was there. SQLite gives its side files the same mode.
func private(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close() // nothing was written
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return f.Chmod(0o600)
	}
	return nil
}

// keepIdle is how long one of several connections is kept that nobody uses: each
// holds about a megabyte, and one that is missed is open again in a millisecond or
// two. A single one stays: with the last one SQLite takes its side files away.
const keepIdle = 20 * time.Second

// pool opens a pool of connections; none is made until the first use.
func pool(path string, size int, params url.Values) (*sql.DB, error) {
	params.Set("_busy_timeout", busyTimeout)
	// Pages that a connection keeps, in KiB. Records are written in their order, and
	// the system has the file in memory anyway; the usual 2 MiB for each connection
	// were a tenth of what a busy instance holds, and gained nothing that was seen.
	params.Set("_pragma", "cache_size(-500)")
	params.Set("_dqs", "0") // a mistyped column is an error, not a string
	params.Set("_defensive", "1")
	name := filepath.ToSlash(path)
	if !strings.HasPrefix(name, "/") { // a drive letter
		name = "/" + name
	}
	dsn := url.URL{Scheme: "file", Path: name, RawQuery: params.Encode()}
	connector, err := sqlite.NewConnector(dsn.String())
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	if size > 1 {
		db.SetConnMaxIdleTime(keepIdle)
	}
	return db, nil
}

// openError says which file could not be opened, and why.
func openError(path string, err error) error {
	code, why := junctor.CodeUnavailable, reason(err)
	if e := junctor.AsError(err); e.Code != junctor.CodeInternal {
		code, why = e.Code, e.Message
	}
	return &junctor.Error{Code: code, Message: "cannot open the database " + path + ": " + why, Cause: err}
}
