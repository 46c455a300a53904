package room

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	strict "github.com/go-json-experiment/json"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/agent"
	"github.com/junctor-mcp/junctor/internal/agui"
)

// Tools with which an agent reaches the other agents of its room, beside its own
// tools. Names of server tools contain two underscores, so these names cannot
// collide with them.
const (
	askAgentTool = "ask_agent"
	handOverTool = "hand_over"
)

// roomTools offers an agent's own tools, and those of the room, for one turn.
type roomTools struct {
	agent.Tools
	run         *runner
	storeCtx    context.Context //nolint:containedctx // of one turn, without its cancellation
	part        *agui.Part
	self        string
	otherAgents []string
}

// listRoomTools returns the definitions of the room's tools. The schema lists the
// other agents by name, so that a model cannot invent one.
func (t *roomTools) listRoomTools() []agent.Tool {
	schema, err := json.Marshal(map[string]any{
		"type": "object", "additionalProperties": false, "required": []string{"agent", "message"},
		"properties": map[string]any{
			"agent":   map[string]any{"type": "string", "enum": t.otherAgents, "description": "The agent"},
			"message": map[string]any{"type": "string", "description": "The message for the agent. It has read the messages of the room."},
		},
	})
	if err != nil {
		return nil // a map of strings always encodes
	}
	return []agent.Tool{
		{Name: askAgentTool, Title: "Ask another agent", Description: "Ask another agent of this room, and get its answer. It uses its own tools.", Schema: schema, ReadOnly: true, OriginalName: askAgentTool},
		{Name: handOverTool, Title: "Hand over to another agent", Description: "Let another agent of this room speak next, and continue the task.", Schema: schema, ReadOnly: true, OriginalName: handOverTool},
	}
}

// List returns the agent's tools and those of the room.
func (t *roomTools) List(ctx context.Context) ([]agent.Tool, error) {
	list, err := t.Tools.List(ctx)
	return append(slices.Clone(list), t.listRoomTools()...), err
}

// Resolve returns the tool that a call is for, of the agent or of the room.
func (t *roomTools) Resolve(ctx context.Context, c agent.Call) (agent.Tool, error) {
	for _, own := range t.listRoomTools() {
		if own.Name == c.Name {
			return own, nil
		}
	}
	return t.Tools.Resolve(ctx, c)
}

// Call makes a call of the agent's tools or of the room's.
func (t *roomTools) Call(ctx context.Context, c agent.Call) agent.Result {
	if c.Name != askAgentTool && c.Name != handOverTool {
		return t.Tools.Call(ctx, c)
	}
	text, err := t.callRoomTool(ctx, c)
	if err != nil {
		return agent.Result{CallID: c.ID, IsError: true, Text: junctor.AsError(err).Message}
	}
	return agent.Result{CallID: c.ID, Text: text}
}

// RecordRefusal records a refused call of the agent's own tools. The room's tools have no
// records: their calls appear in the room's messages.
func (t *roomTools) RecordRefusal(ctx context.Context, c agent.Call, why error) string {
	if c.Name == askAgentTool || c.Name == handOverTool {
		return ""
	}
	return t.Tools.RecordRefusal(ctx, c, why)
}

// callRoomTool validates the arguments of a room tool and executes it. The error
// text is for the model.
func (t *roomTools) callRoomTool(ctx context.Context, c agent.Call) (string, error) {
	var in struct {
		Agent   string `json:"agent"`
		Message string `json:"message"`
	}
	if err := strict.Unmarshal(c.Arguments, &in, strict.RejectUnknownMembers(true)); err != nil || strings.TrimSpace(in.Message) == "" {
		return "", junctor.Errorf(junctor.CodeInvalid, "%s requires agent and message, both texts", c.Name)
	}
	in.Agent = strings.TrimPrefix(in.Agent, "@")
	if !slices.Contains(t.otherAgents, in.Agent) {
		return "", junctor.Errorf(junctor.CodeInvalid, "%q is not another agent of this room; the other agents are: %s", in.Agent, strings.Join(t.otherAgents, ", "))
	}
	if c.Name == handOverTool {
		return t.passFloor(in.Agent, in.Message)
	}
	return t.askOtherAgent(ctx, c.ID, in.Agent, in.Message)
}

// passFloor lets another agent speak in the next round, and posts the message with
// which the agent hands over.
func (t *roomTools) passFloor(to, message string) (string, error) {
	r := t.run
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.plan.Round >= r.room.MaxRounds {
		return "", junctor.Errorf(junctor.CodeLimited, "agents have taken turns %d times, which is max_rounds of this room: answer yourself, and the person decides how to continue", r.room.MaxRounds)
	}
	r.plan.queueAgents(t.self, []string{to})
	note := junctor.Message{
		Tenant: r.row.Tenant, Room: r.row.Room, ID: r.rooms.NewID(), At: r.rooms.Now(), Author: junctor.Author{Kind: junctor.AuthorAgent, Name: t.self}, Run: r.row.ID, Text: "@" + to + " " + message,
	}
	if err := r.rooms.Store.For(note.Tenant).PutMessage(t.storeCtx, &note); err != nil {
		return "", err
	}
	t.part.StartText(note.ID, t.self)
	t.part.AppendText(note.Text)
	t.part.EndText()
	return to + " speaks next. Say in one sentence that you hand over.", nil
}

// askOtherAgent runs a turn of another agent, with that agent's tools and limits,
// and returns its answer. The asked agent cannot ask others. It cannot make calls
// that need an approval either: the first agent's turn would have to wait inside a
// tool call, which cannot be stored.
func (t *roomTools) askOtherAgent(ctx context.Context, callID, name, message string) (string, error) {
	r := t.run
	turn, _, err := r.prepareTurn(ctx, name)
	if err != nil {
		return "", err
	}
	turn.Messages = append(turn.Messages, agent.Message{Role: agent.RoleUser, Name: t.self, Text: message})
	turn.NeedsApproval = r.newApprovalCheck(ctx, name)
	rec := r.newRecorder(t.storeCtx, name, t.part, callID) //nolint:contextcheck // messages are stored although the run is stopped
	end := agent.Run(ctx, turn, rec.handleEvent)
	if end.Outcome == agent.OutcomeWaiting {
		end.Outcome, end.Reason = agent.OutcomeFailed, fmt.Sprintf("%s requests a call of %s, which a user must approve: hand over to it with %s instead", name, end.Waiting[0].Name, handOverTool)
		end.Waiting = nil
	}
	rec.finishTurn(end)
	r.mu.Lock()
	r.usage.Add(end.Usage)
	r.mu.Unlock()
	if end.Outcome != agent.OutcomeDone && end.Text() == "" {
		return "", junctor.Errorf(junctor.CodeUnavailable, "%s did not answer: %s", name, end.Reason)
	}
	return end.Text(), nil
}

// describeRoom returns the part of an agent's instructions that explains the room
// and its tools.
func describeRoom(name string, others []string) string {
	return fmt.Sprintf("\n\nYou are %s, in a room with people and these other agents: %s. Messages of others begin with their names. "+
		"Write only your own messages. To let another agent speak next, write @ and its name, or use %s. To ask another agent, use %s.", name, strings.Join(others, ", "), handOverTool, askAgentTool)
}
