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
	// replayEvents of a stream are kept elsewhere, the newest,
	replayEvents = 256
	// and so much of them.
	replayBytes = 1 << 20
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

// copied is where the messages of a stream go as well. The lock of the stream is
// its own.
type copied struct {
	to      Replay
	session string
	stream  string
	request []byte // that has to be said still
	sizes   []int  // of the messages that are kept
	size    int    // and of all of them
}

func (c *copied) keep(s Sent) {
	s.Request, c.request = c.request, nil
	c.to.Keep(c.session, c.stream, s)
}

func (c *copied) message(n int, message []byte, answer bool) {
	s := Sent{N: n, Message: message, Answer: answer}
	c.sizes, c.size = append(c.sizes, len(message)), c.size+len(message)
	for len(c.sizes) > replayEvents || c.size > replayBytes {
		s.Forget = append(s.Forget, n+1-len(c.sizes))
		c.sizes, c.size = c.sizes[1:], c.size-c.sizes[0]
	}
	if len(c.sizes) == 0 {
		s.Message = nil
	}
	c.keep(s)
}

// duplicate has a stream that a client can come back to be kept elsewhere too, with all
// that was sent on it. request is the id of what it answers.
func (g *Gateway) duplicate(s *session, st *stream, request []byte) {
	if g.o.Replay == nil || s.text == "" {
		return
	}
	c := &copied{to: g.o.Replay, session: s.id, stream: st.id(), request: bytes.Clone(request)}
	st.mu.Lock()
	defer st.mu.Unlock()
	st.copied = c
	if len(st.events) == 0 && request != nil { // so that it is known, whatever comes of it
		c.keep(Sent{})
	}
	for i, message := range st.events {
		c.message(st.dropped+i+1, message, st.answered && i == len(st.events)-1)
	}
}

// sent gives what another process, which is gone, sent on a stream of the session.
func (g *Gateway) sent(r *http.Request, s *session, id string, after int) (Replayed, bool) {
	if g.o.Replay == nil || g.streamedBy(id) == "" {
		return Replayed{}, false
	}
	return g.o.Replay.Sent(r.Context(), s.id, id, after)
}

// replay answers with what another process sent on the stream of a request; false
// where that is not known. Where that process did not come to its answer, the client
// is told so: nothing more will come of the call.
func (g *Gateway) replay(w http.ResponseWriter, r *http.Request, p *junctor.Principal, s *session, id string, after int) bool {
	got, ok := g.sent(r, s, id, after)
	if !ok || len(got.Request) == 0 {
		return false
	}
	_, release := g.holdStream(r.Context(), w, p, nil)
	if release == nil {
		return true
	}
	defer release()
	g.startSSE(w)
	buf := appendReplayed(nil, id, after, got.Messages)
	if !got.Answered {
		lost := asFault(&junctor.Error{
			Code: junctor.CodeUnavailable, RetryAfter: time.Second,
			Message: "the replica that this call ran on is gone or cannot be reached, and whether the call came to its end is not known; make the call again where that does no harm",
		}, false, "")
		// Without an id: whoever comes back is told again.
		buf = wire.AppendEvent(buf, wire.Event{Data: wire.AppendError(nil, got.Request, lost.wire)})
	}
	write(w, buf)
	return true
}

// appendReplayed appends messages of a stream as the events that they were.
func appendReplayed(dst []byte, id string, after int, messages [][]byte) []byte {
	of := &stream{of: id}
	for i, message := range messages {
		dst = wire.AppendEvent(dst, wire.Event{ID: of.eventID(after + i + 1), HasID: true, Data: message})
	}
	return dst
}

// write writes events. A client that went away comes back.
func write(w http.ResponseWriter, events []byte) {
	_, _ = w.Write(events)
	_ = http.NewResponseController(w).Flush()
}
