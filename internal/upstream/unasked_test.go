package upstream

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// serversOver are one server, as each of the HTTP clients reaches it.
func serversOver(t *testing.T, h http.Handler) map[string]*Server {
	t.Helper()
	secure := httptest.NewTLSServer(h)
	t.Cleanup(func() {
		secure.CloseClientConnections()
		secure.Close()
	})
	trusting := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: secure.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}}}
	return map[string]*Server{
		"line":     newServer(t, serve(t, h)),
		"net/http": newServer(t, serve(t, h), func(o *Options) { o.StreamClient = &http.Client{Transport: &http.Transport{}} }),
		"https":    newServer(t, secure.URL, func(o *Options) { o.Client, o.StreamClient = trusting, trusting }),
	}
}

// TestSecondResponseBetweenCalls has a server send two whole responses for one
// request, the second with the id that follows the first. Whether it arrives before
// the next request or races with it: it is nobody's answer.
func TestSecondResponseBetweenCalls(t *testing.T) {
	t.Parallel()
	for _, atOnce := range []bool{true, false} {
		var calls atomic.Int64
		raw := &wireServer{modern: true}
		respond := func(w io.Writer, id []byte, text string) {
			body := wire.AppendResult(nil, id, []byte(`{"content":[{"type":"text","text":"`+text+`"}]}`))
			_, _ = fmt.Fprintf(w, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		}
		raw.call = func(w http.ResponseWriter, _ *http.Request, m *wire.Message) {
			if calls.Add(1) > 1 {
				raw.answer(w, m, `{"content":[{"type":"text","text":"good"}]}`)
				return
			}
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			id, _ := strconv.ParseUint(string(m.ID), 10, 64)
			next := strconv.AppendUint(nil, id+1, 10)
			var both strings.Builder
			respond(&both, m.ID, "first")
			if atOnce {
				respond(&both, next, "evil")
			}
			_, _ = io.WriteString(conn, both.String())
			if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil && !atOnce {
				respond(conn, next, "evil") // as if it had been on its way before
			}
		}
		for way, s := range serversOver(t, raw) {
			calls.Store(0)
			if got := textOf(t, do(t, s, toolCall("x", `{}`))); got != "first" {
				t.Fatalf("%s: %q", way, got)
			}
			res, err := s.Do(ctxFor(t), toolCall("x", `{}`), &notes{})
			if strings.Contains(string(res.Body), "evil") {
				t.Errorf("%s, at once %v: a call has an answer that was sent before it: %s", way, atOnce, res.Body)
			}
			if err != nil && junctor.CodeOf(err) != junctor.CodeUpstream && junctor.CodeOf(err) != junctor.CodeUnreachable {
				t.Errorf("%s, at once %v: %v", way, atOnce, err)
			}
			if got := textOf(t, do(t, s, toolCall("x", `{}`))); got != "good" {
				t.Errorf("%s, at once %v: afterwards %q", way, atOnce, got)
			}
		}
	}
}

// TestResultWithoutID has a server answer with a result that names no request. Only
// an error may: that of a request which could not be read.
func TestResultWithoutID(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{false, true} {
		for _, id := range []string{"null", `""`, "0"} {
			raw := &wireServer{modern: true, stream: stream}
			raw.call = func(w http.ResponseWriter, _ *http.Request, _ *wire.Message) {
				raw.answer(w, &wire.Message{ID: []byte(id)}, `{"content":[{"type":"text","text":"evil"}]}`)
			}
			for way, s := range serversOver(t, raw) {
				if res, err := s.Do(ctxFor(t), toolCall("x", `{}`), &notes{}); junctor.CodeOf(err) != junctor.CodeUpstream {
					t.Errorf("%s, id %s, stream %v: %s, %v", way, id, stream, res.Body, err)
				}
			}
		}
	}
}

// TestIDsCannotBeGuessed looks at the ids of many calls: what was seen says nothing
// of what comes, and each is one that every server reads.
func TestIDsCannotBeGuessed(t *testing.T) {
	t.Parallel()
	const calls = 2000
	steps, seen := map[int64]int{}, map[string]bool{}
	for range 2 { // ids of two links have nothing in common
		var f pendingCalls
		last := int64(0)
		for range calls {
			fl, err := f.beginCall(nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			n, err := strconv.ParseInt(string(fl.id), 10, 32)
			if err != nil || n < 1 {
				t.Fatalf("the id %s is no positive number of 32 bits: %v", fl.id, err)
			}
			steps[n-last]++
			last = n
			seen[string(fl.id)] = true
			f.endCall(fl)
		}
	}
	if len(seen) < 2*calls-4 {
		t.Errorf("%d ids of %d calls", len(seen), 2*calls)
	}
	for step, times := range steps {
		if times > 3 {
			t.Errorf("%d times an id is %d above the one before", times, step)
		}
	}
}

// TestIDsAreNotUsedTwiceAtOnce holds many calls open together.
func TestIDsAreNotUsedTwiceAtOnce(t *testing.T) {
	t.Parallel()
	var tries uint64
	f := pendingCalls{nextRandom: func() uint64 {
		tries++
		return tries / 3 << 33 // each of them thrice, and 0 first
	}}
	for range 10 {
		if _, err := f.beginCall(nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	if len(f.byID) != 10 || f.byID["0"] != nil {
		t.Errorf("%d calls: %v", len(f.byID), f.byID)
	}
}

// TestEverythingUnaskedIsPaced counts what a server says of its own accord: not
// notifications alone, but also requests, cancellations and answers to nothing.
func TestEverythingUnaskedIsPaced(t *testing.T) {
	t.Parallel()
	const flood = 40
	now := time.Now()
	for name, message := range map[string][]byte{
		"ping":      wire.AppendRequest(nil, []byte("1"), wire.MethodPing, nil),
		"unknown":   wire.AppendRequest(nil, []byte("1"), "what/ever", nil),
		"cancelled": wire.AppendNotification(nil, wire.NotificationCancelled, []byte(`{"requestId":1}`)),
		"message":   wire.AppendNotification(nil, wire.NotificationMessage, []byte(`{}`)),
		"answer":    wire.AppendResult(nil, []byte("4711"), []byte(`{}`)),
	} {
		o := &Options{ID: "peer", Logger: slog.New(slog.DiscardHandler), limits: newServerLimits(func() time.Time { return now })}
		l := &httpLink{opts: o}
		l.serverRequests.closed = true // nothing is sent
		for where, hear := range map[string]func(m *wire.Message){
			"the stream of all calls": func(m *wire.Message) { l.pending.dispatchMessage(t.Context(), m, &l.serverRequests, o, nil) },
			"the stream of a session": func(m *wire.Message) { l.dispatchMessage(t.Context(), m) },
			"the stream of a call": func(m *wire.Message) {
				(&httpExchange{link: l, ctx: t.Context(), id: []byte("5")}).handleMessage(t.Context(), m)
			},
		} {
			if name == "answer" && where == "the stream of a call" {
				continue // it ends the call
			}
			before := o.limits.noteTokens
			for range flood {
				var m wire.Message
				if err := m.Parse(message); err != nil {
					t.Fatal(err)
				}
				hear(&m)
			}
			if counted := before - o.limits.noteTokens; counted != flood {
				t.Errorf("%s on %s: %v of %d are counted", name, where, counted, flood)
			}
		}
	}
}
