package room

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/a2ui"
	"github.com/junctor-mcp/junctor/internal/agent"
	"github.com/junctor-mcp/junctor/internal/agui"
)

// textStoreInterval is how long streamed text may be published before it is stored.
// Storing every piece would write to the database for every token.
const textStoreInterval = time.Second

// maxResultBytes bounds the part of a tool's result that a message keeps. The
// call's record has the whole result.
const maxResultBytes = 16 << 10

// maxViewResultBytes bounds the result that is kept for an App view. A call with a
// longer result shows no view in the room.
const maxViewResultBytes = 256 << 10

// turnRecorder stores and publishes the events of one agent's turn. Its fields are
// guarded by the runner's mutex.
type turnRecorder struct {
	run        *runner
	storeCtx   context.Context //nolint:containedctx // of one turn, without its cancellation
	agentName  string
	parentCall string // the call with which another agent asked this one; "" in a turn of the room
	id         string // of this turn in the event stream
	part       *agui.Part

	messages      []*junctor.Message          // of this turn, one per model answer
	messageByCall map[string]*junctor.Message // the message that holds a call, by call id
	current       *junctor.Message            // the answer that is streaming; nil between answers
	textBlocks    int                         // number of text blocks in current
	openTextID    string                      // id of the text block that is streaming
	storedAt      time.Time
}

// newRecorder starts an agent's part of the event stream. If another agent asked
// this one, parent is the part of that agent, and parentCall the id of its call.
func (r *runner) newRecorder(storeCtx context.Context, name string, parent *agui.Part, parentCall string) *turnRecorder {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := r.rooms.NewID()
	return &turnRecorder{
		run: r, storeCtx: storeCtx, agentName: name, parentCall: parentCall, id: id, part: r.stream.StartPart(id, name, parent, parentCall), messageByCall: map[string]*junctor.Message{},
	}
}

// adoptDecidedCalls moves calls of a former run that were decided meanwhile to this
// run: their results are recorded here, and they are marked as lost if this run is
// lost.
func (c *turnRecorder) adoptDecidedCalls(before []junctor.Message, decisions map[string]agent.Decision) {
	for i := range before {
		m := &before[i]
		for j := range m.Calls {
			if _, decided := decisions[m.Calls[j].ID]; decided && m.Author.Name == c.agentName && m.Calls[j].State == junctor.MessageCallWaiting {
				m.Calls[j].State, m.Run = junctor.MessageCallRunning, c.run.row.ID
				c.messageByCall[m.Calls[j].ID] = m
			}
		}
		if m.Run == c.run.row.ID && len(m.Calls) > 0 {
			c.storeMessage(m)
		}
	}
}

// newRecordCheck returns a function that reports whether a call record belongs to a
// call that this agent made in this room, before this turn or in it.
func (c *turnRecorder) newRecordCheck(before []junctor.Message) func(record string) bool {
	return func(record string) bool {
		c.run.mu.Lock()
		defer c.run.mu.Unlock()
		for _, m := range c.messages {
			if slices.ContainsFunc(m.Calls, func(call junctor.MessageCall) bool { return call.Record == record }) {
				return true
			}
		}
		return slices.ContainsFunc(before, func(m junctor.Message) bool {
			return m.Author.Kind == junctor.AuthorAgent && m.Author.Name == c.agentName && slices.ContainsFunc(m.Calls, func(call junctor.MessageCall) bool { return call.Record == record })
		})
	}
}

// handleEvent stores and publishes one event of the turn. It is the emit function
// of agent.Run.
func (c *turnRecorder) handleEvent(e agent.Event) {
	c.run.mu.Lock()
	defer c.run.mu.Unlock()
	switch e.Kind {
	case agent.EventStep:
		c.current, c.textBlocks = nil, 0
	case agent.EventTextStart:
		m := c.currentMessage()
		c.openTextID = m.ID
		// A message can hold several text blocks, each with its own id in the
		// stream.
		if c.textBlocks++; c.textBlocks > 1 {
			c.openTextID = m.ID + "-" + strconv.Itoa(c.textBlocks)
			m.Text += "\n\n"
		}
		c.part.StartText(c.openTextID, c.agentName)
	case agent.EventText:
		m := c.currentMessage()
		m.Text += e.Text
		c.part.AppendText(e.Text)
		if c.run.rooms.Now().Sub(c.storedAt) > textStoreInterval {
			c.storeMessage(m)
		}
	case agent.EventTextEnd:
		c.part.EndText()
		c.storeMessage(c.currentMessage())
	case agent.EventThinking:
		c.part.AppendReasoning(c.currentMessage().ID+"-thought", e.Text)
	case agent.EventCallStart:
		c.part.StartCall(e.ID, e.Call.Name, c.currentMessage().ID)
	case agent.EventCallArgs:
		c.part.AppendArgs(e.ID, e.Text)
	case agent.EventCallEnd:
		c.recordCall(e)
	case agent.EventResult:
		c.recordResult(e.Result)
	case agent.EventRetry:
		c.part.EmitCustom("junctor.retry", map[string]any{"agent": c.agentName, "reason": e.Text, "wait_ms": e.Wait.Milliseconds()})
	case agent.EventSurface:
		c.recordSurface(e)
	case agent.EventUsage:
	}
}

// currentMessage returns the message of the answer that is streaming, and creates
// it at the answer's first event.
func (c *turnRecorder) currentMessage() *junctor.Message {
	if c.current == nil {
		c.current = &junctor.Message{
			Tenant: c.run.row.Tenant, Room: c.run.row.Room, ID: c.run.rooms.NewID(), At: c.run.rooms.Now(),
			Author: junctor.Author{Kind: junctor.AuthorAgent, Name: c.agentName}, Run: c.run.row.ID, Aside: c.parentCall,
		}
		c.messages = append(c.messages, c.current)
	}
	return c.current
}

// recordSurface stores and publishes a surface with the answer that shows it, or
// with the call whose result contained it. It replaces a former surface of the same
// id.
func (c *turnRecorder) recordSurface(e agent.Event) {
	m := c.messageByCall[e.ID]
	if m == nil {
		m = c.currentMessage()
	}
	// The stored surface uses only built-in components, which every client can
	// draw. A client that draws registered components itself finds them in the
	// messages.
	known := c.run.rooms.Catalogs(c.storeCtx, m.Tenant)
	surface, err := known.Expand(e.Surface, func(string) bool { return false })
	if err != nil {
		surface = e.Surface // unknown components become placeholders
	}
	text, err := json.Marshal(surface)
	if err != nil {
		c.run.logStoreFailure(err)
		return
	}
	kept := make([]json.RawMessage, 0, len(m.Surfaces)+1)
	for _, one := range m.Surfaces {
		var former a2ui.Surface
		if json.Unmarshal(one, &former) == nil && former.ID != e.Surface.ID {
			kept = append(kept, one)
		}
	}
	kept = append(kept, text)
	m.Surfaces = kept
	c.storeMessage(m)
	content := map[string]any{"surface": json.RawMessage(text), "agent": c.agentName}
	if messages, err := a2ui.Encode(e.Surface, a2ui.V09, a2ui.EncodeOptions{Catalogs: known}); err == nil {
		content["messages"] = messages
	}
	c.part.EmitActivity("ui-"+e.Surface.ID+"-"+m.ID, "a2ui-surface", content)
}

// storeMessage stores a message in its present form.
func (c *turnRecorder) storeMessage(m *junctor.Message) {
	c.storedAt = c.run.rooms.Now()
	if err := c.run.rooms.Store.For(m.Tenant).PutMessage(c.storeCtx, m); err != nil {
		c.run.logStoreFailure(err)
	}
}

// recordCall adds a complete call to the current message. It is stored as running
// before the call is made, so that a crash leaves a trace of it.
func (c *turnRecorder) recordCall(e agent.Event) {
	c.part.EndCall(e.ID)
	m := c.currentMessage()
	call := junctor.MessageCall{ID: e.Call.ID, Name: e.Call.Name, Arguments: objectOrEmpty(e.Call.Arguments), State: junctor.MessageCallRunning}
	if e.Tool != nil {
		call.Server, call.Tool, call.View = e.Tool.Server, e.Tool.OriginalName, e.Tool.ViewURI
	}
	m.Calls = append(m.Calls, call)
	c.messageByCall[call.ID] = m
	c.storeMessage(m)
}

// recordResult stores and publishes the result of a call, of this turn or of a
// former one that waited. A result of an unknown call is ignored.
func (c *turnRecorder) recordResult(res *agent.Result) {
	m := c.messageByCall[res.CallID]
	if m == nil {
		return
	}
	for i := range m.Calls {
		call := &m.Calls[i]
		if call.ID != res.CallID {
			continue
		}
		call.State, call.ResultText, call.Record = callState(res), junctor.ShortenText(res.Text, maxResultBytes), res.Record
		if res.Server != "" {
			call.Server, call.Tool = res.Server, res.Tool
		}
		if res.ViewURI != "" {
			call.View = res.ViewURI
		}
		if call.View != "" && len(res.Content) <= maxViewResultBytes {
			call.Result = res.Content
		}
		c.storeMessage(m)
		c.emitResult(m, call, res)
	}
}

// emitResult publishes the result of a call, and its App view if the tool has one.
func (c *turnRecorder) emitResult(m *junctor.Message, call *junctor.MessageCall, res *agent.Result) {
	c.part.EmitResult(m.ID+"-"+call.ID, call.ID, call.ResultText)
	c.part.EmitCustom("junctor.call", map[string]any{
		"toolCallId": call.ID, "record": call.Record, "server": call.Server, "tool": call.Tool, "agent": c.agentName, "isError": res.IsError, "state": call.State, "messageId": m.ID,
	})
	if call.View != "" && !res.IsError && call.Result != nil {
		c.part.EmitActivity("view-"+call.ID, "mcp-apps", map[string]any{
			"toolCallId": call.ID, "resourceUri": call.View, "serverId": call.Server, "toolInput": call.Arguments, "result": call.Result, "record": call.Record,
		})
	}
}

// callState returns the state of a call that has a result.
func callState(res *agent.Result) junctor.MessageCallState {
	switch {
	case res.Denied:
		return junctor.MessageCallDenied
	case res.IsError:
		return junctor.MessageCallFailed
	}
	return junctor.MessageCallDone
}

// finishTurn records how the turn ended and finishes its part of the stream. It
// returns the approvals to request if the turn waits for them.
func (c *turnRecorder) finishTurn(end agent.TurnResult) []junctor.CallApproval {
	c.run.mu.Lock()
	defer c.run.mu.Unlock()
	c.storeThinking(end.Messages)
	waits := c.requestApprovals(end.Waiting)
	for _, m := range c.messages {
		c.failUnfinishedCalls(m)
	}
	switch end.Outcome {
	case agent.OutcomeWaiting:
		ids := make([]string, len(waits))
		for i, a := range waits {
			ids[i] = a.ID
		}
		c.part.Finish(agui.Outcome{Type: agui.OutcomeSuspended, InterruptIDs: ids})
		return waits
	case agent.OutcomeFailed:
		c.recordReason(end.Reason)
		c.part.Fail(string(agent.OutcomeFailed), end.Reason)
	case agent.OutcomeLimit, agent.OutcomeCancelled:
		c.recordReason(end.Reason)
		if end.Outcome == agent.OutcomeLimit {
			c.part.EmitCustom("junctor.limit", map[string]string{"agent": c.agentName, "reason": end.Reason})
		}
		c.part.Finish(agui.Outcome{Type: agui.OutcomeSuccess})
	case agent.OutcomeDone:
		c.part.Finish(agui.Outcome{Type: agui.OutcomeSuccess})
	}
	return nil
}

// recordReason stores why a turn ended early, in the last message of the turn that
// has content.
func (c *turnRecorder) recordReason(reason string) {
	if reason == "" {
		return
	}
	m := c.currentMessage()
	if len(c.messages) > 1 && isEmpty(m) {
		m = c.messages[len(c.messages)-2]
	}
	m.Outcome = reason
	c.storeMessage(m)
}

// storeThinking stores with each answer the opaque reasoning that its model expects
// back in later requests. Messages without content have no counterpart in the
// turn's result, so they are skipped.
func (c *turnRecorder) storeThinking(messages []agent.Message) {
	i := 0
	for _, m := range messages {
		if m.Role != agent.RoleAssistant {
			continue
		}
		for i < len(c.messages) && isEmpty(c.messages[i]) {
			i++
		}
		if i < len(c.messages) && m.Thinking != nil && json.Valid(m.Thinking) {
			c.messages[i].Thinking = m.Thinking
			c.storeMessage(c.messages[i])
		}
		i++
	}
}

// isEmpty reports whether a message has no text, calls or surfaces.
func isEmpty(m *junctor.Message) bool {
	return m.Text == "" && len(m.Calls) == 0 && len(m.Surfaces) == 0
}

// requestApprovals marks the calls as waiting and returns an approval request for
// each.
func (c *turnRecorder) requestApprovals(calls []agent.Call) []junctor.CallApproval {
	var out []junctor.CallApproval
	for _, waiting := range calls {
		m := c.messageByCall[waiting.ID]
		if m == nil {
			continue
		}
		for i := range m.Calls {
			if call := &m.Calls[i]; call.ID == waiting.ID {
				call.State = junctor.MessageCallWaiting
				out = append(out, junctor.CallApproval{
					Tenant: m.Tenant, Room: m.Room, ID: c.run.rooms.NewID(), Run: c.run.row.ID, Agent: c.agentName, At: c.run.rooms.Now(), State: junctor.CallOpen,
					Call: junctor.RequestedCall{ID: call.ID, Name: call.Name, Server: call.Server, Tool: call.Tool, Arguments: call.Arguments, Digest: waiting.Digest},
				})
			}
		}
		c.storeMessage(m)
	}
	return out
}

// failUnfinishedCalls marks calls as failed that still count as running when the
// turn is over: a call without a result was not made.
func (c *turnRecorder) failUnfinishedCalls(m *junctor.Message) {
	changed := false
	for i := range m.Calls {
		if m.Calls[i].State == junctor.MessageCallRunning {
			m.Calls[i].State, m.Calls[i].ResultText, changed = junctor.MessageCallFailed, "it was not made", true
		}
	}
	if changed {
		c.storeMessage(m)
	}
}
