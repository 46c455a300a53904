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

// What one answer may hold.
const (
	maxAnswerBytes = 4 << 20
	maxBatch       = 64
)

// How often a provider that did not begin to answer is asked again, and how long
// it is left alone at least before the first time.
const (
	maxRetries = 3
	firstPause = 500 * time.Millisecond
)

// answer is one that is being given.
type answer struct {
	text   []byte
	shown  []a2ui.Surface
	calls  []Call
	opaque json.RawMessage
	usage  *Usage // nil: it was not counted
	stop   string
	bytes  int
	begun  bool // something was told of it: it cannot be asked for again

	textID string            // of the text that is open; "" where none is
	open   map[string]string // calls that are being written: the provider's id to ours
	known  map[string]bool   // ids that calls of the story have
}

// message is what is kept of the answer. Of one that broke off it is what people
// saw: nobody knows what else its calls would have said.
func (a *answer) message(whole bool) Message {
	m := Message{Role: RoleAssistant, Text: string(a.text), Surfaces: a.shown}
	if whole {
		m.Calls, m.Thinking = a.calls, a.opaque
	}
	return m
}

// ask asks the provider, again where that may help.
func (r *run) ask(ctx context.Context, tools []Tool) (*answer, error) {
	r.end.Turns++
	r.emit(Event{Kind: EventStep, Step: r.end.Turns})
	request := Request{
		Instructions: r.Instructions, Messages: settle(r.story), Tools: tools, MaxTokens: r.room(), Model: r.Model, Apps: r.Apps,
	}
	pause := firstPause
	for tried := 0; ; tried++ {
		a := &answer{open: map[string]string{}, known: knownIDs(r.story)}
		err := r.listen(ctx, request, a)
		r.endText(a)
		r.count(request, a, err)
		fault, ok := errors.AsType[*FaultError](err)
		if err == nil || !ok || !fault.Again || a.begun || tried == maxRetries || ctx.Err() != nil {
			return a, err
		}
		wait := max(fault.After, pause)
		if until, ok := ctx.Deadline(); ok && time.Until(until) < wait {
			return a, &FaultError{Cause: err, Message: fmt.Sprintf("%s; it wants to be asked again in %s, when the time of the run is over", fault.Message, wait.Round(time.Second))}
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

// count adds what an answer used. Not every server counts: then four bytes are a
// token.
func (r *run) count(request Request, a *answer, err error) {
	if a.usage == nil && (err == nil || a.begun) {
		a.usage = &Usage{Input: sizeOf(request) / 4, Output: a.bytes / 4}
	}
	if a.usage == nil || *a.usage == (Usage{}) {
		return
	}
	r.end.Usage.Add(*a.usage)
	r.emit(Event{Kind: EventUsage, Usage: a.usage})
}

// sizeOf is how much there is to read in a request, in bytes.
func sizeOf(request Request) int {
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

// listen takes one answer to its end.
func (r *run) listen(ctx context.Context, request Request, a *answer) error {
	for piece, err := range r.Provider.Stream(ctx, request) {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return err
		}
		if err := r.take(ctx, piece, a, request.Tools); err != nil {
			return err
		}
		if a.bytes > maxAnswerBytes {
			return fmt.Errorf("the model's answer is longer than %d MiB", maxAnswerBytes>>20)
		}
		if len(a.calls) > maxBatch {
			return fmt.Errorf("the model wants more than %d calls at once", maxBatch)
		}
	}
	return ctx.Err()
}

// take adds a piece to the answer, and tells of it.
func (r *run) take(ctx context.Context, p Piece, a *answer, tools []Tool) error {
	a.bytes += len(p.Text) + len(p.Thinking) + len(p.Opaque)
	switch {
	case p.Text != "":
		a.begun = true
		if a.textID == "" {
			a.textID = newID("msg")
			r.emit(Event{Kind: EventTextStart, ID: a.textID})
		}
		a.text = append(a.text, p.Text...)
		r.emit(Event{Kind: EventText, ID: a.textID, Text: p.Text})
	case p.Thinking != "":
		a.begun = true
		r.emit(Event{Kind: EventThinking, Text: p.Thinking})
	case p.Args != nil:
		a.bytes += len(p.Args.Delta)
		id := r.begin(a, p.Args.ID, p.Args.Name)
		if p.Args.Delta != "" {
			r.emit(Event{Kind: EventCallArgs, ID: id, Text: p.Args.Delta})
		}
	case p.Call != nil:
		a.bytes += len(p.Call.Arguments) + len(p.Call.Name)
		_, streamed := a.open[p.Call.ID]
		c := *p.Call
		c.ID = r.begin(a, p.Call.ID, c.Name)
		delete(a.open, p.Call.ID)
		if !streamed && len(c.Arguments) > 0 {
			r.emit(Event{Kind: EventCallArgs, ID: c.ID, Text: string(c.Arguments)})
		}
		a.calls = append(a.calls, c)
		told := Event{Kind: EventCallEnd, ID: c.ID, Call: &c}
		if find(tools, c.Name) != nil {
			if t, err := r.Tools.Resolve(ctx, c); err == nil {
				told.Tool = &t
			}
		}
		r.emit(told)
	case p.Surface != nil:
		return r.show(p.Surface, a)
	case p.Usage != nil:
		a.usage = p.Usage
	case p.Opaque != nil:
		a.opaque = p.Opaque
	case p.Stop != "":
		a.stop = p.Stop
	}
	return nil
}

// maxShown is how many surfaces one answer may have.
const maxShown = 16

// show adds a surface to the answer. One that cannot be drawn is an error: who
// wrote it has to know.
func (r *run) show(s *a2ui.Surface, a *answer) error {
	if err := s.Fault(s.Check(nil), a2ui.Broken); err != nil {
		return err
	}
	a.bytes += s.Size()
	a.begun = true
	r.endText(a)
	a.shown = a2ui.Put(a.shown, *s)
	if len(a.shown) > maxShown {
		return fmt.Errorf("the answer has more than %d surfaces", maxShown)
	}
	r.emit(Event{Kind: EventSurface, Surface: s})
	return nil
}

// endText ends the text that is open, if one is.
func (r *run) endText(a *answer) {
	if a.textID != "" {
		r.emit(Event{Kind: EventTextEnd, ID: a.textID})
		a.textID = ""
	}
}

// begin gives our id of a call, and tells of the call when it is new. The
// provider's own id is kept where it is one, and no other call's.
func (r *run) begin(a *answer, given, name string) string {
	if id, ok := a.open[given]; ok {
		return id
	}
	a.begun = true
	r.endText(a)
	id := given
	if r.FreshIDs || a.known[id] || !callID.MatchString(id) {
		id = newID("call")
	}
	a.open[given], a.known[id] = id, true
	r.emit(Event{Kind: EventCallStart, ID: id, Call: &Call{ID: id, Name: name}})
	return id
}

// callID is what every provider takes as an id.
var callID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
