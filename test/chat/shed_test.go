package chat

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// chatServer is what the agents of the test have around them: a server whose tools take
// down what they did, a model that does as it is told in plain words, and a way
// for the test to ask and to let go.
type chatServer struct {
	tools, model, control string // addresses

	mu       sync.Mutex
	burnt    int // how often burn was called
	began    int // how often wait was called
	cancels  int // and was told to end
	asked    int // how often the model was asked
	released chan struct{}
}

func newShed(t *testing.T) *chatServer {
	t.Helper()
	s := &chatServer{released: make(chan struct{})}
	start := func(h http.Handler) string {
		server := httptest.NewServer(h)
		t.Cleanup(func() {
			_ = server.Config.Close() // streams too, which Close would wait for
			server.Close()
		})
		return server.URL
	}
	sdk := s.server()
	s.tools = start(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return sdk }, nil))
	s.model = start(http.HandlerFunc(s.serveModel)) + "/v1"
	mux := http.NewServeMux()
	mux.HandleFunc("GET /counts", func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		_ = json.NewEncoder(w).Encode(map[string]int{"burnt": s.burnt, "began": s.began, "cancels": s.cancels, "asked": s.asked})
	})
	mux.HandleFunc("POST /release", func(http.ResponseWriter, *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		close(s.released)
		s.released = make(chan struct{})
	})
	s.control = start(mux)
	return s
}

func (s *chatServer) countNote(n *int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*n++
}

func (s *chatServer) server() *mcp.Server {
	sdk := mcp.NewServer(&mcp.Implementation{Name: "shed", Version: "1"}, nil)
	said := func(text string) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
	}
	mcp.AddTool(sdk, &mcp.Tool{Name: "burn", Description: "Burns something down."}, func(_ context.Context, _ *mcp.CallToolRequest, in struct {
		What string `json:"what"`
	},
	) (*mcp.CallToolResult, any, error) {
		s.countNote(&s.burnt)
		return said(in.What + " is no more")
	})
	mcp.AddTool(sdk, &mcp.Tool{Name: "wait", Description: "Waits until it is told to end.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			s.countNote(&s.began)
			<-ctx.Done()
			s.countNote(&s.cancels)
			return nil, nil, ctx.Err()
		})
	return sdk
}

// request is what of a chat completion's request the model looks at.
type request struct {
	Stream   bool `json:"stream"`
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
}

// last gives the last words of a person, and what tools have said since.
func (r *request) last() (told string, results []string) {
	for _, m := range r.Messages {
		text := textOf(m.Content)
		switch m.Role {
		case "user":
			told, results = text, nil
		case "tool":
			results = append(results, text)
		}
	}
	return told, results
}

func textOf(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var parts []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(content, &parts)
	for _, p := range parts {
		text += p.Text
	}
	return text
}

// What a person may ask for, and which tool the model then calls, of any server.
var wishes = []struct{ words, tool, args string }{
	{"burn", "shed__burn", `{"what":"the shed"}`},
	{"wait", "shed__wait", `{}`},
	{"time", "clock__get-time", `{}`},
	{"budget", "budget__get-budget-data", `{}`},
	{"total", "view_set-total-budget", `{"amount":123456}`},
	{"allocations", "view_get-allocations", `{}`},
}

const story = "**One** thing, then <img src=x onerror=\"window.__xss=1\"> "

// serveModel answers as chat completions do, in pieces.
func (s *chatServer) serveModel(w http.ResponseWriter, r *http.Request) {
	s.countNote(&s.asked)
	var in request
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || r.URL.Path != "/v1/chat/completions" {
		http.Error(w, `{"error":{"message":"this is no chat completion"}}`, http.StatusBadRequest)
		return
	}
	if !in.Stream {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	piece := func(delta map[string]any, finish any) {
		body, _ := json.Marshal(map[string]any{
			"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
			"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}},
		})
		fmt.Fprintf(w, "data: %s\n\n", body)
		_ = http.NewResponseController(w).Flush()
	}
	say := func(text string) { piece(map[string]any{"role": "assistant", "content": text}, nil) }
	finish := "stop"
	told, results := in.last()
	switch {
	case len(results) > 0:
		say("I was told: ")
		say(strings.Join(results, "; "))
	case strings.Contains(told, "slowly"):
		s.mu.Lock()
		released := s.released
		s.mu.Unlock()
		say(story)
		select {
		case <-released:
		case <-r.Context().Done():
			return
		}
		say("and *two* at last.")
	default:
		for _, wish := range wishes {
			if strings.Contains(told, wish.words) {
				finish = "tool_calls"
				piece(map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{
					"index": 0, "id": fmt.Sprintf("call-%d", len(in.Messages)), "type": "function", "function": map[string]any{"name": wish.tool, "arguments": wish.args},
				}}}, nil)
			}
		}
		if finish == "stop" {
			say("hello")
		}
	}
	piece(map[string]any{}, finish)
	fmt.Fprint(w, "data: [DONE]\n\n")
}
