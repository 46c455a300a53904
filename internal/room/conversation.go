package room

import (
	"encoding/json"
	"slices"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/a2ui"
	"github.com/junctor-mcp/junctor/internal/agent"
)

// maxHistoryMessages is how many messages of a room an agent is told, at most, and
// maxHistoryBytes how long they may be together.
const (
	maxHistoryMessages = 200
	maxHistoryBytes    = 256 << 10
)

// conversationFor is what was said in a room as one agent knows it: its own words and
// calls are its own, those of others are said to it, under their names. What
// agents asked each other aside is between them. Calls that wait are left
// without a result, for the turn that goes on with them.
func conversationFor(messages []junctor.Message, name string) []agent.Message {
	var out []agent.Message
	for i := range messages {
		m := &messages[i]
		switch {
		case m.Aside != "":
		case m.Author.Kind == junctor.AuthorAgent && m.Author.Name == name:
			if isEmpty(m) {
				continue
			}
			own := agent.Message{Role: agent.RoleAssistant, Text: m.Text, Surfaces: decodeSurfaces(m), Thinking: m.Thinking}
			results := agent.Message{Role: agent.RoleTool}
			for j := range m.Calls {
				c := &m.Calls[j]
				own.Calls = append(own.Calls, agent.Call{ID: c.ID, Name: c.Name, Arguments: objectOrEmpty(c.Arguments)})
				if c.State != junctor.SaidWaiting {
					results.Results = append(results.Results, toolResult(c))
				}
			}
			out = append(out, own)
			if len(results.Results) > 0 {
				out = append(out, results)
			}
		case m.Text == "" || m.Author.Kind == junctor.AuthorSystem && !isReportFor(m, name):
		default:
			out = append(out, agent.Message{Role: agent.RoleUser, Name: m.Author.Name, Text: m.Text, Action: userAction(m)})
		}
	}
	return out
}

// decodeSurfaces is what was shown with a message.
func decodeSurfaces(m *junctor.Message) []a2ui.Surface {
	var out []a2ui.Surface
	for _, text := range m.Surfaces {
		var s a2ui.Surface
		if json.Unmarshal(text, &s) == nil {
			out = append(out, s)
		}
	}
	return out
}

// userAction is what a person did; a note of the room is none of theirs.
func userAction(m *junctor.Message) *a2ui.Action {
	if m.Author.Kind == junctor.AuthorSystem {
		return nil
	}
	return decodeAction(m)
}

// decodeAction is what somebody did on a surface; nil where they spoke.
func decodeAction(m *junctor.Message) *a2ui.Action {
	var a a2ui.Action
	if len(m.Action) == 0 || json.Unmarshal(m.Action, &a) != nil {
		return nil
	}
	return &a
}

// trimHistory cuts a room's messages to what fits into a story, from its end.
func trimHistory(messages []junctor.Message) []junctor.Message {
	size := 0
	for i, m := range slices.Backward(messages) {
		size += len(m.Text) + len(m.Action)
		for _, s := range m.Surfaces {
			size += len(s)
		}
		for _, c := range m.Calls {
			size += len(c.Arguments) + len(c.ResultText)
		}
		if size > maxHistoryBytes && i < len(messages)-1 {
			return messages[i+1:]
		}
	}
	return messages
}

// toolResult is what an agent is told of a call that it made.
func toolResult(c *junctor.SaidCall) agent.Result {
	res := agent.Result{CallID: c.ID, Text: c.ResultText, Record: c.Record, Server: c.Server, Tool: c.Tool, View: c.View}
	switch c.State {
	case junctor.SaidFailed:
		res.IsError = true
	case junctor.SaidDenied:
		res.IsError, res.Denied = true, true
		if res.Text == "" {
			res.Text = "the person did not allow this call, so it was not made"
		}
	case junctor.SaidLost, junctor.SaidRunning:
		res.IsError = true
		res.Text = "there is no result: the instance ended while the call was made, so whether it took effect is not known"
	case junctor.SaidDone, junctor.SaidWaiting:
	}
	return res
}

// objectOrEmpty gives arguments as they can be kept: what is no JSON object is none.
func objectOrEmpty(arguments json.RawMessage) json.RawMessage {
	var any map[string]json.RawMessage
	if json.Unmarshal(arguments, &any) != nil || any == nil {
		return json.RawMessage("{}")
	}
	return arguments
}
