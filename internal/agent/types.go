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

// Provider is a model, or something that takes its place.
type Provider interface {
	// Stream answers a request piece by piece. It returns soon after its
	// context ends. An error is always the last item; a *ProviderError states
	// whether a retry may help. The calls of an answer count only if the stream
	// ends without an error.
	Stream(ctx context.Context, r Request) iter.Seq2[AnswerChunk, error]
}

// Request is one question to a provider.
type Request struct {
	Instructions string
	Messages     []Message
	Tools        []Tool
	MaxTokens    int    // limit of the answer
	Model        string // the provider's own name of the model
	ShowsApps    bool   // as in Turn

	Catalogs *a2ui.Catalogs // as in Turn
}

// Role is the author of a message.
type Role string

// Roles of messages.
const (
	RoleUser      Role = "user"      // a person, or another agent
	RoleAssistant Role = "assistant" // the agent itself
	RoleTool      Role = "tool"      // results of its calls
)

// Message is one message of a conversation. Its JSON form is the stored form.
type Message struct {
	Role     Role            `json:"role"`
	Name     string          `json:"name,omitempty"` // of the speaker, in a conversation with several
	Text     string          `json:"text,omitempty"`
	Calls    []Call          `json:"calls,omitempty"`    // of the assistant
	Results  []Result        `json:"results,omitempty"`  // of tools
	Surfaces []a2ui.Surface  `json:"surfaces,omitempty"` // shown by the assistant, or contained in results
	Action   *a2ui.Action    `json:"action,omitempty"`   // of a user on a surface; Text describes it
	Thinking json.RawMessage `json:"thinking,omitempty"` // opaque state that the provider expects back unchanged
}

// Tool is a tool that the agent may call.
type Tool struct {
	Name         string          `json:"name"` // as the model knows it: server__tool
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description,omitempty"`
	Schema       json.RawMessage `json:"schema,omitempty"` // of the arguments
	ReadOnly     bool            `json:"read_only"`        // changes nothing, according to a trusted server or the operator
	Digest       string          `json:"digest,omitempty"` // of the tool's definition; changes with it
	Server       string          `json:"server,omitempty"`
	OriginalName string          `json:"tool,omitempty"` // the server's own name
	ViewURI      string          `json:"view,omitempty"` // ui:// resource of its App view; the server's own URI
}

// Call is a tool call that the model requests.
type Call struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty"` // a JSON object

	// Digest is the digest of the tool at the time when a person was asked to
	// approve the call. It is "" for calls that do not wait.
	Digest string `json:"digest,omitempty"`
}

// Result is the result of a call.
type Result struct {
	CallID  string          `json:"call_id"`
	Content json.RawMessage `json:"content,omitempty"` // the server's CallToolResult, unchanged; nil if there is none
	Text    string          `json:"text"`              // what the model reads
	IsError bool            `json:"is_error,omitempty"`
	Denied  bool            `json:"denied,omitempty"` // a person denied the call
	Record  string          `json:"record,omitempty"` // id of the call's record; "" if the call never started
	Server  string          `json:"server,omitempty"`
	Tool    string          `json:"tool,omitempty"` // the server's own name
	ViewURI string          `json:"view,omitempty"` // ui:// resource of its App view
}

// AnswerChunk is a part of a provider's answer. Exactly one member is set.
type AnswerChunk struct {
	Text       string
	Thinking   string          // reasoning to show to people; not part of the answer
	Args       *ArgsDelta      // arguments of a call that is still streaming
	Call       *Call           // a complete call
	Surface    *a2ui.Surface   // a surface to show
	Usage      *Usage          // of this answer so far; replaces the former value
	StopReason string          // why the model stopped: StopLength, or the model's own term
	Opaque     json.RawMessage // to be stored with the message, as Message.Thinking
}

// StopLength is the value of AnswerChunk.StopReason for an answer that reached its token limit.
const StopLength = "length"

// ArgsDelta is a part of a call's arguments, before the call is complete. The first
// delta of a call has its name, and may have no text.
type ArgsDelta struct {
	ID, Name, Delta string
}

// Usage counts tokens.
type Usage struct {
	Input  int `json:"input"`
	Output int `json:"output"`
}

// Add adds the counts of v.
func (u *Usage) Add(v Usage) { u.Input += v.Input; u.Output += v.Output }

// Total returns the sum of input and output tokens.
func (u Usage) Total() int { return u.Input + u.Output }

// ProviderError is the reason why a provider did not answer.
type ProviderError struct {
	Message    string        // what failed, where, and what to do
	Retryable  bool          // a retry may help
	RetryAfter time.Duration // how long the provider asks to wait; 0 if it does not say
	Cause      error
}

// Error returns the message without the cause, which may contain internal details.
func (f *ProviderError) Error() string { return f.Message }

// Unwrap returns the cause, which may be nil.
func (f *ProviderError) Unwrap() error { return f.Cause }

// Tools is the set of tools that one agent may call. Every call passes the pipeline
// as that agent. The methods are safe for concurrent use.
type Tools interface {
	// List returns the tools that the model is offered.
	List(ctx context.Context) ([]Tool, error)
	// Resolve returns the tool that a call is for. That is the named tool itself,
	// except for the tool that calls others by name. The text of an error tells the
	// model which tools it may use instead.
	Resolve(ctx context.Context, c Call) (Tool, error)
	// Call makes the call. It returns soon after its context ends. Failures are
	// results with IsError set.
	Call(ctx context.Context, c Call) Result
	// Refuse records that a call was not made, and why, like a refused call of a
	// client. It returns the id of the record, or "" if there is none.
	RecordRefusal(ctx context.Context, c Call, why error) (record string)
}

// NoTools is the empty set of tools, for an agent that only talks.
type NoTools struct{}

// List returns no tools.
func (NoTools) List(context.Context) ([]Tool, error) { return nil, nil }

// Resolve always fails.
func (NoTools) Resolve(_ context.Context, c Call) (Tool, error) {
	return Tool{}, junctor.Errorf(junctor.CodeNotFound, "unknown tool %q: this agent has no tools", c.Name)
}

// Call always returns an error result.
func (NoTools) Call(_ context.Context, c Call) Result {
	return Result{CallID: c.ID, IsError: true, Text: "this agent has no tools"}
}

// RecordRefusal records nothing.
func (NoTools) RecordRefusal(context.Context, Call, error) string { return "" }

// Limits bound a turn. A zero member means the default.
type Limits = junctor.TurnLimits

// Turn is the input of Run.
type Turn struct {
	Agent        string
	Provider     Provider
	Model        string
	Instructions string
	Limits       Limits
	Tools        Tools // nil means no tools

	// Messages is the conversation so far. If it ends with calls that have no
	// result, because a former turn waited there, Decisions answers them.
	Messages  []Message
	Decisions map[string]Decision // by call id

	// FreshIDs replaces the ids of all calls. A provider can reuse an id of a call
	// that is not part of this conversation, and a room identifies calls by id.
	FreshIDs bool

	// Apps is set if the listener can show the App views of tools.
	ShowsApps bool

	// Catalogs is the components that the agent may show. nil means that they are
	// not known, and that no surface is left out.
	Catalogs *a2ui.Catalogs

	// NeedsApproval reports whether a person must approve a call first. The tool is
	// the one that Resolve returned. nil means never.
	NeedsApproval func(Tool, Call) bool
}

// Decision is a person's decision on a call.
type Decision struct {
	Allow  bool
	Reason string // of a denial; may be empty

	// Digest is the digest of the tool that the person was asked about. If the tool
	// has another one by now, the call waits again. "" matches every tool.
	Digest string
}

// EventKind is the kind of an event.
type EventKind string

// Events of a turn. Text comes between its start and end, and the arguments of a
// call between the start and end of the call. Results come in any order. A call
// that started and did not end was not made, and neither was a call that has no
// result when the turn is over and does not wait.
const (
	EventStep      EventKind = "step"       // the provider is asked; Step counts from 1
	EventTextStart EventKind = "text-start" // ID is the message's
	EventText      EventKind = "text"       // Text is the next part
	EventTextEnd   EventKind = "text-end"
	EventThinking  EventKind = "thinking"   // Text is the next part
	EventCallStart EventKind = "call-start" // ID is the call's, Call has ID and Name
	EventCallArgs  EventKind = "call-args"  // Text is the next part of the arguments
	EventCallEnd   EventKind = "call-end"   // Call is complete; Tool is set if the call could be resolved
	EventResult    EventKind = "result"     // Result is set
	EventSurface   EventKind = "surface"    // Surface is to be shown; ID is the call whose result contains it, or ""
	EventUsage     EventKind = "usage"      // Usage of the answer that just ended
	EventRetry     EventKind = "retry"      // Text is the reason, Wait the pause
)

// Event is one event of a turn. Its kind determines which other members are
// set.
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

// Outcome is how a turn ended.
type Outcome string

// Outcomes.
const (
	OutcomeDone      Outcome = "done"
	OutcomeLimit     Outcome = "limit"     // Reason names it; a new turn with the same conversation continues
	OutcomeWaiting   Outcome = "waiting"   // the calls in TurnResult.Waiting need an approval; a new turn with Decisions continues
	OutcomeCancelled Outcome = "cancelled" // the caller's context ended
	OutcomeFailed    Outcome = "failed"    // Reason is set
)

// TurnResult is the result of a turn.
type TurnResult struct {
	Outcome  Outcome
	Reason   string    // for people; "" when done
	Messages []Message // new messages, to be stored behind those of the turn
	Waiting  []Call
	Usage    Usage
	Requests int // requests to the provider
	Calls    int // calls made
}

// Text returns the last text of the agent in this turn; "" if there was none.
func (e TurnResult) Text() string {
	for _, m := range slices.Backward(e.Messages) {
		if m.Role == RoleAssistant && m.Text != "" {
			return m.Text
		}
	}
	return ""
}

// Surfaces returns the surfaces that the agent showed in this turn. A later surface
// replaces a former one with the same id.
func (e TurnResult) Surfaces() []a2ui.Surface {
	var out []a2ui.Surface
	for _, m := range e.Messages {
		for _, s := range m.Surfaces {
			out = a2ui.PutSurface(out, s)
		}
	}
	return out
}
