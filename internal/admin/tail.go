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

// Tail gives calls as they happen. Who is too slow for them misses some, and is
// told how many.
type Tail interface {
	// Next waits until there are calls, the time is up or ctx ends.
	Next(ctx context.Context, wait time.Duration) (calls []junctor.Call, missed int)
	Close()
}

// TailPart is what has happened since the part before: each call when it
// begins and when it ends.
type TailPart struct {
	Calls  []junctor.Call `json:"calls" nullable:"false"`
	Missed int            `json:"missed,omitempty" doc:"Calls that came too fast to be told of."`
}

// pace is how often a tail is sent what has happened, at most; quiet is how
// often it is told that there was nothing.
const (
	pace  = 200 * time.Millisecond
	quiet = 10 * time.Second
)

func (a *api) tailRoutes() {
	route(a, huma.Operation{
		OperationID: "tail-calls", Method: http.MethodGet, Path: "/calls/tail", Summary: "Follow calls as they happen", Tags: []string{"calls"},
		Responses: map[string]*huma.Response{"200": {
			Description: "Events named calls, each a TailPart, for as long as the caller may see them.",
			Content:     map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{Type: huma.TypeString}}},
		}},
	}, func(ctx context.Context, _ *none) (*huma.StreamResponse, error) {
		return &huma.StreamResponse{Body: func(hctx huma.Context) { a.tail(ctx, hctx) }}, nil
	})
}

// visibleCalls gives those of some calls that the principal may know of at this moment: a
// server may have become private since they were noted.
func (a *api) visibleCalls(ctx context.Context, p *junctor.Principal, calls []junctor.Call) ([]junctor.Call, error) {
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
			access.Limit(&c)
			out = append(out, c)
		}
	}
	return out, nil
}

func (a *api) tail(ctx context.Context, hctx huma.Context) {
	r, w := humago.Unwrap(hctx)
	former := caller(ctx)
	tail := a.Calls.Tail(former)
	defer func() { tail.Close() }()
	out := newEvents(w)
	out.send("calls", TailPart{Calls: []junctor.Call{}})
	for ctx.Err() == nil {
		calls, missed := tail.Next(ctx, quiet)
		// A key or login that has ended meanwhile sees nothing more.
		p, err := a.Authenticate(r)
		if err == nil {
			err = allowed(p, "tail-calls")
		}
		if err != nil {
			out.send("error", problemOf(err))
			return
		}
		if !slices.Equal(p.Scopes, former.Scopes) {
			tail.Close()
			tail, former, calls, missed = a.Calls.Tail(p), p, nil, 0
		}
		seen, err := a.visibleCalls(ctx, p, calls)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			out.send("error", a.problem(ctx, err))
			return
		}
		out.send("calls", TailPart{Calls: seen, Missed: missed})
		select {
		case <-ctx.Done():
		case <-time.After(pace):
		}
	}
}
