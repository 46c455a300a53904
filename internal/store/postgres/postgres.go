// Package postgres opens a store in a PostgreSQL database, which several
// instances may share. It stands below package store, which holds the queries,
// and only app imports it.
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

// Connections that an instance keeps at most, for the store and for the call
// history. A server takes 100 unless told otherwise.
const (
	storeConns   = 12
	historyConns = 3
)

// What connections are told, unless the URL says otherwise. It is no parameter of
// the connection, as poolers do not know it.
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

// migrationLock is the key of the advisory lock that a migrating instance
// holds: "junctor" in ASCII.
const migrationLock = 0x6a756e63746f72

// Open opens the database that a URL or a key=value string names and brings its
// schema up to date; instances that start together wait for each other. The
// database must exist. Errors: invalid when the URL is not one, unavailable
// when the server cannot be used, conflict when a newer Junctor wrote it. None
// of them shows the URL, which may hold a password.
func Open(ctx context.Context, url string) (*store.Store, error) {
	db, err := openDatabase(ctx, url, storeConns, mainSchema())
	if err != nil {
		return nil, err
	}
	return store.New(db.Write, db.Read, db.Dialect), nil
}

// OpenHistory opens the tables of the call history in the same database, with
// connections of their own, so that its writer is in nobody's way.
func OpenHistory(ctx context.Context, url string) (store.Database, error) {
	return openDatabase(ctx, url, historyConns, historySchema())
}

func openDatabase(ctx context.Context, url string, conns int, schema store.Schema) (store.Database, error) {
	db, err := pool(url, conns, idleTimeout)
	if err != nil {
		return store.Database{}, err
	}
	if err := store.Migrate(ctx, db, dialect{}, schema); err != nil {
		return store.Database{}, openError(ctx, errors.Join(err, db.Close()))
	}
	return store.Database{Write: db, Read: db, Dialect: dialect{}}, nil
}

// pool opens a pool of connections; none is made until the first use. idle is how
// long one of them may do nothing within a transaction.
func pool(url string, conns int, idle string) (*sql.DB, error) {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		// The parser's own words can quote parts of the URL.
		return nil, junctor.Errorf(junctor.CodeInvalid,
			"the address of the database cannot be read; it has the form postgres://user:password@host:5432/database?sslmode=require")
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

func mainSchema() store.Schema    { return schema("migrations", store.VersionTable) }
func historySchema() store.Schema { return schema("history", store.HistoryVersionTable) }

func schema(folder, table string) store.Schema {
	files, err := fs.Sub(migrations, folder)
	if err != nil {
		files = embed.FS{} // the name is no path: a mistake that every test sees
	}
	return store.Schema{Files: files, Format: goose.DialectPostgres, Table: table, Lock: lock}
}

// lock takes the advisory lock in a transaction of its own: it ends with it,
// even where a pooler hands out another session for each transaction.
func lock(ctx context.Context, db *sql.DB) (release func(), err error) {
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
	if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1)`, int64(migrationLock)); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// openError says why the database could not be opened.
func openError(ctx context.Context, err error) error {
	code, why := junctor.CodeUnavailable, reason(err)
	switch e := junctor.AsError(err); {
	case ctx.Err() != nil:
		code, why = junctor.CodeOf(ctx.Err()), "the start was given up while waiting for it"
	case e.Code != junctor.CodeInternal && e.Code != junctor.CodeTimeout:
		code, why = e.Code, e.Message
	}
	return &junctor.Error{Code: code, Message: "cannot open the PostgreSQL database: " + why, Cause: err}
}
