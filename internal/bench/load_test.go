package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// aJob is a short load on srv.
func aJob(srv *httptest.Server, version string, conns int) job {
	return job{
		Endpoint: endpoint{Addr: srv.Listener.Addr().String(), Path: "/mcp"},
		Version:  version, Method: methodCall, Tool: toolEcho, Argument: toolArgument, ArgBytes: 200,
		Conns: conns, Run: "cafe0000", Warmup: 5 * time.Millisecond, Duration: 60 * time.Millisecond,
	}
}

// answering is an MCP server whose answers to tools/call are made by answer.
func answering(t *testing.T, answer func(w http.ResponseWriter, right string)) *httptest.Server {
	t.Helper()
	e := newUpstream(false, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(string(body))), int64(len(body))
		if !strings.Contains(string(body), methodCall) {
			e.ServeHTTP(w, r)
			return
		}
		rec := httptest.NewRecorder()
		e.ServeHTTP(rec, r)
		answer(w, rec.Body.String())
	}))
	t.Cleanup(srv.Close)
	return srv
}

func inPieces(w http.ResponseWriter, text string) {
	for len(text) > 0 {
		n := min(len(text), 50)
		_, _ = io.WriteString(w, text[:n])
		_ = http.NewResponseController(w).Flush()
		text = text[n:]
	}
}

func TestLoadCountsRightAnswers(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(http.ResponseWriter, string){
		"length": func(w http.ResponseWriter, right string) { sendJSON(w, []byte(right)) },
		"chunks": inPieces,
		"stream": func(w http.ResponseWriter, right string) {
			w.Header().Set("Content-Type", "text/event-stream")
			inPieces(w, "event: message\ndata: "+right+"\n\n")
		},
		"close": func(w http.ResponseWriter, right string) {
			w.Header().Set("Connection", "close")
			sendJSON(w, []byte(right))
		},
	} {
		for _, version := range []string{versionLegacy, versionModern} {
			t.Run(name+" "+version, func(t *testing.T) {
				t.Parallel()
				r, err := aJob(answering(t, answer), version, 4).runLoad(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if r.Answers.Bad() > 0 || r.Answers.Right == 0 || r.Answers.Problem != "" || r.Calls > r.Answers.Right {
					t.Errorf("%+v", r)
				}
				if r.Calls > 0 && (r.PerSecond <= 0 || r.P50 <= 0 || r.P99 < r.P50) {
					t.Errorf("%+v", r)
				}
			})
		}
	}
}

func TestLoadCountsWhatIsNotRight(t *testing.T) {
	t.Parallel()
	// swap answers each call with what the one before should have got.
	var mu sync.Mutex
	last := `{"id":1,"result":{"content":[{"type":"text","text":"~cafe0000.0000000000~"}]}}`
	swap := func(w http.ResponseWriter, right string) {
		mu.Lock()
		text := last
		last = right
		mu.Unlock()
		sendJSON(w, []byte(text))
	}
	for _, c := range []struct {
		name   string
		answer func(http.ResponseWriter, string)
		kind   func(Answers) int
		say    string
	}{
		{"wrong", func(w http.ResponseWriter, _ string) { sendJSON(w, []byte(`{"result":{"content":[]}}`)) }, func(a Answers) int { return a.Wrong }, "content"},
		{"crossed", swap, func(a Answers) int { return a.Crossed }, "cafe0000"},
		{"status", func(w http.ResponseWriter, _ string) { http.Error(w, "full", http.StatusServiceUnavailable) }, func(a Answers) int { return a.Failed }, "status 503"},
		{"tool error", func(w http.ResponseWriter, right string) {
			sendJSON(w, []byte(strings.Replace(right, `"result":{`, `"result":{"isError":true,`, 1)))
		}, func(a Answers) int { return a.Failed }, "isError"},
		{"cut", func(w http.ResponseWriter, right string) {
			w.Header().Set("Content-Length", "5000")
			_, _ = io.WriteString(w, right)
			panic(http.ErrAbortHandler)
		}, func(a Answers) int { return a.Failed }, "EOF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, err := aJob(answering(t, c.answer), versionLegacy, 2).runLoad(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if n := c.kind(r.Answers); n == 0 || n != r.Answers.Bad() || r.Answers.Right > 0 || r.Calls > 0 {
				t.Errorf("%+v", r)
			}
			if !strings.Contains(r.Answers.Problem, c.say) {
				t.Errorf("the problem is %q, want it to say %q", r.Answers.Problem, c.say)
			}
		})
	}
}

// One bad answer among many right ones is seen, and the rest still measured.
func TestLoadSeesOneBadAnswer(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	n := 0
	srv := answering(t, func(w http.ResponseWriter, right string) {
		mu.Lock()
		n++
		bad := n == 3
		mu.Unlock()
		if bad {
			panic(http.ErrAbortHandler)
		}
		sendJSON(w, []byte(right))
	})
	j := aJob(srv, versionLegacy, 1)
	j.Duration = 200 * time.Millisecond
	r, err := j.runLoad(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.Answers.Failed != 1 || r.Answers.Bad() != 1 || r.Answers.Right < 3 {
		t.Errorf("%+v, want one failure, and calls after it on a new connection", r)
	}
}

func TestLoadOwnSessions(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	conns := map[string]string{} // session -> connection
	e := newUpstream(false, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if id := r.Header.Get("Mcp-Session-Id"); id != "" {
			mu.Lock()
			if was, ok := conns[id]; ok && was != r.RemoteAddr {
				t.Errorf("session %s is used by %s and %s", id, was, r.RemoteAddr)
			}
			conns[id] = r.RemoteAddr
			mu.Unlock()
		}
		e.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	j := aJob(srv, versionLegacy, 5)
	j.Method = methodList
	r, err := j.runLoad(t.Context())
	if err != nil || r.Answers.Bad() > 0 || r.Answers.Right == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	if len(conns) != 5 {
		t.Errorf("%d sessions, want one for each of 5 connections", len(conns))
	}
}

func TestLoadLeavesTheWarmUpOut(t *testing.T) {
	t.Parallel()
	j := aJob(answering(t, inPieces), versionModern, 1)
	j.Warmup, j.Duration = 100*time.Millisecond, time.Microsecond
	r, err := j.runLoad(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// At most the call in flight when the measured time begins can end within it.
	if r.Answers.Right < 2 || r.Calls > 1 {
		t.Errorf("%d calls were measured of %d", r.Calls, r.Answers.Right)
	}
}

func TestLoadMeasuresTheServer(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("CPU and memory are read on Linux only")
	}
	j := aJob(answering(t, inPieces), versionModern, 2)
	j.PID = os.Getpid()
	r, err := j.runLoad(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.Calls > 0 && r.CPU <= 0 || r.RSS < 1<<20 {
		t.Errorf("%+v, want this process's CPU and memory", r)
	}
}

func TestLoadCannotBegin(t *testing.T) {
	t.Parallel()
	closed, err := freeAddr(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	t.Cleanup(refusing.Close)
	for name, addr := range map[string]string{"nobody listens": closed, "refused": refusing.Listener.Addr().String()} {
		j := job{Endpoint: endpoint{Addr: addr, Path: "/mcp"}, Version: versionLegacy, Method: methodCall, Conns: 1, Duration: time.Millisecond}
		if r, err := j.runLoad(t.Context()); err == nil {
			t.Errorf("%s: %+v, want an error", name, r)
		}
	}
}

func TestLoadEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	release := make(chan struct{})
	srv := answering(t, func(http.ResponseWriter, string) { cancel(); <-release })
	t.Cleanup(func() { close(release) })
	j := aJob(srv, versionModern, 2)
	j.Duration = time.Hour
	if _, err := j.runLoad(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("run = %v, want canceled", err)
	}
}

// A server that never answers costs the patience of one measurement, no more:
// the connection's deadline ends it.
func TestExchangeHasADeadline(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	c, err := dialConn(t.Context(), l.Addr().String(), time.Now().Add(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	var timeout net.Error
	if _, err := c.exchange([]byte("GET / HTTP/1.1\r\n\r\n")); !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("exchange = %v, want a time-out", err)
	}
	if _, err := c.exchange([]byte("GET / HTTP/1.1\r\n\r\n")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("exchange on a dead connection = %v, want closed", err)
	}
}

func ExampleAnswers_Bad() {
	fmt.Println(Answers{Right: 10, Failed: 1, Wrong: 2, Crossed: 3}.Bad())
	// Output: 6
}
