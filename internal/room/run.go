package room

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/agent"
	"github.com/junctor-mcp/junctor/internal/agui"
	"github.com/junctor-mcp/junctor/internal/store"
)

// maxMessageBytes is how long a message of a person may be.
const maxMessageBytes = 64 << 10

// maxReasonBytes is how long the reason of a no may be.
const maxReasonBytes = 2 << 10

// Say begins a run: with a message, or with words on calls that wait. It gives
// the events of the run, which goes on whether anybody listens or not.
func (r *Rooms) Say(ctx context.Context, p *junctor.Principal, id string, in agui.Input) (*Feed, error) {
	w, err := r.loadForMember(ctx, p, id)
	if err != nil {
		return nil, err
	}
	if in.ThreadID != "" && in.ThreadID != id {
		return nil, junctor.Errorf(junctor.CodeInvalid, "threadId is the room's id, %q, not %q", id, in.ThreadID)
	}
	if in.RunID == "" {
		in.RunID = r.NewID()
	}
	if len(in.Resume) > 0 {
		return r.resumeRun(ctx, p, &w, in)
	}
	text := strings.TrimSpace(in.Message.Text)
	var action json.RawMessage
	if in.Action != nil {
		if text == "" {
			text = in.Action.Sentence()
		}
		if action, err = json.Marshal(in.Action); err != nil {
			return nil, junctor.Errorf(junctor.CodeInvalid, "forwardedProps: the action cannot be kept: %w", err)
		}
	}
	switch {
	case text == "":
		return nil, junctor.Errorf(junctor.CodeInvalid, "messages: the last one says nothing")
	case len(text) > maxMessageBytes || !utf8.ValidString(text):
		return nil, junctor.Errorf(junctor.CodeInvalid, "messages: a message is text of %d KiB at most", maxMessageBytes>>10)
	}
	if in.Message.ID == "" {
		in.Message.ID = r.NewID()
	}
	said := junctor.Message{
		Tenant: p.Tenant, Workspace: id, ID: in.Message.ID, At: r.Now(), Author: junctor.Author{Kind: junctor.AuthorUser, Name: displayName(p), ID: p.ID()}, Run: in.RunID, Text: text, Action: action,
	}
	todo, err := r.planRun(ctx, &w, text, in.Agent)
	if err != nil {
		return nil, err
	}
	row, err := r.newRunRow(p, &w, in.RunID)
	if err != nil {
		return nil, err
	}
	if err := r.Store.For(p.Tenant).BeginRun(ctx, &row, &said); err != nil {
		return nil, err
	}
	return r.startRun(p, &w, &runner{row: row, plan: todo}, &said), nil //nolint:contextcheck // a run outlives the request that began it
}

// displayName is what a person is called in a room.
func displayName(p *junctor.Principal) string {
	if p.Name != "" {
		return p.Name
	}
	return p.Subject
}

// planRun is who answers a message.
func (r *Rooms) planRun(ctx context.Context, w *junctor.Workspace, text, picked string) (runPlan, error) {
	todo := runPlan{Round: 1}
	if picked != "" {
		if slices.Contains(w.Agents(), picked) {
			todo.Next = []string{picked}
			return todo, nil
		}
		return todo, junctor.Errorf(junctor.CodeInvalid, "forwardedProps: the agent %q is not in this room; in it are: %s", picked, strings.Join(w.Agents(), ", "))
	}
	lastly := ""
	if w.Policy == junctor.PolicyRoundRobin || w.Policy == junctor.PolicyRouter {
		list, err := r.Store.For(w.Tenant).Messages(ctx, w.ID, store.MessageFilter{Limit: maxHistoryMessages})
		if err != nil {
			return todo, err
		}
		for _, m := range list {
			if m.Author.Kind == junctor.AuthorAgent && m.Aside == "" {
				lastly = m.Author.Name
			}
		}
	}
	todo.Next = chooseSpeakers(w, text, lastly, func() []agentSummary { return r.summarizeAgents(ctx, w) })
	return todo, nil
}

// summarizeAgents describes the agents of a room to its router.
func (r *Rooms) summarizeAgents(ctx context.Context, w *junctor.Workspace) []agentSummary {
	agents := w.Agents()
	out := make([]agentSummary, 0, len(agents))
	for _, name := range agents {
		c := agentSummary{name: name}
		if one, err := r.Store.For(w.Tenant).Agent(ctx, name); err == nil {
			c.description = one.Title + " " + string(one.Role)
		}
		tools, err := r.listAgentTools(ctx, w.Tenant, w.ID, name)
		if err == nil {
			for _, t := range tools {
				c.description += " " + t.Name + " " + t.Title + " " + t.Description
			}
		}
		out = append(out, c)
	}
	return out
}

// resumeRun takes words on calls. When none is left that waits, the run that
// waited goes on as another.
func (r *Rooms) resumeRun(ctx context.Context, p *junctor.Principal, w *junctor.Workspace, in agui.Input) (*Feed, error) {
	rows := r.Store.For(p.Tenant)
	open, err := rows.CallApprovals(ctx, w.ID, "")
	if err != nil {
		return nil, err
	}
	byID := map[string]junctor.CallApproval{}
	for _, a := range open {
		byID[a.ID] = a
	}
	from, decisions := "", make([]junctor.CallApproval, 0, len(in.Resume))
	for _, answer := range in.Resume {
		a, ok := byID[answer.Interrupt]
		if !ok || from != "" && a.Run != from {
			return nil, junctor.Errorf(junctor.CodeConflict, "no call waits under %q: somebody else has decided, or the run was stopped", answer.Interrupt)
		}
		from = a.Run
		a.State, a.Remember, a.DecidedBy, a.DecidedAt, a.Reason = junctor.CallDenied, answer.Remember, p.ID(), r.Now(), truncateText(answer.Reason, maxReasonBytes)
		if answer.Allow {
			a.State = junctor.CallAllowed
		}
		decisions = append(decisions, a)
	}
	before, err := rows.RoomRun(ctx, w.ID, from)
	if err != nil {
		return nil, err
	}
	var todo runPlan
	if err := json.Unmarshal(before.Plan, &todo); err != nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "the run %q cannot continue: its plan cannot be read: %w", from, err)
	}
	next, err := r.newRunRow(p, w, in.RunID)
	if err != nil {
		return nil, err
	}
	asked, begun, err := rows.ContinueRun(ctx, from, decisions, &next)
	if err != nil {
		return nil, err
	}
	words := map[string]agent.Decision{}
	var left []junctor.CallApproval
	for _, a := range asked {
		if a.State == junctor.CallOpen {
			left = append(left, a)
		}
		words[a.Call.ID] = agent.Decision{Allow: a.State == junctor.CallAllowed, Reason: a.Reason, Digest: a.Call.Digest}
	}
	if !begun {
		return r.newPendingFeed(p, w, in.RunID, left), nil
	}
	return r.startRun(p, w, &runner{row: next, plan: todo, decisions: words}, nil), nil //nolint:contextcheck // a run outlives the request that began it
}

// newPendingFeed answers who has answered a part of what is asked: with the rest.
func (r *Rooms) newPendingFeed(p *junctor.Principal, w *junctor.Workspace, run string, left []junctor.CallApproval) *Feed {
	l := newLiveRun(run, func() {})
	s := agui.NewStream(w.ID, run, nil, r.Now, l.publish)
	s.Finish(agui.Outcome{Type: agui.Interrupt, Interrupts: newInterrupts(left, "")}, agui.Usage{})
	l.ended = true
	return r.newFeed(roomKey{p.Tenant, w.ID}, l)
}

// newInterrupts tells clients which calls wait for a word.
func newInterrupts(asked []junctor.CallApproval, part string) []agui.Waits {
	out := make([]agui.Waits, 0, len(asked))
	for _, a := range asked {
		meta, err := json.Marshal(map[string]string{"agent": a.Agent, "server": a.Call.Server, "tool": a.Call.Tool})
		if err != nil {
			meta = nil // texts can always be written
		}
		out = append(out, agui.Waits{
			ID: a.ID, Reason: "approval", Message: fmt.Sprintf("%s wants to use %s", a.Agent, a.Call.Name), ToolCallID: a.Call.ID, SubagentRunID: part, Metadata: meta,
			ResponseSchema: json.RawMessage(`{"type":"object","properties":{"allow":{"type":"boolean"},"remember":{"type":"boolean"},"reason":{"type":"string"}},"required":["allow"]}`),
		})
	}
	return out
}

// newRunRow returns the row of a run that is about to begin here.
func (r *Rooms) newRunRow(p *junctor.Principal, w *junctor.Workspace, id string) (junctor.RoomRun, error) {
	if r.lifetime.Err() != nil {
		return junctor.RoomRun{}, junctor.Errorf(junctor.CodeUnavailable, "the instance is ending; try again in a moment")
	}
	return junctor.RoomRun{Tenant: p.Tenant, Workspace: w.ID, ID: id, State: junctor.RunRunning, By: p.ID(), Node: r.Node, BegunAt: r.Now()}, nil
}

// startRun runs a run whose row is stored. Nothing can fail from here on: a row whose run
// does not start would block its room.
func (r *Rooms) startRun(p *junctor.Principal, w *junctor.Workspace, one *runner, said *junctor.Message) *Feed {
	running, cancel := context.WithCancel(r.lifetime)
	l := newLiveRun(one.row.ID, cancel)
	at := roomKey{p.Tenant, w.ID}
	var echo *agui.EchoMessage
	if said != nil {
		echo = &agui.EchoMessage{ID: said.ID, Role: "user", Name: said.Author.Name, Content: said.Text}
	}
	one.rooms, one.room, one.userID = r, *w, p.User
	one.stream = agui.NewStream(w.ID, one.row.ID, echo, r.Now, l.publish)
	r.setLatestRun(at, l)
	feed := r.newFeed(at, l)
	r.activeRuns.Go(func() {
		defer r.endLiveRun(at, l)
		defer cancel()
		one.runToEnd(running)
	})
	return feed
}

// Listen follows all that happens in a room.
func (r *Rooms) Listen(ctx context.Context, p *junctor.Principal, id string) (*Feed, error) {
	if _, err := r.loadForMember(ctx, p, id); err != nil {
		return nil, err
	}
	return r.newFeed(roomKey{p.Tenant, id}, nil), nil
}

// Stop stops a run that goes on or waits. One that has ended, or never was,
// stays as it is.
func (r *Rooms) Stop(ctx context.Context, p *junctor.Principal, id, run string) error {
	if _, err := r.loadForMember(ctx, p, id); err != nil {
		return err
	}
	rows := r.Store.For(p.Tenant)
	if _, err := rows.StopRun(ctx, id, run, p.ID(), r.Now()); err != nil {
		return err
	}
	if l := r.findRunInRoom(roomKey{p.Tenant, id}); l != nil && l.id == run {
		l.stop()
	}
	return nil
}

// storeNote keeps a message of the room itself.
func (r *Rooms) storeNote(ctx context.Context, w *junctor.Workspace, run, id, text string) error {
	return r.Store.For(w.Tenant).PutMessage(ctx, &junctor.Message{
		Tenant: w.Tenant, Workspace: w.ID, ID: id, At: r.Now(), Author: junctor.Author{Kind: junctor.AuthorSystem, Name: "room"}, Run: run, Text: text,
	})
}

// recoverLostRuns marks runs that nobody runs any more, and says so in their rooms:
// those of this node, when it has just started, and those whose node was not
// heard of for a while.
func (r *Rooms) recoverLostRuns(ctx context.Context, starting bool) error {
	node := ""
	if starting {
		node = r.Node
	}
	lost, err := r.Store.LoseRuns(ctx, node, r.Now().Add(-agent.HeartbeatTimeout))
	errs := append(make([]error, 0, 1+len(lost)), err)
	for _, run := range lost {
		w := junctor.Workspace{Tenant: run.Tenant, ID: run.Workspace}
		errs = append(errs, r.storeNote(ctx, &w, run.ID, "lost-"+run.ID, "The instance ended in the middle of this. What was under way is marked as lost and is not repeated: say it again if you still want it."))
	}
	return errors.Join(errs...)
}
