package fault

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

// Proxy listens on loopback and passes bytes to and from a server.
type Proxy struct {
	Addr  string        // 127.0.0.1:port
	URL   string        // http://127.0.0.1:port
	Pause time.Duration // between the bytes of slow answers; set it before the first connection
	Delay time.Duration // of late answers; likewise

	t      testing.TB
	target string
	kind   atomic.Int64
	left   atomic.Int64 // exchanges until the fault ends by itself
	count  atomic.Int64 // connections so far
	met    atomic.Int64 // exchanges that met a fault
	errs   atomic.Int64 // answers of ServerErrors so far
	closed chan struct{}
	done   sync.WaitGroup

	mu       sync.Mutex
	listener net.Listener // nil while connections are refused
	conns    map[*conn]struct{}
}

// New starts a proxy before the server at target, a host:port. It passes
// everything until Set says otherwise, and is closed when the test ends.
func New(t testing.TB, target string) *Proxy {
	t.Helper()
	p := &Proxy{t: t, target: target, Pause: 20 * time.Millisecond, Delay: time.Second, closed: make(chan struct{}), conns: map[*conn]struct{}{}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.Addr = l.Addr().String()
	p.URL = "http://" + p.Addr
	p.serve(l)
	t.Cleanup(p.Close)
	return p
}

// forever is more exchanges than a test makes.
const forever = 1 << 60

// Set switches the fault. What is under way keeps the fault that it met.
func (p *Proxy) Set(k Kind) { p.set(k, forever) }

// Burst switches the fault for the next n exchanges, then everything passes
// again. Refuse cannot be counted: set it, and set None.
func (p *Proxy) Burst(k Kind, n int) { p.set(k, int64(n)) }

func (p *Proxy) set(k Kind, n int64) {
	p.t.Helper()
	p.left.Store(n)
	p.kind.Store(int64(k))
	p.mu.Lock()
	defer p.mu.Unlock()
	if k != Refuse {
		p.listenAgain()
		return
	}
	if p.listener != nil {
		p.listener.Close()
		p.listener = nil
	}
	for c := range p.conns {
		c.reset()
	}
}

// portBackFor bounds the wait for a port that somebody was given for a moment.
const portBackFor = 10 * time.Second

// listenAgain takes the port back after Refuse; the lock is held.
func (p *Proxy) listenAgain() {
	p.t.Helper()
	if p.listener != nil {
		return
	}
	var l net.Listener
	var err error
	if !poll.Holds(portBackFor, func() bool {
		l, err = net.Listen("tcp", p.Addr)
		return err == nil
	}) {
		p.t.Errorf("fault: the port cannot be taken back: %v", err)
		return
	}
	p.serve(l)
}

// Connections is how many connections were accepted so far.
func (p *Proxy) Connections() int { return int(p.count.Load()) }

// Open is how many are open now.
func (p *Proxy) Open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.conns)
}

// CloseIdle closes the connections on which nothing was sent yet: a client may
// dial ahead of its need.
func (p *Proxy) CloseIdle() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		if !c.used.Load() {
			c.close()
		}
	}
}

// Close ends the proxy and every connection through it.
func (p *Proxy) Close() {
	p.mu.Lock()
	select {
	case <-p.closed:
	default:
		close(p.closed)
	}
	if p.listener != nil {
		p.listener.Close()
		p.listener = nil
	}
	for c := range p.conns {
		c.reset()
	}
	p.mu.Unlock()
	p.done.Wait()
}

// Met is how many exchanges met a fault so far; those that were refused did not
// come about.
func (p *Proxy) Met() int { return int(p.met.Load()) }

// meet gives the fault of an exchange that begins.
func (p *Proxy) meet() Kind {
	k := Kind(p.kind.Load())
	if k == None {
		return None
	}
	if p.left.Add(-1) < 0 {
		return None
	}
	p.met.Add(1)
	return k
}

// serve accepts from l. Before New returns nobody else holds p; later the lock
// is held.
func (p *Proxy) serve(l net.Listener) {
	p.listener = l
	p.done.Go(func() {
		for {
			client, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				p.count.Add(1)
				p.take(client.(*net.TCPConn))
			}
		}
	})
}

// take joins a new connection to the server.
func (p *Proxy) take(client *net.TCPConn) {
	c := &conn{proxy: p, client: client, gone: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.closed:
		c.reset()
		return
	default:
	}
	p.conns[c] = struct{}{}
	p.done.Go(func() {
		c.run()
		p.mu.Lock()
		delete(p.conns, c)
		p.mu.Unlock()
	})
}
