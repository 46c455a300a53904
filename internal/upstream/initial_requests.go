package upstream

import (
	"context"
	"errors"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

const (
	// nextCallWait is how long a request of the server waits for a call that can answer
	// it.
	nextCallWait = time.Minute
	// answerSettleTime is given to a server to process the answers to its initial
	// requests before its first call.
	answerSettleTime = 50 * time.Millisecond
)

// errCallOver ends a question whose call ended before it was answered.
const errCallOver linkError = "the call that could have answered has ended"

// errAmbiguousCall answers a question that could belong to any of several calls.
var errAmbiguousCall = &wire.Error{Code: wire.CodeInternal, Message: "several calls are in progress, and the request does not say which call it belongs to; send it on the stream of its call"}

// nextCallAnswerer is the message handler of a server request that names no call. The
// call that was pending when it came answers it. If that ends without an answer, the next
// one does.
type nextCallAnswerer struct {
	nopHandler
	calls        *pendingCalls
	firstHandler messageHandler // nil if no call was pending
}

// answerRequest implements messageHandler.
func (a *nextCallAnswerer) answerRequest(ctx context.Context, method string, params []byte) ([]byte, error) {
	for handler := a.firstHandler; ; {
		if handler != nil {
			result, err := handler.answerRequest(ctx, method, params)
			if !errors.Is(err, errCallOver) {
				return result, err
			}
		}
		var err error
		if handler, err = a.calls.awaitCall(ctx); err != nil {
			return nil, err
		}
	}
}

// awaitCall gives the handler of the only pending call, or of the next one. With several
// it returns errAmbiguousCall, unless any of them may answer.
func (f *pendingCalls) awaitCall(ctx context.Context) (messageHandler, error) {
	ctx, cancel := context.WithTimeout(ctx, nextCallWait)
	defer cancel()
	for {
		f.mu.Lock()
		call, several := f.findLeastAsked()
		if call == nil && f.callBegun == nil {
			f.callBegun = make(chan struct{})
		}
		begun := f.callBegun
		f.mu.Unlock()
		switch {
		case several && (f.onAmbiguous == nil || !f.onAmbiguous()):
			return nil, errAmbiguousCall
		case call != nil:
			return call.handler, nil
		}
		select {
		case <-begun:
		case <-ctx.Done():
			return nil, &wire.Error{Code: wire.CodeInternal, Message: "no call that could answer is in progress"}
		}
	}
}

// answerInitialRequests lets the first call of a session answer the requests that the
// server sends before it. Servers ask for a client's roots after initialize, and restrict
// later calls to them. Such answers are this caller's alone, so clients stop sharing
// sessions. The same happens when the client's roots changed.
func (s *Server) answerInitialRequests(ctx context.Context, sess *session, handler messageHandler) error {
	if !sess.mayAsk || sess.hadFirstCall.Swap(true) && !sess.rootsChanged.Load() {
		return nil
	}
	s.notifyRootsChanged(ctx, sess)
	// The server's requests arrive before its answer to this ping. An error is as good as
	// an answer: the method may be unknown.
	_, _ = sess.link.roundTrip(ctx, wire.MethodPing, nil, handler)
	asked, err := sess.link.awaitServerRequests(ctx)
	if err != nil || !asked {
		return err
	}
	if s.effectiveIsolation() == junctor.IsolationShared {
		s.isolateClients(reasonInitial)
	}
	return waitContext(ctx, answerSettleTime)
}

// awaitServerRequests implements link; so do the two below.
func (l *stdioLink) awaitServerRequests(ctx context.Context) (bool, error) {
	return l.serverRequests.waitUntilIdle(ctx)
}

func (l *httpLink) awaitServerRequests(ctx context.Context) (bool, error) {
	return l.serverRequests.waitUntilIdle(ctx)
}

func (l *sseLink) awaitServerRequests(ctx context.Context) (bool, error) {
	return l.serverRequests.waitUntilIdle(ctx)
}
