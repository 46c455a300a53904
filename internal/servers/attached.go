package servers

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admission"
	"github.com/junctor-mcp/junctor/internal/autoview"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/telemetry"
	"github.com/junctor-mcp/junctor/internal/visit"
)

// attachedServer is one bring-your-own server that is attached. It is a backend over
// the upstream of the moment: a change puts another in its place, and calls that
// run end on the one they began with.
type attachedServer struct {
	id   string
	keep func(ctx context.Context, offer []byte, isolated string) error // stores what the server offers

	mu     sync.Mutex
	now    *serverConnection
	former []*serverConnection // that were replaced, and whose calls have not all ended
	notify func(catalog.Event)
	kept   [sha256.Size]byte // of what was stored last

	with atomic.Pointer[visit.Server] // what the calls on now are made with
}

// serverConnection is an upstream and the calls on it.
type serverConnection struct {
	up       authenticatedRoute
	row      junctor.Server // as it was attached
	admitted admission.Server
	backend  catalog.Backend // up, with its tools changed
	calls    *atomic.Int64
	borrowed bool              // another has the same upstream
	home     string            // the other process that runs it; "" where this one leads there
	kept     [sha256.Size]byte // of what is stored of it; zero where that is not known
}

func newConnected(up authenticatedRoute, admitted admission.Server) *serverConnection {
	row := admitted.Row()
	return &serverConnection{up: up, row: row, admitted: admitted, backend: changed(up, &row), calls: &atomic.Int64{}}
}

// like is the same upstream with its tools changed in another way.
func (c *serverConnection) like(admitted admission.Server) *serverConnection {
	row := admitted.Row()
	return &serverConnection{up: c.up, row: row, admitted: admitted, backend: changed(c.up, &row), calls: c.calls, borrowed: true, home: c.home}
}

// serves says whether a row leads where this connection does.
func (c *serverConnection) serves(row *junctor.Server) bool {
	return sameConnection(&c.row.Connection, &row.Connection) && c.row.Credential == row.Credential && c.row.Trusted == row.Trusted
}

func changed(up catalog.Backend, row *junctor.Server) catalog.Backend {
	b := catalog.Changed(up, row.Overrides, time.Duration(row.TimeoutMS)*time.Millisecond)
	if row.BelieveAnnotations {
		b = catalog.Believe(b)
	}
	return viewed(b, row)
}

// viewed gives the tools of a server Views, unless its row says otherwise: of one
// that is made of a document all.
func viewed(b catalog.Backend, row *junctor.Server) catalog.Backend {
	if row.Views == junctor.ViewsOff {
		return b
	}
	return autoview.With(b, row.Mode == junctor.ModeGenerated)
}

// retire closes the upstream when its calls have ended, those too that wait for
// their clients' input where they can be continued; or when everything ends.
func (c *serverConnection) retire(ending context.Context, parked bool) {
	tick := time.NewTicker(retiredLook)
	defer tick.Stop()
	for ending.Err() == nil && (c.calls.Load() > 0 || parked && c.up.State().Parked > 0) {
		select {
		case <-tick.C:
		case <-ending.Done():
		}
	}
	c.up.Close()
}

// retiredLook is how often a connection that was replaced is looked at. Waiting
// for its end costs calls nothing that way.
const retiredLook = 50 * time.Millisecond

func (b *attachedServer) current() *serverConnection {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

// take counts a call in, so that its upstream outlives it.
func (b *attachedServer) take() *serverConnection {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now.calls.Add(1)
	return b.now
}

// resume is take for a call that goes on with input: it ends where it began.
func (b *attachedServer) resume(state string) *serverConnection {
	b.mu.Lock()
	for _, c := range b.former {
		if c.up.Holds(state) {
			c.calls.Add(1)
			b.mu.Unlock()
			return c
		}
	}
	b.mu.Unlock()
	return b.take()
}

// retired forgets a connection that was replaced and has ended.
func (b *attachedServer) retired(c *serverConnection) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.former = slices.DeleteFunc(b.former, func(f *serverConnection) bool { return f == c })
}

// put replaces the upstream and gives the former one.
func (b *attachedServer) put(next *serverConnection) *serverConnection {
	b.mu.Lock()
	former, notify := b.now, b.notify
	b.now = next
	next.up.with.After(former.up.with)
	b.with.Store(next.up.with)
	if former.up.serverRoute != next.up.serverRoute {
		b.former = append(b.former, former)
	}
	b.mu.Unlock()
	if notify != nil {
		next.backend.Watch(b.hears(next, notify))
		notify(catalog.Event{Kind: catalog.EventChanged})
	}
	return former
}

// hears passes on what the upstream of the moment says, and nothing of one that
// was replaced.
func (b *attachedServer) hears(c *serverConnection, notify func(catalog.Event)) func(catalog.Event) {
	return func(e catalog.Event) {
		if b.current() == c {
			notify(e)
		}
	}
}

// Watch implements catalog.Backend.
func (b *attachedServer) Watch(notify func(catalog.Event)) {
	b.mu.Lock()
	b.notify = notify
	now := b.now
	b.mu.Unlock()
	now.backend.Watch(b.hears(now, notify))
}

// Offer implements catalog.Backend. What is offered is kept, so that the next
// start has it before the server answers.
func (b *attachedServer) Offer(ctx context.Context) (*catalog.Offer, error) {
	c := b.take()
	defer c.calls.Add(-1)
	offer, err := c.backend.Offer(ctx)
	if err != nil {
		return nil, err
	}
	if c.home == "" && c.up.State().Connected { // else its home does so
		b.remember(ctx, c)
	}
	return offer, nil
}

// announce has what the server offers be read again.
func (b *attachedServer) announce() {
	b.mu.Lock()
	notify := b.notify
	b.mu.Unlock()
	if notify != nil {
		notify(catalog.Event{Kind: catalog.EventChanged})
	}
}

// markOf tells what is stored of a server from anything else.
func markOf(offer []byte, isolated string) (mark [sha256.Size]byte) {
	h := sha256.New()
	_, _ = h.Write(offer) // never fails
	_, _ = h.Write([]byte("\x00" + isolated))
	h.Sum(mark[:0])
	return mark
}

// remember stores what the upstream itself offers, unless it is stored.
func (b *attachedServer) remember(ctx context.Context, c *serverConnection) {
	own, err := c.up.Offer(ctx)
	if err != nil {
		return
	}
	data, err := catalog.EncodeOffer(own)
	if err != nil {
		return
	}
	state := c.up.State()
	mark := markOf(data, state.Isolated)
	b.mu.Lock()
	same := b.kept == mark
	b.mu.Unlock()
	if same || b.keep(ctx, data, state.Isolated) != nil { // keep has told why; the next offer is stored then
		return
	}
	b.mu.Lock()
	b.kept = mark
	b.mu.Unlock()
}

// Do implements catalog.Backend.
func (b *attachedServer) Do(ctx context.Context, req *catalog.Request, sink catalog.Sink) (catalog.Result, error) {
	var c *serverConnection
	if req.Input.State == "" {
		c = b.take()
	} else {
		c = b.resume(req.Input.State)
	}
	defer c.calls.Add(-1)
	res, err := c.backend.Do(ctx, req, sink)
	if c.home != "" && errors.Is(err, errMoved) {
		return b.follow(ctx, req, sink, err)
	}
	return res, err
}

// follow is Do for a call that found nobody at home, so that nothing was done: it
// waits for a while for the next home.
func (b *attachedServer) follow(ctx context.Context, req *catalog.Request, sink catalog.Sink, err error) (catalog.Result, error) {
	over := time.NewTimer(moveTime)
	defer over.Stop()
	for {
		select {
		case <-over.C:
			return catalog.Result{}, err
		case <-ctx.Done():
			return catalog.Result{}, err
		case <-time.After(moveLook):
		}
		c := b.take()
		var res catalog.Result
		res, err = c.backend.Do(ctx, req, sink)
		c.calls.Add(-1)
		if !errors.Is(err, errMoved) {
			return res, err
		}
	}
}

// Secrets implements junctor.Keeper.
func (b *attachedServer) Secrets() []string { return b.with.Load().Secrets() }

// KeeperOf implements junctor.Keepers.
func (b *attachedServer) KeeperOf(p *junctor.Principal) junctor.Keeper {
	return b.with.Load().KeeperOf(p)
}

// keeper stores what a server offers, and which tools it offers otherwise than
// before. That is a convenience: a failure is logged, and the server goes on.
func (s *Registry) keeper(tenant junctor.TenantID, id string) func(context.Context, []byte, string) error {
	var mu sync.Mutex // held over each comparison, so that none is with what is not stored any more
	return func(ctx context.Context, offer []byte, isolated string) error {
		mu.Lock()
		defer mu.Unlock()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
		defer cancel()
		rows, now := s.o.Store.For(tenant), time.Now()
		changes := changedTools(ctx, rows, id, offer, now)
		// Changes come first: the next comparison is with what is stored then, and finds no
		// change that is lost here. One that is stored twice is stored once.
		err := rows.AddChanges(ctx, changes)
		if err == nil {
			err = rows.SawServer(ctx, id, store.SeenServer{Offer: offer, Isolated: isolated, At: now})
		}
		if junctor.CodeOf(err) == junctor.CodeNotFound {
			err = nil // the server was removed meanwhile
		}
		if err != nil {
			s.o.Log.Warn("what a server offers could not be stored; it is tried again when the server is next asked", slog.String("server", id), telemetry.Err(err))
			return err
		}
		for _, c := range changes {
			s.o.Log.Info("a tool changed", slog.String("server", id), slog.String("tool", c.Tool), slog.Any("what", c.What))
		}
		return nil
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
