package app

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/egress"
	"github.com/junctor-mcp/junctor/internal/seal"
	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/telemetry"
)

const (
	beatEvery = 2 * time.Second
	// goneAfter is for how long a process may be silent.
	goneAfter = 3 * beatEvery
	// lookAgain is how soon the list is read again for somebody who is not on it.
	lookAgain = 250 * time.Millisecond
	// heardAhead is how much of what others say may wait.
	heardAhead = 1024
)

// peers are the processes that share our database: each says now and then that it
// lives, answers requests that others have no answer to, and tells the others what
// they cannot read in the database. A nil one is alone.
type peers struct {
	app  *App
	self store.Node

	others atomic.Pointer[map[string]*peer] // by id; those that live and can be reached
	heard  chan string
	spoken atomic.Uint64 // how much this process has said
	silent atomic.Bool   // the database could not be told that this process lives
	begun  atomic.Bool   // the others know this process
	left   atomic.Bool   // and it has told them that it ends
	seen   atomic.Pointer[time.Time]
	moved  chan struct{} // holds one: a process came or went

	channels       *seal.ChannelMaker
	arrived        *channelListener // channels that others made
	unprovedCount  atomic.Uint64
	unprovedLogged atomic.Int64 // when, in nanoseconds since 1970

	replays replayGuard

	mu     sync.Mutex
	looked time.Time
}

// peer is another process.
type peer struct {
	id     string
	url    *url.URL
	client *egress.ReplicaClient // whose connections prove that it is this process
}

// newPeers names this process anew: what others know of the one before it is gone.
func newPeers(a *App) (*peers, error) {
	p := &peers{app: a, heard: make(chan string, heardAhead), moved: make(chan struct{}, 1), arrived: newChannelListener()}
	p.self = store.Node{ID: strings.ToLower(rand.Text()[:10]), Name: a.node, Version: a.version}
	p.others.Store(&map[string]*peer{})
	var err error
	p.channels, err = a.ring.NewChannelMaker(p.self.ID)
	return p, err
}

// Self implements gateway.Peers.
func (p *peers) Self() string {
	if p == nil {
		return ""
	}
	return p.self.ID
}

// peerURL is where other processes reach this one; "" where nobody knows.
func (a *App) peerURL() string {
	if a.cfg.PeerURL != nil {
		return a.cfg.PeerURL.String()
	}
	addr, err := netip.ParseAddrPort(a.Addr())
	if err != nil || addr.Addr().IsUnspecified() {
		return ""
	}
	u := url.URL{Scheme: "http", Host: addr.String()}
	if a.cfg.TLSCert != "" {
		u.Scheme = "https"
	}
	return u.String()
}

// hosts are the names that the instance answers to beside its own.
func (a *App) hosts() []string {
	if a.cfg.PeerURL == nil {
		return a.cfg.AllowedHosts
	}
	return append(slices.Clone(a.cfg.AllowedHosts), a.cfg.PeerURL.Host)
}

// begin makes this process known, and gets to know the others, before it serves.
func (p *peers) begin(ctx context.Context, at string) {
	if p == nil {
		return
	}
	if p.self.URL = at; at == "" {
		p.app.log.Warn("other instances with this database cannot reach this one, which listens on every address: set --peer-url")
	}
	p.retireFormer(ctx)
	p.beat(ctx)
	p.begun.Store(true)
	p.app.servers.FindHomes(ctx)
}

// retireFormer takes away what a process that was killed left behind: whoever had
// the address that this one listens on is gone, and what it held has no holder.
// Without that, requests for it would wait until its row is too old to count.
func (p *peers) retireFormer(ctx context.Context) {
	if p.self.URL == "" {
		return
	}
	all, err := p.app.store.Nodes(ctx)
	for _, n := range all {
		if n.URL == p.self.URL && n.ID != p.self.ID {
			err = errors.Join(err, p.app.store.LeaveNode(ctx, n.ID), p.app.store.LeaveHomes(ctx, n.ID))
		}
	}
	if err != nil && ctx.Err() == nil {
		p.app.log.Warn("a former replica at this address could not be retired; it counts until it has been silent for long enough", telemetry.Err(err))
	}
}

// Begun reports whether the others know this process.
func (p *peers) Begun() bool { return p.begun.Load() }

// Moved signals that a process came or went.
func (p *peers) Moved() <-chan struct{} { return p.moved }

// Sure says whether the others count this process among the living, and will for the
// next moment.
func (p *peers) Sure() bool {
	seen := p.seen.Load()
	return seen != nil && time.Since(*seen) < goneAfter-turnSpare && !p.left.Load()
}

// run says that this process lives, and tells what others cannot know, until ctx
// ends.
func (p *peers) run(ctx context.Context) {
	if p == nil {
		return
	}
	var work sync.WaitGroup
	defer work.Wait()
	work.Go(func() { p.relay(ctx) })
	work.Go(func() { p.app.servers.KeepHomes(ctx) })
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			p.leave(context.WithoutCancel(ctx))
			return
		case <-tick.C:
			p.beat(ctx)
		}
	}
}

func (p *peers) leave(ctx context.Context) {
	p.left.Store(true)
	p.app.servers.LeaveHomes(ctx) // before another begins it
	ctx, cancel := context.WithTimeout(ctx, beatEvery)
	defer cancel()
	if err := errors.Join(p.app.store.LeaveNode(ctx, p.self.ID), p.app.store.LeaveHomes(ctx, p.self.ID)); err != nil {
		p.app.log.Warn("the others find out by themselves that this process ends", telemetry.Err(err))
	}
}

func (p *peers) beat(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, beatEvery)
	defer cancel()
	asked := time.Now()
	all, err := p.app.store.SeeNode(ctx, p.self)
	if was := p.silent.Swap(err != nil); err != nil {
		if !was && ctx.Err() == nil {
			p.app.log.Warn("other processes could not be told that this one lives; it is tried again", telemetry.Err(err))
		}
		return
	}
	p.seen.Store(&asked)
	p.meet(all)
	if err := p.app.agree(ctx); err != nil && ctx.Err() == nil {
		p.app.log.Warn("the clock of the database could not be read; it is tried again", telemetry.Err(err))
	}
}

// look reads the list of processes again.
func (p *peers) look(ctx context.Context) error {
	all, err := p.app.store.Nodes(ctx)
	if err == nil {
		p.meet(all)
	}
	return err
}

// meet takes the list of processes.
func (p *peers) meet(all []store.Node) {
	p.mu.Lock()
	defer p.mu.Unlock()
	former, next := *p.others.Load(), map[string]*peer{}
	for _, n := range all {
		if n.ID == p.self.ID || n.URL == "" || n.Silent > goneAfter {
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
		to := &peer{id: n.ID, url: u}
		to.client, err = egress.NewReplicaClient(u, func(ctx context.Context, conn net.Conn) (net.Conn, error) { return p.prove(ctx, conn, to) })
		if err != nil {
			p.app.log.Warn("another process cannot be reached", slog.String("url", n.URL), telemetry.Err(err))
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

// find gives a process by its id; nil where it is gone. One that came a moment ago
// is looked for.
func (p *peers) find(ctx context.Context, id string) *peer {
	if found := (*p.others.Load())[id]; found != nil {
		return found
	}
	p.mu.Lock()
	soon := time.Since(p.looked) < lookAgain
	if !soon {
		p.looked = time.Now()
	}
	p.mu.Unlock()
	if soon || p.look(ctx) != nil {
		return nil
	}
	return (*p.others.Load())[id]
}

// close lets connections go.
func (p *peers) close() {
	for one := range maps.Values(*p.others.Load()) {
		one.client.CloseIdleConnections()
	}
}

// relay tells the others what servers say to this process alone: each has
// connections of its own, and a client that subscribed here may listen there.
func (p *peers) relay(ctx context.Context) {
	watch := p.app.catalog.Watch()
	defer watch.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-watch.Ready():
		}
		for _, ch := range watch.Take() {
			if !ch.Far && (ch.URI != "" || ch.Task.ID != "") {
				p.tell(ctx, told{Changes: []catalog.Change{ch}})
			}
			if p.app.servers.RunsAlone(&ch) {
				p.tell(ctx, told{Listed: &listed{ch.Tenant, ch.Server}})
			}
		}
	}
}
