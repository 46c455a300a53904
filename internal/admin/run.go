package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	junctor "github.com/junctor-mcp/junctor"
)

// Run is one operation to try: a tool to call, a resource to read or a prompt to get. It
// passes the same pipeline as an operation at any other entry point.
type Run struct {
	Kind      junctor.Kind    `json:"kind,omitempty" doc:"Kind of the call: tool, resource or prompt. By default tool."`
	Name      string          `json:"name" minLength:"1" maxLength:"4096" doc:"Exposed name of a tool or prompt, or exposed URI of a resource."`
	Server    string          `json:"server,omitempty" doc:"ID of the server. If set, name is the name at the server."`
	Version   string          `json:"version,omitempty" doc:"Version of the tool. By default, the tool's default version."`
	Arguments json.RawMessage `json:"arguments,omitempty" doc:"Arguments of the tool or prompt."`

	InputResponses json.RawMessage `json:"input_responses,omitempty" doc:"Responses to the inputRequests of the previous run, by their names."`
	RequestState   string          `json:"request_state,omitempty" doc:"The requestState of the previous run."`
}

// RunResult is the end of a run.
type RunResult struct {
	Result   json.RawMessage `json:"result" doc:"Result as defined by MCP. If input is required, it has inputRequests and requestState."`
	IsError  bool            `json:"is_error,omitempty" doc:"Whether the tool ran and failed."`
	Input    bool            `json:"input,omitempty" doc:"Whether input is required: send the run again with input_responses and request_state."`
	Task     bool            `json:"task,omitempty" doc:"Whether the call became a task."`
	Duration time.Duration   `json:"duration_ns" doc:"Duration of the call, as in its record. If input is required, the duration of this run."`
	Call     string          `json:"call,omitempty" doc:"ID of the call's record."`
}

// RunSink receives the messages of a run before it ends. Its methods may be called from
// any goroutine.
type RunSink interface {
	// Progress receives the params of an MCP progress notification.
	Progress(params []byte)
	// Log receives the params of an MCP log message.
	Log(level string, params []byte)
}

// runInput is the request of run.
type runInput struct{ Body Run }

// registerRunRoutes registers the route that runs an operation and follows it.
func (a *api) registerRunRoutes() {
	stream := &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	registerRoute(a, huma.Operation{
		OperationID: "run", Method: http.MethodPost, Path: "/run", Summary: "Run a tool, resource or prompt, and stream its progress", Tags: []string{"tools"},
		MaxBodyBytes: maxCallBody + 1, BodyReadTimeout: -1,
		Responses: map[string]*huma.Response{"200": {
			Description: "Events: progress and log as defined by MCP, then one result (RunResult) or error (Problem). Closing the stream cancels the run.",
			Content:     map[string]*huma.MediaType{"text/event-stream": stream},
		}},
	}, func(ctx context.Context, in *runInput) (*huma.StreamResponse, error) {
		switch in.Body.Kind {
		case "":
			in.Body.Kind = junctor.KindTool
		case junctor.KindTool, junctor.KindResource, junctor.KindPrompt:
		default:
			return nil, junctor.Errorf(junctor.CodeInvalid, "kind %q cannot be run: use tool, resource or prompt", string(in.Body.Kind))
		}
		return &huma.StreamResponse{Body: func(hctx huma.Context) { a.streamRun(ctx, hctx, in.Body) }}, nil
	})
}

// streamRun runs an operation and streams its progress, then one result or error. If the
// run fails before its first message, the answer is a plain problem with its status.
func (a *api) streamRun(ctx context.Context, hctx huma.Context, in Run) {
	_, w := humago.Unwrap(hctx)
	out := newEventStream(w)
	started := time.Now()
	result, err := a.Runner.Run(ctx, callerOf(ctx), in, out)
	switch {
	case err == nil:
		if result.Duration == 0 {
			result.Duration = time.Since(started)
		}
		out.sendEvent("result", result)
	case out.hasBegun():
		out.sendEvent("error", a.toProblem(ctx, err))
	default:
		writeProblem(w, a.toProblem(ctx, err))
	}
}
