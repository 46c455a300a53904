package generated

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/test/program"
)

const treeDocument = `openapi: 3.1.0
info: {title: Trees, version: '1'}
paths:
  /trees:
    post:
      operationId: plant
      requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Tree'}}}}
      responses: {'200': {description: ok}}
components:
  schemas:
    Tree:
      type: object
      required: [name]
      properties: {name: {type: string}, height: {type: integer, exclusiveMinimum: 0}, parent: {$ref: '#/components/schemas/Tree'}}
`

// Clients are shown schemas that they take: those that the endpoint's address names,
// or that the client is known for by its name, in either era and after a restart.
func TestClientsAreShownWhatTheyTake(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	instance := testkit.Start(t, testkit.Settings{"egress-allow": "127.0.0.0/8", "data-dir": dir, "builtin": ""})
	var last atomic.Value
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		last.Store(string(body))
		w.WriteHeader(http.StatusNoContent)
	}))
	defer api.Close()
	addServer(t, instance, fmt.Sprintf(`{"id":"trees","mode":"auto-generated","document":%q,"base_url":%q}`, treeDocument, api.URL))
	list := func(i *testkit.Instance, path string, header ...string) string {
		t.Helper()
		r := i.Do(t, http.MethodPost, path, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, header...)
		_, tool, ok := strings.Cut(r.Body, `plant`)
		if r.Status != http.StatusOK || !ok {
			t.Fatalf("%s: %d %s", path, r.Status, r.Body)
		}
		return tool
	}
	for path, want := range map[string]struct{ has, hasNot string }{
		"/mcp/s/trees":                 {`"$defs"`, `"$schema"`},
		"/mcp?profile=claude":          {`"$defs"`, `"$schema"`},
		"/mcp?profile=gemini":          {`"minimum":0`, `"$defs"`},
		"/mcp/s/trees?profile=no-defs": {`"exclusiveMinimum":0`, `"$defs"`},
		"/mcp?profile=openai":          {`"type":["integer","null"]`, `"default"`},
		"/mcp?profile=strict-2020-12":  {`"$schema"`, `"nullable"`},
	} {
		if tool := list(instance, path); !strings.Contains(tool, want.has) || strings.Contains(tool, want.hasNot) {
			t.Errorf("%s has no %s, or has %s: %s", path, want.has, want.hasNot, tool)
		}
	}
	if r := instance.Do(t, http.MethodPost, "/mcp?profile=other", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); r.Status != http.StatusBadRequest || !strings.Contains(r.Body, "strict-2020-12") {
		t.Errorf("an unknown profile: %d %s", r.Status, r.Body)
	}
	// By its name, in the era of the SDK.
	client := mcp.NewClient(&mcp.Implementation{Name: "gemini-cli-mcp-client", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: instance.URL + "/mcp/s/trees", HTTPClient: &http.Client{Transport: keyed{}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	tools, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := json.Marshal(tools.Tools[0].InputSchema); strings.Contains(string(text), "$") || !strings.Contains(string(text), "parent") {
		t.Errorf("by its name: %s", text)
	}
	_ = session.Close()
	// Where all has to be given, null is what is left out; what is checked is the
	// document's own schema.
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"plant","arguments":{"name":"oak","height":null,"parent":{"name":"elm","height":3,"parent":null}}}}`
	if r := instance.Do(t, http.MethodPost, "/mcp/s/trees?profile=openai", call); last.Load() != `{"name":"oak","parent":{"height":3,"name":"elm"}}` {
		t.Errorf("the API was sent %v: %s", last.Load(), r.Body)
	}
	last.Store("")
	if r := instance.Do(t, http.MethodPost, "/mcp/s/trees", call); last.Load() != "" || !strings.Contains(r.Body, "/height") {
		t.Errorf("null where it is none of the schema's: %v %s", last.Load(), r.Body)
	}
	// A session goes on after a restart, and its client is who it was.
	hello := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"Visual Studio Code","version":"1"}}}`
	r := instance.Do(t, http.MethodPost, "/mcp", hello)
	header := "Mcp-Session-Id: " + r.Header.Get("Mcp-Session-Id")
	if tool := list(instance, "/mcp", header); strings.Contains(tool, "$") {
		t.Errorf("in a session: %s", tool)
	}
	instance.Stop()
	again := testkit.Start(t, testkit.Settings{"data-dir": dir})
	if tool := list(again, "/mcp", header); strings.Contains(tool, "$") {
		t.Errorf("after a restart: %s", tool)
	}
}

// A client that is known to search tools by itself is listed all of them, by the name
// that it sends, in a session, after a restart, and without a session. Others are listed
// three tools. An agent's own exposure holds for every client.
func TestListsByClient(t *testing.T) {
	t.Parallel()
	many := mcp.NewServer(&mcp.Implementation{Name: "many", Version: "1"}, nil)
	for i := range 150 {
		many.AddTool(&mcp.Tool{Name: fmt.Sprintf("count_%d", i), Description: fmt.Sprintf("Counts to %d", i), InputSchema: json.RawMessage(`{"type":"object"}`)}, nil)
	}
	upstream := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return many }, &mcp.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(upstream.Close) // after the instances, which hold streams to it
	dir := t.TempDir()
	instance := testkit.Start(t, testkit.Settings{"egress-allow": "127.0.0.0/8", "data-dir": dir, "builtin": ""})
	addServer(t, instance, fmt.Sprintf(`{"id":"many","url":%q}`, upstream.URL))
	for name, exposure := range map[string]string{"follows": "", "searching": "search", "listing": "all"} {
		if r := instance.Do(t, http.MethodPost, "/api/v1/agents", fmt.Sprintf(`{"name":%q,"tools":["many/*"],"exposure":%q}`, name, exposure)); r.Status != http.StatusCreated {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
	}
	const three = "call_tool describe_tool find_tools"
	// check reads a list and compares it with what this client is to be listed.
	check := func(what, body string, searches bool) {
		t.Helper()
		names := listedNames(t, body)
		if text := strings.Join(names, " "); searches && text != three {
			t.Errorf("%s is listed %d tools: %.200s", what, len(names), text)
		}
		if !searches && (len(names) != 150 || slices.Contains(names, "find_tools") || !slices.Contains(names, "many__count_149")) {
			t.Errorf("%s is listed %d tools: %.200s", what, len(names), strings.Join(names, " "))
		}
	}
	const list = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	headers := map[string]string{}
	clients := []struct {
		info     string
		searches bool // Junctor searches for it
	}{
		{`{"name":"claude-code","version":"2.1.296"}`, false},
		{`{"name":"claude-ai","version":"0.1.0"}`, false},
		{`{"name":"claude-ai (via mcp-remote 0.1.37)","version":"0.1.0"}`, false},
		{`{"name":"Anthropic/ClaudeAI","version":"1.0.0"}`, false},
		{`{"name":"Anthropic\/ClaudeAI","version":"1.0.0"}`, false},
		{`{"name":"codex-mcp-client","title":"Codex","version":"0.154.0"}`, false},
		{`{"name":"Visual Studio Code","version":"1.140.0"}`, false},
		{`{"name":"Visual Studio Code - Insiders","version":"1.141.0-insider"}`, false},
		{`{"name":"cursor-vscode","version":"1.0.0"}`, false},
		{`{"name":"openai-mcp","version":"1.0.0"}`, true},
		{`{"name":"openai-mcp (ChatGPT)","version":"1.0.0"}`, true},
		{`{"name":"gemini-cli-mcp-client","version":"1.0.0"}`, true},
		{`{"name":"Zed","version":"0.1"}`, true},
		{`{"name":"not-claude-code","version":"1"}`, true},
		{`{"name":"claude-code-proxy","version":"1"}`, true},
		{`{"version":"1"}`, true},
	}
	for _, c := range clients {
		hello := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":` + c.info + `}}`
		r := instance.Do(t, http.MethodPost, "/mcp", hello)
		if r.Status != http.StatusOK {
			t.Fatalf("%s: %d %s", c.info, r.Status, r.Body)
		}
		headers[c.info] = "Mcp-Session-Id: " + r.Header.Get("Mcp-Session-Id")
		check(c.info, instance.Do(t, http.MethodPost, "/mcp", list, headers[c.info]).Body, c.searches)
		modern := `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":` + c.info + `}}}`
		for path, searches := range map[string]bool{"/mcp": c.searches, "/mcp/a/follows": c.searches, "/mcp/a/searching": true, "/mcp/a/listing": false} {
			check(path+" "+c.info, instance.Do(t, http.MethodPost, path, modern, "MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/list").Body, searches)
		}
	}
	instance.Stop()
	again := testkit.Start(t, testkit.Settings{"egress-allow": "127.0.0.0/8", "data-dir": dir, "builtin": ""})
	for _, c := range clients {
		check("after a restart, "+c.info, again.Do(t, http.MethodPost, "/mcp", list, headers[c.info]).Body, c.searches)
	}
}

// listedNames returns the sorted names in the answer to tools/list.
func listedNames(t *testing.T, body string) []string {
	t.Helper()
	var answer struct {
		Result struct{ Tools []struct{ Name string } }
	}
	if i := strings.Index(body, "{"); i > 0 {
		body = body[i:] // an event
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		t.Fatalf("%v: %.300s", err, body)
	}
	names := make([]string, len(answer.Result.Tools))
	for i, tool := range answer.Result.Tools {
		names[i] = tool.Name
	}
	slices.Sort(names)
	return names
}

// Above 128 tools the endpoints that join servers list three that find the others,
// whatever the servers are; an agent's endpoint does so where the agent has as many;
// the server's own endpoint lists all.
func TestJoinedEndpointsSearch(t *testing.T) {
	t.Parallel()
	many := mcp.NewServer(&mcp.Implementation{Name: "many", Version: "1"}, nil)
	for i := range 150 {
		many.AddTool(&mcp.Tool{Name: fmt.Sprintf("count_%d", i), Description: fmt.Sprintf("Counts to %d", i), InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint("counted to ", i)}}}, nil
			})
	}
	upstream := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return many }, &mcp.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(upstream.Close) // after the instances, which hold streams to it
	for _, exposure := range []string{"auto", "all"} {
		instance := testkit.Start(t, testkit.Settings{"egress-allow": "127.0.0.0/8", "exposure": exposure})
		addServer(t, instance, fmt.Sprintf(`{"id":"many","url":%q}`, upstream.URL))
		if r := instance.Do(t, http.MethodPost, "/api/v1/agents", `{"name":"counter","tools":["many/*"]}`); r.Status != http.StatusCreated {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		if r := instance.Do(t, http.MethodPost, "/api/v1/agents", `{"name":"one","tools":["many/count_7"]}`); r.Status != http.StatusCreated {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		for path, searched := range map[string]bool{"/mcp": true, "/mcp/a/counter": true, "/mcp/a/one": false, "/mcp/s/many": false} {
			searched = searched && exposure == "auto"
			r := instance.Do(t, http.MethodPost, path, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
			if strings.Contains(r.Body, `"find_tools"`) != searched || strings.Contains(r.Body, `count_7"`) == searched {
				t.Errorf("%s of %s: %.300s", exposure, path, r.Body)
			}
			if !searched {
				continue
			}
			found := instance.Do(t, http.MethodPost, path, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find_tools","arguments":{"query":"counts to 140"}}}`)
			if !strings.Contains(found.Body, `many__count_140`) {
				t.Errorf("%s: %s", path, found.Body)
			}
			called := instance.Do(t, http.MethodPost, path, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"call_tool","arguments":{"name":"many__count_140"}}}`)
			if !strings.Contains(called.Body, `counted to 140`) {
				t.Errorf("%s: %s", path, called.Body)
			}
		}
		// A tool that is not listed is called by its name, too.
		if a, err := program.NewCaller(t, program.Modern, instance.URL, testkit.AdminKey).Call(t.Context(), "many__count_3", `{}`); err != nil || !a.OK {
			t.Errorf("by its name: %v %s", err, a.Body)
		}
	}
}
