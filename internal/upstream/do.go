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
	maxTries = 3
	// maxRetryAfter is how long a call waits because its server said so.
	maxRetryAfter = 5 * time.Second
	retryWait     = 50 * time.Millisecond
)

// Do implements catalog.Backend.
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
		return catalog.Result{}, junctor.Errorf(junctor.CodeInternal, "upstream does not know operations of the kind %q", string(req.Kind))
	}
	res, err := s.doRequest(ctx, req, sink)
	if err != nil {
		return catalog.Result{}, s.callError(req, err)
	}
	return res, nil
}

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

// sendRequest asks the server.
func (s *Server) sendRequest(ctx context.Context, req *catalog.Request, a linkAccess, sink catalog.Sink) (catalog.Result, error) {
	known, _ := s.linkOpener.knownEra()
	if known != eraModern && abilitiesOf(req.Caller.Capabilities).canAnswerAny() {
		return s.startCall(ctx, req, a, sink)
	}
	token := ""
	if req.Caller.Progress {
		token = s.newProgressToken()
	}
	p := newCallHandler(req, token, sink)
	defer p.setSink(nil)
	body, modern, err := s.sendWithRetries(ctx, req, a, token, p)
	if err != nil {
		return catalog.Result{}, err
	}
	return s.shapeResult(req, body, modern)
}

// sendWithRetries sends a request, and again where it cannot have run, or where running
// it twice does no harm.
func (s *Server) sendWithRetries(ctx context.Context, req *catalog.Request, a linkAccess, token string, p messageHandler) (body []byte, modern bool, err error) {
	safe := isRepeatable(req)
	for try := 1; ; try++ {
		at := req.Timing.Elapsed()
		sess, err := s.acquireSession(ctx, a)
		if err != nil {
			return nil, false, err
		}
		req.Timing.Connect()
		modern = sess.link.isModern()
		if !modern && (req.Input.Responses != nil || req.Input.State != "") {
			s.releaseSession(sess)
			return nil, false, junctor.Errorf(junctor.CodeInvalid, "server %s has changed since it asked for input; start the call again without requestState", s.opts.ID)
		}
		if body, err = s.exchangeRequest(ctx, sess, req, token, p); err == nil && req.Caller.Tasks {
			if task := taskFromResult(req, body, modern); task != nil {
				made := s.rememberTask(sess, a, req.CallID, task)
				if !modern || req.Caller.TaskOnly { // else the client says which it wants to hear of
					s.watchTask(ctx, made)
				}
			}
		}
		s.releaseSession(sess)
		req.Timing.Answer()
		if err == nil || try >= maxTries || ctx.Err() != nil || !mayRepeat(err, safe && try == 1) {
			return body, modern, err
		}
		wait := addJitter(retryWait)
		if e := junctor.AsError(err); e.RetryAfter > 0 {
			wait = e.RetryAfter
		}
		if deadline, ok := ctx.Deadline(); wait > maxRetryAfter || ok && time.Until(deadline) < wait {
			return nil, modern, err
		}
		req.Timing.Again(at, junctor.CodeOf(err))
		if errors.Is(err, errNotBegun) {
			continue // a new session is opened: nothing is to be waited for
		}
		if waitContext(ctx, wait) != nil {
			return nil, modern, err
		}
	}
}

// exchangeRequest is one request over one session.
func (s *Server) exchangeRequest(ctx context.Context, sess *session, req *catalog.Request, token string, p messageHandler) ([]byte, error) {
	l := sess.link
	if !l.isModern() && req.Caller.LogLevel != "" {
		sess.logLevel.lowerLevel(ctx, l, req.Caller.LogLevel)
	}
	if !l.isModern() {
		if err := s.answerInitialRequests(ctx, sess, p); err != nil {
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
	switch h, ok := l.(*httpLink); {
	case ok && h.line != nil:
		body, err = h.roundTripInto(ctx, methodOf(req.Kind), out.params, p, req.Room, limit.PartyOf(req.Principal))
		s.releaseParamsBuilder(out) // others may still read it, when they were broken off
	case ok:
		body, err = h.roundTripInto(ctx, methodOf(req.Kind), out.params, p, nil, limit.PartyOf(req.Principal))
	default:
		body, err = l.roundTrip(ctx, methodOf(req.Kind), out.params, p)
	}
	s.recordOutcome(sess, time.Since(begun), err)
	return body, s.opts.checkElicitationError(err)
}

// mayRepeat says whether a request that failed may be sent again.
func mayRepeat(err error, safe bool) bool { return cannotHaveRun(err) || safe && mayHaveRun(err) }

// mayHaveRun says that a request failed on the way, and may have run.
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

// isRepeatable says whether a request may run twice: reading is, and a tool whose
// caller says so. What the server itself claims of a tool does not count here: a
// server that lies would have a call run twice that spends or deletes. Answers to
// questions are not given twice.
func isRepeatable(req *catalog.Request) bool {
	if req.Input.Responses != nil || req.Input.State != "" {
		return false
	}
	return req.Kind != junctor.KindTool || req.Repeatable
}
