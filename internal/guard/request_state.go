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

const purposeState = "request-state"

// usedStateGrace is how long after its expiry a state is still known to have been
// used: the timers of other processes ask a little later.
const usedStateGrace = time.Minute

// sealedState is what a requestState holds, sealed: who asked for what, until when
// the answer counts, and what the backend itself wants back. It comes back from
// a stranger: everything in it is compared, and it works once.
type sealedState struct {
	ID      string    `json:"i"` // of this state: single use is kept by it
	Call    string    `json:"c"`
	Start   time.Time `json:"s"`
	Expires time.Time `json:"e"`
	Who     string    `json:"w"`
	Digest  []byte    `json:"d"` // of what was asked for
	Round   int       `json:"r"`
	Inner   string    `json:"n,omitempty"`
	Node    string    `json:"h,omitempty"` // the process that the call waits in
}

// errBadState is the one answer to every state that is not good: what is wrong
// with it is nobody's business.
func errBadState() error {
	return junctor.Errorf(junctor.CodeInvalid, "requestState is not valid for this request: it was changed, used before, has expired, or belongs to another caller or request; start the call again without it")
}

// digestRequest covers what a repeated request must have in common with the first.
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

// awaitInput turns a backend's wish for input into a result that only this caller can
// continue, and remembers that the call waits.
func (g *Guard) awaitInput(op *Op, call *junctor.Call, item catalog.Item, from *sealedState, res *catalog.Result) error {
	if op.Kind != junctor.KindTool && op.Kind != junctor.KindPrompt && op.Kind != junctor.KindResource {
		return junctor.Errorf(junctor.CodeUpstream, "%s asked for input where the protocol allows none", item.Server.ID)
	}
	now := g.options.Now()
	st := sealedState{
		ID: g.options.NewID(), Call: call.ID, Start: call.Start, Expires: now.Add(g.options.Park),
		Who: op.Principal.Party(), Digest: digestRequest(op, item), Round: 1,
	}
	if from != nil {
		st.Round = from.Round + 1
	}
	if st.Round > maxInputRounds {
		return junctor.Errorf(junctor.CodeUpstream, "%s asked for input more than %d times in one call", item.Server.ID, maxInputRounds)
	}
	st.Inner, _ = wire.String(wire.Get(res.Body, "requestState"))
	if res.Held {
		st.Node = g.options.Node
	}
	plain, err := json.Marshal(st)
	if err != nil {
		return err
	}
	sealed := g.options.Sealer.Seal(purposeState, plain)
	res.Body = wire.AppendObject(nil, res.Body, nil, wire.Member{Key: "requestState", Value: wire.AppendString(nil, sealed)})
	g.inputWaits.add(waitingCall{call: *call, shown: item.Shown, state: st.ID, expires: st.Expires}, g.options.Park)
	return nil
}

// HeldBy is the process that a call waits in whose client comes back with this
// state; "" where any may go on with it, or the state is not good.
func (g *Guard) HeldBy(requestState string) string {
	plain, err := g.options.Sealer.Open(purposeState, requestState)
	if err != nil {
		return ""
	}
	var st sealedState
	if json.Unmarshal(plain, &st) != nil || !g.options.Now().Before(st.Expires) {
		return ""
	}
	return st.Node
}

// resumeCall opens a requestState and takes the call it belongs to out of waiting.
func (g *Guard) resumeCall(ctx context.Context, op *Op, item catalog.Item) (*sealedState, error) {
	plain, err := g.options.Sealer.Open(purposeState, op.RequestState)
	if err != nil {
		return nil, errBadState()
	}
	var st sealedState
	if err := json.Unmarshal(plain, &st); err != nil {
		return nil, errBadState()
	}
	if st.Who != op.Principal.Party() || !g.options.Now().Before(st.Expires) || string(st.Digest) != string(digestRequest(op, item)) {
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

// GiveUp ends a call that asked for input which will not come, for the reason
// why. op is the operation with the state that the call was answered with.
func (g *Guard) GiveUp(ctx context.Context, op *Op, why error) {
	ctx = context.WithoutCancel(ctx)
	item, _, err := g.resolveItem(ctx, op)
	if err != nil {
		return // it lapses in its time
	}
	st, err := g.resumeCall(ctx, op, item)
	if err != nil {
		return // it has gone on, or ended
	}
	call := junctor.Call{
		ID: st.Call, Tenant: op.Principal.Tenant, Kind: op.Kind, Door: op.Door, Server: item.Server.ID, Name: op.recordedName(item.Name),
		Issuer: op.Principal.Issuer, Subject: op.Principal.Subject, User: op.Principal.User, Agent: op.Principal.Agent, Client: op.Principal.Client,
		View: op.ViewID, Room: op.RoomID, Start: st.Start, BytesIn: len(op.Params),
	}
	if item.Tool != nil {
		call.Version = item.Tool.Version
	}
	_ = g.recordEnd(ctx, op, &call, item, catalog.Result{}, why) // why is known already
}

// recordLapse records the end of a call whose input never came. It uses the state up
// first: a call that went on meanwhile, here or in another process, has an end
// of its own.
func (g *Guard) recordLapse(w *waitingCall) {
	call := &w.call
	switch first, err := g.options.States.UseState(context.Background(), call.Tenant, w.state, w.expires.Add(usedStateGrace)); {
	case err != nil:
		g.options.Logger.Error("whether a call went on could not be found out; it counts as lapsed", "call", call.ID, "error", err)
	case !first:
		return
	}
	call.Status = junctor.StatusLapsed
	call.Duration = g.options.Now().Sub(call.Start)
	call.Reason = "the client was asked for input and did not come back"
	if err := g.options.Journal.Append(context.Background(), call); err != nil {
		g.options.Logger.Error("the end of a call could not be recorded", "call", call.ID, "error", err)
	}
	g.options.Recorder.Record(call, nil, nil)
	g.options.Meter.Observe(w.shown, call.Status, call.Duration)
}

// waitingCall is a call that waits for input.
type waitingCall struct {
	call    junctor.Call
	shown   string
	state   string
	expires time.Time
}

// inputWaits remembers the calls that wait for input, to record those that lapse.
type inputWaits struct {
	onLapse func(*waitingCall)

	mu     sync.Mutex
	timers map[string]*time.Timer
	closed bool
}

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
		_, waits := p.timers[id]
		delete(p.timers, id)
		p.mu.Unlock()
		if waits {
			p.onLapse(&w)
		}
	})
}

func (p *inputWaits) remove(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.timers[id]; t != nil {
		t.Stop()
		delete(p.timers, id)
	}
}

func (p *inputWaits) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, t := range p.timers {
		t.Stop()
	}
	p.timers = nil
}
