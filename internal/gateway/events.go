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

// serveEvents serves GET: the notification stream of a session. With Last-Event-ID it
// sends the missed events of a stream that was interrupted. If another replica has the
// stream, that replica answers; if it is unavailable, stored copies are sent.
func (g *Gateway) serveEvents(w http.ResponseWriter, r *http.Request, p *junctor.Principal, view catalog.Scope) {
	if !slices.ContainsFunc(r.Header["Accept"], func(a string) bool {
		return strings.Contains(a, "text/event-stream") || strings.Contains(a, "*/*")
	}) {
		g.writeError(w, http.StatusNotAcceptable, nil, &wire.Error{Code: wire.CodeInvalidRequest, Message: "Accept must list text/event-stream"})
		return
	}
	s := g.findSession(w, r, p, view, nil)
	if s == nil {
		return
	}
	// The order of the cases below matters: a stream in memory is complete, a replica
	// that still runs has it in memory, and stored copies may lack events.
	last := r.Header.Get(wire.HeaderLastEventID)
	id, num, ok := parseEventID(last)
	if ok && s.findStream(id) == nil && g.forwardRequest(w, r, g.replicaOfStream(id), nil) {
		return
	}
	st, n := g.notificationStream(p, view, s), -1 //nolint:contextcheck // the notes of a session outlive its streams
	var missed []byte
	if last != "" {
		switch lost := s.findStream(id); {
		case ok && lost != nil:
			st, n = lost, num
		case ok && strings.HasPrefix(id, "n"):
			// A notification stream of another replica: send the stored
			// copies, then continue with the stream of this replica.
			got, _ := g.loadSent(r, s, id, num)
			missed = appendReplayed(nil, id, num, got.Messages)
		case ok && g.serveReplay(w, r, p, s, id, num):
			return
		default:
			g.writeError(w, http.StatusBadRequest, nil, &wire.Error{Code: wire.CodeInvalidRequest, Message: "Last-Event-ID names a stream that is no longer stored; send the original request again"})
			return
		}
	}
	ctx, release := g.registerHTTPStream(r.Context(), w, p, nil)
	if release == nil {
		return
	}
	defer release()
	// A client that does not resume receives events from now on.
	if n < 0 {
		n = st.lastNumber()
	}
	g.startEventStream(w)
	if len(missed) > 0 {
		writeEvents(w, missed)
	}
	polls := s.version >= wire.V20251125
	if polls && n == 0 {
		g.sendPrimingEvent(w, st)
	}
	g.serveStream(w, r.WithContext(ctx), st, n, polls && st != s.notifications)
}

// findStream returns a stream of the session by its id, or nil.
func (s *session) findStream(id string) *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.notifications != nil && s.notifications.id() == id {
		return s.notifications
	}
	return s.streams[id]
}

// lastNumber returns the number of the newest event.
func (s *stream) lastNumber() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.droppedCount + len(s.events)
}

// notificationStream returns the notification stream of a session. The first call creates
// the stream and starts to fill it.
func (g *Gateway) notificationStream(p *junctor.Principal, view catalog.Scope, s *session) *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.notifications == nil {
		s.notifications = newStream("n"+s.bootID, 0, g.options.Now)
		g.copyStream(s, s.notifications, nil)
		ctx, cancel := context.WithCancel(g.ctx)
		s.stopNotifications = cancel
		x := &exchange{gateway: g, principal: p, view: view, session: s, sender: s.notifications}
		watch := g.options.Catalog.Watch()
		// The session or the gateway may have closed meanwhile. Then nothing would
		// ever end the watch.
		if s.closed || !g.background.startWork(func() { x.forwardChanges(ctx, watch) }) {
			cancel()
			watch.Stop()
			s.notifications.endStream()
		}
	}
	return s.notifications
}

// forwardChanges sends a legacy client the changes that it may see, until ctx ends.
func (x *exchange) forwardChanges(ctx context.Context, watch *catalog.Watcher) {
	defer watch.Stop()
	tasks := x.newTaskNotifier(ctx, nil)
	defer tasks.stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-watch.Ready():
			x.sendChanges(watch.Take(), x.session.changeFilter(), nil, tasks)
		}
	}
}
