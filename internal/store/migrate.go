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

// versionTable is where goose notes which migrations were run.
const versionTable = "schema_version"

// migrateAttempts is how often Migrate begins anew when another process is
// migrating the same database.
const migrateAttempts = 10

// Migrate brings the schema of db up to the newest of the migrations, numbered
// SQL files in the root of fsys; drivers call it when they open. Where nothing
// is to be done it costs one query. A database that a newer Junctor has
// migrated is refused with conflict.
func Migrate(ctx context.Context, db *sql.DB, dialect Dialect, format goose.Dialect, fsys fs.FS) error {
	newest, err := newestMigration(fsys)
	if err != nil {
		return err
	}
	// Two processes may open a fresh database at the same time. Each migration
	// is one transaction, so the slower one fails on a step that is done
	// already; it looks again how far the other has come.
	for attempt := 1; ; attempt++ {
		version := schemaVersion(ctx, db)
		if version == newest {
			return nil
		}
		if version > newest {
			return junctor.Errorf(junctor.CodeConflict,
				"the database has schema version %d, and this Junctor knows %d at most: start the newer Junctor that wrote it, or another data directory", version, newest)
		}
		err := untilFree(ctx, dialect, func() error { return up(ctx, db, format, fsys) })
		if err == nil {
			return nil
		}
		if ctx.Err() != nil || attempt == migrateAttempts || schemaVersion(ctx, db) == version {
			return fmt.Errorf("migrate the schema from version %d to %d: %w", version, newest, err)
		}
	}
}

func up(ctx context.Context, db *sql.DB, format goose.Dialect, fsys fs.FS) error {
	provider, err := goose.NewProvider(format, db, fsys,
		goose.WithTableName(versionTable), goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return err
	}
	_, err = provider.Up(ctx)
	return err
}

// schemaVersion is the newest migration that was run; -1 when there was none or
// it cannot be told, which the attempt to migrate will explain.
func schemaVersion(ctx context.Context, db *sql.DB) int64 {
	var v int64
	if err := db.QueryRowContext(ctx, `SELECT COALESCE(MAX(version_id), -1) FROM `+versionTable).Scan(&v); err != nil {
		return -1
	}
	return v
}

func newestMigration(fsys fs.FS) (int64, error) {
	files, err := fs.Glob(fsys, "*.sql")
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
