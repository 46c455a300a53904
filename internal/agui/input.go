package agui

import (
	"encoding/json"
	"strings"

	strict "github.com/go-json-experiment/json"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/a2ui"
)

// Input is the part of a RunAgentInput request that is used here. The client's own
// tools, context and state are ignored: agents have their own.
type Input struct {
	ThreadID string
	RunID    string
	Message  UserMessage       // the last message; zero if the request has none
	Resume   []InterruptAnswer // decisions for which a run waits
	Agent    string            // the agent that shall answer; "" means that the room chooses

	Action *a2ui.Action // the action on a surface that the message stands for; nil if none
}

// UserMessage is a message of a person.
type UserMessage struct {
	ID   string
	Text string
}

// InterruptAnswer is a person's decision on an interrupt.
type InterruptAnswer struct {
	InterruptID string // the id in PendingInterrupt
	Allow       bool
	Remember    bool
	Reason      string // of a denial
}

// wireInput is the JSON form of a request. A request carries the whole
// conversation; only its last message is new.
type wireInput struct {
	ThreadID string `json:"threadId"`
	RunID    string `json:"runId"`
	Messages []struct {
		ID      string          `json:"id"`
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	ForwardedProps json.RawMessage `json:"forwardedProps"`
	Resume         []struct {
		InterruptID string          `json:"interruptId"`
		Status      string          `json:"status"`
		Payload     json.RawMessage `json:"payload"`
	} `json:"resume"`
}

// ReadInput parses a request. It ignores unknown members, as the protocol requires.
// Known members must be valid and occur once. The error has CodeInvalid.
func ReadInput(text []byte) (Input, error) {
	var w wireInput
	if err := strict.Unmarshal(text, &w); err != nil {
		return Input{}, junctor.Errorf(junctor.CodeInvalid, "the body is not an AG-UI RunAgentInput: %w", err)
	}
	in := Input{ThreadID: w.ThreadID, RunID: w.RunID}
	for _, id := range []string{w.ThreadID, w.RunID} {
		if len(id) > maxIDLength {
			return in, junctor.Errorf(junctor.CodeInvalid, "threadId and runId must have at most %d characters", maxIDLength)
		}
	}
	for _, r := range w.Resume {
		a, err := parseAnswer(r.InterruptID, r.Status, r.Payload)
		if err != nil {
			return in, err
		}
		in.Resume = append(in.Resume, a)
	}
	if n := len(w.Messages); n > 0 && len(in.Resume) == 0 {
		last := w.Messages[n-1]
		if last.Role != "user" {
			return in, junctor.Errorf(junctor.CodeInvalid, "messages: the last message must have the role user, not %q", last.Role)
		}
		content, err := DecodeText(last.Content)
		if err != nil {
			return in, err
		}
		if len(last.ID) > maxIDLength {
			return in, junctor.Errorf(junctor.CodeInvalid, "messages: an id must have at most %d characters", maxIDLength)
		}
		in.Message = UserMessage{ID: last.ID, Text: content}
	}
	if len(w.ForwardedProps) > 0 && w.ForwardedProps[0] == '{' {
		var props struct {
			Agent  string       `json:"agent"`
			Action *a2ui.Action `json:"action"`
		}
		if err := strict.Unmarshal(w.ForwardedProps, &props); err != nil {
			return in, junctor.Errorf(junctor.CodeInvalid, "forwardedProps: agent must be the name of an agent, and action an action of a surface: %w", err)
		}
		in.Agent, in.Action = props.Agent, props.Action
		if in.Action != nil {
			if err := in.Action.Check(); err != nil {
				return in, junctor.Errorf(junctor.CodeInvalid, "forwardedProps: %w", err)
			}
		}
	}
	return in, nil
}

// maxIDLength bounds ids that clients choose, because they are stored.
const maxIDLength = 100

// parseAnswer parses one decision. A cancelled interrupt is a denial.
func parseAnswer(id, status string, payload json.RawMessage) (InterruptAnswer, error) {
	a := InterruptAnswer{InterruptID: id}
	switch status {
	case "cancelled":
		return a, nil
	case "resolved":
	default:
		return a, junctor.Errorf(junctor.CodeInvalid, "resume: status must be resolved or cancelled, not %q", status)
	}
	var p struct {
		Allow    *bool  `json:"allow"`
		Remember bool   `json:"remember"`
		Reason   string `json:"reason"`
	}
	if err := strict.Unmarshal(payload, &p); err != nil || p.Allow == nil {
		return a, junctor.Errorf(junctor.CodeInvalid, `resume: payload must be {"allow": true} or {"allow": false}, with "remember" and "reason" if needed`)
	}
	// A denial is never remembered: a person who denies one call may allow the
	// next.
	a.Allow, a.Remember, a.Reason = *p.Allow, p.Remember && *p.Allow, p.Reason
	return a, nil
}

// DecodeText returns the text of a message's content: a string, null or a list of text
// parts. Chat completions use the same format. Other types of parts are errors,
// because an agent would silently miss them.
func DecodeText(content json.RawMessage) (string, error) {
	if len(content) == 0 || string(content) == "null" {
		return "", nil
	}
	if content[0] == '"' {
		var text string
		err := strict.Unmarshal(content, &text)
		return text, err
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := strict.Unmarshal(content, &parts); err != nil {
		return "", junctor.Errorf(junctor.CodeInvalid, "messages: content must be a string, or an array of text parts: %w", err)
	}
	texts := make([]string, 0, len(parts))
	for _, p := range parts {
		if p.Type != "text" {
			return "", junctor.Errorf(junctor.CodeInvalid, "messages: a part of the content is of type %q; agents accept only text", p.Type)
		}
		texts = append(texts, p.Text)
	}
	return strings.Join(texts, "\n"), nil
}
