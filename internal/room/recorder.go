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

// textStoreInterval is how long text may be told before it is kept.
const textStoreInterval = time.Second

// maxResultBytes is how much of what a tool said is kept in a message; the records
// of calls have it all.
const maxResultBytes = 16 << 10

// maxViewResultBytes is how long the result of a tool that brings a page may be to be kept
// for it.
const maxViewResultBytes = 256 << 10

// turnRecorder keeps what happens in one agent's turn, and tells of it.
type turnRecorder struct {
	run        *runner
	storeCtx   context.Context //nolint:containedctx // of one turn, without its end
	agentName  string
	parentCall string
	id         string // of this turn, for those who listen
	part       *agui.Part

	messages      []*junctor.Message          // of this turn, one for each answer
	messageByCall map[string]*junctor.Message // where a call stands
	current       *junctor.Message            // the answer that is being given
	textBlocks    int                         // texts of it
	openTextID    string                      // the text that is being told
	storedAt      time.Time
}

// newRecorder begins an agent's part. Where another agent asked it, parent is that
// one's and aside the call.
func (r *runner) newRecorder(keep context.Context, name string, parent *agui.Part, aside string) *turnRecorder {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := r.rooms.NewID()
	return &turnRecorder{
		run: r, storeCtx: keep, agentName: name, parentCall: aside, id: id, part: r.stream.Agent(id, name, parent, aside), messageByCall: map[string]*junctor.Message{},
	}
}

// adoptDecidedCalls has calls of a former turn found again that were allowed or denied in
// the meantime: from now on they are this run's, and lost with it.
func (c *turnRecorder) adoptDecidedCalls(before []junctor.Message, words map[string]agent.Decision) {
	for i := range before {
		m := &before[i]
		for j := range m.Calls {
			if _, decided := words[m.Calls[j].ID]; decided && m.Author.Name == c.agentName && m.Calls[j].State == junctor.SaidWaiting {
				m.Calls[j].State, m.Run = junctor.SaidRunning, c.run.row.ID
				c.messageByCall[m.Calls[j].ID] = m
			}
		}
		if m.Run == c.run.row.ID && len(m.Calls) > 0 {
			c.storeMessage(m)
		}
	}
}

// newRecordCheck says of a record whether it is that of a call of this agent in this room,
// before this turn or in it.
func (c *turnRecorder) newRecordCheck(before []junctor.Message) func(record string) bool {
	return func(record string) bool {
		c.run.mu.Lock()
		defer c.run.mu.Unlock()
		for _, m := range c.messages {
			if slices.ContainsFunc(m.Calls, func(call junctor.SaidCall) bool { return call.Record == record }) {
				return true
			}
		}
		return slices.ContainsFunc(before, func(m junctor.Message) bool {
			return m.Author.Kind == junctor.AuthorAgent && m.Author.Name == c.agentName && slices.ContainsFunc(m.Calls, func(call junctor.SaidCall) bool { return call.Record == record })
		})
	}
}

// handleEvent is told what happens.
func (c *turnRecorder) handleEvent(e agent.Event) {
	c.run.mu.Lock()
	defer c.run.mu.Unlock()
	switch e.Kind {
	case agent.EventStep:
		c.current, c.textBlocks = nil, 0
	case agent.EventTextStart:
		m := c.currentMessage()
		c.openTextID = m.ID
		if c.textBlocks++; c.textBlocks > 1 {
			c.openTextID = m.ID + "-" + strconv.Itoa(c.textBlocks)
			m.Text += "\n\n"
		}
		c.part.Text(c.openTextID, c.agentName)
	case agent.EventText:
		m := c.currentMessage()
		m.Text += e.Text
		c.part.More(e.Text)
		if c.run.rooms.Now().Sub(c.storedAt) > textStoreInterval {
			c.storeMessage(m)
		}
	case agent.EventTextEnd:
		c.part.EndText()
		c.storeMessage(c.currentMessage())
	case agent.EventThinking:
		c.part.Think(c.currentMessage().ID+"-thought", e.Text)
	case agent.EventCallStart:
		c.part.Call(e.ID, e.Call.Name, c.currentMessage().ID)
	case agent.EventCallArgs:
		c.part.Args(e.ID, e.Text)
	case agent.EventCallEnd:
		c.recordCall(e)
	case agent.EventResult:
		c.recordResult(e.Result)
	case agent.EventRetry:
		c.part.Custom("junctor.retry", map[string]any{"agent": c.agentName, "reason": e.Text, "wait_ms": e.Wait.Milliseconds()})
	case agent.EventSurface:
		c.recordSurface(e)
	case agent.EventUsage:
	}
}

// currentMessage is the message of the answer that is being given.
func (c *turnRecorder) currentMessage() *junctor.Message {
	if c.current == nil {
		c.current = &junctor.Message{
			Tenant: c.run.row.Tenant, Workspace: c.run.row.Workspace, ID: c.run.rooms.NewID(), At: c.run.rooms.Now(),
			Author: junctor.Author{Kind: junctor.AuthorAgent, Name: c.agentName}, Run: c.run.row.ID, Aside: c.parentCall,
		}
		c.messages = append(c.messages, c.current)
	}
	return c.current
}

// recordSurface keeps and tells a surface, with the answer that it is part of or with the
// call that brought it.
func (c *turnRecorder) recordSurface(e agent.Event) {
	m := c.messageByCall[e.ID]
	if m == nil {
		m = c.currentMessage()
	}
	// The room keeps and shows components that everybody knows. A client that draws
	// registered ones itself finds them in the messages.
	known := c.run.rooms.Catalogs(c.storeCtx, m.Tenant)
	surface, err := known.Expand(e.Surface, func(string) bool { return false })
	if err != nil {
		surface = e.Surface // with placeholders
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
	if messages, err := a2ui.Encode(e.Surface, a2ui.V09, a2ui.Options{Known: known}); err == nil {
		content["messages"] = messages
	}
	c.part.Activity("ui-"+e.Surface.ID+"-"+m.ID, "a2ui-surface", content)
}

// storeMessage keeps a message as it is by now.
func (c *turnRecorder) storeMessage(m *junctor.Message) {
	c.storedAt = c.run.rooms.Now()
	if err := c.run.rooms.Store.For(m.Tenant).PutMessage(c.storeCtx, m); err != nil {
		c.run.logStoreFailure(err)
	}
}

func (c *turnRecorder) recordCall(e agent.Event) {
	c.part.EndCall(e.ID)
	m := c.currentMessage()
	call := junctor.SaidCall{ID: e.Call.ID, Name: e.Call.Name, Arguments: objectOrEmpty(e.Call.Arguments), State: junctor.SaidRunning}
	if e.Tool != nil {
		call.Server, call.Tool, call.View = e.Tool.Server, e.Tool.Own, e.Tool.View
	}
	m.Calls = append(m.Calls, call)
	c.messageByCall[call.ID] = m
	c.storeMessage(m)
}

// recordResult keeps and tells what came of a call, of this turn or of one that
// waited.
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
		call.State, call.ResultText, call.Record = callState(res), truncateText(res.Text, maxResultBytes), res.Record
		if res.Server != "" {
			call.Server, call.Tool = res.Server, res.Tool
		}
		if res.View != "" {
			call.View = res.View
		}
		if call.View != "" && len(res.Content) <= maxViewResultBytes {
			call.Result = res.Content
		}
		c.storeMessage(m)
		c.emitResult(m, call, res)
	}
}

func (c *turnRecorder) emitResult(m *junctor.Message, call *junctor.SaidCall, res *agent.Result) {
	c.part.Result(m.ID+"-"+call.ID, call.ID, call.ResultText)
	c.part.Custom("junctor.call", map[string]any{
		"toolCallId": call.ID, "record": call.Record, "server": call.Server, "tool": call.Tool, "agent": c.agentName, "isError": res.IsError, "state": call.State, "messageId": m.ID,
	})
	if call.View != "" && !res.IsError && call.Result != nil {
		c.part.Activity("view-"+call.ID, "mcp-apps", map[string]any{
			"toolCallId": call.ID, "resourceUri": call.View, "serverId": call.Server, "toolInput": call.Arguments, "result": call.Result, "record": call.Record,
		})
	}
}

func callState(res *agent.Result) junctor.SaidState {
	switch {
	case res.Denied:
		return junctor.SaidDenied
	case res.IsError:
		return junctor.SaidFailed
	}
	return junctor.SaidDone
}

// finishTurn keeps how the turn ended, and gives the calls that a person is asked for.
func (c *turnRecorder) finishTurn(end agent.End) []junctor.CallApproval {
	c.run.mu.Lock()
	defer c.run.mu.Unlock()
	c.storeThinking(end.Messages)
	waits := c.requestApprovals(end.Waiting)
	for _, m := range c.messages {
		c.failUnfinishedCalls(m)
	}
	switch end.Outcome {
	case agent.Waiting:
		ids := make([]string, len(waits))
		for i, a := range waits {
			ids[i] = a.ID
		}
		c.part.Finish(agui.Outcome{Type: agui.Suspended, InterruptIDs: ids})
		return waits
	case agent.Failed:
		c.recordReason(end.Reason)
		c.part.Fail(string(agent.Failed), end.Reason)
	case agent.Limit, agent.Cancelled:
		c.recordReason(end.Reason)
		if end.Outcome == agent.Limit {
			c.part.Custom("junctor.limit", map[string]string{"agent": c.agentName, "reason": end.Reason})
		}
		c.part.Finish(agui.Outcome{Type: agui.Success})
	case agent.Done:
		c.part.Finish(agui.Outcome{Type: agui.Success})
	}
	return nil
}

// recordReason notes why a turn ended as it did, with what was said last in it.
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

// storeThinking keeps with each answer what its model wants back.
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

// isEmpty says whether nothing was said in a message.
func isEmpty(m *junctor.Message) bool {
	return m.Text == "" && len(m.Calls) == 0 && len(m.Surfaces) == 0
}

// requestApprovals marks the calls that wait, and asks for them.
func (c *turnRecorder) requestApprovals(calls []agent.Call) []junctor.CallApproval {
	var out []junctor.CallApproval
	for _, waiting := range calls {
		m := c.messageByCall[waiting.ID]
		if m == nil {
			continue
		}
		for i := range m.Calls {
			if call := &m.Calls[i]; call.ID == waiting.ID {
				call.State = junctor.SaidWaiting
				out = append(out, junctor.CallApproval{
					Tenant: m.Tenant, Workspace: m.Workspace, ID: c.run.rooms.NewID(), Run: c.run.row.ID, Agent: c.agentName, At: c.run.rooms.Now(), State: junctor.CallOpen,
					Call: junctor.AskedCall{ID: call.ID, Name: call.Name, Server: call.Server, Tool: call.Tool, Arguments: call.Arguments, Digest: waiting.Digest},
				})
			}
		}
		c.storeMessage(m)
	}
	return out
}

// failUnfinishedCalls leaves no call of a turn that is over as one that runs: what has no
// result by now was not made.
func (c *turnRecorder) failUnfinishedCalls(m *junctor.Message) {
	changed := false
	for i := range m.Calls {
		if m.Calls[i].State == junctor.SaidRunning {
			m.Calls[i].State, m.Calls[i].ResultText, changed = junctor.SaidFailed, "it was not made", true
		}
	}
	if changed {
		c.storeMessage(m)
	}
}

// truncateText shortens a text to so many bytes, not inside a character.
func truncateText(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && text[most]&0xC0 == 0x80 {
		most--
	}
	return text[:most] + "…"
}
