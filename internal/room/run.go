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

// maxMessageBytes bounds a person's message.
const maxMessageBytes = 64 << 10

// maxReasonBytes bounds the reason that a person gives for a denial.
const maxReasonBytes = 2 << 10

// StartRun starts a run, either with a message or with decisions on calls that wait for
// an approval. It returns the events of that run. The run goes on whether the
// caller reads them or not; the caller closes the feed. A message to a room in
// which calls wait denies those calls.
//
// The errors are CodeInvalid for a bad message, CodeNotFound for a room of which
// the principal is no member, CodeConflict if another run goes on or the calls no
// longer wait, and CodeUnavailable while the instance stops.
func (r *Rooms) StartRun(ctx context.Context, p *junctor.Principal, id string, in agui.Input) (*Feed, error) {
	w, err := r.loadForMember(ctx, p, id)
	if err != nil {
		return nil, err
	}
	if in.ThreadID != "" && in.ThreadID != id {
		return nil, junctor.Errorf(junctor.CodeInvalid, "threadId must be the id of the room, %q, not %q", id, in.ThreadID)
	}
	if in.RunID == "" {
		in.RunID = r.NewID()
	}
	if len(in.Resume) > 0 {
		return r.resumeRun(ctx, p, &w, in)
	}
	text := strings.TrimSpace(in.Message.Text)
	var action json.RawMessage
	// An action on a surface is stored with a sentence that describes it, because
	// models read text only.
	if in.Action != nil {
		if text == "" {
			text = in.Action.Describe()
		}
		if action, err = json.Marshal(in.Action); err != nil {
			return nil, junctor.Errorf(junctor.CodeInvalid, "forwardedProps: the action cannot be encoded: %w", err)
		}
	}
	switch {
	case text == "":
		return nil, junctor.Errorf(junctor.CodeInvalid, "messages: the last message is empty")
	case len(text) > maxMessageBytes || !utf8.ValidString(text):
		return nil, junctor.Errorf(junctor.CodeInvalid, "messages: a message can have at most %d KiB of text", maxMessageBytes>>10)
	}
	if in.Message.ID == "" {
		in.Message.ID = r.NewID()
	}
	said := junctor.Message{
		Tenant: p.Tenant, Room: id, ID: in.Message.ID, At: r.Now(), Author: junctor.Author{Kind: junctor.AuthorUser, Name: displayName(p), ID: p.ID()}, Run: in.RunID, Text: text, Action: action,
	}
	plan, err := r.planRun(ctx, &w, text, in.Agent)
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
	return r.launchRun(p, &w, &runner{row: row, plan: plan, address: junctor.ClientAddress(ctx)}, &said), nil //nolint:contextcheck // a run outlives the request that began it
}

// displayName returns the name under which a person's messages appear in a room.
func displayName(p *junctor.Principal) string {
	if p.Name != "" {
		return p.Name
	}
	return p.Subject
}

// planRun returns the plan of a run that a message starts: the agent that the
// client picked, otherwise the agents that chooseSpeakers selects.
func (r *Rooms) planRun(ctx context.Context, w *junctor.Room, text, picked string) (runPlan, error) {
	plan := runPlan{Round: 1}
	if picked != "" {
		if slices.Contains(w.Agents(), picked) {
			plan.Next = []string{picked}
			return plan, nil
		}
		return plan, junctor.Errorf(junctor.CodeInvalid, "forwardedProps: the agent %q is not in this room; its agents are: %s", picked, strings.Join(w.Agents(), ", "))
	}
	lastSpeaker := ""
	if w.Policy == junctor.PolicyRoundRobin || w.Policy == junctor.PolicyRouter {
		list, err := r.Store.For(w.Tenant).Messages(ctx, w.ID, store.MessageFilter{Limit: maxHistoryMessages})
		if err != nil {
			return plan, err
		}
		for _, m := range list {
			// An answer to another agent's question does not count: it was not a
			// turn of the room.
			if m.Author.Kind == junctor.AuthorAgent && m.Aside == "" {
				lastSpeaker = m.Author.Name
			}
		}
	}
	plan.Next = chooseSpeakers(w, text, lastSpeaker, func() []agentSummary { return r.summarizeAgents(ctx, w) })
	return plan, nil
}

// summarizeAgents describes the agents of a room for routing. An agent that cannot
// be loaded is described by its name only, so that a message can still be routed to
// the others.
func (r *Rooms) summarizeAgents(ctx context.Context, w *junctor.Room) []agentSummary {
	agents := w.Agents()
	out := make([]agentSummary, 0, len(agents))
	for _, name := range agents {
		c := agentSummary{name: name}
		if row, err := r.Store.For(w.Tenant).Agent(ctx, name); err == nil {
			c.description = row.Title + " " + string(row.Role)
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

// resumeRun stores decisions on calls that wait. The run itself continues, as a new
// run with the stored plan, once its last waiting call is decided. Until then the
// feed only names the calls that still wait. All decisions must be about the same
// run.
func (r *Rooms) resumeRun(ctx context.Context, p *junctor.Principal, w *junctor.Room, in agui.Input) (*Feed, error) {
	rows := r.Store.For(p.Tenant)
	open, err := rows.CallApprovals(ctx, w.ID, "")
	if err != nil {
		return nil, err
	}
	// Every decision must belong to a call that waits, and all to the same run: the
	// run continues as one.
	byID := map[string]junctor.CallApproval{}
	for _, a := range open {
		byID[a.ID] = a
	}
	from, decisions := "", make([]junctor.CallApproval, 0, len(in.Resume))
	for _, answer := range in.Resume {
		a, ok := byID[answer.InterruptID]
		if !ok || from != "" && a.Run != from {
			return nil, junctor.Errorf(junctor.CodeConflict, "no call waits for the decision %q: another member has decided, or the run was stopped", answer.InterruptID)
		}
		from = a.Run
		a.State, a.Remember, a.DecidedBy, a.DecidedAt, a.Reason = junctor.CallDenied, answer.Remember, p.ID(), r.Now(), junctor.ShortenText(answer.Reason, maxReasonBytes)
		if answer.Allow {
			a.State = junctor.CallAllowed
		}
		decisions = append(decisions, a)
	}
	before, err := rows.RoomRun(ctx, w.ID, from)
	if err != nil {
		return nil, err
	}
	var plan runPlan
	if err := json.Unmarshal(before.Plan, &plan); err != nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "the run %q cannot continue: its plan cannot be read: %w", from, err)
	}
	next, err := r.newRunRow(p, w, in.RunID)
	if err != nil {
		return nil, err
	}
	// The store decides atomically whether this request made the last decision, so
	// that two people who decide at the same time do not start the run twice.
	asked, begun, err := rows.ContinueRun(ctx, from, decisions, &next)
	if err != nil {
		return nil, err
	}
	decided := map[string]agent.Decision{}
	var left []junctor.CallApproval
	for _, a := range asked {
		if a.State == junctor.CallOpen {
			left = append(left, a)
		}
		decided[a.Call.ID] = agent.Decision{Allow: a.State == junctor.CallAllowed, Reason: a.Reason, Digest: a.Call.Digest}
	}
	if !begun {
		return r.newPendingFeed(p, w, in.RunID, left), nil
	}
	return r.launchRun(p, w, &runner{row: next, plan: plan, decisions: decided, address: junctor.ClientAddress(ctx)}, nil), nil //nolint:contextcheck // a run outlives the request that began it
}

// newPendingFeed answers a request that decided a part of the waiting calls: one
// finished run of events that lists the rest.
func (r *Rooms) newPendingFeed(p *junctor.Principal, w *junctor.Room, run string, left []junctor.CallApproval) *Feed {
	l := newLiveRun(run, func() {})
	s := agui.NewStream(w.ID, run, nil, r.Now, l.publish)
	s.Finish(agui.Outcome{Type: agui.OutcomeInterrupt, Interrupts: newInterrupts(left, "")}, agui.Usage{})
	l.ended = true
	return r.newFeed(roomKey{p.Tenant, w.ID}, l)
}

// newInterrupts describes waiting calls as AG-UI interrupts, with the schema of the
// decision that each expects. part is the id of the agent's part in the stream.
func newInterrupts(asked []junctor.CallApproval, part string) []agui.PendingInterrupt {
	out := make([]agui.PendingInterrupt, 0, len(asked))
	for _, a := range asked {
		meta, err := json.Marshal(map[string]string{"agent": a.Agent, "server": a.Call.Server, "tool": a.Call.Tool})
		if err != nil {
			meta = nil // a map of strings always encodes
		}
		out = append(out, agui.PendingInterrupt{
			ID: a.ID, Reason: "approval", Message: fmt.Sprintf("%s requests a call of %s", a.Agent, a.Call.Name), ToolCallID: a.Call.ID, SubagentRunID: part, Metadata: meta,
			ResponseSchema: json.RawMessage(`{"type":"object","properties":{"allow":{"type":"boolean"},"remember":{"type":"boolean"},"reason":{"type":"string"}},"required":["allow"]}`),
		})
	}
	return out
}

// newRunRow returns the row of a run that is about to start in this process. It
// fails while the instance stops.
func (r *Rooms) newRunRow(p *junctor.Principal, w *junctor.Room, id string) (junctor.RoomRun, error) {
	if r.lifetime.Err() != nil {
		return junctor.RoomRun{}, junctor.Errorf(junctor.CodeUnavailable, "the instance is stopping; try again in a moment")
	}
	return junctor.RoomRun{Tenant: p.Tenant, Room: w.ID, ID: id, State: junctor.RunRunning, By: p.ID(), Replica: r.Replica, BegunAt: r.Now()}, nil
}

// launchRun runs a run whose row is stored, in its own goroutine. It cannot fail: a
// stored row whose run does not start would block its room until the row is marked
// as lost.
func (r *Rooms) launchRun(p *junctor.Principal, w *junctor.Room, run *runner, said *junctor.Message) *Feed {
	running, cancel := context.WithCancel(junctor.WithClientAddress(r.lifetime, run.address))
	l := newLiveRun(run.row.ID, cancel)
	key := roomKey{p.Tenant, w.ID}
	var echo *agui.EchoMessage
	if said != nil {
		echo = &agui.EchoMessage{ID: said.ID, Role: "user", Name: said.Author.Name, Content: said.Text}
	}
	run.rooms, run.room, run.userID = r, *w, p.User
	run.stream = agui.NewStream(w.ID, run.row.ID, echo, r.Now, l.publish)
	r.setLatestRun(key, l)
	// Subscribe before the run starts, so that the caller receives every event.
	feed := r.newFeed(key, l)
	r.activeRuns.Go(func() {
		// The feed ends last, after the runner stored and published how the run
		// ended.
		defer r.endLiveRun(key, l)
		defer cancel()
		run.runToEnd(running)
	})
	return feed
}

// Subscribe returns the events of all runs of a room, now and later. The caller closes
// the feed.
func (r *Rooms) Subscribe(ctx context.Context, p *junctor.Principal, id string) (*Feed, error) {
	if _, err := r.loadForMember(ctx, p, id); err != nil {
		return nil, err
	}
	return r.newFeed(roomKey{p.Tenant, id}, nil), nil
}

// StopRun stops a run that goes on or waits, also one of another replica: that replica
// notices with its next heartbeat. A run that has ended or does not exist is not an
// error.
func (r *Rooms) StopRun(ctx context.Context, p *junctor.Principal, id, run string) error {
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

// storeNote stores a message of the room itself. Storing the same id again replaces
// the message.
func (r *Rooms) storeNote(ctx context.Context, w *junctor.Room, run, id, text string) error {
	return r.Store.For(w.Tenant).PutMessage(ctx, &junctor.Message{
		Tenant: w.Tenant, Room: w.ID, ID: id, At: r.Now(), Author: junctor.Author{Kind: junctor.AuthorSystem, Name: "room"}, Run: run, Text: text,
	})
}

// recoverLostRuns marks runs as lost that no process runs any more, and posts a
// note in their rooms. These are the runs whose replica did not report for
// agent.HeartbeatTimeout and, while this process is starting, all former runs of
// this replica.
func (r *Rooms) recoverLostRuns(ctx context.Context, starting bool) error {
	replica := ""
	if starting {
		replica = r.Replica
	}
	lost, err := r.Store.LoseRuns(ctx, replica, r.Now().Add(-agent.HeartbeatTimeout))
	errs := append(make([]error, 0, 1+len(lost)), err)
	for _, run := range lost {
		w := junctor.Room{Tenant: run.Tenant, ID: run.Room}
		errs = append(errs, r.storeNote(ctx, &w, run.ID, "lost-"+run.ID, "The instance stopped during this run. Its unfinished calls are marked as lost and are not repeated: send your message again if you still need the answer."))
	}
	return errors.Join(errs...)
}
