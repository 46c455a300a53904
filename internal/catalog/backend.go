package catalog

import (
	"context"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Backend is one server's tools, resources and prompts, wherever they run:
// builtin, upstream and apigen implement it. A backend sees only the modern
// form of the protocol and only the server's own names.
type Backend interface {
	// Offer is all that the server offers now. The catalog calls it when the
	// server is attached and after each EventChanged, and keeps the answer.
	Offer(ctx context.Context) (*Offer, error)

	// Do runs one operation that the guard has let through. ctx ends at the
	// deadline or when the caller cancels. Errors are *junctor.Error; a tool
	// that ran and failed is no error but a Result with IsError.
	Do(ctx context.Context, req *Request, sink Sink) (Result, error)

	// Watch registers the one listener for what changes by itself. notify may
	// be called from any goroutine and does not block.
	Watch(notify func(Event))
}

// Offer is what a server has. The JSON of each item is the MCP object under the
// server's own names; it is carried through as bytes, unknown members included.
type Offer struct {
	Instructions string
	Tools        []ToolDef
	Resources    []ResourceDef
	Templates    []ResourceDef // Key is the URI template
	Prompts      []PromptDef
	Completions  bool // completion/complete is answered
	Subscribe    bool // resource subscriptions are answered
	Logging      bool // sends notifications/message
	Tasks        bool // may answer a tool call with a task
	Awaited      bool // the server has not answered yet: nobody knows what it has
	Believed     bool // annotations of its tools count; only Believe and built-in servers set it
}

// ToolDef is one version of a tool. Versions of one tool stand next to each
// other in Offer.Tools under the same name, oldest first; where a tool has no
// versions, Version is "".
type ToolDef struct {
	Name    string
	Version string
	Default bool          // among several versions: the one used when the caller names none
	Timeout time.Duration // 0: the guard's default
	JSON    []byte        // the MCP Tool object
	Page    string        // the URI of a page that was made for it here; where its JSON names one, that counts
	Topic   string        // more words of what it is about, for search and roles; clients do not see them

	// ReadOnly says that the operator knows it to change nothing, whether its server
	// is believed or not.
	ReadOnly bool

	// As gives JSON as clients of a profile take it, and Take the arguments that
	// such a client means by those it sends; nil is that all take the same.
	As   func(junctor.Profile) []byte
	Take func(p junctor.Profile, arguments []byte) []byte

	// Conditional says that the server shows it only to clients that can be
	// asked something, or that it is not known yet whether others are shown it.
	// It is offered to all, and who cannot be asked is refused by the server.
	Conditional bool
}

// ResourceDef is a resource or a resource template.
type ResourceDef struct {
	URI  string
	JSON []byte // the MCP Resource or ResourceTemplate object
}

// PromptDef is a prompt.
type PromptDef struct {
	Name string
	JSON []byte // the MCP Prompt object
}

// Request is one operation as a backend sees it. All slices belong to the
// caller and are valid until Do returns.
type Request struct {
	Door        junctor.Door // it came through: what a backend reads for its caller comes by the same
	CallID      string       // the same over all rounds of one call; a task that it becomes is known by it
	Kind        junctor.Kind
	Name        string // tool or prompt; resource URI; for completions the prompt's name or the template; the server's own id of a task
	Version     string // of a tool; the real one, never "" where the tool has versions
	Params      []byte // params as the caller sent them, exposed names and all
	Arguments   []byte // params.arguments, a JSON object, checked against the schema; nil when absent
	Meta        []byte // params._meta, as the caller sent it; hop-by-hop members included
	Unsubscribe bool   // with KindSubscription: end it
	Task        string // with operations on a task: its id, as its principal knows it
	Fresh       bool   // with KindResource: as it is now, whatever is kept of it
	Repeatable  bool   // with KindTool: running it twice does no harm, as a server says that is believed
	Wait        bool   // with KindTask: until it ends, or asks for input
	Watch       bool   // with KindTask: its changes are told from now on, by EventTask
	Input       Input
	Caller      Caller
	Principal   *junctor.Principal

	// Timing is for a backend to say where the time went, until Do returns; nil
	// where nobody wants to know.
	Timing *junctor.Timing

	// Room is memory that the answer may be read into; it may be grown. Whoever
	// asks uses it again when the Result is of no more use. nil is none.
	Room *[]byte
}

// Input is what a caller sends when it repeats a request that was answered with
// input_required.
type Input struct {
	Responses []byte // params.inputResponses: key -> result; nil when absent
	State     string // the requestState that the backend itself gave; the guard has opened its own wrapping
}

// Caller is what the client declared about itself for this request. It is
// hearsay: for capabilities, never for policy.
type Caller struct {
	Protocol     string // version, of either era
	Session      string // of the client, where it has one; "" in the modern era
	Capabilities []byte // clientCapabilities, JSON object; nil is none
	Info         []byte // clientInfo; nil when not given
	LogLevel     string // "" means no log messages are wanted
	Progress     bool   // progress is wanted
	Tasks        bool   // a task is taken as the result of a tool call
	TaskOnly     bool   // nothing but a task is taken: a legacy client sent params.task
}

// Sink takes what an operation sends while it runs. It may be called from any
// goroutine until Do returns.
type Sink interface {
	// Progress takes the params of a notifications/progress, a JSON object
	// without progressToken: the door adds the caller's own.
	Progress(params []byte)
	// Log takes the params of a notifications/message. Drop what the caller
	// did not ask for: the door does so again.
	Log(level string, params []byte)
}

// Result is how an operation ended.
type Result struct {
	// Body is the result object as JSON, without resultType, ttlMs and
	// cacheScope, which stand in the fields below and which each door writes
	// as its era wants them.
	Body    []byte
	IsError bool // a tool ran and failed; Body says "isError":true as well
	Input   bool // input_required: Body holds inputRequests and, or, requestState
	Held    bool // of input_required: the call waits in this process, and goes on nowhere else
	Task    bool // a tool call became a task: Body is a Task of the modern form, with ttlMs, under the server's own id
	TTL     time.Duration
	Public  bool // may be cached across callers
}

// EventKind says what changed.
type EventKind uint8

// Events of backends.
const (
	EventChanged   EventKind = iota + 1 // what Offer answers has changed
	EventUpdated                        // the resource at URI has new content
	EventAnnounced                      // the server says that lists changed, and Offer answers as before
	EventTask                           // a task has another state
)

// Event is a change that a backend reports.
type Event struct {
	Kind  EventKind
	URI   string // of EventUpdated
	Party string // of EventUpdated and EventTask: whom it concerns, a Principal's ID; "" is everybody
	Lists Lists  // of EventAnnounced
	Task  TaskState
}

// TaskState is how a task is doing, without what it led to or asks for.
type TaskState struct {
	ID      string // as its principal knows it
	Session string // of the client that began it; "" where it has none
	JSON    string // the Task of the modern form, under that id
}

// Lists are kinds of lists.
type Lists struct{ Tools, Prompts, Resources bool }

// Any says whether there is one among them.
func (l Lists) Any() bool { return l != Lists{} }
