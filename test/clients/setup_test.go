package clients

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/junctor-mcp/junctor/test/program"
)

// setupFiles are the configurations of seven clients as people have them. $NODE, $SERVER
// and $URL stand for the programs and the address of the test.
var setupFiles = map[string]string{
	".claude.json": `{
  "numStartups": 12,
  "mcpServers": {
    "github": {"type": "stdio", "command": "$NODE", "args": ["$SERVER"], "env": {"SECRET": "ghp_canary0github0123456789abcdef"}}
  },
  "projects": {
    "/src/shop": {"allowedTools": [], "mcpServers": {"orders": {"type": "http", "url": "$URL/orders/mcp", "headers": {"Authorization": "Bearer ${ORDERS_TOKEN}"}}}}
  }
}
`,
	".cursor/mcp.json": `{
  // the same server as in Claude Code
  "mcpServers": {
    "orders": {"command": "npx", "args": ["-y", "mcp-remote@latest", "$URL/orders/mcp", "--header", "Authorization: Bearer canary-orders-token", "--allow-http"]},
  }
}
`,
	".config/Code/User/mcp.json": `{
	"servers": {
		"search": {"type": "stdio", "command": "$NODE", "args": ["$SERVER", "--api-key", "canary-search-key"]}
	}
}`,
	".codex/config.toml": `model = "o" # mine
approval_policy = "on-request"

[mcp_servers.tickets]
command = "$NODE"
args = ["$SERVER"]
env = { SECRET = "canary-tickets-token" }

[tui]
theme = "dark"
`,
	".gemini/settings.json": `{"theme": "GitHub", "mcpServers": {"maps": {"httpUrl": "$URL/maps/mcp", "headers": {"X-Goog-Api-Key": "canary-maps-key"}, "timeout": 30000}}}
`,
	".config/zed/settings.json": `{
  "ui_font_size": 16,
  "context_servers": {
    "files": {"source": "custom", "command": "$NODE", "args": ["$SERVER"], "env": {"SECRET": "canary-files-token"}},
  },
}
`,
	".config/goose/config.yaml": `GOOSE_PROVIDER: x
extensions:
  developer:
    enabled: true
    type: builtin
    name: developer
  wiki:
    enabled: true
    type: streamable_http
    name: wiki
    uri: $URL/wiki/mcp
    headers:
      Authorization: Bearer canary-wiki-token
    timeout: 300
`,
}

// setupSecrets are the secrets that the servers must get, by the server's id.
var setupSecrets = map[string]string{
	"github": "ghp_canary0github0123456789abcdef", "orders": "Bearer canary-orders-token", "search": "canary-search-key",
	"tickets": "canary-tickets-token", "maps": "canary-maps-key", "files": "canary-files-token", "team": "canary-team-token", "wiki": "Bearer canary-wiki-token",
}

// setupHome is a home directory with the files of setupFiles, and an instance's data.
type setupHome struct {
	binary    string
	dir, data string
	env       []string
	endpoint  string // of the instance
	node      *program.Node
	before    map[string]string // text by the file's name
}

// newSetupHome writes the files. The HTTP servers among them run until the test ends.
func newSetupHome(t *testing.T) *setupHome {
	t.Helper()
	node := program.FindNode(t)
	mux := http.NewServeMux()
	for _, name := range []string{"orders", "maps", "wiki"} {
		mux.Handle("/"+name+"/", newSealedServer(name))
	}
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	dir, addr := t.TempDir(), program.FreeAddr(t)
	h := &setupHome{binary: program.Binary(t), endpoint: "http://" + addr + "/mcp", dir: dir, data: filepath.Join(t.TempDir(), "d"), node: node, before: map[string]string{}}
	h.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + os.TempDir(), "JUNCTOR_LISTEN=" + addr, "ORDERS_TOKEN=canary-orders-token", "GIT_CONFIG_NOSYSTEM=1"}
	fill := strings.NewReplacer("$NODE", node.Bin(), "$SERVER", node.Script(t, "sealed_server.mjs"), "$URL", web.URL)
	for name, text := range setupFiles {
		h.before[name] = fill.Replace(text)
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(h.before[name]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if out, err := h.junctor(context.Background(), dir, "stop"); err != nil {
			t.Logf("stop: %v: %s", err, out)
		}
	})
	return h
}

// newSealedServer is an MCP server over HTTP with the tool of sealed_server.mjs. It
// refuses requests without the secret.
func newSealedServer(name string) http.Handler {
	server := mcp.NewServer(&mcp.Implementation{Name: name, Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "secret", Description: "Says which secret the server got."}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: digestOf(setupSecrets[name])}}}, nil, nil
	})
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != setupSecrets[name] && r.Header.Get("X-Goog-Api-Key") != setupSecrets[name] {
			http.Error(w, "no secret", http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// digestOf is what the tool of sealed_server.mjs answers for a secret.
func digestOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])[:16]
}

// junctor runs a command in a folder as the user does.
func (h *setupHome) junctor(ctx context.Context, folder string, args ...string) (output string, err error) {
	cmd := exec.CommandContext(ctx, h.binary, append(args, "--data-dir", h.data)...)
	cmd.Env, cmd.Dir = h.env, folder
	text, err := cmd.CombinedOutput()
	return string(text), err
}

// run is junctor for a command that must succeed and print no secret.
func (h *setupHome) run(t *testing.T, folder string, args ...string) string {
	t.Helper()
	text, err := h.junctor(t.Context(), folder, args...)
	if err != nil || strings.Contains(text, "canary") {
		t.Fatalf("junctor %q: %v\n%s", args, err, text)
	}
	return text
}

// checkCalls has the official client call all tools as one client is configured to, and
// compares what it got with the servers that should be there.
func (h *setupHome) checkCalls(t *testing.T, file string, servers []string) (key string) {
	t.Helper()
	text := h.read(t, file)
	args := []string{"stdio", "", program.Binary(t), "stdio", "--data-dir", h.data}
	if key = regexp.MustCompile(`jct_[A-Za-z0-9_-]+`).FindString(text); key != "" {
		args[1] = key
	}
	if url := regexp.MustCompile(`http://[^"]+/mcp`).FindString(text); url != "" {
		args = []string{"http", url, key}
	}
	out, err := h.node.Run(t, limit, "call_all.mjs", args...)
	if err != nil {
		t.Fatalf("%s: %v\n%s", file, err, out)
	}
	var got map[string]string
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(got, func(name, _ string) bool { return !strings.HasSuffix(name, "__secret") })
	want := map[string]string{}
	for _, id := range servers {
		want[id+"__secret"] = digestOf(setupSecrets[id])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the client of %s sees (-want +got):\n%s", file, diff)
	}
	return key
}

func (h *setupHome) read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(h.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// checkRestored compares the files with those from before, except some.
func (h *setupHome) checkRestored(t *testing.T, except ...string) {
	t.Helper()
	for name, before := range h.before {
		if now := h.read(t, name); !slices.Contains(except, name) && now != before {
			t.Errorf("%s is not as it was (-want +got):\n%s", name, cmp.Diff(before, now))
		}
		info, err := os.Stat(filepath.Join(h.dir, name))
		if err != nil || !slices.Contains(except, name) && info.Mode().Perm() != 0o644 {
			t.Errorf("%s: mode %v, %v", name, info.Mode(), err)
		}
	}
}

// checkRevoked sends requests with keys that an undo revoked.
func checkRevoked(t *testing.T, url string, keys []string) {
	t.Helper()
	for _, key := range keys {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+key)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusUnauthorized {
			t.Errorf("a key that was revoked: %s", res.Status)
		}
	}
}

// TestSetup moves the servers of seven clients to Junctor. Each client then reaches all of
// them with a key of its own, and --undo restores every file and revokes the keys.
func TestSetup(t *testing.T) {
	t.Parallel()
	h := newSetupHome(t)
	all := slices.DeleteFunc(slices.Sorted(maps.Keys(setupSecrets)), func(id string) bool { return id == "team" }) // which is in the checkout

	t.Run("whole", func(t *testing.T) {
		h.run(t, h.dir, "setup", "--yes")
		var keys []string
		for _, name := range slices.Sorted(maps.Keys(h.before)) {
			if now := h.read(t, name); strings.Contains(now, "canary") || now == h.before[name] {
				t.Errorf("%s after setup:\n%s", name, now)
			}
			key := h.checkCalls(t, name, all)
			if key == "" || slices.Contains(keys, key) {
				t.Errorf("%s has no key of its own", name)
			}
			keys = append(keys, key)
		}
		h.run(t, h.dir, "server", "show", "search")
		for _, found := range grepFiles(t, h.data, "canary") {
			t.Errorf("%s has a secret in plain text", found)
		}
		h.run(t, h.dir, "setup", "--undo")
		h.checkRestored(t)
		checkRevoked(t, h.endpoint, keys)
	})

	t.Run("edited", func(t *testing.T) {
		const edited = ".codex/config.toml"
		h.run(t, h.dir, "setup", "--yes")
		key := h.checkCalls(t, edited, all)
		mine := strings.Replace(h.read(t, edited), `theme = "dark"`, `theme = "light"`, 1)
		if err := os.WriteFile(filepath.Join(h.dir, edited), []byte(mine), 0o644); err != nil {
			t.Fatal(err)
		}
		if out := h.run(t, h.dir, "setup", "--undo"); !strings.Contains(out, "edited after setup") {
			t.Errorf("undo says nothing of the edit:\n%s", out)
		}
		h.checkRestored(t, edited)
		if now := h.read(t, edited); !strings.Contains(now, `theme = "light"`) || !strings.Contains(now, "canary-tickets-token") || strings.Contains(now, "junctor") {
			t.Errorf("the edited file:\n%s", now)
		}
		checkRevoked(t, h.endpoint, []string{key})
		if err := os.WriteFile(filepath.Join(h.dir, edited), []byte(h.before[edited]), 0o644); err != nil {
			t.Fatal(err)
		}
	})

	t.Run("Git", func(t *testing.T) {
		git, err := exec.LookPath("git")
		if err != nil {
			program.Missing(t, "git")
		}
		checkout := filepath.Join(h.dir, "checkout")
		if err := os.Mkdir(checkout, 0o755); err != nil {
			t.Fatal(err)
		}
		project := filepath.Join(checkout, ".mcp.json")
		before := strings.Replace(`{"mcpServers": {"team": {"command": "$NODE", "args": ["SERVER"], "env": {"SECRET": "canary-team-token"}}}}`, "$NODE", h.node.Bin(), 1)
		before = strings.Replace(before, "SERVER", h.node.Script(t, "sealed_server.mjs"), 1)
		if err := os.WriteFile(project, []byte(before), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"init", "-q", "."}, {"add", ".mcp.json"}} {
			cmd := exec.CommandContext(t.Context(), git, args...)
			cmd.Env, cmd.Dir = h.env, checkout
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}
		h.run(t, checkout, "setup", "--yes")
		if now := h.read(t, "checkout/.mcp.json"); now != before {
			t.Errorf("a tracked file changed without --project:\n%s", now)
		}
		h.run(t, checkout, "setup", "--yes", "--project")
		if now := h.read(t, "checkout/.mcp.json"); strings.Contains(now, "jct_") || strings.Contains(now, "canary") || !strings.Contains(now, "stdio") {
			t.Errorf("the tracked file:\n%s", now)
		}
		h.checkCalls(t, "checkout/.mcp.json", append(slices.Clone(all), "team"))
		h.checkCalls(t, ".claude.json", append(slices.Clone(all), "team"))
		h.run(t, checkout, "setup", "--undo")
		h.checkRestored(t)
		if now := h.read(t, "checkout/.mcp.json"); now != before {
			t.Errorf("the tracked file is not as it was:\n%s", now)
		}
	})
}

// grepFiles lists the files below a folder that have a text.
func grepFiles(t *testing.T, dir, text string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte(text)) {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
