package catalog

import (
	"context"
	"net/netip"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Backend is one server's tools, resources and prompts, wherever they run.
// Packages builtin, upstream and apigen implement it. A backend sees only the
// modern form of the protocol and only the server's own names.
type Backend interface {
	// Offer returns everything that the server offers now. The catalog calls it
	// when the server is attached and after each EventChanged, and keeps the
	// answer. The catalog never changes it, and neither may the backend.
	Offer(ctx context.Context) (*Offer, error)

	// Do runs one operation that the guard has let through. ctx ends at the
	// deadline or when the caller cancels. Errors are *junctor.Error. A tool
	// that ran and failed is not an error but a Result with IsError.
	Do(ctx context.Context, req *Request, sink Sink) (Result, error)

	// Watch registers the one listener for changes that happen by themselves.
	// notify may be called from any goroutine and does not block.
	Watch(notify func(Event))
}

// Offer is everything that a server has. The JSON of each item is the MCP
// object under the server's own names. It is passed through as bytes, with
// members that Junctor does not know.
type Offer struct {
	Instructions string
	Tools        []ToolDef
	Resources    []ResourceDef
	Templates    []ResourceDef // URI is the URI template
	Prompts      []PromptDef
	Completions  bool // completion/complete is answered
	Subscribe    bool // resource subscriptions are answered
	Logging      bool // sends notifications/message
	Tasks        bool // may answer a tool call with a task
	Awaited      bool // the server has not answered since it was added, so its lists are not known yet
	Believed     bool // its tool annotations are trusted; only Believe and built-in servers set it

	Limits CallLimits // of whatever has none of its own: resources and prompts, too
}

// ToolDef is one version of a tool. Versions of one tool stand next to each
// other in Offer.Tools under the same name, oldest first. If a tool has no
// versions, Version is "".
type ToolDef struct {
	Name    string
	Version string
	Default bool // among several versions: this one is used when the caller names none
	Limits  CallLimits
	JSON    []byte // the MCP Tool object
	Page    string // the URI of an App page that Junctor generated; a page that JSON names takes precedence
	Topic   string // more words about its subject, for search and roles; clients do not see them

	// Operator is what the operator states of the tool. It counts whether or not the
	// server's annotations are trusted. Tags are the operator's, too.
	Operator junctor.ToolHints
	Tags     []string

	// As returns JSON in the form that clients of a profile accept. Take translates
	// the arguments that such a client sends into those of JSON. Both are nil if all
	// clients use the same form.
	As   func(junctor.Profile) []byte
	Take func(p junctor.Profile, arguments []byte) []byte

	// Conditional says that the server shows the tool only to clients that support
	// elicitation or sampling, or that it is not known yet whether it does. The tool
	// is listed for everybody; the server refuses clients without the capability.
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
// caller and are valid until Do returns: a backend that keeps a slice longer
// must copy it.
type Request struct {
	EntryPoint  junctor.EntryPoint // how the call came in; a backend that reads on behalf of its caller passes it on
	Address     netip.Addr         // of the client, likewise; invalid if it is not known
	CallID      string             // the same in all rounds of one call; it also identifies the task that a call becomes
	Kind        junctor.Kind
	Name        string // tool or prompt; resource URI; for completions the prompt's name or the template; the server's own id of a task
	Version     string // of a tool; never "" if the tool has versions
	Params      []byte // params as the caller sent them, exposed names and all
	Arguments   []byte // params.arguments, a JSON object, checked against the schema; nil when absent
	Meta        []byte // params._meta, as the caller sent it; hop-by-hop members included
	Unsubscribe bool   // with KindSubscription: end it
	Task        string // with operations on a task: its id, as its principal knows it
	Fresh       bool   // with KindResource: bypass caches
	Repeatable  bool   // with KindTool: the server is trusted and says that running it twice does no harm
	Wait        bool   // with KindTask: wait until it ends or asks for input
	Watch       bool   // with KindTask: report its changes from now on as EventTask
	Input       Input
	Caller      Caller
	Principal   *junctor.Principal

	// Idle is the limit of the time in which the server may be silent. The backend
	// restarts it with each progress notification, whether or not the caller requests
	// them; nil if nothing limits that time.
	Idle IdleLimit

	// Timing takes the phases of the call, which the backend writes until Do
	// returns; nil if nobody records them.
	Timing *junctor.Timing

	// Room is a buffer that the backend may read the answer into, and may grow. The
	// caller reuses it once it no longer needs the Result. nil means no buffer.
	Room *[]byte
}

// Input is the part of a request that a caller adds when it repeats a request
// that was answered with input_required.
type Input struct {
	Responses []byte // params.inputResponses: key -> result; nil when absent
	State     string // the requestState that the backend returned; the guard has removed its own wrapping
}

// Caller is what the client declared about itself for this request. Nothing of
// it is verified: use it for capabilities, never for policy.
type Caller struct {
	Protocol     string // protocol version, of either era
	Session      string // the client's session id; "" in the modern era
	Capabilities []byte // clientCapabilities, a JSON object; nil when not given
	Info         []byte // clientInfo; nil when not given
	LogLevel     string // "" means that the client requests no log messages
	Progress     bool   // the client requests progress notifications
	Tasks        bool   // the client accepts a task as the result of a tool call
	TaskOnly     bool   // the client accepts only a task: a legacy client sent params.task
}

// Sink takes the notifications that an operation sends while it runs. It may be
// called from any goroutine until Do returns.
type Sink interface {
	// Progress takes the params of a notifications/progress, a JSON object
	// without progressToken: the endpoint adds the caller's own.
	Progress(params []byte)
	// Log takes the params of a notifications/message. A backend should drop
	// messages below the caller's LogLevel; the endpoint filters again.
	Log(level string, params []byte)
}

// Result is the outcome of an operation that was not an error.
type Result struct {
	// Body is the result object as JSON, without resultType, ttlMs and
	// cacheScope. Those are the fields below, and each endpoint writes them in
	// the form of its era.
	Body    []byte
	IsError bool          // a tool ran and failed; Body says "isError":true as well
	Input   bool          // input_required: Body holds inputRequests, requestState or both
	Held    bool          // with Input: the call waits in this process and can continue only here
	Task    bool          // a tool call became a task: Body is a Task of the modern form, with ttlMs, under the server's own id
	TTL     time.Duration // how long the result may be cached
	Public  bool          // may be cached across callers
}

// EventKind is the kind of thing that changed.
type EventKind uint8

// Kinds of events that backends report.
const (
	EventChanged   EventKind = iota + 1 // Offer returns something else now
	EventUpdated                        // the resource at URI has new content
	EventAnnounced                      // the server says that lists changed, but Offer returns the same
	EventTask                           // the state of a task changed
)

// Event is a change that a backend reports.
type Event struct {
	Kind  EventKind
	URI   string // of EventUpdated
	Party string // of EventUpdated and EventTask: the Principal.ID that it concerns; "" means everybody
	Lists Lists  // of EventAnnounced
	Task  TaskState
}

// TaskState is the state of a task, without its result and without its requests
// for input.
type TaskState struct {
	ID      string // as its principal knows it
	Session string // of the client that began it; "" where it has none
	JSON    string // the Task of the modern form, under that id
}

// Lists is a set of list kinds. Resources includes resource templates.
type Lists struct{ Tools, Prompts, Resources bool }

// Any reports whether the set is not empty.
func (l Lists) Any() bool { return l != Lists{} }
