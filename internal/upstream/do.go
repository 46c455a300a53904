package upstream

import (
	"context"
	"errors"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/limit"
	"github.com/junctor-mcp/junctor/internal/wire"
)

const (
	// maxTries is how often a request is sent at most, the first time included.
	maxTries = 3
	// maxRetryAfter is the longest Retry-After of a server that a call waits for. If the
	// server wants more, the call fails with it.
	maxRetryAfter = 5 * time.Second
	// retryWait is the pause before a retry if the server names none.
	retryWait = 50 * time.Millisecond
)

// Do implements catalog.Backend. It runs one operation: a request, an operation on a
// task, or a subscription. Errors are *junctor.Error without secrets of the server.
func (s *Server) Do(ctx context.Context, req *catalog.Request, sink catalog.Sink) (catalog.Result, error) {
	if req.Kind == junctor.KindSubscription {
		return s.changeSubscription(ctx, req)
	}
	switch req.Kind {
	case junctor.KindTask, junctor.KindTaskUpdate, junctor.KindTaskCancel:
		res, err := s.doTask(ctx, req)
		if err != nil {
			return catalog.Result{}, s.callError(req, err)
		}
		return res, nil
	default:
	}
	if methodOf(req.Kind) == "" {
		return catalog.Result{}, junctor.Errorf(junctor.CodeInternal, "upstream: unknown kind of operation %q", string(req.Kind))
	}
	res, err := s.doRequest(ctx, req, sink)
	if err != nil {
		return catalog.Result{}, s.callError(req, err)
	}
	return res, nil
}

// doRequest runs an operation that is one request. It resumes a parked call if the
// request brings the answers for one, and may answer from the page cache.
func (s *Server) doRequest(ctx context.Context, req *catalog.Request, sink catalog.Sink) (catalog.Result, error) {
	if len(req.Input.State) > 0 && req.Input.State[:1] == statePrefixParked {
		return s.resumeCall(ctx, req, sink)
	}
	a, err := s.resolveAccess(ctx, req.Principal, &req.Caller)
	if err != nil {
		return catalog.Result{}, err
	}
	if isPageRead(req) {
		return s.readPage(req, a, func() (catalog.Result, error) { return s.sendRequest(ctx, req, a, sink) })
	}
	return s.sendRequest(ctx, req, a, sink)
}

// sendRequest sends a request to the server. If the server is legacy, or may be, and the
// caller can answer questions, the call must be able to outlive this request: it runs as
// an interactive call.
func (s *Server) sendRequest(ctx context.Context, req *catalog.Request, a linkAccess, sink catalog.Sink) (catalog.Result, error) {
	known, _ := s.linkOpener.knownEra()
	if known != eraModern && abilitiesOf(req.Caller.Capabilities).canAnswerAny() {
		return s.startCall(ctx, req, a, sink)
	}
	token := s.newProgressToken(req)
	p := newCallHandler(req, token, sink)
	defer p.setSink(nil, nil)
	body, modern, err := s.sendWithRetries(ctx, req, a, token, p)
	if err != nil {
		return catalog.Result{}, err
	}
	return s.shapeResult(req, body, modern)
}

// sendWithRetries sends a request, and repeats it if it cannot have run, or once if
// running it twice is safe. handler receives what the server says meanwhile. modern is
// the era of the session that answered. req.Timing gets the attempts.
func (s *Server) sendWithRetries(ctx context.Context, req *catalog.Request, a linkAccess, token progressToken, handler messageHandler) (body []byte, modern bool, err error) {
	safe := isRepeatable(req)
	for try := 1; ; try++ {
		at := req.Timing.Elapsed()
		sess, err := s.acquireSession(ctx, a)
		if err != nil {
			return nil, false, err
		}
		req.Timing.Connect()
		// Answers belong to a server that asked as a modern one. A server that is legacy
		// by now cannot take them.
		modern = sess.link.isModern()
		if !modern && (req.Input.Responses != nil || req.Input.State != "") {
			s.releaseSession(sess)
			return nil, false, junctor.Errorf(junctor.CodeInvalid, "the configuration of server %s changed after it requested input; start the call again without requestState", s.opts.ID)
		}
		if body, err = s.exchangeRequest(ctx, sess, req, token, handler); err == nil && req.Caller.Tasks {
			if task := taskFromResult(req, body, modern); task != nil {
				made := s.rememberTask(sess, a, req.CallID, task)
				if !modern || req.Caller.TaskOnly { // modern clients subscribe to tasks themselves
					s.watchTask(ctx, made)
				}
			}
		}
		s.releaseSession(sess)
		req.Timing.Answer()
		if err == nil || try >= maxTries || ctx.Err() != nil || !mayRepeat(err, safe && try == 1) {
			return body, modern, err
		}
		// A retry only makes sense if it ends before the call's deadline.
		wait := addJitter(retryWait)
		if e := junctor.AsError(err); e.RetryAfter > 0 {
			wait = e.RetryAfter
		}
		if deadline, ok := ctx.Deadline(); wait > maxRetryAfter || ok && time.Until(deadline) < wait {
			return nil, modern, err
		}
		req.Timing.Again(at, junctor.CodeOf(err))
		if errors.Is(err, errNotBegun) {
			continue // the next try opens a new session; a pause would help nobody
		}
		if waitContext(ctx, wait) != nil {
			return nil, modern, err
		}
	}
}

// exchangeRequest sends one request over one session and waits for the answer. Before
// that, a legacy session gets the log level and answers its server's initial requests.
// The outcome goes to the breaker and the state.
func (s *Server) exchangeRequest(ctx context.Context, sess *session, req *catalog.Request, token progressToken, handler messageHandler) ([]byte, error) {
	l := sess.link
	if !l.isModern() && req.Caller.LogLevel != "" {
		sess.logLevel.lowerLevel(ctx, l, req.Caller.LogLevel)
	}
	if !l.isModern() {
		if err := s.answerInitialRequests(ctx, sess, handler); err != nil {
			return nil, err
		}
	}
	more, err := s.taskMember(req, l)
	if err != nil {
		return nil, err
	}
	out := s.newParamsBuilder()
	out.writeParams(s, req, l.isModern(), token, more...)
	begun := time.Now()
	var body []byte
	switch link, ok := l.(*httpLink); {
	case ok && link.line != nil:
		body, err = link.roundTripInto(ctx, methodOf(req.Kind), out.params, handler, req.Room, limit.PartyOf(req.Principal))
		s.releaseParamsBuilder(out) // only a line has surely stopped reading the buffer; an HTTP client may go on after an abort
	case ok:
		body, err = link.roundTripInto(ctx, methodOf(req.Kind), out.params, handler, nil, limit.PartyOf(req.Principal))
	default:
		body, err = l.roundTrip(ctx, methodOf(req.Kind), out.params, handler)
	}
	s.recordOutcome(sess, time.Since(begun), err)
	return body, s.opts.checkElicitationError(err)
}

// mayRepeat reports whether a request that failed with err may be sent again. safe says
// that running it twice does no harm.
func mayRepeat(err error, safe bool) bool { return cannotHaveRun(err) || safe && mayHaveRun(err) }

// mayHaveRun reports whether the connection failed in a way that leaves open whether the
// request ran.
func mayHaveRun(err error) bool {
	if _, own := errors.AsType[*wire.Error](err); own {
		return false
	}
	if errors.Is(err, errInterrupted) {
		return true
	}
	status := statusOf(err)
	return junctor.CodeOf(err) == junctor.CodeUpstream && (status == 0 || status >= 500)
}

// isRepeatable reports whether a request may run twice. Reads may, and tools if the
// caller says so. The server's own annotations do not count: a lying server could get a
// call repeated that spends or deletes. Answers to questions are never given twice.
func isRepeatable(req *catalog.Request) bool {
	if req.Input.Responses != nil || req.Input.State != "" {
		return false
	}
	return req.Kind != junctor.KindTool || req.Repeatable
}
