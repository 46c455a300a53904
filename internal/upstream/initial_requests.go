package upstream

import (
	"context"
	"errors"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

const (
	// nextCallWait is how long a server's question waits for a call to answer it.
	nextCallWait = time.Minute
	// answerSettleTime is what a server is given to make use of the answers that it wanted
	// before its first call.
	answerSettleTime = 50 * time.Millisecond
)

// errCallOver is the end of a question whose call ended before it was answered.
const errCallOver linkError = "the call that could have answered is over"

// errAmbiguousCall is the answer to a question that may be anybody's.
var errAmbiguousCall = &wire.Error{Code: wire.CodeInternal, Message: "several calls are under way, and the request does not say to which it belongs; send it on the stream of its call"}

// nextCallAnswerer is the peer of a question that names no call: the call that was under
// way when it came, and when that ends without an answer, the next one.
type nextCallAnswerer struct {
	nopHandler
	calls        *pendingCalls
	firstHandler messageHandler // nil: there was none
}

func (a *nextCallAnswerer) answerRequest(ctx context.Context, method string, params []byte) ([]byte, error) {
	for p := a.firstHandler; ; {
		if p != nil {
			result, err := p.answerRequest(ctx, method, params)
			if !errors.Is(err, errCallOver) {
				return result, err
			}
		}
		var err error
		if p, err = a.calls.awaitCall(ctx); err != nil {
			return nil, err
		}
	}
}

// awaitCall gives the peer of the only call under way, or of the next one.
func (f *pendingCalls) awaitCall(ctx context.Context) (messageHandler, error) {
	ctx, cancel := context.WithTimeout(ctx, nextCallWait)
	defer cancel()
	for {
		f.mu.Lock()
		fl, several := f.findLeastAsked()
		if fl == nil && f.callBegun == nil {
			f.callBegun = make(chan struct{})
		}
		begun := f.callBegun
		f.mu.Unlock()
		switch {
		case several && (f.onAmbiguous == nil || !f.onAmbiguous()):
			return nil, errAmbiguousCall
		case fl != nil:
			return fl.handler, nil
		}
		select {
		case <-begun:
		case <-ctx.Done():
			return nil, &wire.Error{Code: wire.CodeInternal, Message: "no call is under way that could answer"}
		}
	}
}

// answerInitialRequests has the first call of a session answer what the server wants to know
// before it: servers ask for a client's roots when they are initialized, and
// hold the calls that follow to them. The answers are this caller's, so callers
// no longer share sessions. It is the same again when the client's roots changed.
func (s *Server) answerInitialRequests(ctx context.Context, sess *session, p messageHandler) error {
	if !sess.mayAsk || sess.hadFirstCall.Swap(true) && !sess.rootsChanged.Load() {
		return nil
	}
	s.notifyRootsChanged(ctx, sess)
	// What it asked has come before its answer to this one. That it may not know
	// the method is all the same.
	_, _ = sess.link.roundTrip(ctx, wire.MethodPing, nil, p)
	asked, err := sess.link.awaitServerRequests(ctx)
	if err != nil || !asked {
		return err
	}
	if s.effectiveIsolation() == junctor.IsolationShared {
		s.isolateClients(reasonInitial)
	}
	return waitContext(ctx, answerSettleTime)
}

func (l *stdioLink) awaitServerRequests(ctx context.Context) (bool, error) {
	return l.serverRequests.waitUntilIdle(ctx)
}

func (l *httpLink) awaitServerRequests(ctx context.Context) (bool, error) {
	return l.serverRequests.waitUntilIdle(ctx)
}

func (l *sseLink) awaitServerRequests(ctx context.Context) (bool, error) {
	return l.serverRequests.waitUntilIdle(ctx)
}
