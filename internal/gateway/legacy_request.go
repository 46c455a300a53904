package gateway

import (
	"net/http"
	"time"

	"github.com/junctor-mcp/junctor/internal/brief"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// reachesBackend says whether a method reaches a backend and so may take time, send notes
// or ask its client something.
func reachesBackend(method string) bool {
	switch method {
	case wire.MethodToolsCall, wire.MethodPromptsGet, wire.MethodResourcesRead, wire.MethodCompletionComplete,
		wire.MethodTasksGet, wire.MethodTasksResult, wire.MethodTasksCancel:
		return true
	}
	return false
}

// serveLegacyRequest answers a request of a session. A call runs here, on the goroutine
// that HTTP gave it, but not with the request's context: a legacy client that loses
// its connection has not cancelled, and may come back for the answer. The client gets
// that as JSON if it is all there is to say, and else as a stream.
func (g *Gateway) serveLegacyRequest(w http.ResponseWriter, r *http.Request, x *exchange, in *inboundMessage, streamFirst bool) {
	defer g.releaseMessage(in)
	if !reachesBackend(x.message.Method) {
		x.answerLocally(r, &postResponse{gateway: g, w: w, streamFirst: streamFirst}, in)
		return
	}
	if !g.background.beginWork() {
		g.writeError(w, http.StatusServiceUnavailable, x.message.ID, &wire.Error{Code: codeUnavailable, Message: "the server is stopping; try again"})
		return
	}
	defer g.background.endWork()
	base := g.ctx //nolint:contextcheck // the call outlives its request
	if g.options.Carry != nil {
		base = g.options.Carry(r.Context(), base)
	}
	ctx, cancel := brief.WithCancel(base)
	defer cancel()
	x.resultBuffer = &in.result
	v := g.newCallStream(w, r, x)
	run := x.session.beginCall(x.message.ID, cancel)
	var retry time.Duration
	var long []byte // of the message, which is its head then
	message := g.answerRecovering(x.message.ID, func() (message []byte) {
		message, long, retry = x.answerLegacyParts(ctx, in.response[:0])
		return message
	})
	x.session.endCall(x.message.ID, run)
	silent, status := v.endCall(), http.StatusOK
	if silent {
		status = x.legacyStatus(w, r, x.callErr)
	}
	if silent && (!streamFirst || status != http.StatusOK) {
		setRetryAfter(w.Header(), retry)
		setRateLimitHeaders(w.Header(), x.allowance, g.options.Now())
		if rep := (&postResponse{gateway: g, w: w}); long != nil {
			rep.writeFinalParts(message, long)
		} else {
			rep.writeFinal(status, message)
		}
		in.response = message
		return
	}
	if long != nil {
		message = g.joinParts(x.principal, message, long)
	}
	in.response = nil // the stream keeps it
	v.stream.finishWith(message)
	v.awaitServed()
}

// answerLocally answers what needs no backend.
func (x *exchange) answerLocally(r *http.Request, rep *postResponse, in *inboundMessage) {
	o, err := x.runLegacy(r.Context())
	switch {
	case err != nil:
		f := toClientError(err, false, resourceOf(x.message))
		setRetryAfter(rep.w.Header(), f.retryAfter)
		rep.writeFinal(x.legacyStatus(rep.w, r, err), wire.AppendError(nil, x.message.ID, f.rpcError))
	case o.isList:
		head, list := x.appendResponseHead(in.response[:0], o)
		in.response = head
		rep.writeFinalParts(head, list)
	default:
		rep.writeFinal(http.StatusOK, x.appendResponse(nil, o))
	}
}

// legacyStatus is the HTTP status of a request of the legacy era that ended in
// err, or in nil: 200, as errors travel in the body there, unless it is the
// token that is too weak.
func (x *exchange) legacyStatus(w http.ResponseWriter, r *http.Request, err error) int {
	if x.gateway.setScopeChallenge(w, r, x.principal, err) {
		return http.StatusForbidden
	}
	return http.StatusOK
}

// newPostStream makes the stream of one POST. spoken is called when something was sent
// on it, each time.
func (s *session) newPostStream(now func() time.Time, spoken func()) *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastPostNumber++
	st := newStream(s.postPrefix, s.lastPostNumber, now)
	st.onSend = spoken
	return st
}

// maxKeptStreams bounds how many streams of a session wait to be resumed: one
// that makes many calls must not fill the memory with their answers.
const maxKeptStreams = 64

// keepStream lets the client resume a stream, and forgets the one that ended first
// where there are too many.
func (s *session) keepStream(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams[st.id()] = st
	if len(s.streams) <= maxKeptStreams {
		return
	}
	var oldest *stream
	var at time.Time
	for _, other := range s.streams {
		if ended, when := other.endState(); ended && (oldest == nil || when.Before(at)) {
			oldest, at = other, when
		}
	}
	if oldest != nil {
		delete(s.streams, oldest.id())
	}
}
