package gateway

import (
	"bytes"
	"context"
	"net/http"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

const (
	// Bounds of the events of one stream that are stored for other replicas: the
	// newest maxReplayEvents, with at most maxReplayBytes together.
	maxReplayEvents = 256
	maxReplayBytes  = 1 << 20
)

// ReplayStore stores the events of session streams where other replicas find them. They serve
// clients that come back after the replica that sent the events has failed.
type ReplayStore interface {
	// Keep adds an event to a stream. It does not block. It may keep s, which the caller
	// no longer changes. An event that cannot be stored is missing later.
	StoreEvent(session, stream string, s StoredEvent)
	// Sent returns the events of a stream after the given number. ok is false if not all
	// of them are known.
	LoadEvents(ctx context.Context, session, stream string, after int) (r StoredEvents, ok bool)
}

// StoredEvent is one event of a stream, as it is stored.
type StoredEvent struct {
	Number  int    // its number; 0 only announces the stream
	Message []byte // JSON; nil if it is too long to be stored
	// Request is set with the first event of a stream only: the id of the request that
	// the stream answers, as JSON. It is nil for a notification stream.
	Request    []byte
	IsResponse bool  // the event is the response: nothing follows it
	Delete     []int // numbers of events to delete
}

// StoredEvents is the stored part of a stream.
type StoredEvents struct {
	Messages    [][]byte // after the requested number, in order
	Request     []byte   // as in StoredEvent
	HasResponse bool     // the last event is the response
}

// replayCopy stores the events of one stream in a ReplayStore. The lock of the stream guards
// it.
type replayCopy struct {
	store     ReplayStore
	session   string
	stream    string
	request   []byte // id to store with the next event
	sizes     []int  // of the stored events
	totalSize int    // sum of sizes
}

// keepSent stores an event, the first time with the request id.
func (c *replayCopy) keepSent(s StoredEvent) {
	s.Request, c.request = c.request, nil
	c.store.StoreEvent(c.session, c.stream, s)
}

// addMessage stores event n and deletes the oldest ones if the bounds are exceeded.
func (c *replayCopy) addMessage(n int, message []byte, answer bool) {
	s := StoredEvent{Number: n, Message: message, IsResponse: answer}
	c.sizes, c.totalSize = append(c.sizes, len(message)), c.totalSize+len(message)
	for len(c.sizes) > maxReplayEvents || c.totalSize > maxReplayBytes {
		s.Delete = append(s.Delete, n+1-len(c.sizes))
		c.sizes, c.totalSize = c.sizes[1:], c.totalSize-c.sizes[0]
	}
	// An event above the bound is stored without its message, so that a reader
	// notices the gap.
	if len(c.sizes) == 0 {
		s.Message = nil
	}
	c.keepSent(s)
}

// copyStream stores the events of a stream in the ReplayStore as well, beginning with those
// that were sent already. request is the id of the request that the stream answers, or
// nil. It does nothing for sessions that cannot be resumed.
func (g *Gateway) copyStream(s *session, st *stream, request []byte) {
	if g.options.ReplayStore == nil || s.sealedID == "" {
		return
	}
	c := &replayCopy{store: g.options.ReplayStore, session: s.id, stream: st.id(), request: bytes.Clone(request)}
	st.mu.Lock()
	defer st.mu.Unlock()
	st.replay = c
	if len(st.events) == 0 && request != nil { // announce the stream, so that a lost call is known even without events
		c.keepSent(StoredEvent{})
	}
	for i, message := range st.events {
		c.addMessage(st.droppedCount+i+1, message, st.hasAnswer && i == len(st.events)-1)
	}
}

// loadSent returns the stored events that another replica has sent on a stream of the
// session.
func (g *Gateway) loadSent(r *http.Request, s *session, id string, after int) (StoredEvents, bool) {
	if g.options.ReplayStore == nil || g.replicaOfStream(id) == "" {
		return StoredEvents{}, false
	}
	return g.options.ReplayStore.LoadEvents(r.Context(), s.id, id, after)
}

// serveReplay answers with the stored events that another replica sent on the stream of a
// request. It returns false if they are not known. If that replica failed before it sent
// the response, the client receives an error, because the call cannot continue.
func (g *Gateway) serveReplay(w http.ResponseWriter, r *http.Request, p *junctor.Principal, s *session, id string, after int) bool {
	got, ok := g.loadSent(r, s, id, after)
	if !ok || len(got.Request) == 0 {
		return false
	}
	_, release := g.registerHTTPStream(r.Context(), w, p, nil)
	if release == nil {
		return true
	}
	defer release()
	g.startEventStream(w)
	buf := appendReplayed(nil, id, after, got.Messages)
	if !got.HasResponse {
		lost := toClientError(&junctor.Error{
			Code: junctor.CodeUnavailable, RetryAfter: time.Second,
			Message: "the replica that this call ran on is unreachable, so its result is unknown; call again only if a second call does no harm",
		}, false, "")
		// This event has no id, so a client that reconnects receives it again.
		buf = wire.AppendEvent(buf, wire.Event{Data: wire.AppendError(nil, got.Request, lost.rpcError)})
	}
	writeEvents(w, buf)
	return true
}

// appendReplayed appends messages as the events that they were, with the same ids.
func appendReplayed(dst []byte, id string, after int, messages [][]byte) []byte {
	st := &stream{prefix: id}
	for i, message := range messages {
		dst = wire.AppendEvent(dst, wire.Event{ID: st.formatEventID(after + i + 1), HasID: true, Data: message})
	}
	return dst
}

// writeEvents writes events. If the client has disconnected, it will resume.
func writeEvents(w http.ResponseWriter, events []byte) {
	_, _ = w.Write(events)
	_ = http.NewResponseController(w).Flush()
}
