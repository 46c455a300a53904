package upstream

import (
	"context"
	"crypto/rand"
	"strconv"
	"strings"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// maxParked bounds how many calls of a server wait for their clients.
const maxParked = 256

// interactiveCall is a call whose server may ask its client something. It runs on its own:
// when the server asks, Do answers with input_required and leaves it running,
// and the client's repeated request takes it up again.
type interactiveCall struct {
	callHandler
	s         *Server
	abilities clientAbilities
	principal *junctor.Principal
	cancel    context.CancelFunc

	questionAdded chan struct{} // signalled when there is a new question
	done          chan struct{} // closed when the server has answered
	body          []byte        // once done
	modern        bool          // once done: the server turned out to be modern
	err           error         // once done

	questionsMu sync.Mutex
	questions   []*question // that have no answer yet
	lastKey     int
	keyPrefix   string // of keys

	expiryTimer *time.Timer // while parked; under Server.mu
}

// question is a request of the server that waits for the client's answer.
type question struct {
	key     string
	request []byte // {method, params}
	answer  chan []byte
}

// startCall runs a request whose server may ask something.
func (s *Server) startCall(ctx context.Context, req *catalog.Request, a linkAccess, sink catalog.Sink) (catalog.Result, error) {
	token := ""
	if req.Caller.Progress {
		token = s.newProgressToken()
	}
	c := &interactiveCall{
		s: s, abilities: abilitiesOf(req.Caller.Capabilities), principal: req.Principal,
		questionAdded: make(chan struct{}, 1), done: make(chan struct{}),
		callHandler: callHandler{minSeverity: wire.Severity(req.Caller.LogLevel), progressToken: token, wantsProgress: token != "", keepsNotes: true},
	}
	// The call outlives the request that began it, and so must what it needs of it.
	kept := copyRequest(req)
	a = a.copyForKeeping()
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c.cancel = cancel
	started := s.background.start(func() {
		defer close(c.done)
		defer cancel()
		defer context.AfterFunc(s.ctx, cancel)() //nolint:contextcheck // the server's end is the call's, too
		c.body, c.modern, c.err = s.sendWithRetries(run, kept, a, token, c)
	})
	if !started {
		cancel()
		return catalog.Result{}, junctor.Errorf(junctor.CodeUnavailable, "server %s was removed or is being changed; try again", s.opts.ID)
	}
	res, err := c.awaitResult(ctx, kept, sink)
	select {
	case <-c.done:
		req.Timing.Take(kept.Timing)
	default: // it goes on without this request
	}
	return res, err
}

// copyRequest copies what belongs to the caller only until Do returns.
func copyRequest(req *catalog.Request) *catalog.Request {
	kept := *req
	kept.Room = nil
	if req.Timing != nil {
		kept.Timing = &junctor.Timing{Since: req.Timing.Since}
	}
	clone := func(b []byte) []byte { return append([]byte(nil), b...) }
	kept.Params, kept.Meta = clone(req.Params), clone(req.Meta)
	if at := wire.Offset(req.Params, req.Arguments); at >= 0 {
		kept.Arguments = kept.Params[at : at+len(req.Arguments)]
	} else {
		kept.Arguments = clone(req.Arguments)
	}
	kept.Caller.Capabilities = clone(req.Caller.Capabilities)
	if req.Input.Responses != nil {
		kept.Input.Responses = clone(req.Input.Responses)
	}
	return &kept
}

// awaitResult gives the end of the call, or the questions that came before it.
func (c *interactiveCall) awaitResult(ctx context.Context, req *catalog.Request, sink catalog.Sink) (catalog.Result, error) {
	c.setSink(sink)
	defer c.setSink(nil)
	select {
	case <-c.done:
	case <-c.questionAdded:
		// Others that the server asks with it are asked together.
		gather := time.NewTimer(c.s.opts.Timeouts.Gather)
		defer gather.Stop()
		select {
		case <-gather.C:
			if body := c.inputRequests(); body != nil {
				return c.s.parkCall(c, body)
			}
			return c.awaitResult(ctx, req, sink) // the server took them back
		case <-c.done:
		case <-ctx.Done():
		}
	case <-ctx.Done():
	}
	select {
	case <-c.done:
	default:
		c.cancel() // tells the server
		<-c.done
		return catalog.Result{}, junctor.AsError(ctx.Err())
	}
	if c.err != nil {
		return catalog.Result{}, c.err
	}
	return c.s.shapeResult(req, c.body, c.modern)
}

// answerRequest implements peer: it waits until the client has answered.
func (c *interactiveCall) answerRequest(ctx context.Context, method string, params []byte) ([]byte, error) {
	if !c.abilities.canAnswer(method) {
		return c.callHandler.answerRequest(ctx, method, params)
	}
	if method == wire.MethodRootsList && c.s != nil && c.s.effectiveIsolation() == junctor.IsolationShared {
		c.s.isolateClients(reasonRoots) // it may keep them, and they are this client's alone
	}
	q := &question{answer: make(chan []byte, 1)}
	q.request = append(wire.AppendString([]byte(`{"method":`), method), '}')
	if params = stripParams(params); params != nil {
		q.request = wire.AppendObject(nil, q.request, nil, wire.Member{Key: "params", Value: params})
	}
	c.questionsMu.Lock()
	c.lastKey++
	q.key = c.keyPrefix + "q" + strconv.Itoa(c.lastKey)
	c.questions = append(c.questions, q)
	c.questionsMu.Unlock()
	c.signalQuestion()
	select {
	case result := <-q.answer:
		return result, nil
	case <-c.done:
		c.removeQuestion(q)
		return nil, errCallOver
	case <-ctx.Done():
		c.removeQuestion(q)
		return nil, junctor.AsError(ctx.Err())
	}
}

func (c *interactiveCall) signalQuestion() {
	select {
	case c.questionAdded <- struct{}{}:
	default:
	}
}

func (c *interactiveCall) removeQuestion(q *question) {
	c.questionsMu.Lock()
	defer c.questionsMu.Unlock()
	for i, other := range c.questions {
		if other == q {
			c.questions = append(c.questions[:i], c.questions[i+1:]...)
			return
		}
	}
}

// stripParams takes from the params of a question what held for its own hop.
func stripParams(params []byte) []byte {
	meta := wire.Get(params, "_meta")
	if meta == nil {
		return params
	}
	if kept := append(appendStripped(nil, meta), '}'); len(kept) > 2 {
		return wire.AppendObject(nil, params, nil, wire.Member{Key: "_meta", Value: kept})
	}
	return wire.AppendObject(nil, params, []string{"_meta"})
}

// inputRequests are the open questions as inputRequests; nil when there are none.
func (c *interactiveCall) inputRequests() []byte {
	c.questionsMu.Lock()
	defer c.questionsMu.Unlock()
	if len(c.questions) == 0 {
		return nil
	}
	members := make([]wire.Member, len(c.questions))
	for i, q := range c.questions {
		members[i] = wire.Member{Key: q.key, Value: q.request}
	}
	return wire.AppendObject(nil, nil, nil, members...)
}

// answerQuestions hands the client's answers to whoever asked. Questions without one are
// asked again.
func (c *interactiveCall) answerQuestions(responses []byte) {
	c.questionsMu.Lock()
	defer c.questionsMu.Unlock()
	open := c.questions[:0]
	for _, q := range c.questions {
		if result := wire.Get(responses, q.key); result != nil {
			q.answer <- append([]byte(nil), result...)
			continue
		}
		open = append(open, q)
	}
	c.questions = open
	if len(open) > 0 {
		c.signalQuestion()
	}
}

// parkCall leaves a call waiting for its client, and gives the result that says so.
func (s *Server) parkCall(c *interactiveCall, requests []byte) (catalog.Result, error) {
	handle := rand.Text()
	s.mu.Lock()
	refused := s.closed || len(s.parkedCalls) >= maxParked
	if !refused {
		s.parkedCalls[handle] = c
		c.expiryTimer = time.AfterFunc(s.opts.Timeouts.Park, func() { s.expireParkedCall(handle) })
	}
	s.mu.Unlock()
	if refused {
		c.cancel()
		<-c.done
		return catalog.Result{}, &junctor.Error{Code: junctor.CodeUnavailable, RetryAfter: time.Second, Message: "server " + s.opts.ID + " has too many calls that wait for their clients; try again later"}
	}
	body := wire.AppendObject(nil, nil, nil,
		wire.Member{Key: "inputRequests", Value: requests},
		wire.Member{Key: "requestState", Value: wire.AppendString(nil, statePrefixParked+handle)})
	return catalog.Result{Body: body, Input: true, Held: true}, nil
}

// takeParkedCall takes a waiting call; nil when there is none.
func (s *Server) takeParkedCall(handle string) *interactiveCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.parkedCalls[handle]
	if c != nil {
		delete(s.parkedCalls, handle)
		c.expiryTimer.Stop()
	}
	return c
}

// Holds says whether a call waits here for the input that comes with a state.
func (s *Server) Holds(state string) bool {
	handle, ok := strings.CutPrefix(state, statePrefixParked)
	s.mu.Lock()
	defer s.mu.Unlock()
	return ok && s.parkedCalls[handle] != nil
}

// expireParkedCall ends a call whose client did not come back.
func (s *Server) expireParkedCall(handle string) {
	if c := s.takeParkedCall(handle); c != nil {
		c.cancel()
	}
}

// resumeCall goes on with a call that waited.
func (s *Server) resumeCall(ctx context.Context, req *catalog.Request, sink catalog.Sink) (catalog.Result, error) {
	c := s.takeParkedCall(req.Input.State[len(statePrefixParked):])
	if c == nil {
		return catalog.Result{}, junctor.Errorf(junctor.CodeInvalid, "the call that asked for this input is over: it waited too long, or server %s was restarted; start it again without requestState", s.opts.ID)
	}
	if c.principal != nil && (req.Principal == nil || !c.principal.Same(req.Principal)) {
		c.cancel()
		return catalog.Result{}, junctor.Errorf(junctor.CodeInvalid, "requestState belongs to another caller")
	}
	c.setSink(sink)
	c.answerQuestions(req.Input.Responses)
	return c.awaitResult(ctx, req, sink)
}
