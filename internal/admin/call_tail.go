package admin

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	junctor "github.com/junctor-mcp/junctor"
)

// Tail delivers calls as they happen. A reader that is too slow misses some, and learns
// how many.
type Tail interface {
	// Wait waits until there are calls that were not taken, wait has passed or ctx ends.
	Wait(ctx context.Context, wait time.Duration)
	// AppendCalls takes the calls since the former AppendCalls and appends them to b, as JSON
	// objects with commas between them: those that the principal may see at this moment, in
	// the form in which it may read them. missed counts the calls that were dropped.
	AppendCalls(ctx context.Context, p *junctor.Principal, b []byte) (_ []byte, missed int, err error)
	// Close releases the tail.
	Close()
}

// TailPart is the calls since the former part. Each call appears when it begins and when
// it ends; one that begins and ends within a part appears once, as it ended.
type TailPart struct {
	Calls  []junctor.Call `json:"calls" nullable:"false"`
	Missed int            `json:"missed,omitempty" doc:"Number of calls that were skipped because they came too fast."`
}

const (
	// keepAliveInterval is the time after which a stream without events sends a sign of life,
	// and checks the caller's credential again.
	keepAliveInterval = 10 * time.Second
	// maxKeptBuffer is the largest buffer that a stream keeps for its next part.
	maxKeptBuffer = 1 << 20
)

// tailQuery is the query of tail-calls.
type tailQuery struct {
	CallsOf
	Calls bool `query:"calls" default:"true" doc:"Whether the stream has the calls; with false it has only notices of changes."`
}

// noCalls is a Tail that never has calls, for streams that have only notices of changes.
type noCalls struct{}

// Wait implements Tail.
func (noCalls) Wait(ctx context.Context, wait time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(wait):
	}
}

// AppendCalls implements Tail.
func (noCalls) AppendCalls(_ context.Context, _ *junctor.Principal, b []byte) ([]byte, int, error) {
	return b, 0, nil
}

// Close implements Tail.
func (noCalls) Close() {}

// registerTailRoutes registers the route that follows calls.
func (a *api) registerTailRoutes() {
	registerRoute(a, huma.Operation{
		OperationID: "tail-calls", Method: http.MethodGet, Path: "/calls/tail", Summary: "Stream calls as they happen", Tags: []string{"calls"},
		Responses: map[string]*huma.Response{"200": {
			Description: "Events named calls, each with a TailPart; events named attention, each with an AttentionList of at most 50 items, at the beginning and after each change; and events named changed, each with ListChanges: lists that have changed, so that a client need not poll them. " +
				"Notices can be missing: of changes that another replica made, and to callers other than admins of changes that others made. Read the lists again from time to time, and after a reconnect. The stream ends when the caller may no longer read calls.",
			Content: map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{Type: huma.TypeString}}},
		}},
	}, func(ctx context.Context, in *tailQuery) (*huma.StreamResponse, error) {
		if err := a.resolveCallsOf(ctx, &in.CallsOf); err != nil {
			return nil, err
		}
		return &huma.StreamResponse{Body: func(hctx huma.Context) { a.streamCalls(ctx, hctx, in) }}, nil
	})
}

// streamCalls streams calls until the client goes. It authenticates the request again for
// every part: a key or login that has ended sees nothing more. A part without calls is sent
// only as a sign of life, so that calls which the caller may not see leave no trace.
func (a *api) streamCalls(ctx context.Context, hctx huma.Context, in *tailQuery) {
	r, w := humago.Unwrap(hctx)
	match := in.matches
	if in.CallsOf == (CallsOf{}) {
		match = nil
	}
	tail := Tail(noCalls{})
	if in.Calls {
		tail = a.Calls.Tail(callerOf(ctx), match)
	}
	defer tail.Close()
	out := newEventStream(w)
	out.sendEvent("calls", TailPart{Calls: []junctor.Call{}})
	sent := time.Now()
	defer a.pushAttention(ctx, r, out)()
	defer a.pushChanges(ctx, r, out)()
	var part []byte
	for ctx.Err() == nil {
		tail.Wait(ctx, max(0, keepAliveInterval-time.Since(sent)))
		// A key or login that has ended meanwhile sees nothing more.
		p, err := a.Authenticate(r)
		if err == nil {
			err = a.checkScope(p, "tail-calls")
		}
		if err != nil {
			out.sendEvent("error", newProblem(err))
			return
		}
		const begin = "event: calls\ndata: {\"calls\":["
		var missed int
		part, missed, err = tail.AppendCalls(ctx, p, append(part[:0], begin...))
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			out.sendEvent("error", a.toProblem(ctx, err))
			return
		}
		if len(part) == len(begin) && missed == 0 && time.Since(sent) < keepAliveInterval {
			continue
		}
		if part = append(part, ']'); missed > 0 {
			part = strconv.AppendInt(append(part, `,"missed":`...), int64(missed), 10)
		}
		part = append(part, "}\n\n"...)
		out.send(part)
		if sent = time.Now(); cap(part) > maxKeptBuffer {
			part = nil
		}
	}
}
