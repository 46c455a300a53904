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

// maxParked bounds the calls of a server that wait for their clients.
const maxParked = 256

// interactiveCall is a call whose server may ask its client something. It runs in a
// goroutine of its own. When the server asks, Do answers with input_required and leaves
// the call running as a parked call. The client's repeated request, with the answers,
// resumes it.
type interactiveCall struct {
	callHandler
	server    *Server
	abilities clientAbilities    // of the client
	principal *junctor.Principal // only they may resume the call
	cancel    context.CancelFunc

	questionAdded chan struct{} // holds a signal when there is a new question
	done          chan struct{} // closed when the server has answered
	body          []byte        // once done
	modern        bool          // once done: the server turned out to be modern
	err           error         // once done

	questionsMu sync.Mutex
	questions   []*question // without an answer
	lastKey     int         // number of the last question's key
	keyPrefix   string      // makes keys unique among the calls of a task

	expiryTimer *time.Timer // while the call is parked; Server.mu guards it
}

// question is a request of the server that waits for the client's answer.
type question struct {
	key     string      // in inputRequests
	request []byte      // object with method and params
	answer  chan []byte // has room for one, so that giving it never blocks
}

// startCall begins an interactive call and waits for its result or its first questions.
func (s *Server) startCall(ctx context.Context, req *catalog.Request, a linkAccess, sink catalog.Sink) (catalog.Result, error) {
	token := s.newProgressToken(req)
	c := &interactiveCall{
		server: s, abilities: abilitiesOf(req.Caller.Capabilities), principal: req.Principal,
		questionAdded: make(chan struct{}, 1), done: make(chan struct{}),
		callHandler: callHandler{minSeverity: wire.Severity(req.Caller.LogLevel), progressToken: token, wantsProgress: req.Caller.Progress, keepsNotes: true},
	}
	// The call may outlive this request, whose memory is reused then.
	kept := copyRequest(req)
	a = a.copyForKeeping()
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c.cancel = cancel
	started := s.background.start(func() {
		defer close(c.done)
		defer cancel()
		defer context.AfterFunc(s.ctx, cancel)() //nolint:contextcheck // the call must end with the Server, too
		c.body, c.modern, c.err = s.sendWithRetries(run, kept, a, token, c)
	})
	if !started {
		cancel()
		return catalog.Result{}, junctor.Errorf(junctor.CodeUnavailable, "server %s was removed or changed during the call; try again", s.opts.ID)
	}
	res, err := c.awaitResult(ctx, kept, sink)
	select {
	case <-c.done:
		req.Timing.Take(kept.Timing)
	default: // the call is parked and still writes its own timing
	}
	return res, err
}

// copyRequest copies a request with all memory that belongs to its caller only until Do
// returns. Arguments stay a part of the copied params, which writeParams relies on.
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

// awaitResult waits for the end of the call or for questions. With questions it parks the
// call and returns the result that asks for input. If ctx ends first, it cancels the call
// and waits until the server was told.
func (c *interactiveCall) awaitResult(ctx context.Context, req *catalog.Request, sink catalog.Sink) (catalog.Result, error) {
	c.setSink(sink, req.Idle)
	defer c.setSink(nil, nil)
	select {
	case <-c.done:
	case <-c.questionAdded:
		// Questions that come shortly after this one are asked together with it.
		gather := time.NewTimer(c.server.opts.Timeouts.Gather)
		defer gather.Stop()
		select {
		case <-gather.C:
			if body := c.inputRequests(); body != nil {
				return c.server.parkCall(c, body)
			}
			return c.awaitResult(ctx, req, sink) // the server cancelled its questions meanwhile
		case <-c.done:
		case <-ctx.Done():
		}
	case <-ctx.Done():
	}
	select {
	case <-c.done:
	default:
		c.cancel() // this also cancels the request at the server
		<-c.done
		return catalog.Result{}, junctor.AsError(ctx.Err())
	}
	if c.err != nil {
		return catalog.Result{}, c.err
	}
	return c.server.shapeResult(req, c.body, c.modern)
}

// answerRequest implements messageHandler: it adds a question and waits for the client's
// answer. The error is errCallOver if the call ends before that.
func (c *interactiveCall) answerRequest(ctx context.Context, method string, params []byte) ([]byte, error) {
	if !c.abilities.canAnswer(method) {
		return c.callHandler.answerRequest(ctx, method, params)
	}
	if method == wire.MethodRootsList && c.server != nil && c.server.effectiveIsolation() == junctor.IsolationShared {
		c.server.isolateClients(reasonRoots) // the server may keep the roots, which must not apply to other clients
	}
	q := &question{answer: make(chan []byte, 1)}
	q.request = append(wire.AppendString([]byte(`{"method":`), method), '}')
	if params = stripMeta(params); params != nil {
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

// signalQuestion wakes awaitResult.
func (c *interactiveCall) signalQuestion() {
	select {
	case c.questionAdded <- struct{}{}:
	default:
	}
}

// removeQuestion removes a question that needs no answer any more.
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

// stripMeta removes from the _meta of an object, the params of a question or the result
// of a task, the members that were for the server's hop. It removes an empty _meta.
func stripMeta(object []byte) []byte {
	meta := wire.Get(object, "_meta")
	if meta == nil {
		return object
	}
	if kept := append(appendStripped(nil, meta), '}'); len(kept) > 2 {
		return wire.AppendObject(nil, object, nil, wire.Member{Key: "_meta", Value: kept})
	}
	return wire.AppendObject(nil, object, []string{"_meta"})
}

// inputRequests gives the open questions in the form of inputRequests; nil if there are
// none.
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

// answerQuestions hands the client's answers to the waiting requests. Questions without
// an answer stay open and are asked again.
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

// parkCall keeps a call until its client answers, and gives the result that asks for the
// input. If too many calls wait, it cancels the call.
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
		return catalog.Result{}, &junctor.Error{Code: junctor.CodeUnavailable, RetryAfter: time.Second, Message: "server " + s.opts.ID + " has too many calls that wait for input from their clients; try again later"}
	}
	body := wire.AppendObject(nil, nil, nil,
		wire.Member{Key: "inputRequests", Value: requests},
		wire.Member{Key: "requestState", Value: wire.AppendString(nil, statePrefixParked+handle)})
	return catalog.Result{Body: body, Input: true, Held: true}, nil
}

// takeParkedCall removes a parked call from the table; nil if there is none with this
// handle.
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

// HoldsCall reports whether the call that a requestState belongs to is parked here, and not
// on another replica.
func (s *Server) HoldsCall(state string) bool {
	handle, ok := strings.CutPrefix(state, statePrefixParked)
	s.mu.Lock()
	defer s.mu.Unlock()
	return ok && s.parkedCalls[handle] != nil
}

// expireParkedCall cancels a call whose client did not come back in time.
func (s *Server) expireParkedCall(handle string) {
	if c := s.takeParkedCall(handle); c != nil {
		c.cancel()
	}
}

// resumeCall continues a parked call with the answers of its client. Handles are random,
// but the principal is checked as well: a leaked handle must not give another caller the
// result.
func (s *Server) resumeCall(ctx context.Context, req *catalog.Request, sink catalog.Sink) (catalog.Result, error) {
	c := s.takeParkedCall(req.Input.State[len(statePrefixParked):])
	if c == nil {
		return catalog.Result{}, junctor.Errorf(junctor.CodeInvalid, "the call that requested this input has ended: it waited too long, or server %s was restarted; start the call again without requestState", s.opts.ID)
	}
	if c.principal != nil && (req.Principal == nil || !c.principal.Same(req.Principal)) {
		c.cancel()
		return catalog.Result{}, junctor.Errorf(junctor.CodeInvalid, "requestState belongs to another caller")
	}
	c.setSink(sink, req.Idle)
	c.answerQuestions(req.Input.Responses)
	return c.awaitResult(ctx, req, sink)
}
