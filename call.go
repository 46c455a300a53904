package junctor

import "time"

// Kind is the kind of operation that a call performs.
type Kind string

// The kinds of operations. All of them pass the pipeline of guard.
const (
	KindTool         Kind = "tool"
	KindResource     Kind = "resource"
	KindPrompt       Kind = "prompt"
	KindCompletion   Kind = "completion"
	KindSubscription Kind = "subscription"
	KindTask         Kind = "task"        // reads the state of a task, or waits for its result
	KindTaskUpdate   Kind = "task-update" // answers an input request of a task
	KindTaskCancel   Kind = "task-cancel"
	KindServer       Kind = "server" // the endpoint of one server, or a change to servers; recorded only if refused
	KindAgent        Kind = "agent"  // the endpoint of an agent; recorded only if refused

	// KindToolList is a list of tools that a client or a model received. It is no call: it
	// has a record in the journal, but no status, and no list of calls has it.
	KindToolList Kind = "tool-list"
)

// EstimateTokens returns about how many tokens of a model's context a JSON text of so many
// bytes uses: one for each four bytes.
func EstimateTokens(bytes int) int { return (bytes + 3) / 4 }

// EntryPoint is how a call came in.
type EntryPoint string

// The entry points.
const (
	EntryMCP     EntryPoint = "mcp"   // Streamable HTTP, both eras
	EntrySSE     EntryPoint = "sse"   // HTTP+SSE of 2024-11-05
	EntryStdio   EntryPoint = "stdio" // junctor stdio
	EntryPlain   EntryPoint = "plain" // /mcp/request
	EntryBridge  EntryPoint = "call"  // /mcp/call, the bridge
	EntryAdmin   EntryPoint = "admin" // admin API, and so the CLI and the console
	EntryAppView EntryPoint = "view"  // a request of an App view, or reading its page

	EntryTurn     EntryPoint = "turn"     // the turn of an agent
	EntryDelivery EntryPoint = "delivery" // the delivery of an event
)

// Status is how a call ended.
type Status string

// Ends of calls. A refused call has one record only.
const (
	StatusRunning  Status = "running"
	StatusSuccess  Status = "success"
	StatusError    Status = "error" // the call was made and failed
	StatusTimeout  Status = "timeout"
	StatusCanceled Status = "canceled"
	StatusDenied   Status = "denied"  // refused: not allowed, or not visible to the caller
	StatusLimited  Status = "limited" // refused: over a limit
	StatusInvalid  Status = "invalid" // refused: wrong arguments, unknown name or version
	StatusLapsed   Status = "lapsed"  // the client never answered the request for input
)

// Statuses returns all ends of calls.
func Statuses() []Status {
	return []Status{
		StatusRunning, StatusSuccess, StatusError, StatusTimeout, StatusCanceled, StatusDenied, StatusLimited, StatusInvalid, StatusLapsed,
	}
}

// DigestedResult is how many leading bytes of a result its digest covers.
// Without a bound, a tool could make the instance hash megabytes for every
// call.
const DigestedResult = 16 << 10

// Call is one attempt to use a tool, resource or prompt: the record that the
// journal and the history store.
type Call struct {
	ID         string        `json:"id"`
	Tenant     TenantID      `json:"-"`
	Kind       Kind          `json:"kind"`
	EntryPoint EntryPoint    `json:"entry_point"`
	Server     string        `json:"server,omitempty"`
	Name       string        `json:"name"` // name at the server, or the requested name if nothing has it
	Version    string        `json:"version,omitempty"`
	Issuer     string        `json:"issuer"`
	Subject    string        `json:"subject"`
	User       string        `json:"user,omitempty"`   // id of the user who called, or for whom an agent or program called
	Agent      string        `json:"agent,omitempty"`  // the agent that called, or whose identity the caller used
	Client     string        `json:"client,omitempty"` // id of the OAuth client that the user let call
	View       string        `json:"view,omitempty"`   // id of the App view that made the call
	Room       string        `json:"-"`                // id of the room in which an agent called; its members may read the payload
	Status     Status        `json:"status"`
	Code       Code          `json:"code,omitempty"`
	Reason     string        `json:"reason,omitempty"`
	Start      time.Time     `json:"start"`
	Duration   time.Duration `json:"duration_ns,omitempty"`
	BytesIn    int           `json:"bytes_in"`
	BytesOut   int           `json:"bytes_out,omitempty"`
	Timing     Timing        `json:"timing,omitzero"` // set when the call has ended; stored in the history, not in the journal

	// Restricted is set on a copy whose payload members were removed for a
	// reader who may not see them (CallAccess.Limit). It is never stored.
	Restricted bool `json:"restricted,omitempty"`

	// BLAKE3 of the arguments, and of the first DigestedResult bytes of the
	// result; zero if there is none.
	ArgsDigest   [32]byte `json:"-"`
	ResultDigest [32]byte `json:"-"`

	// What rules can read of the call, and what they did with it. Like Timing, both are
	// not in the journal.
	Facts  CallFacts   `json:"-"`
	Policy []PolicyHit `json:"-"`

	// Keeper supplies the secrets to redact from the stored payload. It is nil
	// if the call used no credentials.
	Keeper Keeper `json:"-"`
}

// Timing is where the time of a call went. Each moment is counted from the
// start of the call; an unknown moment is zero. The methods accept a nil Timing
// and then record nothing, so that backends need no check.
type Timing struct {
	Admitted  time.Duration `json:"admitted_ns,omitempty"`  // all checks passed and the attempt is in the journal
	Connected time.Duration `json:"connected_ns,omitempty"` // a connection to the server was open
	Answered  time.Duration `json:"answered_ns,omitempty"`  // the server had answered or failed
	Failed    []Attempt     `json:"failed,omitempty"`       // failed attempts before the last one

	Since time.Time `json:"-"` // start of the call, from which backends count
}

// IsZero reports whether nothing was measured.
func (t Timing) IsZero() bool {
	return t.Admitted == 0 && t.Connected == 0 && t.Answered == 0 && len(t.Failed) == 0
}

// Elapsed returns the time since the call started.
func (t *Timing) Elapsed() time.Duration {
	if t == nil {
		return 0
	}
	return time.Since(t.Since)
}

// Connect records that a connection is open.
func (t *Timing) Connect() {
	if t != nil {
		t.Connected = t.Elapsed()
	}
}

// Answer records that the server has answered or failed.
func (t *Timing) Answer() {
	if t != nil {
		t.Answered = t.Elapsed()
	}
}

// Again records a failed attempt that began at the given moment and is about to
// be repeated. The moments of the last attempt are cleared.
func (t *Timing) Again(at time.Duration, code Code) {
	if t != nil {
		t.Failed = append(t.Failed, Attempt{At: at, Took: t.Answered - at, Code: code})
		t.Connected, t.Answered = 0, 0
	}
}

// Take copies the measurements of the server's part from another Timing.
func (t *Timing) Take(o *Timing) {
	if t != nil && o != nil {
		t.Connected, t.Answered, t.Failed = o.Connected, o.Answered, o.Failed
	}
}

// Attempt is one failed attempt to get an answer from a server, after which the
// call was made again.
type Attempt struct {
	At   time.Duration `json:"at_ns"` // since the call's start
	Took time.Duration `json:"took_ns"`
	Code Code          `json:"code"`
}

// Keeper knows the credentials that a call is made with. The history removes
// them from payloads, because a server may repeat them in its answer.
type Keeper interface {
	Secrets() []string
}

// Keepers is implemented by backends that call with credentials of the user.
type Keepers interface {
	// KeeperFor returns the keeper of the credentials that calls of p are made
	// with; nil if there are none.
	KeeperFor(p *Principal) Keeper
}
