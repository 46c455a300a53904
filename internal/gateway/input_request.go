package gateway

import (
	"bytes"
	"context"
	"strconv"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/guard"
	"github.com/junctor-mcp/junctor/internal/wire"
)

const (
	// maxInputRounds bounds the rounds of one call that request input.
	maxInputRounds = 10
	// maxSilentRounds bounds the rounds in a row that only repeat the state.
	maxSilentRounds = 3
)

// clientResponse is the response of a legacy client to a request of ours.
type clientResponse struct {
	result []byte
	err    *wire.Error
}

// deliverResponse hands a response of the client to the goroutine that waits for it. A
// response to an unknown request is dropped: the request may have timed out.
func (s *session) deliverResponse(m *wire.Message) {
	s.mu.Lock()
	ch := s.inputRequests[string(m.ID)]
	delete(s.inputRequests, string(m.ID))
	s.mu.Unlock()
	if ch == nil {
		return
	}
	a := clientResponse{result: bytes.Clone(m.Result)}
	if m.Error != nil {
		e, ok := wire.ParseError(m.Error)
		if !ok {
			e = &wire.Error{Code: wire.CodeInternal, Message: "the client answered with an error that has no message"}
		}
		e.Data = bytes.Clone(e.Data)
		a.err = e
	}
	ch <- a // never blocks: the channel has room for one, and the id was removed above
}

// runInputRounds continues a call of a legacy client that needs input. Each requested
// input becomes a request on the stream of the call. The call is then repeated with the
// responses, under the same keys, until it needs nothing more. If the client does not
// respond, the call is given up, so that its end is recorded.
func (x *exchange) runInputRounds(ctx context.Context, op *guard.Op, res catalog.Result) (catalog.Result, error) {
	silent := 0
	for range maxInputRounds {
		requests := wire.Get(res.Body, "inputRequests")
		op.RequestState, op.HasState = wire.String(wire.Get(res.Body, "requestState"))
		op.InputResponses = nil
		var err error
		if len(requests) > 2 { // more than {}
			silent = 0
			if op.InputResponses, err = x.requestInputInTime(ctx, requests); err != nil {
				x.gateway.options.Pipeline.AbandonCall(ctx, op, err)
				return catalog.Result{}, err
			}
		} else if silent++; silent > maxSilentRounds {
			break
		}
		if res, err = x.gateway.options.Pipeline.Do(ctx, op, x); err != nil || !res.Input {
			return res, err
		}
	}
	err := junctor.Errorf(junctor.CodeUpstream, "the call requested input too often and was cancelled")
	op.RequestState, op.HasState = wire.String(wire.Get(res.Body, "requestState"))
	x.gateway.options.Pipeline.AbandonCall(ctx, op, err)
	return catalog.Result{}, err
}

// requestInputInTime is requestInput with a time limit: a client may never respond. The
// error is then timeout.
func (x *exchange) requestInputInTime(ctx context.Context, requests []byte) ([]byte, error) {
	limited, cancel := context.WithTimeout(ctx, x.gateway.options.InputTimeout)
	defer cancel()
	responses, err := x.requestInput(limited, requests)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return nil, junctor.Errorf(junctor.CodeTimeout, "the client was asked for input and did not answer within %v", x.gateway.options.InputTimeout)
	}
	return responses, err
}

// inputRequest is a request of ours that waits for the client's response.
type inputRequest struct {
	key      []byte // of the backend's inputRequests; the response is returned under it
	method   string
	id       string // as JSON
	response chan clientResponse
}

// requestInput sends all requests of one round and waits for all responses. The result is
// the inputResponses object. It fails at entry points that cannot send requests.
func (x *exchange) requestInput(ctx context.Context, requests []byte) ([]byte, error) {
	if x.sender == nil || x.session == nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "the call requires input from its client, which this endpoint does not support; use /mcp")
	}
	// Send all requests before waiting for the first response: a client may show
	// them to its user together.
	var all []inputRequest
	for key, request := range wire.Members(requests) {
		q := inputRequest{key: key}
		q.method, _ = wire.String(wire.Get(request, "method"))
		q.id, q.response = x.session.addInputRequest()
		defer x.session.removeInputRequest(q.id)
		all = append(all, q)
		x.sender.sendMessage(wire.AppendRequest(nil, []byte(q.id), q.method, wire.Get(request, "params")))
	}
	out := []byte{'{'}
	for i, q := range all {
		answer, err := q.awaitResponse(ctx)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, '"'), q.key...), `":`...)
		out = append(out, answer...)
	}
	return append(out, '}'), nil
}

// awaitResponse returns the client's result. An error of the client fails the call,
// except for an elicitation, which counts as cancelled by the user.
func (q *inputRequest) awaitResponse(ctx context.Context) ([]byte, error) {
	select {
	case a := <-q.response:
		if a.err == nil {
			return a.result, nil
		}
		if q.method == wire.MethodElicitationCreate {
			return []byte(`{"action":"cancel"}`), nil // the modern form has no errors for elicitations
		}
		return nil, junctor.Errorf(junctor.CodeUpstream, "the client refused %s: %s", q.method, a.err.Message)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// addInputRequest registers a request of ours. It returns the id of the request, as JSON,
// and the channel that receives the response. The caller must call removeInputRequest.
func (s *session) addInputRequest() (id string, ch chan clientResponse) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastInputID++
	id = `"` + s.bootID + strconv.Itoa(s.lastInputID) + `"`
	ch = make(chan clientResponse, 1)
	s.inputRequests[id] = ch
	return id, ch
}

// removeInputRequest forgets a request. A later response to it is dropped.
func (s *session) removeInputRequest(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.inputRequests, id)
}
