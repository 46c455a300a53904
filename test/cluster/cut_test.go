package cluster

import (
	"net"
	"sync"
	"testing"
)

// cable is a connection between a replica and something that it needs, which can be
// cut: then nothing passes, in either direction, and nobody is told; what was
// under way goes on when it is whole again, as after a cable was pulled.
type cable struct {
	Addr string

	target string
	mu     sync.Mutex
	cut    chan struct{} // closed while everything passes
	conns  map[net.Conn]struct{}
	closed bool
}

// newCable leads from an address of this machine to a target.
func newCable(t *testing.T, host, target string) *cable {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{Addr: l.Addr().String(), target: target, cut: make(chan struct{}), conns: map[net.Conn]struct{}{}}
	close(c.cut)
	var work sync.WaitGroup
	work.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			work.Go(func() { c.carryConn(conn) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		c.end()
		work.Wait()
	})
	return c
}

// Cut has nothing pass any more.
func (c *cable) Cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = make(chan struct{})
}

// Mend has everything pass again.
func (c *cable) Mend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.cut:
	default:
		close(c.cut)
	}
}

func (c *cable) end() {
	c.Mend()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for conn := range c.conns {
		_ = conn.Close()
	}
}

// holdConn notes a connection, to be closed in the end.
func (c *cable) holdConn(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		_ = conn.Close()
	}
	c.conns[conn] = struct{}{}
}

func (c *cable) carryConn(near net.Conn) {
	c.holdConn(near)
	c.passConns()
	far, err := net.Dial("tcp", c.target)
	if err != nil {
		_ = near.Close()
		return
	}
	c.holdConn(far)
	var both sync.WaitGroup
	both.Go(func() { c.copy(far, near) })
	both.Go(func() { c.copy(near, far) })
	both.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.conns, near)
	delete(c.conns, far)
}

// passConns waits while the cable is cut.
func (c *cable) passConns() {
	c.mu.Lock()
	whole := c.cut
	c.mu.Unlock()
	<-whole
}

func (c *cable) copy(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		c.passConns()
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
