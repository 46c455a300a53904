package docs

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/junctor-mcp/junctor/test/program"
)

// fixtures returns what a block can ask for with `with=`. Each starts something and
// says in p.replace for which address or value of the document it stands.
func fixtures() map[string]func(t *testing.T, p *page) {
	return map[string]func(t *testing.T, p *page){
		"npx":   startNPX,
		"notes": startNotes,
		"pets":  startPets,
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

// startNotes serves the server of the documents at https://notes.example.com/mcp,
// which requires the token "notes-token".
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
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer notes-token" {
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
