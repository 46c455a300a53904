package console

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/junctor-mcp/junctor/test/program"
)

// fetched has npx fetch the servers that the gallery will start, so that no page
// waits for the registry: a server has a minute and a half to answer.
func fetched(t *testing.T, packages ...string) {
	t.Helper()
	npx, err := exec.LookPath("npx")
	if err != nil {
		program.Missing(t, "npx, which comes with Node.js")
	}
	for _, name := range packages {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		cmd := exec.CommandContext(ctx, npx, "-y", "--package", name, "--call", "true")
		cmd.Dir = t.TempDir()
		out, err := cmd.CombinedOutput()
		cancel()
		if err != nil {
			t.Logf("%s: %v\n%s", name, err, out)
			program.Missing(t, "the npm registry, for "+name)
		}
	}
}

// newGuarded starts a server that wants a token.
func newGuarded(t *testing.T, token string) string {
	t.Helper()
	sdk := mcp.NewServer(&mcp.Implementation{Name: "guarded", Version: "1"}, nil)
	mcp.AddTool(sdk, &mcp.Tool{Name: "search"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{}, nil, nil
	})
	inner := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return sdk }, nil)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		_ = s.Config.Close()
		s.Close()
	})
	return s.URL
}

func TestGallery(t *testing.T) {
	t.Parallel()
	r := start(t)
	fetched(t, "@modelcontextprotocol/server-everything@2026.8.31", "@modelcontextprotocol/server-filesystem@2026.8.31", "@modelcontextprotocol/server-memory@2026.8.31")
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "hello.txt"), []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	pack := `{pack: team, title: Team, summary: What the team uses., questions: [{name: token, title: Token, about: Lets you in., where: Ask Ada., secret: true}],
servers: {notes: {title: Team notes, url: "` + newGuarded(t, "pack-canary") + `", auth: {type: bearer, token: "${token}"}}}}`
	r.run(t, "gallery.mjs", r.Link(t, "ada"), folder, filepath.Join(t.TempDir(), "memory.jsonl"), pack)

	// The same by the command line.
	r.Tell(t, "pack", "add", "everything", "--as", "everything=again", "--yes")
	if got := r.Tell(t, "tool", "call", "again__echo", "--arg", "message=hello"); got != "Echo: hello" {
		t.Errorf("%q", got)
	}
}
