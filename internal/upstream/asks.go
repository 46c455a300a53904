package upstream

import (
	"bytes"
	"context"
	"errors"
	"sync"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// maxAsks bounds how many questions of a server wait for their answers on one
// link: each holds a goroutine.
const maxAsks = 64

// asks are the requests of a legacy server that wait for an answer.
type asks struct {
	mu      sync.Mutex
	cancels map[string]context.CancelFunc // by id as the server wrote it
	running sync.WaitGroup
	closed  bool
	some    bool          // there has been one, pings apart
	fewer   chan struct{} // closed when one was answered; nil where nobody waits for that
}

// start answers a request of the server: p answers, send takes the response.
// refused, when not nil, is the answer. It does not block. When ctx ends, the
// question is dropped.
func (a *asks) start(ctx context.Context, m *wire.Message, p messageHandler, refused *wire.Error, send func(ctx context.Context, message []byte)) {
	id, method, params := bytes.Clone(m.ID), m.Method, bytes.Clone(m.Params)
	switch {
	case method == wire.MethodPing: // is answered by nobody in particular
	case !askable(method):
		refused = &wire.Error{Code: wire.CodeMethodNotFound, Message: "this client does not know the method " + clip(method)}
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
	if len(a.cancels) >= 2*maxAsks || a.cancels[string(id)] != nil {
		return // a server that floods, or uses an id twice, gets no answer
	}
	if len(a.cancels) >= maxAsks {
		refused = &wire.Error{Code: wire.CodeInternal, Message: "too many requests wait for an answer"}
	}
	a.some = a.some || method != wire.MethodPing
	ctx, cancel := context.WithCancel(ctx)
	a.cancels[string(id)] = cancel
	a.running.Go(func() {
		defer a.forget(id)
		response := respond(ctx, id, method, params, p, refused)
		if ctx.Err() == nil {
			send(ctx, response)
		}
	})
}

func (a *asks) forget(id []byte) {
	a.mu.Lock()
	cancel := a.cancels[string(id)]
	delete(a.cancels, string(id))
	if a.fewer != nil {
		close(a.fewer)
		a.fewer = nil
	}
	a.mu.Unlock()
	cancel()
}

// none waits until no question is open, and says whether there has ever been one.
func (a *asks) none(ctx context.Context) (some bool, err error) {
	for {
		a.mu.Lock()
		open, some := len(a.cancels), a.some
		if open > 0 && a.fewer == nil {
			a.fewer = make(chan struct{})
		}
		fewer := a.fewer
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

// cancelled drops a question that the server no longer wants answered.
func (a *asks) cancelled(id []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if cancel := a.cancels[string(id)]; cancel != nil {
		cancel()
	}
}

// close drops all questions and waits until nobody answers them any more.
func (a *asks) close() {
	a.mu.Lock()
	a.closed = true
	for _, cancel := range a.cancels {
		cancel()
	}
	a.mu.Unlock()
	a.running.Wait()
}

func askable(method string) bool {
	switch method {
	case wire.MethodPing, wire.MethodElicitationCreate, wire.MethodSamplingCreateMessage, wire.MethodRootsList:
		return true
	}
	return false
}

func respond(ctx context.Context, id []byte, method string, params []byte, p messageHandler, refused *wire.Error) []byte {
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
