package model

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/agent"
	"github.com/junctor-mcp/junctor/internal/seal"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

// said is an answer, in no vendor's words.
type said struct {
	thinking string
	text     []string
	calls    []wanted
	stop     string // "end", "calls" or "length"
}

// wanted is a call whose arguments come in parts.
type wanted struct {
	id, name string
	parts    []string
}

// reply is what the server does with one request.
type reply struct {
	events []string // "" is a comment; each goes out by itself
	status int      // instead of them
	body   string
	header map[string]string
	cut    bool // the connection ends behind the events
	hang   bool // nothing more comes behind them
	late   bool // the end of the body comes later than the last event
}

// server speaks both wires on a real socket, by a script.
type server struct {
	*httptest.Server
	kind junctor.ModelKind

	mu      sync.Mutex
	replies []reply
	asked   []map[string]any
	heads   []http.Header
	paths   []string
	methods []string
	hosts   []string
	clients []string // addresses
	bodies  [][]byte
	gone    chan struct{} // a client left a reply that hangs
}

func serve(t *testing.T, kind junctor.ModelKind, replies ...reply) *server {
	t.Helper()
	s := &server{kind: kind, replies: replies, gone: make(chan struct{}, 8)}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var asked map[string]any
	_ = json.Unmarshal(body, &asked)
	s.mu.Lock()
	s.asked, s.heads, s.paths = append(s.asked, asked), append(s.heads, r.Header.Clone()), append(s.paths, r.URL.Path)
	s.clients = append(s.clients, r.RemoteAddr)
	s.hosts, s.methods, s.bodies = append(s.hosts, r.Host), append(s.methods, r.Method), append(s.bodies, body)
	next := reply{status: 599, body: "the script is over"}
	if len(s.replies) > 0 {
		next, s.replies = s.replies[0], s.replies[1:]
	}
	s.mu.Unlock()
	for name, value := range next.header {
		w.Header().Set(name, value)
	}
	if next.status != 0 {
		w.WriteHeader(next.status)
		_, _ = io.WriteString(w, next.body)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range next.events {
		_, _ = io.WriteString(w, e)
		_ = http.NewResponseController(w).Flush()
	}
	switch {
	case next.cut:
		panic(http.ErrAbortHandler)
	case next.late:
		poll.Pause(20*time.Millisecond, "the end of the body arrives apart from the last event")
	case next.hang:
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		s.gone <- struct{}{}
	}
}

func (s *server) requests() []map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

func (s *server) provider(t *testing.T, key string) agent.Provider {
	t.Helper()
	p, err := New(Options{Kind: s.kind, BaseURL: s.baseURL(), Key: seal.NewSecret(key), Client: s.Client()})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// baseURL is what an admin would give for the server.
func (s *server) baseURL() string {
	if s.kind == junctor.ModelOpenAI {
		return s.URL + "/v1"
	}
	return s.URL
}

// events writes an answer in the wire of a kind.
func events(kind junctor.ModelKind, a said) []string {
	if kind == junctor.ModelAnthropic {
		return anthropicEvents(a)
	}
	return openaiEvents(a)
}

func compact(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

type object = map[string]any

func anthropicEvents(a said) []string {
	out := []string{": hello\n\n"}
	event := func(kind string, members object) {
		members["type"] = kind
		out = append(out, "event: "+kind+"\ndata: "+compact(members)+"\n\n")
	}
	event("message_start", object{"message": object{"id": "msg_1", "type": "message", "role": "assistant", "content": []any{}, "model": "m", "usage": object{"input_tokens": 20, "cache_read_input_tokens": 5, "output_tokens": 1}}})
	event("ping", object{})
	index := 0
	block := func(start object, deltas ...object) {
		event("content_block_start", object{"index": index, "content_block": start})
		for _, d := range deltas {
			event("content_block_delta", object{"index": index, "delta": d})
		}
		event("content_block_stop", object{"index": index})
		index++
	}
	if a.thinking != "" {
		block(object{"type": "thinking", "thinking": "", "signature": ""}, object{"type": "thinking_delta", "thinking": a.thinking}, object{"type": "signature_delta", "signature": "signed"})
	}
	if len(a.text) > 0 {
		var deltas []object
		for _, t := range a.text {
			deltas = append(deltas, object{"type": "text_delta", "text": t})
		}
		block(object{"type": "text", "text": ""}, deltas...)
	}
	for _, c := range a.calls {
		var deltas []object
		for _, p := range c.parts {
			deltas = append(deltas, object{"type": "input_json_delta", "partial_json": p})
		}
		block(object{"type": "tool_use", "id": c.id, "name": c.name, "input": object{}}, deltas...)
	}
	stop := map[string]string{"end": "end_turn", "calls": "tool_use", "length": "max_tokens"}[a.stop]
	event("message_delta", object{"delta": object{"stop_reason": stop}, "usage": object{"output_tokens": 7}})
	event("message_stop", object{})
	return out
}

func openaiEvents(a said) []string {
	out := []string{": hello\n\n"}
	chunk := func(delta object, finish any) {
		out = append(out, "data: "+compact(object{"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": []any{object{"index": 0, "delta": delta, "finish_reason": finish}}})+"\n\n")
	}
	chunk(object{"role": "assistant", "content": ""}, nil)
	if a.thinking != "" {
		chunk(object{"reasoning_content": a.thinking}, nil)
	}
	for _, t := range a.text {
		chunk(object{"content": t}, nil)
	}
	for i, c := range a.calls {
		chunk(object{"tool_calls": []any{object{"index": i, "id": c.id, "type": "function", "function": object{"name": c.name, "arguments": ""}}}}, nil)
	}
	for n := range 8 { // parts of calls come mixed
		for i, c := range a.calls {
			if n < len(c.parts) {
				chunk(object{"tool_calls": []any{object{"index": i, "function": object{"arguments": c.parts[n]}}}}, nil)
			}
		}
	}
	chunk(object{}, map[string]string{"end": "stop", "calls": "tool_calls", "length": "length"}[a.stop])
	out = append(out, "data: "+compact(object{"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": []any{}, "usage": object{"prompt_tokens": 25, "completion_tokens": 7, "total_tokens": 32}})+"\n\n")
	return append(out, "data: [DONE]\n\n")
}

// line is a piece in one line.
func line(p agent.AnswerChunk) string {
	switch {
	case p.Text != "":
		return "text " + p.Text
	case p.Thinking != "":
		return "thinking " + p.Thinking
	case p.Args != nil:
		return strings.TrimSpace(fmt.Sprintf("args %s %s %s", p.Args.ID, p.Args.Name, p.Args.Delta))
	case p.Call != nil:
		return fmt.Sprintf("call %s %s %s", p.Call.ID, p.Call.Name, p.Call.Arguments)
	case p.Usage != nil:
		return fmt.Sprintf("usage %d+%d", p.Usage.Input, p.Usage.Output)
	case p.Opaque != nil:
		return "opaque " + string(p.Opaque)
	}
	return "stop " + p.StopReason
}
