// Package postgres opens a store in a PostgreSQL database, which several replicas may
// share. It stands below package store, which has the queries, and only app imports it.
//
// Read postgres.go (opening, pools and the migration lock) first, then dialect.go and
// rows.go (the SQL that differs), listen.go (notifications between replicas) and raw.go
// (whole databases for backup). migrations/ has the schema of the store and history/ that
// of the call history.
package postgres

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"io/fs"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql history/*.sql
var migrations embed.FS

// The maximum number of connections of a replica, for the store and for the call history.
// By default a server accepts 100.
const (
	storeConns = 12
	// One for the writer, one for pruning, two for searches, and one for reads that
	// must not wait for any of them.
	historyConns = 5
)

// Settings of every connection, unless the URL has others. They are set by a statement and
// not as parameters of the connection, because poolers do not know those.
const (
	// lockTimeout bounds how long a statement waits for another writer: as long
	// as package store is patient with other databases.
	lockTimeout = "5s"
	// idleTimeout bounds how long a process that stands still in the middle of a
	// transaction keeps what it holds from others: for less than a lease of
	// package queue lasts. When it goes on, its transaction is undone.
	idleTimeout = "10s"
	noTimeout   = "0"
)

// migrationLockKey is the key of the advisory lock that a migrating replica holds:
// "junctor" in ASCII.
const migrationLockKey = 0x6a756e63746f72

// Open opens the database that a URL or a key=value string names, and migrates its schema;
// replicas that start together wait for each other. The database has to exist. The error
// is invalid if the URL cannot be read, unavailable if the server cannot be used, and
// conflict if a newer Junctor wrote the database. No error shows the URL, which may hold a
// password. The caller closes the store.
func Open(ctx context.Context, url string) (*store.Store, error) {
	db, err := openDatabase(ctx, url, storeConns, mainSchema())
	if err != nil {
		return nil, err
	}
	return store.New(db.Write, db.Read, db.Dialect), nil
}

// OpenHistory opens the tables of the call history in the same database, with connections
// of their own, so that its writer does not block the store.
func OpenHistory(ctx context.Context, url string) (store.Database, error) {
	return openDatabase(ctx, url, historyConns, historySchema())
}

// openDatabase opens a pool and migrates its schema. One pool serves reads and writes.
func openDatabase(ctx context.Context, url string, conns int, schema store.Schema) (store.Database, error) {
	db, err := openPool(url, conns, idleTimeout)
	if err != nil {
		return store.Database{}, err
	}
	if err := store.Migrate(ctx, db, dialect{}, schema); err != nil {
		return store.Database{}, openError(ctx, errors.Join(err, db.Close()))
	}
	return store.Database{Write: db, Read: db, Dialect: dialect{}}, nil
}

// openPool opens a pool of connections; none is made until the first use. idle is how long
// a connection may be idle within a transaction.
func openPool(url string, conns int, idle string) (*sql.DB, error) {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		// The parser's own words can quote parts of the URL.
		return nil, junctor.Errorf(junctor.CodeInvalid,
			"the URL of the database is invalid; use the form postgres://user:password@host:5432/database?sslmode=require")
	}
	if cfg.RuntimeParams["application_name"] == "" {
		cfg.RuntimeParams["application_name"] = "junctor"
	}
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = 5 * time.Second
	}
	var tell strings.Builder
	for _, one := range [][2]string{{"lock_timeout", lockTimeout}, {"idle_in_transaction_session_timeout", idle}} {
		if cfg.RuntimeParams[one[0]] == "" {
			tell.WriteString("SET " + one[0] + " = '" + one[1] + "';")
		}
	}
	db := stdlib.OpenDB(*cfg, stdlib.OptionAfterConnect(func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, tell.String())
		return err
	}))
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	db.SetConnMaxIdleTime(5 * time.Minute)
	db.SetConnMaxLifetime(time.Hour) // a server behind a balancer may move
	return db, nil
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
	return store.Schema{Files: files, Format: goose.DialectPostgres, Table: table, Lock: lockMigrations}
}

// lockMigrations takes the advisory lock in a transaction of its own. The lock ends with
// the transaction, even where a pooler gives each transaction another session.
func lockMigrations(ctx context.Context, db *sql.DB) (release func(), err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	release = func() { _ = tx.Rollback() } // it has nothing to keep
	// A migration takes what it takes, and this transaction waits for it.
	if _, err := tx.ExecContext(ctx, `SET LOCAL lock_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0`); err != nil {
		release()
		return nil, err
	}
	if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1)`, int64(migrationLockKey)); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// openError returns the error for a database that could not be opened, with the reason and
// without the URL.
func openError(ctx context.Context, err error) error {
	code, why := junctor.CodeUnavailable, explainOpenError(err)
	switch e := junctor.AsError(err); {
	case ctx.Err() != nil:
		code, why = junctor.CodeOf(ctx.Err()), "the start was cancelled while waiting for the database"
	case e.Code != junctor.CodeInternal && e.Code != junctor.CodeTimeout:
		code, why = e.Code, e.Message
	}
	return &junctor.Error{Code: code, Message: "cannot open the PostgreSQL database: " + why, Cause: err}
}
