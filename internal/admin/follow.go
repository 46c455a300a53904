package admin

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	junctor "github.com/junctor-mcp/junctor"
)

// ProbeStep is a step of a probe, or of reading a document, that has passed.
type ProbeStep struct {
	Step    string        `json:"step"`
	Elapsed time.Duration `json:"elapsed_ns" doc:"Since it began."`
}

// stepEvents describes what follow answers.
func stepEvents(result string) map[string]*huma.Response {
	return map[string]*huma.Response{"200": {
		Description: "Events: step (ProbeStep) for each that has passed, then one result (" + result + ") or error (Problem).",
		Content:     map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{Type: huma.TypeString}}},
	}}
}

// followRoutes are probes that are followed while they go on.
func (a *api) followRoutes(tags []string) {
	events := stepEvents("Probe")
	route(a, huma.Operation{
		OperationID: "follow-probe", Method: http.MethodPost, Path: "/servers/probe/steps", Summary: "Reach a server without adding it, and follow it step by step", Tags: tags,
		MaxBodyBytes: maxServerBody, BodyReadTimeout: -1, Responses: events,
	}, func(ctx context.Context, in *probeServer) (*huma.StreamResponse, error) {
		input, err := inputOf(in.Body.ID, in.Body.Mode, &in.Body.ServerBody)
		if err != nil {
			return nil, err
		}
		return follow(ctx, a, func(ctx context.Context) (junctor.Probe, error) {
			return a.Servers.ProbeServer(ctx, caller(ctx), input)
		}), nil
	})
	route(a, huma.Operation{
		OperationID: "follow-test", Method: http.MethodPost, Path: "/servers/{id}/test/steps", Summary: "Reach a server as it is stored, and follow it step by step", Tags: tags,
		BodyReadTimeout: -1, Responses: events,
	}, func(ctx context.Context, in *serverID) (*huma.StreamResponse, error) {
		return follow(ctx, a, func(ctx context.Context) (junctor.Probe, error) { return a.Servers.TestServer(ctx, caller(ctx), in.ID) }), nil
	})
}

// follow answers with the steps of what do does, as they pass, and what came of
// it.
func follow[T any](ctx context.Context, a *api, do func(context.Context) (T, error)) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(hctx huma.Context) {
		_, w := humago.Unwrap(hctx)
		out, begun := newEvents(w), time.Now()
		// A connection that nobody waits for any more may still tell of itself.
		var mu sync.Mutex
		ended := false
		result, err := do(junctor.OnStep(ctx, func(step string) {
			mu.Lock()
			defer mu.Unlock()
			if !ended {
				out.send("step", ProbeStep{step, time.Since(begun)})
			}
		}))
		mu.Lock()
		defer mu.Unlock()
		ended = true
		switch {
		case err == nil:
			out.send("result", result)
		case out.begun():
			out.send("error", a.problem(ctx, err))
		default:
			writeProblem(w, a.problem(ctx, err))
		}
	}}
}
