// Package generated holds what is promised of servers that are made of an API's
// documentation, with a real API and a real MCP client: the admin API of one
// Junctor is a server of another.
package generated

import (
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/junctor-mcp/junctor/internal/testkit"
)

func TestMain(m *testing.M) { os.Exit(m.Run()) }

// keyed adds the admin key to what the client of the SDK sends.
type keyed struct{}

func (keyed) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+testkit.AdminKey)
	return http.DefaultTransport.RoundTrip(r)
}

func connect(t *testing.T, endpoint string) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "generated", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: endpoint, HTTPClient: &http.Client{Transport: keyed{}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

func call(t *testing.T, s *mcp.ClientSession, tool string, arguments map[string]any) *mcp.CallToolResult {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return r
}

func fields(t *testing.T, r *mcp.CallToolResult) map[string]any {
	t.Helper()
	m, ok := r.StructuredContent.(map[string]any)
	if !ok {
		t.Fatalf("no structured content: %+v", r.Content)
	}
	return m
}

func texts(r *mcp.CallToolResult) string {
	var all []string
	for _, c := range r.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			all = append(all, text.Text)
		}
	}
	return strings.Join(all, "\n")
}

// startImport starts an API and an instance that has made a server of it.
func startImport(t *testing.T, exposure string) (api, instance *testkit.Instance) {
	t.Helper()
	api = testkit.Start(t, nil)
	instance = testkit.Start(t, testkit.Settings{"egress-allow": "127.0.0.0/8"})
	body, err := json.Marshal(map[string]any{
		"id": "other", "mode": "auto-generated", "document_url": api.URL + "/api/v1/openapi.json", "base_url": api.URL + "/api/v1",
		"exposure": exposure, "auth": map[string]string{"type": "bearer", "token": testkit.AdminKey},
	})
	if err != nil {
		t.Fatal(err)
	}
	if r := instance.Do(t, http.MethodPost, "/api/v1/servers", string(body)); r.Status != http.StatusCreated {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	return api, instance
}

// A second Junctor's admin API is imported by its address and driven by an MCP
// client: a list, a thing made and deleted, an error with its body, pages.
func TestJunctorDrivesJunctor(t *testing.T) {
	t.Parallel()
	api, instance := startImport(t, "all")
	s := connect(t, instance.URL+"/mcp/s/other")

	tools, err := s.ListTools(t.Context(), nil)
	if err != nil || !slices.ContainsFunc(tools.Tools, func(tool *mcp.Tool) bool { return tool.Name == "list_servers" && tool.Annotations.ReadOnlyHint }) {
		t.Fatalf("%v", err)
	}
	if got := texts(call(t, s, "list_servers", nil)); !strings.Contains(got, `"demo"`) {
		t.Errorf("list: %s", got)
	}
	for _, name := range []string{"first", "second", "third"} {
		made := fields(t, call(t, s, "create_agent", map[string]any{"name": name, "role": "QA"}))
		if agent, ok := made["agent"].(map[string]any); made["name"] != name && (!ok || agent["name"] != name) {
			t.Errorf("create: %v", made)
		}
	}
	if r := api.Do(t, http.MethodGet, "/api/v1/agents/second", ""); r.Status != http.StatusOK {
		t.Errorf("the API does not have what was made: %d", r.Status)
	}
	if r := call(t, s, "delete_agent", map[string]any{"name": "second"}); r.IsError || !strings.Contains(texts(r), "204") {
		t.Errorf("delete: %s", texts(r))
	}
	if r := api.Do(t, http.MethodGet, "/api/v1/agents/second", ""); r.Status != http.StatusNotFound {
		t.Errorf("the API still has what was deleted: %d", r.Status)
	}
	gone := call(t, s, "get_agent", map[string]any{"name": "second"})
	if said := texts(gone); !gone.IsError || !strings.Contains(said, "HTTP 404") || !strings.Contains(said, `"code":"not_found"`) || fields(t, gone)["status"] != 404.0 {
		t.Errorf("an error: %s", said)
	}
	if bad := call(t, s, "get_agent", map[string]any{"name": ".."}); !bad.IsError || !strings.Contains(texts(bad), "path") {
		t.Errorf("a value that would leave its place: %s", texts(bad))
	}
	if one := texts(call(t, s, "list_servers", map[string]any{"_fields": []string{"/items/*/id"}})); one != `{"items":[{"id":"demo"},{"id":"ocr"}]}` {
		t.Errorf("fields: %s", one)
	}
	for range 3 {
		if r := api.Do(t, http.MethodPost, "/api/v1/tools/demo__echo/call", `{"arguments":{"text":"x"}}`); r.Status != http.StatusOK {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
	}
	seen := map[string]bool{}
	arguments := map[string]any{"limit": 1}
	for range 3 {
		r := call(t, s, "list_calls", arguments)
		page := fields(t, r)
		items, _ := page["items"].([]any)
		if len(items) != 1 {
			t.Fatalf("a page: %s", texts(r))
		}
		seen[items[0].(map[string]any)["id"].(string)] = true
		if next, more := page["next"].(string); more {
			if !strings.Contains(texts(r), `call again with {"cursor":"`+next) {
				t.Errorf("nothing is said of the next page: %s", texts(r))
			}
			arguments["cursor"] = next
		}
	}
	if len(seen) != 3 {
		t.Errorf("pages: %v", seen)
	}
	// It is a server like any other: its calls are on record, and nothing of its
	// credential is shown.
	if r := instance.Do(t, http.MethodGet, "/api/v1/calls?server=other", ""); !strings.Contains(r.Body, `"name":"delete_agent"`) {
		t.Errorf("records: %s", r.Body)
	}
	if r := instance.Do(t, http.MethodGet, "/api/v1/servers/other", ""); strings.Contains(r.Body, testkit.AdminKey) {
		t.Errorf("the credential is shown: %s", r.Body)
	}
}

// Where tools are to be searched, three stand in the list; what they find is
// called as the tool itself, on the endpoint that joins servers too.
func TestSearchedTools(t *testing.T) {
	t.Parallel()
	_, instance := startImport(t, "search")
	s := connect(t, instance.URL+"/mcp")
	tools, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range tools.Tools {
		names = append(names, tool.Name)
	}
	if !slices.Contains(names, "find_tools") || slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, "other__") }) {
		t.Fatalf("%q", names)
	}
	if got := texts(call(t, s, "find_tools", map[string]any{"query": "create an agent"})); !strings.Contains(got, `"other__create_agent"`) {
		t.Errorf("find: %s", got)
	}
	if got := texts(call(t, s, "describe_tool", map[string]any{"name": "other__create_agent"})); !strings.Contains(got, `"inputSchema"`) {
		t.Errorf("describe: %s", got)
	}
	if r := call(t, s, "call_tool", map[string]any{"name": "other__create_agent", "arguments": map[string]any{"name": "found"}}); r.IsError {
		t.Errorf("call: %s", texts(r))
	}
	if r := call(t, s, "call_tool", map[string]any{"name": "other__get_agent", "arguments": map[string]any{}}); !r.IsError || !strings.Contains(texts(r), "name") {
		t.Errorf("the schema of the tool itself is not asked: %s", texts(r))
	}
	if r := instance.Do(t, http.MethodGet, "/api/v1/calls?server=other", ""); !strings.Contains(r.Body, `"name":"create_agent"`) {
		t.Errorf("it is not on record as itself: %s", r.Body)
	}
}
