package room

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/agent"
	"github.com/junctor-mcp/junctor/internal/agui"
	"github.com/junctor-mcp/junctor/internal/store"
)

// runner is one on its way: agents' turns, one after the other.
type runner struct {
	rooms     *Rooms
	room      junctor.Workspace
	row       junctor.RoomRun
	userID    string                    // who began it, where that is a user
	decisions map[string]agent.Decision // on its calls

	mu       sync.Mutex // of what follows: agents that are asked aside work at the same time
	stream   *agui.Stream
	plan     runPlan
	usage    agent.Usage
	answered bool // somebody did
}

// runToEnd runs it to its end, and keeps how it ended. What is kept is kept although
// the run was stopped.
func (r *runner) runToEnd(ctx context.Context) {
	keep := context.WithoutCancel(ctx)
	var waits []junctor.CallApproval
	var part string
	r.row.State, waits, part = r.runTurns(ctx, keep)
	if r.row.State == junctor.RunWaiting {
		plan, err := json.Marshal(r.plan)
		if err != nil {
			r.row.State, r.row.Reason = junctor.RunFailed, "what is left to do cannot be kept"
		}
		r.row.Plan = plan
	}
	r.row.Input, r.row.Output, r.row.EndedAt = r.usage.Input, r.usage.Output, r.rooms.Now()
	if err := r.rooms.Store.For(r.row.Tenant).EndRun(keep, &r.row, waits); err != nil {
		r.rooms.Log.Error("rooms: how a run ended could not be kept", "room", r.row.Workspace, "run", r.row.ID, "error", err, "cause", junctor.AsError(err).Cause)
		r.row.State, r.row.Reason = junctor.RunFailed, junctor.AsError(err).Message
	}
	used := agui.Usage{InputTokens: r.usage.Input, OutputTokens: r.usage.Output}
	switch r.row.State {
	case junctor.RunWaiting:
		r.stream.Finish(agui.Outcome{Type: agui.Interrupt, Interrupts: newInterrupts(waits, part)}, used)
	case junctor.RunCancelled:
		r.stream.Finish(agui.Outcome{Type: agui.Cancelled}, used)
	case junctor.RunFailed:
		r.stream.Fail(string(junctor.RunFailed), r.row.Reason, used)
	case junctor.RunDone, junctor.RunRunning, junctor.RunLost:
		r.stream.Finish(agui.Outcome{Type: agui.Success}, used)
	}
}

// runTurns has each agent speak whose turn it is.
func (r *runner) runTurns(ctx, keep context.Context) (state junctor.RunState, waits []junctor.CallApproval, part string) {
	if name := r.plan.Waits; name != "" {
		r.plan.Waits = ""
		if state, waits, part = r.runTurn(ctx, keep, name); state != "" {
			return state, waits, part
		}
	} else if len(r.plan.Next) == 0 {
		r.postNote(keep, r.explainSilence())
	}
	for {
		if ctx.Err() != nil {
			return r.cancelRun(), nil, ""
		}
		r.mu.Lock()
		name, over := r.plan.nextSpeaker(r.room.MaxRounds)
		r.mu.Unlock()
		if over {
			r.postNote(keep, fmt.Sprintf("The agents have passed the floor %d times, as often as this room lets them. Say something to have them go on.", r.room.MaxRounds))
		}
		if name == "" {
			break
		}
		if state, waits, part = r.runTurn(ctx, keep, name); state != "" {
			return state, waits, part
		}
	}
	if r.row.Reason != "" && !r.answered {
		return junctor.RunFailed, nil, ""
	}
	return junctor.RunDone, nil, ""
}

func (r *runner) cancelRun() junctor.RunState {
	r.row.Reason = "somebody stopped it"
	if r.rooms.lifetime.Err() != nil {
		r.row.Reason = "the instance was stopped"
	}
	return junctor.RunCancelled
}

// explainSilence says why nobody answers.
func (r *runner) explainSilence() string {
	agents := r.room.Agents()
	if len(agents) == 0 {
		return "There is no agent in this room: add one, and it will answer."
	}
	return "Nobody was addressed. Write @" + strings.Join(agents, ", @") + ", or @all."
}

// postNote is a message of the room itself.
func (r *runner) postNote(keep context.Context, text string) {
	id := r.rooms.NewID()
	if err := r.rooms.storeNote(keep, &r.room, r.row.ID, id, text); err != nil {
		r.logStoreFailure(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stream.Say(id, text)
}

// logStoreFailure logs that something said could not be kept. The run goes on: who
// listens has heard it.
func (r *runner) logStoreFailure(err error) {
	r.rooms.Log.Error("rooms: what was said could not be kept", "room", r.row.Workspace, "run", r.row.ID, "error", err, "cause", junctor.AsError(err).Cause)
}

// runTurn is one agent's. It gives a state where the run ends with it.
func (r *runner) runTurn(ctx, keep context.Context, name string) (junctor.RunState, []junctor.CallApproval, string) {
	mind, before, err := r.prepareTurn(ctx, name)
	rec := r.newRecorder(keep, name, nil, "")
	if err != nil {
		if ctx.Err() != nil {
			rec.finishTurn(agent.End{Outcome: agent.Cancelled})
			return r.cancelRun(), nil, ""
		}
		rec.finishTurn(agent.End{Outcome: agent.Failed, Reason: junctor.AsError(err).Message})
		r.row.Reason = name + ": " + junctor.AsError(err).Message
		return "", nil, ""
	}
	rec.adoptDecidedCalls(before, r.decisions)
	mind.Tools = r.rooms.Views.Beside(toolsOrNone(mind.Tools), r.row.Tenant, r.userID, name, rec.newRecordCheck(before))
	if mind.Model != "" { // rules have surfaces of their own
		mind.Tools = agent.WithSurfaces(mind.Tools, r.rooms.Catalogs(ctx, r.row.Tenant))
	}
	if others := r.otherAgents(name); len(others) > 0 {
		mind.Tools = &roomTools{Tools: mind.Tools, run: r, storeCtx: keep, part: rec.part, self: name, otherAgents: others}
		mind.Instructions += describeRoom(name, others)
	}
	mind.NeedsApproval, mind.Apps = r.newApprovalCheck(ctx, name), true // the console shows them
	mind.Decisions, r.decisions = r.decisions, nil
	end := agent.Run(ctx, mind, rec.handleEvent)
	waits := rec.finishTurn(end)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.usage.Add(end.Usage)
	switch end.Outcome {
	case agent.Waiting:
		r.plan.Waits = name
		return junctor.RunWaiting, waits, rec.id
	case agent.Cancelled:
		return r.cancelRun(), nil, ""
	case agent.Failed:
		r.row.Reason = name + ": " + end.Reason
	case agent.Done, agent.Limit:
		r.answered = true
		r.plan.queueAgents(name, findMentions(end.Text(), r.room.Agents()))
	}
	return "", nil, ""
}

// prepareTurn gives an agent what it thinks with, and what was said so far.
func (r *runner) prepareTurn(ctx context.Context, name string) (agent.Turn, []junctor.Message, error) {
	mind, err := r.rooms.Minds.Mind(ctx, r.row.Tenant, r.row.Workspace, name)
	if err != nil {
		return mind, nil, err
	}
	list, err := r.rooms.Store.For(r.row.Tenant).Messages(ctx, r.row.Workspace, store.MessageFilter{Limit: maxHistoryMessages})
	if err != nil {
		return mind, nil, err
	}
	list = trimHistory(list)
	mind.Agent, mind.Messages, mind.FreshIDs = name, conversationFor(list, name), true // cards of calls are known by their ids, in the whole room
	if len(r.decisions) > 0 {                                                          // what others said meanwhile stands before the calls that wait
		mind.Messages = moveWaitingLast(mind.Messages, r.decisions)
	}
	return mind, list, nil
}

// moveWaitingLast moves the message whose calls wait, and their results, behind all
// others: a turn goes on with the calls that its story ends with.
func moveWaitingLast(messages []agent.Message, words map[string]agent.Decision) []agent.Message {
	for i, m := range messages {
		if !slices.ContainsFunc(m.Calls, func(c agent.Call) bool { _, ok := words[c.ID]; return ok }) {
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

func (r *runner) otherAgents(name string) []string {
	return slices.DeleteFunc(r.room.Agents(), func(one string) bool { return one == name })
}

func toolsOrNone(tools agent.Tools) agent.Tools {
	if tools == nil {
		return agent.NoTools{}
	}
	return tools
}

// newApprovalCheck says which calls of an agent a person must allow: those of tools that are
// not known to be read-only, unless somebody allowed the tool for good as it is
// now. A tool with another description, schema or annotation is another tool: its
// server could otherwise be allowed one thing and then do a second one.
func (r *runner) newApprovalCheck(ctx context.Context, name string) func(agent.Tool, agent.Call) bool {
	if r.room.Approvals == junctor.ApproveNever {
		return nil
	}
	return func(t agent.Tool, _ agent.Call) bool {
		if t.ReadOnly {
			return false
		}
		list, err := r.rooms.Store.For(r.row.Tenant).Remembered(ctx, r.row.Workspace)
		return err != nil || !slices.ContainsFunc(list, func(a junctor.CallApproval) bool {
			return a.Agent == name && a.Call.Server == t.Server && a.Call.Tool == t.Own && a.Call.Digest == t.Digest && t.Digest != ""
		})
	}
}
