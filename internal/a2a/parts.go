package a2a

import (
	"encoding/json"
	"fmt"
	"mime"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/agent"
)

// Media types that an agent reads.
const (
	mediaText = "text/plain"
	mediaJSON = "application/json"
)

// maxMessage is how long a message may be as the agent reads it.
const maxMessage = 256 << 10

// heard is a message as an agent takes it.
type heard struct {
	said  agent.Message
	words map[string]agent.Decision // on calls, by their id; nil where it has none
	plain string                    // its texts alone
	done  []string                  // what a person did on surfaces, in words
}

// read makes what an agent hears of a message.
func read(m *a2a.Message) (heard, error) {
	h := heard{said: agent.Message{Role: agent.RoleUser}}
	var texts, all []string
	for i, p := range m.Parts {
		if p == nil {
			return h, problem(a2a.ErrInvalidParams, fmt.Sprintf("parts[%d] is null", i))
		}
		switch content := p.Content.(type) {
		case a2a.Text:
			texts, all = append(texts, string(content)), append(all, string(content))
		case a2a.Data:
			if words, ok := wordsOf(content.Value); ok {
				h.words = words
				continue
			}
			acted, err := h.acted(p, content.Value)
			if err != nil {
				return h, problem(a2a.ErrInvalidParams, fmt.Sprintf("parts[%d]: %s", i, junctor.AsError(err).Message))
			}
			if acted {
				continue
			}
			text, err := json.Marshal(content.Value)
			if err != nil {
				return h, problem(a2a.ErrInvalidParams, fmt.Sprintf("parts[%d]: the data cannot be read", i))
			}
			all = append(all, string(text))
		case a2a.Raw:
			kind, _, err := mime.ParseMediaType(p.MediaType)
			if err != nil || kind != mediaText && kind != mediaJSON {
				return h, problem(a2a.ErrUnsupportedContentType, fmt.Sprintf("parts[%d] is %q: this agent reads %s and %s", i, p.MediaType, mediaText, mediaJSON))
			}
			all = append(all, strings.ToValidUTF8(string(content), "\uFFFD"))
		default:
			return h, problem(a2a.ErrUnsupportedContentType, fmt.Sprintf("parts[%d] is an address: this agent fetches none; send its text", i))
		}
	}
	if len(all) == 0 { // a person's own words say it better
		all = h.done
	}
	h.plain, h.said.Text = strings.Join(texts, "\n"), strings.Join(all, "\n")
	if len(h.said.Text) > maxMessage {
		return h, problem(a2a.ErrInvalidParams, fmt.Sprintf("the message is longer than %d KiB", maxMessage>>10))
	}
	return h, nil
}

// wordsOf reads what an owner says on calls that wait: {"approvals":{"<call>":true}}.
func wordsOf(data any) (map[string]agent.Decision, bool) {
	object, ok := data.(map[string]any)
	if !ok {
		return nil, false
	}
	said, ok := object["approvals"].(map[string]any)
	if !ok {
		return nil, false
	}
	out := map[string]agent.Decision{}
	for id, word := range said {
		out[id] = agent.Decision{Allow: word == true}
	}
	return out, true
}

// decisions is what a message says on the calls that wait: a word on each, or one
// for all. Whatever is no yes is a no, and the agent is told what was said.
func (h *heard) decisions(waiting []agent.Call) map[string]agent.Decision {
	out := map[string]agent.Decision{}
	for _, c := range waiting {
		if word, ok := h.words[c.ID]; ok {
			word.Digest = c.Digest
			out[c.ID] = word
			continue
		}
		switch strings.ToLower(strings.Trim(h.plain, " \t\r\n.!")) {
		case "yes", "y", "ok", "okay", "allow", "approve", "approved", "go ahead":
			out[c.ID] = agent.Decision{Allow: true, Digest: c.Digest}
		default:
			out[c.ID] = agent.Decision{Reason: h.plain}
		}
	}
	return out
}

// asking is the message that asks an owner for a word on calls.
func asking(of a2a.TaskInfoProvider, calls []agent.Call) *a2a.Message {
	names, list := make([]string, 0, len(calls)), make([]any, 0, len(calls))
	for _, c := range calls {
		names = append(names, c.Name)
		var arguments any
		_ = json.Unmarshal(c.Arguments, &arguments) // what cannot be read is shown as nothing
		list = append(list, map[string]any{"id": c.ID, "tool": c.Name, "arguments": arguments})
	}
	text := "May I call " + strings.Join(names, ", ") + `? Answer yes or no, or with {"approvals":{"<id>":true}} as data.`
	return a2a.NewMessageForTask(a2a.MessageRoleAgent, of, a2a.NewTextPart(text), a2a.NewDataPart(map[string]any{"waiting": list}))
}

// checkMessage refuses a message that is none.
func checkMessage(m *a2a.Message) error {
	long := func(s string) bool { return len(s) > 256 }
	switch {
	case m == nil:
		return problem(a2a.ErrInvalidParams, "message is missing")
	case m.ID == "":
		return problem(a2a.ErrInvalidParams, "message.messageId is missing")
	case long(m.ID) || long(m.ContextID) || long(string(m.TaskID)):
		return problem(a2a.ErrInvalidParams, "an id in the message is longer than 256 characters")
	case m.Role != a2a.MessageRoleUser:
		return problem(a2a.ErrInvalidParams, "message.role is to be ROLE_USER: it is the agent who answers")
	case len(m.Parts) == 0:
		return problem(a2a.ErrInvalidParams, "message.parts is missing, or empty")
	}
	return nil
}

// readStory reads what was said in a task as the agent knows it.
func readStory(row *junctor.AgentTask) ([]agent.Message, error) {
	var out []agent.Message
	if err := json.Unmarshal(row.Story, &out); err != nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "the story of the task %q cannot be read: %w", row.ID, err)
	}
	return out, nil
}

// waiting gives the calls that a story ends with and that have no result.
func waiting(story []agent.Message) (out []agent.Call) {
	have := map[string]bool{}
	for _, m := range slices.Backward(story) {
		switch m.Role {
		case agent.RoleTool:
			for _, r := range m.Results {
				have[r.CallID] = true
			}
		case agent.RoleAssistant:
			return slices.DeleteFunc(slices.Clone(m.Calls), func(c agent.Call) bool { return have[c.ID] })
		case agent.RoleUser:
			return nil
		}
	}
	return nil
}
