package admin

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	junctor "github.com/junctor-mcp/junctor"
)

// Tail delivers calls as they happen. A reader that is too slow misses some, and learns
// how many.
type Tail interface {
	// Next waits until there are calls, wait has passed or ctx ends. missed counts the
	// calls that were dropped since the former Next.
	Next(ctx context.Context, wait time.Duration) (calls []junctor.Call, missed int)
	// Close releases the tail.
	Close()
}

// TailPart is the calls since the former part. Each call appears when it begins and when
// it ends.
type TailPart struct {
	Calls  []junctor.Call `json:"calls" nullable:"false"`
	Missed int            `json:"missed,omitempty" doc:"Number of calls that were skipped because they came too fast."`
}

// tailInterval is the minimum time between two parts of a tail. keepAliveInterval is the
// time after which a stream without events sends a sign of life, and checks the caller's
// credential again.
const (
	tailInterval      = 200 * time.Millisecond
	keepAliveInterval = 10 * time.Second
)

// registerTailRoutes registers the route that follows calls.
func (a *api) registerTailRoutes() {
	registerRoute(a, huma.Operation{
		OperationID: "tail-calls", Method: http.MethodGet, Path: "/calls/tail", Summary: "Stream calls as they happen", Tags: []string{"calls"},
		Responses: map[string]*huma.Response{"200": {
			Description: "Events named calls, each with a TailPart, and events named attention, each with an AttentionList of at most 50 items: at the beginning and after each change. The stream ends when the caller may no longer read calls.",
			Content:     map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{Type: huma.TypeString}}},
		}},
	}, func(ctx context.Context, in *CallsOf) (*huma.StreamResponse, error) {
		if err := a.resolveCallsOf(ctx, in); err != nil {
			return nil, err
		}
		return &huma.StreamResponse{Body: func(hctx huma.Context) { a.streamCalls(ctx, hctx, in) }}, nil
	})
}

// visibleCalls returns the calls that the principal may see at this moment, without the
// parts that it may not read. A server may have become private since a call was recorded.
func (a *api) visibleCalls(ctx context.Context, p *junctor.Principal, calls []junctor.Call, f *CallsOf) ([]junctor.Call, error) {
	out := []junctor.Call{}
	if len(calls) == 0 {
		return out, nil
	}
	access, err := a.Calls.CallAccess(ctx, p)
	if err != nil {
		return nil, err
	}
	for _, c := range calls {
		if access.Sees(&c) {
			// A filter selects by what the principal may read, so that it confirms no guess.
			if access.Limit(&c); f.matches(&c) {
				out = append(out, c)
			}
		}
	}
	return out, nil
}

// streamCalls streams calls until the client goes. It authenticates the request again for
// every part: a key or login that has ended sees nothing more, and one whose scopes
// changed begins a new tail, which selects by them.
func (a *api) streamCalls(ctx context.Context, hctx huma.Context, f *CallsOf) {
	r, w := humago.Unwrap(hctx)
	former := callerOf(ctx)
	tail := a.Calls.Tail(former)
	defer func() { tail.Close() }()
	out := newEventStream(w)
	out.sendEvent("calls", TailPart{Calls: []junctor.Call{}})
	defer a.pushAttention(ctx, r, out)()
	for ctx.Err() == nil {
		calls, missed := tail.Next(ctx, keepAliveInterval)
		// A key or login that has ended meanwhile sees nothing more.
		p, err := a.Authenticate(r)
		if err == nil {
			err = checkScope(p, "tail-calls")
		}
		if err != nil {
			out.sendEvent("error", newProblem(err))
			return
		}
		if !slices.Equal(p.Scopes, former.Scopes) {
			tail.Close()
			tail, former, calls, missed = a.Calls.Tail(p), p, nil, 0
		}
		seen, err := a.visibleCalls(ctx, p, calls, f)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			out.sendEvent("error", a.toProblem(ctx, err))
			return
		}
		out.sendEvent("calls", TailPart{Calls: seen, Missed: missed})
		select {
		case <-ctx.Done():
		case <-time.After(tailInterval):
		}
	}
}
