package realservers

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/test/program"
)

// TestMemory takes a knowledge graph through its life.
func TestMemory(t *testing.T) {
	t.Parallel()
	node := program.FindNode(t)
	in := start(t)
	add(t, in, "memory", command(node, memory), "--env", "MEMORY_FILE_PATH="+filepath.Join(t.TempDir(), "graph.jsonl"))
	for name, w := range clients() {
		t.Run(name, func(t *testing.T) {
			w.URL = in.URL + "/mcp/s/memory"
			w.Steps = json.RawMessage(`[
				{"do":"call","call":"create_entities","arguments":{"entities":[{"name":"Ada","entityType":"person","observations":["writes"]},{"name":"Engine","entityType":"machine","observations":[]}]}},
				{"do":"call","call":"create_relations","arguments":{"relations":[{"from":"Ada","to":"Engine","relationType":"programs"}]}},
				{"do":"call","call":"add_observations","arguments":{"observations":[{"entityName":"Engine","contents":["analytical"]}]}},
				{"do":"call","call":"search_nodes","arguments":{"query":"analytical"}},
				{"do":"call","call":"read_graph"},
				{"do":"read","uri":"memory://knowledge-graph"},
				{"do":"call","call":"delete_entities","arguments":{"entityNames":["Ada","Engine"]}},
				{"do":"call","call":"read_graph"}
			]`)
			got := w.run(t, node).Steps
			for i, want := range []string{`\"Ada\"`, `programs`, `analytical`, `\"Engine\"`, `{"from":"Ada","to":"Engine","relationType":"programs"}`, `analytical`, `deleted`, `"entities":[]`} {
				if got[i].Error != nil || !strings.Contains(string(got[i].Result), want) {
					t.Errorf("step %d: %s %+v, want %s", i, got[i].Result, got[i].Error, want)
				}
			}
			if s := string(got[3].Result); strings.Contains(s, `"name":"Ada"`) {
				t.Errorf("found too much: %s", s)
			}
			t.Logf("figure: server-memory 2026.8.31 over stdio, %s: a graph made, searched, read as a resource and removed", name)
		})
	}
}

// TestFilesystem holds a server to the folders that it was given, and to the
// roots of those clients that have some.
func TestFilesystem(t *testing.T) {
	t.Parallel()
	node := program.FindNode(t)
	in := start(t)
	dir := t.TempDir()
	given, root, other := folder(t, dir, "given", "from the command line"), folder(t, dir, "root", "from the client"), folder(t, dir, "other", "secret")
	add(t, in, "files", command(node, filesystem, given))
	for name, w := range clients() {
		t.Run(name, func(t *testing.T) {
			w.URL = in.URL + "/mcp/s/files"
			read := func(dir string) string {
				return fmt.Sprintf(`{"do":"call","call":"read_text_file","arguments":{"path":%q}}`, filepath.Join(dir, "note.txt"))
			}
			steps := func(dir string) json.RawMessage {
				return json.RawMessage(`[{"do":"until","call":"list_allowed_directories","holds":"` + dir + `"},` + read(given) + `,` + read(root) + `,` + read(other) + `]`)
			}
			check := func(s seen, dir, text string, reads int) {
				t.Helper()
				if got := s.Steps[0].text(); got != "Allowed directories:\n"+dir {
					t.Errorf("allowed: %s", got)
				}
				for i := 1; i < 4; i++ {
					switch got := s.Steps[i].text(); {
					case i == reads && got != text:
						t.Errorf("step %d reads %q", i, got)
					case i != reads && !strings.Contains(got, "Access denied"):
						t.Errorf("step %d reads %q", i, got)
					}
				}
			}
			w.Steps = steps(given)
			rooted := w
			rooted.Capabilities = json.RawMessage(`{"roots":{}}`)
			rooted.Answers = json.RawMessage(`{"roots/list":{"roots":[{"uri":"file://` + root + `","name":"root"}]}}`)
			rooted.Steps = steps(root)
			all := runWalks(t, node, w, rooted, w)
			check(all[0], given, "from the command line", 1)
			check(all[1], root, "from the client", 2)
			if len(all[1].Asked) == 0 {
				t.Error("nobody asked for the roots")
			}
			check(all[2], given, "from the command line", 1)
			t.Logf("figure: server-filesystem 2026.8.31 over stdio, %s: limited to its folders, and to the roots of clients that have roots", name)
		})
	}
}

// TestMap uses an App: its tool names a page, which is read as it is.
func TestMap(t *testing.T) {
	t.Parallel()
	const page = "ui://cesium-map/mcp-app.html"
	node := program.FindNode(t)
	in := start(t)
	url := serve(t, node, mapServer) + "/mcp"
	in.Add(t, "map", url)
	add(t, in, "map-io", command(node, mapServer, "--stdio"))
	steps := `[
		{"do":"call","call":"show-map","arguments":{"west":7.4,"south":46.9,"east":7.5,"north":47,"label":"Bern"}},
		{"do":"read","uri":"` + page + `"}
	]`
	direct := clientWalk{Client: 1, Mode: "legacy", Transport: "http", URL: url, Steps: json.RawMessage(steps)}
	want := plainNames(t, direct.run(t, node), "", "")
	viewUUID := func(s string) string { return uuid.ReplaceAllString(s, "U") }
	for name, w := range clients() {
		for _, id := range []string{"map", "map-io"} {
			t.Run(name+", "+id, func(t *testing.T) {
				w.URL, w.Steps = in.URL+"/mcp/s/"+id, json.RawMessage(steps)
				joined := w
				joined.URL, joined.Steps = in.URL+"/mcp", json.RawMessage(`[{"do":"tools"},{"do":"read","uri":"ui://`+id+`/cesium-map/mcp-app.html"}]`)
				all := runWalks(t, node, w, joined)
				got := plainNames(t, all[0], "", "")
				for i := range want {
					if viewUUID(got[i]) != viewUUID(want[i]) {
						t.Errorf("step %d: %.600s\nwithout Junctor: %.600s", i, got[i], want[i])
					}
				}
				// Where servers are joined, the page is found where the tool says.
				s := all[1]
				if !strings.Contains(string(s.Steps[0].Result), `"resourceUri":"ui://`+id+`/cesium-map/mcp-app.html"`) {
					t.Errorf("the tool names no page at /mcp: %s", s.Steps[0].Result)
				}
				if got := string(s.Steps[1].Result); !strings.Contains(got, "<html") || !strings.Contains(got, `"uri":"ui://`+id+`/`) {
					t.Errorf("the page at /mcp: %.300s %+v", got, s.Steps[1].Error)
				}
				t.Logf("figure: server-map 2.0.3 as %s, %s: its tool, _meta and page are the same as without Junctor", id, name)
			})
		}
	}
	t.Run("wire", func(t *testing.T) { wireFacts(t, in) })
}

// wireFacts are what scripts that speak to this server by hand rely on: both
// media types are wanted, the answer comes as a stream to who asks for one first,
// refusals are plain JSON, and no handshake is needed.
func wireFacts(t *testing.T, in *program.Instance) {
	t.Helper()
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"show-map","arguments":{"label":"x"}}}`
	const stream, both = "Accept: text/event-stream, application/json", "Accept: application/json, text/event-stream"
	for _, tt := range []struct {
		accept, body string
		status       int
		kind, holds  string
	}{
		{"Accept: application/json", call, http.StatusNotAcceptable, "application/json", `"error":{`},
		{"Accept: text/event-stream", call, http.StatusNotAcceptable, "application/json", `"error":{`},
		{stream, call, http.StatusOK, "text/event-stream", `data: {"jsonrpc":"2.0","id":1,"result":{"_meta":{"viewUUID":"`},
		{both, call, http.StatusOK, "application/json", `{"jsonrpc":"2.0","id":1,"result":{"_meta":{"viewUUID":"`},
		{both, `{"jsonrpc":`, http.StatusBadRequest, "application/json", `"code":-32700`},
		{both, strings.Replace(call, "show-map", "show-mop", 1), http.StatusOK, "application/json", `"code":-32602`},
	} {
		a, err := in.Request(t.Context(), http.MethodPost, "/mcp/s/map", tt.body, tt.accept)
		if err != nil {
			t.Fatal(err)
		}
		if a.Status != tt.status || a.Header.Get("Content-Type") != tt.kind || !strings.Contains(a.Body, tt.holds) {
			t.Errorf("%s, %.60s: %d %s\n%s", tt.accept, tt.body, a.Status, a.Header.Get("Content-Type"), a.Body)
		}
	}
}
