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

// Schema is how the tables of a database come to be.
type Schema struct {
	Files  fs.FS         // the migrations: numbered SQL files in its root
	Format goose.Dialect // whose SQL they are
	Table  string        // where goose notes which of them were run
	// Lock, where it is set, keeps other processes from migrating until the
	// function it gives is called.
	Lock func(ctx context.Context, db *sql.DB) (release func(), err error)
}

// VersionTable and HistoryVersionTable are where goose notes the migrations of
// the store and of the call history, which share a database on PostgreSQL.
const (
	VersionTable        = "schema_version"
	HistoryVersionTable = "history_version"
)

// migrateAttempts is how often Migrate begins anew when another process is
// migrating the same database.
const migrateAttempts = 10

// Migrate brings the schema of db up to its newest migration; drivers call it
// when they open. Where nothing is to be done it costs one query. A database
// that a newer Junctor has migrated is refused with conflict.
func Migrate(ctx context.Context, db *sql.DB, dialect Dialect, schema Schema) error {
	newest, err := schema.newest()
	if err != nil {
		return err
	}
	return schema.migrate(ctx, db, dialect, newest)
}

// migrate brings the schema of db to a version, never back.
func (s Schema) migrate(ctx context.Context, db *sql.DB, dialect Dialect, target int64) error {
	// Two processes may open a fresh database at the same time. Each migration
	// is one transaction, so without a lock the slower one fails on a step that
	// is done already; it looks again how far the other has come.
	for attempt := 1; ; attempt++ {
		version := s.version(ctx, db)
		if version == target {
			return nil
		}
		if version > target {
			return junctor.Errorf(junctor.CodeConflict,
				"the database has schema version %d, which a newer Junctor gave it, and this one knows %d at most: start that newer Junctor; to go back, restore a backup from before the upgrade, or name another data directory or database", version, target)
		}
		err := untilFree(ctx, dialect, func() error { return s.up(ctx, db, target) })
		if err == nil {
			return nil
		}
		if ctx.Err() != nil || attempt == migrateAttempts || s.version(ctx, db) == version {
			return fmt.Errorf("migrate the schema from version %d to %d: %w", version, target, err)
		}
	}
}

func (s Schema) up(ctx context.Context, db *sql.DB, target int64) error {
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

// version is the newest migration that was run; -1 when there was none or it
// cannot be told, which the attempt to migrate will explain.
func (s Schema) version(ctx context.Context, db *sql.DB) int64 {
	var v int64
	if err := db.QueryRowContext(ctx, `SELECT COALESCE(MAX(version_id), -1) FROM `+s.Table).Scan(&v); err != nil {
		return -1
	}
	return v
}

// newest is the number of the last migration.
func (s Schema) newest() (int64, error) {
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
