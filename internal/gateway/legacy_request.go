package gateway

import (
	"net/http"
	"time"

	"github.com/junctor-mcp/junctor/internal/guard/lazyctx"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// reachesBackend reports whether a method may reach a backend. Such a request may take
// long, send notifications, or ask its client for input.
func reachesBackend(method string) bool {
	switch method {
	case wire.MethodToolsCall, wire.MethodPromptsGet, wire.MethodResourcesRead, wire.MethodCompletionComplete,
		wire.MethodTasksGet, wire.MethodTasksResult, wire.MethodTasksCancel:
		return true
	}
	return false
}

// serveLegacyRequest answers a request of a session. A call runs here, on the goroutine
// of the HTTP handler, but not with the context of the request: a legacy client that
// loses its connection has not cancelled the call, and may come back for the response.
// The response is plain JSON if nothing else has to be sent, and an event stream
// otherwise. It releases in.
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
	// The call may outlive its connection, so it ends with the gateway, with a
	// cancellation of the client, or with its session.
	base := g.ctx //nolint:contextcheck // the call outlives its request
	if g.options.CopyContextValues != nil {
		base = g.options.CopyContextValues(r.Context(), base)
	}
	ctx, cancel := lazyctx.WithCancel(base)
	defer cancel()
	x.resultBuffer = &in.result
	v := g.newCallStream(w, r, x)
	run := x.session.beginCall(x.message.ID, cancel)
	var retry time.Duration
	var long []byte // the long part of the response; message is then its head only
	message := g.answerRecovering(x.message.ID, func() (message []byte) {
		message, long, retry = x.answerLegacyParts(ctx, in.response[:0])
		return message
	})
	x.session.endCall(x.message.ID, run)
	// If no stream was opened, the handler still owns the HTTP response: headers
	// can be set, and the status may be an error.
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
	// A stream keeps the response for a client that resumes it, so it must be in
	// one piece.
	if long != nil {
		message = g.joinParts(x.principal, message, long)
	}
	in.response = nil // the stream keeps this memory
	v.stream.finishWith(message)
	v.awaitServed()
}

// answerLocally answers a request that needs no backend.
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

// legacyStatus returns the HTTP status of a legacy request that ended with err, which may
// be nil. It is 200, because the legacy era sends errors in the body, unless the token
// lacks a scope.
func (x *exchange) legacyStatus(w http.ResponseWriter, r *http.Request, err error) int {
	if x.gateway.setScopeChallenge(w, r, x.principal, err) {
		return http.StatusForbidden
	}
	return http.StatusOK
}

// newPostStream makes the stream of one POST. onSend is called after each message that is
// sent on it.
func (s *session) newPostStream(now func() time.Time, spoken func()) *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastPostNumber++
	st := newStream(s.postPrefix, s.lastPostNumber, now)
	st.onSend = spoken
	return st
}

// maxKeptStreams bounds how many streams of a session wait to be resumed. A client that
// makes many calls must not fill the memory with their responses.
const maxKeptStreams = 64

// keepStream lets the client resume a stream. If there are too many, it drops the one
// that ended first.
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
