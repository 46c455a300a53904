package store_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"io/fs"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/fstest"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
)

// counting counts the statements that reach the database.
type counting struct {
	driver.Connector
	statements *atomic.Int64
}

func (c counting) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	return countingConn{conn, c.statements}, err
}

type countingConn struct {
	driver.Conn
	statements *atomic.Int64
}

func (c countingConn) Prepare(query string) (driver.Stmt, error) {
	c.statements.Add(1)
	return c.Conn.Prepare(query)
}

func (c countingConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	c.statements.Add(1)
	return c.Conn.(driver.ConnBeginTx).BeginTx(ctx, opts)
}

// calm is the dialect of a database that nobody else uses.
type calm struct{}

func (calm) Bind(query string) string { return query }
func (calm) Code(error) junctor.Code  { return "" }
func (calm) Busy(error) bool          { return false }

func (calm) SelectRows(string) string { return "" }

func (calm) Zip(...any) (string, []any, error) { return "", nil, nil }

func (calm) Sync() string           { return "" }
func (calm) Durably() (_, _ string) { return "", "" }
func (calm) Skip() string           { return "" }
func (calm) Wait() string           { return "" }
func (calm) Row() string            { return "" }
func (calm) Among(string) string    { return "" }
func (calm) Notify() string         { return "" }
func (calm) Stuck(string) string    { return "" }
func (calm) Members(string) string  { return "" }
func (calm) Writers() int           { return 1 }
func (calm) Tell() string           { return "" }
func (calm) Now() string            { return "0" }
func (calm) UseIndex(string) string { return "" }
func (calm) Searches() int          { return 1 }

func (calm) IgnoreCase(column string) string { return column }

func database(t *testing.T, path string) (*sql.DB, *atomic.Int64) {
	t.Helper()
	connector, err := sqlite.NewConnector(path)
	if err != nil {
		t.Fatal(err)
	}
	statements := new(atomic.Int64)
	db := sql.OpenDB(counting{connector, statements})
	t.Cleanup(func() { _ = db.Close() })
	return db, statements
}

const (
	readOne = "-- +goose Up\nCREATE TABLE one (a TEXT);\nINSERT INTO one VALUES ('kept');\n"
	two     = "-- +goose Up\nALTER TABLE one ADD COLUMN b TEXT NOT NULL DEFAULT 'new';\n"
	three   = "-- +goose Up\nCREATE TABLE three (a TEXT);\nCREATE TABLE one (a TEXT);\n"
)

func schema(files fs.FS) store.Schema {
	return store.Schema{Files: files, Format: goose.DialectSQLite3, Table: store.VersionTable}
}

func TestMigrateStepByStep(t *testing.T) {
	t.Parallel()
	db, statements := database(t, filepath.Join(t.TempDir(), "a.db"))
	fsys := fstest.MapFS{"00001_one.sql": {Data: []byte(readOne)}}
	migrate := func() error { return store.Migrate(t.Context(), db, calm{}, schema(fsys)) }
	if err := migrate(); err != nil {
		t.Fatal(err)
	}
	fsys["00002_two.sql"] = &fstest.MapFile{Data: []byte(two)}
	if err := migrate(); err != nil {
		t.Fatal(err)
	}
	var a, b string
	if err := db.QueryRowContext(t.Context(), `SELECT a, b FROM one`).Scan(&a, &b); err != nil || a != "kept" || b != "new" {
		t.Errorf("after two migrations: %q, %q, %v", a, b, err)
	}

	statements.Store(0)
	if err := migrate(); err != nil {
		t.Fatal(err)
	}
	if n := statements.Load(); n != 1 {
		t.Errorf("where nothing is to be done, %d statements are run", n)
	}

	// A migration that fails half-way leaves nothing behind.
	fsys["00003_three.sql"] = &fstest.MapFile{Data: []byte(three)}
	if err := migrate(); err == nil {
		t.Error("a broken migration went through")
	}
	var tables int
	if err := db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM sqlite_schema WHERE name = 'three'`).Scan(&tables); err != nil || tables != 0 {
		t.Errorf("the broken migration left %d tables, %v", tables, err)
	}

	// An older program does not touch what a newer one wrote.
	delete(fsys, "00002_two.sql")
	delete(fsys, "00003_three.sql")
	if err := migrate(); junctor.CodeOf(err) != junctor.CodeConflict {
		t.Errorf("an older program: %v", err)
	}
}

func TestMigrateRefusesOddFiles(t *testing.T) {
	t.Parallel()
	db, _ := database(t, filepath.Join(t.TempDir(), "a.db"))
	for name, fsys := range map[string]fstest.MapFS{
		"none":      {},
		"no number": {"first.sql": {Data: []byte(readOne)}},
	} {
		if err := store.Migrate(t.Context(), db, calm{}, schema(fsys)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
