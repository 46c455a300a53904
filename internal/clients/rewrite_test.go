package clients_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/junctor-mcp/junctor/internal/clients"
)

// sampleFiles has, for each client, a file as its users have them: comments, other
// settings, two servers named fs and web, and a setting after them.
func sampleFiles() map[string]string {
	jsonWith := func(container string) string {
		return "{\n  // mine\n  \"theme\": \"dark\",\n  \"" + container + "\": {\n    \"fs\": {\n      \"command\": \"npx\",\n      \"args\": [\"-y\", \"server-fs\"], // two\n" +
			"      \"env\": {\"TOKEN\": \"s3cret-value\"}\n    },\n    \"web\": {\"url\": \"https://web.example/mcp\", \"headers\": {\"Authorization\": \"Bearer abc\"}}\n  },\n  \"last\": [1, 2]\n}\n"
	}
	files := map[string]string{
		"vscode": jsonWith("servers"), "zed": jsonWith("context_servers"), "amp": jsonWith("amp.mcpServers"),
		"opencode": "{\n  \"$schema\": \"x\",\n  \"mcp\": {\n    \"fs\": {\"type\": \"local\", \"command\": [\"npx\", \"-y\", \"server-fs\"], \"environment\": {\"TOKEN\": \"s3cret-value\"}, \"enabled\": true},\n" +
			"    \"web\": {\"type\": \"remote\", \"url\": \"https://web.example/mcp\", \"headers\": {\"Authorization\": \"Bearer abc\"}}\n  }\n}\n",
		"codex": "model = \"o\" # mine\n\n[mcp_servers.fs]\ncommand = \"npx\"\nargs = [\"-y\", \"server-fs\"]\n\n[mcp_servers.fs.env]\nTOKEN = \"s3cret-value\"\n\n" +
			"[mcp_servers.\"web\"]\nurl = \"https://web.example/mcp\"\nhttp_headers = { Authorization = \"Bearer abc\" }\n\n[tui]\ntheme = \"x\"\n",
		"goose": "# mine\nGOOSE_MODEL: x\nextensions:\n  developer:\n    enabled: true\n    type: builtin\n    name: developer\n  fs:\n    type: stdio\n    cmd: npx\n    args: [-y, server-fs]\n" +
			"    envs:\n      TOKEN: s3cret-value\n    enabled: true\n    timeout: 300\n  web:\n    type: streamable_http\n    uri: https://web.example/mcp\n    headers:\n      Authorization: Bearer abc\n    enabled: true\nlast: 1\n",
		"continue": "name: mine\nversion: 1\nmcpServers:\n  - name: fs\n    command: npx # run\n    args:\n      - -y\n      - server-fs\n    env:\n      TOKEN: s3cret-value\n" +
			"  - name: web\n    type: streamable-http\n    url: https://web.example/mcp\n    requestOptions:\n      headers:\n        Authorization: Bearer abc\nmodels: []\n",
	}
	for _, name := range clients.Names() {
		if files[name] == "" {
			files[name] = jsonWith("mcpServers")
		}
	}
	return files
}

func writeSample(t *testing.T, c clients.Client, text string) string {
	t.Helper()
	file, err := c.File("linux", func(string) string { return t.TempDir() })
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestRewriteAndRevert replaces the servers of each client's file by Junctor: all other
// content stays, every server is read as the same, and a revert gives the file back to
// the byte, or, after an edit, everything but the edit.
func TestRewriteAndRevert(t *testing.T) {
	t.Parallel()
	for name, text := range sampleFiles() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := clients.Find(name)
			if err != nil {
				t.Fatal(err)
			}
			file := writeSample(t, c, text)
			entries, err := clients.Read(file, []byte(text), clients.Variables{})
			if err != nil || len(entries) != 2 {
				t.Fatalf("%+v, %v", entries, err)
			}
			var places []clients.Place
			for _, e := range entries {
				places = append(places, e.Place)
			}
			fs, web := entries[0].Server, entries[1].Server
			if diff := cmp.Diff([]string{"npx", "-y", "server-fs"}, fs.Command); diff != "" || fs.Env["TOKEN"] != "s3cret-value" || web.URL != "https://web.example/mcp" || web.Bearer != "abc" {
				t.Fatalf("%s, %+v, %+v", diff, fs, web)
			}
			ch := &clients.Change{Client: name, Path: file, Added: true}
			if ch.Before, ch.Mode, err = clients.ReadFile(file); err != nil {
				t.Fatal(err)
			}
			to := target()
			next, removed, err := c.Rewrite(ch.Before, places, &to)
			if err != nil || len(removed) != 2 {
				t.Fatalf("%d, %v", len(removed), err)
			}
			ch.Expect(next)
			if err := ch.Write(next, true); err != nil {
				t.Fatal(err)
			}
			ch.Removed = removed
			got := read(t, file)
			if strings.Contains(got, "s3cret") || strings.Contains(got, "server-fs") || !strings.Contains(got, "jct_key") || !c.HasJunctor([]byte(got)) {
				t.Errorf("after: %s", got)
			}
			if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("the file with a key has mode %v, %v", info.Mode(), err)
			}
			left, err := clients.Read(file, []byte(got), clients.Variables{})
			if err != nil || len(left) != 1 || left[0].Name != clients.EntryName {
				t.Errorf("left: %+v, %v", left, err)
			}

			whole, err := ch.Revert()
			if err != nil || !whole || read(t, file) != text {
				t.Fatalf("reverted: %v, %v, %s", whole, err, cmp.Diff(text, read(t, file)))
			}
			if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
				t.Errorf("reverted to mode %v, %v", info.Mode(), err)
			}

			// The same again, with an edit in between.
			if err := ch.Write(next, true); err != nil {
				t.Fatal(err)
			}
			edited := strings.NewReplacer("dark", "light", "\"$schema\": \"x\"", "\"$schema\": \"y\"", "theme = \"x\"", "theme = \"y\"", "last: 1", "last: 2", "version: 1", "version: 2").Replace(got)
			if edited == got {
				t.Fatal("nothing was edited")
			}
			if err := os.WriteFile(file, []byte(edited), 0o600); err != nil {
				t.Fatal(err)
			}
			if whole, err := ch.Revert(); err != nil || whole {
				t.Fatalf("%v, %v", whole, err)
			}
			back := read(t, file)
			again, err := clients.Read(file, []byte(back), clients.Variables{})
			if err != nil || len(again) != 2 || strings.Contains(back, "jct_key") {
				t.Fatalf("%v: %s", err, back)
			}
			if diff := cmp.Diff([]clients.Server{fs, web}, []clients.Server{again[0].Server, again[1].Server}); diff != "" {
				t.Error(diff)
			}
			if !strings.Contains(back, "light") && !strings.Contains(back, "\"y\"") && !strings.Contains(back, ": 2") {
				t.Errorf("the edit is lost: %s", back)
			}
		})
	}
}

// TestRevertRemovesWhatWasNotThere takes back a file that did not exist before.
func TestRevertRemovesWhatWasNotThere(t *testing.T) {
	t.Parallel()
	c, err := clients.Find("cursor")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "new", "mcp.json")
	to := target()
	next, _, err := c.Rewrite(nil, nil, &to)
	if err != nil {
		t.Fatal(err)
	}
	ch := &clients.Change{Client: "cursor", Path: file, Mode: 0o600, Added: true}
	ch.Expect(next)
	if err := ch.Write(next, true); err != nil {
		t.Fatal(err)
	}
	if whole, err := ch.Revert(); err != nil || !whole {
		t.Fatal(whole, err)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("the file is still there: %v", err)
	}
}

// TestSharedEntriesHaveNoKey: a file that others read gets no key.
func TestSharedEntriesHaveNoKey(t *testing.T) {
	t.Parallel()
	for _, c := range clients.All() {
		to := target()
		to.Shared = true
		next, _, err := c.Rewrite(nil, nil, &to)
		if c.ProjectFile("/p") == "" {
			continue // it has no file in a project
		}
		if err != nil || strings.Contains(string(next), to.Key) || !strings.Contains(string(next), "stdio") {
			t.Errorf("%s: %v: %s", c.Name, err, next)
		}
	}
}

// TestVariables resolves what people write in configurations.
func TestVariables(t *testing.T) {
	t.Parallel()
	lookup := func(name string) (string, bool) {
		value, ok := map[string]string{"TOKEN": "t0ken", "HOST": "h.example", "EMPTY": "", "HOME": "/home/me"}[name]
		return value, ok
	}
	const text = `{"mcpServers": {
	  "a": {"command": "run", "args": ["--root=${HOME}/x", "${DIR:-/tmp}", "${EMPTY:-e}"], "env": {"T": "${TOKEN}", "M": "pre-${TOKEN}-${env:HOST}", "D": "${NONE:-d}"}},
	  "b": {"url": "https://${HOST}/mcp", "headers": {"Authorization": "Bearer ${TOKEN}", "X": "k ${TOKEN}"}},
	  "c": {"command": "run", "args": ["${NONE}"]},
	  "d": {"url": "https://x.example/", "headers": {"X": "k ${NONE}"}},
	  "e": {"command": "run", "cwd": "${workspaceFolder}/sub", "env": {"T": "${UNSET}"}}
	}}`
	read := func(values bool) map[string]clients.Entry {
		entries, err := clients.Read("mcp.json", []byte(text), clients.Variables{Lookup: lookup, Values: values, Project: "/p"})
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]clients.Entry{}
		for _, e := range entries {
			out[e.Name] = e
		}
		return out
	}
	got := read(false)
	if diff := cmp.Diff([]string{"run", "--root=/home/me/x", "/tmp", "e"}, got["a"].Server.Command); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"T": "env:TOKEN", "M": "pre-t0ken-h.example", "D": "d"}, got["a"].Server.Env); diff != "" {
		t.Error(diff)
	}
	if s := got["b"].Server; s.URL != "https://h.example/mcp" || s.Bearer != "env:TOKEN" || s.Headers["X"] != "k t0ken" {
		t.Errorf("%+v", s)
	}
	for _, name := range []string{"c", "d"} {
		if !strings.Contains(got[name].Skip, "variable NONE, which is not set") {
			t.Errorf("%s: %q", name, got[name].Skip)
		}
	}
	if s := got["e"].Server; s.Cwd != "/p/sub" || s.Env["T"] != "env:UNSET" {
		t.Errorf("%+v", s)
	}
	got = read(true)
	if s := got["a"].Server; s.Env["T"] != "t0ken" || got["b"].Server.Bearer != "t0ken" || got["e"].Server.Env["T"] != "env:UNSET" {
		t.Errorf("with values: %+v, %+v", s, got["e"].Server)
	}
}

// TestBridges: a command that only connects to a URL becomes that URL.
func TestBridges(t *testing.T) {
	t.Parallel()
	none := map[string]string{}
	for _, c := range []struct {
		text string
		want clients.Server
	}{
		{
			`{"command": "npx", "args": ["-y", "mcp-remote@latest", "https://r.example/mcp", "--header", "Authorization: Bearer abc", "--header", "X-Team:blue", "--allow-http", "--ignore-tool", "drop", "3334"]}`,
			clients.Server{Transport: "http", URL: "https://r.example/mcp", Bearer: "abc", Headers: map[string]string{"X-Team": "blue"}, Env: none, Hidden: []string{"drop"}},
		},
		{
			`{"command": "npx", "args": ["mcp-remote", "https://r.example/sse", "--header", "Authorization:${AUTH}", "--transport", "sse-only"], "env": {"AUTH": "Bearer ${TOKEN}"}}`,
			clients.Server{Transport: "sse", URL: "https://r.example/sse", Bearer: "env:TOKEN", Headers: none, Env: none},
		},
		{
			`{"command": "cmd", "args": ["/c", "npx", "-y", "supergateway", "--streamableHttp", "https://s.example/mcp", "--oauth2Bearer", "xyz"]}`,
			clients.Server{Transport: "http", URL: "https://s.example/mcp", Bearer: "xyz", Headers: none, Env: none},
		},
		// An option that is not known may matter, and this supergateway offers a command.
		{
			`{"command": "npx", "args": ["mcp-remote", "https://r.example/mcp", "--static-oauth-client-info", "{}"]}`,
			clients.Server{Transport: "stdio", Command: []string{"npx", "mcp-remote", "https://r.example/mcp", "--static-oauth-client-info", "{}"}, Headers: none, Env: none},
		},
		{
			`{"command": "npx", "args": ["mcp-remote", "https://r.example/mcp", "--ignore-tool", "drop*"]}`,
			clients.Server{Transport: "stdio", Command: []string{"npx", "mcp-remote", "https://r.example/mcp", "--ignore-tool", "drop*"}, Headers: none, Env: none},
		},
		{
			`{"command": "npx", "args": ["supergateway", "--stdio", "x"]}`,
			clients.Server{Transport: "stdio", Command: []string{"npx", "supergateway", "--stdio", "x"}, Headers: none, Env: none},
		},
		{`{"command": "npx"}`, clients.Server{Transport: "stdio", Command: []string{"npx"}, Headers: none, Env: none}},
	} {
		entries, err := clients.Read("mcp.json", []byte(`{"mcpServers": {"a": `+c.text+`}}`), clients.Variables{})
		if err != nil || len(entries) != 1 {
			t.Fatalf("%s: %v", c.text, err)
		}
		if diff := cmp.Diff(c.want, entries[0].Server); diff != "" || entries[0].Skip != "" {
			t.Errorf("%s: %s (%s)", c.text, diff, entries[0].Skip)
		}
	}
}
