package app

import (
	"context"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/history"
	"github.com/junctor-mcp/junctor/internal/instance"
	"github.com/junctor-mcp/junctor/internal/telemetry"
)

// openHistory opens the store of call payloads: a file of its own beside
// SQLite's, or tables of its own in PostgreSQL.
func (a *App) openHistory(ctx context.Context) error {
	db, err := instance.OpenHistory(ctx, a.cfg)
	if err != nil {
		return err
	}
	a.history, err = history.New(history.Options{ //nolint:contextcheck // its writer lives until Close, not until ctx ends
		Write: db.Write, Read: db.Read, Dialect: db.Dialect, Paths: secretPaths{a.catalog}, Logger: a.log, MaxPayload: int(a.cfg.HistorySize),
	})
	if err != nil {
		return err
	}
	a.onClose(func(ctx context.Context) {
		if err := a.history.Close(ctx); err != nil {
			a.log.Error("cannot close the call history", telemetry.ErrorAttr(err))
		}
	})
	return nil
}

// recorder returns the history, or unrecorded if the settings keep none.
func (a *App) recorder() interface {
	Record(c *junctor.Call, params, result []byte)
} {
	if a.cfg.HistoryDays == 0 || a.opts.unrecorded {
		return unrecorded{}
	}
	return a.history
}

// unrecorded discards payloads.
type unrecorded struct{}

func (unrecorded) Record(*junctor.Call, []byte, []byte) {}

// pruneHistory removes payloads that are older than the settings keep.
func (a *App) pruneHistory(ctx context.Context) error {
	_, err := a.history.Prune(ctx, a.clock.Now().AddDate(0, 0, -a.cfg.HistoryDays))
	return err
}

// secretPaths returns to the history which members the schemas of a tool mark
// as secret.
type secretPaths struct{ catalog *catalog.Catalog }

func (s secretPaths) SecretPaths(server, tool, version string) (arguments, result []string) {
	return s.catalog.Snapshot().SecretPaths(server, tool, version)
}
