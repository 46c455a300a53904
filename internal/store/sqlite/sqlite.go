// Package sqlite opens a store in one SQLite file. It is the default driver, which
// requires no other program. It stands below package store, which has the queries, and
// only app imports it.
//
// Read sqlite.go (opening and the pools) first, then dialect.go and rows.go (the SQL that
// differs) and raw.go (whole databases for backup). migrations/ has the schema of the
// store and history/ that of the call history.
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

// maxReaders is how many reads may run at the same time. Readers and the writer do not
// wait for each other.
const maxReaders = 4

// busyTimeout is how long, in milliseconds, one attempt to write waits for the writer of
// another process; package store makes several attempts. SQLite does not notice that a
// context ends while it waits, so this also bounds how late a write notices it.
const busyTimeout = "100"

// Open opens the database at path, creates it if it does not exist, and migrates its
// schema. The file is readable by its owner only. Several processes may have it open. The
// error is unavailable if the file cannot be used, and conflict if a newer Junctor wrote
// it. The caller closes the store.
func Open(ctx context.Context, path string) (*store.Store, error) {
	db, err := openDatabase(ctx, path, mainSchema())
	if err != nil {
		return nil, err
	}
	return store.New(db.Write, db.Read, db.Dialect), nil
}

// OpenHistory opens the file of the call history in the same way. It is a separate file,
// so that its writer does not block that of the store.
func OpenHistory(ctx context.Context, path string) (store.Database, error) {
	return openDatabase(ctx, path, historySchema())
}

// openDatabase opens a file with its two pools, one connection for writes and several for
// reads, and migrates its schema in between.
func openDatabase(ctx context.Context, path string, schema store.Schema) (store.Database, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return store.Database{}, junctor.Errorf(junctor.CodeInvalid, "cannot open the database %s: invalid path: %w", path, err)
	}
	write, err := createWriter(path)
	if err != nil {
		return store.Database{}, openError(path, err)
	}
	if err := store.Migrate(ctx, write, dialect{}, schema); err != nil {
		return store.Database{}, openError(path, errors.Join(err, write.Close()))
	}
	read, err := openPool(path, maxReaders, url.Values{"_query_only": {"on"}})
	if err != nil {
		return store.Database{}, openError(path, errors.Join(err, write.Close()))
	}
	return store.Database{Write: write, Read: read, Dialect: dialect{}}, nil
}

// createWriter creates the file if it does not exist, and opens it for one writer.
func createWriter(path string) (*sql.DB, error) {
	if err := createPrivateFile(path); err != nil {
		return nil, err
	}
	return openWriter(path)
}

// openWriter opens the pool for writes. It has one connection, because SQLite has one
// writer.
func openWriter(path string) (*sql.DB, error) {
	return openPool(path, 1, url.Values{
		"_txlock":       {"immediate"}, // a transaction that reads first must not find itself unable to write
		"_journal_mode": {"WAL"},
		"_synchronous":  {"NORMAL"}, // survives kill -9; a power cut may cost the last commits, never the file
		"_foreign_keys": {"on"},
	})
}

// mainSchema and historySchema are the migrations of the store and of the call history.
func mainSchema() store.Schema    { return newSchema("migrations", store.VersionTable) }
func historySchema() store.Schema { return newSchema("history", store.HistoryVersionTable) }

// newSchema returns the migrations in an embedded folder.
func newSchema(folder, table string) store.Schema {
	files, err := fs.Sub(migrations, folder)
	if err != nil {
		files = embed.FS{} // the name is no path: a mistake that every test sees
	}
	return store.Schema{Files: files, Format: goose.DialectSQLite3, Table: table}
}

// createPrivateFile creates the file with mode 0600, and removes the rights of group and
// others from an existing one. SQLite gives its side files the same mode.
func createPrivateFile(path string) error {
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

// idleTimeout is how long an unused reader is kept. Each connection holds about a
// megabyte, and opening one takes a millisecond or two. The single writer stays open:
// SQLite deletes its side files with the last connection.
const idleTimeout = 20 * time.Second

// openPool opens a pool of connections; none is made until the first use.
func openPool(path string, size int, params url.Values) (*sql.DB, error) {
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
		db.SetConnMaxIdleTime(idleTimeout)
	}
	return db, nil
}

// openError returns the error for a file that could not be opened, with its path and the
// reason.
func openError(path string, err error) error {
	code, why := junctor.CodeUnavailable, explainOpenError(err)
	if e := junctor.AsError(err); e.Code != junctor.CodeInternal {
		code, why = e.Code, e.Message
	}
	return &junctor.Error{Code: code, Message: "cannot open the database " + path + ": " + why, Cause: err}
}
