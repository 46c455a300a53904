package clients_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/clients"
)

func TestRead(t *testing.T) {
	t.Parallel()
	const file = `{
	  // Cursor and VS Code allow comments
	  "other": {"kept": true},
	  "mcpServers": {
	    "My Files!": {"command": "npx", "args": ["-y", "server-filesystem", "/tmp"], "env": {"A": "1", "KEY": "${env:FILES_KEY}", "N": 5},},
	    "notes": {"url": "https://notes.example/mcp", "headers": {"Authorization": "Bearer ${NOTES}", "X-Team": "blue"}},
	    "old": {"type": "sse", "url": "https://old.example/sse"},
	    "gem": {"httpUrl": "https://gem.example/mcp"},
	    "wind": {"serverUrl": "https://wind.example/mcp"},
	    "off": {"command": "x", "disabled": true},
	    "asks": {"command": "x", "args": ["${input:key}"]},
	    "mixed": {"command": "x", "env": {"A": "pre-${B}"}},
	    "empty": {},
	    "odd": {"command": 5},
	    "42": {"command": "x"}, /* the end */
	    "MY-FILES": {"url": "ftp://x"}
	  },
	}`
	entries, err := clients.Read("mcp.json", []byte(file), clients.Variables{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]clients.Entry{}
	for _, e := range entries {
		if junctor.CheckServerID(e.ID) != nil || got[e.ID].Name != "" {
			t.Errorf("%q is called %q", e.Name, e.ID)
		}
		got[e.ID] = e
	}
	none := map[string]string{}
	for id, want := range map[string]clients.Server{
		"my-files-2": {Transport: "stdio", Command: []string{"npx", "-y", "server-filesystem", "/tmp"}, Env: map[string]string{"A": "1", "KEY": "env:FILES_KEY", "N": "5"}, Headers: none},
		"notes":      {Transport: "http", URL: "https://notes.example/mcp", Env: none, Headers: map[string]string{"X-Team": "blue"}, Bearer: "env:NOTES"},
		"old":        {Transport: "sse", URL: "https://old.example/sse", Env: none, Headers: none},
		"gem":        {Transport: "http", URL: "https://gem.example/mcp", Env: none, Headers: none},
		"wind":       {Transport: "http", URL: "https://wind.example/mcp", Env: none, Headers: none},
		"s-42":       {Transport: "stdio", Command: []string{"x"}, Env: none, Headers: none},
	} {
		if diff := cmp.Diff(want, got[id].Server); diff != "" || got[id].Skip != "" {
			t.Errorf("%s (%s): %s", id, got[id].Skip, diff)
		}
	}
	for _, id := range []string{"off", "asks", "mixed", "empty", "odd", "my-files"} {
		if got[id].Skip == "" {
			t.Errorf("%s should not be brought in", id)
		}
	}
	code, err := clients.Read("mcp.json", []byte(`{"inputs":[],"servers":{"a":{"type":"http","url":"https://a.example/"}}}`), clients.Variables{})
	if err != nil || len(code) != 1 || code[0].Server.URL != "https://a.example/" {
		t.Errorf("VS Code: %+v, %v", code, err)
	}
	for _, bad := range []string{``, `[]`, `{"mcpServers":[]}`, `{}`, `{"mcpServers":{}}`} {
		if _, err := clients.Read("mcp.json", []byte(bad), clients.Variables{}); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

func target() clients.Target {
	return clients.Target{URL: "http://127.0.0.1:8717/mcp", Key: "jct_key", Command: []string{"/usr/bin/junctor", "stdio", "--data-dir", "/a b"}}
}

// Whatever is in the file, connecting adds the entry and nothing else changes,
// and undoing gives the file back to the byte.
func TestConnectAndUndo(t *testing.T) {
	t.Parallel()
	for _, c := range clients.All() {
		before := []string{
			"{}", "", " \n", `{"a":1}`, "{\n  \"mcpServers\": {},\n  \"servers\": {}\n}\n",
			"{\n  \"mcpServers\": {\n    \"x\": {\"command\": \"y\"}\n  }, \"servers\": {\"x\": {}}\n}",
			"\xef\xbb\xbf{\"a\": 1}",
			"{ // why\n \"servers\": {\"a\": {\"b\": [1, {\"c\": \"}\"}],},}, \"mcpServers\" : {\"a\": {}, /* , } */ }\n}",
		}
		if c.Name == "goose" || c.Name == "continue" {
			before = []string{
				"", "a: 1", "# mine\nextensions:\n    fs: # theirs\n        type: stdio\n        cmd: x\nmore: [1]\n",
				"mcpServers:\n- name: fs\n  command: x\n\nname: all # kept\n", "mcpServers:\n  - name: fs\n    command: x",
			}
		}
		if c.Name == "codex" {
			before = []string{
				"", "model = \"x\"", "[mcp_servers.a]\ncommand = \"b\"\n", "# mine\r\nmodel   =  'x' # kept\r\n\r\n[mcp_servers]\r\na = {command = \"b\"}\r\n",
				"mcp_servers.a.command = \"b\" # dotted\n",
			}
		}
		for _, text := range before {
			path := filepath.Join(t.TempDir(), "sub", "config")
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			for range 2 { // connecting twice is connecting
				if _, err := c.Connect(path, target()); err != nil {
					t.Fatalf("%s, %q: %v", c.Name, text, err)
				}
			}
			after := read(t, path)
			if strings.Count(after, "jct_key") != 1 {
				t.Errorf("%s, %q: %s", c.Name, text, after)
			}
			if found, err := c.Undo(path); !found || err != nil {
				t.Fatalf("%s, %q: undo: %v, %v", c.Name, text, found, err)
			}
			if got := read(t, path); got != text {
				t.Errorf("%s: was %q, is %q", c.Name, text, got)
			}
			if found, err := c.Undo(path); found || err != nil {
				t.Errorf("%s: a second undo: %v, %v", c.Name, found, err)
			}
		}
	}
}

// What was changed after connecting stays.
func TestUndoKeepsLaterChanges(t *testing.T) {
	t.Parallel()
	c, err := clients.Find("cursor")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "mcp.json")
	if _, err := c.Connect(path, target()); err != nil { // there was no file
		t.Fatal(err)
	}
	text := strings.Replace(read(t, path), `"mcpServers": {`, `"mcpServers": {"mine": {"command": "x"},`, 1)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if found, err := c.Undo(path); !found || err != nil {
		t.Fatal(found, err)
	}
	var got struct {
		MCPServers map[string]any `json:"mcpServers"`
	}
	if err := json.Unmarshal([]byte(read(t, path)), &got); err != nil || len(got.MCPServers) != 1 || got.MCPServers["mine"] == nil {
		t.Errorf("%v, %s", err, read(t, path))
	}
}

func TestFilesThatAreNotJSONStay(t *testing.T) {
	t.Parallel()
	c, err := clients.Find("vscode")
	if err != nil {
		t.Fatal(err)
	}
	codex, err := clients.Find("codex")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"model = ", "[mcp_servers.junctor]\ncommand = \"x\"\n", "mcp_servers = {a = {command = \"b\"}}\n", "mcp_servers = 1\n"} {
		path := filepath.Join(t.TempDir(), "config.toml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := codex.Connect(path, target()); junctor.CodeOf(err) != junctor.CodeInvalid || read(t, path) != text {
			t.Errorf("%q: %v, now %q", text, err, read(t, path))
		}
	}
	for _, text := range []string{"{", "[]", `"x"`, `{"servers":[]}`, "{} {}"} {
		path := filepath.Join(t.TempDir(), "mcp.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Connect(path, target()); junctor.CodeOf(err) != junctor.CodeInvalid || read(t, path) != text {
			t.Errorf("%q: %v, now %q", text, err, read(t, path))
		}
	}
	if _, err := clients.Find("emacs"); err == nil || !strings.Contains(err.Error(), "claude-code") {
		t.Errorf("unknown client: %v", err)
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	env := func(name string) string {
		return map[string]string{"HOME": "/h", "USERPROFILE": "/u", "APPDATA": "/d"}[name]
	}
	var got []string
	for _, c := range clients.All() {
		for _, system := range []string{"linux", "darwin", "windows"} {
			path, err := c.File(system, env)
			if err != nil {
				t.Error(err)
			}
			got = append(got, path)
		}
	}
	for _, want := range []string{"/h/.claude.json", "/h/Library/Application Support/Claude/claude_desktop_config.json", "/d/Code/User/mcp.json", "/u/.cursor/mcp.json"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is not among %v", want, got)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func FuzzFiles(f *testing.F) {
	for _, seed := range []string{"{}", `{"mcpServers":{"a":{"command":"x"}}}`, "{//\n}", `{"a":[1,],}`, `{"mcpServers":{"junctor":{}}}`, `{"\u006dcpServers":{}}`} {
		f.Add(seed)
	}
	c, err := clients.Find("claude-desktop")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Connect(path, target()); err != nil {
			if read(t, path) != text {
				t.Errorf("refused, and changed")
			}
			return
		}
		if _, err := clients.Read("f.json", []byte(read(t, path)), clients.Variables{}); err != nil {
			t.Errorf("what was written cannot be read: %v\n%s", err, read(t, path))
		}
		if found, err := c.Undo(path); !found || err != nil {
			t.Errorf("undo: %v, %v\n%s", found, err, read(t, path))
		}
	})
}
