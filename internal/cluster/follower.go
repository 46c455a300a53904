package cluster

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/junctor-mcp/junctor/internal/telemetry"
)

const (
	// gatherTime is how long to wait for more changes after the first: one operation
	// changes several tables.
	gatherTime = 20 * time.Millisecond
	// reloadRetry is how long to wait after a failed reload.
	reloadRetry = time.Second
)

// Follower reloads what this replica holds in memory when another replica has changed
// it in the database. Calls never wait for it: each part is read beside them and
// replaced whole.
type Follower struct {
	reload func(ctx context.Context, changed func(tables ...string) bool) error
	log    *slog.Logger

	mu    sync.Mutex
	dirty map[string]bool // tables that changed; "" means all
	wake  chan struct{}   // holds one
}

// NewFollower returns a Follower that calls reload after changes. changed reports
// whether one of the tables may have changed.
func NewFollower(reload func(ctx context.Context, changed func(tables ...string) bool) error, log *slog.Logger) *Follower {
	return &Follower{reload: reload, log: log, dirty: map[string]bool{}, wake: make(chan struct{}, 1)}
}

// MarkChanged notes that a table changed; "" stands for every table.
func (f *Follower) MarkChanged(table string) {
	f.mu.Lock()
	f.dirty[table] = true
	f.mu.Unlock()
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

func (f *Follower) takeChanged() map[string]bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	taken := f.dirty
	f.dirty = map[string]bool{}
	return taken
}

// Run reloads after each change until ctx ends. A failed reload is repeated.
func (f *Follower) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.wake:
		}
		if !sleep(ctx, gatherTime) {
			return
		}
		tables := f.takeChanged()
		err := f.reload(ctx, func(names ...string) bool {
			return tables[""] || slices.ContainsFunc(names, func(name string) bool { return tables[name] })
		})
		if err == nil {
			f.log.Debug("changes of other replicas read", slog.Any("tables", slices.Sorted(maps.Keys(tables))))
		}
		if err != nil && ctx.Err() == nil {
			f.log.Warn("cannot read the changes of other replicas; retrying in a second", telemetry.ErrorAttr(err))
			if !sleep(ctx, reloadRetry) {
				return
			}
			for table := range tables {
				f.MarkChanged(table)
			}
		}
	}
}

// sleep waits for d. It returns false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
