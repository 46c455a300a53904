package guard

import (
	"context"
	"errors"
	"net/netip"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/limit"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// Op is one operation that a principal requests. Its slices belong to the caller and must
// not change until Do returns.
type Op struct {
	Principal  *junctor.Principal
	EntryPoint junctor.EntryPoint
	Address    netip.Addr    // of the client; if it is invalid, that of the context applies, if there is one
	AppViewID  string        // the App view that makes the call; "" if none does
	RoomID     string        // id of the room in which an agent makes the call; "" if none
	Scope      catalog.Scope // the catalog scope in which Name is resolved
	Kind       junctor.Kind
	// Name is the name in the catalog scope: of a tool or prompt, the URI or template of
	// a resource, or the id of a task.
	Name    string
	IsURI   bool   // with KindCompletion: Name is a URI template, not a prompt
	Version string // of a tool; "" is the default version

	Params      []byte // the whole params object
	Arguments   []byte // params.arguments
	Meta        []byte // params._meta
	Unsubscribe bool
	BypassCache bool // with KindResource: bypass caches
	Wait        bool // with KindTask: return when the task has ended or asks for input
	Watch       bool // with KindTask: report changes of the task from now on

	// Members of a request that a client repeats after input_required.
	InputResponses []byte
	RequestState   string
	HasState       bool

	Caller       catalog.Caller
	ResultBuffer *[]byte // buffer for the result, as in catalog.Request

	// Adhoc, if set, is called instead of an item of the catalog: an endpoint whose tools
	// are not listed. It runs as the server that View names, and requires the scope
	// bridge:call.
	AdhocBackend catalog.Backend
	// Find, if set, replaces the lookup in the catalog, for items of the server in View
	// that no list has. The principal must still be allowed to see the server.
	FindItem func(context.Context) (catalog.Item, error)
	// Timeout is the caller's own limit of the whole call. It takes the place of the
	// limit of silence, and that of the total may only be shorter. If it is 0, the limits
	// of the tool, of the server or of the instance apply.
	Timeout time.Duration

	// Mirror, if set, checks the parts of the request that repeat its body, such as
	// headers. It runs when the tool is known to be visible, and before limits count the
	// call.
	CheckHeaders func(*catalog.ToolVersion) error

	// Ran is set by Do before it calls a backend. An error with Ran is no refusal: the
	// call may have had effects.
	Dispatched bool
	// CallID is set by Do to the id of the call in the records, and Duration to how long the
	// call took by them. A call that did not run, or that waits for input, has none.
	CallID   string
	Duration time.Duration

	namesPage bool // the result must name the App page of the tool that call_tool was redirected to
	pass      limit.Pass
}

// redirectTo turns a call of call_tool into a call of the inner tool. From then on it is
// checked, recorded and sent as a call of that tool. The mirrored headers no longer
// apply, since they repeat the outer call.
func (op *Op) redirectTo(name string, arguments []byte) {
	op.Name, op.Arguments, op.CheckHeaders = name, arguments, nil
	given := arguments
	if given == nil {
		given = []byte("{}")
	}
	params := op.Params
	if params == nil {
		params = []byte("{}")
	}
	op.Params = wire.AppendObject(nil, params, nil, wire.Member{Key: "name", Value: wire.AppendString(nil, name)}, wire.Member{Key: "arguments", Value: given})
}

// Allowance returns the remaining allowance of the caller after Do returned err. It is
// zero if no limits apply.
func (op *Op) Allowance(err error) junctor.Allowance {
	if e, ok := errors.AsType[*junctor.Error](err); ok && e.Allowance != nil {
		return *e.Allowance
	}
	return op.pass.Allowance
}

// Limiter bounds the calls of a principal.
type Limiter interface {
	// Enter counts one call of a server's item. It may wait if the limits allow queueing.
	// The guard leaves the pass when the call has ended. Errors are limited or canceled.
	Enter(ctx context.Context, p *junctor.Principal, server, name string, now time.Time) (limit.Pass, error)
}

// Journal records calls. Append is called with StatusRunning before the backend receives
// the call, and with the same id and the final status after it. For a refused call it is
// called once. An error of the first kind refuses the call. Append is also called with a
// list of tools that was served, which is no call. Append must not keep c, which is reused.
type Journal interface {
	Append(ctx context.Context, c *junctor.Call) error
}

// Recorder keeps the payloads of calls for people who inspect them later. It receives
// every call at its end, including refused ones. It must not block, and must copy the
// parts of its arguments that it keeps.
type Recorder interface {
	Record(c *junctor.Call, params, result []byte)
}

// StateStore remembers which request states have been used, across all replicas.
type StateStore interface {
	// UseState marks a state as used and reports whether this is the first use. The mark
	// may be dropped after expires.
	UseState(ctx context.Context, tenant junctor.TenantID, id string, expires time.Time) (first bool, err error)
}

// Policy judges calls by the rules of operators. Both methods add what the rules did to
// call.Policy. They allocate nothing if no rule can apply.
type Policy interface {
	// JudgeCall decides about a call whose arguments were checked, before it is
	// recorded and sent. An error refuses it.
	JudgeCall(ctx context.Context, op *Op, item *catalog.Item, call *junctor.Call) error
	// JudgeResult decides about a result that the caller is to receive, and returns it
	// in the form that the rules leave. An error withholds it.
	JudgeResult(ctx context.Context, op *Op, item *catalog.Item, call *junctor.Call, body []byte) ([]byte, error)
}

// RuleError is the cause of an error by which a rule denied a call or a result. It names
// the rule for records and for callers who may read rules.
type RuleError struct {
	Rule string
	Err  error // why the rule could not be evaluated; nil if it was
}

// Error implements error.
func (e *RuleError) Error() string {
	if e.Err == nil {
		return e.reason()
	}
	return e.reason() + ": " + e.Err.Error()
}

// reason returns the reason without what it quotes.
func (e *RuleError) reason() string {
	if e.Err == nil {
		return "denied by the rule " + e.Rule
	}
	return "the rule " + e.Rule + " could not be evaluated"
}

// Meter counts calls by the tool's exposed name, and lists of tools by entry point.
type Meter interface {
	Observe(name string, status junctor.Status, d time.Duration)
	ObserveToolList(entryPoint junctor.EntryPoint, tokens int)
}
