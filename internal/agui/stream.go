package agui

import (
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// Stream produces the events of one run in an order that clients accept: everything
// that is opened is closed in the name of the same agent, before the agent's part
// ends, and all parts end before the run. It is not safe for concurrent use.
type Stream struct {
	thread, run string
	emit        func(Event)
	now         func() time.Time
	parts       []*Part
}

// NewStream starts a run and emits its first event. echo is the message that the
// run answers; nil if the run continues after a decision. emit gets every event.
func NewStream(thread, run string, echo *EchoMessage, now func() time.Time, emit func(Event)) *Stream {
	s := &Stream{thread: thread, run: run, emit: emit, now: now}
	e := Event{Type: RunStarted, ThreadID: thread, RunID: run, ProtocolVersion: "1.0"}
	if echo != nil {
		e.Input = &InputEcho{ThreadID: thread, RunID: run, Messages: []EchoMessage{*echo}}
	}
	s.emitEvent(e)
	return s
}

// emitEvent stamps an event with the time and emits it.
func (s *Stream) emitEvent(e Event) {
	e.Timestamp = s.now().UnixMilli()
	s.emit(e)
}

// EmitSystemMessage emits a complete message of the room itself.
func (s *Stream) EmitSystemMessage(id, text string) {
	s.emitEvent(Event{Type: TextStart, MessageID: id, Role: "system"})
	s.emitEvent(Event{Type: TextContent, MessageID: id, Delta: &text})
	s.emitEvent(Event{Type: TextEnd, MessageID: id})
}

// Finish ends the run with an outcome. Exactly one call of Finish or Fail ends a
// stream.
func (s *Stream) Finish(o Outcome, u Usage) {
	s.endParts()
	s.emitEvent(Event{Type: RunFinished, ThreadID: s.thread, RunID: s.run, Outcome: &o, Usage: totalUsage(u)})
}

// Fail ends the run with an error.
func (s *Stream) Fail(code, message string, u Usage) {
	s.endParts()
	s.emitEvent(Event{Type: RunError, Code: code, Message: &message, Usage: totalUsage(u)})
}

// totalUsage returns the usage with its total; nil if no tokens were counted.
func totalUsage(u Usage) []Usage {
	if u.InputTokens+u.OutputTokens == 0 {
		return nil
	}
	u.TotalTokens = u.InputTokens + u.OutputTokens
	return []Usage{u}
}

// endParts ends the parts that are still open, the innermost first.
func (s *Stream) endParts() {
	for _, p := range slices.Backward(s.parts) {
		p.Finish(Outcome{Type: OutcomeSuccess})
	}
}

// Part is the part of one agent in a run. Its fields are the things that are open
// and have to be closed.
type Part struct {
	stream        *Stream
	id            string
	openText      string          // id of the message; "" if none is open
	openReasoning string          // id of the reasoning; "" if none is open
	openCalls     map[string]bool // ids of calls whose arguments are incomplete
	hasEnded      bool
}

// StartPart starts an agent's part. If another agent called this one as a tool, parent
// is the part of that agent and call is the id of the call.
func (s *Stream) StartPart(id, name string, parent *Part, call string) *Part {
	p := &Part{stream: s, id: id, openCalls: map[string]bool{}}
	e := Event{Type: SubagentStarted, SubagentRunID: id, Name: name, ParentToolCallID: call}
	if parent != nil {
		e.ParentSubagentRunID = parent.id
	}
	s.parts = append(s.parts, p)
	s.emitEvent(e)
	return p
}

// emitEvent emits an event in the name of the agent.
func (p *Part) emitEvent(e Event) {
	e.SubagentRunID = p.id
	p.stream.emitEvent(e)
}

// StartText opens a message with an id and the speaker's name. It closes an open one.
func (p *Part) StartText(id, name string) {
	p.EndText()
	p.endReasoning()
	p.openText = id
	p.emitEvent(Event{Type: TextStart, MessageID: id, Role: "assistant", Name: name})
}

// AppendText continues the open message. Without one, it does nothing.
func (p *Part) AppendText(delta string) {
	if p.openText != "" && delta != "" {
		p.emitEvent(Event{Type: TextContent, MessageID: p.openText, Delta: &delta})
	}
}

// EndText closes the open message, if there is one.
func (p *Part) EndText() {
	if p.openText != "" {
		p.emitEvent(Event{Type: TextEnd, MessageID: p.openText})
		p.openText = ""
	}
}

// AppendReasoning emits the next piece of the model's reasoning. Another id starts another
// block.
func (p *Part) AppendReasoning(id, delta string) {
	if p.hasEnded || delta == "" {
		return
	}
	if p.openReasoning != id {
		p.endReasoning()
		p.openReasoning = id
		p.emitEvent(Event{Type: ReasoningStart, MessageID: id})
		p.emitEvent(Event{Type: ReasoningMessage, MessageID: id, Role: "reasoning"})
	}
	p.emitEvent(Event{Type: ReasoningContent, MessageID: id, Delta: &delta})
}

// endReasoning closes the open reasoning, if there is one.
func (p *Part) endReasoning() {
	if p.openReasoning != "" {
		p.emitEvent(Event{Type: ReasoningClose, MessageID: p.openReasoning})
		p.emitEvent(Event{Type: ReasoningEnd, MessageID: p.openReasoning})
		p.openReasoning = ""
	}
}

// StartCall opens a tool call that belongs to a message. A second call with the same id
// does nothing.
func (p *Part) StartCall(id, name, message string) {
	if p.openCalls[id] {
		return
	}
	p.endReasoning()
	p.openCalls[id] = true
	p.emitEvent(Event{Type: CallStart, ToolCallID: id, ToolCallName: name, ParentMessageID: message})
}

// AppendArgs emits the next piece of an open call's arguments.
func (p *Part) AppendArgs(id, delta string) {
	if p.openCalls[id] && delta != "" {
		p.emitEvent(Event{Type: CallArgs, ToolCallID: id, Delta: &delta})
	}
}

// EndCall says that the arguments of a call are complete.
func (p *Part) EndCall(id string) {
	if p.openCalls[id] {
		p.emitEvent(Event{Type: CallEnd, ToolCallID: id})
		delete(p.openCalls, id)
	}
}

// EmitResult emits the result of a call as a message of its own. It closes the call
// first.
func (p *Part) EmitResult(message, call, text string) {
	p.EndCall(call)
	p.emitEvent(Event{Type: CallResult, MessageID: message, ToolCallID: call, Role: "tool", Content: Content{Text: text, IsSet: true}})
}

// EmitActivity emits content to show beside the conversation. The same message id
// replaces former content.
func (p *Part) EmitActivity(message, kind string, content any) {
	text, err := json.Marshal(content)
	if err != nil {
		return // a tool result that is not JSON cannot be shown
	}
	p.emitEvent(Event{Type: ActivitySnapshot, MessageID: message, ActivityType: kind, Content: Content{Object: text}})
}

// EmitCustom emits an event that only Junctor's own clients know. Others ignore it.
func (p *Part) EmitCustom(name string, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		return // cannot happen: all values are our own
	}
	p.emitEvent(Event{Type: Custom, Name: name, Value: text})
}

// Finish ends the part. Only the first call of Finish or Fail has an effect.
func (p *Part) Finish(o Outcome) {
	if p.closeAll() {
		p.emitEvent(Event{Type: SubagentFinished, Outcome: &o})
	}
}

// Fail ends the part with an error. The run may go on.
func (p *Part) Fail(code, message string) {
	if p.closeAll() {
		p.emitEvent(Event{Type: SubagentError, Code: code, Message: &message})
	}
}

// closeAll closes everything that is open. It returns false if the part has ended
// already.
func (p *Part) closeAll() bool {
	if p.hasEnded {
		return false
	}
	p.EndText()
	p.endReasoning()
	for _, id := range slices.Sorted(maps.Keys(p.openCalls)) {
		p.EndCall(id)
	}
	p.hasEnded = true
	return true
}
