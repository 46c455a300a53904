package upstream

import (
	"bytes"
	"context"
	"crypto/rand"
	mathrand "math/rand/v2"
	"slices"
	"strconv"
	"sync"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// pendingCalls are the requests on one link that have no answer yet. On a stream that all
// calls share, it finds the call that a message belongs to: answers by id, progress by
// token. Other messages name no call; they belong to the only pending one, if there is
// just one.
type pendingCalls struct {
	// onAmbiguous is called when the server asked something that belongs to none or any
	// of several calls. It reports whether any of them may answer. It is nil if no call
	// on the link can answer anything.
	onAmbiguous func() bool

	mu          sync.Mutex
	callCount   uint64                // calls so far
	nextRandom  func() uint64         // source of ids; made with the first call
	recentIDs   [recentIDCount]uint64 // ring of the ids of the last calls that ended
	byID        map[string]*pendingCall
	byToken     map[progressToken]*pendingCall
	listeners   []messageHandler  // receive what belongs to no call; set by listen
	undelivered []undeliveredNote // notifications that wait for a listener
	closedErr   error             // why no call may begin any more
	callBegun   chan struct{}     // closed when a call begins that could answer; nil if nobody waits for one
}

// undeliveredNote is a notification that came while nobody listened. It waits for the
// next listener, since a subscription may begin before its listener does.
type undeliveredNote struct {
	method string
	params []byte
}

const maxUndelivered = 64 // of one link; further ones are dropped

// recentIDCount is how many ended calls are remembered. An answer to one of them is late,
// and not an answer to nothing.
const recentIDCount = 64

// pendingCall is one request without an answer.
type pendingCall struct {
	id            []byte   // as JSON
	digits        [20]byte // memory of id
	numericID     uint64   // the same as id
	progressToken progressToken
	handler       messageHandler // of the caller; nil if it takes nothing
	// subscriber is set if the call is a subscription: it receives the notifications that
	// name it.
	subscriber messageHandler
	// response has room for one. It is nil if the call has an HTTP exchange of its own.
	response chan callResponse
	exchange interface{ Break() } // is broken off when the link ends
	order    uint64               // rises with each call
	askCount int                  // how many server requests it was given to answer
}

// callResponse is the result of a call, or its error.
type callResponse struct {
	result []byte
	err    error
}

// beginCall adds a call whose answer comes on the shared stream. The caller must call
// endCall.
func (f *pendingCalls) beginCall(params []byte, handler messageHandler) (*pendingCall, error) {
	call := &pendingCall{}
	return call, f.registerCall(call, nil, params, handler)
}

// registerCall adds a call and gives it an id. exchange is the one by which its answer
// comes, or nil. params are searched for the progress token. The error has the cause
// errNotBegun if the link has ended.
func (f *pendingCalls) registerCall(call *pendingCall, exchange interface{ Break() }, params []byte, handler messageHandler) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closedErr != nil {
		return &junctor.Error{Code: junctor.CodeUnavailable, Message: f.closedErr.Error(), Cause: errNotBegun}
	}
	if f.byID == nil {
		f.byID, f.byToken = map[string]*pendingCall{}, map[progressToken]*pendingCall{}
	}
	f.callCount++
	call.numericID = f.newID()
	call.id = strconv.AppendUint(call.digits[:0], call.numericID, 10)
	call.progressToken = readProgressToken(wire.Get(params, "_meta"))
	call.order, call.handler, call.exchange = f.callCount, handler, exchange
	if exchange == nil {
		call.response = make(chan callResponse, 1)
	}
	f.byID[string(call.id)] = call
	if call.progressToken != 0 {
		f.byToken[call.progressToken] = call
	}
	if handler != nil && f.callBegun != nil {
		close(f.callBegun)
		f.callBegun = nil
	}
	return nil
}

// newID gives an id that nobody can guess. A server could otherwise send an answer before
// the request, for whichever call gets that id next. Ids have 31 bits, since some servers
// read no larger numbers, and some no strings. That is enough: a wrong guess ends the
// connection, or is rate limited on a shared stream. The lock is held.
func (f *pendingCalls) newID() uint64 {
	if f.nextRandom == nil {
		var seed [32]byte
		_, _ = rand.Read(seed[:]) // never fails
		f.nextRandom = mathrand.NewChaCha8(seed).Uint64
	}
	for {
		id := f.nextRandom() >> 33
		var digits [20]byte
		if id != 0 && f.byID[string(strconv.AppendUint(digits[:0], id, 10))] == nil {
			return id
		}
	}
}

// endCall removes a call. Its handler may receive one more notification that is being
// delivered.
func (f *pendingCalls) endCall(call *pendingCall) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.byID, string(call.id))
	f.recentIDs[call.order%recentIDCount] = call.numericID
	if f.byToken[call.progressToken] == call {
		delete(f.byToken, call.progressToken)
	}
}

// awaitResponse waits for the answer of a call, or for the end of ctx.
func (c *pendingCall) awaitResponse(ctx context.Context) ([]byte, error) {
	select {
	case a := <-c.response:
		return a.result, a.err
	case <-ctx.Done():
		return nil, junctor.AsError(ctx.Err())
	}
}

// failAll ends all calls with err, and lets none begin any more. Only the first call of
// it counts.
func (f *pendingCalls) failAll(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closedErr != nil {
		return
	}
	f.closedErr = err
	for _, call := range f.byID {
		if call.exchange != nil {
			call.exchange.Break()
			continue
		}
		call.setResponse(callResponse{err: err})
	}
}

// setResponse gives the call its answer. It never blocks.
func (c *pendingCall) setResponse(a callResponse) {
	select {
	case c.response <- a:
	default: // the server answered twice: the first answer counts
	}
}

// deliverResponse hands a response to its call, which keeps the bytes. It drops a
// response without a call: the call may have been cancelled. If no recent call had the
// id, it logs that.
func (f *pendingCalls) deliverResponse(m *wire.Message, o *Options) {
	f.mu.Lock()
	call := f.byID[string(m.ID)]
	// An answer to a call that ended a moment ago is late, which is no fault.
	n, err := strconv.ParseUint(string(m.ID), 10, 64)
	unasked := err != nil || n == 0 || !slices.Contains(f.recentIDs[:], n)
	f.mu.Unlock()
	if call != nil {
		call.setResponse(parseResponse(m))
		return
	}
	o.limits.paceMessage()
	if unasked {
		o.limits.warnOnce(o.Logger, "answer of a server dropped: it matches no request", "server", o.ID)
	}
}

// parseResponse reads the result or error of a response.
func parseResponse(m *wire.Message) callResponse {
	if m.Error != nil {
		e, ok := wire.ParseError(m.Error)
		if !ok {
			return callResponse{err: junctor.Errorf(junctor.CodeUpstream, "the server answered with an invalid JSON-RPC error: code or message is missing")}
		}
		return callResponse{err: e}
	}
	if len(m.Result) == 0 || m.Result[0] != '{' {
		return callResponse{err: junctor.Errorf(junctor.CodeUpstream, "the server answered with a result that is not an object")}
	}
	return callResponse{result: m.Result}
}

// addListener adds a receiver of notifications that belong to no call. It first gets
// those that came while nobody listened. The caller must call stop.
func (f *pendingCalls) addListener(handler messageHandler) (stop func()) {
	f.mu.Lock()
	f.listeners = append(slices.Clip(f.listeners), handler)
	waited := f.undelivered
	f.undelivered = nil
	f.mu.Unlock()
	for _, m := range waited {
		handler.handleNotification(m.method, m.params)
	}
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.listeners = slices.DeleteFunc(slices.Clone(f.listeners), func(other messageHandler) bool { return other == handler })
	}
}

// dispatchMessage handles a message of the stream that all calls of a link share. send
// sends the answers to requests of the server. All but responses are rate limited.
func (f *pendingCalls) dispatchMessage(ctx context.Context, m *wire.Message, a *serverRequests, o *Options, send func(ctx context.Context, message []byte) error) {
	switch {
	case m.Kind == wire.Response:
		f.deliverResponse(m, o)
	case m.Kind == wire.Request:
		o.limits.paceMessage()
		handler, refused := f.findAnswerer(m.Method)
		a.startAnswer(ctx, m, handler, o.checkServerRequest(m, refused), func(ctx context.Context, message []byte) {
			if err := send(ctx, message); err != nil {
				o.limits.warnOnce(o.Logger, "cannot send the answer to a request of a server", "server", o.ID, "error", err)
			}
		})
	case m.Method == wire.NotificationCancelled:
		o.limits.paceMessage()
		a.cancelRequest(m.RequestID)
	default:
		o.limits.paceMessage()
		f.dispatchNotification(m.Method, m.Params)
	}
}

// dispatchNotification hands a notification to its receivers.
func (f *pendingCalls) dispatchNotification(method string, params []byte) {
	f.mu.Lock()
	var to []messageHandler
	switch method {
	case wire.NotificationProgress:
		if call := f.byToken[readProgressToken(params)]; call != nil && call.handler != nil {
			to = []messageHandler{call.handler}
		}
	case wire.NotificationMessage:
		// With several pending calls it goes to none: a log message of one caller must
		// not reach another.
		if call := f.findOnlyCall(); call != nil {
			to = []messageHandler{call.handler}
		}
	default:
		if call := f.byID[subscriptionID(params)]; call != nil && call.subscriber != nil {
			to = []messageHandler{call.subscriber}
		} else if to = f.listeners; to == nil && len(f.undelivered) < maxUndelivered {
			f.undelivered = append(f.undelivered, undeliveredNote{method, bytes.Clone(params)})
		}
	}
	f.mu.Unlock()
	for _, handler := range to {
		handler.handleNotification(method, params)
	}
}

// subscriptionID gives the id of the subscription that a notification of a modern server
// belongs to, as JSON; "" for none.
func subscriptionID(params []byte) string {
	id := wire.Get(wire.Get(params, "_meta"), wire.MetaSubscriptionID)
	return string(bytes.Trim(id, `"`)) // our ids are numbers, which some servers turn into strings
}

// findOnlyCall gives the pending call with a handler if there is exactly one, otherwise
// nil; the lock is held.
func (f *pendingCalls) findOnlyCall() *pendingCall {
	if call, several := f.findLeastAsked(); !several {
		return call
	}
	return nil
}

// findAnswerer finds the handler for a request of the server that names no call. The only
// pending call gets it. With several, guessing could leak one client's data to another,
// so it is refused, unless all calls are of one client: then the least asked call gets
// it. Without any, it waits for the next call: servers ask between calls about their
// session.
func (f *pendingCalls) findAnswerer(method string) (messageHandler, *wire.Error) {
	if method == wire.MethodPing || !isAnswerable(method) {
		return nil, nil // the gateway answers these itself
	}
	f.mu.Lock()
	call, several := f.findLeastAsked()
	f.mu.Unlock()
	if call != nil && !several {
		return f.newAnswerer(call), nil
	}
	switch {
	case f.onAmbiguous == nil && several:
		return nil, errAmbiguousCall
	case f.onAmbiguous == nil:
		return nil, &wire.Error{Code: wire.CodeInternal, Message: "no call that could answer is in progress"}
	}
	// onAmbiguous must run without the lock: it changes the sessions of the server.
	if anyMay := f.onAmbiguous(); several && !anyMay {
		return nil, errAmbiguousCall
	}
	return f.newAnswerer(call), nil
}

// newAnswerer makes the handler of a server request from a call, which may be nil.
func (f *pendingCalls) newAnswerer(call *pendingCall) *nextCallAnswerer {
	if call == nil {
		return &nextCallAnswerer{calls: f}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	call.askCount++
	return &nextCallAnswerer{calls: f, firstHandler: call.handler}
}

// findLeastAsked gives the pending call with a handler that got the fewest requests, the
// oldest of those, and reports whether there are others; the lock is held.
func (f *pendingCalls) findLeastAsked() (found *pendingCall, several bool) {
	for _, call := range f.byID {
		switch {
		case call.handler == nil:
		case found == nil:
			found = call
		default:
			several = true
			if call.askCount < found.askCount || call.askCount == found.askCount && call.order < found.order {
				found = call
			}
		}
	}
	return found, several
}
