package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	junctor "github.com/junctor-mcp/junctor"

	"github.com/pressly/goose/v3"
)

// Schema is the migrations of a database.
type Schema struct {
	Files  fs.FS         // the migrations: numbered SQL files in its root
	Format goose.Dialect // whose SQL they are
	Table  string        // where goose notes which of them were run
	// Lock, where it is set, keeps other processes from migrating until the
	// function it gives is called.
	Lock func(ctx context.Context, db *sql.DB) (release func(), err error)
}

// VersionTable and HistoryVersionTable are the tables in which goose records the
// migrations of the store and of the call history, which share a database on PostgreSQL.
const (
	VersionTable        = "schema_version"
	HistoryVersionTable = "history_version"
)

// migrateAttempts is how often a migration starts again while another process migrates the
// same database.
const migrateAttempts = 10

// Migrate brings the schema of db to its newest migration. Drivers call it when they open
// a database. If nothing is to be done, it costs one query. A database that a newer
// Junctor has migrated is refused with conflict.
func Migrate(ctx context.Context, db *sql.DB, dialect Dialect, schema Schema) error {
	newest, err := schema.newestVersion()
	if err != nil {
		return err
	}
	return schema.migrateTo(ctx, db, dialect, newest)
}

// migrateTo brings the schema of db up to a version, never back.
func (s Schema) migrateTo(ctx context.Context, db *sql.DB, dialect Dialect, target int64) error {
	// Two processes may open a fresh database at the same time. Each migration
	// is one transaction, so without a lock the slower one fails on a step that
	// is done already; it looks again how far the other has come.
	for attempt := 1; ; attempt++ {
		version := s.readVersion(ctx, db)
		if version == target {
			return nil
		}
		if version > target {
			return junctor.Errorf(junctor.CodeConflict,
				"the database has schema version %d from a newer Junctor, but this version supports at most %d; start the newer Junctor, or restore a backup from before the upgrade, or use another data directory or database", version, target)
		}
		err := retryWhileBusy(ctx, dialect, func() error { return s.runMigrations(ctx, db, target) })
		if err == nil {
			return nil
		}
		if ctx.Err() != nil || attempt == migrateAttempts || s.readVersion(ctx, db) == version {
			return fmt.Errorf("migrate the schema from version %d to %d: %w", version, target, err)
		}
	}
}

// runMigrations runs the missing migrations up to target, under Lock if there is one.
func (s Schema) runMigrations(ctx context.Context, db *sql.DB, target int64) error {
	if s.Lock != nil {
		release, err := s.Lock(ctx, db)
		if err != nil {
			return err
		}
		defer release()
	}
	provider, err := goose.NewProvider(s.Format, db, s.Files,
		goose.WithTableName(s.Table), goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return err
	}
	_, err = provider.UpTo(ctx, target)
	return err
}

// readVersion returns the newest migration that was run. It returns -1 if there was none
// or it cannot be read; the attempt to migrate then gives the reason.
func (s Schema) readVersion(ctx context.Context, db *sql.DB) int64 {
	var v int64
	if err := db.QueryRowContext(ctx, `SELECT COALESCE(MAX(version_id), -1) FROM `+s.Table).Scan(&v); err != nil {
		return -1
	}
	return v
}

// newestVersion returns the number of the last migration that this program has.
func (s Schema) newestVersion() (int64, error) {
	files, err := fs.Glob(s.Files, "*.sql")
	if err != nil {
		return 0, fmt.Errorf("list the migrations: %w", err)
	}
	if len(files) == 0 {
		return 0, errors.New("there are no migrations")
	}
	var newest int64
	for _, file := range files {
		number, _, _ := strings.Cut(path.Base(file), "_")
		v, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("the migration %s does not begin with a number: %w", file, err)
		}
		newest = max(newest, v)
	}
	return newest, nil
}

// SchemaVersion returns the number of the newest migration that was run.
func (s *Store) SchemaVersion(ctx context.Context) (int64, error) {
	version, err := readOne(ctx, s, scanCount, `SELECT MAX(version_id) FROM `+VersionTable)
	if err != nil {
		return 0, s.wrapError(ctx, err, "read the version of the schema")
	}
	return version, nil
}
