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

// flights are the calls under way on one link. On a stream that all of them
// share it finds out whose a message is: an answer by its id, progress by its
// token, and the rest, which names no call, belongs to the only one there is.
type flights struct {
	// ambiguous is told when a server asked something that could have been any
	// of several calls', or belongs to none, and says whether any of them may
	// answer. It is nil where no call is to be expected that could.
	ambiguous func() bool

	mu      sync.Mutex
	begins  uint64           // calls so far
	random  func() uint64    // where ids come from; made with the first call
	ended   [endedIDs]uint64 // ids of the last calls, around which it begins anew
	byID    map[string]*flight
	byToken map[string]*flight
	unasked []messageHandler // hear what belongs to no call; set by listen
	missed  []missed
	over    error         // why no more may begin
	begun   chan struct{} // closed when a call begins that could answer; nil where nobody waits for one
}

// missed is a note that came while nobody listened: it waits for the next who
// does, since a subscription may be there before its listener.
type missed struct {
	method string
	params []byte
}

const maxMissed = 64

// endedIDs is for how many calls an answer that comes after their end is taken for
// a late one.
const endedIDs = 64

// flight is one call under way.
type flight struct {
	id     []byte // as JSON
	digits [20]byte
	number uint64 // that is the id
	token  string // its progress token, as JSON; "" is none
	peer   messageHandler
	hears  messageHandler       // what the server says on account of it: it is a subscription
	answer chan answer          // holds one; nil where the call has an exchange of its own
	own    interface{ Break() } // that exchange
	order  uint64
	asked  int // how often
}

type answer struct {
	result []byte
	err    error
}

// begin takes a call up. params are searched for its progress token.
func (f *flights) begin(params []byte, p messageHandler) (*flight, error) {
	fl := &flight{}
	return fl, f.beginOn(fl, nil, params, p)
}

// beginOn is begin for a call whose answer comes by an exchange of its own,
// which is broken off when the link ends.
func (f *flights) beginOn(fl *flight, own interface{ Break() }, params []byte, p messageHandler) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over != nil {
		return &junctor.Error{Code: junctor.CodeUnavailable, Message: f.over.Error(), Cause: errNotBegun}
	}
	if f.byID == nil {
		f.byID, f.byToken = map[string]*flight{}, map[string]*flight{}
	}
	f.begins++
	fl.number = f.newID()
	fl.id = strconv.AppendUint(fl.digits[:0], fl.number, 10)
	fl.token = string(wire.Get(wire.Get(params, "_meta"), wire.MetaProgressToken))
	fl.order, fl.peer, fl.own = f.begins, p, own
	if own == nil {
		fl.answer = make(chan answer, 1)
	}
	f.byID[string(fl.id)] = fl
	if fl.token != "" {
		f.byToken[fl.token] = fl
	}
	if p != nil && f.begun != nil {
		close(f.begun)
		f.begun = nil
	}
	return nil
}

// newID gives an id that nobody can guess: an answer that was sent before its
// request, and that arrives when the request is there, must not fit it. It has 31
// bits because some servers read no larger numbers, and some no texts. That is
// enough: a wrong guess ends the connection, or is paced on a stream that all calls
// share. The lock is held.
func (f *flights) newID() uint64 {
	if f.random == nil {
		var seed [32]byte
		_, _ = rand.Read(seed[:]) // never fails
		f.random = mathrand.NewChaCha8(seed).Uint64
	}
	for {
		id := f.random() >> 33
		var digits [20]byte
		if id != 0 && f.byID[string(strconv.AppendUint(digits[:0], id, 10))] == nil {
			return id
		}
	}
}

// end forgets a call. Its peer may hear one more note that was on its way.
func (f *flights) end(fl *flight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.byID, string(fl.id))
	f.ended[fl.order%endedIDs] = fl.number
	if f.byToken[fl.token] == fl {
		delete(f.byToken, fl.token)
	}
}

// wait gives the answer of a call, or the end of ctx.
func (fl *flight) wait(ctx context.Context) ([]byte, error) {
	select {
	case a := <-fl.answer:
		return a.result, a.err
	case <-ctx.Done():
		return nil, junctor.AsError(ctx.Err())
	}
}

// fail ends every call with err, and lets none begin.
func (f *flights) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over != nil {
		return
	}
	f.over = err
	for _, fl := range f.byID {
		if fl.own != nil {
			fl.own.Break()
			continue
		}
		fl.give(answer{err: err})
	}
}

func (fl *flight) give(a answer) {
	select {
	case fl.answer <- a:
	default: // it has one: the server answered twice
	}
}

// answered hands a response to its call, whose bytes it keeps. A response to
// nothing is dropped: the call may have been cancelled. One that was not asked for
// lately is logged.
func (f *flights) answered(m *wire.Message, o *Options) {
	f.mu.Lock()
	fl := f.byID[string(m.ID)]
	n, err := strconv.ParseUint(string(m.ID), 10, 64)
	unasked := err != nil || n == 0 || !slices.Contains(f.ended[:], n)
	f.mu.Unlock()
	if fl != nil {
		fl.give(readAnswer(m))
		return
	}
	o.limits.note()
	if unasked {
		o.limits.warn(o.Logger, "a server answered what it was not asked; the answer was dropped", "server", o.ID)
	}
}

// readAnswer gives what a response says.
func readAnswer(m *wire.Message) answer {
	if m.Error != nil {
		e, ok := wire.ParseError(m.Error)
		if !ok {
			return answer{err: junctor.Errorf(junctor.CodeUpstream, "the server answered with an error that has no code or message")}
		}
		return answer{err: e}
	}
	if len(m.Result) == 0 || m.Result[0] != '{' {
		return answer{err: junctor.Errorf(junctor.CodeUpstream, "the server answered with a result that is no object")}
	}
	return answer{result: m.Result}
}

// listening sets who hears what belongs to no call, until the function that it
// gives is called.
func (f *flights) listening(p messageHandler) (stop func()) {
	f.mu.Lock()
	f.unasked = append(slices.Clip(f.unasked), p)
	waited := f.missed
	f.missed = nil
	f.mu.Unlock()
	for _, m := range waited {
		p.handleNotification(m.method, m.params)
	}
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.unasked = slices.DeleteFunc(slices.Clone(f.unasked), func(other messageHandler) bool { return other == p })
	}
}

// heard takes a message of the one stream that all calls of a link share. What the
// server asks is answered by send.
func (f *flights) heard(ctx context.Context, m *wire.Message, a *asks, o *Options, send func(ctx context.Context, message []byte) error) {
	switch {
	case m.Kind == wire.Response:
		f.answered(m, o)
	case m.Kind == wire.Request:
		o.limits.note()
		p, refused := f.asked(m.Method)
		a.start(ctx, m, p, o.judgeAsk(m, refused), func(ctx context.Context, message []byte) {
			if err := send(ctx, message); err != nil {
				o.limits.warn(o.Logger, "the answer to a request of a server did not reach it", "server", o.ID, "error", err)
			}
		})
	case m.Method == wire.NoteCancelled:
		o.limits.note()
		a.cancelled(m.RequestID)
	default:
		o.limits.note()
		f.noted(m.Method, m.Params)
	}
}

// noted hands a notification to whom it concerns.
func (f *flights) noted(method string, params []byte) {
	f.mu.Lock()
	var to []messageHandler
	switch method {
	case wire.NoteProgress:
		if fl := f.byToken[string(wire.Get(params, wire.MetaProgressToken))]; fl != nil && fl.peer != nil {
			to = []messageHandler{fl.peer}
		}
	case wire.NoteMessage:
		// With several calls under way it is nobody's: the others must not read it.
		if fl := f.only(); fl != nil {
			to = []messageHandler{fl.peer}
		}
	default:
		if fl := f.byID[subscriptionOf(params)]; fl != nil && fl.hears != nil {
			to = []messageHandler{fl.hears}
		} else if to = f.unasked; to == nil && len(f.missed) < maxMissed {
			f.missed = append(f.missed, missed{method, bytes.Clone(params)})
		}
	}
	f.mu.Unlock()
	for _, p := range to {
		p.handleNotification(method, params)
	}
}

// subscriptionOf is the id of the request that a modern server says something on
// account of, as JSON; "" is none.
func subscriptionOf(params []byte) string {
	id := wire.Get(wire.Get(params, "_meta"), wire.MetaSubscriptionID)
	return string(bytes.Trim(id, `"`)) // ours are numbers; some make texts of them
}

// only gives the one call under way that has a peer; the lock is held.
func (f *flights) only() *flight {
	if fl, several := f.leastAsked(); !several {
		return fl
	}
	return nil
}

// asked finds who is to answer a request of the server that names no call: the
// only call under way. With several it must not be guessed, unless all are of
// one client: then it is the one that was asked least. Without any it waits for
// the next one: servers ask between calls what concerns their session.
func (f *flights) asked(method string) (messageHandler, *wire.Error) {
	if method == wire.MethodPing || !askable(method) {
		return nil, nil // nobody has to
	}
	f.mu.Lock()
	fl, several := f.leastAsked()
	f.mu.Unlock()
	if fl != nil && !several {
		return f.answerer(fl), nil
	}
	switch {
	case f.ambiguous == nil && several:
		return nil, errAmbiguousCall
	case f.ambiguous == nil:
		return nil, &wire.Error{Code: wire.CodeInternal, Message: "no call is under way that could answer"}
	}
	if anyMay := f.ambiguous(); several && !anyMay {
		return nil, errAmbiguousCall
	}
	return f.answerer(fl), nil
}

// answerer makes the peer of a question out of a call, which may be nil.
func (f *flights) answerer(fl *flight) *nextCallAnswerer {
	if fl == nil {
		return &nextCallAnswerer{calls: f}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	fl.asked++
	return &nextCallAnswerer{calls: f, firstHandler: fl.peer}
}

// leastAsked gives the call under way with a peer that was asked least, the
// oldest of those, and says whether there are others; the lock is held.
func (f *flights) leastAsked() (found *flight, several bool) {
	for _, fl := range f.byID {
		switch {
		case fl.peer == nil:
		case found == nil:
			found = fl
		default:
			several = true
			if fl.asked < found.asked || fl.asked == found.asked && fl.order < found.order {
				found = fl
			}
		}
	}
	return found, several
}
