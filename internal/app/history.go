package app

import (
	"context"
	"path/filepath"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/history"
	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/store/postgres"
	"github.com/junctor-mcp/junctor/internal/store/sqlite"
	"github.com/junctor-mcp/junctor/internal/telemetry"
)

// openHistory opens what is kept of the calls' payloads: a file of its own
// beside SQLite's, tables of their own in PostgreSQL.
func (a *App) openHistory(ctx context.Context) error {
	var db store.Database
	var err error
	if a.cfg.DB != nil {
		db, err = postgres.OpenHistory(ctx, a.cfg.DB.String())
	} else {
		db, err = sqlite.OpenHistory(ctx, filepath.Join(a.cfg.DataDir, "history.db"))
	}
	if err != nil {
		return err
	}
	a.history, err = history.New(history.Options{ //nolint:contextcheck // its writer lives until Close, not until ctx ends
		Write: db.Write, Read: db.Read, Dialect: db.Dialect, Paths: secretPaths{a.catalog}, Logger: a.log, Max: int(a.cfg.HistorySize),
	})
	if err != nil {
		return err
	}
	a.onClose(func(ctx context.Context) {
		if err := a.history.Close(ctx); err != nil {
			a.log.Error("the call history could not be closed", telemetry.Err(err))
		}
	})
	return nil
}

// recorder is the history, unless none is to be kept.
func (a *App) recorder() interface {
	Record(c *junctor.Call, params, result []byte)
} {
	if a.cfg.HistoryDays == 0 || a.opts.unrecorded {
		return unrecorded{}
	}
	return a.history
}

// unrecorded keeps no payloads.
type unrecorded struct{}

func (unrecorded) Record(*junctor.Call, []byte, []byte) {}

// pruneHistory removes what is older than the settings keep.
func (a *App) pruneHistory(ctx context.Context) error {
	_, err := a.history.Prune(ctx, a.clock.Now().AddDate(0, 0, -a.cfg.HistoryDays))
	return err
}

// secretPaths tells the history which members a tool's own schemas call secret.
type secretPaths struct{ catalog *catalog.Catalog }

func (s secretPaths) SecretPaths(server, tool, version string) (arguments, result []string) {
	return s.catalog.Snapshot().SecretPaths(server, tool, version)
}
