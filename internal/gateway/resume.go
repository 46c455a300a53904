package gateway

import (
	"context"
	"net/http"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// resume serves GET: the stream of a session's notes, or, with Last-Event-ID,
// what a client has not seen of a stream that it lost.
func (g *Gateway) resume(w http.ResponseWriter, r *http.Request, p *junctor.Principal, view catalog.View) {
	if !slices.ContainsFunc(r.Header["Accept"], func(a string) bool {
		return strings.Contains(a, "text/event-stream") || strings.Contains(a, "*/*")
	}) {
		g.refuse(w, http.StatusNotAcceptable, nil, &wire.Error{Code: wire.CodeInvalidRequest, Message: "Accept must list text/event-stream"})
		return
	}
	s := g.session(w, r, p, view, nil)
	if s == nil {
		return
	}
	last := r.Header.Get(headerResume)
	id, num, ok := parseEventID(last)
	if ok && s.stream(id) == nil && g.forwarded(w, r, g.streamedBy(id), nil) {
		return
	}
	st, n := g.notes(p, view, s), -1 //nolint:contextcheck // the notes of a session outlive its streams
	var missed []byte
	if last != "" {
		switch lost := s.stream(id); {
		case ok && lost != nil:
			st, n = lost, num
		case ok && strings.HasPrefix(id, "n"):
			// Notes of another process: what is kept of them, and news.
			got, _ := g.sent(r, s, id, num)
			missed = appendReplayed(nil, id, num, got.Messages)
		case ok && g.replay(w, r, p, s, id, num):
			return
		default:
			g.refuse(w, http.StatusBadRequest, nil, &wire.Error{Code: wire.CodeInvalidRequest, Message: "Last-Event-ID names a stream that is not kept any more; send the request again that it was the answer to"})
			return
		}
	}
	ctx, release := g.holdStream(r.Context(), w, p, nil)
	if release == nil {
		return
	}
	defer release()
	if n < 0 {
		n = st.last()
	}
	g.startSSE(w)
	if len(missed) > 0 {
		write(w, missed)
	}
	polls := s.version >= wire.V20251125
	if polls && n == 0 {
		g.prime(w, st)
	}
	g.serveStream(w, r.WithContext(ctx), st, n, polls && st != s.notes)
}

// stream finds a stream of the session by its id.
func (s *session) stream(id string) *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.notes != nil && s.notes.id() == id {
		return s.notes
	}
	return s.streams[id]
}

// last is the number of the newest event.
func (s *stream) last() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dropped + len(s.events)
}

// notes gives the session's stream of notes, and starts to fill it at the first
// call.
func (g *Gateway) notes(p *junctor.Principal, view catalog.View, s *session) *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.notes == nil {
		s.notes = newStream("n"+s.boot, 0, g.o.Now)
		g.duplicate(s, s.notes, nil)
		ctx, cancel := context.WithCancel(g.ctx)
		s.end = cancel
		x := &exchange{g: g, p: p, view: view, s: s, out: s.notes}
		watch := g.o.Catalog.Watch()
		if s.closed || !g.work.start(func() { x.pump(ctx, watch) }) {
			cancel()
			watch.Stop()
			s.notes.end()
		}
	}
	return s.notes
}

// pump sends a legacy client the changes that it can see, until ctx ends.
func (x *exchange) pump(ctx context.Context, watch *catalog.Watcher) {
	defer watch.Stop()
	tasks := x.tellTasks(ctx, nil)
	defer tasks.stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-watch.Ready():
			x.notify(watch.Take(), x.s.interest(), nil, tasks)
		}
	}
}
