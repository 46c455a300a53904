package guard

import (
	"context"
	"errors"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/limit"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// Op is one operation that somebody wants. Slices belong to the caller and must
// not change until Do returns.
type Op struct {
	Principal *junctor.Principal
	Door      junctor.Door
	ViewID    string // the View of an App that asks; "" where it is none
	RoomID    string // the room in which an agent calls, by its id; "" where it is none
	View      catalog.View
	Kind      junctor.Kind
	Name      string // as the view shows it: a tool's or prompt's name, a resource's URI or template; a task's id
	IsURI     bool   // for completions: Name is a URI template, not a prompt
	Version   string // of a tool; "" is the default

	Params      []byte // the whole params object
	Arguments   []byte // params.arguments
	Meta        []byte // params._meta
	Unsubscribe bool
	Fresh       bool // with KindResource: as it is now, whatever is kept of it
	Wait        bool // with KindTask: until the task has ended, or asks for input
	Watch       bool // with KindTask: its changes are told from now on

	// What a client sends when it repeats a request after input_required.
	InputResponses []byte
	RequestState   string
	HasState       bool

	Caller catalog.Caller
	Room   *[]byte // as in catalog.Request

	// Adhoc, when set, is called instead of what Name would be found as: an
	// endpoint whose tools nobody lists. It runs as the server that View names, and
	// wants the scope bridge:call.
	Adhoc catalog.Backend
	// Find, when set, finds what is called in the place of the catalog: something
	// of the server of View that no list has. The principal must see the server.
	Find func(context.Context) (catalog.Item, error)
	// Timeout is the caller's own; 0 is the tool's or the instance's.
	Timeout time.Duration

	// Mirror, when set, checks what the request repeats outside its body. It
	// runs once the tool is known to be visible, before limits.
	Mirror func(*catalog.ToolVersion) error

	// Ran is set by Do once a backend is asked: what comes back from then on is
	// no refusal of ours.
	Ran bool
	// CallID is set by Do: what the records know the call by.
	CallID string

	namesPage bool // the result names the page of the tool that was called in its place
	pass      limit.Pass
}

// redirectTo makes the operation the call of another tool: one that find_tools found
// and call_tool was asked for. It is judged, recorded and sent as that tool's own.
func (op *Op) redirectTo(name string, arguments []byte) {
	op.Name, op.Arguments, op.Mirror = name, arguments, nil
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

// Allowance is what the limits of the call leave, after Do with the error that
// it gave; zero where there are none.
func (op *Op) Allowance(err error) junctor.Allowance {
	if e, ok := errors.AsType[*junctor.Error](err); ok && e.Allowance != nil {
		return *e.Allowance
	}
	return op.pass.Allowance
}

// Limiter bounds how much a principal may call.
type Limiter interface {
	// Enter counts a call of what a server has, or says when to come back; it
	// may wait where the limits say so. The pass is left when the call ends.
	// Errors are limited or canceled.
	Enter(ctx context.Context, p *junctor.Principal, server, name string, now time.Time) (limit.Pass, error)
}

// Journal records calls. Append is called with StatusRunning before a backend
// hears of the call, with the same ID and its final status after it, and once
// for a call that is refused. An error of the first kind refuses the call. The
// call must not be kept: it is used again.
type Journal interface {
	Append(ctx context.Context, c *junctor.Call) error
}

// Recorder keeps what was said in a call, for people who look at it later. It
// is told of every call at its end, refused ones too. It must not block, and
// keeps nothing of its arguments.
type Recorder interface {
	Record(c *junctor.Call, params, result []byte)
}

// Sealer makes text that only this installation can have made.
type Sealer interface {
	Seal(purpose string, plaintext []byte) string
	Open(purpose, text string) ([]byte, error)
}

// States remembers which request states were used.
type States interface {
	// UseState says whether the state is used for the first time.
	UseState(ctx context.Context, tenant junctor.TenantID, id string, expires time.Time) (first bool, err error)
}

// Meter counts calls by the tool's exposed name.
type Meter interface {
	Observe(name string, status junctor.Status, d time.Duration)
}
