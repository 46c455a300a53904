package clients_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/clients"
)

// Each client's own way to write servers.
func TestReadEveryClient(t *testing.T) {
	t.Parallel()
	stdio := func(words ...string) clients.Server { return clients.Server{Transport: "stdio", Command: words} }
	tests := []struct {
		name, file, text string
		want             []clients.Entry
	}{
		{
			"a byte order mark, and comments", "mcp.json", "\xef\xbb\xbf{ // x\n\"mcpServers\": {\"a\": {\"command\": \"x\", \"args\": [1, \"b\"],},},}",
			[]clients.Entry{{Name: "a", ID: "a", Server: stdio("x", "1", "b")}},
		},
		{
			"Claude Code, with projects", ".claude.json", `{
			  "mcpServers": {"all": {"type": "stdio", "command": "x"}},
			  "projects": {
			    "/b": {"mcpServers": {"one": {"command": "y"}, "all": {"command": "x"}}},
			    "/a": {"mcpServers": {"one": {"command": "x"}}, "allowedTools": []},
			    "/c": {"mcpServers": {"one": {"command": "x"}}}, "/d": 5
			  }}`,
			[]clients.Entry{
				{Name: "all", ID: "all", Server: stdio("x")},
				{Name: "one", ID: "one", Project: "/a", Server: stdio("x")},
				{Name: "one", ID: "one-2", Project: "/b", Server: stdio("y")},
			},
		},
		{
			"VS Code, with inputs", "mcp.json", `{
			  "inputs": [{"id": "gh-token", "type": "promptString", "description": "GitHub token", "password": true}],
			  "servers": {
			    "gh": {"type": "http", "url": "https://gh.example/mcp", "headers": {"Authorization": "Bearer ${input:gh-token}", "X-K": "${input:other}"}},
			    "run": {"type": "stdio", "command": "x", "env": {"T": "${input:gh-token}"}, "envFile": "${workspaceFolder}/.env", "dev": {}}
			  }}`,
			[]clients.Entry{
				{
					Name: "gh", ID: "gh", Server: clients.Server{Transport: "http", URL: "https://gh.example/mcp", Bearer: "env:GH_TOKEN", Headers: map[string]string{"X-K": "env:OTHER"}},
					Inputs: []clients.Input{{"gh-token", "GitHub token", "env:GH_TOKEN"}, {"other", "", "env:OTHER"}},
				},
				{
					Name: "run", ID: "run", Server: clients.Server{Transport: "stdio", Command: []string{"x"}, Env: map[string]string{"T": "env:GH_TOKEN"}},
					Ignored: []string{"dev", "envFile"}, Inputs: []clients.Input{{"gh-token", "GitHub token", "env:GH_TOKEN"}},
				},
			},
		},
		{
			"Gemini", "settings.json", `{"mcpServers": {
			  "g": {"httpUrl": "https://g.example/mcp", "headers": {"X-K": "$MY_KEY"}, "timeout": 5000, "trust": true, "excludeTools": ["rm"]},
			  "ws": {"type": "ws", "url": "https://g.example"}}}`,
			[]clients.Entry{
				{
					Name: "g", ID: "g", Ignored: []string{"timeout", "trust"},
					Server: clients.Server{Transport: "http", URL: "https://g.example/mcp", Headers: map[string]string{"X-K": "env:MY_KEY"}, Hidden: []string{"rm"}},
				},
				{Name: "ws", ID: "ws", Skip: "its type ws is not supported"},
			},
		},
		{
			"Codex", "config.toml", `model = "x"
# a comment
[mcp_servers.docs]
url = "https://docs.example/mcp"
bearer_token_env_var = "DOCS"
http_headers = { X-Team = "blue" }
env_http_headers = { X-Key = "DOCS_KEY" }
tool_timeout_sec = 1.5
startup_timeout_sec = 10
[mcp_servers."My Files"]
command = "npx"
args = ["-y", "files"]
env = { A = "1", N = 5 }
env_vars = ["HOME"]
disabled_tools = ["rm"]
[mcp_servers.off]
command = "x"
enabled = false
[mcp_servers.odd]
command = 5
[mcp_servers]
flat = "x"
`,
			[]clients.Entry{
				{Name: "My Files", ID: "my-files", Server: clients.Server{
					Transport: "stdio", Command: []string{"npx", "-y", "files"}, Env: map[string]string{"A": "1", "N": "5", "HOME": "env:HOME"}, Hidden: []string{"rm"},
				}},
				{
					Name: "docs", ID: "docs", Ignored: []string{"startup_timeout_sec"},
					Server: clients.Server{Transport: "http", URL: "https://docs.example/mcp", Bearer: "env:DOCS", Headers: map[string]string{"X-Team": "blue", "X-Key": "env:DOCS_KEY"}, TimeoutMS: 1500},
				},
				{Name: "flat", ID: "flat", Skip: "it is not a map"},
				{Name: "odd", ID: "odd", Skip: "its command is not of the usual type"},
				{Name: "off", ID: "off", Server: stdio("x"), Skip: "it is disabled in the client"},
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := clients.Read(tt.file, []byte(tt.text), clients.Variables{})
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(clients.Entry{}, "Place", "Repeated")); diff != "" || err != nil {
				t.Errorf("%v\n-want +got:\n%s", err, diff)
			}
		})
	}
	for name, text := range map[string]string{"a.toml": "x = ", "b.toml": "mcp_servers = 1", "c.toml": "model = \"canary", "d.json": "\xff\xfe{"} {
		if _, err := clients.Read(name, []byte(text), clients.Variables{}); junctor.CodeOf(err) != junctor.CodeInvalid || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := clients.Read("e.toml", []byte("model = 'x'"), clients.Variables{}); junctor.CodeOf(err) != junctor.CodeNotFound {
		t.Errorf("no servers: %v", err)
	}
}

// Codex's file gets the table and nothing else changes, or it is refused and stays.
func FuzzCodex(f *testing.F) {
	for _, seed := range []string{"", "a = 1", "[mcp_servers.a]\ncommand = 'x' # why\n", "mcp_servers = {}", "[mcp_servers]\n", "[[mcp_servers]]\n", "x = \"\"\"\n# Junctor: begin\n\"\"\"", "# Junctor: end\n"} {
		f.Add(seed)
	}
	c, err := clients.Find("codex")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "config.toml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Connect(path, target()); err != nil {
			if read(t, path) != text {
				t.Errorf("refused, and changed: %v", err)
			}
			return
		}
		after := read(t, path)
		if !strings.HasPrefix(after, strings.TrimSuffix(text, "\n")) && !strings.Contains(text, "# Junctor: ") {
			t.Errorf("was %q, is %q", text, after)
		}
		if entries, err := clients.Read(path, []byte(after), clients.Variables{}); err != nil || len(entries) == 0 {
			t.Errorf("what was written cannot be read: %v\n%s", err, after)
		}
		if found, err := c.Undo(path); !found || err != nil {
			t.Errorf("undo: %v, %v", found, err)
		}
	})
}

// Whatever is in a file, what is read of it has an id of its own and can be
// described to an instance, or says why not.
func FuzzRead(f *testing.F) {
	for _, seed := range []struct{ name, text string }{
		{"a.json", `{"mcpServers":{"a":{"command":"x","env":{"A":"${B}"}}}}`},
		{"a.json", `{"servers":{"a":{"url":"https://x","headers":{"Authorization":"Bearer ${input:x}"}}}}`},
		{"a.json", `{"projects":{"/x":{"mcpServers":{"a":{}}}}}`},
		{"a.json", "\xef\xbb\xbf{}"},
		{"a.json", `{"mcpServers":{"":{"command":1e999}}}`},
		{"a.toml", "[mcp_servers.a]\ncommand = 'x'\n"},
		{"a.toml", "mcp_servers = {a = {url = 'http://x', tool_timeout_sec = inf}}"},
		{"a.toml", "[[mcp_servers.a]]\n"},
		{"a.toml", "[mcp_servers.a]\ncommand = 2020-01-01\nargs = [1.5, true]"},
	} {
		f.Add(seed.name, seed.text)
	}
	f.Fuzz(func(t *testing.T, name, text string) {
		entries, err := clients.Read(name, []byte(text), clients.Variables{})
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, e := range entries {
			if junctor.CheckServerID(e.ID) != nil || seen[e.ID] {
				t.Errorf("%q is called %q", e.Name, e.ID)
			}
			seen[e.ID] = true
			if e.Skip == "" && (e.Server.URL == "") == (len(e.Server.Command) == 0) || e.Server.TimeoutMS < 0 {
				t.Errorf("%+v", e)
			}
		}
	})
}
