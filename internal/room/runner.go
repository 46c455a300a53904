package room

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/agent"
	"github.com/junctor-mcp/junctor/internal/agui"
	"github.com/junctor-mcp/junctor/internal/store"
)

// runner executes one run: the turns of its agents, one after the other.
type runner struct {
	rooms     *Rooms
	room      junctor.Room
	row       junctor.RoomRun
	userID    string                    // the user that started the run; "" if no user did
	address   netip.Addr                // of the client that started the run
	decisions map[string]agent.Decision // on the calls that waited in the former run

	mu       sync.Mutex // guards the fields below: an agent that another agent asks works at the same time
	stream   *agui.Stream
	plan     runPlan
	usage    agent.Usage
	answered bool // at least one agent answered
}

// runToEnd takes all turns, stores how the run ended and finishes the event stream.
// It stores with a context that has no cancellation, so that the end of a stopped
// run is kept.
func (r *runner) runToEnd(ctx context.Context) {
	storeCtx := context.WithoutCancel(ctx)
	var waits []junctor.CallApproval
	var part string
	r.row.State, waits, part = r.runTurns(ctx, storeCtx)
	if r.row.State == junctor.RunWaiting {
		plan, err := json.Marshal(r.plan)
		if err != nil {
			r.row.State, r.row.Reason = junctor.RunFailed, "the state of the run cannot be stored"
		}
		r.row.Plan = plan
	}
	r.row.Input, r.row.Output, r.row.EndedAt = r.usage.Input, r.usage.Output, r.rooms.Now()
	if err := r.rooms.Store.For(r.row.Tenant).EndRun(storeCtx, &r.row, waits); err != nil {
		r.rooms.Log.Error("cannot store the end of a run", "room", r.row.Room, "run", r.row.ID, "error", err, "cause", junctor.AsError(err).Cause)
		r.row.State, r.row.Reason = junctor.RunFailed, junctor.AsError(err).Message
	}
	used := agui.Usage{InputTokens: r.usage.Input, OutputTokens: r.usage.Output}
	switch r.row.State {
	case junctor.RunWaiting:
		r.stream.Finish(agui.Outcome{Type: agui.OutcomeInterrupt, Interrupts: newInterrupts(waits, part)}, used)
	case junctor.RunCancelled:
		r.stream.Finish(agui.Outcome{Type: agui.OutcomeCancelled}, used)
	case junctor.RunFailed:
		r.stream.Fail(string(junctor.RunFailed), r.row.Reason, used)
	case junctor.RunDone, junctor.RunRunning, junctor.RunLost:
		r.stream.Finish(agui.Outcome{Type: agui.OutcomeSuccess}, used)
	}
}

// runTurns lets agents take their turns until the plan is empty, a call waits for
// an approval, or the run is stopped. It returns the state in which the run ends.
// For a waiting run it also returns the approvals to request, and the stream id of
// the turn that waits.
func (r *runner) runTurns(ctx, storeCtx context.Context) (state junctor.RunState, waits []junctor.CallApproval, part string) {
	if name := r.plan.WaitingAgent; name != "" {
		r.plan.WaitingAgent = ""
		if state, waits, part = r.runTurn(ctx, storeCtx, name); state != "" {
			return state, waits, part
		}
	} else if len(r.plan.Next) == 0 {
		r.postNote(storeCtx, r.explainSilence())
	}
	for {
		if ctx.Err() != nil {
			return r.cancelRun(), nil, ""
		}
		r.mu.Lock()
		name, over := r.plan.nextSpeaker(r.room.MaxRounds)
		r.mu.Unlock()
		if over {
			r.postNote(storeCtx, fmt.Sprintf("The agents have reached the limit of %d rounds of this room. Send a message to let them continue.", r.room.MaxRounds))
		}
		if name == "" {
			break
		}
		if state, waits, part = r.runTurn(ctx, storeCtx, name); state != "" {
			return state, waits, part
		}
	}
	// A run failed only if no agent answered; one failed agent beside others does
	// not count.
	if r.row.Reason != "" && !r.answered {
		return junctor.RunFailed, nil, ""
	}
	return junctor.RunDone, nil, ""
}

// cancelRun records why the run was cancelled, and returns that state.
func (r *runner) cancelRun() junctor.RunState {
	r.row.Reason = "a user stopped the run"
	if r.rooms.lifetime.Err() != nil {
		r.row.Reason = "the instance was stopped"
	}
	return junctor.RunCancelled
}

// explainSilence returns the note for a message that no agent answers.
func (r *runner) explainSilence() string {
	agents := r.room.Agents()
	if len(agents) == 0 {
		return "This room has no agent: add an agent to get answers."
	}
	return "No agent was addressed. Write @" + strings.Join(agents, ", @") + ", or @all."
}

// postNote stores and publishes a message of the room itself.
func (r *runner) postNote(storeCtx context.Context, text string) {
	id := r.rooms.NewID()
	if err := r.rooms.storeNote(storeCtx, &r.room, r.row.ID, id, text); err != nil {
		r.logStoreFailure(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stream.EmitSystemMessage(id, text)
}

// logStoreFailure logs that a message could not be stored. The run goes on, because
// subscribers have received the message already.
func (r *runner) logStoreFailure(err error) {
	r.rooms.Log.Error("cannot store a message of a run", "room", r.row.Room, "run", r.row.ID, "error", err, "cause", junctor.AsError(err).Cause)
}

// runTurn takes one agent's turn, stores and publishes it. The state is "" if the
// run goes on; see runTurns for the other results. An agent that fails does not end
// the run: others may still answer.
func (r *runner) runTurn(ctx, storeCtx context.Context, name string) (junctor.RunState, []junctor.CallApproval, string) {
	turn, before, err := r.prepareTurn(ctx, name)
	rec := r.newRecorder(storeCtx, name, nil, "")
	if err != nil {
		if ctx.Err() != nil {
			rec.finishTurn(agent.TurnResult{Outcome: agent.OutcomeCancelled})
			return r.cancelRun(), nil, ""
		}
		rec.finishTurn(agent.TurnResult{Outcome: agent.OutcomeFailed, Reason: junctor.AsError(err).Message})
		r.row.Reason = name + ": " + junctor.AsError(err).Message
		return "", nil, ""
	}
	rec.adoptDecidedCalls(before, r.decisions)
	turn.Tools = r.rooms.AppTools.AddAppTools(toolsOrNone(turn.Tools), r.row.Tenant, r.userID, name, rec.newRecordCheck(before))
	if turn.Model != "" { // rules define surfaces in their own syntax
		turn.Tools = agent.AddSurfaceTool(turn.Tools, r.rooms.Catalogs(ctx, r.row.Tenant))
	}
	if others := r.otherAgents(name); len(others) > 0 {
		turn.Tools = &roomTools{Tools: turn.Tools, run: r, storeCtx: storeCtx, part: rec.part, self: name, otherAgents: others}
		turn.Instructions += describeRoom(name, others)
	}
	turn.NeedsApproval, turn.ShowsApps = r.newApprovalCheck(ctx, name), true // the console can show App views
	// Decisions are for the first turn only: it continues the calls that waited.
	turn.Decisions, r.decisions = r.decisions, nil
	end := agent.Run(ctx, turn, rec.handleEvent)
	waits := rec.finishTurn(end)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.usage.Add(end.Usage)
	switch end.Outcome {
	case agent.OutcomeWaiting:
		r.plan.WaitingAgent = name
		return junctor.RunWaiting, waits, rec.id
	case agent.OutcomeCancelled:
		return r.cancelRun(), nil, ""
	case agent.OutcomeFailed:
		r.row.Reason = name + ": " + end.Reason
	case agent.OutcomeDone, agent.OutcomeLimit:
		r.answered = true
		r.plan.queueAgents(name, findMentions(end.Text(), r.room.Agents()))
	}
	return "", nil, ""
}

// prepareTurn returns a turn of an agent with the conversation so far, and the
// stored messages of which the conversation was made.
func (r *runner) prepareTurn(ctx context.Context, name string) (agent.Turn, []junctor.Message, error) {
	turn, err := r.rooms.Turns.NewTurn(ctx, r.row.Tenant, r.row.Room, name)
	if err != nil {
		return turn, nil, err
	}
	list, err := r.rooms.Store.For(r.row.Tenant).Messages(ctx, r.row.Room, store.MessageFilter{Limit: maxHistoryMessages})
	if err != nil {
		return turn, nil, err
	}
	list = trimHistory(list)
	turn.Agent, turn.Messages, turn.FreshIDs = name, conversationFor(list, name), true // clients identify calls by id in the whole room
	if len(r.decisions) > 0 {                                                          // messages that arrived meanwhile go before the waiting calls
		turn.Messages = moveWaitingLast(turn.Messages, r.decisions)
	}
	return turn, list, nil
}

// moveWaitingLast moves the message with the decided calls, and the results behind
// it, to the end: agent.Run resumes only calls that end the conversation.
func moveWaitingLast(messages []agent.Message, decisions map[string]agent.Decision) []agent.Message {
	for i, m := range messages {
		if !slices.ContainsFunc(m.Calls, func(c agent.Call) bool { _, ok := decisions[c.ID]; return ok }) {
			continue
		}
		end := i + 1
		for end < len(messages) && messages[end].Role == agent.RoleTool {
			end++
		}
		return slices.Concat(messages[:i], messages[end:], messages[i:end])
	}
	return messages
}

// otherAgents returns the agents of the room except the named one.
func (r *runner) otherAgents(name string) []string {
	return slices.DeleteFunc(r.room.Agents(), func(one string) bool { return one == name })
}

// toolsOrNone replaces nil, so that the tools can be wrapped.
func toolsOrNone(tools agent.Tools) agent.Tools {
	if tools == nil {
		return agent.NoTools{}
	}
	return tools
}

// newApprovalCheck returns a function that reports whether a person must approve a
// call of an agent. Calls of read-only tools need no approval, and neither do calls
// of a tool that a member allowed permanently.
//
// A permanent approval holds for one digest of the tool. A tool with another
// description, schema or annotation needs a new one: a server could otherwise get a
// harmless tool approved and then replace it. If the approvals cannot be read, the
// call needs one.
func (r *runner) newApprovalCheck(ctx context.Context, name string) func(agent.Tool, agent.Call) bool {
	if r.room.Approvals == junctor.ApproveNever {
		return nil
	}
	return func(t agent.Tool, _ agent.Call) bool {
		if t.ReadOnly {
			return false
		}
		list, err := r.rooms.Store.For(r.row.Tenant).Remembered(ctx, r.row.Room)
		return err != nil || !slices.ContainsFunc(list, func(a junctor.CallApproval) bool {
			return a.Agent == name && a.Call.Server == t.Server && a.Call.Tool == t.OriginalName && a.Call.Digest == t.Digest && t.Digest != ""
		})
	}
}
