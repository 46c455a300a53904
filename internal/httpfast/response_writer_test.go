package httpfast_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

// TestAnswersAsNetHTTP holds that handlers can write what they like in the ways
// they do, and clients see what they would see of net/http.
func TestAnswersAsNetHTTP(t *testing.T) {
	flush := func(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }
	for name, h := range map[string]http.HandlerFunc{
		"nothing":    func(http.ResponseWriter, *http.Request) {},
		"status":     func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) },
		"no content": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
		"own status": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(599) },
		"error":      func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusTeapot) },
		"not changed": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "a/b")
			w.WriteHeader(http.StatusNotModified)
		},
		"body where none may be": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNoContent)
			if _, err := w.Write([]byte("x")); err == nil {
				panic("taken")
			}
		},
		"text":    func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") },
		"guessed": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") },
		"encoded": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "x")
			_, _ = io.WriteString(w, "a")
		},
		"own type": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "a/b")
			_, _ = io.WriteString(w, "hello")
		},
		"two statuses": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusCreated)
			w.WriteHeader(http.StatusInternalServerError)
		},
		"header too late": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-A", "1")
			w.WriteHeader(http.StatusCreated)
			w.Header().Set("X-A", "2")
			w.Header().Set("X-B", "2")
			_, _ = io.WriteString(w, "a")
		},
		"lines in values": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-A", " 1\r\nX-Evil: 1\nmore ")
			w.Header()["X-B: 1\r\nX-Evil"] = []string{"1"}
			w.Header()["X-C"] = []string{"1", "2"}
		},
		"long": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(bytes.Repeat([]byte("a"), 100_000)) },
		"long with length": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100003")
			for _, n := range []int{1, 100_000, 2} {
				_, _ = w.Write(bytes.Repeat([]byte("a"), n))
			}
		},
		"in parts": func(w http.ResponseWriter, _ *http.Request) {
			for i := range 300 {
				_, _ = fmt.Fprintf(w, "part %d of three hundred; ", i)
			}
		},
		"flushed parts": func(w http.ResponseWriter, _ *http.Request) {
			flush(w)
			for i := range 10 {
				_, _ = w.Write(bytes.Repeat([]byte{'a' + byte(i)}, 1+i*1500))
				flush(w)
			}
		},
		"flush at the end": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "a"); flush(w) },
		"flush nothing":    func(w http.ResponseWriter, _ *http.Request) { flush(w) },
		"too long": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "2")
			_, _ = io.WriteString(w, "ab")
			_, _ = io.WriteString(w, "c")
		},
		"close": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Connection", "close")
			_, _ = io.WriteString(w, "ab")
		},
		"body unread": func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", http.StatusUnsupportedMediaType) },
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, limits(h))
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			alone := limits(h)
			t.Cleanup(func() { _ = alone.Close() })
			go func() { _ = alone.Serve(l) }()
			for _, request := range []string{post("abc"), post("abc", "Connection: close"), post(strings.Repeat("a", 20000))} {
				got, want := seen(t, s.addr, request), seen(t, l.Addr().String(), request)
				if got != want {
					t.Errorf("\n%s\nbut net/http\n%s", got, want)
				}
			}
		})
	}
}

// seen is what a client sees of two requests on a connection.
func seen(t *testing.T, addr, request string) string {
	t.Helper()
	c := dial(t, addr)
	var b strings.Builder
	for range 2 {
		if _, err := io.WriteString(c, request); err != nil {
			break
		}
		resp, err := http.ReadResponse(c.r, nil)
		if err != nil {
			b.WriteString("and the connection has ended")
			break
		}
		text, err := io.ReadAll(resp.Body)
		resp.Header.Del("Date")
		fmt.Fprintf(&b, "%s %v close=%t %q %v\n", resp.Status, resp.Header, resp.Close, text, err)
	}
	return b.String()
}

// TestTooLittle holds that an answer which is shorter than it said does not look
// complete, and nothing follows it.
func TestTooLittle(t *testing.T) {
	s := start(t, limits(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "10")
		_, _ = io.WriteString(w, "abc")
	})))
	c := dial(t, s.addr)
	c.send(post("a") + post("b"))
	if got := c.ends(); !strings.HasSuffix(got, "\r\n\r\nabc") {
		t.Errorf("%q", got)
	}
}

func TestPanics(t *testing.T) {
	s := start(t, limits(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "half")
		if r.Header.Get("Abort") != "" {
			panic(http.ErrAbortHandler)
		}
		panic("a secret")
	})))
	c := dial(t, s.addr)
	c.send(post("a", "Abort: 1"))
	if got := c.ends(); got != "" {
		t.Errorf("%q", got)
	}
	c = dial(t, s.addr)
	c.send(post("a"))
	if got := c.ends(); got != "" {
		t.Errorf("%q", got)
	}
	_ = s.Close()
	if log := s.log.String(); strings.Count(log, "HTTP handler panicked") != 1 || strings.Contains(log, "a secret") {
		t.Error(log)
	}
}

// TestEarlyAnswer holds that a client that sends all before it reads gets the
// answer of a handler that did not want to know, be the body short or long.
func TestEarlyAnswer(t *testing.T) {
	s := start(t, limits(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "no", http.StatusUnsupportedMediaType)
	})))
	for _, size := range []int{10, 100_000, 8 << 20} {
		c := dial(t, s.addr)
		_, err := io.WriteString(c, post(strings.Repeat("x", size)))
		for try := 1; err != nil && try < 20; try++ { // who is slower than the connection lingers does not get through
			c = dial(t, s.addr)
			_, err = io.WriteString(c, post(strings.Repeat("x", size)))
		}
		if err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		resp, body := c.answer()
		if resp.StatusCode != http.StatusUnsupportedMediaType || body != "no\n" {
			t.Fatalf("%d: %d %q", size, resp.StatusCode, body)
		}
		if resp.Close != (size > 256<<10) {
			t.Errorf("%d bytes: close is %t", size, resp.Close)
		}
		if !resp.Close {
			c.send(post("a"))
			c.answer()
		}
	}
}

// TestSlowBody holds that a body may take the time that its handler gives it,
// and that the request behind it does not inherit that.
func TestSlowBody(t *testing.T) {
	const slow = 3 * time.Second     // enough for a busy machine to send the rest
	began := make(chan time.Time, 4) // with the deadline
	s := start(t, limits(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		deadline := time.Now().Add(slow)
		_ = http.NewResponseController(w).SetReadDeadline(deadline)
		began <- deadline
		echo(w, r)
	})))
	c := dial(t, s.addr)
	whole := post("abcdef")
	for range 2 {
		c.send(whole[:len(whole)-3])
		deadline := <-began
		c.send(whole[len(whole)-3:])
		if _, body := c.answer(); body != "abcdef" {
			t.Fatalf("%q", body)
		}
		poll.Pause(time.Until(deadline), "the deadline has to pass between two requests")
	}
	c.send(whole[:len(whole)-3])
	if resp, body := c.answer(); resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, "timeout") || !resp.Close {
		t.Errorf("%d %q", resp.StatusCode, body)
	}
	c.ends()
	// A client that leaves in the middle.
	c = dial(t, s.addr)
	c.send(whole[:len(whole)-3])
	_ = c.Conn.(*net.TCPConn).CloseWrite()
	if resp, body := c.answer(); resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, "unexpected EOF") {
		t.Errorf("%d %q", resp.StatusCode, body)
	}
}
