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

// pendingCalls are the calls under way on one link. On a stream that all of them
// share it finds out whose a message is: an answer by its id, progress by its
// token, and the rest, which names no call, belongs to the only one there is.
type pendingCalls struct {
	// ambiguous is told when a server asked something that could have been any
	// of several calls', or belongs to none, and says whether any of them may
	// answer. It is nil where no call is to be expected that could.
	onAmbiguous func() bool

	mu          sync.Mutex
	callCount   uint64                // calls so far
	nextRandom  func() uint64         // where ids come from; made with the first call
	recentIDs   [recentIDCount]uint64 // ids of the last calls, around which it begins anew
	byID        map[string]*pendingCall
	byToken     map[string]*pendingCall
	listeners   []messageHandler // hear what belongs to no call; set by listen
	undelivered []undeliveredNote
	closedErr   error         // why no more may begin
	callBegun   chan struct{} // closed when a call begins that could answer; nil where nobody waits for one
}

// undeliveredNote is a note that came while nobody listened: it waits for the next who
// does, since a subscription may be there before its listener.
type undeliveredNote struct {
	method string
	params []byte
}

const maxUndelivered = 64

// recentIDCount is for how many calls an answer that comes after their end is taken for
// a late one.
const recentIDCount = 64

// pendingCall is one call under way.
type pendingCall struct {
	id            []byte // as JSON
	digits        [20]byte
	numericID     uint64 // that is the id
	progressToken string // its progress token, as JSON; "" is none
	handler       messageHandler
	subscriber    messageHandler       // what the server says on account of it: it is a subscription
	response      chan callResponse    // holds one; nil where the call has an exchange of its own
	exchange      interface{ Break() } // that exchange
	order         uint64
	askCount      int // how often
}

type callResponse struct {
	result []byte
	err    error
}

// beginCall takes a call up. params are searched for its progress token.
func (f *pendingCalls) beginCall(params []byte, p messageHandler) (*pendingCall, error) {
	fl := &pendingCall{}
	return fl, f.registerCall(fl, nil, params, p)
}

// registerCall is begin for a call whose answer comes by an exchange of its own,
// which is broken off when the link ends.
func (f *pendingCalls) registerCall(fl *pendingCall, own interface{ Break() }, params []byte, p messageHandler) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closedErr != nil {
		return &junctor.Error{Code: junctor.CodeUnavailable, Message: f.closedErr.Error(), Cause: errNotBegun}
	}
	if f.byID == nil {
		f.byID, f.byToken = map[string]*pendingCall{}, map[string]*pendingCall{}
	}
	f.callCount++
	fl.numericID = f.newID()
	fl.id = strconv.AppendUint(fl.digits[:0], fl.numericID, 10)
	fl.progressToken = string(wire.Get(wire.Get(params, "_meta"), wire.MetaProgressToken))
	fl.order, fl.handler, fl.exchange = f.callCount, p, own
	if own == nil {
		fl.response = make(chan callResponse, 1)
	}
	f.byID[string(fl.id)] = fl
	if fl.progressToken != "" {
		f.byToken[fl.progressToken] = fl
	}
	if p != nil && f.callBegun != nil {
		close(f.callBegun)
		f.callBegun = nil
	}
	return nil
}

// newID gives an id that nobody can guess: an answer that was sent before its
// request, and that arrives when the request is there, must not fit it. It has 31
// bits because some servers read no larger numbers, and some no texts. That is
// enough: a wrong guess ends the connection, or is paced on a stream that all calls
// share. The lock is held.
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

// endCall forgets a call. Its peer may hear one more note that was on its way.
func (f *pendingCalls) endCall(fl *pendingCall) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.byID, string(fl.id))
	f.recentIDs[fl.order%recentIDCount] = fl.numericID
	if f.byToken[fl.progressToken] == fl {
		delete(f.byToken, fl.progressToken)
	}
}

// awaitResponse gives the answer of a call, or the end of ctx.
func (fl *pendingCall) awaitResponse(ctx context.Context) ([]byte, error) {
	select {
	case a := <-fl.response:
		return a.result, a.err
	case <-ctx.Done():
		return nil, junctor.AsError(ctx.Err())
	}
}

// failAll ends every call with err, and lets none begin.
func (f *pendingCalls) failAll(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closedErr != nil {
		return
	}
	f.closedErr = err
	for _, fl := range f.byID {
		if fl.exchange != nil {
			fl.exchange.Break()
			continue
		}
		fl.setResponse(callResponse{err: err})
	}
}

func (fl *pendingCall) setResponse(a callResponse) {
	select {
	case fl.response <- a:
	default: // it has one: the server answered twice
	}
}

// deliverResponse hands a response to its call, whose bytes it keeps. A response to
// nothing is dropped: the call may have been cancelled. One that was not asked for
// lately is logged.
func (f *pendingCalls) deliverResponse(m *wire.Message, o *Options) {
	f.mu.Lock()
	fl := f.byID[string(m.ID)]
	n, err := strconv.ParseUint(string(m.ID), 10, 64)
	unasked := err != nil || n == 0 || !slices.Contains(f.recentIDs[:], n)
	f.mu.Unlock()
	if fl != nil {
		fl.setResponse(parseResponse(m))
		return
	}
	o.limits.paceMessage()
	if unasked {
		o.limits.warnOnce(o.Logger, "a server answered what it was not asked; the answer was dropped", "server", o.ID)
	}
}

// parseResponse gives what a response says.
func parseResponse(m *wire.Message) callResponse {
	if m.Error != nil {
		e, ok := wire.ParseError(m.Error)
		if !ok {
			return callResponse{err: junctor.Errorf(junctor.CodeUpstream, "the server answered with an error that has no code or message")}
		}
		return callResponse{err: e}
	}
	if len(m.Result) == 0 || m.Result[0] != '{' {
		return callResponse{err: junctor.Errorf(junctor.CodeUpstream, "the server answered with a result that is no object")}
	}
	return callResponse{result: m.Result}
}

// addListener sets who hears what belongs to no call, until the function that it
// gives is called.
func (f *pendingCalls) addListener(p messageHandler) (stop func()) {
	f.mu.Lock()
	f.listeners = append(slices.Clip(f.listeners), p)
	waited := f.undelivered
	f.undelivered = nil
	f.mu.Unlock()
	for _, m := range waited {
		p.handleNotification(m.method, m.params)
	}
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.listeners = slices.DeleteFunc(slices.Clone(f.listeners), func(other messageHandler) bool { return other == p })
	}
}

// dispatchMessage takes a message of the one stream that all calls of a link share. What the
// server asks is answered by send.
func (f *pendingCalls) dispatchMessage(ctx context.Context, m *wire.Message, a *serverRequests, o *Options, send func(ctx context.Context, message []byte) error) {
	switch {
	case m.Kind == wire.Response:
		f.deliverResponse(m, o)
	case m.Kind == wire.Request:
		o.limits.paceMessage()
		p, refused := f.findAnswerer(m.Method)
		a.startAnswer(ctx, m, p, o.checkServerRequest(m, refused), func(ctx context.Context, message []byte) {
			if err := send(ctx, message); err != nil {
				o.limits.warnOnce(o.Logger, "the answer to a request of a server did not reach it", "server", o.ID, "error", err)
			}
		})
	case m.Method == wire.NoteCancelled:
		o.limits.paceMessage()
		a.cancelRequest(m.RequestID)
	default:
		o.limits.paceMessage()
		f.dispatchNotification(m.Method, m.Params)
	}
}

// dispatchNotification hands a notification to whom it concerns.
func (f *pendingCalls) dispatchNotification(method string, params []byte) {
	f.mu.Lock()
	var to []messageHandler
	switch method {
	case wire.NoteProgress:
		if fl := f.byToken[string(wire.Get(params, wire.MetaProgressToken))]; fl != nil && fl.handler != nil {
			to = []messageHandler{fl.handler}
		}
	case wire.NoteMessage:
		// With several calls under way it is nobody's: the others must not read it.
		if fl := f.findOnlyCall(); fl != nil {
			to = []messageHandler{fl.handler}
		}
	default:
		if fl := f.byID[subscriptionID(params)]; fl != nil && fl.subscriber != nil {
			to = []messageHandler{fl.subscriber}
		} else if to = f.listeners; to == nil && len(f.undelivered) < maxUndelivered {
			f.undelivered = append(f.undelivered, undeliveredNote{method, bytes.Clone(params)})
		}
	}
	f.mu.Unlock()
	for _, p := range to {
		p.handleNotification(method, params)
	}
}

// subscriptionID is the id of the request that a modern server says something on
// account of, as JSON; "" is none.
func subscriptionID(params []byte) string {
	id := wire.Get(wire.Get(params, "_meta"), wire.MetaSubscriptionID)
	return string(bytes.Trim(id, `"`)) // ours are numbers; some make texts of them
}

// findOnlyCall gives the one call under way that has a peer; the lock is held.
func (f *pendingCalls) findOnlyCall() *pendingCall {
	if fl, several := f.findLeastAsked(); !several {
		return fl
	}
	return nil
}

// findAnswerer finds who is to answer a request of the server that names no call: the
// only call under way. With several it must not be guessed, unless all are of
// one client: then it is the one that was asked least. Without any it waits for
// the next one: servers ask between calls what concerns their session.
func (f *pendingCalls) findAnswerer(method string) (messageHandler, *wire.Error) {
	if method == wire.MethodPing || !isAnswerable(method) {
		return nil, nil // nobody has to
	}
	f.mu.Lock()
	fl, several := f.findLeastAsked()
	f.mu.Unlock()
	if fl != nil && !several {
		return f.newAnswerer(fl), nil
	}
	switch {
	case f.onAmbiguous == nil && several:
		return nil, errAmbiguousCall
	case f.onAmbiguous == nil:
		return nil, &wire.Error{Code: wire.CodeInternal, Message: "no call is under way that could answer"}
	}
	if anyMay := f.onAmbiguous(); several && !anyMay {
		return nil, errAmbiguousCall
	}
	return f.newAnswerer(fl), nil
}

// newAnswerer makes the peer of a question out of a call, which may be nil.
func (f *pendingCalls) newAnswerer(fl *pendingCall) *nextCallAnswerer {
	if fl == nil {
		return &nextCallAnswerer{calls: f}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	fl.askCount++
	return &nextCallAnswerer{calls: f, firstHandler: fl.handler}
}

// findLeastAsked gives the call under way with a peer that was asked least, the
// oldest of those, and says whether there are others; the lock is held.
func (f *pendingCalls) findLeastAsked() (found *pendingCall, several bool) {
	for _, fl := range f.byID {
		switch {
		case fl.handler == nil:
		case found == nil:
			found = fl
		default:
			several = true
			if fl.askCount < found.askCount || fl.askCount == found.askCount && fl.order < found.order {
				found = fl
			}
		}
	}
	return found, several
}
