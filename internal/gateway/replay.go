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
	// maxReplayEvents of a stream are kept elsewhere, the newest,
	maxReplayEvents = 256
	// and so much of them.
	maxReplayBytes = 1 << 20
)

// Replay keeps what was sent on the streams of sessions where other processes find
// it, for clients that come back when the one that sent it is gone.
type Replay interface {
	// Keep adds to a stream. It does not wait, and what it is given stays as it is.
	// What cannot be kept is missing.
	Keep(session, stream string, s Sent)
	// Sent gives what was sent on a stream behind an event; ok is false where that is
	// not known, or not all of it.
	Sent(ctx context.Context, session, stream string, after int) (r Replayed, ok bool)
}

// Sent is a message that was sent on a stream.
type Sent struct {
	N       int    // its number; 0 is none: the stream has begun
	Message []byte // JSON; nil where it is too long to be kept
	Request []byte // with the first of a stream alone: the id of the request that it answers, as JSON; nil of notes
	Answer  bool   // it is the answer to that: nothing comes behind it
	Forget  []int  // numbers of messages that are not kept any more
}

// Replayed is what is known of a stream.
type Replayed struct {
	Messages [][]byte // behind the one that was asked for, in their order
	Request  []byte
	Answered bool // the last message that was sent is the answer
}

// replayCopy is where the messages of a stream go as well. The lock of the stream is
// its own.
type replayCopy struct {
	store     Replay
	session   string
	stream    string
	request   []byte // that has to be said still
	sizes     []int  // of the messages that are kept
	totalSize int    // and of all of them
}

func (c *replayCopy) keepSent(s Sent) {
	s.Request, c.request = c.request, nil
	c.store.Keep(c.session, c.stream, s)
}

func (c *replayCopy) addMessage(n int, message []byte, answer bool) {
	s := Sent{N: n, Message: message, Answer: answer}
	c.sizes, c.totalSize = append(c.sizes, len(message)), c.totalSize+len(message)
	for len(c.sizes) > maxReplayEvents || c.totalSize > maxReplayBytes {
		s.Forget = append(s.Forget, n+1-len(c.sizes))
		c.sizes, c.totalSize = c.sizes[1:], c.totalSize-c.sizes[0]
	}
	if len(c.sizes) == 0 {
		s.Message = nil
	}
	c.keepSent(s)
}

// copyStream has a stream that a client can come back to be kept elsewhere too, with all
// that was sent on it. request is the id of what it answers.
func (g *Gateway) copyStream(s *session, st *stream, request []byte) {
	if g.options.Replay == nil || s.sealedID == "" {
		return
	}
	c := &replayCopy{store: g.options.Replay, session: s.id, stream: st.id(), request: bytes.Clone(request)}
	st.mu.Lock()
	defer st.mu.Unlock()
	st.replay = c
	if len(st.events) == 0 && request != nil { // so that it is known, whatever comes of it
		c.keepSent(Sent{})
	}
	for i, message := range st.events {
		c.addMessage(st.droppedCount+i+1, message, st.hasAnswer && i == len(st.events)-1)
	}
}

// loadSent gives what another process, which is gone, sent on a stream of the session.
func (g *Gateway) loadSent(r *http.Request, s *session, id string, after int) (Replayed, bool) {
	if g.options.Replay == nil || g.replicaOfStream(id) == "" {
		return Replayed{}, false
	}
	return g.options.Replay.Sent(r.Context(), s.id, id, after)
}

// serveReplay answers with what another process sent on the stream of a request; false
// where that is not known. Where that process did not come to its answer, the client
// is told so: nothing more will come of the call.
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
	if !got.Answered {
		lost := toClientError(&junctor.Error{
			Code: junctor.CodeUnavailable, RetryAfter: time.Second,
			Message: "the replica that this call ran on is gone or cannot be reached, and whether the call came to its end is not known; make the call again where that does no harm",
		}, false, "")
		// Without an id: whoever comes back is told again.
		buf = wire.AppendEvent(buf, wire.Event{Data: wire.AppendError(nil, got.Request, lost.rpcError)})
	}
	writeEvents(w, buf)
	return true
}

// appendReplayed appends messages of a stream as the events that they were.
func appendReplayed(dst []byte, id string, after int, messages [][]byte) []byte {
	of := &stream{prefix: id}
	for i, message := range messages {
		dst = wire.AppendEvent(dst, wire.Event{ID: of.formatEventID(after + i + 1), HasID: true, Data: message})
	}
	return dst
}

// writeEvents writes events. A client that went away comes back.
func writeEvents(w http.ResponseWriter, events []byte) {
	_, _ = w.Write(events)
	_ = http.NewResponseController(w).Flush()
}
