package upstreams

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// taskServer is a modern server whose tools run as tasks, by the names that the
// conformance suite calls. No SDK makes one yet, so this one speaks by hand.
type taskServer struct {
	mu    sync.Mutex
	tasks map[string]*task
	next  int
	heard map[chan map[string]any][]string // who listens, and for which tasks
}

type task struct {
	id        string
	created   time.Time
	status    string
	asks      map[string]any
	answers   map[string]json.RawMessage
	result    any
	fault     any
	finish    func(answers map[string]json.RawMessage) any
	cancelled chan struct{}
}

// Tasks starts the server and gives its URL.
func Tasks(t testing.TB) string {
	t.Helper()
	s := httptest.NewServer(&taskServer{tasks: map[string]*task{}, heard: map[chan map[string]any][]string{}})
	t.Cleanup(s.Close)
	return s.URL
}

type taskRequest struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Name           string
		TaskID         string
		Arguments      map[string]any
		InputResponses map[string]json.RawMessage
		RequestState   string
		Notifications  struct{ TaskIDs []string }
		Meta           struct {
			Capabilities struct {
				Extensions map[string]any
			} `json:"io.modelcontextprotocol/clientCapabilities"`
		} `json:"_meta"`
	}
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

const tasksExtension = "io.modelcontextprotocol/tasks"

func (s *taskServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var req taskRequest
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if len(req.ID) == 0 {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if _, takes := req.Params.Meta.Capabilities.Extensions[tasksExtension]; takes && req.Method == "subscriptions/listen" {
		s.listen(w, r, &req)
		return
	}
	answer := map[string]any{"jsonrpc": "2.0", "id": req.ID}
	status := http.StatusOK
	result, fault := s.handle(&req, r.Header)
	if fault != nil {
		answer["error"] = fault
		if status = http.StatusBadRequest; fault.Code == -32601 {
			status = http.StatusNotFound
		}
	} else {
		if result["resultType"] == nil {
			result["resultType"] = "complete"
		}
		answer["result"] = result
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}

func (s *taskServer) handle(req *taskRequest, h http.Header) (map[string]any, *rpcError) {
	_, takes := req.Params.Meta.Capabilities.Extensions[tasksExtension]
	if strings.HasPrefix(req.Method, "tasks/") && !takes {
		return nil, needsTasks()
	}
	switch req.Method {
	case "server/discover":
		return map[string]any{
			"supportedVersions": []string{"2026-07-28"}, "ttlMs": 0, "cacheScope": "private",
			"capabilities": map[string]any{"tools": map[string]any{}, "extensions": map[string]any{tasksExtension: map[string]any{}}},
		}, nil
	case "tools/list":
		var tools []any
		for _, name := range []string{"greet", "slow_compute", "failing_job", "protocol_error_job", "confirm_delete", "multi_input", "test_tool_with_task"} {
			tools = append(tools, map[string]any{"name": name, "inputSchema": map[string]any{"type": "object"}})
		}
		return map[string]any{"tools": tools, "ttlMs": 0, "cacheScope": "private"}, nil
	case "tools/call":
		return s.call(req, takes)
	case "tasks/get", "tasks/update", "tasks/cancel":
		if h.Get("Mcp-Name") != req.Params.TaskID {
			return nil, &rpcError{Code: -32020, Message: "Mcp-Name is not the task"}
		}
		return s.onTask(req)
	}
	return nil, &rpcError{Code: -32601, Message: "unknown method"}
}

func needsTasks() *rpcError {
	return &rpcError{Code: -32021, Message: "needs tasks", Data: map[string]any{
		"requiredCapabilities": map[string]any{"extensions": map[string]any{tasksExtension: map[string]any{}}},
	}}
}

func said(format string, args ...any) map[string]any {
	return map[string]any{"content": []any{map[string]any{"type": "text", "text": fmt.Sprintf(format, args...)}}}
}

func elicit(message, field string) map[string]any {
	return map[string]any{"method": "elicitation/create", "params": map[string]any{
		"mode": "form", "message": message,
		"requestedSchema": map[string]any{"type": "object", "properties": map[string]any{field: map[string]any{"type": "string"}}},
	}}
}

func (s *taskServer) call(req *taskRequest, takes bool) (map[string]any, *rpcError) {
	p := &req.Params
	switch p.Name {
	case "greet":
		return said("Hello, %v!", p.Arguments["name"]), nil
	case "slow_compute":
		seconds, _ := p.Arguments["seconds"].(float64)
		if !takes || seconds == 0 {
			return said("computed"), nil
		}
		return s.begin(&task{result: said("computed %v", p.Arguments["label"])}, time.Duration(seconds*float64(time.Second))), nil
	case "failing_job", "protocol_error_job", "confirm_delete", "multi_input", "test_tool_with_task":
		if !takes {
			return nil, needsTasks()
		}
	}
	switch p.Name {
	case "failing_job":
		result := said("it failed")
		result["isError"] = true
		return s.begin(&task{result: result}, time.Second), nil
	case "protocol_error_job":
		return s.begin(&task{fault: &rpcError{Code: -32603, Message: "it broke"}}, 10*time.Millisecond), nil
	case "confirm_delete":
		return s.begin(&task{asks: map[string]any{"confirm": elicit("Delete?", "answer")}, finish: func(a map[string]json.RawMessage) any {
			return said("deleted %v: %s", p.Arguments["filename"], a["confirm"])
		}}, 0), nil
	case "multi_input":
		return s.begin(&task{asks: map[string]any{"one": elicit("One?", "a"), "two": elicit("Two?", "b")}, finish: func(a map[string]json.RawMessage) any {
			return said("%s %s", a["one"], a["two"])
		}}, 0), nil
	case "test_tool_with_task":
		if p.InputResponses == nil {
			return map[string]any{"resultType": "input_required", "requestState": "asked", "inputRequests": map[string]any{"user_name": elicit("Who?", "name")}}, nil
		}
		return s.begin(&task{result: said("for %s", p.InputResponses["user_name"])}, 10*time.Millisecond), nil
	}
	return nil, &rpcError{Code: -32602, Message: "unknown tool"}
}

// begin starts a task that ends after a while, or asks.
func (s *taskServer) begin(t *task, after time.Duration) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	t.id, t.created, t.status = fmt.Sprintf("own-task-%d", s.next), time.Now(), "working"
	t.answers, t.cancelled = map[string]json.RawMessage{}, make(chan struct{})
	s.tasks[t.id] = t
	if t.asks == nil {
		time.AfterFunc(after, func() { s.end(t) })
	}
	out := t.shown()
	if t.asks != nil {
		t.status = "input_required"
	}
	out["resultType"] = "task"
	return out
}

func (s *taskServer) end(t *task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.status != "working" && t.status != "input_required" {
		return
	}
	if t.status = "completed"; t.fault != nil {
		t.status = "failed"
	}
	s.changed(t)
}

// listen tells of the tasks that the client names, as long as it listens.
func (s *taskServer) listen(w http.ResponseWriter, r *http.Request, req *taskRequest) {
	news := make(chan map[string]any, 64)
	var known []string
	s.mu.Lock()
	for _, id := range req.Params.Notifications.TaskIDs {
		if s.tasks[id] != nil {
			known = append(known, id)
		}
	}
	s.heard[news] = known
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.heard, news)
	}()
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(method string, params map[string]any) {
		params["_meta"] = map[string]any{"io.modelcontextprotocol/subscriptionId": req.ID}
		b, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
		_, _ = fmt.Fprintf(w, "data: %s\n\n", b)
		_ = http.NewResponseController(w).Flush()
	}
	send("notifications/subscriptions/acknowledged", map[string]any{"notifications": map[string]any{"taskIds": known}})
	for {
		select {
		case task := <-news:
			send("notifications/tasks", task)
		case <-r.Context().Done():
			return
		}
	}
}

// changed tells those who listen; mu is held.
func (s *taskServer) changed(t *task) {
	for news, ids := range s.heard {
		if slices.Contains(ids, t.id) {
			news <- t.detailed()
		}
	}
}

func (t *task) shown() map[string]any {
	at := t.created.UTC().Format(time.RFC3339Nano)
	return map[string]any{"taskId": t.id, "status": t.status, "createdAt": at, "lastUpdatedAt": at, "ttlMs": 60000, "pollIntervalMs": 50}
}

func (s *taskServer) onTask(req *taskRequest) (map[string]any, *rpcError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tasks[req.Params.TaskID]
	if t == nil {
		return nil, &rpcError{Code: -32602, Message: "no such task"}
	}
	switch req.Method {
	case "tasks/cancel":
		if t.status == "working" || t.status == "input_required" {
			t.status = "cancelled"
			s.changed(t)
		}
		return map[string]any{}, nil
	case "tasks/update":
		for key, answer := range req.Params.InputResponses {
			if t.asks[key] != nil {
				delete(t.asks, key)
				t.answers[key] = answer
			}
		}
		if t.status == "input_required" && len(t.asks) == 0 {
			t.result, t.status = t.finish(t.answers), "completed"
			s.changed(t)
		}
		return map[string]any{}, nil
	}
	return t.detailed(), nil
}

// detailed is the task with what it led to, or asks for.
func (t *task) detailed() map[string]any {
	out := t.shown()
	switch t.status {
	case "input_required":
		out["inputRequests"] = maps.Clone(t.asks)
	case "completed":
		out["result"] = t.result
	case "failed":
		out["error"] = t.fault
	}
	return out
}
