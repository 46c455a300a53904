package egress

import (
	"context"
	"net"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

const (
	// defaultIdleTime is how long a connection is kept where the server does not say:
	// less than the shortest that servers are known for, 5 s.
	defaultIdleTime = 4 * time.Second
	// idleMargin is how much earlier than the server we give a connection up.
	idleMargin = time.Second

	maxIdleConns = 128  // connections of one origin that wait
	maxOpenConns = 1024 // connections of one origin
)

// transport are the connections that are made under the rules of one client.
type transport struct {
	dial dialFunc

	mu  sync.Mutex
	pools map[string]*connPool // by address
}

func (p *transport) poolFor(address string) *connPool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pools == nil {
		p.pools = map[string]*connPool{}
	}
	one := p.pools[address]
	if one == nil {
		one = &connPool{transport: p, address: address}
		p.pools[address] = one
	}
	return one
}

// removePool drops a pool that has no connections. Who still has it may go on with
// it: it is only shared no more.
func (p *transport) removePool(one *connPool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pools[one.address] == one {
		delete(p.pools, one.address)
	}
}

func (p *transport) closeIdleConns() {
	p.mu.Lock()
	all := make([]*connPool, 0, len(p.pools))
	for _, one := range p.pools {
		all = append(all, one)
	}
	p.mu.Unlock()
	for _, one := range all {
		one.closeIdleConns()
	}
}

// connPool holds the connections to one address.
type connPool struct {
	transport   *transport
	address string

	mu    sync.Mutex
	idle  []*clientConn // the one used last stands last, and is used first
	openCount  int     // idle ones and those in use
	sweepTimer *time.Timer
}

// takeIdle gives an idle connection that can be used; nil is none.
func (p *connPool) takeIdle() *clientConn {
	now := time.Now()
	var unsettled []*clientConn
	for {
		c := p.popIdle()
		if c == nil {
			break
		}
		switch {
		case now.After(c.idleUntil):
			p.closeConn(c)
		case c.isUsable():
			p.returnIdle(unsettled)
			return c
		case c.restPending && c.reader.bodyErr == nil:
			unsettled = append(unsettled, c) // its answer may end yet
		default:
			p.closeConn(c)
		}
	}
	p.returnIdle(unsettled)
	return nil
}

func (p *connPool) popIdle() *clientConn {
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

func (p *connPool) returnIdle(cs []*clientConn) {
	if len(cs) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, cs...)
}

// openConn dials a new connection.
func (p *connPool) openConn(ctx context.Context) (*clientConn, error) {
	p.mu.Lock()
	if p.openCount >= maxOpenConns {
		p.mu.Unlock()
		return nil, &junctor.Error{Code: junctor.CodeUnavailable, RetryAfter: time.Second, Message: "there are too many connections to " + p.address + "; try again"}
	}
	p.openCount++
	p.mu.Unlock()
	c, err := p.dialConn(ctx)
	if err != nil {
		p.countClosed()
	}
	return c, err
}

func (p *connPool) dialConn(ctx context.Context) (*clientConn, error) {
	c, err := p.transport.dial(ctx, "tcp", p.address)
	if err != nil {
		return nil, err
	}
	return newClientConn(c)
}

// putIdle takes a connection back that can be used again.
func (p *connPool) putIdle(c *clientConn) {
	keep := defaultIdleTime
	if c.reader.keepAliveTime > 0 {
		keep = min(max(c.reader.keepAliveTime-idleMargin, c.reader.keepAliveTime/2), idleTimeout)
	}
	if c.restPending {
		keep = min(keep, releaseTimeout)
	}
	c.idleUntil = time.Now().Add(keep)
	p.mu.Lock()
	if len(p.idle) >= maxIdleConns {
		p.mu.Unlock()
		p.closeConn(c)
		return
	}
	p.idle = append(p.idle, c)
	if p.sweepTimer == nil {
		p.sweepTimer = time.AfterFunc(keep, p.closeExpired)
	}
	p.mu.Unlock()
}

// closeConn closes a connection.
func (p *connPool) closeConn(c *clientConn) {
	_ = c.Close()
	p.countClosed()
}

func (p *connPool) countClosed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.openCount--
}

// closeExpired closes what was idle for long enough, and comes again while there is
// anything.
func (p *connPool) closeExpired() {
	now := time.Now()
	p.mu.Lock()
	var old []*clientConn
	kept := p.idle[:0]
	for _, c := range p.idle {
		if now.Before(c.idleUntil) {
			kept = append(kept, c)
		} else {
			old = append(old, c)
		}
	}
	clear(p.idle[len(kept):])
	p.idle = kept
	p.openCount -= len(old)
	p.sweepTimer = nil
	if len(kept) > 0 {
		p.sweepTimer = time.AfterFunc(max(kept[0].idleUntil.Sub(now), releaseTimeout), p.closeExpired)
	}
	unused := p.openCount == 0
	p.mu.Unlock()
	closeConns(old)
	if unused {
		p.transport.removePool(p)
	}
}

func (p *connPool) closeIdleConns() {
	p.mu.Lock()
	old := p.idle
	p.idle = nil
	p.openCount -= len(old)
	if p.sweepTimer != nil {
		p.sweepTimer.Stop()
		p.sweepTimer = nil
	}
	unused := p.openCount == 0
	p.mu.Unlock()
	closeConns(old)
	if unused {
		p.transport.removePool(p)
	}
}

func closeConns(cs []*clientConn) {
	for _, c := range cs {
		_ = net.Conn(c).Close()
	}
}
