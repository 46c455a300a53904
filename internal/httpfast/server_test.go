package httpfast_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/httpfast"
	"github.com/junctor-mcp/junctor/internal/telemetry"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

// testServer is a server on loopback behind the fast path. A handler that wants to know
// who called it asks ours.
type testServer struct {
	*httpfast.Server
	addr string
	log  *bytes.Buffer // to be read when the server has ended
	end  chan error
}

func limits(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: time.Minute, IdleTimeout: time.Minute, MaxHeaderBytes: 32 << 10, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}
}

func start(t testing.TB, s *http.Server) *testServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &testServer{addr: l.Addr().String(), log: &bytes.Buffer{}, end: make(chan error, 1)}
	log := slog.New(slog.NewTextHandler(b.log, nil))
	b.Server = httpfast.NewServer(s, httpfast.ServerEvents{
		OnAcceptError:  func(err error) { log.Warn("cannot accept a connection; retrying", telemetry.ErrorAttr(err)) },
		OnHandlerPanic: func(value any) { log.Error("HTTP handler panicked", telemetry.PanicAttr(value)) },
	})
	go func() { b.end <- b.Serve(l) }()
	t.Cleanup(func() {
		_ = b.Close()
		if err := <-b.end; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("Serve ended with %v", err)
		}
		b.end <- http.ErrServerClosed
	})
	return b
}

// ours says whether a request was served by the fast path itself: the writers of
// net/http let a connection be taken away, ours do not.
func ours(w http.ResponseWriter) bool {
	_, theirs := w.(http.Hijacker)
	return !theirs
}

// patience is longer than anything takes that comes at all, on a busy machine.
const patience = 30 * time.Second

// client is one connection.
type client struct {
	t testing.TB
	net.Conn
	r *bufio.Reader
}

func dial(t testing.TB, addr string) *client {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	return &client{t, c, bufio.NewReader(c)}
}

func (c *client) send(s string) {
	c.t.Helper()
	if _, err := io.WriteString(c, s); err != nil {
		c.t.Fatal(err)
	}
}

// answer reads one answer whole.
func (c *client) answer() (*http.Response, string) {
	c.t.Helper()
	resp, err := http.ReadResponse(c.r, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp, string(b)
}

// ends reads until the connection does, and gives what came.
func (c *client) ends() string {
	c.t.Helper()
	b, err := io.ReadAll(c.r)
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		c.t.Fatal("the connection stays open")
	}
	return string(b)
}

func post(body string, header ...string) string {
	return fmt.Sprintf("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n%s\r\n%s", len(body), strings.Join(append(header, ""), "\r\n"), body)
}

func echo(w http.ResponseWriter, r *http.Request) {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("X-Ours", fmt.Sprint(ours(w)))
	_, _ = w.Write(b)
}

func TestPlainRequestsAreServedHere(t *testing.T) {
	s := start(t, limits(http.HandlerFunc(echo)))
	c := dial(t, s.addr)
	for i := range 3 {
		text := strings.Repeat("x", i*5000)
		c.send(post(text))
		resp, body := c.answer()
		if resp.StatusCode != http.StatusOK || body != text || resp.Header.Get("X-Ours") != "true" {
			t.Fatalf("%d %v, %d bytes", resp.StatusCode, resp.Header, len(body))
		}
		if _, err := http.ParseTime(resp.Header.Get("Date")); err != nil {
			t.Error(err)
		}
	}
}

// TestPipelined holds that requests sent at once are answered in their order,
// wherever the bytes are cut.
func TestPipelined(t *testing.T) {
	s := start(t, limits(http.HandlerFunc(echo)))
	all := ""
	for i := range 20 {
		all += post(fmt.Sprintf("%d %s", i, strings.Repeat("y", i*400)), "X-Fill: "+strings.Repeat("f", i*100))
	}
	for _, cut := range []int{len(all), 4096, 1000, 7} {
		c := dial(t, s.addr)
		go func() {
			for rest := all; rest != ""; {
				n := min(cut, len(rest))
				if _, err := io.WriteString(c, rest[:n]); err != nil {
					return
				}
				rest = rest[n:]
			}
		}()
		for i := range 20 {
			if resp, body := c.answer(); !strings.HasPrefix(body, fmt.Sprintf("%d yyy", i)[:1]) || len(body) < i*400 || resp.Header.Get("X-Ours") != "true" {
				t.Fatalf("cut %d: answer %d is %.20q, %v", cut, i, body, resp.Header)
			}
		}
	}
}

// TestHandedOver holds that what is not plain is answered by net/http, as if it
// had been there alone, also behind plain requests on the same connection.
func TestHandedOver(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		echo(w, r)
		_, _ = fmt.Fprintf(w, "%s %s %s %q %d", r.Method, r.URL, r.Host, r.Header, r.ContentLength)
	})
	s := start(t, limits(h))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	alone := limits(h)
	t.Cleanup(func() { _ = alone.Close() })
	go func() { _ = alone.Serve(l) }()
	for name, request := range map[string]string{
		"GET":                 "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"no body":             "POST / HTTP/1.1\r\nHost: x\r\n\r\n",
		"HTTP/1.0":            "POST / HTTP/1.0\r\nHost: x\r\nContent-Length: 1\r\n\r\na",
		"HTTP/1.2":            "POST / HTTP/1.2\r\nHost: x\r\nContent-Length: 1\r\n\r\na",
		"HTTP/2":              "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"chunked":             "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
		"odd coding":          "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\nabc",
		"two lengths":         "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
		"same length twice":   "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na",
		"length list":         "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1, 1\r\n\r\na",
		"length with a sign":  "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +1\r\n\r\na",
		"length is negative":  "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\na",
		"length in hex":       "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0x1\r\n\r\na",
		"no length value":     "POST / HTTP/1.1\r\nHost: x\r\nContent-Length:\r\n\r\n",
		"length too long":     "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
		"no Host":             "POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\na",
		"two Hosts":           "POST / HTTP/1.1\r\nHost: x\r\nHost: y\r\nContent-Length: 1\r\n\r\na",
		"empty Host":          "POST / HTTP/1.1\r\nHost:\r\nContent-Length: 1\r\n\r\na",
		"odd Host":            "POST / HTTP/1.1\r\nHost: a/b\r\nContent-Length: 1\r\n\r\na",
		"bad Host":            "POST / HTTP/1.1\r\nHost: a b\r\nContent-Length: 1\r\n\r\na",
		"absolute form":       "POST http://y/ HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\na",
		"authority form":      "POST y:1 HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\na",
		"asterisk form":       "POST * HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\na",
		"bad escape":          "POST /%zz HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\na",
		"space in the target": "POST /a b HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\na",
		"two spaces":          "POST  / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\na",
		"lower case":          "post / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\na",
		"folded":              "POST / HTTP/1.1\r\nHost: x\r\nX: a\r\n b\r\nContent-Length: 1\r\n\r\na",
		"folded at once":      "POST / HTTP/1.1\r\n Host: x\r\nContent-Length: 1\r\n\r\na",
		"folded by a tab":     "POST / HTTP/1.1\r\nHost: x\r\nX: a\r\n\tb\r\nContent-Length: 1\r\n\r\na",
		"bare line feeds":     "POST / HTTP/1.1\nHost: x\nContent-Length: 1\n\na",
		"one bare line feed":  "POST / HTTP/1.1\r\nHost: x\nContent-Length: 1\r\n\r\na",
		"hidden end":          "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\na\r\n\r\n",
		"carriage return":     "POST / HTTP/1.1\r\nHost: x\r\nX: a\rb\r\nContent-Length: 1\r\n\r\na",
		"NUL":                 "POST / HTTP/1.1\r\nHost: x\r\nX: a\x00b\r\nContent-Length: 1\r\n\r\na",
		"NUL in a name":       "POST / HTTP/1.1\r\nHost: x\r\nX\x00: b\r\nContent-Length: 1\r\n\r\na",
		"beyond ASCII":        "POST / HTTP/1.1\r\nHost: x\r\nX: \xc3\xa4\r\nContent-Length: 1\r\n\r\na",
		"space before colon":  "POST / HTTP/1.1\r\nHost: x\r\nContent-Length : 1\r\n\r\na",
		"no colon":            "POST / HTTP/1.1\r\nHost: x\r\nNothing\r\nContent-Length: 1\r\n\r\na",
		"no name":             "POST / HTTP/1.1\r\nHost: x\r\n: a\r\nContent-Length: 1\r\n\r\na",
		"Expect":              "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\na",
		"odd Expect":          "POST / HTTP/1.1\r\nHost: x\r\nExpect: miracles\r\nContent-Length: 1\r\n\r\na",
		"Upgrade":             "POST / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 1\r\n\r\na",
		"named headers":       "POST / HTTP/1.1\r\nHost: x\r\nConnection: X-A\r\nX-A: 1\r\nContent-Length: 1\r\n\r\na",
		"two Connections":     "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\na",
		"Pragma":              "POST / HTTP/1.1\r\nHost: x\r\nPragma: no-cache\r\nContent-Length: 1\r\n\r\na",
		"Trailer":             "POST / HTTP/1.1\r\nHost: x\r\nTrailer: X\r\nContent-Length: 1\r\n\r\na",
		"half a head":         "POST / HTTP/1.1\r\nHost: x\r\nContent-Le",
		"huge head":           "POST / HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("a", 40<<10) + "\r\nContent-Length: 1\r\n\r\na",
		"many lines":          "POST / HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("X: 1\r\n", 7000) + "Content-Length: 1\r\n\r\na",
	} {
		want := exchange(t, l.Addr().String(), request)
		if got := exchange(t, s.addr, request); got != want || strings.Contains(got, "X-Ours: true") {
			t.Errorf("%s:\n%q\nbut net/http alone\n%q", name, got, want)
		}
		if got := exchange(t, s.addr, post("first")+post("second")+request); !strings.HasSuffix(got, want) || strings.Count(got, "X-Ours: true") != 2 {
			t.Errorf("%s behind others:\n%q\nshould end with\n%q", name, got, want)
		}
	}
}

// exchange sends all, ends its half and reads all, without dates.
func exchange(t *testing.T, addr, request string) string {
	t.Helper()
	c := dial(t, addr)
	_, _ = io.WriteString(c, request) // the other side may have enough of it
	_ = c.Conn.(*net.TCPConn).CloseWrite()
	var b strings.Builder
	for line := range strings.SplitSeq(c.ends(), "\r\n") {
		if !strings.HasPrefix(line, "Date: ") {
			b.WriteString(line + "\r\n")
		}
	}
	return b.String()
}

// TestLineEndsBetweenRequests holds that line ends behind a body, which old
// clients send, are taken as net/http takes them.
func TestLineEndsBetweenRequests(t *testing.T) {
	s := start(t, limits(http.HandlerFunc(echo)))
	c := dial(t, s.addr)
	c.send(post("a") + "\r\n" + post("b") + "\r\n\r\n" + post("c") + "\r\n")
	for _, want := range []string{"a", "b", "c"} {
		if resp, body := c.answer(); body != want || resp.Header.Get("X-Ours") != "true" {
			t.Fatalf("%q %v", body, resp.Header)
		}
	}
	c.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	if resp, _ := c.answer(); resp.StatusCode != http.StatusOK || resp.Header.Get("X-Ours") != "false" {
		t.Fatalf("%d %v", resp.StatusCode, resp.Header)
	}
	c = dial(t, s.addr)
	c.send(post("a") + "\r\n\r\n\r\n" + post("b"))
	c.answer()
	if resp, _ := c.answer(); resp.StatusCode != http.StatusBadRequest {
		t.Fatalf("six line ends: %d", resp.StatusCode)
	}
}

// TestClientLeaves holds that the context of a request ends soon when its client
// has gone, however it went.
func TestClientLeaves(t *testing.T) {
	began, ended := make(chan struct{}), make(chan time.Time, 1)
	s := start(t, limits(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		began <- struct{}{}
		<-r.Context().Done()
		ended <- time.Now()
	})))
	for name, leave := range map[string]func(c *net.TCPConn){
		"close":      func(c *net.TCPConn) { _ = c.Close() },
		"reset":      func(c *net.TCPConn) { _ = c.SetLinger(0); _ = c.Close() },
		"half close": func(c *net.TCPConn) { _ = c.CloseWrite() },
	} {
		for _, after := range []time.Duration{0, 400 * time.Millisecond} {
			c := dial(t, s.addr)
			c.send(post("a"))
			<-began
			poll.Pause(after, "the watcher looks less often at a request that has run for a while")
			select {
			case <-ended:
				t.Fatal("it ended before")
			default:
			}
			left := time.Now()
			leave(c.Conn.(*net.TCPConn))
			if took := (<-ended).Sub(left); took > patience {
				t.Errorf("%s after %s: %s", name, after, took)
			} else {
				t.Logf("%s after %s: %s", name, after, took)
			}
		}
	}
}

// TestContextEnds holds that the context ends with the request, and what the
// handler kept of it does nothing any more.
func TestContextEnds(t *testing.T) {
	var kept atomic.Pointer[http.ResponseWriter]
	contexts := make(chan context.Context, 1)
	bodies := make(chan io.ReadCloser, 1)
	s := start(t, limits(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Context().Value(http.ServerContextKey) == nil || r.Context().Value(http.LocalAddrContextKey) == nil {
			t.Error("the context lacks values")
		}
		if kept.CompareAndSwap(nil, &w) {
			contexts <- r.Context()
			bodies <- r.Body
			return
		}
		echo(w, r)
	})))
	c := dial(t, s.addr)
	c.send(post("unread") + post("b"))
	if resp, body := c.answer(); resp.StatusCode != http.StatusOK || body != "" || resp.ContentLength != 0 {
		t.Fatalf("%d %q", resp.StatusCode, body)
	}
	<-(<-contexts).Done()
	late := *kept.Load()
	late.WriteHeader(http.StatusInternalServerError)
	if _, err := late.Write([]byte("late")); err == nil {
		t.Error("a late write is taken")
	}
	if err := http.NewResponseController(late).Flush(); err == nil {
		t.Error("a late flush is taken")
	}
	if _, err := (<-bodies).Read(make([]byte, 10)); !errors.Is(err, http.ErrBodyReadAfterClose) {
		t.Errorf("a late read: %v", err)
	}
	if _, body := c.answer(); body != "b" {
		t.Fatalf("%q", body)
	}
}
