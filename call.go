package junctor

import "time"

// Kind is what a call does.
type Kind string

// Kinds of operations. Each passes the one pipeline.
const (
	KindTool         Kind = "tool"
	KindResource     Kind = "resource"
	KindPrompt       Kind = "prompt"
	KindCompletion   Kind = "completion"
	KindSubscription Kind = "subscription"
	KindTask         Kind = "task"        // looks at a task, or waits for it
	KindTaskUpdate   Kind = "task-update" // answers what a task asks
	KindTaskCancel   Kind = "task-cancel"
	KindServer       Kind = "server" // a server's own door, or a change to the servers: recorded when it is refused
	KindAgent        Kind = "agent"  // an agent's door: recorded when it is refused
)

// Door is where a call came in.
type Door string

// Doors that exist today.
const (
	DoorMCP   Door = "mcp"   // Streamable HTTP, both eras
	DoorSSE   Door = "sse"   // HTTP+SSE of 2024-11-05
	DoorStdio Door = "stdio" // junctor stdio
	DoorPlain Door = "plain" // /mcp/request
	DoorCall  Door = "call"  // /mcp/call, the bridge
	DoorAdmin Door = "admin" // admin API, and so the CLI and the console
	DoorView  Door = "view"  // a View's own request, and the reading of its page

	DoorTurn     Door = "turn"     // no door: an agent's own turn, which somebody talks to
	DoorDelivery Door = "delivery" // no door: an event's delivery
)

// Status is how a call ended.
type Status string

// Ends of calls. A refused call has one record only.
const (
	StatusRunning  Status = "running"
	StatusSuccess  Status = "success"
	StatusError    Status = "error" // ran, and failed
	StatusTimeout  Status = "timeout"
	StatusCanceled Status = "canceled"
	StatusDenied   Status = "denied"  // refused: not allowed, or not to be seen
	StatusLimited  Status = "limited" // refused: over a limit
	StatusInvalid  Status = "invalid" // refused: wrong arguments, unknown name or version
	StatusLapsed   Status = "lapsed"  // asked its client for input that never came
)

// DigestedResult is how many bytes of a result its digest covers, from the first:
// a tool must not make an instance hash megabytes at its leisure.
const DigestedResult = 16 << 10

// Call is one attempt to use something, by whomever, through whichever door.
type Call struct {
	ID       string        `json:"id"`
	Tenant   TenantID      `json:"-"`
	Kind     Kind          `json:"kind"`
	Door     Door          `json:"door"`
	Server   string        `json:"server,omitempty"`
	Name     string        `json:"name"` // the server's own name, or what was asked for where nothing was found
	Version  string        `json:"version,omitempty"`
	Issuer   string        `json:"issuer"`
	Subject  string        `json:"subject"`
	User     string        `json:"user,omitempty"`   // the person who called or was called for, by id
	Agent    string        `json:"agent,omitempty"`  // the agent that called, or that somebody acted as
	Client   string        `json:"client,omitempty"` // the program that the person let call for them by OAuth, by its id
	View     string        `json:"view,omitempty"`   // the View that asked, by its id
	Room     string        `json:"-"`                // the room in which an agent called, by its id: its members read the payload
	Status   Status        `json:"status"`
	Code     Code          `json:"code,omitempty"`
	Reason   string        `json:"reason,omitempty"`
	Start    time.Time     `json:"start"`
	Duration time.Duration `json:"duration_ns,omitempty"`
	BytesIn  int           `json:"bytes_in"`
	BytesOut int           `json:"bytes_out,omitempty"`
	Timing   Timing        `json:"timing,omitzero"` // once it has ended; kept with what was said, not in the journal

	// Restricted says that what belongs to the payload was left out for a caller who
	// may not read it (CallAccess). It is never stored.
	Restricted bool `json:"restricted,omitempty"`

	// BLAKE3 of the arguments, and of what DigestedResult says of the result; zero
	// where there is none.
	ArgsDigest   [32]byte `json:"-"`
	ResultDigest [32]byte `json:"-"`

	// Keeper is for whoever keeps what was said: nil where the call was made with
	// no credentials.
	Keeper Keeper `json:"-"`
}

// Timing says where the time of a call went. Each moment is counted from the
// call's start; what is not known is zero.
type Timing struct {
	Admitted  time.Duration `json:"admitted_ns,omitempty"`  // it was through every gate, and its attempt recorded
	Connected time.Duration `json:"connected_ns,omitempty"` // there was a connection to the server
	Answered  time.Duration `json:"answered_ns,omitempty"`  // the server had answered, or failed
	Failed    []Attempt     `json:"failed,omitempty"`       // what was tried before that, and failed

	Since time.Time `json:"-"` // the call's start, for whoever fills in the rest
}

// IsZero says that nothing is known.
func (t Timing) IsZero() bool {
	return t.Admitted == 0 && t.Connected == 0 && t.Answered == 0 && len(t.Failed) == 0
}

// Elapsed is how long ago the call started. It and what follows are for whoever
// asks a server; a nil Timing takes and knows nothing.
func (t *Timing) Elapsed() time.Duration {
	if t == nil {
		return 0
	}
	return time.Since(t.Since)
}

// Connect says that there is a connection.
func (t *Timing) Connect() {
	if t != nil {
		t.Connected = t.Elapsed()
	}
}

// Answer says that the server has answered, or failed.
func (t *Timing) Answer() {
	if t != nil {
		t.Answered = t.Elapsed()
	}
}

// Again says that what began at a moment failed so, and is tried again.
func (t *Timing) Again(at time.Duration, code Code) {
	if t != nil {
		t.Failed = append(t.Failed, Attempt{At: at, Took: t.Answered - at, Code: code})
		t.Connected, t.Answered = 0, 0
	}
}

// Take takes over what another knows of the server's part.
func (t *Timing) Take(o *Timing) {
	if t != nil && o != nil {
		t.Connected, t.Answered, t.Failed = o.Connected, o.Answered, o.Failed
	}
}

// Attempt is one attempt to have a server answer a call, which failed and was
// made again.
type Attempt struct {
	At   time.Duration `json:"at_ns"` // since the call's start
	Took time.Duration `json:"took_ns"`
	Code Code          `json:"code"`
}

// Keeper knows the credentials that calls are made with, so that what was said
// can be kept without them. The other side may have repeated them.
type Keeper interface {
	Secrets() []string
}

// Keepers is a backend whose callers have credentials of their own.
type Keepers interface {
	// KeeperOf knows those that the calls of p are made with; nil where there are
	// none.
	KeeperOf(p *Principal) Keeper
}
