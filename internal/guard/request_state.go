package guard

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// maxInputRounds bounds how often one call may ask its client for input.
const maxInputRounds = 32

// purposeState is the sealing purpose of request states.
const purposeState = "request-state"

// usedStateGrace is how long after its expiry a state is remembered as used. The lapse
// timers of other replicas fire a little later than the expiry, and must still see it.
const usedStateGrace = time.Minute

// sealedState is the content of a sealed requestState: the caller, the request, its
// expiry, and the state of the backend. It comes back from an untrusted client. So every
// field is compared, and each state works once.
type sealedState struct {
	ID      string    `json:"i"` // id of this state, for single use
	Call    string    `json:"c"` // id of the call
	Start   time.Time `json:"s"`
	Expires time.Time `json:"e"`
	Party   string    `json:"w"`           // the party that made the call
	Digest  []byte    `json:"d"`           // of the request, see digestRequest
	Round   int       `json:"r"`           // how often the call has asked for input
	Inner   string    `json:"n,omitempty"` // the state that the backend gave
	Replica string    `json:"h,omitempty"` // the replica that holds the call; "" if any can continue it
}

// errBadState is the error for every state that is not valid. It is the same for all
// causes, so that a client learns nothing from guessing.
func errBadState() error {
	return junctor.Errorf(junctor.CodeInvalid, "requestState is not valid for this request: it was changed, used before, has expired, or belongs to another caller or request; start the call again without it")
}

// digestRequest hashes the parts of a request that its repetition must have in common
// with it: the item, its version and the arguments.
func digestRequest(op *Op, item catalog.Item) []byte {
	h := sha256.New()
	version := ""
	if item.Tool != nil {
		version = item.Tool.Version
	}
	for _, part := range []string{string(op.Kind), item.Server.ID, item.Name, version} {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	h.Write(op.Arguments)
	return h.Sum(nil)
}

// awaitInput turns a backend's input_required result into one that only this caller can
// continue, by sealing the state. It starts the timer that records the call as lapsed if
// the client does not come back. from is the state of the previous round, or nil.
func (g *Guard) awaitInput(op *Op, call *junctor.Call, item catalog.Item, from *sealedState, res *catalog.Result) error {
	if op.Kind != junctor.KindTool && op.Kind != junctor.KindPrompt && op.Kind != junctor.KindResource {
		return junctor.Errorf(junctor.CodeUpstream, "%s asked for input where the protocol allows none", item.Server.ID)
	}
	now := g.options.Now()
	st := sealedState{
		ID: g.options.NewID(), Call: call.ID, Start: call.Start, Expires: now.Add(g.options.InputTimeout),
		Party: op.Principal.Party(), Digest: digestRequest(op, item), Round: 1,
	}
	if from != nil {
		st.Round = from.Round + 1
	}
	if st.Round > maxInputRounds {
		return junctor.Errorf(junctor.CodeUpstream, "%s asked for input more than %d times in one call", item.Server.ID, maxInputRounds)
	}
	st.Inner, _ = wire.String(wire.Get(res.Body, "requestState"))
	if res.Held {
		st.Replica = g.options.Replica
	}
	plain, err := json.Marshal(st)
	if err != nil {
		return err
	}
	sealed := g.options.Sealer.Seal(purposeState, plain)
	res.Body = wire.AppendObject(nil, res.Body, nil, wire.Member{Key: "requestState", Value: wire.AppendString(nil, sealed)})
	g.inputWaits.add(waitingCall{call: *call, shown: item.Shown, state: st.ID, expires: st.Expires}, g.options.InputTimeout)
	return nil
}

// WaitingReplica returns the replica that holds the call of a request state. It returns "" if any
// replica can continue the call, or if the state is not valid.
func (g *Guard) WaitingReplica(requestState string) string {
	plain, err := g.options.Sealer.Open(purposeState, requestState)
	if err != nil {
		return ""
	}
	var st sealedState
	if json.Unmarshal(plain, &st) != nil || !g.options.Now().Before(st.Expires) {
		return ""
	}
	return st.Replica
}

// resumeCall opens the requestState of an operation, checks that it belongs to this
// caller and request, uses it up, and stops the call's lapse timer. The error is
// errBadState, or that of the state store.
func (g *Guard) resumeCall(ctx context.Context, op *Op, item catalog.Item) (*sealedState, error) {
	plain, err := g.options.Sealer.Open(purposeState, op.RequestState)
	if err != nil {
		return nil, errBadState()
	}
	var st sealedState
	if err := json.Unmarshal(plain, &st); err != nil {
		return nil, errBadState()
	}
	if st.Party != op.Principal.Party() || !g.options.Now().Before(st.Expires) || string(st.Digest) != string(digestRequest(op, item)) {
		return nil, errBadState()
	}
	first, err := g.options.States.UseState(ctx, op.Principal.Tenant, st.ID, st.Expires.Add(usedStateGrace))
	if err != nil {
		return nil, err
	}
	if !first {
		return nil, errBadState()
	}
	g.inputWaits.remove(st.Call)
	return &st, nil
}

// AbandonCall ends a call whose client will not provide the requested input, for the reason
// why. op is the operation with the state of the call's last result. It does nothing if
// the call has already continued or lapsed.
func (g *Guard) AbandonCall(ctx context.Context, op *Op, why error) {
	ctx = context.WithoutCancel(ctx)
	item, _, err := g.resolveItem(ctx, op)
	if err != nil {
		return // its timer will record it as lapsed
	}
	st, err := g.resumeCall(ctx, op, item)
	if err != nil {
		return // it has continued, or ended
	}
	call := g.newCall(ctx, op)
	call.ID, call.Start = st.Call, st.Start
	call.Server, call.Name = item.Server.ID, op.recordedName(item.Name)
	if item.Tool != nil {
		call.Version = item.Tool.Version
	}
	_ = g.recordEnd(ctx, op, &call, item, catalog.Result{}, why) // it returns why
}

// recordLapse records the end of a call whose input never came. It uses up the state
// first: if that fails, the call has continued, here or on another replica, and has an
// end of its own.
func (g *Guard) recordLapse(w *waitingCall) {
	call := &w.call
	switch first, err := g.options.States.UseState(context.Background(), call.Tenant, w.state, w.expires.Add(usedStateGrace)); {
	case err != nil:
		g.options.Logger.Error("cannot read whether a call was continued; it is recorded as lapsed", "call", call.ID, "error", err)
	case !first:
		return
	}
	call.Status = junctor.StatusLapsed
	call.Duration = g.options.Now().Sub(call.Start)
	call.Reason = "the client was asked for input and did not come back"
	if err := g.options.Journal.Append(context.Background(), call); err != nil {
		g.options.Logger.Error("cannot record the end of a call in the journal", "call", call.ID, "error", err)
	}
	g.options.Recorder.Record(call, nil, nil)
	g.options.Meter.Observe(w.shown, call.Status, call.Duration)
}

// waitingCall is a call that waits for its client's input.
type waitingCall struct {
	call    junctor.Call
	shown   string // exposed name of the item
	state   string // id of its request state
	expires time.Time
}

// inputWaits holds a timer for each call that waits for input. A timer that fires calls
// onLapse. Its zero value is ready for use once onLapse is set.
type inputWaits struct {
	onLapse func(*waitingCall)

	mu     sync.Mutex
	timers map[string]*time.Timer // by call id
	closed bool                   // no timer is started any more
}

// add starts the timer of a call.
func (p *inputWaits) add(w waitingCall, d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	if p.timers == nil {
		p.timers = map[string]*time.Timer{}
	}
	id := w.call.ID
	p.timers[id] = time.AfterFunc(d, func() {
		p.mu.Lock()
		_, waits := p.timers[id] // false if remove was called at the same moment
		delete(p.timers, id)
		p.mu.Unlock()
		if waits {
			p.onLapse(&w)
		}
	})
}

// remove stops the timer of a call.
func (p *inputWaits) remove(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.timers[id]; t != nil {
		t.Stop()
		delete(p.timers, id)
	}
}

// close stops all timers.
func (p *inputWaits) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, t := range p.timers {
		t.Stop()
	}
	p.timers = nil
}
