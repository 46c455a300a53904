package gateway

import (
	"net/http"
	"slices"
	"time"

	"github.com/junctor-mcp/junctor/internal/brief"
	"github.com/junctor-mcp/junctor/internal/limit"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// runs says whether a method reaches a backend and so may take time, send notes
// or ask its client something.
func runs(method string) bool {
	switch method {
	case wire.MethodToolsCall, wire.MethodPromptsGet, wire.MethodResourcesRead, wire.MethodCompletionComplete,
		wire.MethodTasksGet, wire.MethodTasksResult, wire.MethodTasksCancel:
		return true
	}
	return false
}

// requestLegacy answers a request of a session. A call runs here, on the goroutine
// that HTTP gave it, but not with the request's context: a legacy client that loses
// its connection has not cancelled, and may come back for the answer. The client gets
// that as JSON if it is all there is to say, and else as a stream.
func (g *Gateway) requestLegacy(w http.ResponseWriter, r *http.Request, x *exchange, in *inbound, streamFirst bool) {
	defer g.release(in)
	if !runs(x.m.Method) {
		x.answerAtOnce(r, &reply{g: g, w: w, streamFirst: streamFirst}, in)
		return
	}
	if !g.work.enter() {
		g.refuse(w, http.StatusServiceUnavailable, x.m.ID, &wire.Error{Code: codeUnavailable, Message: "the server is stopping; try again"})
		return
	}
	defer g.work.leave()
	base := g.ctx //nolint:contextcheck // the call outlives its request
	if g.o.Carry != nil {
		base = g.o.Carry(r.Context(), base)
	}
	ctx, cancel := brief.WithCancel(base)
	defer cancel()
	x.room = &in.result
	v := g.voice(w, r, x)
	run := x.s.begin(x.m.ID, cancel)
	var retry time.Duration
	var long []byte // of the message, which is its head then
	message := g.answering(x.m.ID, func() (message []byte) {
		message, long, retry = x.answerLegacyParts(ctx, in.answer[:0])
		return message
	})
	x.s.done(x.m.ID, run)
	silent, status := v.end(), http.StatusOK
	if silent {
		status = x.legacyStatus(w, r, x.failure)
	}
	if silent && (!streamFirst || status != http.StatusOK) {
		setRetry(w.Header(), retry)
		setLimits(w.Header(), x.allowance, g.o.Now())
		if rep := (&reply{g: g, w: w}); long != nil {
			rep.finishParts(message, long)
		} else {
			rep.finish(status, message)
		}
		in.answer = message
		return
	}
	if long != nil {
		message = append(append(slices.Grow(message, len(long)+1), long...), '}')
		g.o.Bytes.Count(limit.PartyOf(x.p), message)
	}
	in.answer = nil // the stream keeps it
	v.st.finish(message)
	v.last()
}

// answerAtOnce answers what needs no backend.
func (x *exchange) answerAtOnce(r *http.Request, rep *reply, in *inbound) {
	o, err := x.runLegacy(r.Context())
	switch {
	case err != nil:
		f := asFault(err, false, resourceOf(x.m))
		setRetry(rep.w.Header(), f.retryAfter)
		rep.finish(x.legacyStatus(rep.w, r, err), wire.AppendError(nil, x.m.ID, f.wire))
	case o.list:
		head, list := x.appendHead(in.answer[:0], o)
		in.answer = head
		rep.finishParts(head, list)
	default:
		rep.finish(http.StatusOK, x.appendAnswer(nil, o))
	}
}

// legacyStatus is the HTTP status of a request of the legacy era that ended in
// err, or in nil: 200, as errors travel in the body there, unless it is the
// token that is too weak.
func (x *exchange) legacyStatus(w http.ResponseWriter, r *http.Request, err error) int {
	if x.g.stepUp(w, r, x.p, err) {
		return http.StatusForbidden
	}
	return http.StatusOK
}

// newPost makes the stream of one POST. spoken is called when something was sent
// on it, each time.
func (s *session) newPost(now func() time.Time, spoken func()) *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nextPost++
	st := newStream(s.posts, s.nextPost, now)
	st.spoken = spoken
	return st
}

// maxKeptStreams bounds how many streams of a session wait to be resumed: one
// that makes many calls must not fill the memory with their answers.
const maxKeptStreams = 64

// keep lets the client resume a stream, and forgets the one that ended first
// where there are too many.
func (s *session) keep(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams[st.id()] = st
	if len(s.streams) <= maxKeptStreams {
		return
	}
	var oldest *stream
	var at time.Time
	for _, other := range s.streams {
		if ended, when := other.ended(); ended && (oldest == nil || when.Before(at)) {
			oldest, at = other, when
		}
	}
	if oldest != nil {
		delete(s.streams, oldest.id())
	}
}
