package guard

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/brief"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/telemetry"
)

// Options of a Guard. All but Tasks and Trace must be set.
type Options struct {
	Catalog  *catalog.Catalog
	Limiter  Limiter
	Journal  Journal
	Recorder Recorder
	Sealer   Sealer
	States   States
	Tasks    Tasks // nil: no call may become a task
	Meter    Meter
	Logger   *slog.Logger
	Now      func() time.Time
	NewID    func() string
	Timeout  time.Duration // while a backend works, unless the tool says otherwise
	Park     time.Duration // how long a call may wait for its client's input
	Node     string        // this process, where others share its keys: calls that wait in it say so

	// Trace starts a span for an operation and gives back what ends it.
	Trace func(ctx context.Context, op *Op) (context.Context, func(error))
}

// Guard runs operations.
type Guard struct {
	o       Options
	parked  parking
	digests digests
	flying  atomic.Int64 // operations under way
}

// New makes a Guard, or says which part is missing.
func New(o Options) (*Guard, error) {
	switch {
	case o.Catalog == nil, o.Limiter == nil, o.Journal == nil, o.Recorder == nil, o.Sealer == nil, o.States == nil, o.Meter == nil,
		o.Logger == nil, o.Now == nil, o.NewID == nil:
		return nil, junctor.Errorf(junctor.CodeInternal, "guard: a part of Options is missing")
	case o.Timeout <= 0 || o.Park <= 0:
		return nil, junctor.Errorf(junctor.CodeInternal, "guard: Timeout and Park must be above zero")
	}
	g := &Guard{o: o}
	g.parked.lapse = g.lapse
	return g, nil
}

// Close forgets the calls that wait for input; their end is not recorded, as
// their client may still come back to another process.
func (g *Guard) Close() { g.parked.close() }

// InFlight is how many operations are under way. One that waits for its client's
// input is not.
func (g *Guard) InFlight() int64 { return g.flying.Load() }

// List gives a list as the principal sees it. Looking is no call: it is not
// recorded.
func (g *Guard) List(p *junctor.Principal, v catalog.View, kind catalog.ListKind) ([]byte, error) {
	sh := g.o.Catalog.Snapshot().For(p.Tenant)
	if !p.Has(junctor.ScopeToolsRead) && !p.Has(junctor.ScopeToolsCall) {
		return nil, needScope(junctor.ScopeToolsRead)
	}
	if v.Server != "" {
		if _, err := sh.Server(p, v.Server); err != nil {
			return nil, err
		}
	}
	return sh.List(p, v, kind), nil
}

func needScope(s junctor.Scope) error {
	e := junctor.Errorf(junctor.CodeDenied, "this key or token lacks the scope %s; ask whoever issued it for one that has it", s)
	e.Scope = s
	return e
}

// Refuse records that a principal was turned away at a door that names a server
// or an agent, before it was known what it wanted. It gives why back.
func (g *Guard) Refuse(ctx context.Context, p *junctor.Principal, door junctor.Door, kind junctor.Kind, name string, why error) error {
	call := junctor.Call{
		Tenant: p.Tenant, Kind: kind, Door: door, Name: name, Issuer: p.Issuer, Subject: p.Subject, User: p.User, Agent: p.Agent, Client: p.Client, Start: g.o.Now(),
	}
	return g.refuse(ctx, &call, "", why)
}

// Do takes an operation through the pipeline. Errors are *junctor.Error. A tool
// that ran and failed is a Result with IsError, not an error.
func (g *Guard) Do(ctx context.Context, op *Op, sink catalog.Sink) (catalog.Result, error) {
	g.flying.Add(1)
	defer g.flying.Add(-1)
	if g.o.Trace == nil {
		return g.do(ctx, op, sink)
	}
	ctx, end := g.o.Trace(ctx, op)
	res, err := g.do(ctx, op, sink)
	end(err)
	return res, err
}

func (g *Guard) do(ctx context.Context, op *Op, sink catalog.Sink) (catalog.Result, error) {
	call := junctor.Call{
		Tenant: op.Principal.Tenant, Kind: op.Kind, Door: op.Door, Name: op.recorded(op.Name),
		Issuer: op.Principal.Issuer, Subject: op.Principal.Subject, User: op.Principal.User, Agent: op.Principal.Agent, Client: op.Principal.Client,
		View: op.ViewID, Room: op.RoomID, Start: g.o.Now(), BytesIn: len(op.Params),
	}
	defer op.pass.Leave()
	item, resumed, task, err := g.admit(ctx, op, &call)
	if err != nil {
		err = g.refuse(ctx, &call, item.Shown, err)
		op.CallID = call.ID
		return catalog.Result{}, err
	}
	if op.Arguments != nil {
		call.ArgsDigest = g.digests.of(op.Arguments)
	}
	if resumed == nil {
		call.ID, call.Status = g.o.NewID(), junctor.StatusRunning
		if err := g.o.Journal.Append(ctx, &call); err != nil {
			g.o.Logger.Error("a call was refused: it could not be recorded", "error", err)
			return catalog.Result{}, &junctor.Error{Code: junctor.CodeUnavailable, Cause: err, Message: "the call could not be recorded, so it was not made; try again later"}
		}
	}
	op.CallID, call.Timing.Since = call.ID, call.Start
	if resumed == nil {
		call.Timing.Admitted = g.o.Now().Sub(call.Start)
	}
	req := catalog.Request{
		Door: op.Door, CallID: call.ID, Kind: op.Kind, Name: item.Name, Params: op.Params, Arguments: op.Arguments, Meta: op.Meta,
		Unsubscribe: op.Unsubscribe, Fresh: op.Fresh, Wait: op.Wait, Watch: op.Watch, Input: catalog.Input{Responses: op.InputResponses}, Caller: op.Caller, Principal: op.Principal, Room: op.Room,
		Timing: &call.Timing,
	}
	timeout := g.o.Timeout
	if item.Tool != nil {
		req.Version, req.Repeatable = item.Tool.Version, item.Tool.ReadOnly || item.Tool.Idempotent
		if item.Tool.Timeout > 0 {
			timeout = item.Tool.Timeout
		}
	}
	if op.Timeout > 0 {
		timeout = op.Timeout
	}
	if resumed != nil {
		req.Input.State = resumed.Inner
	}
	op.Ran = true
	var res catalog.Result
	if task != nil && task.Own == "" {
		res, err = g.held(op, task)
	} else {
		if task != nil {
			req.Name, req.Task = task.Own, task.ID
		}
		res, err = g.dispatch(ctx, item.Server.Backend, &req, sink, timeout)
	}
	if err == nil && task != nil {
		g.seen(ctx, op, task, &res)
	}
	if err == nil && res.Input {
		if err = g.park(op, &call, item, resumed, &res); err == nil {
			return res, nil
		}
	}
	if err == nil && item.Tool != nil && op.View.Audience == catalog.AudienceModel && !res.Task {
		res.Body = item.Tool.WithText(res.Body)
	}
	if err == nil && op.brings && !res.Task {
		res.Body = item.Tool.WithPage(res.Body, item.Shown)
	}
	if err == nil && op.View.Server == "" && !res.Task {
		res.Body = catalog.ExposeURIs(item.Server.ID, op.Kind, res.Body)
	}
	if err == nil {
		err = g.adopt(ctx, op, call.ID, item, &res)
	}
	return res, g.finish(ctx, op, &call, item, res, err)
}

// admit takes the operation through every gate up to the record of its attempt.
// It fills in what call is to say. resumed is set when the operation goes on
// with a call that asked for input: it takes no new token of the limit.
func (g *Guard) admit(ctx context.Context, op *Op, call *junctor.Call) (item catalog.Item, resumed *state, task *junctor.Task, err error) {
	if item, task, err = g.resolve(ctx, op); item.Server != nil {
		call.Server, call.Name = item.Server.ID, op.recorded(item.Name)
	}
	if err != nil {
		return item, nil, nil, err
	}
	if item.Tool != nil {
		call.Version = item.Tool.Version
	}
	scope := junctor.ScopeToolsCall
	if op.Adhoc != nil {
		scope = junctor.ScopeBridgeCall
	}
	if !op.Principal.Has(scope) {
		return item, nil, nil, needScope(scope)
	}
	if op.Mirror != nil && item.Tool != nil {
		if err := op.Mirror(item.Tool); err != nil {
			return item, nil, nil, err
		}
	}
	if op.HasState {
		if resumed, err = g.resume(ctx, op, item); err != nil {
			return item, nil, nil, err
		}
		call.ID, call.Start = resumed.Call, resumed.Start
	} else if op.pass, err = g.o.Limiter.Enter(ctx, op.Principal, item.Server.ID, item.Name, call.Start); err != nil {
		return item, nil, nil, err
	}
	if err := wantsTask(op, item); err != nil {
		return item, nil, nil, err
	}
	if item.Tool != nil && task == nil {
		op.Arguments = item.Tool.Taken(op.View.Profile, op.Arguments)
		if err := item.Tool.Input.Check(ctx, op.Arguments); err != nil {
			return item, nil, nil, err
		}
	}
	return item, resumed, task, nil
}

// resolve finds what the operation names, by the view of its door.
func (g *Guard) resolve(ctx context.Context, op *Op) (item catalog.Item, task *junctor.Task, err error) {
	if op.Adhoc != nil {
		if op.Principal.Agent != "" {
			return catalog.Item{}, nil, junctor.Errorf(junctor.CodeDenied, "an agent calls the servers on its list only")
		}
		return catalog.Item{
			Server: &catalog.Server{ID: op.View.Server, Mode: junctor.ModeBYO, Backend: op.Adhoc, Offer: &catalog.Offer{}},
			Name:   op.Name, Shown: adhocName(op.Name),
		}, nil, nil
	}
	sh := g.o.Catalog.Snapshot().For(op.Principal.Tenant)
	switch {
	case op.Find != nil:
		s, err := sh.Server(op.Principal, op.View.Server)
		if err != nil {
			return catalog.Item{}, nil, err
		}
		if item, err = op.Find(ctx); err != nil {
			return catalog.Item{Server: s, Name: op.Name}, nil, err
		}
		return item, nil, nil
	case isTask(op.Kind):
		return g.task(ctx, op, sh)
	case op.Kind == junctor.KindTool:
		if meta, ok := sh.Meta(op.Principal, op.View, op.Name); ok {
			inner, arguments, ok := catalog.Unwrap(op.Arguments)
			if op.Name != catalog.CallTool || !ok {
				return meta, nil, nil
			}
			op.become(inner, arguments)
			op.brings = op.View.Audience == catalog.AudienceHost
			op.View.Audience = catalog.AudienceModel // who searched is one
		}
		item, err = sh.Tool(op.Principal, op.View, op.Name, op.Version)
	case op.Kind == junctor.KindPrompt, op.Kind == junctor.KindCompletion && !op.IsURI:
		item, err = sh.Prompt(op.Principal, op.View, op.Name)
	default:
		item, err = sh.Resource(op.Principal, op.View, op.Name)
	}
	return item, nil, err
}

// adhocName is what a tool counts as that is no registered server's: by its name, as
// the caller gives it, and whichever endpoint it is at. Endpoints are found on chains,
// where anybody can add one.
func adhocName(tool string) string {
	const most = 128
	return junctor.AdhocServer + "__" + strings.ToValidUTF8(tool[:min(len(tool), most)], "")
}

// dispatch runs the operation until the deadline. A panic costs this call only.
func (g *Guard) dispatch(ctx context.Context, b catalog.Backend, req *catalog.Request, sink catalog.Sink, timeout time.Duration) (res catalog.Result, err error) {
	ctx, cancel := brief.WithTimeout(ctx, timeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			g.o.Logger.Error("a backend panicked", slog.Any("kind", req.Kind), slog.String("name", req.Name), telemetry.Panic(p))
			res, err = catalog.Result{}, &junctor.Error{Code: junctor.CodeInternal, Message: "the tool failed inside; the log of this instance says more"}
		}
	}()
	res, err = b.Do(ctx, req, sink)
	if err != nil && ctx.Err() != nil {
		if ctx.Err() == context.DeadlineExceeded {
			return res, &junctor.Error{Code: junctor.CodeTimeout, Cause: err, Message: "no answer within " + timeout.String() + "; the call was cancelled"}
		}
		return res, &junctor.Error{Code: junctor.CodeCanceled, Cause: err, Message: "the call was cancelled"}
	}
	return res, err
}
