package app

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store/postgres"
	"github.com/junctor-mcp/junctor/internal/telemetry"
)

const (
	// gather is how long what follows a first piece of news is waited for: one
	// change touches several tables.
	gather = 20 * time.Millisecond
	// followAgain is when what could not be read is tried once more.
	followAgain = time.Second
)

// follower keeps what this process holds in memory as the database has it, which
// other processes change too. Calls never wait for it: each part is read beside
// them, and published whole.
type follower struct {
	app *App

	mu    sync.Mutex
	dirty map[string]bool // tables that changed; "" is all of them
	news  chan struct{}   // holds one
}

func newFollower(a *App) *follower {
	return &follower{app: a, dirty: map[string]bool{}, news: make(chan struct{}, 1)}
}

// tell notes that a table changed.
func (f *follower) tell(table string) {
	f.mu.Lock()
	f.dirty[table] = true
	f.mu.Unlock()
	select {
	case f.news <- struct{}{}:
	default:
	}
}

func (f *follower) take() map[string]bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	taken := f.dirty
	f.dirty = map[string]bool{}
	return taken
}

// run follows until ctx ends.
func (f *follower) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.news:
		}
		if !pause(ctx, gather) {
			return
		}
		tables := f.take()
		err := f.follow(ctx, tables)
		if err == nil {
			f.app.log.Debug("what another process may have changed was read", slog.Any("tables", slices.Sorted(maps.Keys(tables))))
		}
		if err != nil && ctx.Err() == nil {
			f.app.log.Warn("what another process changed could not be read; it is tried again in a second", telemetry.Err(err))
			if !pause(ctx, followAgain) {
				return
			}
			for table := range tables {
				f.tell(table)
			}
		}
	}
}

// pause waits; it says false where ctx ended.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// follow reads what is made of the tables that changed. The order is that of the
// parts: what a server is granted to is read before it is attached.
func (f *follower) follow(ctx context.Context, tables map[string]bool) error {
	changed := func(names ...string) bool {
		return tables[""] || slices.ContainsFunc(names, func(name string) bool { return tables[name] })
	}
	a := f.app
	var errs []error
	if changed("ring_keys") {
		errs = append(errs, a.ring.Rotate(ctx))
	}
	if changed("settings", "tenants") {
		errs = append(errs, a.limits.load(ctx))
	}
	if changed("agents", "agent_grants", "tool_tags", "tenants") {
		errs = append(errs, a.rights.load(ctx))
	}
	if changed("keys", "users", "logins", "agents", "tenants") {
		errs = append(errs, a.people(ctx))
	}
	if changed("consents", "consent_tokens") {
		errs = append(errs, a.followConsents(ctx))
	}
	if changed("nodes") {
		errs = append(errs, a.peers.look(ctx))
	}
	if tables[""] { // what was said of sessions may have been missed
		errs = append(errs, a.gateway.Recheck(ctx))
	}
	if changed("servers", "api_documents", "tenants") {
		errs = append(errs, a.servers.Follow(ctx, changed("api_documents")))
	}
	return errors.Join(errs...)
}

// people reads who is who, and ends what is open here by credentials that are not
// good any more.
func (a *App) people(ctx context.Context) error {
	rotated, err := a.identity.Follow(ctx)
	if err != nil {
		return err
	}
	for n := range rotated {
		a.gateway.Rotated(&rotated[n])
	}
	a.gateway.EndStreams(func(q *junctor.Principal) bool {
		if !a.identity.Stands(q) {
			return true
		}
		if q.Agent == "" {
			return false
		}
		_, err := a.catalog.Snapshot().For(q.Tenant).Acting(q, q.Agent)
		return err != nil
	})
	return nil
}

// listen hears what other processes say, until ctx ends.
func (a *App) listen(ctx context.Context) {
	follow := newFollower(a)
	var work sync.WaitGroup
	defer work.Wait()
	work.Go(func() { follow.run(ctx) })
	work.Go(func() { a.peers.hear(ctx) })
	postgres.Listen(ctx, a.cfg.DB.String(), postgres.Listener{Jobs: a.queue.Poke, Changed: follow.tell, Said: func(text string) {
		if !a.peers.said(text) {
			follow.tell("") // more than can be taken in: all is looked at instead
		}
	}})
}
