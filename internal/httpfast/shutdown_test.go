package httpfast_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

// TestIdleAndSlowHeads holds the time limits of connections on which nothing is
// asked, or half a request.
func TestIdleAndSlowHeads(t *testing.T) {
	h := limits(http.HandlerFunc(echo))
	h.ReadHeaderTimeout, h.IdleTimeout = 300*time.Millisecond, 700*time.Millisecond
	s := start(t, h)
	for name, c := range map[string]struct {
		send  string
		drip  bool
		least time.Duration
	}{
		"nothing":        {least: 300 * time.Millisecond},
		"half a head":    {send: "POST / HTTP/1.1\r\nHo", least: 300 * time.Millisecond},
		"dripping":       {send: "POST / HTTP/1.1\r\nX: ", drip: true, least: 300 * time.Millisecond},
		"one request":    {send: post("a"), least: 700 * time.Millisecond},
		"one and a half": {send: post("a") + "POST", least: 300 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := dial(t, s.addr)
			begun := time.Now()
			conn.send(c.send)
			if c.drip {
				go func() {
					for {
						if _, err := io.WriteString(conn, "x"); err != nil {
							return
						}
						poll.Pause(20*time.Millisecond, "bytes that come now and then are what must not extend the limit")
					}
				}()
			}
			conn.ends()
			if took := time.Since(begun); took < c.least || took > c.least+patience {
				t.Errorf("it ended after %s", took)
			}
		})
	}
}

// TestHangUp holds that an answer can end before its handler does, whole.
func TestHangUp(t *testing.T) {
	goOn, wrote := make(chan struct{}), make(chan error, 1)
	s := start(t, limits(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "all there is")
		_ = http.NewResponseController(w).Flush()
		w.(interface{ HangUp() }).HangUp()
		<-goOn
		_, err := io.WriteString(w, "more")
		wrote <- err
	})))
	conn := dial(t, s.addr)
	conn.send(post("a"))
	resp, err := http.ReadResponse(conn.r, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); err != nil || string(b) != "all there is" {
		t.Errorf("%q, %v", b, err)
	}
	conn.ends()
	close(goOn)
	if err := <-wrote; err == nil {
		t.Error("what is written after the end seems to arrive")
	}
}

// TestShutdown holds that what runs gets its answer, what waits is closed at
// once, and nothing is taken any more.
func TestShutdown(t *testing.T) {
	began, goOn := make(chan struct{}), make(chan struct{})
	var running, left atomic.Int64
	s := start(t, limits(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		running.Add(1)
		defer running.Add(-1)
		began <- struct{}{}
		<-goOn
		echo(w, r)
	})))
	fresh, half := dial(t, s.addr), dial(t, s.addr)
	half.send("POST / HTTP/1.1\r\n")
	busy, theirs := dial(t, s.addr), dial(t, s.addr)
	busy.send(post("a") + post("b"))
	<-began
	theirs.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	<-began
	done := make(chan error, 1)
	go func() {
		err := s.Shutdown(t.Context())
		left.Store(running.Load())
		done <- err
	}()
	if fresh.ends()+half.ends() != "" {
		t.Error("an answer to nothing")
	}
	if c, err := net.Dial("tcp", s.addr); err == nil {
		_ = c.Close()
		t.Error("a connection is taken")
	}
	close(goOn)
	if resp, body := busy.answer(); body != "a" || !resp.Close {
		t.Errorf("%q %t", body, resp.Close)
	}
	if resp, _ := theirs.answer(); !resp.Close {
		t.Error("net/http keeps its connection")
	}
	if rest := busy.ends(); rest != "" {
		t.Errorf("%q", rest)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if n := left.Load(); n != 0 {
		t.Errorf("it did not wait for %d requests", n)
	}
}

// TestClose holds that a shutdown ends with its context, and Close cuts what
// runs then and ends its context.
func TestClose(t *testing.T) {
	began, ended := make(chan struct{}), make(chan struct{})
	s := start(t, limits(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		began <- struct{}{}
		<-r.Context().Done()
		close(ended)
	})))
	c := dial(t, s.addr)
	c.send(post("a"))
	<-began
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := s.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	_ = s.Close()
	<-ended
	if got := c.ends(); got != "" {
		t.Errorf("%q", got)
	}
}

// TestShutdownUnderLoad holds that a request that was begun is answered: each
// that the handler counted reached its client, whenever the end came.
func TestShutdownUnderLoad(t *testing.T) {
	for round := range 10 {
		var handled, answered atomic.Int64
		s := start(t, limits(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			handled.Add(1)
			echo(w, r)
		})))
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				c, err := net.Dial("tcp", s.addr)
				if err != nil {
					return
				}
				defer func() { _ = c.Close() }()
				request, want := post(strings.Repeat("z", 10+i)), strings.Repeat("z", 10+i)
				b := make([]byte, 4096)
				for {
					if _, err := io.WriteString(c, request); err != nil {
						return
					}
					n, err := c.Read(b)
					if err != nil {
						return
					}
					if !strings.HasSuffix(string(b[:n]), want) {
						t.Errorf("%q", b[:n])
					}
					answered.Add(1)
				}
			})
		}
		poll.Until(t, "some load", time.Minute, func() bool { return answered.Load() >= 100*int64(1+round) })
		if err := s.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		if handled.Load() != answered.Load() || handled.Load() == 0 {
			t.Fatalf("%d requests were handled, %d answered", handled.Load(), answered.Load())
		}
	}
}

// TestNothingIsLeft holds that connections, ours and those handed over, leave
// neither goroutines nor memory behind, and what one costs while it is idle.
func TestNothingIsLeft(t *testing.T) {
	s := start(t, limits(http.HandlerFunc(echo)))
	warm := dial(t, s.addr)
	warm.send(post("a"))
	warm.answer()
	before := settledGoroutines(t)
	const many = 300
	var was, is runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&was)
	conns := make([]net.Conn, 0, many)
	for i := range many {
		c := dial(t, s.addr)
		conns = append(conns, c.Conn)
		if i%3 == 0 {
			c.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		} else {
			c.send(post("a"))
		}
		c.answer()
	}
	runtime.GC()
	runtime.ReadMemStats(&is)
	each := int(is.HeapInuse+is.StackInuse-was.HeapInuse-was.StackInuse) / many
	if t.Logf("%d bytes for a connection, both sides", each); each > 48<<10 {
		t.Errorf("an idle connection costs %d bytes", each)
	}
	if settledGoroutines(t) < many {
		t.Error("connections have no goroutine of their own: what is counted?")
	}
	for _, c := range conns {
		_ = c.Close()
	}
	if !poll.Holds(time.Minute, func() bool { return runtime.NumGoroutine() <= before+5 }) {
		t.Fatalf("%d goroutines before, %d after", before, runtime.NumGoroutine())
	}
}

// settledGoroutines counts goroutines once their number has not changed for a while.
func settledGoroutines(t *testing.T) int {
	t.Helper()
	const quiet = 20 * time.Millisecond
	n, since := runtime.NumGoroutine(), time.Now()
	poll.Until(t, "a number of goroutines that stays", time.Minute, func() bool {
		if now := runtime.NumGoroutine(); now != n {
			n, since = now, time.Now()
		}
		return time.Since(since) >= quiet
	})
	return n
}
