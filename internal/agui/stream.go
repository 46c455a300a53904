package agui

import (
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// Stream makes the events of one run, in an order that clients accept: what is
// opened is closed, each in its agent's name, before its agent's part and the
// run end. One goroutine uses it at a time.
type Stream struct {
	thread, run string
	emit        func(Event)
	now         func() time.Time
	parts       []*Part
}

// NewStream begins a run. echo is the message that it answers; nil where it
// goes on with what a person has allowed.
func NewStream(thread, run string, echo *EchoMessage, now func() time.Time, emit func(Event)) *Stream {
	s := &Stream{thread: thread, run: run, emit: emit, now: now}
	e := Event{Type: RunStarted, ThreadID: thread, RunID: run, ProtocolVersion: "1.0"}
	if echo != nil {
		e.Input = &Echo{ThreadID: thread, RunID: run, Messages: []EchoMessage{*echo}}
	}
	s.send(e)
	return s
}

func (s *Stream) send(e Event) {
	e.Timestamp = s.now().UnixMilli()
	s.emit(e)
}

// Say is a whole message of the room itself.
func (s *Stream) Say(id, text string) {
	s.send(Event{Type: TextStart, MessageID: id, Role: "system"})
	s.send(Event{Type: TextContent, MessageID: id, Delta: &text})
	s.send(Event{Type: TextEnd, MessageID: id})
}

// Finish ends the run well; Fail ends it badly. One of them comes last.
func (s *Stream) Finish(o Outcome, u Usage) {
	s.endParts()
	s.send(Event{Type: RunFinished, ThreadID: s.thread, RunID: s.run, Outcome: &o, Usage: usage(u)})
}

// Fail says why the run came to nothing.
func (s *Stream) Fail(code, message string, u Usage) {
	s.endParts()
	s.send(Event{Type: RunError, Code: code, Message: &message, Usage: usage(u)})
}

func usage(u Usage) []Usage {
	if u.InputTokens+u.OutputTokens == 0 {
		return nil
	}
	u.TotalTokens = u.InputTokens + u.OutputTokens
	return []Usage{u}
}

func (s *Stream) endParts() {
	for _, p := range slices.Backward(s.parts) {
		p.Finish(Outcome{Type: Success})
	}
}

// Part is what one agent does in a run.
type Part struct {
	s       *Stream
	id      string
	text    string          // the message that is open
	thought string          // likewise
	calls   map[string]bool // likewise
	ended   bool
}

// Agent begins an agent's part. Where another agent called it as a tool, parent
// is that one's part and call the call.
func (s *Stream) Agent(id, name string, parent *Part, call string) *Part {
	p := &Part{s: s, id: id, calls: map[string]bool{}}
	e := Event{Type: SubagentStarted, SubagentRunID: id, Name: name, ParentToolCallID: call}
	if parent != nil {
		e.ParentSubagentRunID = parent.id
	}
	s.parts = append(s.parts, p)
	s.send(e)
	return p
}

func (p *Part) send(e Event) {
	e.SubagentRunID = p.id
	p.s.send(e)
}

// Text opens a message under an id and the speaker's name.
func (p *Part) Text(id, name string) {
	p.EndText()
	p.endThought()
	p.text = id
	p.send(Event{Type: TextStart, MessageID: id, Role: "assistant", Name: name})
}

// More is the next part of the open message.
func (p *Part) More(delta string) {
	if p.text != "" && delta != "" {
		p.send(Event{Type: TextContent, MessageID: p.text, Delta: &delta})
	}
}

// EndText closes the open message, if there is one.
func (p *Part) EndText() {
	if p.text != "" {
		p.send(Event{Type: TextEnd, MessageID: p.text})
		p.text = ""
	}
}

// Think is the next part of what the model thinks aloud.
func (p *Part) Think(id, delta string) {
	if p.ended || delta == "" {
		return
	}
	if p.thought != id {
		p.endThought()
		p.thought = id
		p.send(Event{Type: ReasoningStart, MessageID: id})
		p.send(Event{Type: ReasoningMessage, MessageID: id, Role: "reasoning"})
	}
	p.send(Event{Type: ReasoningContent, MessageID: id, Delta: &delta})
}

func (p *Part) endThought() {
	if p.thought != "" {
		p.send(Event{Type: ReasoningClose, MessageID: p.thought})
		p.send(Event{Type: ReasoningEnd, MessageID: p.thought})
		p.thought = ""
	}
}

// Call opens a call that belongs to a message.
func (p *Part) Call(id, name, message string) {
	if p.calls[id] {
		return
	}
	p.endThought()
	p.calls[id] = true
	p.send(Event{Type: CallStart, ToolCallID: id, ToolCallName: name, ParentMessageID: message})
}

// Args is the next part of an open call's arguments.
func (p *Part) Args(id, delta string) {
	if p.calls[id] && delta != "" {
		p.send(Event{Type: CallArgs, ToolCallID: id, Delta: &delta})
	}
}

// EndCall says that a call's arguments are whole.
func (p *Part) EndCall(id string) {
	if p.calls[id] {
		p.send(Event{Type: CallEnd, ToolCallID: id})
		delete(p.calls, id)
	}
}

// Result is what came of a call, as a message of its own.
func (p *Part) Result(message, call, text string) {
	p.EndCall(call)
	p.send(Event{Type: CallResult, MessageID: message, ToolCallID: call, Role: "tool", Content: Content{Text: text, Given: true}})
}

// Activity is something to show beside the conversation.
func (p *Part) Activity(message, kind string, content any) {
	text, err := json.Marshal(content)
	if err != nil {
		return // a result that is no JSON cannot be shown
	}
	p.send(Event{Type: ActivitySnapshot, MessageID: message, ActivityType: kind, Content: Content{Object: text}})
}

// Custom is an event of our own.
func (p *Part) Custom(name string, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		return // values are ours: structs of texts
	}
	p.send(Event{Type: Custom, Name: name, Value: text})
}

// Finish ends the agent's part; it is done once.
func (p *Part) Finish(o Outcome) {
	if p.close() {
		p.send(Event{Type: SubagentFinished, Outcome: &o})
	}
}

// Fail ends it badly: the run may go on.
func (p *Part) Fail(code, message string) {
	if p.close() {
		p.send(Event{Type: SubagentError, Code: code, Message: &message})
	}
}

func (p *Part) close() bool {
	if p.ended {
		return false
	}
	p.EndText()
	p.endThought()
	for _, id := range slices.Sorted(maps.Keys(p.calls)) {
		p.EndCall(id)
	}
	p.ended = true
	return true
}
