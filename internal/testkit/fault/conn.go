package fault

import (
	"bytes"
	"crypto/rand"
	"io"
	"net"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
)

// conn is one connection through the proxy.
type conn struct {
	proxy  *Proxy
	client *net.TCPConn
	once   sync.Once
	gone   chan struct{} // closed when the connection is over

	mu     sync.Mutex   // setting server, against close
	server *net.TCPConn // nil until the client sent something to pass on

	used     atomic.Bool  // the client sent something
	met      atomic.Int64 // the fault of the exchange under way
	fresh    atomic.Bool  // the next bytes of the server begin an answer
	answered atomic.Bool  // under ResetAfter: there was an answer
}

// reset ends both sides at once. The client gets a reset, not an end.
func (c *conn) reset() {
	_ = c.client.SetLinger(0)
	c.close()
}

func (c *conn) close() {
	c.once.Do(func() {
		close(c.gone)
		c.client.Close()
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.server != nil {
			c.server.Close()
		}
	})
}

func (c *conn) say(s string) bool {
	_, err := io.WriteString(c.client, s)
	return err == nil
}

// run passes what the client sends, until one side ends.
func (c *conn) run() {
	defer c.close()
	var down sync.WaitGroup
	defer down.Wait()
	buf := make([]byte, 64<<10)
	begin := true // these bytes begin a request
	for {
		n, err := c.client.Read(buf)
		if n > 0 {
			c.used.Store(true)
			// The bytes of one request follow each other; those after an answer
			// are the next one's.
			if begin || !c.fresh.Load() {
				c.met.Store(int64(c.proxy.meet()))
				begin = false
			}
			if c.answered.Load() {
				c.reset()
				break
			}
			if c.instead(Kind(c.met.Load())) {
				break
			}
			if c.server == nil && !c.dial(&down) {
				c.reset()
				break
			}
			c.fresh.Store(true)
			if _, err := c.server.Write(buf[:n]); err != nil {
				break
			}
		}
		if err != nil {
			if c.server != nil {
				_ = c.server.CloseWrite() // the answer may still be on its way
				down.Wait()
			}
			break
		}
	}
	if c.server != nil {
		c.server.Close()
	}
}

func (c *conn) dial(down *sync.WaitGroup) bool {
	s, err := net.Dial("tcp", c.proxy.target)
	if err != nil {
		return false
	}
	c.mu.Lock()
	c.server = s.(*net.TCPConn)
	c.mu.Unlock()
	select {
	case <-c.gone: // close may have come before there was a server to close
		s.Close()
	default:
	}
	down.Go(c.answers)
	return true
}

// instead does what a fault does in place of an answer of the server. It says
// whether that was the end of the connection.
func (c *conn) instead(k Kind) bool {
	switch k {
	case Hang:
	case ResetBefore:
		c.reset()
		return true
	case HalfClose:
		_ = c.client.CloseWrite()
	case Garbage:
		b := make([]byte, 512)
		rand.Read(b)
		b[0] = 0xff // never the beginning of anything
		c.say(string(b))
		_ = c.client.CloseWrite()
	case ServerErrors:
		c.say(serverError(c.proxy.errs.Add(1) - 1))
		_ = c.client.CloseWrite()
	case EndlessSSE:
		c.endless()
	case Huge:
		c.huge()
		_ = c.client.CloseWrite()
	case HugeHeaders:
		c.headers()
		_ = c.client.CloseWrite()
	case InfoFlood:
		c.flood()
	case BadChunks:
		c.say(badChunks)
	case Redirect:
		c.say(redirect(c.proxy.URL))
		_ = c.client.CloseWrite()
	case StreamBreak:
		c.say(firstEvent)
		c.reset()
		return true
	case StreamHang:
		c.say(firstEvent)
	default:
		return false
	}
	// Closing with unread bytes would be a reset: read until the client ends.
	_, _ = io.Copy(io.Discard, c.client)
	return true
}

// answers passes what the server sends.
func (c *conn) answers() {
	defer func() { _ = c.client.CloseWrite() }()
	buf := make([]byte, 64<<10)
	for {
		n, err := c.server.Read(buf)
		if n > 0 && !c.spoil(buf[:n], c.fresh.Swap(false)) {
			return
		}
		if err != nil {
			return
		}
	}
}

// spoil passes bytes of an answer in the way of the fault. It says false when
// nothing more is to come.
func (c *conn) spoil(b []byte, first bool) bool {
	switch k := Kind(c.met.Load()); {
	case k == SlowDrip:
		return c.drip(b)
	case k == Latency && first:
		return c.wait(c.proxy.Delay) && c.say(string(b))
	case k == WrongIDs:
		return c.say(string(wrongIDs(b)))
	case k == SlowHeaders && first:
		b = c.head(b)
		end := headEnd(b)
		return c.drip(b[:end]) && c.say(string(b[end:]))
	case k == ResetDuring:
		c.say(string(b[:len(b)/2]))
		c.reset()
		return false
	case k == ResetAfter:
		c.answered.Store(true) // first: the client may be quick
		return c.say(string(b))
	case k == Truncate && first:
		b = c.head(b)
		end := headEnd(b)
		c.say(string(b[:end+min((len(b)-end)/2, bodySize(b[:end])/2)]))
		_ = c.client.CloseWrite()
		c.server.Close()
		return false
	case k == WrongType && first:
		b = c.head(b)
		end := headEnd(b)
		line := regexp.MustCompile(`(?i)\r\nContent-Type:[^\r]*`)
		return c.say(string(line.ReplaceAll(b[:end], []byte("\r\nContent-Type: text/html; charset=utf-8")))) && c.say(string(b[end:]))
	default:
		return c.say(string(b))
	}
}

func (c *conn) drip(b []byte) bool {
	for i := range b {
		if !c.say(string(b[i:i+1])) || !c.pause() {
			return false
		}
	}
	return true
}

// head reads on until b holds the whole head of an HTTP answer and something of
// its body, or the server has no more.
func (c *conn) head(b []byte) []byte {
	b = bytes.Clone(b)
	more := make([]byte, 64<<10)
	for end := headEnd(b); len(b) < 1<<20 && (end == len(b) && bodySize(b) > 0 || !bytes.Contains(b, blank)); end = headEnd(b) {
		n, err := c.server.Read(more)
		b = append(b, more[:n]...)
		if err != nil {
			break
		}
	}
	return b
}

var blank = []byte("\r\n\r\n")

// headEnd is where the body begins; the end where there is no head.
func headEnd(b []byte) int {
	if i := bytes.Index(b, blank); i >= 0 {
		return i + len(blank)
	}
	return len(b)
}

// bodySize is the Content-Length of a head; a lot where it has none.
func bodySize(head []byte) int {
	m := regexp.MustCompile(`(?i)\r\nContent-Length: *(\d+)`).FindSubmatch(head)
	if m == nil {
		return 1 << 20
	}
	n, _ := strconv.Atoi(string(m[1]))
	return n
}
