package upstream

import (
	"bytes"
	"context"
	"errors"
	"sync"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// maxServerRequests bounds how many questions of a server wait for their answers on one
// link: each holds a goroutine.
const maxServerRequests = 64

// serverRequests are the requests of a legacy server that wait for an answer.
type serverRequests struct {
	mu          sync.Mutex
	cancels     map[string]context.CancelFunc // by id as the server wrote it
	answering   sync.WaitGroup
	closed      bool
	everAsked   bool          // there has been one, pings apart
	oneAnswered chan struct{} // closed when one was answered; nil where nobody waits for that
}

// startAnswer answers a request of the server: p answers, send takes the response.
// refused, when not nil, is the answer. It does not block. When ctx ends, the
// question is dropped.
func (a *serverRequests) startAnswer(ctx context.Context, m *wire.Message, p messageHandler, refused *wire.Error, send func(ctx context.Context, message []byte)) {
	id, method, params := bytes.Clone(m.ID), m.Method, bytes.Clone(m.Params)
	switch {
	case method == wire.MethodPing: // is answered by nobody in particular
	case !isAnswerable(method):
		refused = &wire.Error{Code: wire.CodeMethodNotFound, Message: "this client does not know the method " + clipText(method)}
	case refused == nil && p == nil:
		refused = &wire.Error{Code: wire.CodeInternal, Message: "nobody is there to answer"}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return
	}
	if a.cancels == nil {
		a.cancels = map[string]context.CancelFunc{}
	}
	if len(a.cancels) >= 2*maxServerRequests || a.cancels[string(id)] != nil {
		return // a server that floods, or uses an id twice, gets no answer
	}
	if len(a.cancels) >= maxServerRequests {
		refused = &wire.Error{Code: wire.CodeInternal, Message: "too many requests wait for an answer"}
	}
	a.everAsked = a.everAsked || method != wire.MethodPing
	ctx, cancel := context.WithCancel(ctx)
	a.cancels[string(id)] = cancel
	a.answering.Go(func() {
		defer a.removeRequest(id)
		response := buildResponse(ctx, id, method, params, p, refused)
		if ctx.Err() == nil {
			send(ctx, response)
		}
	})
}

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

// waitUntilIdle waits until no question is open, and says whether there has ever been one.
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

// cancelRequest drops a question that the server no longer wants answered.
func (a *serverRequests) cancelRequest(id []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if cancel := a.cancels[string(id)]; cancel != nil {
		cancel()
	}
}

// close drops all questions and waits until nobody answers them any more.
func (a *serverRequests) close() {
	a.mu.Lock()
	a.closed = true
	for _, cancel := range a.cancels {
		cancel()
	}
	a.mu.Unlock()
	a.answering.Wait()
}

func isAnswerable(method string) bool {
	switch method {
	case wire.MethodPing, wire.MethodElicitationCreate, wire.MethodSamplingCreateMessage, wire.MethodRootsList:
		return true
	}
	return false
}

func buildResponse(ctx context.Context, id []byte, method string, params []byte, p messageHandler, refused *wire.Error) []byte {
	if method == wire.MethodPing {
		return wire.AppendResult(nil, id, nil)
	}
	if refused != nil {
		return wire.AppendError(nil, id, refused)
	}
	result, err := p.answerRequest(ctx, method, params)
	if err == nil {
		return wire.AppendResult(nil, id, result)
	}
	e, ok := errors.AsType[*wire.Error](err)
	if !ok {
		e = &wire.Error{Code: wire.CodeInternal, Message: junctor.AsError(err).Message}
	}
	return wire.AppendError(nil, id, e)
}
