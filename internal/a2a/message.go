package a2a

import (
	"encoding/json"
	"fmt"
	"mime"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/agent"
)

// Media types of parts that an agent can read.
const (
	mediaText = "text/plain"
	mediaJSON = "application/json"
)

// maxMessageBytes bounds the text of a message.
const maxMessageBytes = 256 << 10

// parsedMessage is a message of the protocol in the form that an agent reads.
type parsedMessage struct {
	message       agent.Message
	callDecisions map[string]agent.Decision // decisions on calls, by call id; nil if there are none
	plainText     string                    // the text parts without the data parts
	actionTexts   []string                  // descriptions of actions on surfaces
}

// parseMessage converts a message. Data parts become JSON text, unless they are
// decisions or actions. Files must be text; URLs are rejected, because fetching
// them would let a caller make requests from inside this network.
func parseMessage(m *a2a.Message) (parsedMessage, error) {
	h := parsedMessage{message: agent.Message{Role: agent.RoleUser}}
	var texts, all []string
	for i, p := range m.Parts {
		if p == nil {
			return h, newProblem(a2a.ErrInvalidParams, fmt.Sprintf("parts[%d] is null", i))
		}
		switch content := p.Content.(type) {
		case a2a.Text:
			texts, all = append(texts, string(content)), append(all, string(content))
		case a2a.Data:
			if decisions, ok := parseApprovals(content.Value); ok {
				h.callDecisions = decisions
				continue
			}
			isAction, err := h.parseAction(p, content.Value)
			if err != nil {
				return h, newProblem(a2a.ErrInvalidParams, fmt.Sprintf("parts[%d]: %s", i, junctor.AsError(err).Message))
			}
			if isAction {
				continue
			}
			text, err := json.Marshal(content.Value)
			if err != nil {
				return h, newProblem(a2a.ErrInvalidParams, fmt.Sprintf("parts[%d]: the data cannot be read", i))
			}
			all = append(all, string(text))
		// A file counts by its declared type. Invalid bytes in it are replaced,
		// because models and the store take only UTF-8.
		case a2a.Raw:
			kind, _, err := mime.ParseMediaType(p.MediaType)
			if err != nil || kind != mediaText && kind != mediaJSON {
				return h, newProblem(a2a.ErrUnsupportedContentType, fmt.Sprintf("parts[%d] is %q: this agent accepts %s and %s", i, p.MediaType, mediaText, mediaJSON))
			}
			all = append(all, strings.ToValidUTF8(string(content), "\uFFFD"))
		default:
			return h, newProblem(a2a.ErrUnsupportedContentType, fmt.Sprintf("parts[%d] is a URL, which this agent does not fetch; send the text", i))
		}
	}
	if len(all) == 0 { // a person's own text takes precedence over the description
		all = h.actionTexts
	}
	h.plainText, h.message.Text = strings.Join(texts, "\n"), strings.Join(all, "\n")
	if len(h.message.Text) > maxMessageBytes {
		return h, newProblem(a2a.ErrInvalidParams, fmt.Sprintf("the message is longer than %d KiB", maxMessageBytes>>10))
	}
	return h, nil
}

// parseApprovals parses decisions on waiting calls, {"approvals":{"<call>":true}}.
// The second result is false if the data is something else.
func parseApprovals(data any) (map[string]agent.Decision, bool) {
	object, ok := data.(map[string]any)
	if !ok {
		return nil, false
	}
	approvals, ok := object["approvals"].(map[string]any)
	if !ok {
		return nil, false
	}
	out := map[string]agent.Decision{}
	for id, decision := range approvals {
		out[id] = agent.Decision{Allow: decision == true}
	}
	return out, true
}

// decideCalls returns the decision on each waiting call: the one for its id, or the
// text of the message for all others. Only a clear yes allows a call. Any other
// text denies it, and the agent reads the text as the reason.
func (h *parsedMessage) decideCalls(waiting []agent.Call) map[string]agent.Decision {
	out := map[string]agent.Decision{}
	for _, c := range waiting {
		if decision, ok := h.callDecisions[c.ID]; ok {
			// The decision is for the tool as it was when the owner was asked.
			decision.Digest = c.Digest
			out[c.ID] = decision
			continue
		}
		switch strings.ToLower(strings.Trim(h.plainText, " \t\r\n.!")) {
		case "yes", "y", "ok", "okay", "allow", "approve", "approved", "go ahead":
			out[c.ID] = agent.Decision{Allow: true, Digest: c.Digest}
		default:
			out[c.ID] = agent.Decision{Reason: h.plainText}
		}
	}
	return out
}

// newApprovalRequest returns the message that asks the owner of a task to approve
// calls.
func newApprovalRequest(of a2a.TaskInfoProvider, calls []agent.Call) *a2a.Message {
	// The text is for people, the data for programs.
	names, list := make([]string, 0, len(calls)), make([]any, 0, len(calls))
	for _, c := range calls {
		names = append(names, c.Name)
		var arguments any
		_ = json.Unmarshal(c.Arguments, &arguments) // invalid arguments are shown as null
		list = append(list, map[string]any{"id": c.ID, "tool": c.Name, "arguments": arguments})
	}
	text := "May I call " + strings.Join(names, ", ") + `? Answer yes or no, or with {"approvals":{"<id>":true}} as data.`
	return a2a.NewMessageForTask(a2a.MessageRoleAgent, of, a2a.NewTextPart(text), a2a.NewDataPart(map[string]any{"waiting": list}))
}

// checkMessage rejects an incomplete message. Ids are bounded, because they are
// stored.
func checkMessage(m *a2a.Message) error {
	long := func(s string) bool { return len(s) > 256 }
	switch {
	case m == nil:
		return newProblem(a2a.ErrInvalidParams, "message is missing")
	case m.ID == "":
		return newProblem(a2a.ErrInvalidParams, "message.messageId is missing")
	case long(m.ID) || long(m.ContextID) || long(string(m.TaskID)):
		return newProblem(a2a.ErrInvalidParams, "an id in the message is longer than 256 characters")
	case m.Role != a2a.MessageRoleUser:
		return newProblem(a2a.ErrInvalidParams, "message.role must be ROLE_USER")
	case len(m.Parts) == 0:
		return newProblem(a2a.ErrInvalidParams, "message.parts is missing, or empty")
	}
	return nil
}

// decodeConversation returns the messages in a task's row.
func decodeConversation(row *junctor.AgentTask) ([]agent.Message, error) {
	var out []agent.Message
	if err := json.Unmarshal(row.Messages, &out); err != nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "the messages of the task %q cannot be read: %w", row.ID, err)
	}
	return out, nil
}
