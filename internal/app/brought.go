package app

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/telemetry"
)

// brought is one bring-your-own server that is attached. It is a backend over
// the upstream of the moment: a change puts another in its place, and calls that
// run end on the one they began with.
type brought struct {
	id   string
	keep func(ctx context.Context, offer []byte, isolated string) // stores what the server offers

	mu     sync.Mutex
	now    *connected
	notify func(catalog.Event)
	kept   []byte // what was stored last
}

// connected is an upstream and the calls on it.
type connected struct {
	up      reached
	backend catalog.Backend // up, with its tools changed
	calls   sync.WaitGroup
}

func newConnected(up reached, row *junctor.Server) *connected {
	return &connected{up: up, backend: catalog.Changed(up, row.Overrides, time.Duration(row.TimeoutMS)*time.Millisecond)}
}

// retire closes the upstream when its calls have ended.
func (c *connected) retire() {
	c.calls.Wait()
	c.up.Close()
}

func (b *brought) current() *connected {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

// take counts a call in, so that its upstream outlives it.
func (b *brought) take() *connected {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now.calls.Add(1)
	return b.now
}

// put replaces the upstream and gives the former one.
func (b *brought) put(next *connected) *connected {
	b.mu.Lock()
	former, notify := b.now, b.notify
	b.now = next
	b.mu.Unlock()
	if notify != nil {
		next.backend.Watch(b.hears(next, notify))
		notify(catalog.Event{Kind: catalog.EventChanged})
	}
	return former
}

// hears passes on what the upstream of the moment says, and nothing of one that
// was replaced.
func (b *brought) hears(c *connected, notify func(catalog.Event)) func(catalog.Event) {
	return func(e catalog.Event) {
		if b.current() == c {
			notify(e)
		}
	}
}

// Watch implements catalog.Backend.
func (b *brought) Watch(notify func(catalog.Event)) {
	b.mu.Lock()
	b.notify = notify
	now := b.now
	b.mu.Unlock()
	now.backend.Watch(b.hears(now, notify))
}

// Offer implements catalog.Backend. What is offered is kept, so that the next
// start has it before the server answers.
func (b *brought) Offer(ctx context.Context) (*catalog.Offer, error) {
	c := b.take()
	defer c.calls.Done()
	offer, err := c.backend.Offer(ctx)
	if err != nil {
		return nil, err
	}
	if c.up.State().Connected {
		b.remember(ctx, c)
	}
	return offer, nil
}

// remember stores what the upstream itself offers, unless it is stored.
func (b *brought) remember(ctx context.Context, c *connected) {
	own, err := c.up.Offer(ctx)
	if err != nil {
		return
	}
	data, err := catalog.EncodeOffer(own)
	if err != nil {
		return
	}
	state := c.up.State()
	mark := append(bytes.Clone(data), state.Isolated...)
	b.mu.Lock()
	same := bytes.Equal(b.kept, mark)
	b.kept = mark
	b.mu.Unlock()
	if !same {
		b.keep(ctx, data, state.Isolated)
	}
}

// Do implements catalog.Backend.
func (b *brought) Do(ctx context.Context, req *catalog.Request, sink catalog.Sink) (catalog.Result, error) {
	c := b.take()
	defer c.calls.Done()
	return c.backend.Do(ctx, req, sink)
}

// keeper stores what a server offers, and which tools it offers otherwise than
// before. That is a convenience: a failure is logged, and the server goes on.
func (s *servers) keeper(tenant junctor.TenantID, id string) func(context.Context, []byte, string) {
	var mu sync.Mutex // held over each comparison, so that none is with what is not stored any more
	return func(ctx context.Context, offer []byte, isolated string) {
		mu.Lock()
		defer mu.Unlock()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeFor)
		defer cancel()
		rows, now := s.app.store.For(tenant), time.Now()
		changes := changedTools(ctx, rows, id, offer, now)
		err := rows.SawServer(ctx, id, store.SeenServer{Offer: offer, Isolated: isolated, At: now})
		if err == nil {
			err = rows.AddChanges(ctx, changes)
		}
		if err != nil && junctor.CodeOf(err) != junctor.CodeNotFound {
			s.app.log.Warn("what a server offers could not be stored; after a restart it is listed once it answers", slog.String("server", id), telemetry.Err(err))
		}
		for _, c := range changes {
			s.app.log.Info("a tool changed", slog.String("server", id), slog.String("tool", c.Tool), slog.Any("what", c.What))
		}
	}
}

// changedTools compares what a server offers with what it was last seen with.
func changedTools(ctx context.Context, rows *store.Tenant, id string, data []byte, now time.Time) []junctor.ToolChange {
	seen, err := rows.SeenServer(ctx, id)
	if err != nil {
		return nil // nothing to compare with
	}
	before, err := catalog.DecodeOffer(seen.Offer)
	if err != nil {
		return nil
	}
	after, err := catalog.DecodeOffer(data)
	if err != nil {
		return nil
	}
	return catalog.Compare(id, before, after, now)
}
