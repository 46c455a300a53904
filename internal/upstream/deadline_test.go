package upstream

import (
	"context"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// A caller whose server does not take a log level holds up nobody else beyond
// their own deadlines.
func TestNobodyWaitsForAnothersDeadline(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}, 8), make(chan struct{})
	defer close(release)
	raw := &wireServer{session: "s"}
	s := newServer(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m wire.Message
		_ = m.Parse(body)
		switch m.Method {
		case wire.MethodInitialize:
			w.Header().Set(wire.HeaderSessionID, "s")
			raw.answer(w, &m, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"logging":{}},"serverInfo":{"name":"raw","version":"1"}}`)
		case wire.MethodServerDiscover:
			raw.fail(w, http.StatusBadRequest, &m, wire.CodeMethodNotFound, "what?")
		case wire.MethodLoggingSetLevel:
			entered <- struct{}{}
			select {
			case <-release:
			case <-r.Context().Done():
			}
		case wire.MethodToolsCall:
			raw.answer(w, &m, `{"content":[]}`)
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	})))
	call := func(ctx context.Context) chan error {
		done := make(chan error, 1)
		req := toolCall("x", `{}`)
		req.Caller.LogLevel = wire.LevelInfo
		go func() {
			_, err := s.Do(ctx, req, &notes{})
			done <- err
		}()
		return done
	}
	patient, giveUp := context.WithCancel(t.Context())
	first := call(patient)
	<-entered
	hasty, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	select {
	case <-call(hasty):
	case <-time.After(never):
		t.Error("a caller waits for another's deadline")
	}
	select {
	case err := <-first:
		t.Errorf("the first ended: %v", err)
	default:
	}
	giveUp()
	<-first
}

// A server that refused our credentials is left alone until somebody uses it;
// then it is followed again, and its lists are told as changed.
func TestUseWakesAServer(t *testing.T) {
	t.Parallel()
	var asked, now atomic.Int64
	var open atomic.Bool
	now.Store(time.Now().UnixNano())
	raw := &wireServer{tools: `{"name":"a"}`}
	s := newServer(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if !open.Load() {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		raw.ServeHTTP(w, r)
	})), func(o *Options) {
		o.KnownOffer = &catalog.Offer{}
		o.Now = func() time.Time { return time.Unix(0, now.Load()) }
	})
	events := make(chan catalog.Event, 8)
	s.Watch(func(e catalog.Event) { events <- e })
	if _, err := s.Offer(ctxFor(t)); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "a refusal", never, func() bool { return s.State().LastError != "" })
	open.Store(true)
	now.Add(int64(2 * refusedTime))
	before := asked.Load()
	if poll.Holds(3*firstFollowDelay/2, func() bool { return asked.Load() != before }) { // another failure would be tried again by then
		t.Errorf("asked %d times after it refused our credentials", asked.Load()-before)
	}
	do(t, s, toolCall("a", `{"result":{"content":[]}}`))
	select {
	case <-events:
	case <-time.After(never):
		t.Fatal("nobody heard that it is back")
	}
	if o, _ := s.Offer(ctxFor(t)); len(o.Tools) != 1 {
		t.Errorf("%d tools", len(o.Tools))
	}
}
