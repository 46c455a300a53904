package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	junctor "github.com/junctor-mcp/junctor"
)

// Run is something to be tried: a tool to call, a resource to read, a prompt to
// get. It passes the same pipeline as on every door.
type Run struct {
	Kind      junctor.Kind    `json:"kind,omitempty" doc:"tool where it is absent, resource or prompt."`
	Name      string          `json:"name" minLength:"1" maxLength:"4096" doc:"The exposed name of a tool or prompt, or the exposed URI of a resource."`
	Server    string          `json:"server,omitempty" doc:"The server; then name is the server's own."`
	Version   string          `json:"version,omitempty" doc:"Which version of the tool; absent for the default."`
	Arguments json.RawMessage `json:"arguments,omitempty" doc:"The arguments of a tool or prompt."`

	InputResponses json.RawMessage `json:"input_responses,omitempty" doc:"To go on with a run that asked for input: an answer for each of its inputRequests."`
	RequestState   string          `json:"request_state,omitempty" doc:"The requestState of the run that asked."`
}

// RunResult is how a run ended.
type RunResult struct {
	Result   json.RawMessage `json:"result" doc:"The result as MCP has it. Where input is wanted it has inputRequests and requestState."`
	IsError  bool            `json:"is_error,omitempty" doc:"The tool ran and failed."`
	Input    bool            `json:"input,omitempty" doc:"Input is wanted: send the run again with input_responses and request_state."`
	Task     bool            `json:"task,omitempty" doc:"The call became a task."`
	Duration time.Duration   `json:"duration_ns"`
	Call     string          `json:"call,omitempty" doc:"What the records know the call by."`
}

// RunSink takes what a run says before it ends, from any goroutine.
type RunSink interface {
	Progress(params []byte)
	Log(level string, params []byte)
}

type runInput struct{ Body Run }

func (a *api) runRoutes() {
	stream := &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	route(a, huma.Operation{
		OperationID: "run", Method: http.MethodPost, Path: "/run", Summary: "Try a tool, a resource or a prompt, and follow it", Tags: []string{"tools"},
		MaxBodyBytes: maxCallBody + 1, BodyReadTimeout: -1,
		Responses: map[string]*huma.Response{"200": {
			Description: "Events: progress and log as MCP has them, then one result (RunResult) or error (Problem). Closing the stream cancels the run.",
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
		return &huma.StreamResponse{Body: func(hctx huma.Context) { a.run(ctx, hctx, in.Body) }}, nil
	})
}

func (a *api) run(ctx context.Context, hctx huma.Context, in Run) {
	_, w := humago.Unwrap(hctx)
	out := newEvents(w)
	started := time.Now()
	result, err := a.Runner.Run(ctx, caller(ctx), in, out)
	switch {
	case err == nil:
		result.Duration = time.Since(started)
		out.send("result", result)
	case out.begun():
		out.send("error", a.problem(ctx, err))
	default:
		writeProblem(w, a.problem(ctx, err))
	}
}

// events writes a stream of server-sent events. Its head goes out with the
// first of them: until then the answer can still be an error.
type events struct {
	mu     sync.Mutex
	opened bool
	w      http.ResponseWriter
	rc     *http.ResponseController
}

func newEvents(w http.ResponseWriter) *events {
	return &events{w: w, rc: http.NewResponseController(w)}
}

func (e *events) begun() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.opened
}

func (e *events) begin() {
	if e.opened {
		return
	}
	e.opened = true
	e.w.Header().Set("Content-Type", "text/event-stream")
	e.w.Header().Set("X-Accel-Buffering", "no")
	e.w.WriteHeader(http.StatusOK)
}

func (e *events) send(name string, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		b = []byte(`{"code":"internal","detail":"the answer cannot be written"}`)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.begin()
	// Who has gone away is noticed by the request's context.
	_, _ = e.w.Write(slices.Concat([]byte("event: "+name+"\ndata: "), b, []byte("\n\n")))
	_ = e.rc.Flush()
}

// data sends events that have no name.
func (e *events) data(texts ...json.RawMessage) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.begin()
	for _, text := range texts {
		_, _ = e.w.Write(slices.Concat([]byte("data: "), text, []byte("\n\n")))
	}
	_ = e.rc.Flush()
}

// still tells whoever reads that the stream goes on.
func (e *events) still() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.begin()
	_, _ = e.w.Write([]byte(": still here\n\n"))
	_ = e.rc.Flush()
}

// Progress passes on how far a run is.
func (e *events) Progress(params []byte) { e.send("progress", json.RawMessage(params)) }

// Log passes on what a server says while it works.
func (e *events) Log(level string, params []byte) {
	e.send("log", json.RawMessage(`{"level":`+strconv.Quote(level)+`,"params":`+string(params)+`}`))
}
