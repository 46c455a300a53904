package agui

import (
	"encoding/json"
	"strings"

	strict "github.com/go-json-experiment/json"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/a2ui"
)

// Input is what a client asks for: RunAgentInput, as far as it counts here.
// Tools, context and state of the client's own are not used.
type Input struct {
	ThreadID string
	RunID    string
	Message  Said     // the last message of a person; zero where there is none
	Resume   []Answer // to what a run waits for
	Agent    string   // who is to answer; "" leaves it to the room

	Action *a2ui.Action // what the person did on a surface, where that is what is said
}

// Said is a message of a person.
type Said struct {
	ID   string
	Text string
}

// Answer is a person's word.
type Answer struct {
	Interrupt string
	Allow     bool
	Remember  bool
	Reason    string // of a no
}

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

// ReadInput reads a request. Members that are unknown are left alone, as the
// protocol wants; those that are known must be right, and stand once.
func ReadInput(text []byte) (Input, error) {
	var w wireInput
	if err := strict.Unmarshal(text, &w); err != nil {
		return Input{}, junctor.Errorf(junctor.CodeInvalid, "the body is no RunAgentInput of AG-UI: %w", err)
	}
	in := Input{ThreadID: w.ThreadID, RunID: w.RunID}
	for _, id := range []string{w.ThreadID, w.RunID} {
		if len(id) > mostID {
			return in, junctor.Errorf(junctor.CodeInvalid, "threadId and runId have %d characters at most", mostID)
		}
	}
	for _, r := range w.Resume {
		a, err := answerOf(r.InterruptID, r.Status, r.Payload)
		if err != nil {
			return in, err
		}
		in.Resume = append(in.Resume, a)
	}
	if n := len(w.Messages); n > 0 && len(in.Resume) == 0 {
		last := w.Messages[n-1]
		if last.Role != "user" {
			return in, junctor.Errorf(junctor.CodeInvalid, "messages: the last one is to be the person's, of role user, not %q", last.Role)
		}
		said, err := Text(last.Content)
		if err != nil {
			return in, err
		}
		if len(last.ID) > mostID {
			return in, junctor.Errorf(junctor.CodeInvalid, "messages: an id has %d characters at most", mostID)
		}
		in.Message = Said{ID: last.ID, Text: said}
	}
	if len(w.ForwardedProps) > 0 && w.ForwardedProps[0] == '{' {
		var props struct {
			Agent  string       `json:"agent"`
			Action *a2ui.Action `json:"action"`
		}
		if err := strict.Unmarshal(w.ForwardedProps, &props); err != nil {
			return in, junctor.Errorf(junctor.CodeInvalid, "forwardedProps: agent is the name of who is to answer, action what was done on a surface: %w", err)
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

// mostID bounds ids that clients choose.
const mostID = 100

func answerOf(id, status string, payload json.RawMessage) (Answer, error) {
	a := Answer{Interrupt: id}
	switch status {
	case "cancelled":
		return a, nil
	case "resolved":
	default:
		return a, junctor.Errorf(junctor.CodeInvalid, "resume: the status is resolved or cancelled, not %q", status)
	}
	var p struct {
		Allow    *bool  `json:"allow"`
		Remember bool   `json:"remember"`
		Reason   string `json:"reason"`
	}
	if err := strict.Unmarshal(payload, &p); err != nil || p.Allow == nil {
		return a, junctor.Errorf(junctor.CodeInvalid, `resume: the payload says yes or no, as {"allow": true} with "remember" and "reason" where they are wanted`)
	}
	a.Allow, a.Remember, a.Reason = *p.Allow, p.Remember && *p.Allow, p.Reason
	return a, nil
}

// Text reads a message's content: a text, nothing, or parts of text. Chat
// completions write it in the same way.
func Text(content json.RawMessage) (string, error) {
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
		return "", junctor.Errorf(junctor.CodeInvalid, "messages: the content is a text, or a list of parts of text: %w", err)
	}
	texts := make([]string, 0, len(parts))
	for _, p := range parts {
		if p.Type != "text" {
			return "", junctor.Errorf(junctor.CodeInvalid, "messages: a part of the content is of type %q; agents read text alone", p.Type)
		}
		texts = append(texts, p.Text)
	}
	return strings.Join(texts, "\n"), nil
}
