package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/junctor-mcp/junctor/internal/a2ui"
)

// Bounds of one answer.
const (
	maxAnswerBytes    = 4 << 20
	maxCallsPerAnswer = 64
)

// A provider that did not start to answer is asked again up to maxRetries times.
// The delay starts with firstRetryDelay and doubles every time.
const (
	maxRetries      = 3
	firstRetryDelay = 500 * time.Millisecond
)

// answer collects the pieces of one answer while it streams.
type answer struct {
	text        []byte
	surfaces    []a2ui.Surface
	calls       []Call
	opaque      json.RawMessage
	usage       *Usage // nil if the provider did not count
	stop        string
	bytes       int
	isPublished bool // events of it were emitted, so the request cannot be repeated

	textID    string            // of the text that is streaming; "" if none is
	openCalls map[string]string // calls that are streaming: the provider's id to ours
	usedIDs   map[string]bool   // ids of calls in the conversation
}

// toMessage returns the message to keep. Of an incomplete answer it has only the
// text and surfaces that people saw: its calls may be incomplete, so they are not
// made.
func (a *answer) toMessage(complete bool) Message {
	m := Message{Role: RoleAssistant, Text: string(a.text), Surfaces: a.surfaces}
	if complete {
		m.Calls, m.Thinking = a.calls, a.opaque
	}
	return m
}

// askProvider asks the provider for one answer, and retries if the fault allows it
// and nothing of the answer was emitted. With an error it also returns the part of
// the answer that was received.
func (r *turnRunner) askProvider(ctx context.Context, tools []Tool) (*answer, error) {
	r.end.Requests++
	r.emit(Event{Kind: EventStep, Step: r.end.Requests})
	request := Request{
		Instructions: r.Instructions, Messages: normalizeConversation(r.conversation), Tools: tools, MaxTokens: r.remainingTokens(), Model: r.Model, ShowsApps: r.ShowsApps, Catalogs: r.Catalogs,
	}
	pause := firstRetryDelay
	for tried := 0; ; tried++ {
		a := &answer{openCalls: map[string]string{}, usedIDs: collectCallIDs(r.conversation)}
		err := r.readAnswer(ctx, request, a)
		r.endText(a)
		r.countUsage(request, a, err)
		fault, ok := errors.AsType[*ProviderError](err)
		if err == nil || !ok || !fault.Retryable || a.isPublished || tried == maxRetries || ctx.Err() != nil {
			return a, err
		}
		wait := max(fault.RetryAfter, pause)
		if until, ok := ctx.Deadline(); ok && time.Until(until) < wait {
			return a, &ProviderError{Cause: err, Message: fmt.Sprintf("%s; it can be retried in %s, which is after the time limit of the run", fault.Message, wait.Round(time.Second))}
		}
		r.emit(Event{Kind: EventRetry, Text: fault.Message, Wait: wait})
		select {
		case <-ctx.Done():
			return a, ctx.Err()
		case <-time.After(wait):
		}
		pause *= 2
	}
}

// countUsage adds the tokens of an answer to the turn. If the provider does not
// count, four bytes count as one token, so that the token limit holds in any case.
func (r *turnRunner) countUsage(request Request, a *answer, err error) {
	if a.usage == nil && (err == nil || a.isPublished) {
		a.usage = &Usage{Input: requestSize(request) / 4, Output: a.bytes / 4}
	}
	if a.usage == nil || *a.usage == (Usage{}) {
		return
	}
	r.end.Usage.Add(*a.usage)
	r.emit(Event{Kind: EventUsage, Usage: a.usage})
}

// requestSize returns the number of bytes that the model reads in a request.
func requestSize(request Request) int {
	size := len(request.Instructions)
	for _, m := range request.Messages {
		size += len(m.Text)
		for _, c := range m.Calls {
			size += len(c.Arguments)
		}
		for _, res := range m.Results {
			size += len(res.Text)
		}
	}
	for _, t := range request.Tools {
		size += len(t.Description) + len(t.Schema)
	}
	return size
}

// readAnswer reads one answer to its end and enforces its bounds.
func (r *turnRunner) readAnswer(ctx context.Context, request Request, a *answer) error {
	for piece, err := range r.Provider.Stream(ctx, request) {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return err
		}
		if err := r.handlePiece(ctx, piece, a, request.Tools); err != nil {
			return err
		}
		if a.bytes > maxAnswerBytes {
			return fmt.Errorf("the model's answer is longer than %d MiB", maxAnswerBytes>>20)
		}
		if len(a.calls) > maxCallsPerAnswer {
			return fmt.Errorf("the model's answer requests more than %d calls", maxCallsPerAnswer)
		}
	}
	return ctx.Err()
}

// handlePiece adds a piece to the answer and emits its events.
func (r *turnRunner) handlePiece(ctx context.Context, p AnswerChunk, a *answer, tools []Tool) error {
	a.bytes += len(p.Text) + len(p.Thinking) + len(p.Opaque)
	switch {
	case p.Text != "":
		a.isPublished = true
		if a.textID == "" {
			a.textID = newID("msg")
			r.emit(Event{Kind: EventTextStart, ID: a.textID})
		}
		a.text = append(a.text, p.Text...)
		r.emit(Event{Kind: EventText, ID: a.textID, Text: p.Text})
	case p.Thinking != "":
		a.isPublished = true
		r.emit(Event{Kind: EventThinking, Text: p.Thinking})
	case p.Args != nil:
		a.bytes += len(p.Args.Delta)
		id := r.startCall(a, p.Args.ID, p.Args.Name)
		if p.Args.Delta != "" {
			r.emit(Event{Kind: EventCallArgs, ID: id, Text: p.Args.Delta})
		}
	case p.Call != nil:
		a.bytes += len(p.Call.Arguments) + len(p.Call.Name)
		// A provider that does not stream arguments sends only the complete call.
		// Its events look the same.
		_, streamed := a.openCalls[p.Call.ID]
		c := *p.Call
		c.ID = r.startCall(a, p.Call.ID, c.Name)
		delete(a.openCalls, p.Call.ID)
		if !streamed && len(c.Arguments) > 0 {
			r.emit(Event{Kind: EventCallArgs, ID: c.ID, Text: string(c.Arguments)})
		}
		a.calls = append(a.calls, c)
		event := Event{Kind: EventCallEnd, ID: c.ID, Call: &c}
		if findTool(tools, c.Name) != nil {
			if t, err := r.Tools.Resolve(ctx, c); err == nil {
				event.Tool = &t
			}
		}
		r.emit(event)
	case p.Surface != nil:
		return r.addSurface(p.Surface, a)
	case p.Usage != nil:
		a.usage = p.Usage
	case p.Opaque != nil:
		a.opaque = p.Opaque
	case p.StopReason != "":
		a.stop = p.StopReason
	}
	return nil
}

// maxSurfaces bounds the surfaces of one answer, and of one result.
const maxSurfaces = 16

// addSurface adds a surface to the answer. A surface that cannot be drawn is an
// error, so that its author notices.
func (r *turnRunner) addSurface(s *a2ui.Surface, a *answer) error {
	if err := s.FirstProblem(s.Check(nil), a2ui.GradeBroken); err != nil {
		return err
	}
	a.bytes += s.Size()
	a.isPublished = true
	r.endText(a)
	a.surfaces = a2ui.PutSurface(a.surfaces, *s)
	if len(a.surfaces) > maxSurfaces {
		return fmt.Errorf("the answer has more than %d surfaces", maxSurfaces)
	}
	r.emit(Event{Kind: EventSurface, Surface: s})
	return nil
}

// endText ends the text that is streaming, if there is one.
func (r *turnRunner) endText(a *answer) {
	if a.textID != "" {
		r.emit(Event{Kind: EventTextEnd, ID: a.textID})
		a.textID = ""
	}
}

// startCall returns our id of a call and emits the start of a new one. It keeps the
// provider's id unless the id is malformed, already used or Turn.FreshIDs is set.
func (r *turnRunner) startCall(a *answer, given, name string) string {
	if id, ok := a.openCalls[given]; ok {
		return id
	}
	a.isPublished = true
	r.endText(a)
	id := given
	if r.FreshIDs || a.usedIDs[id] || !callIDPattern.MatchString(id) {
		id = newID("call")
	}
	a.openCalls[given], a.usedIDs[id] = id, true
	r.emit(Event{Kind: EventCallStart, ID: id, Call: &Call{ID: id, Name: name}})
	return id
}

// callIDPattern describes ids that every provider accepts.
var callIDPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
