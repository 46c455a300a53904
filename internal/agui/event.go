package agui

import "encoding/json"

// EventType is the type of an event.
type EventType string

// Types of the events that Junctor sends.
const (
	RunStarted       EventType = "RUN_STARTED"
	RunFinished      EventType = "RUN_FINISHED"
	RunError         EventType = "RUN_ERROR"
	TextStart        EventType = "TEXT_MESSAGE_START"
	TextContent      EventType = "TEXT_MESSAGE_CONTENT"
	TextEnd          EventType = "TEXT_MESSAGE_END"
	CallStart        EventType = "TOOL_CALL_START"
	CallArgs         EventType = "TOOL_CALL_ARGS"
	CallEnd          EventType = "TOOL_CALL_END"
	CallResult       EventType = "TOOL_CALL_RESULT"
	ActivitySnapshot EventType = "ACTIVITY_SNAPSHOT"
	ReasoningStart   EventType = "REASONING_START"
	ReasoningMessage EventType = "REASONING_MESSAGE_START"
	ReasoningContent EventType = "REASONING_MESSAGE_CONTENT"
	ReasoningClose   EventType = "REASONING_MESSAGE_END"
	ReasoningEnd     EventType = "REASONING_END"
	SubagentStarted  EventType = "SUBAGENT_STARTED"
	SubagentFinished EventType = "SUBAGENT_FINISHED"
	SubagentError    EventType = "SUBAGENT_ERROR"
	Custom           EventType = "CUSTOM"
)

// Event is one event of a run. Members that its type does not have stay empty and
// are left out of the JSON: the protocol has no null.
type Event struct {
	Type      EventType `json:"type"`
	Timestamp int64     `json:"timestamp,omitempty"` // milliseconds

	ThreadID        string     `json:"threadId,omitempty"`
	RunID           string     `json:"runId,omitempty"`
	ProtocolVersion string     `json:"protocolVersion,omitempty"`
	Input           *InputEcho `json:"input,omitempty"`
	Outcome         *Outcome   `json:"outcome,omitempty"`
	Usage           []Usage    `json:"usage,omitempty"`

	SubagentRunID       string `json:"subagentRunId,omitempty"`
	ParentSubagentRunID string `json:"parentSubagentRunId,omitempty"`
	ParentToolCallID    string `json:"parentToolCallId,omitempty"`
	Name                string `json:"name,omitempty"` // of a subagent, a speaker or a custom event

	MessageID       string  `json:"messageId,omitempty"`
	ParentMessageID string  `json:"parentMessageId,omitempty"`
	Role            string  `json:"role,omitempty"`
	Delta           *string `json:"delta,omitempty"` // a pointer, because an empty delta is sent

	ToolCallID   string  `json:"toolCallId,omitempty"`
	ToolCallName string  `json:"toolCallName,omitempty"`
	Content      Content `json:"content,omitzero"`

	ActivityType string          `json:"activityType,omitempty"`
	Value        json.RawMessage `json:"value,omitempty"`
	Message      *string         `json:"message,omitempty"` // text of an error
	Code         string          `json:"code,omitempty"`
}

// Content is the text of a tool's result, or the object of an activity.
type Content struct {
	Text   string
	Object json.RawMessage // instead of DecodeText
	IsSet  bool            // distinguishes an empty text from none
}

// IsZero reports whether there is no content. encoding/json leaves it out then.
func (c Content) IsZero() bool { return !c.IsSet && c.Object == nil }

// MarshalJSON writes the object if there is one, otherwise the text.
func (c Content) MarshalJSON() ([]byte, error) {
	if c.Object != nil {
		return c.Object, nil
	}
	return json.Marshal(c.Text)
}

// UnmarshalJSON reads a text or an object.
func (c *Content) UnmarshalJSON(text []byte) error {
	c.IsSet = true
	if len(text) > 0 && text[0] == '"' {
		return json.Unmarshal(text, &c.Text)
	}
	c.Object = append(json.RawMessage(nil), text...)
	return nil
}

// InputEcho is the part of a run's input that other subscribers see: the person's
// message.
type InputEcho struct {
	ThreadID string        `json:"threadId"`
	RunID    string        `json:"runId"`
	Messages []EchoMessage `json:"messages"`
}

// EchoMessage is a message of a person.
type EchoMessage struct {
	ID      string `json:"id"`
	Role    string `json:"role"`
	Name    string `json:"name,omitempty"`
	Content string `json:"content"`
}

// OutcomeType is how a run, or a subagent's part of one, ended.
type OutcomeType string

// Outcomes. A run that waits is interrupted; the part of the subagent that made it
// wait is suspended.
const (
	OutcomeSuccess   OutcomeType = "success"
	OutcomeInterrupt OutcomeType = "interrupt"
	OutcomeCancelled OutcomeType = "cancelled"
	OutcomeSuspended OutcomeType = "suspended"
)

// Outcome is how a run or a part ended, with the interrupts that it waits for.
type Outcome struct {
	Type         OutcomeType        `json:"type"`
	Interrupts   []PendingInterrupt `json:"interrupts,omitempty"`
	InterruptIDs []string           `json:"interruptIds,omitempty"`
}

// PendingInterrupt is an interrupt: a decision of a person that a run waits for.
type PendingInterrupt struct {
	ID             string          `json:"id"` // referred to by InterruptAnswer.InterruptID
	Reason         string          `json:"reason"`
	Message        string          `json:"message,omitempty"`
	ToolCallID     string          `json:"toolCallId,omitempty"`
	SubagentRunID  string          `json:"subagentRunId,omitempty"`
	ResponseSchema json.RawMessage `json:"responseSchema,omitempty"` // JSON Schema of the decision
	Metadata       json.RawMessage `json:"metadata,omitempty"`
}

// Usage counts the tokens of a run.
type Usage struct {
	InputTokens  int `json:"inputTokens"`
	OutputTokens int `json:"outputTokens"`
	TotalTokens  int `json:"totalTokens"`
}
