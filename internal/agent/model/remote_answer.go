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

// remoteAnswer turns the events of a remote agent into pieces. Events can repeat
// content, first of a part and then of the whole task, so it keeps the texts that
// it has yielded and yields only their continuation.
type remoteAnswer struct {
	yield       func(agent.AnswerChunk) bool
	isAbandoned bool // the consumer stopped
	hasText     bool // some text was yielded

	task      a2a.TaskID
	context   string
	state     a2a.TaskState
	isMessage bool // the answer is a message without a task
	reason    string

	texts        map[a2a.ArtifactID]string // as far as they were yielded
	order        []a2a.ArtifactID
	a2uiMessages map[a2a.ArtifactID][]json.RawMessage
	seenMessages map[string]bool // ids of status messages
}

// isSettled reports whether no further event comes without new input.
func (a *remoteAnswer) isSettled() bool {
	return a.isMessage || a.state.Terminal() || a.state == a2a.TaskStateInputRequired || a.state == a2a.TaskStateAuthRequired
}

// handleEvent handles one event of the stream, or a polled task.
func (a *remoteAnswer) handleEvent(e a2a.Event) {
	switch e := e.(type) {
	case *a2a.Message:
		a.context, a.isMessage = e.ContextID, true
		a.handleArtifact(a2a.ArtifactID("message "+e.ID), e.Parts, false)
	case *a2a.Task:
		a.task, a.context = e.ID, e.ContextID
		for _, one := range e.Artifacts {
			a.handleArtifact(one.ID, one.Parts, false)
		}
		a.handleStatus(&e.Status)
	case *a2a.TaskStatusUpdateEvent:
		a.task, a.context = e.TaskID, e.ContextID
		a.handleStatus(&e.Status)
	case *a2a.TaskArtifactUpdateEvent:
		a.task, a.context = e.TaskID, e.ContextID
		if e.Artifact != nil {
			a.handleArtifact(e.Artifact.ID, e.Artifact.Parts, e.Append)
		}
	}
}

// handleStatus handles a task's status. Its message is part of the answer only when
// the task is done or needs input; before, it is progress and shown as reasoning.
func (a *remoteAnswer) handleStatus(s *a2a.TaskStatus) {
	a.state = s.State
	if s.Message == nil || a.seenMessages[s.Message.ID] {
		return
	}
	a.seenMessages[s.Message.ID] = true
	text, _ := splitParts(s.Message.Parts)
	switch s.State {
	case a2a.TaskStateCompleted, a2a.TaskStateInputRequired:
		// Many agents repeat their last artifact as the status message.
		for _, given := range a.texts {
			if strings.TrimSpace(given) == strings.TrimSpace(text) {
				return
			}
		}
		a.handleArtifact(a2a.ArtifactID("message "+s.Message.ID), s.Message.Parts, false)
	case a2a.TaskStateFailed, a2a.TaskStateRejected, a2a.TaskStateCanceled, a2a.TaskStateAuthRequired:
		a.reason = text
	default:
		if text != "" {
			a.yieldPiece(agent.AnswerChunk{Thinking: text + "\n"})
		}
	}
}

// handleArtifact handles an artifact: its continuation if more is true, otherwise
// its whole content. It yields the text that is new.
func (a *remoteAnswer) handleArtifact(id a2a.ArtifactID, content a2a.ContentParts, more bool) {
	text, a2uiMessages := splitParts(content)
	had, known := a.texts[id]
	if !known {
		a.order = append(a.order, id)
	}
	if more {
		text, a2uiMessages = had+text, append(a.a2uiMessages[id], a2uiMessages...)
	}
	a.texts[id], a.a2uiMessages[id] = text, a2uiMessages
	rest, grows := strings.CutPrefix(text, had)
	switch {
	case !grows: // the agent replaced the text
		rest = "\n\n" + text
	// A new artifact starts a new paragraph.
	case had == "" && rest != "" && a.hasText:
		rest = "\n\n" + rest
	}
	if rest != "" {
		a.hasText = true
		a.yieldPiece(agent.AnswerChunk{Text: rest})
	}
}

// yieldPiece yields a piece unless the consumer has stopped.
func (a *remoteAnswer) yieldPiece(p agent.AnswerChunk) {
	if !a.isAbandoned && !a.yield(p) {
		a.isAbandoned = true
	}
}

// checkOutcome returns a fault if the task ended without an answer.
func (a *remoteAnswer) checkOutcome(host string, d *apiClient) error {
	why := ""
	if a.reason != "" {
		why = ": " + d.cleanText(a.reason)
	}
	say := func(format string) error {
		return &agent.ProviderError{Message: fmt.Sprintf(format, host) + why}
	}
	switch {
	case a.state == a2a.TaskStateFailed:
		return say("the agent at %s failed")
	case a.state == a2a.TaskStateRejected:
		return say("the agent at %s rejected the task")
	case a.state == a2a.TaskStateCanceled:
		return say("the agent at %s cancelled the task")
	case a.state == a2a.TaskStateAuthRequired:
		return say("the agent at %s requires its user to log in, which Junctor does not support")
	case !a.hasText && len(slices.Concat(a.allA2UIMessages()...)) == 0:
		return &agent.ProviderError{Message: "the answer of the agent at " + host + " is empty"}
	}
	return nil
}

// allA2UIMessages returns the A2UI messages of all artifacts, in the order of their
// arrival.
func (a *remoteAnswer) allA2UIMessages() (out [][]json.RawMessage) {
	for _, id := range a.order {
		out = append(out, a.a2uiMessages[id])
	}
	return out
}

// finishAnswer yields the parts that are known only at the end: the surfaces and
// the position in the conversation.
func (a *remoteAnswer) finishAnswer(conversation []agent.Message, state threadState) {
	for _, s := range a.changedSurfaces(conversation) {
		a.yieldPiece(agent.AnswerChunk{Surface: &s})
	}
	// The next message continues the task that waits; otherwise it starts a new
	// task in the same context.
	if a.state == a2a.TaskStateInputRequired {
		state.Task = string(a.task)
	}
	if text, err := json.Marshal(opaqueState{A2A: &state}); err == nil {
		a.yieldPiece(agent.AnswerChunk{Opaque: text})
	}
	a.yieldPiece(agent.AnswerChunk{Usage: &agent.Usage{}}) // zero: the remote agent does not report its usage
}

// changedSurfaces returns the surfaces that this answer created or changed. A
// message can update a surface of a former answer, so the former surfaces are
// encoded as messages and read again before the new ones.
func (a *remoteAnswer) changedSurfaces(conversation []agent.Message) []a2ui.Surface {
	messages := slices.Concat(a.allA2UIMessages()...)
	if len(messages) == 0 {
		return nil
	}
	var before []a2ui.Surface
	for _, m := range conversation {
		if m.Role == agent.RoleAssistant {
			for _, s := range m.Surfaces {
				before = a2ui.PutSurface(before, s)
			}
		}
	}
	var former []json.RawMessage
	same := map[string]string{}
	for i := range before {
		list, err := a2ui.Encode(&before[i], a2ui.V09, a2ui.EncodeOptions{})
		if err == nil {
			former = append(former, list...)
		}
	}
	if had, err := readSurfaces(former); err == nil {
		for i := range had {
			same[had[i].ID] = encodeSurface(&had[i])
		}
	}
	// The former surfaces come first, because an update names only what changes.
	list, err := readSurfaces(slices.Concat(former, messages))
	if err != nil {
		a.yieldPiece(agent.AnswerChunk{Thinking: "Part of its interface cannot be shown: " + err.Error() + "\n"})
	}
	return slices.DeleteFunc(list, func(s a2ui.Surface) bool { return same[s.ID] == encodeSurface(&s) })
}

// readSurfaces returns the surfaces that a list of A2UI messages produces.
func readSurfaces(messages []json.RawMessage) ([]a2ui.Surface, error) {
	if len(messages) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(messages)
	if err != nil {
		return nil, err
	}
	return a2ui.ReadSurfaces(text)
}

// encodeSurface returns the JSON form of a surface, to compare it.
func encodeSurface(s *a2ui.Surface) string {
	text, _ := json.Marshal(s) // "" differs from every encoded surface
	return string(text)
}

// splitParts returns the text of an A2A message or artifact, or its data if it has
// no text, and the A2UI messages in it.
func splitParts(content a2a.ContentParts) (string, []json.RawMessage) {
	var text strings.Builder
	var data []string
	var a2uiMessages []json.RawMessage
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
			// A2A 1.0 has the type in the part, version 0.3 in its metadata.
			if a2ui.IsMIMEType(kind) || a2ui.IsMIMEType(p.MediaType) {
				a2uiMessages = append(a2uiMessages, unwrapMessages(raw)...)
				continue
			}
			data = append(data, string(raw))
		}
	}
	// Data counts as the answer only if there is no text for people.
	if text.Len() == 0 {
		return strings.Join(data, "\n"), a2uiMessages
	}
	return text.String(), a2uiMessages
}

// unwrapMessages returns the A2UI messages of a data part: one message, a list, or
// a list inside an object, as version 0.3 sends it.
func unwrapMessages(raw json.RawMessage) []json.RawMessage {
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

// isStaleTask reports whether an error can mean that a task no longer exists or no
// longer waits for input.
func isStaleTask(err error) bool {
	return errors.Is(err, a2a.ErrTaskNotFound) || errors.Is(err, a2a.ErrUnsupportedOperation) || errors.Is(err, a2a.ErrInvalidParams)
}
