package room

import (
	"encoding/json"
	"slices"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/a2ui"
	"github.com/junctor-mcp/junctor/internal/agent"
)

// maxHistoryMessages and maxHistoryBytes bound the part of a room's history that an
// agent reads in a turn.
const (
	maxHistoryMessages = 200
	maxHistoryBytes    = 256 << 10
)

// conversationFor returns the messages of a room as one agent reads them: its own
// messages and calls are the assistant's, those of others are user messages under
// their names. Questions between two agents are left out, and so are notes of the
// room, except reports about the agent's own surfaces. Calls that wait have no
// result, so that the turn can resume them.
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
				if c.State != junctor.MessageCallWaiting {
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

// decodeSurfaces returns the surfaces that a message shows. It skips a surface that
// it cannot decode.
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

// userAction returns the action that a person took on a surface. It is nil for the
// room's own notes, which use the same field for reports.
func userAction(m *junctor.Message) *a2ui.Action {
	if m.Author.Kind == junctor.AuthorSystem {
		return nil
	}
	return decodeAction(m)
}

// decodeAction returns the action that a message carries; nil if it is only text.
func decodeAction(m *junctor.Message) *a2ui.Action {
	var a a2ui.Action
	if len(m.Action) == 0 || json.Unmarshal(m.Action, &a) != nil {
		return nil
	}
	return &a
}

// trimHistory drops the oldest messages until the rest fits into maxHistoryBytes.
// The newest message always stays.
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

// toolResult returns the result of a call as its agent reads it. Every state has a
// text, because models need a result for every call.
func toolResult(c *junctor.MessageCall) agent.Result {
	res := agent.Result{CallID: c.ID, Text: c.ResultText, Record: c.Record, Server: c.Server, Tool: c.Tool, ViewURI: c.View}
	switch c.State {
	case junctor.MessageCallFailed:
		res.IsError = true
	case junctor.MessageCallDenied:
		res.IsError, res.Denied = true, true
		if res.Text == "" {
			res.Text = "the person did not allow this call, so it was not made"
		}
	case junctor.MessageCallLost, junctor.MessageCallRunning:
		res.IsError = true
		res.Text = "there is no result: the instance stopped during the call, so it is unknown whether the call took effect"
	case junctor.MessageCallDone, junctor.MessageCallWaiting:
	}
	return res
}

// objectOrEmpty returns the arguments of a call in a form that can be stored:
// anything but a JSON object becomes an empty one.
func objectOrEmpty(arguments json.RawMessage) json.RawMessage {
	var any map[string]json.RawMessage
	if json.Unmarshal(arguments, &any) != nil || any == nil {
		return json.RawMessage("{}")
	}
	return arguments
}
