package catalog

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"

	junctor "github.com/junctor-mcp/junctor"
)

// Options of a Catalog.
type Options struct {
	// NameLimit is the longest tool or prompt name on an endpoint that joins
	// servers. Longer names are cut and get a hash. 0 means 64, the limit of the
	// model providers.
	NameLimit int
	// Exposure is how endpoints that join servers show the tools of servers that
	// have no exposure of their own; "" lists all tools.
	Exposure junctor.Exposure
	// Logger reports tools that are left out and offers that cannot be read. nil
	// discards the messages.
	Logger *slog.Logger
}

// Catalog holds the attached servers and the current snapshot of what they
// offer. Its methods are safe for use by several goroutines. Close it when
// done: refreshes run in goroutines of its own.
type Catalog struct {
	log     *slog.Logger
	builder snapshotBuilder

	mu             sync.Mutex // serialises changes; readers load current instead
	servers        map[serverKey]*attachedServer
	access         map[junctor.TenantID]*accessRules
	current        atomic.Pointer[Snapshot]
	renders        atomic.Int64
	batchDepth     int      // Together calls that run; above zero, changes wait
	snapshotStale  bool     // a change waits for the end of Together
	pendingChanges []Change // announced at the end of Together

	hub             changeHub
	refreshes       sync.WaitGroup
	refreshCtx      context.Context // ends when Close is called
	cancelRefreshes context.CancelFunc
}

// serverKey identifies an attached server: ids are unique within a tenant.
type serverKey struct {
	tenant junctor.TenantID
	id     string
}

// attachedServer is one server with its backend and its last offer. Catalog.mu
// guards the fields below backend.
type attachedServer struct {
	key      serverKey
	mode     junctor.Mode
	owner    string
	exposure junctor.Exposure
	backend  Backend
	offer    *Offer // nil while it is being attached: its id is reserved, but nobody sees it

	// One refresh runs at a time. A change that arrives meanwhile sets
	// refreshAgain.
	refreshing, refreshAgain  bool
	startedReads, appliedRead uint64 // number of the last read that began, and of the newest that was applied
}

// New makes an empty catalog.
func New(o Options) *Catalog {
	if o.NameLimit == 0 {
		o.NameLimit = 64
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	c := &Catalog{log: o.Logger, servers: map[serverKey]*attachedServer{}, access: map[junctor.TenantID]*accessRules{}}
	c.builder = snapshotBuilder{nameLimit: o.NameLimit, joinedExposure: o.Exposure, renders: &c.renders, rules: sync.OnceValue(newWordRules), searchWords: sync.OnceValue(newSearchWords), log: o.Logger, schemas: newSchemaCache(maxCachedSchemas)}
	c.refreshCtx, c.cancelRefreshes = context.WithCancel(context.Background())
	c.current.Store(&Snapshot{shelves: map[junctor.TenantID]*Shelf{}})
	return c
}

// AttachOption changes how Attach attaches a server.
type AttachOption func(*attachedServer)

// OwnedBy makes a server private: only the party with this Principal.ID, its
// agents and admins see it.
func OwnedBy(party string) AttachOption { return func(a *attachedServer) { a.owner = party } }

// ExposedAs sets how every endpoint shows the tools of a server. Without this
// option, the server's own endpoint lists all tools, and endpoints that join
// servers follow Options.Exposure.
func ExposedAs(e junctor.Exposure) AttachOption {
	if e == "" {
		e = junctor.ExposureAuto
	}
	return func(a *attachedServer) { a.exposure = e }
}

// Classify returns the roles that a tool would get, before its server is
// attached.
func (c *Catalog) Classify(server string, tool []byte, topic string) junctor.Class {
	return *c.builder.rules().classifyTool(server, tool, topic)
}

// Attach adds a server to a tenant and reads its offer. If the id is taken, it
// returns a conflict. If the offer cannot be read, it returns that error and
// the server is not attached. The catalog does not close the backend: its owner
// does, after Detach.
func (c *Catalog) Attach(ctx context.Context, tenant junctor.TenantID, id string, mode junctor.Mode, b Backend, opts ...AttachOption) error {
	if err := junctor.CheckServerID(id); err != nil {
		return err
	}
	key := serverKey{tenant, id}
	c.mu.Lock()
	if _, taken := c.servers[key]; taken {
		c.mu.Unlock()
		return junctor.Errorf(junctor.CodeConflict, "a server with the id %q is attached already", id)
	}
	s := &attachedServer{key: key, mode: mode, backend: b}
	for _, o := range opts {
		o(s)
	}
	c.servers[key] = s
	c.mu.Unlock()

	// Register the listener before reading: otherwise a change in between is lost.
	b.Watch(func(e Event) { c.handleEvent(s, e) })
	offer, err := b.Offer(ctx)

	c.mu.Lock()
	// Detach may have run while the offer was read.
	if c.servers[key] != s && err == nil {
		err = junctor.Errorf(junctor.CodeConflict, "the server %q was detached while it was being attached", id)
	}
	if err != nil {
		if c.servers[key] == s {
			delete(c.servers, key)
		}
		c.mu.Unlock()
		return err
	}
	s.offer = offer
	c.publishSnapshot()
	// A change was reported while the offer was read.
	if s.refreshAgain {
		s.refreshAgain = false
		c.startRefresh(s)
	}
	c.announceChange(Change{Tenant: tenant, Server: id, Tools: true, Prompts: true, Resources: true})
	c.mu.Unlock()
	return nil
}

// Detach removes a server and everything that it offers from the lists. Running
// calls continue to their end. An unknown id is ignored.
func (c *Catalog) Detach(tenant junctor.TenantID, id string) {
	key := serverKey{tenant, id}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.servers[key]
	delete(c.servers, key)
	if s != nil && s.offer != nil {
		c.publishSnapshot()
		c.announceChange(Change{Tenant: tenant, Server: id, Tools: true, Prompts: true, Resources: true})
	}
}

// Together runs f and publishes the changes that f makes as one snapshot when f
// returns. Without it, attaching many servers would build a snapshot for each
// of them, which is a large part of a start. Calls may nest; the outermost
// publishes. It returns the error of f, and publishes in that case too.
func (c *Catalog) Together(f func() error) error {
	c.mu.Lock()
	c.batchDepth++
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.batchDepth--; c.batchDepth > 0 {
			return
		}
		if c.snapshotStale {
			c.publishSnapshot()
		}
		for _, change := range c.pendingChanges {
			c.announceChange(change)
		}
		c.pendingChanges = nil
	}()
	return f()
}

// Snapshot returns the catalog as it is now. It takes no lock.
func (c *Catalog) Snapshot() *Snapshot { return c.current.Load() }

// Renders counts how often a list was rendered: once per permission set,
// catalog scope and version of the catalog, never per request. Tests hold it to
// that.
func (c *Catalog) Renders() int64 { return c.renders.Load() }

// Close cancels the refreshes that run and waits for them. It does not touch
// the backends.
func (c *Catalog) Close() {
	c.mu.Lock()
	c.cancelRefreshes()
	c.mu.Unlock()
	c.refreshes.Wait()
}

// handleEvent takes a report of a backend. It does not block: a changed offer
// is read in a goroutine, one at a time per server. Reports of a detached
// server are ignored.
func (c *Catalog) handleEvent(s *attachedServer, e Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.servers[s.key] != s:
	case e.Kind == EventUpdated:
		c.announceChange(Change{Tenant: s.key.tenant, Server: s.key.id, URI: e.URI, Party: e.Party})
	case e.Kind == EventTask:
		c.announceChange(Change{Tenant: s.key.tenant, Server: s.key.id, Party: e.Party, Task: e.Task})
	case e.Kind == EventAnnounced:
		// Clients are notified as if they were connected to the server directly.
		if s.offer != nil && e.Lists.Any() {
			c.announceChange(Change{Tenant: s.key.tenant, Server: s.key.id, Tools: e.Lists.Tools, Prompts: e.Lists.Prompts, Resources: e.Lists.Resources})
		}
	case s.refreshing || s.offer == nil:
		s.refreshAgain = true
	default:
		c.startRefresh(s)
	}
}

// startRefresh reads the offer again in a goroutine, unless Close was called.
// The caller holds mu.
func (c *Catalog) startRefresh(s *attachedServer) {
	if c.refreshCtx.Err() != nil {
		return
	}
	s.refreshing = true
	c.refreshes.Go(func() { c.refreshOffer(s) })
}

// refreshOffer reads the offer until no further change was reported meanwhile.
// If a read fails, the former offer stays in force.
func (c *Catalog) refreshOffer(s *attachedServer) {
	for {
		if err := c.readOffer(c.refreshCtx, s); err != nil {
			c.log.Warn("cannot refresh a server's lists; the former lists stay in use", "server", s.key.id, "error", err)
		}
		c.mu.Lock()
		if !s.refreshAgain || c.refreshCtx.Err() != nil {
			s.refreshing = false
			c.mu.Unlock()
			return
		}
		s.refreshAgain = false
		c.mu.Unlock()
	}
}

// Refresh reads the offer of a server and returns once the new snapshot is
// visible to everybody, for changes that must take effect at once. A read that
// began earlier and ends later is discarded. An unknown id is ignored.
func (c *Catalog) Refresh(ctx context.Context, tenant junctor.TenantID, id string) error {
	c.mu.Lock()
	s := c.servers[serverKey{tenant, id}]
	if s != nil && s.offer == nil { // Attach is running, and reads it again
		s.refreshAgain = true
		s = nil
	}
	c.mu.Unlock()
	if s == nil {
		return nil
	}
	return c.readOffer(ctx, s)
}

// readOffer reads the offer of a server and applies it, unless a read that
// began later has been applied already.
func (c *Catalog) readOffer(ctx context.Context, s *attachedServer) error {
	c.mu.Lock()
	s.startedReads++
	n := s.startedReads
	c.mu.Unlock()
	offer, err := s.backend.Offer(ctx)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if n > s.appliedRead {
		s.appliedRead = n
		c.replaceOffer(s, offer)
	}
	return nil
}

// replaceOffer applies a new offer, and announces the lists that differ. The
// caller holds mu.
func (c *Catalog) replaceOffer(s *attachedServer, offer *Offer) {
	change := compareOffers(s.offer, offer)
	change.Tenant, change.Server = s.key.tenant, s.key.id
	lists := change.Tools || change.Prompts || change.Resources
	// Other capabilities need a new snapshot, but no notification about lists.
	other := !hasSameAbilities(s.offer, offer)
	s.offer = offer
	if c.servers[s.key] != s {
		return
	}
	if lists || other {
		c.publishSnapshot()
	}
	if lists {
		c.announceChange(change)
	}
}

// publishSnapshot builds the next snapshot, or leaves that to the end of
// Together. The caller holds mu.
func (c *Catalog) publishSnapshot() {
	if c.snapshotStale = c.batchDepth > 0; !c.snapshotStale {
		c.current.Store(buildSnapshot(c.servers, c.access, c.current.Load(), &c.builder))
	}
}

// announceChange notifies the watchers, once the change is visible in a
// snapshot. The caller holds mu.
func (c *Catalog) announceChange(change Change) {
	if c.batchDepth > 0 {
		c.pendingChanges = append(c.pendingChanges, change)
		return
	}
	c.hub.sendChange(change)
}
