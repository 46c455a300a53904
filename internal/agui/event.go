package agui

import "encoding/json"

// Type is the type of an event.
type Type string

// Types of the events that Junctor sends.
const (
	RunStarted       Type = "RUN_STARTED"
	RunFinished      Type = "RUN_FINISHED"
	RunError         Type = "RUN_ERROR"
	TextStart        Type = "TEXT_MESSAGE_START"
	TextContent      Type = "TEXT_MESSAGE_CONTENT"
	TextEnd          Type = "TEXT_MESSAGE_END"
	CallStart        Type = "TOOL_CALL_START"
	CallArgs         Type = "TOOL_CALL_ARGS"
	CallEnd          Type = "TOOL_CALL_END"
	CallResult       Type = "TOOL_CALL_RESULT"
	ActivitySnapshot Type = "ACTIVITY_SNAPSHOT"
	ReasoningStart   Type = "REASONING_START"
	ReasoningMessage Type = "REASONING_MESSAGE_START"
	ReasoningContent Type = "REASONING_MESSAGE_CONTENT"
	ReasoningClose   Type = "REASONING_MESSAGE_END"
	ReasoningEnd     Type = "REASONING_END"
	SubagentStarted  Type = "SUBAGENT_STARTED"
	SubagentFinished Type = "SUBAGENT_FINISHED"
	SubagentError    Type = "SUBAGENT_ERROR"
	Custom           Type = "CUSTOM"
)

// Event is one event of a run. Members that its type does not have stay empty and
// are left out of the JSON: the protocol has no null.
type Event struct {
	Type      Type  `json:"type"`
	Timestamp int64 `json:"timestamp,omitempty"` // milliseconds

	ThreadID        string   `json:"threadId,omitempty"`
	RunID           string   `json:"runId,omitempty"`
	ProtocolVersion string   `json:"protocolVersion,omitempty"`
	Input           *Echo    `json:"input,omitempty"`
	Outcome         *Outcome `json:"outcome,omitempty"`
	Usage           []Usage  `json:"usage,omitempty"`

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
	Object json.RawMessage // instead of Text
	Given  bool            // distinguishes an empty text from none
}

// IsZero reports whether there is no content. encoding/json leaves it out then.
func (c Content) IsZero() bool { return !c.Given && c.Object == nil }

// MarshalJSON writes the object if there is one, otherwise the text.
func (c Content) MarshalJSON() ([]byte, error) {
	if c.Object != nil {
		return c.Object, nil
	}
	return json.Marshal(c.Text)
}

// UnmarshalJSON reads a text or an object.
func (c *Content) UnmarshalJSON(text []byte) error {
	c.Given = true
	if len(text) > 0 && text[0] == '"' {
		return json.Unmarshal(text, &c.Text)
	}
	c.Object = append(json.RawMessage(nil), text...)
	return nil
}

// Echo is the part of a run's input that other subscribers see: the person's
// message.
type Echo struct {
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

// OutcomeType says how a run, or a subagent's part of one, ended.
type OutcomeType string

// Outcomes. A run that waits is interrupted; the part of the subagent that made it
// wait is suspended.
const (
	Success   OutcomeType = "success"
	Interrupt OutcomeType = "interrupt"
	Cancelled OutcomeType = "cancelled"
	Suspended OutcomeType = "suspended"
)

// Outcome is how a run or a part ended, with the interrupts that it waits for.
type Outcome struct {
	Type         OutcomeType `json:"type"`
	Interrupts   []Waits     `json:"interrupts,omitempty"`
	InterruptIDs []string    `json:"interruptIds,omitempty"`
}

// Waits is an interrupt: a decision of a person that a run waits for.
type Waits struct {
	ID             string          `json:"id"` // referred to by Answer.Interrupt
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
