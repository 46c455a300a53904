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
	// NameLimit is the longest tool or prompt name shown on a door that joins
	// servers; longer ones are cut and get a hash. 0 means 64, the cap of the
	// model providers.
	NameLimit int
	// Exposure is how doors that join servers show the tools of those that say
	// nothing of it themselves; "" is all.
	Exposure junctor.Exposure
	Logger   *slog.Logger
}

// Catalog holds the attached servers and the current snapshot of what they
// offer. Its methods are safe for use by several goroutines.
type Catalog struct {
	log *slog.Logger
	in  making

	mu      sync.Mutex // serialises changes; readers use snap
	servers map[serverKey]*attached
	access  map[junctor.TenantID]*access
	snap    atomic.Pointer[Snapshot]
	renders atomic.Int64
	held    int      // of Together: above zero, changes wait
	stale   bool     // the snapshot has to be built, once they no longer do
	waiting []Change // to be announced then

	hub       hub
	refreshes sync.WaitGroup
	ending    context.Context // of refreshes: done once Close is called
	end       context.CancelFunc
}

type serverKey struct {
	tenant junctor.TenantID
	id     string
}

// attached is one server: its backend, and what it offered last.
type attached struct {
	key      serverKey
	mode     junctor.Mode
	owner    string
	exposure junctor.Exposure
	backend  Backend
	offer    *Offer // nil while it is being attached: its id is taken, and nobody sees it

	// One refresh at a time; a change that arrives meanwhile asks for another.
	refreshing, again bool
	reads, taken      uint64 // readings of the offer that began, and the newest that was taken
}

// New makes an empty catalog.
func New(o Options) *Catalog {
	if o.NameLimit == 0 {
		o.NameLimit = 64
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	c := &Catalog{log: o.Logger, servers: map[serverKey]*attached{}, access: map[junctor.TenantID]*access{}}
	c.in = making{limit: o.NameLimit, joined: o.Exposure, renders: &c.renders, rules: sync.OnceValue(newRules), log: o.Logger, schemas: newSchemaCache(maxCachedSchemas)}
	c.ending, c.end = context.WithCancel(context.Background())
	c.snap.Store(&Snapshot{shelves: map[junctor.TenantID]*Shelf{}})
	return c
}

// AttachOption changes how a server is attached.
type AttachOption func(*attached)

// OwnedBy shows a server to one party alone, named as Principal.ID does.
func OwnedBy(party string) AttachOption { return func(a *attached) { a.owner = party } }

// ExposedAs says how the tools of a server are shown, on every door. A server
// without it shows all of them on its own, and where servers are joined is as
// Options say.
func ExposedAs(e junctor.Exposure) AttachOption {
	if e == "" {
		e = junctor.ExposureAuto
	}
	return func(a *attached) { a.exposure = e }
}

// Classify says what a tool would be for, before its server is attached.
func (c *Catalog) Classify(server string, tool []byte, topic string) junctor.Class {
	return *c.in.rules().classify(server, tool, topic)
}

// Attach adds a server to a tenant and reads what it offers. An id that is
// taken is a conflict.
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
	s := &attached{key: key, mode: mode, backend: b}
	for _, o := range opts {
		o(s)
	}
	c.servers[key] = s
	c.mu.Unlock()

	// First listen, then read: a change in between must not be lost.
	b.Watch(func(e Event) { c.event(s, e) })
	offer, err := b.Offer(ctx)

	c.mu.Lock()
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
	c.publish()
	if s.again {
		s.again = false
		c.startRefresh(s)
	}
	c.announce(Change{Tenant: tenant, Server: id, Tools: true, Prompts: true, Resources: true})
	c.mu.Unlock()
	return nil
}

// Detach takes a server and all it offers out of the lists. Calls that run go
// on to their end.
func (c *Catalog) Detach(tenant junctor.TenantID, id string) {
	key := serverKey{tenant, id}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.servers[key]
	delete(c.servers, key)
	if s != nil && s.offer != nil {
		c.publish()
		c.announce(Change{Tenant: tenant, Server: id, Tools: true, Prompts: true, Resources: true})
	}
}

// Together lets f attach and detach servers, and shows what came of it at once
// when f has returned: to build what everybody sees anew for each of many is a
// good part of a start.
func (c *Catalog) Together(f func() error) error {
	c.mu.Lock()
	c.held++
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.held--; c.held > 0 {
			return
		}
		if c.stale {
			c.publish()
		}
		for _, change := range c.waiting {
			c.announce(change)
		}
		c.waiting = nil
	}()
	return f()
}

// Snapshot is the catalog as it stands now.
func (c *Catalog) Snapshot() *Snapshot { return c.snap.Load() }

// Renders counts how often a list was rendered: once per permission set, view
// and version of the catalog, never per request.
func (c *Catalog) Renders() int64 { return c.renders.Load() }

// Close ends the refreshes that run, and waits for them.
func (c *Catalog) Close() {
	c.mu.Lock()
	c.end()
	c.mu.Unlock()
	c.refreshes.Wait()
}

// event takes what a backend reports. It does not block: a change of the offer
// is read again in a goroutine of its own, one at a time per server. A server
// that was detached has nothing to say.
func (c *Catalog) event(s *attached, e Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.servers[s.key] != s:
	case e.Kind == EventUpdated:
		c.announce(Change{Tenant: s.key.tenant, Server: s.key.id, URI: e.URI, Party: e.Party})
	case e.Kind == EventTask:
		c.announce(Change{Tenant: s.key.tenant, Server: s.key.id, Party: e.Party, Task: e.Task})
	case e.Kind == EventAnnounced:
		// Its clients hear what they would hear from the server itself.
		if s.offer != nil && e.Lists.Any() {
			c.announce(Change{Tenant: s.key.tenant, Server: s.key.id, Tools: e.Lists.Tools, Prompts: e.Lists.Prompts, Resources: e.Lists.Resources})
		}
	case s.refreshing || s.offer == nil:
		s.again = true
	default:
		c.startRefresh(s)
	}
}

// startRefresh reads the offer again, unless Close was called. The caller holds
// mu.
func (c *Catalog) startRefresh(s *attached) {
	if c.ending.Err() != nil {
		return
	}
	s.refreshing = true
	c.refreshes.Go(func() { c.refresh(s) })
}

func (c *Catalog) refresh(s *attached) {
	for {
		if err := c.read(c.ending, s); err != nil {
			c.log.Warn("what a server offers could not be read again; the former list stays", "server", s.key.id, "error", err)
		}
		c.mu.Lock()
		if !s.again || c.ending.Err() != nil {
			s.refreshing = false
			c.mu.Unlock()
			return
		}
		s.again = false
		c.mu.Unlock()
	}
}

// Refresh reads what a server offers, and returns when that is what everybody
// sees: for changes that have to hold at once. What was read before and comes
// later does not count any more.
func (c *Catalog) Refresh(ctx context.Context, tenant junctor.TenantID, id string) error {
	c.mu.Lock()
	s := c.servers[serverKey{tenant, id}]
	if s != nil && s.offer == nil { // whoever attaches it reads it again
		s.again = true
		s = nil
	}
	c.mu.Unlock()
	if s == nil {
		return nil
	}
	return c.read(ctx, s)
}

// read reads the offer of a server and takes it, unless a later reading was
// faster.
func (c *Catalog) read(ctx context.Context, s *attached) error {
	c.mu.Lock()
	s.reads++
	n := s.reads
	c.mu.Unlock()
	offer, err := s.backend.Offer(ctx)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if n > s.taken {
		s.taken = n
		c.replace(s, offer)
	}
	return nil
}

// replace takes a new offer. The caller holds mu.
func (c *Catalog) replace(s *attached, offer *Offer) {
	change := difference(s.offer, offer)
	change.Tenant, change.Server = s.key.tenant, s.key.id
	lists := change.Tools || change.Prompts || change.Resources
	other := !sameAbilities(s.offer, offer)
	s.offer = offer
	if c.servers[s.key] != s {
		return
	}
	if lists || other {
		c.publish()
	}
	if lists {
		c.announce(change)
	}
}

// publish builds the next snapshot, unless changes wait. The caller holds mu.
func (c *Catalog) publish() {
	if c.stale = c.held > 0; !c.stale {
		c.snap.Store(build(c.servers, c.access, c.snap.Load(), &c.in))
	}
}

// announce tells of a change once it can be seen. The caller holds mu.
func (c *Catalog) announce(change Change) {
	if c.held > 0 {
		c.waiting = append(c.waiting, change)
		return
	}
	c.hub.send(change)
}
