package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/junctor-mcp/junctor/internal/a2ui"
	"github.com/junctor-mcp/junctor/internal/agent"
)

// remoteAnswer makes pieces of what an agent elsewhere says and does. Events may
// tell the same thing twice: of a part, and then of the task as a whole.
type remoteAnswer struct {
	yield func(agent.Piece) bool
	gone  bool // nobody listens any more
	said  bool // some words were given

	task    a2a.TaskID
	context string
	state   a2a.TaskState
	message bool // the answer is a message, without a task
	why     string

	texts map[a2a.ArtifactID]string // as far as they were given
	order []a2a.ArtifactID
	drawn map[a2a.ArtifactID][]json.RawMessage
	heard map[string]bool // messages, by id
}

// settled says whether nothing more is to come by itself.
func (a *remoteAnswer) settled() bool {
	return a.message || a.state.Terminal() || a.state == a2a.TaskStateInputRequired || a.state == a2a.TaskStateAuthRequired
}

// take takes one event.
func (a *remoteAnswer) take(e a2a.Event) {
	switch e := e.(type) {
	case *a2a.Message:
		a.context, a.message = e.ContextID, true
		a.artifact(a2a.ArtifactID("message "+e.ID), e.Parts, false)
	case *a2a.Task:
		a.task, a.context = e.ID, e.ContextID
		for _, one := range e.Artifacts {
			a.artifact(one.ID, one.Parts, false)
		}
		a.status(&e.Status)
	case *a2a.TaskStatusUpdateEvent:
		a.task, a.context = e.TaskID, e.ContextID
		a.status(&e.Status)
	case *a2a.TaskArtifactUpdateEvent:
		a.task, a.context = e.TaskID, e.ContextID
		if e.Artifact != nil {
			a.artifact(e.Artifact.ID, e.Artifact.Parts, e.Append)
		}
	}
}

// status takes what the agent says of its work. While it works that is no part of
// the answer.
func (a *remoteAnswer) status(s *a2a.TaskStatus) {
	a.state = s.State
	if s.Message == nil || a.heard[s.Message.ID] {
		return
	}
	a.heard[s.Message.ID] = true
	text, _ := parts(s.Message.Parts)
	switch s.State {
	case a2a.TaskStateCompleted, a2a.TaskStateInputRequired:
		for _, given := range a.texts {
			if strings.TrimSpace(given) == strings.TrimSpace(text) {
				return
			}
		}
		a.artifact(a2a.ArtifactID("message "+s.Message.ID), s.Message.Parts, false)
	case a2a.TaskStateFailed, a2a.TaskStateRejected, a2a.TaskStateCanceled, a2a.TaskStateAuthRequired:
		a.why = text
	default:
		if text != "" {
			a.give(agent.Piece{Thinking: text + "\n"})
		}
	}
}

// artifact takes a part of the answer: more of one that is there, or all of it.
func (a *remoteAnswer) artifact(id a2a.ArtifactID, content a2a.ContentParts, more bool) {
	text, drawn := parts(content)
	had, known := a.texts[id]
	if !known {
		a.order = append(a.order, id)
	}
	if more {
		text, drawn = had+text, append(a.drawn[id], drawn...)
	}
	a.texts[id], a.drawn[id] = text, drawn
	rest, grows := strings.CutPrefix(text, had)
	switch {
	case !grows: // it was written anew
		rest = "\n\n" + text
	case had == "" && rest != "" && a.said:
		rest = "\n\n" + rest
	}
	if rest != "" {
		a.said = true
		a.give(agent.Piece{Text: rest})
	}
}

func (a *remoteAnswer) give(p agent.Piece) {
	if !a.gone && !a.yield(p) {
		a.gone = true
	}
}

// end is how the task ended, where that is no answer.
func (a *remoteAnswer) end(host string, d *door) error {
	why := ""
	if a.why != "" {
		why = ": " + d.clean(a.why)
	}
	say := func(format string) error {
		return &agent.FaultError{Message: fmt.Sprintf(format, host) + why}
	}
	switch {
	case a.state == a2a.TaskStateFailed:
		return say("the agent at %s failed")
	case a.state == a2a.TaskStateRejected:
		return say("the agent at %s does not do this")
	case a.state == a2a.TaskStateCanceled:
		return say("the agent at %s was stopped")
	case a.state == a2a.TaskStateAuthRequired:
		return say("the agent at %s wants its user to log in somewhere, which cannot be done from here")
	case !a.said && len(slices.Concat(a.all()...)) == 0:
		return &agent.FaultError{Message: "the agent at " + host + " answered with nothing"}
	}
	return nil
}

// all is what the agent showed, in order.
func (a *remoteAnswer) all() (out [][]json.RawMessage) {
	for _, id := range a.order {
		out = append(out, a.drawn[id])
	}
	return out
}

// close gives what is known only at the end: surfaces that are whole, and where
// the conversation stands.
func (a *remoteAnswer) close(story []agent.Message, th thread) {
	for _, s := range a.surfaces(story) {
		a.give(agent.Piece{Surface: &s})
	}
	if a.state == a2a.TaskStateInputRequired {
		th.Task = string(a.task)
	}
	if text, err := json.Marshal(thoughts{A2A: &th}); err == nil {
		a.give(agent.Piece{Opaque: text})
	}
	a.give(agent.Piece{Usage: &agent.Usage{}}) // what it cost is the other side's to know
}

// surfaces reads what the agent showed. It may change what it showed before.
func (a *remoteAnswer) surfaces(story []agent.Message) []a2ui.Surface {
	messages := slices.Concat(a.all()...)
	if len(messages) == 0 {
		return nil
	}
	var before []a2ui.Surface
	for _, m := range story {
		if m.Role == agent.RoleAssistant {
			for _, s := range m.Surfaces {
				before = a2ui.Put(before, s)
			}
		}
	}
	var former []json.RawMessage
	same := map[string]string{}
	for i := range before {
		list, err := a2ui.Encode(&before[i], a2ui.V09, a2ui.Options{})
		if err == nil {
			former = append(former, list...)
		}
	}
	if had, err := read(former); err == nil {
		for i := range had {
			same[had[i].ID] = written(&had[i])
		}
	}
	list, err := read(slices.Concat(former, messages))
	if err != nil {
		a.give(agent.Piece{Thinking: "Some of what it shows cannot be drawn: " + err.Error() + "\n"})
	}
	return slices.DeleteFunc(list, func(s a2ui.Surface) bool { return same[s.ID] == written(&s) })
}

func read(messages []json.RawMessage) ([]a2ui.Surface, error) {
	if len(messages) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(messages)
	if err != nil {
		return nil, err
	}
	return a2ui.Read(text)
}

func written(s *a2ui.Surface) string {
	text, _ := json.Marshal(s) // what cannot be written is like nothing else
	return string(text)
}

// parts is what parts say: their texts, or their data where they have none, and
// what is to be drawn.
func parts(content a2a.ContentParts) (string, []json.RawMessage) {
	var text strings.Builder
	var data []string
	var drawn []json.RawMessage
	line := func(s string) {
		if text.Len() > 0 {
			text.WriteString("\n")
		}
		text.WriteString(s)
	}
	for _, p := range content {
		if p == nil {
			continue
		}
		switch c := p.Content.(type) {
		case a2a.Text:
			text.WriteString(string(c))
		case a2a.URL:
			line(strings.TrimSpace(p.Filename + " " + string(c)))
		case a2a.Raw:
			line(fmt.Sprintf("(a file that is not shown: %s, %d bytes)", strings.TrimSpace(p.Filename+" "+p.MediaType), len(c)))
		case a2a.Data:
			raw, err := json.Marshal(c.Value)
			if err != nil {
				continue
			}
			kind, _ := p.Metadata["mimeType"].(string)
			if a2ui.IsMimeType(kind) || a2ui.IsMimeType(p.MediaType) {
				drawn = append(drawn, messagesOf(raw)...)
				continue
			}
			data = append(data, string(raw))
		}
	}
	if text.Len() == 0 {
		return strings.Join(data, "\n"), drawn
	}
	return text.String(), drawn
}

// messagesOf gives the messages of a data part: one, or a list, which version 0.3
// wraps.
func messagesOf(raw json.RawMessage) []json.RawMessage {
	var wrapped struct {
		Value []json.RawMessage `json:"value"`
	}
	var list []json.RawMessage
	switch {
	case json.Unmarshal(raw, &list) == nil:
		return list
	case json.Unmarshal(raw, &wrapped) == nil && wrapped.Value != nil:
		return wrapped.Value
	}
	return []json.RawMessage{raw}
}

// stale says whether an error may be that a task is not there any more, or does
// not wait.
func stale(err error) bool {
	return errors.Is(err, a2a.ErrTaskNotFound) || errors.Is(err, a2a.ErrUnsupportedOperation) || errors.Is(err, a2a.ErrInvalidParams)
}
