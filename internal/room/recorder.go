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

// keepAfter is how long text may be told before it is kept.
const keepAfter = time.Second

// mostResult is how much of what a tool said is kept in a message; the records
// of calls have it all.
const mostResult = 16 << 10

// mostPage is how long the result of a tool that brings a page may be to be kept
// for it.
const mostPage = 256 << 10

// recorder keeps what happens in one agent's turn, and tells of it.
type recorder struct {
	run   *run
	keep  context.Context //nolint:containedctx // of one turn, without its end
	name  string
	aside string
	id    string // of this turn, for those who listen
	part  *agui.Part

	rows   []*junctor.Message          // of this turn, one for each answer
	calls  map[string]*junctor.Message // where a call stands
	tools  map[string]agent.Tool       // what a call is for
	now    *junctor.Message            // the answer that is being given
	blocks int                         // texts of it
	open   string                      // the text that is being told
	kept   time.Time
}

// recorder begins an agent's part. Where another agent asked it, parent is that
// one's and aside the call.
func (r *run) recorder(keep context.Context, name string, parent *agui.Part, aside string) *recorder {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := r.rooms.NewID()
	return &recorder{
		run: r, keep: keep, name: name, aside: aside, id: id, part: r.stream.Agent(id, name, parent, aside), calls: map[string]*junctor.Message{}, tools: map[string]agent.Tool{},
	}
}

// know has calls of a former turn found again that were allowed or denied in
// the meantime: from now on they are this run's, and lost with it.
func (c *recorder) know(before []junctor.Message, words map[string]agent.Decision) {
	for i := range before {
		m := &before[i]
		for j := range m.Calls {
			if _, decided := words[m.Calls[j].ID]; decided && m.Author.Name == c.name && m.Calls[j].State == junctor.SaidWaiting {
				m.Calls[j].State, m.Run = junctor.SaidRunning, c.run.row.ID
				c.calls[m.Calls[j].ID] = m
			}
		}
		if m.Run == c.run.row.ID && len(m.Calls) > 0 {
			c.put(m)
		}
	}
}

// made says of a record whether it is that of a call of this agent in this room,
// before this turn or in it.
func (c *recorder) made(before []junctor.Message) func(record string) bool {
	return func(record string) bool {
		c.run.mu.Lock()
		defer c.run.mu.Unlock()
		for _, m := range c.rows {
			if slices.ContainsFunc(m.Calls, func(call junctor.SaidCall) bool { return call.Record == record }) {
				return true
			}
		}
		return slices.ContainsFunc(before, func(m junctor.Message) bool {
			return m.Author.Kind == junctor.AuthorAgent && m.Author.Name == c.name && slices.ContainsFunc(m.Calls, func(call junctor.SaidCall) bool { return call.Record == record })
		})
	}
}

// take is told what happens.
func (c *recorder) take(e agent.Event) {
	c.run.mu.Lock()
	defer c.run.mu.Unlock()
	switch e.Kind {
	case agent.EventStep:
		c.now, c.blocks = nil, 0
	case agent.EventTextStart:
		m := c.answer()
		c.open = m.ID
		if c.blocks++; c.blocks > 1 {
			c.open = m.ID + "-" + strconv.Itoa(c.blocks)
			m.Text += "\n\n"
		}
		c.part.Text(c.open, c.name)
	case agent.EventText:
		m := c.answer()
		m.Text += e.Text
		c.part.More(e.Text)
		if c.run.rooms.Now().Sub(c.kept) > keepAfter {
			c.put(m)
		}
	case agent.EventTextEnd:
		c.part.EndText()
		c.put(c.answer())
	case agent.EventThinking:
		c.part.Think(c.answer().ID+"-thought", e.Text)
	case agent.EventCallStart:
		c.part.Call(e.ID, e.Call.Name, c.answer().ID)
	case agent.EventCallArgs:
		c.part.Args(e.ID, e.Text)
	case agent.EventCallEnd:
		c.called(e)
	case agent.EventResult:
		c.result(e.Result)
	case agent.EventRetry:
		c.part.Custom("junctor.retry", map[string]any{"agent": c.name, "reason": e.Text, "wait_ms": e.Wait.Milliseconds()})
	case agent.EventSurface:
		c.show(e)
	case agent.EventUsage:
	}
}

// answer is the message of the answer that is being given.
func (c *recorder) answer() *junctor.Message {
	if c.now == nil {
		c.now = &junctor.Message{
			Tenant: c.run.row.Tenant, Workspace: c.run.row.Workspace, ID: c.run.rooms.NewID(), At: c.run.rooms.Now(),
			Author: junctor.Author{Kind: junctor.AuthorAgent, Name: c.name}, Run: c.run.row.ID, Aside: c.aside,
		}
		c.rows = append(c.rows, c.now)
	}
	return c.now
}

// show keeps and tells a surface, with the answer that it is part of or with the
// call that brought it.
func (c *recorder) show(e agent.Event) {
	m := c.calls[e.ID]
	if m == nil {
		m = c.answer()
	}
	// The room keeps and shows components that everybody knows. A client that draws
	// registered ones itself finds them in the messages.
	known := c.run.rooms.Catalogs(c.keep, m.Tenant)
	surface, err := known.Expand(e.Surface, func(string) bool { return false })
	if err != nil {
		surface = e.Surface // with placeholders
	}
	text, err := json.Marshal(surface)
	if err != nil {
		c.run.forgotten(err)
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
	c.put(m)
	content := map[string]any{"surface": json.RawMessage(text), "agent": c.name}
	if messages, err := a2ui.Encode(e.Surface, a2ui.V09, a2ui.Options{Known: known}); err == nil {
		content["messages"] = messages
	}
	c.part.Activity("ui-"+e.Surface.ID+"-"+m.ID, "a2ui-surface", content)
}

// put keeps a message as it is by now.
func (c *recorder) put(m *junctor.Message) {
	c.kept = c.run.rooms.Now()
	if err := c.run.rooms.Store.For(m.Tenant).PutMessage(c.keep, m); err != nil {
		c.run.forgotten(err)
	}
}

func (c *recorder) called(e agent.Event) {
	c.part.EndCall(e.ID)
	m := c.answer()
	call := junctor.SaidCall{ID: e.Call.ID, Name: e.Call.Name, Arguments: object(e.Call.Arguments), State: junctor.SaidRunning}
	if e.Tool != nil {
		call.Server, call.Tool, call.View = e.Tool.Server, e.Tool.Own, e.Tool.View
		c.tools[call.ID] = *e.Tool
	}
	m.Calls = append(m.Calls, call)
	c.calls[call.ID] = m
	c.put(m)
}

// result keeps and tells what came of a call, of this turn or of one that
// waited.
func (c *recorder) result(res *agent.Result) {
	m := c.calls[res.CallID]
	if m == nil {
		return
	}
	for i := range m.Calls {
		call := &m.Calls[i]
		if call.ID != res.CallID {
			continue
		}
		call.State, call.ResultText, call.Record = stateOf(res), cut(res.Text, mostResult), res.Record
		if res.Server != "" {
			call.Server, call.Tool = res.Server, res.Tool
		}
		if res.View != "" {
			call.View = res.View
		}
		if call.View != "" && len(res.Content) <= mostPage {
			call.Result = res.Content
		}
		c.put(m)
		c.tell(m, call, res)
	}
}

func (c *recorder) tell(m *junctor.Message, call *junctor.SaidCall, res *agent.Result) {
	c.part.Result(m.ID+"-"+call.ID, call.ID, call.ResultText)
	c.part.Custom("junctor.call", map[string]any{
		"toolCallId": call.ID, "record": call.Record, "server": call.Server, "tool": call.Tool, "agent": c.name, "isError": res.IsError, "state": call.State, "messageId": m.ID,
	})
	if call.View != "" && !res.IsError && call.Result != nil {
		c.part.Activity("view-"+call.ID, "mcp-apps", map[string]any{
			"toolCallId": call.ID, "resourceUri": call.View, "serverId": call.Server, "toolInput": call.Arguments, "result": call.Result, "record": call.Record,
		})
	}
}

func stateOf(res *agent.Result) junctor.SaidState {
	switch {
	case res.Denied:
		return junctor.SaidDenied
	case res.IsError:
		return junctor.SaidFailed
	}
	return junctor.SaidDone
}

// end keeps how the turn ended, and gives the calls that a person is asked for.
func (c *recorder) end(end agent.End) []junctor.CallApproval {
	c.run.mu.Lock()
	defer c.run.mu.Unlock()
	c.rethink(end.Messages)
	waits := c.waits(end.Waiting)
	for _, m := range c.rows {
		c.close(m)
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
		c.because(end.Reason)
		c.part.Fail(string(agent.Failed), end.Reason)
	case agent.Limit, agent.Cancelled:
		c.because(end.Reason)
		if end.Outcome == agent.Limit {
			c.part.Custom("junctor.limit", map[string]string{"agent": c.name, "reason": end.Reason})
		}
		c.part.Finish(agui.Outcome{Type: agui.Success})
	case agent.Done:
		c.part.Finish(agui.Outcome{Type: agui.Success})
	}
	return nil
}

// because notes why a turn ended as it did, with what was said last in it.
func (c *recorder) because(reason string) {
	if reason == "" {
		return
	}
	m := c.answer()
	if len(c.rows) > 1 && empty(m) {
		m = c.rows[len(c.rows)-2]
	}
	m.Outcome = reason
	c.put(m)
}

// rethink keeps with each answer what its model wants back.
func (c *recorder) rethink(messages []agent.Message) {
	i := 0
	for _, m := range messages {
		if m.Role != agent.RoleAssistant {
			continue
		}
		for i < len(c.rows) && empty(c.rows[i]) {
			i++
		}
		if i < len(c.rows) && m.Thinking != nil && json.Valid(m.Thinking) {
			c.rows[i].Thinking = m.Thinking
			c.put(c.rows[i])
		}
		i++
	}
}

// empty says whether nothing was said in a message.
func empty(m *junctor.Message) bool {
	return m.Text == "" && len(m.Calls) == 0 && len(m.Surfaces) == 0
}

// waits marks the calls that wait, and asks for them.
func (c *recorder) waits(calls []agent.Call) []junctor.CallApproval {
	var out []junctor.CallApproval
	for _, waiting := range calls {
		m := c.calls[waiting.ID]
		if m == nil {
			continue
		}
		for i := range m.Calls {
			if call := &m.Calls[i]; call.ID == waiting.ID {
				call.State = junctor.SaidWaiting
				out = append(out, junctor.CallApproval{
					Tenant: m.Tenant, Workspace: m.Workspace, ID: c.run.rooms.NewID(), Run: c.run.row.ID, Agent: c.name, At: c.run.rooms.Now(), State: junctor.CallOpen,
					Call: junctor.AskedCall{ID: call.ID, Name: call.Name, Server: call.Server, Tool: call.Tool, Arguments: call.Arguments, Digest: waiting.Digest},
				})
			}
		}
		c.put(m)
	}
	return out
}

// close leaves no call of a turn that is over as one that runs: what has no
// result by now was not made.
func (c *recorder) close(m *junctor.Message) {
	changed := false
	for i := range m.Calls {
		if m.Calls[i].State == junctor.SaidRunning {
			m.Calls[i].State, m.Calls[i].ResultText, changed = junctor.SaidFailed, "it was not made", true
		}
	}
	if changed {
		c.put(m)
	}
}

// cut shortens a text to so many bytes, not inside a character.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && text[most]&0xC0 == 0x80 {
		most--
	}
	return text[:most] + "…"
}
