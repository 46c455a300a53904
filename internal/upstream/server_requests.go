package upstream

import (
	"bytes"
	"context"
	"errors"
	"sync"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// maxServerRequests bounds the requests of a server that wait for an answer on one link,
// since each holds a goroutine.
const maxServerRequests = 64

// serverRequests are the requests of a legacy server that have no answer yet. The zero
// value is ready.
type serverRequests struct {
	mu          sync.Mutex
	cancels     map[string]context.CancelFunc // by id as the server wrote it
	answering   sync.WaitGroup
	closed      bool
	everAsked   bool          // there has been a request other than ping
	oneAnswered chan struct{} // closed when one was answered; nil if nobody waits for that
}

// startAnswer answers a request of the server in a goroutine: handler answers it, and
// send sends the response. If refused is not nil, it is the answer. When ctx ends, the
// request is dropped. startAnswer does not block, since the reader of the link calls it.
func (a *serverRequests) startAnswer(ctx context.Context, m *wire.Message, handler messageHandler, refused *wire.Error, send func(ctx context.Context, message []byte)) {
	id, method, params := bytes.Clone(m.ID), m.Method, bytes.Clone(m.Params)
	switch {
	case method == wire.MethodPing: // is answered without a handler
	case !isAnswerable(method):
		refused = &wire.Error{Code: wire.CodeMethodNotFound, Message: "this client does not support the method " + clipText(method)}
	case refused == nil && handler == nil:
		refused = &wire.Error{Code: wire.CodeInternal, Message: "no client can answer this request"}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return
	}
	if a.cancels == nil {
		a.cancels = map[string]context.CancelFunc{}
	}
	// Up to twice the bound, requests are refused with an error. Beyond it they are
	// dropped.
	if len(a.cancels) >= 2*maxServerRequests || a.cancels[string(id)] != nil {
		return // a server that floods or repeats an id gets no answer
	}
	if len(a.cancels) >= maxServerRequests {
		refused = &wire.Error{Code: wire.CodeInternal, Message: "too many requests of this server wait for a response"}
	}
	a.everAsked = a.everAsked || method != wire.MethodPing
	ctx, cancel := context.WithCancel(ctx)
	a.cancels[string(id)] = cancel
	a.answering.Go(func() {
		defer a.removeRequest(id)
		response := buildResponse(ctx, id, method, params, handler, refused)
		if ctx.Err() == nil {
			send(ctx, response)
		}
	})
}

// removeRequest removes a request that was answered or dropped.
func (a *serverRequests) removeRequest(id []byte) {
	a.mu.Lock()
	cancel := a.cancels[string(id)]
	delete(a.cancels, string(id))
	if a.oneAnswered != nil {
		close(a.oneAnswered)
		a.oneAnswered = nil
	}
	a.mu.Unlock()
	cancel()
}

// waitUntilIdle waits until no request is open, and reports whether there has ever been
// one.
func (a *serverRequests) waitUntilIdle(ctx context.Context) (some bool, err error) {
	for {
		a.mu.Lock()
		open, some := len(a.cancels), a.everAsked
		if open > 0 && a.oneAnswered == nil {
			a.oneAnswered = make(chan struct{})
		}
		fewer := a.oneAnswered
		a.mu.Unlock()
		if open == 0 {
			return some, nil
		}
		select {
		case <-fewer:
		case <-ctx.Done():
			return some, junctor.AsError(ctx.Err())
		}
	}
}

// cancelRequest drops a request that the server has cancelled.
func (a *serverRequests) cancelRequest(id []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if cancel := a.cancels[string(id)]; cancel != nil {
		cancel()
	}
}

// close drops all requests and waits for their goroutines.
func (a *serverRequests) close() {
	a.mu.Lock()
	a.closed = true
	for _, cancel := range a.cancels {
		cancel()
	}
	a.mu.Unlock()
	a.answering.Wait()
}

// isAnswerable reports whether a client may get requests with this method.
func isAnswerable(method string) bool {
	switch method {
	case wire.MethodPing, wire.MethodElicitationCreate, wire.MethodSamplingCreateMessage, wire.MethodRootsList:
		return true
	}
	return false
}

// buildResponse makes the response to a request of the server.
func buildResponse(ctx context.Context, id []byte, method string, params []byte, handler messageHandler, refused *wire.Error) []byte {
	if method == wire.MethodPing {
		return wire.AppendResult(nil, id, nil)
	}
	if refused != nil {
		return wire.AppendError(nil, id, refused)
	}
	result, err := handler.answerRequest(ctx, method, params)
	if err == nil {
		return wire.AppendResult(nil, id, result)
	}
	e, ok := errors.AsType[*wire.Error](err)
	if !ok {
		e = &wire.Error{Code: wire.CodeInternal, Message: junctor.AsError(err).Message}
	}
	return wire.AppendError(nil, id, e)
}
