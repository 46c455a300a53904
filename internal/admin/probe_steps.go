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

// ProbeStep is a completed step of a probe, or of reading a document.
type ProbeStep struct {
	Step    string        `json:"step"`
	Elapsed time.Duration `json:"elapsed_ns" doc:"Time since the first step."`
}

// stepEvents describes, in the OpenAPI document, the stream that streamSteps answers with.
// result is the name of the schema of the last event.
func stepEvents(result string) map[string]*huma.Response {
	return map[string]*huma.Response{"200": {
		Description: "Events: step (ProbeStep) for each completed step, then one result (" + result + ") or error (Problem).",
		Content:     map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{Type: huma.TypeString}}},
	}}
}

// registerFollowRoutes registers the probes that a client follows step by step.
func (a *api) registerFollowRoutes(tags []string) {
	events := stepEvents("Probe")
	registerRoute(a, huma.Operation{
		OperationID: "follow-probe", Method: http.MethodPost, Path: "/servers/probe/steps", Summary: "Test the connection to a server without adding it, and stream the steps", Tags: tags,
		MaxBodyBytes: maxServerBody, BodyReadTimeout: -1, Responses: events,
	}, func(ctx context.Context, in *probeServer) (*huma.StreamResponse, error) {
		input, err := newServerInput(in.Body.ID, in.Body.Mode, &in.Body.ServerBody)
		if err != nil {
			return nil, err
		}
		return streamSteps(ctx, a, func(ctx context.Context) (junctor.Probe, error) {
			return a.Servers.ProbeServer(ctx, callerOf(ctx), input)
		}), nil
	})
	registerRoute(a, huma.Operation{
		OperationID: "follow-test", Method: http.MethodPost, Path: "/servers/{id}/test/steps", Summary: "Test the connection to a stored server, and stream the steps", Tags: tags,
		BodyReadTimeout: -1, Responses: events,
	}, func(ctx context.Context, in *serverID) (*huma.StreamResponse, error) {
		return streamSteps(ctx, a, func(ctx context.Context) (junctor.Probe, error) {
			return a.Servers.TestServer(ctx, callerOf(ctx), in.ID)
		}), nil
	})
}

// streamSteps answers with one event for each step of do as it completes, then one with
// its result or error. If do fails before the first step, the answer is a plain problem
// with its status.
func streamSteps[T any](ctx context.Context, a *api, do func(context.Context) (T, error)) *huma.StreamResponse {
	return a.streamUntypedSteps(ctx, func(ctx context.Context) (any, error) { return do(ctx) })
}

// streamUntypedSteps is streamSteps without the type of the result.
func (a *api) streamUntypedSteps(ctx context.Context, do func(context.Context) (any, error)) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(hctx huma.Context) {
		_, w := humago.Unwrap(hctx)
		out, begun := newEventStream(w), time.Now()
		// A connection that was given up may still report a step after do has returned.
		var mu sync.Mutex
		ended := false
		result, err := do(junctor.OnStep(ctx, func(step string) {
			mu.Lock()
			defer mu.Unlock()
			if !ended {
				out.sendEvent("step", ProbeStep{step, time.Since(begun)})
			}
		}))
		mu.Lock()
		defer mu.Unlock()
		ended = true
		switch {
		case err == nil:
			out.sendEvent("result", result)
		case out.hasBegun():
			out.sendEvent("error", a.toProblem(ctx, err))
		default:
			writeProblem(w, a.toProblem(ctx, err))
		}
	}}
}
