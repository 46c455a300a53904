package agent

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/a2ui"
)

// Provider is a model, or what stands in for one.
type Provider interface {
	// Stream answers a request piece by piece. It ends soon after its context
	// does. An error is the last thing that it gives; a *FaultError says whether
	// asking again may help. Calls count only if the stream ends without one.
	Stream(ctx context.Context, r Request) iter.Seq2[Piece, error]
}

// Request is what a provider is asked.
type Request struct {
	Instructions string
	Messages     []Message
	Tools        []Tool
	MaxTokens    int    // of the answer, at most
	Model        string // what the other side calls it
	Apps         bool   // as in Turn
}

// Role is who says a message.
type Role string

// Roles of messages.
const (
	RoleUser      Role = "user"      // a person, or another agent
	RoleAssistant Role = "assistant" // the agent itself
	RoleTool      Role = "tool"      // what came of its calls
)

// Message is one part of a story. Its JSON form is for keeping.
type Message struct {
	Role     Role            `json:"role"`
	Name     string          `json:"name,omitempty"` // of the speaker, where there are several
	Text     string          `json:"text,omitempty"`
	Calls    []Call          `json:"calls,omitempty"`    // of the assistant
	Results  []Result        `json:"results,omitempty"`  // of tools
	Surfaces []a2ui.Surface  `json:"surfaces,omitempty"` // of the assistant, or that results brought
	Action   *a2ui.Action    `json:"action,omitempty"`   // of a user, on a surface; Text says it in words
	Thinking json.RawMessage `json:"thinking,omitempty"` // what the provider wants back as it gave it
}

// Tool is one that may be called.
type Tool struct {
	Name        string          `json:"name"` // as the model knows it: server__tool
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"` // of the arguments
	ReadOnly    bool            `json:"read_only"`        // it changes nothing, as its server says, which is believed, or the operator
	Digest      string          `json:"digest,omitempty"` // of its definition: it changes when the tool does
	Server      string          `json:"server,omitempty"`
	Own         string          `json:"tool,omitempty"` // the server's own name
	View        string          `json:"view,omitempty"` // the ui:// page that it brings, by the server's own URI
}

// Call is one that the model wants made.
type Call struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty"` // a JSON object

	// Digest is that of the tool which a call that waits was for when a person was
	// asked; "" for other calls.
	Digest string `json:"digest,omitempty"`
}

// Result is what came of a call.
type Result struct {
	CallID  string          `json:"call_id"`
	Content json.RawMessage `json:"content,omitempty"` // the CallToolResult as it came; nil if there is none
	Text    string          `json:"text"`              // what the model reads
	IsError bool            `json:"is_error,omitempty"`
	Denied  bool            `json:"denied,omitempty"` // a person said no
	Record  string          `json:"record,omitempty"` // id of the call's record; "" if it never began
	Server  string          `json:"server,omitempty"`
	Tool    string          `json:"tool,omitempty"` // the server's own name
	View    string          `json:"view,omitempty"` // the ui:// page that it brings
}

// Piece is a part of an answer. Exactly one member is set.
type Piece struct {
	Text     string
	Thinking string          // for people to see; not part of the answer
	Args     *ArgsDelta      // of a call that is being written
	Call     *Call           // whole
	Surface  *a2ui.Surface   // to be shown
	Usage    *Usage          // so far, in this answer
	Stop     string          // why the model stopped: StopLength, or its own word
	Opaque   json.RawMessage // to be kept with the message, as Message.Thinking
}

// StopLength is a Stop: the answer is longer than it may be.
const StopLength = "length"

// ArgsDelta is a part of a call's arguments, before the call is whole. The first
// of a call has its name, and may be empty.
type ArgsDelta struct {
	ID, Name, Delta string
}

// Usage counts tokens.
type Usage struct {
	Input  int `json:"input"`
	Output int `json:"output"`
}

// Add adds another's counts.
func (u *Usage) Add(v Usage) { u.Input += v.Input; u.Output += v.Output }

// Total is both together.
func (u Usage) Total() int { return u.Input + u.Output }

// FaultError is why a provider did not answer.
type FaultError struct {
	Message string        // what went wrong, where, what to do
	Again   bool          // asking again may help
	After   time.Duration // when the other side wants to be asked again; 0 where it does not say
	Cause   error
}

func (f *FaultError) Error() string { return f.Message }

func (f *FaultError) Unwrap() error { return f.Cause }

// Tools is what one agent may use, through the pipeline as that agent. Its
// methods may be used at the same time.
type Tools interface {
	// List gives what the model is told of.
	List(ctx context.Context) ([]Tool, error)
	// Resolve says which tool a call of a listed one is really for: itself, but
	// for the tool that calls others by name. An error says what the agent may
	// use instead.
	Resolve(ctx context.Context, c Call) (Tool, error)
	// Call makes the call. It ends soon after its context does.
	Call(ctx context.Context, c Call) Result
	// Refuse records that a call was not made, and why, as a client's call that is
	// refused is recorded. It gives the id of the record; "" where there is none.
	Refuse(ctx context.Context, c Call, why error) (record string)
}

// NoTools is what an agent has that only talks.
type NoTools struct{}

// List gives none.
func (NoTools) List(context.Context) ([]Tool, error) { return nil, nil }

// Resolve finds none.
func (NoTools) Resolve(_ context.Context, c Call) (Tool, error) {
	return Tool{}, junctor.Errorf(junctor.CodeNotFound, "there is no tool %q: this agent has none", c.Name)
}

// Call makes none.
func (NoTools) Call(_ context.Context, c Call) Result {
	return Result{CallID: c.ID, IsError: true, Text: "there are no tools"}
}

// Refuse records nothing.
func (NoTools) Refuse(context.Context, Call, error) string { return "" }

// Limits bound a run; what is zero is the default.
type Limits = junctor.TurnLimits

// Turn is what one run needs.
type Turn struct {
	Agent        string
	Provider     Provider
	Model        string
	Instructions string
	Limits       Limits
	Tools        Tools // nil: none

	// Messages is the story so far. Where it ends with calls that have no
	// result, of a run that waited, Decisions answers them.
	Messages  []Message
	Decisions map[string]Decision // by call id

	// FreshIDs gives every call an id of our own: a provider's may be one that a
	// call beyond this story has.
	FreshIDs bool

	// Apps says that whoever listens shows the pages that tools bring, in frames.
	Apps bool

	// NeedsApproval says whether a person must allow a call first. It is told
	// which tool the call is really for. nil: never.
	NeedsApproval func(Tool, Call) bool
}

// Decision is a person's word on a call.
type Decision struct {
	Allow  bool
	Reason string // of a no; may be empty

	// Digest is that of the tool that the person was asked about. Where the tool
	// has another by now, the call waits again. "" is any.
	Digest string
}

// EventKind says what happened.
type EventKind string

// What happens in a run. Text comes between its start and end, a call's
// arguments between the call's; results come in any order. A call that began and
// did not end, or that has no result when the run is over and does not wait, was
// not made.
const (
	EventStep      EventKind = "step"       // the provider is asked; Step counts from 1
	EventTextStart EventKind = "text-start" // ID is the message's
	EventText      EventKind = "text"       // Text is the next part
	EventTextEnd   EventKind = "text-end"
	EventThinking  EventKind = "thinking"   // Text is the next part
	EventCallStart EventKind = "call-start" // ID is the call's, Call has ID and Name
	EventCallArgs  EventKind = "call-args"  // Text is the next part of the arguments
	EventCallEnd   EventKind = "call-end"   // Call is whole, Tool what it is for where that is known
	EventResult    EventKind = "result"     // Result is set
	EventSurface   EventKind = "surface"    // Surface is to be shown; ID is the call's whose result brought it
	EventUsage     EventKind = "usage"      // Usage of the answer that just ended
	EventRetry     EventKind = "retry"      // Text says why, Wait how long
)

// Event is one thing that happened.
type Event struct {
	Kind    EventKind
	ID      string // of the message or call
	Text    string
	Call    *Call
	Tool    *Tool
	Result  *Result
	Surface *a2ui.Surface
	Usage   *Usage
	Step    int
	Wait    time.Duration
}

// Outcome is how a run ended.
type Outcome string

// Outcomes.
const (
	Done      Outcome = "done"
	Limit     Outcome = "limit"     // Reason says which; a new run with the same story goes on
	Waiting   Outcome = "waiting"   // End.Waiting wants a person's word; a new run with Decisions goes on
	Cancelled Outcome = "cancelled" // by whoever held the context
	Failed    Outcome = "failed"    // Reason says why
)

// End is how a run ended, and what it leaves.
type End struct {
	Outcome  Outcome
	Reason   string    // for people; "" when done
	Messages []Message // new ones, to be kept behind those of the turn
	Waiting  []Call
	Usage    Usage
	Turns    int // how often the provider was asked
	Calls    int // how many calls were made
}

// Text is what the agent said in the end: its last words of the run.
func (e End) Text() string {
	for _, m := range slices.Backward(e.Messages) {
		if m.Role == RoleAssistant && m.Text != "" {
			return m.Text
		}
	}
	return ""
}

// Surfaces is what the agent showed in the run: of each id the last.
func (e End) Surfaces() []a2ui.Surface {
	var out []a2ui.Surface
	for _, m := range e.Messages {
		for _, s := range m.Surfaces {
			out = a2ui.Put(out, s)
		}
	}
	return out
}
