package servers

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/limit"
	"github.com/junctor-mcp/junctor/internal/telemetry"
	"github.com/junctor-mcp/junctor/internal/upstream"
)

const (
	// offerTime is how long the home of a server may take to say what it offers.
	offerTime = 5 * time.Second
	// moveTime is how long a call waits for a server that has no home to find one.
	moveTime = 20 * time.Second
	// moveLook is how often it looks.
	moveLook = 250 * time.Millisecond
)

// moved is the cause of an error that says that a server is not where it was, and
// that nothing was done.
type moved string

func (m moved) Error() string { return string(m) }

const errMoved moved = "the home of the server is another now"

// remoteBackend is the way to a server that another process runs. Who may call it is judged
// here; what it is asked for is done there.
type remoteBackend struct {
	s     *Registry
	key   serverKey
	home  string      // that process, or nowhere
	stale atomic.Bool // what it offers is not known for sure
	asked atomic.Bool

	mu    sync.Mutex
	known *catalog.Offer // never nil
	state upstream.State
}

var _ serverRoute = (*remoteBackend)(nil)

func (s *Registry) newRemoteBackend(key serverKey, home string, known *catalog.Offer) *remoteBackend {
	return &remoteBackend{s: s, key: key, home: home, known: known}
}

// Do implements catalog.Backend.
func (f *remoteBackend) Do(ctx context.Context, req *catalog.Request, sink catalog.Sink) (catalog.Result, error) {
	got, err := f.ask(ctx, replicaRequest{What: errandDo, Principal: req.Principal, Request: forwardedRequest{
		EntryPoint: req.EntryPoint, CallID: req.CallID, Kind: req.Kind, Name: req.Name, Version: req.Version, Params: req.Params, Arguments: req.Arguments, Meta: req.Meta,
		Unsubscribe: req.Unsubscribe, Task: req.Task, Fresh: req.Fresh, Wait: req.Wait, Watch: req.Watch, Repeatable: req.Repeatable, Input: req.Input, Caller: req.Caller,
	}}, sink, req.Idle)
	if err != nil {
		return catalog.Result{}, err
	}
	got.Result.Held = false // every process finds it there
	return got.Result, nil
}

// Offer implements catalog.Backend. While the home does not answer, and the first
// time, for which somebody may wait, it is what the server was last seen with.
func (f *remoteBackend) Offer(ctx context.Context) (*catalog.Offer, error) {
	if !f.asked.Swap(true) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.stale.Store(true)
		return f.known, nil
	}
	ctx, cancel := context.WithTimeout(ctx, offerTime)
	defer cancel()
	got, err := f.ask(ctx, replicaRequest{What: errandOffer}, nil, nil)
	var offer *catalog.Offer
	if err == nil {
		offer, err = catalog.DecodeOffer(got.Offer)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stale.Store(err != nil)
	if err != nil {
		f.state.Connected, f.state.LastError = false, junctor.AsError(err).Message
		return f.known, nil
	}
	f.known, f.state = offer, got.State
	f.state.ParkedCalls = 0 // they wait there
	return offer, nil
}

// Watch implements catalog.Backend: what the server says its home tells all.
func (f *remoteBackend) Watch(func(catalog.Event)) {}

// Probe has the home reach the server anew.
func (f *remoteBackend) Probe(ctx context.Context) (upstream.Report, error) {
	got, err := f.ask(ctx, replicaRequest{What: errandProbe}, nil, nil)
	if err != nil && got == nil {
		return upstream.Report{Failed: upstream.StepAddress, Reason: junctor.AsError(err).Message}, err
	}
	return got.Report, err
}

// Connect is Probe: what the home has goes on.
func (f *remoteBackend) Connect(ctx context.Context) (upstream.Report, error) { return f.Probe(ctx) }

// State is how the server was doing when its home last said so.
func (f *remoteBackend) State() upstream.State {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state
}

// HoldsCall says that no call waits here.
func (f *remoteBackend) HoldsCall(string) bool { return false }

// EndSession does nothing: its home hears of sessions that end, too.
func (f *remoteBackend) EndSession(string) {}

// EndUser does nothing: a command has the same variables for everybody.
func (f *remoteBackend) EndUser(string) {}

// MarkRootsChanged has the home tell the server.
func (f *remoteBackend) MarkRootsChanged(p *junctor.Principal, client string) {
	f.tell(replicaRequest{What: errandRoots, Principal: p, Session: client})
}

// tell is ask for what nobody waits for.
func (f *remoteBackend) tell(e replicaRequest) {
	s := f.s
	s.work.Go(func() {
		ctx, cancel := context.WithTimeout(s.ending, offerTime)
		defer cancel()
		if _, err := f.ask(ctx, e, nil, nil); err != nil && ctx.Err() == nil {
			f.s.o.Log.Warn("cannot notify the replica that runs a server", slog.String("server", f.key.id), telemetry.ErrorAttr(err))
		}
	})
}

// Close does nothing: connections are those to the process.
func (f *remoteBackend) Close() {}

// unavailableError is the error of what was not done.
func (f *remoteBackend) unavailableError() error {
	return &junctor.Error{
		Code: junctor.CodeUnavailable, RetryAfter: time.Second, Cause: errMoved,
		Message: "the replica that runs the server " + f.key.id + " is unreachable, and no other replica runs the server yet; try again in a few seconds",
	}
}

// ask has the home do something. What it says meanwhile goes to sink, and restarts idle
// where the server is at work; both may be nil.
func (f *remoteBackend) ask(ctx context.Context, e replicaRequest, sink catalog.Sink, idle catalog.IdleLimit) (*replicaReply, error) {
	if f.home == unknownHome {
		return nil, f.unavailableError()
	}
	e.Tenant, e.Server = f.key.tenant, f.key.id
	var body bytes.Buffer
	if err := gob.NewEncoder(&body).Encode(e); err != nil {
		return nil, err
	}
	budget, who := f.s.o.Bytes, limit.PartyOf(e.Principal)
	budget.CountBuffer(who, body.Bytes())
	resp, err := f.s.o.Replicas.Post(ctx, f.home, ReplicaPath, body.Bytes(), headerParty, partyText(who))
	switch {
	case err == nil:
	case junctor.CodeOf(err) == junctor.CodeUnreachable: // nobody heard it
		return nil, f.unavailableError()
	default:
		return nil, f.interruptedError(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK { // it is of another version
		return nil, f.unavailableError()
	}
	frames := newCountedDecoder(ctx, budget, who, resp.Body, 4*f.s.o.MaxResult)
	defer frames.releaseMessage()
	for {
		var got replicaReply
		if err := frames.Decode(&got); frames.in.refused != nil {
			return nil, noRoomError(frames.in.refused)
		} else if err != nil {
			return nil, f.interruptedError(ctx, err)
		}
		frames.releaseMessage(got.Result.Body, got.Offer, got.Progress, got.Log)
		switch {
		case got.Moved:
			return nil, f.unavailableError()
		case got.Done:
			return &got, got.Failure.err()
		case got.Alive && idle != nil:
			idle.Restart()
		case sink == nil:
		case got.Progress != nil:
			sink.Progress(got.Progress)
		case got.Log != nil:
			sink.Log(got.Level, got.Log)
		}
	}
}

// interruptedError is the error of what may have been done.
func (f *remoteBackend) interruptedError(ctx context.Context, err error) error {
	if own, ok := errors.AsType[*junctor.Error](context.Cause(ctx)); ok {
		return own
	}
	if ctx.Err() != nil {
		return junctor.AsError(ctx.Err())
	}
	return &junctor.Error{
		Code: junctor.CodeUpstream, Cause: err,
		Message: "the replica that runs the server " + f.key.id + " ended the connection, and whether the call took effect is unknown; repeat the call only if that does no harm",
	}
}
