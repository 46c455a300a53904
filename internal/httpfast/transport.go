package httpfast

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

const (
	// defaultIdleTime is how long an idle connection is kept if the server does not say
	// how long it keeps it: less than the shortest timeout that servers are known for,
	// 5 s.
	defaultIdleTime = 4 * time.Second
	// maxIdleTime is the longest time, whatever the server says.
	maxIdleTime = 90 * time.Second
	// idleMargin is how much earlier than the server the client gives a connection up.
	idleMargin = time.Second

	maxIdleConns = 128  // of one pool
	maxOpenConns = 1024 // of one pool, idle or in use
)

// DialFunc dials a TCP address. The package itself never dials.
type DialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// TransportOptions is what a Transport gets from egress. Both functions are required.
type TransportOptions struct {
	// Dial opens every connection. It judges the address at the moment of the dial.
	Dial DialFunc
	// Classify turns an error of an exchange with host into a *junctor.Error, and leaves
	// one that is a *junctor.Error already as it is.
	Classify func(ctx context.Context, host string, err error) error
}

// Transport holds the connections that were opened under one set of rules: one pool
// for each address. It is the counterpart of an http.Transport, and is safe for use by
// many goroutines.
type Transport struct {
	options TransportOptions

	mu    sync.Mutex
	pools map[string]*connPool // by address
}

// NewTransport makes a Transport without connections.
func NewTransport(opt TransportOptions) *Transport {
	return &Transport{options: opt, pools: map[string]*connPool{}}
}

// NewClient makes a client for POST requests to u, an http URL whose server listens on
// address. It does not dial. redirects follows the redirects of the server. ok is false
// if u has bytes that would have to be escaped first: then net/http has to be used.
func (t *Transport) NewClient(redirects *http.Client, u *url.URL, address string) (c *Client, ok bool) {
	target := u.RequestURI()
	if u.Opaque != "" || !isPlainASCII(u.Host) || !isPlainASCII(target) {
		return nil, false
	}
	line := "POST " + target + protocolSuffix + crlf + "Host: " + u.Host + crlf
	return &Client{redirectClient: redirects, transport: t, pool: t.poolFor(address), url: u, requestLine: []byte(line)}, true
}

// poolFor returns the pool of an address, and makes it if needed.
func (t *Transport) poolFor(address string) *connPool {
	t.mu.Lock()
	defer t.mu.Unlock()
	one := t.pools[address]
	if one == nil {
		one = &connPool{transport: t, address: address}
		t.pools[address] = one
	}
	return one
}

// removePool forgets a pool that has no connections. A Client that still has the pool
// may go on with it; it only is not shared with new clients any more.
func (t *Transport) removePool(one *connPool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.pools[one.address] == one {
		delete(t.pools, one.address)
	}
}

// CloseIdleConnections closes the connections that no exchange uses.
func (t *Transport) CloseIdleConnections() {
	t.mu.Lock()
	all := make([]*connPool, 0, len(t.pools))
	for _, one := range t.pools {
		all = append(all, one)
	}
	t.mu.Unlock()
	for _, one := range all {
		one.closeIdleConns()
	}
}

// connPool holds the connections to one address.
type connPool struct {
	transport *Transport
	address   string

	mu         sync.Mutex
	idle       []*clientConn // the one used last is the last, and is taken first
	openCount  int           // idle and in use
	sweepTimer *time.Timer   // calls closeExpired; nil while nothing is idle
}

// takeIdle takes an idle connection that can be used out of the pool. It returns nil if
// there is none. Connections whose last response has not ended stay idle.
func (p *connPool) takeIdle() *clientConn {
	now := time.Now()
	var unfinished []*clientConn
	for {
		c := p.popIdle()
		if c == nil {
			break
		}
		switch {
		case now.After(c.idleUntil):
			p.closeConn(c)
		case c.isUsable():
			p.returnIdle(unfinished)
			return c
		case c.restPending && c.reader.bodyErr == nil:
			unfinished = append(unfinished, c) // its response may end yet
		default:
			p.closeConn(c)
		}
	}
	p.returnIdle(unfinished)
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

// openConn opens a new connection, up to maxOpenConns.
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
	c, err := p.transport.options.Dial(ctx, "tcp", p.address)
	if err != nil {
		return nil, err
	}
	return newClientConn(c)
}

// putIdle puts a connection into the pool that can be used again.
func (p *connPool) putIdle(c *clientConn) {
	keep := defaultIdleTime
	if c.reader.keepAliveTime > 0 {
		keep = min(max(c.reader.keepAliveTime-idleMargin, c.reader.keepAliveTime/2), maxIdleTime)
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

// closeConn closes a connection that was taken out of the pool.
func (p *connPool) closeConn(c *clientConn) {
	_ = c.Close()
	p.countClosed()
}

// countClosed makes room for another connection.
func (p *connPool) countClosed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.openCount--
}

// closeExpired closes the connections whose idle time is over. It schedules itself
// again while any is idle.
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

// closeIdleConns closes all idle connections.
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
