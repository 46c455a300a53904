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

// What an agent can do with the others in its room, beside its own tools. Names
// of tools from servers have two underscores, so these are no other's.
const (
	askAgentTool = "ask_agent"
	handOverTool = "hand_over"
)

// roomTools is an agent's tools and those of the room.
type roomTools struct {
	agent.Tools
	run         *runner
	storeCtx    context.Context //nolint:containedctx // of one turn, without its end
	part        *agui.Part
	self        string
	otherAgents []string
}

func (t *roomTools) listRoomTools() []agent.Tool {
	schema, err := json.Marshal(map[string]any{
		"type": "object", "additionalProperties": false, "required": []string{"agent", "message"},
		"properties": map[string]any{
			"agent":   map[string]any{"type": "string", "enum": t.otherAgents, "description": "who"},
			"message": map[string]any{"type": "string", "description": "what to tell them; they know what was said in the room"},
		},
	})
	if err != nil {
		return nil // names can always be written
	}
	return []agent.Tool{
		{Name: askAgentTool, Title: "Ask another agent", Description: "Ask another agent of this room something, and get its answer. It uses its own tools.", Schema: schema, ReadOnly: true, Own: askAgentTool},
		{Name: handOverTool, Title: "Hand over to another agent", Description: "Have another agent of this room speak after you, and go on with this.", Schema: schema, ReadOnly: true, Own: handOverTool},
	}
}

// List gives both.
func (t *roomTools) List(ctx context.Context) ([]agent.Tool, error) {
	list, err := t.Tools.List(ctx)
	return append(slices.Clone(list), t.listRoomTools()...), err
}

// Resolve knows both.
func (t *roomTools) Resolve(ctx context.Context, c agent.Call) (agent.Tool, error) {
	for _, own := range t.listRoomTools() {
		if own.Name == c.Name {
			return own, nil
		}
	}
	return t.Tools.Resolve(ctx, c)
}

// Call makes either.
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

// Refuse records calls of the agent's own tools; those of the room are told of in
// the room.
func (t *roomTools) Refuse(ctx context.Context, c agent.Call, why error) string {
	if c.Name == askAgentTool || c.Name == handOverTool {
		return ""
	}
	return t.Tools.Refuse(ctx, c, why)
}

func (t *roomTools) callRoomTool(ctx context.Context, c agent.Call) (string, error) {
	var in struct {
		Agent   string `json:"agent"`
		Message string `json:"message"`
	}
	if err := strict.Unmarshal(c.Arguments, &in, strict.RejectUnknownMembers(true)); err != nil || strings.TrimSpace(in.Message) == "" {
		return "", junctor.Errorf(junctor.CodeInvalid, "%s takes agent and message, both texts", c.Name)
	}
	in.Agent = strings.TrimPrefix(in.Agent, "@")
	if !slices.Contains(t.otherAgents, in.Agent) {
		return "", junctor.Errorf(junctor.CodeInvalid, "%q is not another agent of this room; in it are: %s", in.Agent, strings.Join(t.otherAgents, ", "))
	}
	if c.Name == handOverTool {
		return t.passFloor(in.Agent, in.Message)
	}
	return t.askOtherAgent(ctx, c.ID, in.Agent, in.Message)
}

// passFloor has another speak in the next round, and tells it why.
func (t *roomTools) passFloor(to, message string) (string, error) {
	r := t.run
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.plan.Round >= r.room.MaxRounds {
		return "", junctor.Errorf(junctor.CodeLimited, "the floor was passed %d times, as often as this room lets it: answer yourself, and the person will say how to go on", r.room.MaxRounds)
	}
	r.plan.queueAgents(t.self, []string{to})
	note := junctor.Message{
		Tenant: r.row.Tenant, Workspace: r.row.Workspace, ID: r.rooms.NewID(), At: r.rooms.Now(), Author: junctor.Author{Kind: junctor.AuthorAgent, Name: t.self}, Run: r.row.ID, Text: "@" + to + " " + message,
	}
	if err := r.rooms.Store.For(note.Tenant).PutMessage(t.storeCtx, &note); err != nil {
		return "", err
	}
	t.part.Text(note.ID, t.self)
	t.part.More(note.Text)
	t.part.EndText()
	return to + " speaks after you. Say in a sentence that you hand over.", nil
}

// askOtherAgent has another agent answer aside, with its own tools and limits. It can ask
// nobody else, and do nothing that a person would have to allow: nobody could
// be asked while the first one waits.
func (t *roomTools) askOtherAgent(ctx context.Context, call, whom, message string) (string, error) {
	r := t.run
	mind, _, err := r.prepareTurn(ctx, whom)
	if err != nil {
		return "", err
	}
	mind.Messages = append(mind.Messages, agent.Message{Role: agent.RoleUser, Name: t.self, Text: message})
	mind.NeedsApproval = r.newApprovalCheck(ctx, whom)
	rec := r.newRecorder(t.storeCtx, whom, t.part, call) //nolint:contextcheck // what was said is kept although the run is stopped
	end := agent.Run(ctx, mind, rec.handleEvent)
	if end.Outcome == agent.Waiting {
		end.Outcome, end.Reason = agent.Failed, fmt.Sprintf("%s wants to use %s, which a person must allow: hand over to it with %s instead", whom, end.Waiting[0].Name, handOverTool)
		end.Waiting = nil
	}
	rec.finishTurn(end)
	r.mu.Lock()
	r.usage.Add(end.Usage)
	r.mu.Unlock()
	if end.Outcome != agent.Done && end.Text() == "" {
		return "", junctor.Errorf(junctor.CodeUnavailable, "%s did not answer: %s", whom, end.Reason)
	}
	return end.Text(), nil
}

// describeRoom tells an agent where it is.
func describeRoom(name string, others []string) string {
	return fmt.Sprintf("\n\nYou are %s, in a room with people and these other agents: %s. Messages of others come under their names. "+
		"Speak for yourself alone. To pass the floor write @ and a name, or use %s; to ask another agent something use %s.", name, strings.Join(others, ", "), handOverTool, askAgentTool)
}
