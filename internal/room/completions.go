package room

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	strict "github.com/go-json-experiment/json"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/agent"
	"github.com/junctor-mcp/junctor/internal/agui"
)

// CompletionsHandler serves the OpenAI chat completions API: each agent is a model with a
// base URL of its own. The agent makes its calls with the permissions that the
// caller has at the agent's MCP endpoint, so calls need no approval.
type CompletionsHandler struct {
	// Authenticate returns the principal of a request.
	Authenticate func(*http.Request) (*junctor.Principal, error)
	// Mind returns a turn of the named agent if the principal may act as it;
	// otherwise the agent is not found.
	NewTurn func(ctx context.Context, p *junctor.Principal, name string) (agent.Turn, error)
	Now     func() time.Time
	NewID   func() string
	MaxBody int64 // bytes
}

// RegisterRoutes registers the endpoints below /a/{agent}/v1.
func (c *CompletionsHandler) RegisterRoutes(mux junctor.Mux) {
	mux.HandleFunc("POST /a/{agent}/v1/chat/completions", c.serveCompletion)
	mux.HandleFunc("GET /a/{agent}/v1/models", c.serveModels)
}

// completionRequest holds the fields of a request that have an effect here.
// Sampling parameters are ignored: the agent's own settings apply.
type completionRequest struct {
	Model    string `json:"model"`
	Messages []struct {
		Role    string          `json:"role"`
		Name    string          `json:"name"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	Stream        bool `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Tools []json.RawMessage `json:"tools"`
	N     int               `json:"n"`
}

// completion is a whole answer, or one chunk of a streamed one.
type completion struct {
	ID      string           `json:"id"`
	Object  string           `json:"object"`
	Created int64            `json:"created"`
	Model   string           `json:"model"`
	Choices []any            `json:"choices"`
	Usage   *completionUsage `json:"usage,omitempty"`
}

// completionUsage counts tokens under the names of the API.
type completionUsage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

// newCompletionUsage returns the tokens that a turn used.
func newCompletionUsage(end agent.TurnResult) *completionUsage {
	return &completionUsage{end.Usage.Input, end.Usage.Output, end.Usage.Total()}
}

// loadTurn authenticates a request and returns a turn of the agent in its path.
func (c *CompletionsHandler) loadTurn(r *http.Request) (agent.Turn, error) {
	p, err := c.Authenticate(r)
	if err != nil {
		return agent.Turn{}, err
	}
	if !p.Has(junctor.ScopeToolsCall) {
		return agent.Turn{}, junctor.Errorf(junctor.CodeNotFound, "unknown agent %q; junctor agent ls lists the agents", r.PathValue("agent"))
	}
	return c.NewTurn(r.Context(), p, r.PathValue("agent"))
}

// serveModels lists the one model of the base URL: the agent. Clients use it to
// check their key.
func (c *CompletionsHandler) serveModels(w http.ResponseWriter, r *http.Request) {
	if _, err := c.loadTurn(r); err != nil {
		writeError(w, err)
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": []any{map[string]any{"id": r.PathValue("agent"), "object": "model", "created": c.Now().Unix(), "owned_by": "junctor"}}})
}

// serveCompletion runs a turn of the agent and answers with its last text.
func (c *CompletionsHandler) serveCompletion(w http.ResponseWriter, r *http.Request) {
	turn, err := c.loadTurn(r)
	var in completionRequest
	if err == nil {
		in, err = c.readRequest(w, r, &turn)
	}
	if err != nil {
		writeError(w, err)
		return
	}
	head := completion{ID: "chatcmpl-" + c.NewID(), Object: "chat.completion", Created: c.Now().Unix(), Model: r.PathValue("agent")}
	if in.Stream {
		head.Object = "chat.completion.chunk"
		streamCompletion(w, r, turn, head, in.StreamOptions.IncludeUsage)
		return
	}
	end := agent.Run(r.Context(), turn, func(agent.Event) {})
	if end.Outcome == agent.OutcomeFailed || end.Outcome == agent.OutcomeCancelled {
		writeError(w, junctor.Errorf(junctor.CodeUpstream, "%s", end.Reason))
		return
	}
	head.Choices = []any{map[string]any{"index": 0, "finish_reason": finishReason(end), "logprobs": nil, "message": map[string]any{"role": "assistant", "content": end.Text(), "refusal": nil}}}
	head.Usage = newCompletionUsage(end)
	writeJSON(w, http.StatusOK, head)
}

// readRequest reads and checks a request, and adds its conversation to the turn.
// System messages extend the agent's instructions and cannot replace them.
func (c *CompletionsHandler) readRequest(w http.ResponseWriter, r *http.Request, turn *agent.Turn) (completionRequest, error) {
	var in completionRequest
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, c.MaxBody))
	if refusal, ok := errors.AsType[*junctor.Error](err); ok { // the limit on request bytes in flight was reached: the client may retry
		return in, refusal
	}
	if err != nil {
		return in, junctor.Errorf(junctor.CodeTooLarge, "the body cannot be read, or is larger than %d bytes: %w", c.MaxBody, err)
	}
	if err := strict.Unmarshal(body, &in); err != nil {
		return in, junctor.Errorf(junctor.CodeInvalid, "the body must be a chat completion request in JSON: %w", err)
	}
	switch {
	case len(in.Tools) > 0:
		return in, junctor.Errorf(junctor.CodeInvalid, "tools: the agent uses its own tools; leave the field out")
	case in.N > 1:
		return in, junctor.Errorf(junctor.CodeInvalid, "n must be 1: an agent gives one answer")
	}
	for _, m := range in.Messages {
		text, err := agui.DecodeText(m.Content)
		if err != nil {
			return in, err
		}
		switch m.Role {
		case "system", "developer":
			turn.Instructions = strings.TrimSpace(turn.Instructions + "\n\n" + text)
		case "user":
			turn.Messages = append(turn.Messages, agent.Message{Role: agent.RoleUser, Name: m.Name, Text: text})
		case "assistant":
			if text != "" {
				turn.Messages = append(turn.Messages, agent.Message{Role: agent.RoleAssistant, Text: text})
			}
		default:
			return in, junctor.Errorf(junctor.CodeInvalid, "messages: role must be system, developer, user or assistant, not %q", m.Role)
		}
	}
	if n := len(turn.Messages); n == 0 || turn.Messages[n-1].Role != agent.RoleUser {
		return in, junctor.Errorf(junctor.CodeInvalid, "messages: the last message must have the role user")
	}
	return in, nil
}

// finishReason returns the API's word for how a turn ended.
func finishReason(end agent.TurnResult) string {
	if end.Outcome == agent.OutcomeLimit {
		return "length"
	}
	return "stop"
}

// streamCompletion runs a turn and sends its text as server-sent events. Text
// between two tool calls is part of the answer, because the API has no other place
// for it.
func streamCompletion(w http.ResponseWriter, r *http.Request, turn agent.Turn, head completion, usage bool) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no")
	out := http.NewResponseController(w)
	send := func(v any) {
		text, err := json.Marshal(v)
		if err != nil {
			return // chunks always encode
		}
		// The request's context ends when the client disconnects.
		_, _ = w.Write([]byte("data: " + string(text) + "\n\n"))
		_ = out.Flush()
	}
	chunk := func(delta map[string]any, finish any) {
		piece := head
		piece.Choices = []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": nil}}
		send(piece)
	}
	chunk(map[string]any{"role": "assistant", "content": ""}, nil)
	said := false
	end := agent.Run(r.Context(), turn, func(e agent.Event) {
		switch {
		case e.Kind == agent.EventTextStart && said:
			chunk(map[string]any{"content": "\n\n"}, nil)
		case e.Kind == agent.EventText:
			said = true
			chunk(map[string]any{"content": e.Text}, nil)
		}
	})
	if end.Outcome == agent.OutcomeFailed || end.Outcome == agent.OutcomeCancelled {
		send(encodeError(junctor.Errorf(junctor.CodeUpstream, "%s", end.Reason)))
		return
	}
	chunk(map[string]any{}, finishReason(end))
	if usage {
		head.Choices, head.Usage = []any{}, newCompletionUsage(end)
		send(head)
	}
	_, _ = w.Write([]byte("data: [DONE]\n\n"))
	_ = out.Flush()
}

// writeJSON writes a JSON answer that no cache may store.
func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a failed write means that the client has disconnected
}

// encodeError returns an error in the API's form.
func encodeError(err error) map[string]any {
	e := junctor.AsError(err)
	kind := "invalid_request_error"
	switch e.Code { //nolint:exhaustive // all other codes are errors of the request
	case junctor.CodeUpstream, junctor.CodeUnreachable, junctor.CodeUnavailable, junctor.CodeInternal, junctor.CodeTimeout:
		kind = "server_error"
	case junctor.CodeLimited:
		kind = "rate_limit_error"
	}
	return map[string]any{"error": map[string]any{"message": e.Message, "type": kind, "param": nil, "code": e.Code}}
}

// writeError answers with an error and the HTTP status of its code.
func writeError(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	if e, ok := errors.AsType[*junctor.Error](err); ok {
		status = map[junctor.Code]int{
			junctor.CodeUnauthenticated: http.StatusUnauthorized, junctor.CodeDenied: http.StatusForbidden, junctor.CodeNotFound: http.StatusNotFound, junctor.CodeInvalid: http.StatusBadRequest,
			junctor.CodeLimited: http.StatusTooManyRequests, junctor.CodeTooLarge: http.StatusRequestEntityTooLarge, junctor.CodeUpstream: http.StatusBadGateway, junctor.CodeUnreachable: http.StatusBadGateway,
			junctor.CodeUnavailable: http.StatusServiceUnavailable, junctor.CodeTimeout: http.StatusGatewayTimeout,
		}[e.Code]
		if e.RetryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(e.RetryAfter.Seconds()))))
		}
	}
	if status == 0 {
		status = http.StatusInternalServerError
	}
	writeJSON(w, status, encodeError(err))
}
