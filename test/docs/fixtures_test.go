package docs

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/junctor-mcp/junctor/internal/testkit/upstreams"
	"github.com/junctor-mcp/junctor/test/program"
)

// fixtures returns what a block can ask for with `with=`. Each starts something and
// says in p.replace for which address or value of the document it stands.
func fixtures() map[string]func(t *testing.T, p *page) {
	return map[string]func(t *testing.T, p *page){
		"npx":   startNPX,
		"notes": startNotes,
		"pets":  startPets,
		"model": startModel,
		"oauth": startOAuth,
	}
}

// startNPX gives the page an npx that runs the npm packages of test/node, offline.
func startNPX(t *testing.T, p *page) {
	t.Helper()
	node := program.FindNode(t)
	p.script(t, "npx", fmt.Sprintf(`#!/bin/sh
[ "$1" = -y ] && shift
package=$1
shift
exec '%s' '%s'"/$package/dist/index.js" "$@"
`, node.Bin(), node.Module("")))
}

// startNotes serves the server of the documents at https://notes.example.com/mcp. It
// requires the token "notes-token" and, after POST /test/revoke, "new-token".
func startNotes(t *testing.T, p *page) {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "notes", Version: "1.0.0"}, nil)
	type query struct {
		Query string `json:"query"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "search", Description: "Finds notes by their words"}, func(context.Context, *mcp.CallToolRequest, query) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "1 note: Shopping list"}}}, nil, nil
	})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
	var token atomic.Value
	token.Store("notes-token")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/test/revoke" {
			token.Store("new-token")
			return
		}
		if r.Header.Get("Authorization") != fmt.Sprint("Bearer ", token.Load()) {
			http.Error(w, "unknown token", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections() // streams do not end by themselves
		server.Close()
	})
	p.serve("https://notes.example.com", server.URL)
}

// startPets serves the API of the documents at https://pets.example.com, which
// requires the key "pets-key".
func startPets(t *testing.T, p *page) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/pets", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `[{"id":1,"name":"Tom","kind":"cat"}]`)
	})
	mux.HandleFunc("GET /v1/pets/{id}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"id":1,"name":"Tom","kind":"cat"}`)
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-API-Key") != "pets-key" {
			http.Error(w, `{"message":"unknown key"}`, http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	p.serve("https://pets.example.com", server.URL)
}

// startModel serves chat completions in the place of Ollama. It asks for the tool
// that adds, once, and then says what came of it.
func startModel(t *testing.T, p *page) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			Stream   bool
			Messages []struct{ Role, Content string }
			Tools    []any
		}
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil || r.URL.Path != "/v1/chat/completions" {
			http.NotFound(w, r)
			return
		}
		message, finish := map[string]any{"role": "assistant", "content": "hello"}, "stop"
		switch last := request.Messages[len(request.Messages)-1]; {
		case last.Role == "tool":
			message["content"] = "That makes " + last.Content + "."
		case len(request.Tools) > 0:
			delete(message, "content")
			message["tool_calls"] = []any{map[string]any{"index": 0, "id": "call-1", "type": "function", "function": map[string]string{"name": "demo__add", "arguments": `{"a":2,"b":40}`}}}
			finish = "tool_calls"
		}
		choice := map[string]any{"index": 0, "message": message, "delta": message, "finish_reason": finish}
		data, err := json.Marshal(map[string]any{"id": "c", "object": "chat.completion", "created": 1, "model": "qwen3:8b", "choices": []any{choice}, "usage": map[string]int{"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}})
		if err != nil {
			panic(err) // of texts
		}
		if request.Stream {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: %s\n\ndata: [DONE]\n\n", data)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(data)
	}))
	t.Cleanup(server.Close)
	// Not by serve: a model on the same machine needs no permission.
	p.replace["http://127.0.0.1:11434"] = server.URL
}

// startOAuth serves https://notes.example.com/mcp as a server to sign in to, and
// gives the page a browser: whoever opens an address in it is ann, and consents.
func startOAuth(t *testing.T, p *page) {
	t.Helper()
	g := upstreams.NewGuarded(t, upstreams.Legacy)
	p.serve("https://notes.example.com", g.Issuer)
	p.script(t, "xdg-open", "#!/bin/sh\nexec curl -sL \"$1&as=ann\"\n")
	p.env = append(p.env, "DISPLAY=:0")
}
