package egress

import (
	"context"
	"net"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

const (
	// idleFor is how long a connection is kept where the server does not say:
	// less than the shortest that servers are known for, 5 s.
	idleFor = 4 * time.Second
	// spareIdle is how much earlier than the server we give a connection up.
	spareIdle = time.Second

	maxIdle = 128  // connections of one origin that wait
	maxOpen = 1024 // connections of one origin
)

// pools are the connections that are made under the rules of one client.
type pools struct {
	dial dialFunc

	mu  sync.Mutex
	all map[string]*pool // by address
}

func (p *pools) to(address string) *pool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil {
		p.all = map[string]*pool{}
	}
	one := p.all[address]
	if one == nil {
		one = &pool{pools: p, address: address}
		p.all[address] = one
	}
	return one
}

// forget drops a pool that has no connections. Who still has it may go on with
// it: it is only shared no more.
func (p *pools) forget(one *pool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all[one.address] == one {
		delete(p.all, one.address)
	}
}

func (p *pools) closeIdle() {
	p.mu.Lock()
	all := make([]*pool, 0, len(p.all))
	for _, one := range p.all {
		all = append(all, one)
	}
	p.mu.Unlock()
	for _, one := range all {
		one.closeIdle()
	}
}

// pool holds the connections to one address.
type pool struct {
	pools   *pools
	address string

	mu    sync.Mutex
	idle  []*conn // the one used last stands last, and is used first
	open  int     // idle ones and those in use
	sweep *time.Timer
}

// take gives an idle connection that can be used; nil is none.
func (p *pool) take() *conn {
	now := time.Now()
	var unsettled []*conn
	for {
		c := p.pop()
		if c == nil {
			break
		}
		switch {
		case now.After(c.until):
			p.discard(c)
		case c.usable():
			p.putBack(unsettled)
			return c
		case c.pending && c.in.err == nil:
			unsettled = append(unsettled, c) // its answer may end yet
		default:
			p.discard(c)
		}
	}
	p.putBack(unsettled)
	return nil
}

func (p *pool) pop() *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.idle) - 1
	if last < 0 {
		return nil
	}
	c := p.idle[last]
	p.idle[last] = nil
	p.idle = p.idle[:last]
	return c
}

func (p *pool) putBack(cs []*conn) {
	if len(cs) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, cs...)
}

// make dials a new connection.
func (p *pool) make(ctx context.Context) (*conn, error) {
	p.mu.Lock()
	if p.open >= maxOpen {
		p.mu.Unlock()
		return nil, &junctor.Error{Code: junctor.CodeUnavailable, RetryAfter: time.Second, Message: "there are too many connections to " + p.address + "; try again"}
	}
	p.open++
	p.mu.Unlock()
	c, err := p.dial(ctx)
	if err != nil {
		p.closed()
	}
	return c, err
}

func (p *pool) dial(ctx context.Context) (*conn, error) {
	c, err := p.pools.dial(ctx, "tcp", p.address)
	if err != nil {
		return nil, err
	}
	return newConn(c)
}

// put takes a connection back that can be used again.
func (p *pool) put(c *conn) {
	keep := idleFor
	if c.in.keep > 0 {
		keep = min(max(c.in.keep-spareIdle, c.in.keep/2), idleTimeout)
	}
	if c.pending {
		keep = min(keep, leaveFor)
	}
	c.until = time.Now().Add(keep)
	p.mu.Lock()
	if len(p.idle) >= maxIdle {
		p.mu.Unlock()
		p.discard(c)
		return
	}
	p.idle = append(p.idle, c)
	if p.sweep == nil {
		p.sweep = time.AfterFunc(keep, p.tidy)
	}
	p.mu.Unlock()
}

// discard closes a connection.
func (p *pool) discard(c *conn) {
	_ = c.Close()
	p.closed()
}

func (p *pool) closed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open--
}

// tidy closes what was idle for long enough, and comes again while there is
// anything.
func (p *pool) tidy() {
	now := time.Now()
	p.mu.Lock()
	var old []*conn
	kept := p.idle[:0]
	for _, c := range p.idle {
		if now.Before(c.until) {
			kept = append(kept, c)
		} else {
			old = append(old, c)
		}
	}
	clear(p.idle[len(kept):])
	p.idle = kept
	p.open -= len(old)
	p.sweep = nil
	if len(kept) > 0 {
		p.sweep = time.AfterFunc(max(kept[0].until.Sub(now), leaveFor), p.tidy)
	}
	unused := p.open == 0
	p.mu.Unlock()
	closeAll(old)
	if unused {
		p.pools.forget(p)
	}
}

func (p *pool) closeIdle() {
	p.mu.Lock()
	old := p.idle
	p.idle = nil
	p.open -= len(old)
	if p.sweep != nil {
		p.sweep.Stop()
		p.sweep = nil
	}
	unused := p.open == 0
	p.mu.Unlock()
	closeAll(old)
	if unused {
		p.pools.forget(p)
	}
}

func closeAll(cs []*conn) {
	for _, c := range cs {
		_ = net.Conn(c).Close()
	}
}
