package a2ui

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	strict "github.com/go-json-experiment/json"

	junctor "github.com/junctor-mcp/junctor"
)

// Action is an action of a person on a surface, such as the press of a button.
type Action struct {
	Surface   string          `json:"surfaceId"`
	Component string          `json:"component,omitempty"` // its id
	Name      string          `json:"name"`
	Context   json.RawMessage `json:"context,omitempty"` // a JSON object
	Text      string          `json:"text,omitempty"`    // description of the action, if the client sends one
}

// MaxContextBytes bounds the context of an action, in bytes.
const MaxContextBytes = 64 << 10

// Check returns an error with CodeInvalid for an action that is incomplete or too
// large.
func (a *Action) Check() error {
	switch {
	case a.Surface == "" || a.Name == "":
		return junctor.Errorf(junctor.CodeInvalid, "action: surfaceId and name are required")
	case len(a.Surface) > maxIDLength || len(a.Component) > maxIDLength || len(a.Name) > maxIDLength:
		return junctor.Errorf(junctor.CodeInvalid, "action: surfaceId, component and name must have at most %d characters", maxIDLength)
	case len(a.Context)+len(a.Text) > MaxContextBytes:
		return junctor.Errorf(junctor.CodeInvalid, "action: context must have at most %d KiB", MaxContextBytes>>10)
	}
	if len(a.Context) > 0 {
		var members map[string]json.RawMessage
		if err := strict.Unmarshal(a.Context, &members); err != nil || members == nil {
			return junctor.Errorf(junctor.CodeInvalid, "action: context must be a JSON object without duplicate names")
		}
	}
	return nil
}

// Describe returns a description of the action, for models and people: the text
// that the client sent, or the name of the action with its context.
func (a *Action) Describe() string {
	if text := strings.TrimSpace(a.Text); text != "" {
		return text
	}
	text := "pressed " + a.Name
	if len(a.Context) > 2 {
		text += " " + string(a.Context)
	}
	return text
}

// RenderError is a client's report that it could not draw a surface.
type RenderError struct {
	Code    string `json:"code,omitempty"`
	Surface string `json:"surfaceId,omitempty"`
	Path    string `json:"path,omitempty"`
	Message string `json:"message,omitempty"`
}

// Error returns the report as a sentence.
func (r *RenderError) Error() string {
	where := ""
	if r.Path != "" {
		where = " at " + r.Path
	}
	return strings.TrimSuffix(fmt.Sprintf("the client could not show the surface %q%s: %s: %s", r.Surface, where, r.Code, r.Message), ": ")
}

// clientMessage is a message of a client, of any version:
//
//	v0.8:  {"userAction": {"name": …, "surfaceId": …, "sourceComponentId": …, "context": {…}}}
//	v0.9:  {"version": "v0.9", "action": {…}}
//	all:   {"error": {"code": …, "surfaceId": …, "path": …, "message": …}}
type clientMessage struct {
	Version    string          `json:"version"`
	UserAction *clientAction   `json:"userAction"` // v0.8
	Action     *clientAction   `json:"action"`     // since v0.9
	Error      json.RawMessage `json:"error"`
}

// clientAction is the body of an action, which is the same in all versions.
type clientAction struct {
	Name      string          `json:"name"`
	Surface   string          `json:"surfaceId"`
	Component string          `json:"sourceComponentId"`
	Context   json.RawMessage `json:"context"`
	Text      string          `json:"userMessage"` // v1.0
}

// ReadAction parses a message of a client, of any version. If the message reports
// an error, the returned error is a *RenderError.
func ReadAction(text []byte) (Action, error) {
	var m clientMessage
	if err := strict.Unmarshal(text, &m); err != nil {
		return Action{}, junctor.Errorf(junctor.CodeInvalid, "this is not a message of an A2UI client: %w", err)
	}
	switch v := Version(m.Version); v {
	case "", V08, V09, V10, "v0.9.1":
	default:
		return Action{}, junctor.Errorf(junctor.CodeInvalid, "the A2UI version %q is not supported: use v0.8, v0.9 or v1.0", truncateText(m.Version))
	}
	action := m.UserAction
	if action == nil {
		action = m.Action
	}
	switch {
	// Exactly one member may be set: two would be two messages, of which a reader
	// would have to choose one.
	case action != nil && m.Error == nil && (m.UserAction == nil || m.Action == nil):
		a := Action{Surface: action.Surface, Component: action.Component, Name: action.Name, Context: action.Context, Text: action.Text}
		// Some clients send null for an empty context.
		if string(a.Context) == "null" {
			a.Context = nil
		}
		return a, a.Check()
	case action == nil && m.Error != nil:
		return Action{}, parseReport(m.Error)
	}
	return Action{}, junctor.Errorf(junctor.CodeInvalid, "a message of an A2UI client must have either action or error")
}

// parseReport parses a client's error and bounds its texts. In v0.8 it can have any
// form, so an unknown form becomes the message.
func parseReport(raw json.RawMessage) *RenderError {
	var r RenderError
	if strict.Unmarshal(raw, &r) != nil || r == (RenderError{}) {
		r = RenderError{Message: truncateText(string(raw))}
	}
	for _, text := range []*string{&r.Code, &r.Surface, &r.Path} {
		*text = truncateText(*text)
	}
	if len(r.Message) > 1000 {
		r.Message = strings.ToValidUTF8(r.Message[:1000], "") + "…"
	}
	return &r
}

// maxClientMessages bounds the messages of a client in one part.
const maxClientMessages = 100

// ReadActions parses the data of a part: one message of a client, or a list.
func ReadActions(data []byte) (actions []Action, reports []*RenderError, err error) {
	list := []json.RawMessage{data}
	if text := strings.TrimSpace(string(data)); strings.HasPrefix(text, "[") {
		list = nil
		if err := strict.Unmarshal(data, &list); err != nil {
			return nil, nil, junctor.Errorf(junctor.CodeInvalid, "this is not a list of messages of an A2UI client: %w", err)
		}
	}
	if len(list) > maxClientMessages {
		return nil, nil, junctor.Errorf(junctor.CodeInvalid, "the request has %d messages of an A2UI client; at most %d are allowed", len(list), maxClientMessages)
	}
	// One invalid message fails the whole part: the client would otherwise believe
	// that all of its actions were taken.
	for _, one := range list {
		a, err := ReadAction(one)
		report, reported := errors.AsType[*RenderError](err)
		switch {
		case reported:
			reports = append(reports, report)
		case err != nil:
			return nil, nil, err
		default:
			actions = append(actions, a)
		}
	}
	return actions, reports, nil
}
