package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/egress"
	"github.com/junctor-mcp/junctor/internal/gateway"
	"github.com/junctor-mcp/junctor/internal/seal"
	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/telemetry"
)

const (
	// HeartbeatInterval is how often a replica announces that it is alive.
	HeartbeatInterval = 2 * time.Second
	// ExpiryAfter is how long a replica may be silent before it counts as dead.
	ExpiryAfter = 3 * HeartbeatInterval
	// refreshInterval is the least time between two reads of the list for a replica
	// that is not on it.
	refreshInterval = 250 * time.Millisecond
	// maxReceived is how many messages of others may wait to be handled.
	maxReceived = 1024
)

// Options configures New. All fields but ID are required.
type Options struct {
	Store *store.Store
	Ring  *seal.SessionRing // seals broadcasts and proves replicas to each other
	Clock *Clock
	// ID names this run of the process; "" draws one. A restarted process must have a
	// new ID, because whatever its predecessor held in memory is gone.
	ID      string
	Name    string // lasting name of the instance, from its data directory
	Version string
	// ClientAddress returns the address of the client that sent a request.
	ClientAddress func(*http.Request) netip.Addr
	Log           *slog.Logger
}

// Servers are the upstream servers as far as replicas share them.
type Servers interface {
	// FindHomes learns which replica runs each server that runs on one replica only.
	FindHomes(ctx context.Context)
	// KeepHomes holds this replica's servers until ctx ends.
	KeepHomes(ctx context.Context)
	// LeaveHomes stops this replica's servers, so that another replica can start them.
	LeaveHomes(ctx context.Context)
	// RunsAlone reports whether a change concerns a server that this replica runs for
	// all others.
	RunsAlone(ch *catalog.Change) bool
	// RefreshRemote reads the lists of a server that another replica runs.
	RefreshRemote(tenant junctor.TenantID, server string)
	// ServeReplica answers a call that another replica makes to a server of this one.
	ServeReplica(w http.ResponseWriter, r *http.Request)
}

// Parts are the parts of the instance that act on what other replicas send. They
// are made after Replicas; see Replicas.Attach.
type Parts struct {
	Catalog *catalog.Catalog
	Servers Servers
	// ReplicaPath is the path of Servers.ServeReplica.
	ReplicaPath        string
	HandleSessionEvent func(ctx context.Context, e gateway.SessionEvent) error
	// ForgetRegistration drops the cached registration of an on-chain agent.
	ForgetRegistration func(agent string)
	// ReloadRules reads the rules about calls again.
	ReloadRules func(ctx context.Context) error
	Views       http.Handler // pages of App views
	// ReadState returns the state of this replica.
	ReadState func(ctx context.Context) (State, error)
	// AuthenticatePerson names the person behind a request of the admin API.
	AuthenticatePerson func(r *http.Request) (*junctor.Principal, error)
	// IsLocal reports whether a request came by the operator's socket, which belongs
	// to one machine and is never forwarded.
	IsLocal func(r *http.Request) bool
}

// Replicas are the processes that share the database. Replicas announces this one,
// forwards requests to others and broadcasts messages. A nil *Replicas means that
// this process is alone. It is safe for concurrent use.
type Replicas struct {
	Options
	parts Parts
	self  store.Replica

	others   atomic.Pointer[map[string]*remoteReplica] // by id: alive and reachable
	received chan string                               // sealed messages that wait to be handled
	sent     atomic.Uint64                             // messages that this replica has sent
	silent   atomic.Bool                               // the last heartbeat failed, which was logged
	begun    atomic.Bool                               // the others know this replica
	left     atomic.Bool                               // the others know that this replica ends
	seen     atomic.Pointer[time.Time]                 // when the last heartbeat was sent
	moved    chan struct{}                             // holds one: a replica came or went

	channels       *seal.ChannelMaker
	arrived        *channelListener // channels that others opened
	unprovedCount  atomic.Uint64
	unprovedLogged atomic.Int64 // when, in nanoseconds since 1970

	replays replayGuard

	mu        sync.Mutex
	refreshed time.Time
}

// remoteReplica is another replica.
type remoteReplica struct {
	id     string
	url    *url.URL
	client *egress.ReplicaClient // its connections have proved to end at this replica
}

// New returns the Replicas of this process. The caller calls Attach and Begin
// before requests are served, Run beside them, and Close at the end.
func New(o Options) (*Replicas, error) {
	if o.ID == "" {
		o.ID = strings.ToLower(rand.Text()[:10])
	}
	p := &Replicas{Options: o, received: make(chan string, maxReceived), moved: make(chan struct{}, 1), arrived: newChannelListener()}
	p.self = store.Replica{ID: o.ID, Name: o.Name, Version: o.Version}
	p.others.Store(&map[string]*remoteReplica{})
	var err error
	p.channels, err = o.Ring.NewChannelMaker(p.self.ID)
	return p, err
}

// Attach connects the parts that act on messages and requests of other replicas. It
// must be called before Begin.
func (p *Replicas) Attach(parts Parts) {
	if p != nil {
		p.parts = parts
	}
}

// Self returns the id of this replica, and "" if the process is alone. It implements
// gateway.Replicas.
func (p *Replicas) Self() string {
	if p == nil {
		return ""
	}
	return p.self.ID
}

// Begin announces this replica, which others reach at the given URL, and learns who
// the others are. An empty URL means that others cannot reach it.
func (p *Replicas) Begin(ctx context.Context, at string) {
	if p == nil {
		return
	}
	if p.self.URL = at; at == "" {
		p.Log.Warn("other replicas cannot reach this one because it listens on every address: set --replica-url")
	}
	p.retireFormer(ctx)
	p.heartbeat(ctx)
	// Rules that were changed before the others knew this replica were not announced to it.
	if err := p.parts.ReloadRules(ctx); err != nil {
		p.Log.Warn("cannot read the rules about calls again; calls wait until it succeeds", telemetry.ErrorAttr(err))
	}
	p.begun.Store(true)
	p.parts.Servers.FindHomes(ctx)
}

// retireFormer removes the row of a killed process that had our address: it cannot
// be alive, since we listen there now. Otherwise requests for what it held would
// wait until its row expires.
func (p *Replicas) retireFormer(ctx context.Context) {
	if p.self.URL == "" {
		return
	}
	all, err := p.Store.Replicas(ctx)
	for _, n := range all {
		if n.URL == p.self.URL && n.ID != p.self.ID {
			err = errors.Join(err, p.Store.LeaveReplica(ctx, n.ID), p.Store.LeaveHomes(ctx, n.ID))
		}
	}
	if err != nil && ctx.Err() == nil {
		p.Log.Warn("cannot retire a former replica at this address; it counts until its lease expires", telemetry.ErrorAttr(err))
	}
}

// Begun reports whether the others know this replica.
func (p *Replicas) Begun() bool { return p.begun.Load() }

// Moved receives a value after a replica came or went.
func (p *Replicas) Moved() <-chan struct{} { return p.moved }

// Sure reports whether the others take this replica for alive now and for the next
// leaseMargin. Only then may it rely on what it holds for all.
func (p *Replicas) Sure() bool {
	seen := p.seen.Load()
	return seen != nil && time.Since(*seen) < ExpiryAfter-leaseMargin && !p.left.Load()
}

// Run sends heartbeats and broadcasts changes until ctx ends. Then it tells the
// others that this replica leaves.
func (p *Replicas) Run(ctx context.Context) {
	if p == nil {
		return
	}
	var work sync.WaitGroup
	defer work.Wait()
	work.Go(func() { p.relay(ctx) })
	work.Go(func() { p.parts.Servers.KeepHomes(ctx) })
	tick := time.NewTicker(HeartbeatInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			p.leave(context.WithoutCancel(ctx))
			return
		case <-tick.C:
			p.heartbeat(ctx)
		}
	}
}

func (p *Replicas) leave(ctx context.Context) {
	p.left.Store(true)
	p.parts.Servers.LeaveHomes(ctx) // before another begins it
	ctx, cancel := context.WithTimeout(ctx, HeartbeatInterval)
	defer cancel()
	if err := errors.Join(p.Store.LeaveReplica(ctx, p.self.ID), p.Store.LeaveHomes(ctx, p.self.ID)); err != nil {
		p.Log.Warn("cannot announce the shutdown to the other replicas; they notice when the lease expires", telemetry.ErrorAttr(err))
	}
}

// heartbeat stores that this replica is alive and reads which others are. It
// takes the time before the statement: other replicas measure the expiry from
// then at the earliest.
func (p *Replicas) heartbeat(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, HeartbeatInterval)
	defer cancel()
	asked := time.Now()
	all, err := p.Store.SeeReplica(ctx, p.self)
	if was := p.silent.Swap(err != nil); err != nil {
		if !was && ctx.Err() == nil {
			p.Log.Warn("cannot renew this replica's row in the database; retrying", telemetry.ErrorAttr(err))
		}
		return
	}
	p.seen.Store(&asked)
	p.updateReplicas(all)
	if err := p.Clock.Agree(ctx, p.Store, p.Log); err != nil && ctx.Err() == nil {
		p.Log.Warn("cannot read the clock of the database; retrying", telemetry.ErrorAttr(err))
	}
}

// Refresh reads the list of replicas from the database.
func (p *Replicas) Refresh(ctx context.Context) error {
	all, err := p.Store.Replicas(ctx)
	if err == nil {
		p.updateReplicas(all)
	}
	return err
}

// updateReplicas replaces the list of the others. It keeps the connections of those
// whose address did not change.
func (p *Replicas) updateReplicas(all []store.Replica) {
	p.mu.Lock()
	defer p.mu.Unlock()
	former, next := *p.others.Load(), map[string]*remoteReplica{}
	for _, n := range all {
		if n.ID == p.self.ID || n.URL == "" || n.Silent > ExpiryAfter {
			continue
		}
		if old := former[n.ID]; old != nil && old.url.String() == n.URL {
			next[n.ID] = old
			continue
		}
		u, err := url.Parse(n.URL)
		if err != nil {
			continue
		}
		to := &remoteReplica{id: n.ID, url: u}
		to.client, err = egress.NewReplicaClient(u, func(ctx context.Context, conn net.Conn) (net.Conn, error) { return p.proveReplica(ctx, conn, to) })
		if err != nil {
			p.Log.Warn("cannot reach another replica", slog.String("url", n.URL), telemetry.ErrorAttr(err))
			continue
		}
		next[n.ID] = to
	}
	p.others.Store(&next)
	for id, old := range former {
		if next[id] != old {
			old.client.CloseIdleConnections()
		}
	}
	if !maps.Equal(former, next) {
		select {
		case p.moved <- struct{}{}:
		default:
		}
	}
}

// findReplica returns a replica by its id, or nil if it is not alive. For an unknown
// id it reads the list again, because that replica may have started a moment ago.
func (p *Replicas) findReplica(ctx context.Context, id string) *remoteReplica {
	if found := (*p.others.Load())[id]; found != nil {
		return found
	}
	p.mu.Lock()
	soon := time.Since(p.refreshed) < refreshInterval
	if !soon {
		p.refreshed = time.Now()
	}
	p.mu.Unlock()
	if soon || p.Refresh(ctx) != nil {
		return nil
	}
	return (*p.others.Load())[id]
}

// Close closes the connections to the others.
func (p *Replicas) Close() {
	for one := range maps.Values(*p.others.Load()) {
		one.client.CloseIdleConnections()
	}
}

// relay broadcasts what upstream servers notify only this replica of: each replica
// has its own connections, and a client that subscribed here may listen there.
func (p *Replicas) relay(ctx context.Context) {
	watch := p.parts.Catalog.Watch()
	defer watch.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-watch.Ready():
		}
		for _, ch := range watch.Take() {
			if !ch.Far && (ch.URI != "" || ch.Task.ID != "") {
				p.broadcast(ctx, message{Changes: []catalog.Change{ch}})
			}
			if p.parts.Servers.RunsAlone(&ch) {
				p.broadcast(ctx, message{Listed: &serverName{ch.Tenant, ch.Server}})
			}
		}
	}
}
