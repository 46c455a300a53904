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
	maxInputRounds  = 10 // of one call, when something is asked
	maxSilentRounds = 3  // in a row, when only the state is to be repeated
)

// clientResponse is a legacy client's answer to a request of ours.
type clientResponse struct {
	result []byte
	err    *wire.Error
}

// deliverResponse hands a client's response to whoever asked. Responses to nothing are
// dropped: the question may have lapsed.
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
	ch <- a
}

// runInputRounds runs the rounds of a call for a legacy client: each input that is wanted
// becomes a request on the stream of the call, and the call is repeated with the
// answers, under the same keys, until it needs nothing more.
func (x *exchange) runInputRounds(ctx context.Context, op *guard.Op, res catalog.Result) (catalog.Result, error) {
	silent := 0
	for range maxInputRounds {
		requests := wire.Get(res.Body, "inputRequests")
		op.RequestState, op.HasState = wire.String(wire.Get(res.Body, "requestState"))
		op.InputResponses = nil
		var err error
		if len(requests) > 2 {
			silent = 0
			if op.InputResponses, err = x.requestInputInTime(ctx, requests); err != nil {
				x.gateway.options.Pipeline.GiveUp(ctx, op, err)
				return catalog.Result{}, err
			}
		} else if silent++; silent > maxSilentRounds {
			break
		}
		if res, err = x.gateway.options.Pipeline.Do(ctx, op, x); err != nil || !res.Input {
			return res, err
		}
	}
	err := junctor.Errorf(junctor.CodeUpstream, "the call asked for input too often and was given up")
	op.RequestState, op.HasState = wire.String(wire.Get(res.Body, "requestState"))
	x.gateway.options.Pipeline.GiveUp(ctx, op, err)
	return catalog.Result{}, err
}

// requestInputInTime is askAll for clients that may never answer: the call ends then.
func (x *exchange) requestInputInTime(ctx context.Context, requests []byte) ([]byte, error) {
	limited, cancel := context.WithTimeout(ctx, x.gateway.options.AskFor)
	defer cancel()
	responses, err := x.requestInput(limited, requests)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return nil, junctor.Errorf(junctor.CodeTimeout, "the client was asked for input and did not answer within %v", x.gateway.options.AskFor)
	}
	return responses, err
}

// inputRequest is one request of ours that waits for its client's answer.
type inputRequest struct {
	key      []byte
	method   string
	id       string
	response chan clientResponse
}

// requestInput sends all requests of one round and waits for all answers.
func (x *exchange) requestInput(ctx context.Context, requests []byte) ([]byte, error) {
	if x.sender == nil || x.session == nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "the call needs input from its client, which this door cannot ask for; use /mcp")
	}
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

// awaitResponse gives the client's answer to a question.
func (q *inputRequest) awaitResponse(ctx context.Context) ([]byte, error) {
	select {
	case a := <-q.response:
		if a.err == nil {
			return a.result, nil
		}
		if q.method == wire.MethodElicitationCreate {
			return []byte(`{"action":"cancel"}`), nil // the modern form has no error to pass on
		}
		return nil, junctor.Errorf(junctor.CodeUpstream, "the client refused %s: %s", q.method, a.err.Message)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// addInputRequest makes the id of a request of ours, as JSON, and where its answer goes.
func (s *session) addInputRequest() (id string, ch chan clientResponse) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastInputID++
	id = `"` + s.bootID + strconv.Itoa(s.lastInputID) + `"`
	ch = make(chan clientResponse, 1)
	s.inputRequests[id] = ch
	return id, ch
}

func (s *session) removeInputRequest(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.inputRequests, id)
}
