package guard

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/guard/lazyctx"
	"github.com/junctor-mcp/junctor/internal/telemetry"
)

// Options configures a Guard. All fields but Tasks, Policy, Replica and Trace are required.
type Options struct {
	Catalog      *catalog.Catalog
	Limiter      Limiter
	Journal      Journal
	Recorder     Recorder
	Sealer       junctor.Sealer
	States       StateStore
	Tasks        TaskStore // nil: no call may become a task
	Policy       Policy    // nil: there are no rules of operators
	Meter        Meter
	Logger       *slog.Logger
	Now          func() time.Time
	NewID        func() string
	Limits       CallLimits    // of calls whose tool, server or caller set none
	InputTimeout time.Duration // how long a call may wait for its client's input
	Replica      string        // name of this replica; sealed into the states of calls that only it can continue

	// Trace starts a span for an operation and returns the function that ends it.
	Trace func(ctx context.Context, op *Op) (context.Context, func(error))
}

// Guard runs operations. It is safe for concurrent use.
type Guard struct {
	options    Options
	inputWaits inputWaits // calls that wait for their client's input
	hashers    hashPool
	endLog     endLog
	inFlight   atomic.Int64 // operations that run now

	// late are those that began since BeginDrain.
	isDraining atomic.Bool
	late       atomic.Int64

	running   lazyctx.Group // the contexts of dispatched operations
	endReason atomic.Pointer[junctor.Error]
}

// New makes a Guard. It returns an error if a required option is missing.
func New(o Options) (*Guard, error) {
	switch {
	case o.Catalog == nil, o.Limiter == nil, o.Journal == nil, o.Recorder == nil, o.Sealer == nil, o.States == nil, o.Meter == nil,
		o.Logger == nil, o.Now == nil, o.NewID == nil:
		return nil, junctor.Errorf(junctor.CodeInternal, "guard: a part of Options is missing")
	case o.Limits.Idle <= 0 || o.Limits.Total < 0 || o.InputTimeout <= 0:
		return nil, junctor.Errorf(junctor.CodeInternal, "guard: Limits.Idle and InputTimeout must be above zero, and Limits.Total not below")
	}
	g := &Guard{options: o}
	g.inputWaits.onLapse = g.recordLapse
	return g, nil
}

// Close stops the timers of calls that wait for input. It does not record their end,
// because their client may still come back to another replica.
func (g *Guard) Close() { g.inputWaits.close() }

// InFlight returns how many operations run now. A call that waits for its client's input
// does not count.
func (g *Guard) InFlight() int64 { return g.inFlight.Load() }

// BeginDrain makes EarlierCalls count only the operations that run now. Those that begin
// later are served, and a drain does not wait for them.
func (g *Guard) BeginDrain() { g.isDraining.Store(true) }

// EarlierCalls returns how many operations run that began before BeginDrain.
func (g *Guard) EarlierCalls() int64 { return g.inFlight.Load() - g.late.Load() }

// List returns a list as the principal sees it. A list is not a call. RecordToolList records
// that one was sent.
func (g *Guard) List(p *junctor.Principal, v catalog.Scope, kind catalog.ListKind) ([]byte, error) {
	sh := g.options.Catalog.Snapshot().For(p.Tenant)
	if !p.Has(junctor.ScopeToolsRead) && !p.Has(junctor.ScopeToolsCall) {
		return nil, errMissingScope(junctor.ScopeToolsRead)
	}
	if v.Server != "" {
		if _, err := sh.Server(p, v.Server); err != nil {
			return nil, err
		}
	}
	return sh.List(p, v, kind), nil
}

// RecordToolList records that a principal received a list of tools of so many bytes, of one
// server or, if server is "", of all. A list that the journal cannot record is served
// nevertheless: it has no effects.
func (g *Guard) RecordToolList(ctx context.Context, p *junctor.Principal, entryPoint junctor.EntryPoint, server string, bytes int) {
	_ = g.options.Journal.Append(context.WithoutCancel(ctx), &junctor.Call{
		Tenant: p.Tenant, Kind: junctor.KindToolList, EntryPoint: entryPoint, Server: server, Issuer: p.Issuer, Subject: p.Subject, User: p.User, Agent: p.Agent, Client: p.Client,
		Start: g.options.Now(), BytesOut: bytes, Facts: junctor.CallFacts{Key: p.Key},
	})
	g.options.Meter.ObserveToolList(entryPoint, junctor.EstimateTokens(bytes))
}

// errMissingScope is the error of a credential without the scope s.
func errMissingScope(s junctor.Scope) error {
	e := junctor.Errorf(junctor.CodeDenied, "this key or token lacks the scope %s; ask its issuer for one that has it", s)
	e.Scope = s
	return e
}

// RecordRefusal records that a principal was rejected at an endpoint of a server or an agent,
// before the request was read. It returns why.
func (g *Guard) RecordRefusal(ctx context.Context, p *junctor.Principal, entryPoint junctor.EntryPoint, kind junctor.Kind, name string, why error) error {
	call := junctor.Call{
		Tenant: p.Tenant, Kind: kind, EntryPoint: entryPoint, Name: name, Issuer: p.Issuer, Subject: p.Subject, User: p.User, Agent: p.Agent, Client: p.Client, Start: g.options.Now(),
		Facts: junctor.CallFacts{Groups: p.Groups, Key: p.Key},
	}
	return g.recordRefusal(ctx, &call, "", nil, why)
}

// RecordCallRefusal records that an operation is not run, for the reason why, together with the
// item that it names. If the principal may not see the item, that is the reason instead,
// as it would be with Do. It returns the reason.
func (g *Guard) RecordCallRefusal(ctx context.Context, op *Op, why error) error {
	call := g.newCall(ctx, op)
	item, _, err := g.resolveItem(ctx, op)
	if item.Server != nil {
		call.Server, call.Name = item.Server.ID, op.recordedName(item.Name)
	}
	if err == nil {
		err = why
	}
	err = g.recordRefusal(ctx, &call, item.Shown, nil, err)
	op.CallID = call.ID
	return err
}

// newCall starts the record of an operation. Its id is set when it is first recorded.
func (g *Guard) newCall(ctx context.Context, op *Op) junctor.Call {
	if !op.Address.IsValid() {
		op.Address = junctor.ClientAddress(ctx)
	}
	p := op.Principal
	return junctor.Call{
		Tenant: p.Tenant, Kind: op.Kind, EntryPoint: op.EntryPoint, Name: op.recordedName(op.Name), Issuer: p.Issuer, Subject: p.Subject, User: p.User, Agent: p.Agent, Client: p.Client,
		View: op.AppViewID, Room: op.RoomID, Start: g.options.Now(), BytesIn: len(op.Params),
		Facts: junctor.CallFacts{Groups: p.Groups, Key: p.Key, Address: op.Address},
	}
}

// Do runs an operation through the pipeline. Errors are *junctor.Error. If a tool ran and
// failed, the result has IsError and the error is nil. The sink receives notifications
// while the backend works. If the result has Input, the call is not over: the client
// repeats the request with the state, or AbandonCall ends it.
func (g *Guard) Do(ctx context.Context, op *Op, sink catalog.Sink) (catalog.Result, error) {
	g.inFlight.Add(1)
	defer g.inFlight.Add(-1)
	if g.isDraining.Load() {
		g.late.Add(1)
		defer g.late.Add(-1)
	}
	if g.options.Trace == nil {
		return g.runPipeline(ctx, op, sink)
	}
	ctx, end := g.options.Trace(ctx, op)
	res, err := g.runPipeline(ctx, op, sink)
	end(err)
	return res, err
}

// runPipeline is Do without tracing. An operation that admitOperation refuses leaves one
// record. Every other operation leaves two: the attempt before a backend receives it, and
// the end. A call that asks for input has its end recorded in a later round.
func (g *Guard) runPipeline(ctx context.Context, op *Op, sink catalog.Sink) (catalog.Result, error) {
	call := g.newCall(ctx, op)
	defer op.pass.Leave()
	item, resumed, task, err := g.admitOperation(ctx, op, &call)
	if err != nil {
		err = g.recordRefusal(ctx, &call, item.Shown, op.Params, err)
		op.CallID = call.ID
		return catalog.Result{}, err
	}
	if op.Arguments != nil {
		call.ArgsDigest = g.hashers.sumBytes(op.Arguments)
	}
	// A repeated request continues a call whose attempt is recorded already.
	if resumed == nil {
		call.ID, call.Status = g.options.NewID(), junctor.StatusRunning
		if err := g.options.Journal.Append(ctx, &call); err != nil {
			g.options.Logger.Error("call refused: its record cannot be written to the journal", "error", err)
			return catalog.Result{}, &junctor.Error{Code: junctor.CodeUnavailable, Cause: err, Message: "the call could not be recorded, so it was not made; try again later"}
		}
	}
	op.CallID, call.Timing.Since = call.ID, call.Start
	if resumed == nil {
		call.Timing.Admitted = g.options.Now().Sub(call.Start)
	}
	req := catalog.Request{
		EntryPoint: op.EntryPoint, Address: op.Address, CallID: call.ID, Kind: op.Kind, Name: item.Name, Params: op.Params, Arguments: op.Arguments, Meta: op.Meta,
		Unsubscribe: op.Unsubscribe, Fresh: op.BypassCache, Wait: op.Wait, Watch: op.Watch, Input: catalog.Input{Responses: op.InputResponses}, Caller: op.Caller, Principal: op.Principal, Room: op.ResultBuffer,
		Timing: &call.Timing,
	}
	if item.Tool != nil {
		req.Version, req.Repeatable = item.Tool.Version, item.Tool.ReadOnly || item.Tool.Idempotent
	}
	if resumed != nil {
		req.Input.State = resumed.Inner
	}
	// From here on the call may have had effects: later errors are no refusals.
	op.Dispatched = true
	var res catalog.Result
	if task != nil && task.Own == "" {
		res, err = g.answerEndedTask(op, task)
	} else {
		if task != nil {
			req.Name, req.Task = task.Own, task.ID
		}
		res, err = g.dispatchRequest(ctx, op, item, &req, sink)
	}
	if err != nil {
		err = g.judgeError(ctx, op, &item, &call, err)
	}
	if err == nil && task != nil {
		g.updateTask(ctx, op, task, item.Tool, &res)
	}
	// The states and ids of the server are replaced by ours before anything else
	// sees the result: a client must never hold those of a server.
	if err == nil && res.Input {
		if err = g.awaitInput(op, &call, item, resumed, &res); err == nil {
			return res, nil
		}
	}
	if err == nil {
		err = g.judgeResult(ctx, op, &item, &call, &res)
	}
	if err == nil && item.Tool != nil && op.Scope.Audience == catalog.AudienceModel && !res.Task {
		res.Body = item.Tool.WithText(res.Body)
	}
	if err == nil && item.Tool != nil && op.Scope.Older && !res.Task {
		res.Body = item.Tool.ForOlder(res.Body)
	}
	if err == nil && op.namesPage && !res.Task {
		res.Body = item.Tool.WithPage(res.Body, item.Shown)
	}
	if err == nil && op.Scope.Server == "" && !res.Task {
		res.Body = catalog.ExposeURIs(item.Server.ID, op.Kind, res.Body)
	}
	if err == nil {
		err = g.adoptTask(ctx, op, call.ID, item, &res)
	}
	return res, g.recordEnd(ctx, op, &call, item, res, err)
}

// admitOperation checks everything that comes before the record of the attempt, and fills
// in call. The order matters: an item that the principal may not see must fail like one
// that does not exist, before limits and argument errors could reveal it. resumed is set
// if the operation continues a call that asked for input; it is not counted against
// limits again. After an error, item holds as much as was resolved, for the record.
func (g *Guard) admitOperation(ctx context.Context, op *Op, call *junctor.Call) (item catalog.Item, resumed *sealedState, task *junctor.Task, err error) {
	if item, task, err = g.resolveItem(ctx, op); item.Server != nil {
		call.Server, call.Name = item.Server.ID, op.recordedName(item.Name)
	}
	if err != nil {
		return item, nil, nil, err
	}
	if tool := item.Tool; tool != nil {
		call.Version = tool.Version
		call.Facts.Hints, call.Facts.Tags, call.Facts.Digest = tool.Hints, tool.Tags, tool.Digest
	}
	scope := junctor.ScopeToolsCall
	if op.AdhocBackend != nil {
		scope = junctor.ScopeBridgeCall
	}
	if !op.Principal.Has(scope) {
		return item, nil, nil, errMissingScope(scope)
	}
	if op.CheckHeaders != nil && item.Tool != nil {
		if err := op.CheckHeaders(item.Tool); err != nil {
			return item, nil, nil, err
		}
	}
	if op.HasState {
		if resumed, err = g.resumeCall(ctx, op, item); err != nil {
			return item, nil, nil, err
		}
		call.ID, call.Start = resumed.Call, resumed.Start
	} else if op.pass, err = g.options.Limiter.Enter(ctx, op.Principal, item.Server.ID, item.Name, call.Start); err != nil {
		return item, nil, nil, err
	}
	if err := checkTaskSupport(op, item); err != nil {
		return item, nil, nil, err
	}
	if item.Tool != nil && task == nil {
		op.Arguments = item.Tool.Taken(op.Scope.Profile, op.Arguments)
		if err := item.Tool.Input.Check(ctx, op.Arguments); err != nil {
			return item, nil, nil, err
		}
	}
	// A repeated request is judged again: its arguments may be others, and so may the
	// rules.
	if g.options.Policy != nil && task == nil {
		if err := g.options.Policy.JudgeCall(ctx, op, &item, call); err != nil {
			return item, nil, nil, err
		}
	}
	return item, resumed, task, nil
}

// resolveItem finds the item that the operation names, within its catalog scope. If the
// operation calls call_tool, it redirects the operation to the inner tool. task is set
// for operations on a task.
func (g *Guard) resolveItem(ctx context.Context, op *Op) (item catalog.Item, task *junctor.Task, err error) {
	if op.AdhocBackend != nil {
		if op.Principal.Agent != "" {
			return catalog.Item{}, nil, junctor.Errorf(junctor.CodeDenied, "an agent calls the servers on its list only")
		}
		return catalog.Item{
			Server: &catalog.Server{ID: op.Scope.Server, Mode: junctor.ModeBYO, Backend: op.AdhocBackend, Offer: &catalog.Offer{}},
			Name:   op.Name, Shown: adhocLabel(op),
		}, nil, nil
	}
	sh := g.options.Catalog.Snapshot().For(op.Principal.Tenant)
	switch {
	case op.FindItem != nil:
		s, err := sh.Server(op.Principal, op.Scope.Server)
		if err != nil {
			return catalog.Item{}, nil, err
		}
		if item, err = op.FindItem(ctx); err != nil {
			return catalog.Item{Server: s, Name: op.Name}, nil, err
		}
		return item, nil, nil
	case isTaskKind(op.Kind):
		return g.findTask(ctx, op, sh)
	case op.Kind == junctor.KindTool:
		if meta, ok := sh.Meta(op.Principal, op.Scope, op.Name); ok {
			inner, arguments, ok := catalog.Unwrap(op.Arguments)
			if op.Name != catalog.CallTool || !ok {
				return meta, nil, nil
			}
			op.redirectTo(inner, arguments)
			op.namesPage = op.Scope.Audience == catalog.AudienceHost
			op.Scope.Audience = catalog.AudienceModel // only a model calls tools through call_tool
		}
		item, err = sh.Tool(op.Principal, op.Scope, op.Name, op.Version)
	case op.Kind == junctor.KindPrompt, op.Kind == junctor.KindCompletion && !op.IsURI:
		item, err = sh.Prompt(op.Principal, op.Scope, op.Name)
	default:
		item, err = sh.Resource(op.Principal, op.Scope, op.Name)
	}
	return item, nil, err
}

// adhocLabel returns the metric label of a call to an unlisted endpoint. A delivery has a
// label per tool, because triggers name its tools. All other callers share one label,
// since names that callers make up must not become labels.
func adhocLabel(op *Op) string {
	if op.EntryPoint == junctor.EntryDelivery {
		return catalog.Exposed(junctor.AdhocServer, op.Name, maxLabelLength)
	}
	return op.Scope.Server
}

// maxLabelLength bounds a tool's name in metric labels, as the names of listed tools are
// bounded.
const maxLabelLength = 64

// dispatchRequest runs the request on its backend within the limits of time. A panic of
// the backend fails this call only. Errors after the end of the context say what ended it.
func (g *Guard) dispatchRequest(ctx context.Context, op *Op, item catalog.Item, req *catalog.Request, sink catalog.Sink) (res catalog.Result, err error) {
	limits := g.limitsOf(op, item)
	limited := lazyctx.WithLimits(ctx, &g.running, limits.Idle.Duration, limits.Total.Duration)
	defer limited.Cancel()
	req.Idle = limited
	defer func() {
		if p := recover(); p != nil {
			g.options.Logger.Error("backend panicked", slog.Any("kind", req.Kind), slog.String("name", req.Name), telemetry.PanicAttr(p))
			res, err = catalog.Result{}, &junctor.Error{Code: junctor.CodeInternal, Message: "the tool failed inside; the log of this instance says more"}
		}
	}()
	res, err = item.Server.Backend.Do(limited, req, sink) //nolint:contextcheck // limited has ctx as its parent
	if err != nil && limited.Err() != nil {
		return res, g.endError(ctx, op, item, limited, &limits, err)
	}
	return res, err
}
