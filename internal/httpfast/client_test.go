package httpfast

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

// testTransport dials loopback without judging it, and codes errors as roughly as the
// tests here need it. The codes of egress are tested there.
func testTransport(t testing.TB) *Transport {
	t.Helper()
	tr := NewTransport(TransportOptions{
		Dial: (&net.Dialer{Timeout: time.Minute}).DialContext,
		Classify: func(ctx context.Context, host string, err error) error {
			if own, ok := errors.AsType[*junctor.Error](err); ok {
				return own
			}
			if ctx.Err() != nil {
				return junctor.AsError(ctx.Err())
			}
			if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
				return &junctor.Error{Code: junctor.CodeUnreachable, Message: "no connection to " + host, Cause: err}
			}
			return &junctor.Error{Code: junctor.CodeUpstream, Message: host + " broke off", Cause: err}
		},
	})
	t.Cleanup(tr.CloseIdleConnections)
	return tr
}

// clientTo gives a client for an address on loopback.
func clientTo(t testing.TB, at string) *Client {
	t.Helper()
	return clientOf(t, testTransport(t), at)
}

func clientOf(t testing.TB, tr *Transport, at string) *Client {
	t.Helper()
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	c, ok := tr.NewClient(http.DefaultClient, u, u.Host)
	if !ok {
		t.Fatalf("no client for %s", at)
	}
	return c
}

// serve starts a server of net/http.
func serve(t testing.TB, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv
}

// say posts a body and gives the status and body of the answer.
func say(ctx context.Context, l *Client, body string, fields ...HeaderField) (int, string, error) {
	h, err := l.RenderHeader(http.Header{"Content-Type": {"text/plain"}})
	if err != nil {
		return 0, "", err
	}
	r := &Response{}
	if err := l.Post(ctx, r, h, fields, []byte(body[:len(body)/2]), []byte(body[len(body)/2:])); err != nil {
		return 0, "", err
	}
	defer r.Close()
	got, err := io.ReadAll(r)
	return r.Status, string(got), err
}

func must(t testing.TB, l *Client, body string) string {
	t.Helper()
	status, got, err := say(t.Context(), l, body)
	if err != nil || status != http.StatusOK {
		t.Fatalf("%d, %v", status, err)
	}
	return got
}

// script is a server that answers each request on a connection as it is told.
type script struct {
	url      string
	conns    atomic.Int32
	requests atomic.Int32
}

func newScript(t testing.TB, answer func(c net.Conn, request int, body string) (goOn bool)) *script {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &script{url: "http://" + ln.Addr().String() + "/mcp"}
	var running sync.WaitGroup
	var open sync.Map
	running.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			s.conns.Add(1)
			open.Store(c, nil)
			running.Go(func() {
				defer c.Close()
				r := bufio.NewReader(c)
				for {
					req, err := http.ReadRequest(r)
					if err != nil {
						return
					}
					n := int(s.requests.Add(1))
					body, err := io.ReadAll(req.Body)
					if err != nil || !answer(c, n, string(body)) {
						return
					}
				}
			})
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		open.Range(func(c, _ any) bool { _ = c.(net.Conn).Close(); return true })
		running.Wait()
	})
	return s
}

func reply(c net.Conn, text string) bool {
	_, err := io.WriteString(c, text)
	return err == nil
}

func sized(body string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

func echoes(c net.Conn, _ int, body string) bool { return reply(c, sized(body)) }

func TestResponseHasItsLength(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer string
		want   int64
	}{
		"known":        {sized("body"), 4},
		"empty":        {sized(""), 0},
		"no body":      {"HTTP/1.1 204 No Content\r\n\r\n", 0},
		"chunks":       {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n", -1},
		"up to an end": {"HTTP/1.1 200 OK\r\n\r\nbody", -1},
	} {
		l := clientTo(t, newScript(t, func(conn net.Conn, _ int, _ string) bool { return reply(conn, c.answer) && false }).url)
		h, err := l.RenderHeader(nil)
		if err != nil {
			t.Fatal(err)
		}
		r := &Response{}
		if err := l.Post(t.Context(), r, h, nil, []byte("{}")); err != nil || r.Length != c.want {
			t.Errorf("%s: %d, %v", name, r.Length, err)
		}
		r.Close()
	}
}

func TestClientUsesAConnectionAgain(t *testing.T) {
	leaksNothing(t)
	for name, answer := range map[string]func(net.Conn, int, string) bool{
		"length": echoes,
		"chunks": func(c net.Conn, _ int, body string) bool {
			return reply(c, fmt.Sprintf("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(body), body))
		},
		"pieces": func(c net.Conn, _ int, body string) bool {
			return reply(c, "HTTP/1.1 100 Continue\r\n\r\n") && reply(c, "HTTP/1.1 200 OK\r\nContent-Le") && reply(c, fmt.Sprintf("ngth: %d\r\n\r\n", len(body))) && reply(c, body)
		},
		"kept 5s": func(c net.Conn, _ int, body string) bool {
			return reply(c, fmt.Sprintf("HTTP/1.1 200 OK\r\nKeep-Alive: timeout=5\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, answer)
			l := clientTo(t, s.url)
			g := gaps{most: defaultIdleTime}
			for i := range 50 {
				text := fmt.Sprint("call ", i)
				if got := must(t, l, text); got != text {
					t.Fatalf("%q", got)
				}
				g.note()
			}
			if n := s.conns.Load(); n != 1 && !g.seen {
				t.Errorf("%d connections for 50 calls", n)
			}
		})
	}
}

// gaps sees whether the machine stood still for so long that connections are not
// kept; then it cannot be said how many there are.
type gaps struct {
	most time.Duration
	last time.Time
	seen bool
}

func (g *gaps) note() {
	now := time.Now()
	g.seen = g.seen || !g.last.IsZero() && now.Sub(g.last) > g.most/2
	g.last = now
}

func TestClientDialsAnew(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(net.Conn, int, string) bool{
		"closed by the server": func(c net.Conn, _ int, body string) bool { reply(c, sized(body)); return false },
		"closed to us alone": func(c net.Conn, _ int, body string) bool {
			half, _ := c.(*net.TCPConn)
			return reply(c, sized(body)) && half.CloseWrite() == nil // what is sent would still be taken
		},
		"announced close": func(c net.Conn, _ int, body string) bool {
			return reply(c, strings.Replace(sized(body), "\r\n", "\r\nConnection: close\r\n", 1))
		},
		"HTTP/1.0": func(c net.Conn, _ int, body string) bool {
			return reply(c, strings.Replace(sized(body), "1.1", "1.0", 1))
		},
		"keeps nothing": func(c net.Conn, _ int, body string) bool {
			return reply(c, strings.Replace(sized(body), "\r\n", "\r\nKeep-Alive: timeout=0\r\n", 1))
		},
		"something nobody asked": func(c net.Conn, _ int, body string) bool { return reply(c, sized(body)+sized("stray")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScript(t, answer)
			l := clientTo(t, s.url)
			for i := range 5 {
				text := fmt.Sprint("call ", i)
				if got := must(t, l, text); got != text {
					t.Fatalf("%q", got)
				}
				if strings.HasPrefix(name, "closed") {
					waitIdle(t, l)
				}
			}
			if n := s.conns.Load(); n != 5 {
				t.Errorf("%d connections for 5 calls", n)
			}
		})
	}
}

// waitIdle waits until the close of an idle connection has arrived.
func waitIdle(t *testing.T, l *Client) {
	t.Helper()
	poll.Until(t, "the close of an idle connection", time.Minute, func() bool {
		c := l.pool.popIdle()
		if c == nil {
			return true
		}
		// One whose answer has not ended is neither: its end comes before the close.
		closed := !c.isSilent()
		if c.restPending {
			closed = !c.isUsable() && c.reader.bodyErr != nil || !c.restPending && !c.isSilent()
		}
		l.pool.returnIdle([]*clientConn{c})
		return closed
	})
}

// A stray answer that comes late must not become the answer to the next call.
func TestClientDropsWhatNobodyAskedFor(t *testing.T) {
	t.Parallel()
	stray := make(chan struct{})
	s := newScript(t, func(c net.Conn, n int, body string) bool {
		ok := reply(c, sized(body))
		if n == 1 {
			ok = ok && reply(c, sized("not yours"))
			close(stray)
		}
		return ok
	})
	l := clientTo(t, s.url)
	must(t, l, "one")
	<-stray
	waitIdle(t, l)
	if got := must(t, l, "two"); got != "two" {
		t.Errorf("the answer to another: %q", got)
	}
}

// What was sent is never sent again by itself: it may have run.
func TestClientSendsOnce(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(net.Conn, int, string) bool{
		"first on the connection": func(net.Conn, int, string) bool { return false },
		"used before":             func(c net.Conn, n int, body string) bool { return n == 1 && echoes(c, n, body) },
		"half a head": func(c net.Conn, n int, body string) bool {
			return n == 1 && echoes(c, n, body) || reply(c, "HTTP/1.1 200 OK\r\nConte") && false
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScript(t, answer)
			l := clientTo(t, s.url)
			calls := int32(1)
			if name != "first on the connection" {
				must(t, l, "warm")
				calls = 2
			}
			_, _, err := say(t.Context(), l, "once")
			if junctor.CodeOf(err) != junctor.CodeUpstream {
				t.Errorf("%v", err)
			}
			if n := s.requests.Load(); n != calls {
				t.Errorf("%d requests", n)
			}
		})
	}
}

func TestClientErrors(t *testing.T) {
	t.Parallel()
	dead := newScript(t, echoes)
	for name, c := range map[string]struct {
		answer string
		code   junctor.Code
	}{
		"no HTTP":     {"220 mail.example\r\n", junctor.CodeUpstream},
		"large head":  {"HTTP/1.1 200 OK\r\n" + strings.Repeat("X: yyyyyyyyyyyyyyyyyyyyyyyy\r\n", 4<<10), junctor.CodeTooLarge},
		"cut body":    {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", junctor.CodeUpstream},
		"cut chunks":  {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nabc", junctor.CodeUpstream},
		"two lengths": {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nContent-Length: 3\r\n\r\nabc", junctor.CodeUpstream},
	} {
		s := newScript(t, func(conn net.Conn, _ int, _ string) bool { reply(conn, c.answer); return false })
		l := clientTo(t, s.url)
		if _, _, err := say(t.Context(), l, "x"); junctor.CodeOf(err) != c.code {
			t.Errorf("%s: %v", name, err)
		}
		if l.pool.openCount != 0 {
			t.Errorf("%s: %d connections are left", name, l.pool.openCount)
		}
	}
	if _, _, err := say(t.Context(), clientTo(t, "http://127.0.0.1:1/"), "x"); junctor.CodeOf(err) != junctor.CodeUnreachable {
		t.Errorf("nobody there: %v", err)
	}
	l := clientTo(t, dead.url)
	if _, _, err := say(t.Context(), l, "x", HeaderField{"X-Name", "a\r\nInjected: b"}); junctor.CodeOf(err) != junctor.CodeInvalid {
		t.Errorf("a header that becomes two: %v", err)
	}
	if _, err := l.RenderHeader(http.Header{"X Y": {"a"}}); junctor.CodeOf(err) != junctor.CodeInvalid {
		t.Errorf("a name that is none: %v", err)
	}
}

func TestClientEndsWithItsContext(t *testing.T) {
	leaksNothing(t)
	heard := make(chan string, 8)
	s := newScript(t, func(c net.Conn, n int, body string) bool {
		if strings.HasPrefix(body, "begin") {
			reply(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n")
		}
		if body != "answer" {
			heard <- body
			_, _ = c.Read(make([]byte, 1)) // until we hang up
			return false
		}
		return echoes(c, n, body)
	})
	l := clientTo(t, s.url)
	// One that ends by its deadline may come late, or never get there.
	until := func(body string, then func()) {
		for <-heard != body {
		}
		then()
	}
	for _, text := range []string{"wait", "begin"} {
		for name, want := range map[string]junctor.Code{"cancel": junctor.CodeCanceled, "deadline": junctor.CodeTimeout} {
			ctx, cancel := context.WithCancel(t.Context())
			if name == "deadline" {
				ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
			}
			body := text + " for the " + name
			if name == "cancel" {
				go until(body, cancel)
			}
			_, _, err := say(ctx, l, body)
			cancel()
			if junctor.CodeOf(err) != want {
				t.Errorf("%s, %s: %v", text, name, err)
			}
		}
	}
	r := &Response{}
	go until("wait for the break", r.Abort)
	h, _ := l.RenderHeader(nil)
	if err := l.Post(t.Context(), r, h, nil, []byte("wait for the break")); err == nil {
		t.Error("broken off, and no error")
	}
	if got := must(t, l, "answer"); got != "answer" {
		t.Errorf("%q", got)
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := say(done, l, "late"); junctor.CodeOf(err) != junctor.CodeCanceled {
		t.Errorf("%v", err)
	}
	if l.pool.openCount > 1 {
		t.Errorf("%d connections are left", l.pool.openCount)
	}
}

// A server may answer before it has read the request, or without reading it.
func TestClientTakesAnEarlyAnswer(t *testing.T) {
	leaksNothing(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	hold := make(chan struct{})
	defer close(hold)
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = c.Read(make([]byte, 100))
				reply(c, "HTTP/1.1 413 Content Too Large\r\nContent-Length: 5\r\n\r\nlarge")
				<-hold
			}()
		}
	}()
	l := clientTo(t, "http://"+ln.Addr().String()+"/")
	for _, size := range []int{100, 100 << 10, 16 << 20} {
		status, got, err := say(t.Context(), l, strings.Repeat("x", size))
		if err != nil || status != http.StatusRequestEntityTooLarge || got != "large" {
			t.Errorf("%d bytes: %d %q %v", size, status, got, err)
		}
		l.pool.closeIdleConns()
	}
}

func TestClientCarriesLargeBodies(t *testing.T) {
	t.Parallel()
	s := newScript(t, echoes)
	l := clientTo(t, s.url)
	g := gaps{most: defaultIdleTime}
	for _, size := range []int{maxSingleWrite - 1000, maxSingleWrite - 1, maxSingleWrite, maxSingleWrite + 1, 64 << 10, 1 << 20, 8 << 20} {
		text := strings.Repeat("0123456789abcdef", size/16) + strings.Repeat("z", size%16)
		if got := must(t, l, text); got != text {
			t.Errorf("%d bytes came back as %d", size, len(got))
		}
		g.note()
		// Behind more than a socket takes at once, who sent it may not be done
		// when the answer is there: then the connection is not kept.
		if n := s.conns.Load(); n != 1 && !g.seen && size <= 64<<10 {
			t.Errorf("%d connections", n)
		}
	}
}

// The rest of a stream is not waited for, and its connection is used again.
func TestClientLeavesAStream(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{}, 1)
	endless := false
	s := newScript(t, func(c net.Conn, _ int, _ string) bool {
		ok := reply(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nanswer\r\n")
		if !endless {
			ok = ok && reply(c, "3\r\n:\n\n\r\n0\r\nX: y\r\n\r\n")
		}
		ended <- struct{}{}
		return ok
	})
	l := clientTo(t, s.url)
	h, _ := l.RenderHeader(nil)
	leave := func() {
		t.Helper()
		r := &Response{}
		if err := l.Post(t.Context(), r, h, nil, []byte("x")); err != nil {
			t.Fatal(err)
		}
		var b [6]byte
		if _, err := io.ReadFull(r, b[:]); err != nil || string(b[:]) != "answer" {
			t.Fatalf("%q %v", b, err)
		}
		r.Release()
		<-ended
	}
	g := gaps{most: releaseTimeout}
	for range 20 {
		g.note()
		leave()
		poll.Holds(200*time.Millisecond, func() bool { // until the end has arrived
			c := l.pool.takeIdle()
			if c != nil {
				l.pool.putIdle(c)
			}
			return c != nil
		})
	}
	g.note()
	one := s.conns.Load()
	if one != 1 && !g.seen {
		t.Errorf("%d connections", one)
	}
	endless = true
	leave()
	leave()
	if g.note(); s.conns.Load() != one+1 && !g.seen {
		t.Errorf("%d connections: a stream that goes on is not to be used", s.conns.Load())
	}
}

// One that was left, and whose server ended it and then hung up, is not used.
func TestClientLeavesAStreamThatIsClosed(t *testing.T) {
	t.Parallel()
	left := make(chan struct{})
	s := newScript(t, func(c net.Conn, _ int, _ string) bool {
		reply(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nanswer\r\n")
		<-left
		reply(c, "0\r\n\r\n")
		return false
	})
	l := clientTo(t, s.url)
	h, _ := l.RenderHeader(nil)
	for n := range 20 {
		r := &Response{}
		if err := l.Post(t.Context(), r, h, nil, []byte("x")); err != nil {
			t.Fatalf("call %d: %v", n, err)
		}
		var b [6]byte
		if _, err := io.ReadFull(r, b[:]); err != nil {
			t.Fatal(err)
		}
		r.Release()
		left <- struct{}{}
		waitIdle(t, l)
	}
}

// When one connection turns out to be cut, the others that wait are not tried
// one by one: each would cost a call.
func TestClientDropsWhatWasCutTogether(t *testing.T) {
	t.Parallel()
	var old sync.Map // connections that are cut on the next request
	var cut atomic.Bool
	all := make(chan struct{})
	s := newScript(t, func(c net.Conn, n int, body string) bool {
		if _, is := old.Load(c); is && cut.Load() {
			_ = c.(*net.TCPConn).SetLinger(0) // a reset
			return false
		}
		if !cut.Load() {
			old.Store(c, nil)
			if n == 8 {
				close(all)
			}
			<-all // eight at once, so that there are eight connections
		}
		return reply(c, sized(body))
	})
	l := clientTo(t, s.url)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { must(t, l, "x") })
	}
	wg.Wait()
	cut.Store(true)
	if _, _, err := say(t.Context(), l, "one pays"); junctor.CodeOf(err) != junctor.CodeUpstream {
		t.Fatalf("%v", err)
	}
	for range 10 {
		must(t, l, "the others do not")
	}
}

func TestPoolBounds(t *testing.T) {
	t.Parallel()
	s := newScript(t, echoes)
	l := clientTo(t, s.url)
	must(t, l, "x")
	if l.pool.openCount != 1 || len(l.pool.idle) != 1 {
		t.Fatalf("%d open, %d idle", l.pool.openCount, len(l.pool.idle))
	}
	l.pool.idle[0].idleUntil = time.Now().Add(-time.Second)
	l.pool.closeExpired()
	if l.pool.openCount != 0 || len(l.pool.idle) != 0 || l.pool.sweepTimer != nil || len(l.transport.pools) != 0 {
		t.Errorf("after its time: %d open, %d idle", l.pool.openCount, len(l.pool.idle))
	}
	l.pool.openCount = maxOpenConns
	if _, _, err := say(t.Context(), l, "x"); junctor.CodeOf(err) != junctor.CodeUnavailable {
		t.Errorf("%v", err)
	}
	l.pool.openCount = 0
	must(t, l, "x")
	if kept := time.Until(l.pool.idle[0].idleUntil); kept > defaultIdleTime {
		t.Errorf("kept for %v", kept)
	}
	if again := clientTo(t, s.url); again.pool == l.pool {
		t.Error("two clients share connections")
	}
	if again := clientOf(t, l.transport, s.url+"/other"); again.pool == l.pool {
		t.Error("a pool that was forgotten is shared again")
	}
}

// Many callers, one pool: nobody gets another's answer.
func TestClientUnderLoad(t *testing.T) {
	t.Parallel()
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if len(body)%3 == 0 {
			w.(http.Flusher).Flush() // chunks
		}
		_, _ = w.Write(body)
	})
	l := clientTo(t, srv.URL+"/mcp")
	var group sync.WaitGroup
	for g := range 16 {
		group.Go(func() {
			for i := range 100 {
				text := fmt.Sprintf("%d:%d:%s", g, i, strings.Repeat("x", (g*i)%3000))
				ctx, cancel := context.WithCancel(t.Context())
				if i%10 == 9 {
					go cancel() // at any moment
				}
				_, got, err := say(ctx, l, text)
				cancel()
				if err == nil && got != text || err != nil && i%10 != 9 {
					t.Errorf("%q came back as %q, %v", text, got, err)
				}
			}
		})
	}
	group.Wait()
}

func BenchmarkClient(b *testing.B) {
	s := newScript(b, echoes)
	l := clientTo(b, s.url)
	h, _ := l.RenderHeader(http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}})
	body, buf := []byte(strings.Repeat("x", 200)), make([]byte, 512)
	b.ReportAllocs()
	for b.Loop() {
		r := &Response{}
		if err := l.Post(b.Context(), r, h, nil, body); err != nil {
			b.Fatal(err)
		}
		for {
			if _, err := r.Read(buf); err != nil {
				break
			}
		}
		_ = r.Close()
	}
}

// leaksNothing fails where a goroutine is left once everything is closed.
func leaksNothing(t *testing.T) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
}
