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
	"github.com/junctor-mcp/junctor/internal/upstreamauth"
)

// attachedServer is an attached upstream server: a backend over the current
// connection. A change replaces the connection; running calls end on the one
// they began with.
type attachedServer struct {
	id   string
	keep func(ctx context.Context, offer []byte, isolated string) error // stores the offer of the server

	mu     sync.Mutex
	now    *serverConnection
	former []*serverConnection // replaced connections with running calls
	notify func(catalog.Event)
	kept   [sha256.Size]byte // digest of the offer that was stored last

	with atomic.Pointer[upstreamauth.ServerAuth] // credentials of the current connection
}

// serverConnection is an upstream with the calls on it.
type serverConnection struct {
	up       authenticatedRoute
	row      junctor.Server // the row that it was attached with
	admitted admission.Server
	backend  catalog.Backend // up, with the overrides and generated App views of the row
	calls    *atomic.Int64
	borrowed bool              // another serverConnection uses the same upstream and closes it
	home     string            // the replica that runs it; "" if this replica connects itself
	kept     [sha256.Size]byte // digest of its stored offer; zero if unknown
}

func newConnected(up authenticatedRoute, admitted admission.Server) *serverConnection {
	row := admitted.Row()
	return &serverConnection{up: up, row: row, admitted: admitted, backend: withOverrides(up, &row), calls: &atomic.Int64{}}
}

// withRow returns a connection over the same upstream with the overrides of
// another row.
func (c *serverConnection) withRow(admitted admission.Server) *serverConnection {
	row := admitted.Row()
	return &serverConnection{up: c.up, row: row, admitted: admitted, backend: withOverrides(c.up, &row), calls: c.calls, borrowed: true, home: c.home}
}

// leadsWhere reports whether the connection leads where the row says.
func (c *serverConnection) leadsWhere(row *junctor.Server) bool {
	return sameConnection(&c.row.Connection, &row.Connection) && c.row.Credential == row.Credential && c.row.Trusted == row.Trusted
}

// withOverrides wraps a backend so that the names and descriptions of its tools are
// those of the row's overrides.
func withOverrides(up catalog.Backend, row *junctor.Server) catalog.Backend {
	b := catalog.Changed(up, row.Overrides, catalog.NewCallLimits(junctor.LimitOfServer, time.Duration(row.CallTimeout), time.Duration(row.CallTimeoutMax)))
	if row.BelieveAnnotations {
		b = catalog.Believe(b)
	}
	return withAppViews(b, row)
}

// withAppViews wraps a backend so that its tools get generated App views, unless the
// row switches them off.
func withAppViews(b catalog.Backend, row *junctor.Server) catalog.Backend {
	if row.Views == junctor.ViewsOff {
		return b
	}
	return autoview.With(b, row.Mode == junctor.ModeGenerated)
}

// closeWhenIdle closes the upstream when its calls have ended, or when ending ends.
// With parked, it also waits for calls that wait for input of their clients.
func (c *serverConnection) closeWhenIdle(ending context.Context, parked bool) {
	tick := time.NewTicker(retiredLook)
	defer tick.Stop()
	for ending.Err() == nil && (c.calls.Load() > 0 || parked && c.up.State().ParkedCalls > 0) {
		select {
		case <-tick.C:
		case <-ending.Done():
		}
	}
	c.up.Close()
}

// retiredLook is how often a replaced connection is checked for running calls.
// Polling costs the calls nothing, unlike a counter with a signal.
const retiredLook = 50 * time.Millisecond

// currentConnection returns the connection that new calls use.
func (b *attachedServer) currentConnection() *serverConnection {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

// acquireConnection returns the current connection with a call counted in, so that the
// upstream outlives the call.
func (b *attachedServer) acquireConnection() *serverConnection {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now.calls.Add(1)
	return b.now
}

// acquireParked is acquireConnection for a call that continues with input: it
// returns the connection on which the call began.
func (b *attachedServer) acquireParked(state string) *serverConnection {
	b.mu.Lock()
	for _, c := range b.former {
		if c.up.HoldsCall(state) {
			c.calls.Add(1)
			b.mu.Unlock()
			return c
		}
	}
	b.mu.Unlock()
	return b.acquireConnection()
}

// dropRetired drops a replaced connection whose calls have ended.
func (b *attachedServer) dropRetired(c *serverConnection) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.former = slices.DeleteFunc(b.former, func(f *serverConnection) bool { return f == c })
}

// swapConnection replaces the connection and returns the former one.
func (b *attachedServer) swapConnection(next *serverConnection) *serverConnection {
	b.mu.Lock()
	former, notify := b.now, b.notify
	b.now = next
	next.up.with.InheritSecrets(former.up.with)
	b.with.Store(next.up.with)
	if former.up.serverRoute != next.up.serverRoute {
		b.former = append(b.former, former)
	}
	b.mu.Unlock()
	if notify != nil {
		next.backend.Watch(b.currentEvents(next, notify))
		notify(catalog.Event{Kind: catalog.EventChanged})
	}
	return former
}

// currentEvents returns a notify function that drops the events of c once it has been
// replaced.
func (b *attachedServer) currentEvents(c *serverConnection, notify func(catalog.Event)) func(catalog.Event) {
	return func(e catalog.Event) {
		if b.currentConnection() == c {
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
	now.backend.Watch(b.currentEvents(now, notify))
}

// Offer implements catalog.Backend. It stores the offer, so that the next start
// can serve it before the server answers.
func (b *attachedServer) Offer(ctx context.Context) (*catalog.Offer, error) {
	c := b.acquireConnection()
	defer c.calls.Add(-1)
	offer, err := c.backend.Offer(ctx)
	if err != nil {
		return nil, err
	}
	if c.home == "" && c.up.State().Connected { // otherwise its home stores it
		b.storeOffer(ctx, c)
	}
	return offer, nil
}

// announceLists makes the catalog read the lists of the server again.
func (b *attachedServer) announceLists() {
	b.mu.Lock()
	notify := b.notify
	b.mu.Unlock()
	if notify != nil {
		notify(catalog.Event{Kind: catalog.EventChanged})
	}
}

// digestOffer returns a digest of what is stored of a server, to detect changes
// without reading the row.
func digestOffer(offer []byte, isolated string) (mark [sha256.Size]byte) {
	h := sha256.New()
	_, _ = h.Write(offer) // hash.Hash never fails
	_, _ = h.Write([]byte("\x00" + isolated))
	h.Sum(mark[:0])
	return mark
}

// storeOffer stores the offer of an upstream unless it is stored already.
func (b *attachedServer) storeOffer(ctx context.Context, c *serverConnection) {
	own, err := c.up.Offer(ctx)
	if err != nil {
		return
	}
	data, err := catalog.EncodeOffer(own)
	if err != nil {
		return
	}
	state := c.up.State()
	mark := digestOffer(data, state.IsolationReason)
	b.mu.Lock()
	same := b.kept == mark
	b.mu.Unlock()
	if same || b.keep(ctx, data, state.IsolationReason) != nil { // keep has logged the error; the next offer is stored then
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
		c = b.acquireConnection()
	} else {
		c = b.acquireParked(req.Input.State)
	}
	defer c.calls.Add(-1)
	res, err := c.backend.Do(ctx, req, sink)
	if c.home != "" && errors.Is(err, errMoved) {
		return b.followHome(ctx, req, sink, err)
	}
	return res, err
}

// followHome repeats a call that reached no home, so that nothing was done: it
// waits for a bounded time until another replica is the home.
func (b *attachedServer) followHome(ctx context.Context, req *catalog.Request, sink catalog.Sink, err error) (catalog.Result, error) {
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
		c := b.acquireConnection()
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

// KeeperFor implements junctor.Keepers.
func (b *attachedServer) KeeperFor(p *junctor.Principal) junctor.Keeper {
	return b.with.Load().KeeperFor(p)
}

// offerKeeper returns the function that stores the offer of a server and the
// differences to the stored one. Failures are only logged, because the stored
// offer is a convenience.
func (s *Registry) offerKeeper(tenant junctor.TenantID, id string) func(context.Context, []byte, string) error {
	var mu sync.Mutex // held over comparison and write, so that each comparison is with the stored offer
	return func(ctx context.Context, offer []byte, isolated string) error {
		mu.Lock()
		defer mu.Unlock()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
		defer cancel()
		rows, now := s.o.Store.For(tenant), time.Now()
		changes := changedTools(ctx, rows, id, offer, now)
		// Store the changes first: after the offer is stored, the next
		// comparison could not find changes that were lost here. Storing a
		// change twice has no effect.
		err := rows.AddChanges(ctx, changes)
		if err == nil {
			err = rows.SawServer(ctx, id, store.SeenServer{Offer: offer, Isolated: isolated, At: now})
		}
		if junctor.CodeOf(err) == junctor.CodeNotFound {
			err = nil // the server was removed in the meantime
		}
		if err != nil {
			s.o.Log.Warn("cannot store a server's lists; retrying at the next refresh", slog.String("server", id), telemetry.ErrorAttr(err))
			return err
		}
		for _, c := range changes {
			s.o.Log.Info("tool definition changed", slog.String("server", id), slog.String("tool", c.Tool), slog.Any("what", c.What))
		}
		return nil
	}
}

// changedTools compares the offer of a server with the stored one.
func changedTools(ctx context.Context, rows *store.Tenant, id string, data []byte, now time.Time) []junctor.ToolChange {
	seen, err := rows.SeenServer(ctx, id)
	if err != nil {
		return nil // there is no stored offer
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
