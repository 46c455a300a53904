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
	Logger    *slog.Logger
}

// Catalog holds the attached servers and the current snapshot of what they
// offer. Its methods are safe for use by several goroutines.
type Catalog struct {
	limit int
	log   *slog.Logger

	mu      sync.Mutex // serialises changes; readers use snap
	servers map[serverKey]*attached
	order   uint64
	snap    atomic.Pointer[Snapshot]
	renders atomic.Int64

	hub       hub
	refreshes sync.WaitGroup
}

type serverKey struct {
	tenant junctor.TenantID
	id     string
}

// attached is one server: its backend, and what it offered last.
type attached struct {
	key     serverKey
	mode    junctor.Mode
	order   uint64 // of attachment: lists keep it
	backend Backend
	offer   *Offer

	// One refresh at a time; a change that arrives meanwhile asks for another.
	refreshing, again bool
}

// New makes an empty catalog.
func New(o Options) *Catalog {
	if o.NameLimit == 0 {
		o.NameLimit = 64
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	c := &Catalog{limit: o.NameLimit, log: o.Logger, servers: map[serverKey]*attached{}}
	c.snap.Store(&Snapshot{shelves: map[junctor.TenantID]*Shelf{}})
	return c
}

// Attach adds a server to a tenant and reads what it offers. An id that is
// taken is a conflict.
func (c *Catalog) Attach(ctx context.Context, tenant junctor.TenantID, id string, mode junctor.Mode, b Backend) error {
	if err := junctor.CheckServerID(id); err != nil {
		return err
	}
	offer, err := b.Offer(ctx)
	if err != nil {
		return err
	}
	key := serverKey{tenant, id}
	c.mu.Lock()
	if _, taken := c.servers[key]; taken {
		c.mu.Unlock()
		return junctor.Errorf(junctor.CodeConflict, "a server with the id %q is attached already", id)
	}
	c.order++
	s := &attached{key: key, mode: mode, order: c.order, backend: b, offer: offer}
	c.servers[key] = s
	c.publish()
	c.mu.Unlock()

	b.Watch(func(e Event) { c.event(s, e) })
	c.hub.send(Change{Tenant: tenant, Server: id, Tools: true, Prompts: true, Resources: true})
	return nil
}

// Detach takes a server and all it offers out of the lists. Calls that run go
// on to their end.
func (c *Catalog) Detach(tenant junctor.TenantID, id string) {
	key := serverKey{tenant, id}
	c.mu.Lock()
	_, ok := c.servers[key]
	delete(c.servers, key)
	if ok {
		c.publish()
	}
	c.mu.Unlock()
	if ok {
		c.hub.send(Change{Tenant: tenant, Server: id, Tools: true, Prompts: true, Resources: true})
	}
}

// Snapshot is the catalog as it stands now.
func (c *Catalog) Snapshot() *Snapshot { return c.snap.Load() }

// Renders counts how often a list was rendered: once per permission set, view
// and version of the catalog, never per request.
func (c *Catalog) Renders() int64 { return c.renders.Load() }

// Close waits for refreshes that run.
func (c *Catalog) Close() { c.refreshes.Wait() }

// event takes what a backend reports. It does not block: a change of the offer
// is read again in a goroutine of its own, one at a time per server.
func (c *Catalog) event(s *attached, e Event) {
	if e.Kind == EventUpdated {
		c.hub.send(Change{Tenant: s.key.tenant, Server: s.key.id, URI: e.URI})
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.refreshing {
		s.again = true
		return
	}
	s.refreshing = true
	c.refreshes.Go(func() { c.refresh(s) })
}

func (c *Catalog) refresh(s *attached) {
	for {
		offer, err := s.backend.Offer(context.Background())
		c.mu.Lock()
		if err != nil {
			c.log.Warn("what a server offers could not be read again; the former list stays", "server", s.key.id, "error", err)
		} else {
			change := difference(s.offer, offer)
			change.Tenant, change.Server = s.key.tenant, s.key.id
			s.offer = offer
			if c.servers[s.key] == s && (change.Tools || change.Prompts || change.Resources) {
				c.publish()
				c.hub.send(change)
			}
		}
		if !s.again {
			s.refreshing = false
			c.mu.Unlock()
			return
		}
		s.again = false
		c.mu.Unlock()
	}
}

// publish builds the next snapshot. The caller holds mu.
func (c *Catalog) publish() {
	next := build(c.servers, c.snap.Load(), c.limit, &c.renders, c.log)
	c.snap.Store(next)
}
