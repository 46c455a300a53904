package access

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

// user makes a user with a key of all scopes that the role has.
func (s *scene) user(name string, role junctor.UserRole) string {
	s.t.Helper()
	s.request("POST", "/users", fmt.Sprintf(`{"name":%q,"role":%q}`, name, role), http.StatusCreated, nil)
	var made struct{ Key string }
	s.request("POST", "/keys", fmt.Sprintf(`{"name":%q,"user":%q,"scopes":%s}`, name, name, quote(role.Scopes())), http.StatusCreated, &made)
	return "Authorization: Bearer " + made.Key
}

// expect asks the admin API and compares the status.
func (s *scene) expect(status int, method, path, body string, header ...string) testkit.Reply {
	s.t.Helper()
	r := s.Do(s.t, method, path, body, header...)
	if r.Status != status {
		s.t.Errorf("%s %s %s: %d, want %d\n%s", method, path, body, r.Status, status, r.Body)
	}
	return r
}

func TestWhoCanChangeAnAgent(t *testing.T) {
	t.Parallel()
	onAll(t, whoMayChangeAnAgent)
}

func whoMayChangeAnAgent(s *scene) {
	t := s.t
	t.Helper()
	ann, bob, eve := s.user("ann", junctor.UserDeveloper), s.user("bob", junctor.UserDeveloper), s.user("eve", junctor.UserViewer)
	const at = "/api/v1/agents"
	made := s.expect(201, "POST", at, `{"name":"hers","role":"QA","tools":["alpha/one"]}`, ann)
	var agent struct{ Owner, Key string }
	if err := json.Unmarshal([]byte(made.Body), &agent); err != nil || !strings.HasPrefix(agent.Owner, "user:") || agent.Key == "" {
		t.Fatal(made.Body)
	}
	own := "Authorization: Bearer " + agent.Key

	for _, header := range []string{bob, eve, ann} {
		if r := s.expect(200, "GET", at, "", header); !strings.Contains(r.Body, `"hers"`) || strings.Contains(r.Body, agent.Key) {
			t.Errorf("listed: %s", r.Body)
		}
	}
	s.expect(403, "PATCH", at+"/hers", `{"title":"x"}`, bob)
	s.expect(403, "DELETE", at+"/hers", "", bob)
	s.expect(403, "PATCH", at+"/hers", `{"title":"x"}`, eve)
	s.expect(403, "PATCH", at+"/hers", `{"title":"x"}`, own)
	s.expect(200, "PATCH", at+"/hers", `{"title":"x"}`, ann)
	s.expect(200, "PATCH", at+"/hers", `{"tier":"pro"}`) // an admin
	s.expect(201, "POST", at, `{"name":"his"}`, bob)
	s.expect(403, "POST", at, `{"name":"nobodys"}`, eve)
	s.expect(409, "POST", at, `{"name":"hers"}`, bob)

	// An agent knows of itself, and of the servers on its list.
	if r := s.expect(200, "GET", at, "", own); strings.Contains(r.Body, `"his"`) || !strings.Contains(r.Body, `"hers"`) {
		t.Errorf("an agent lists %s", r.Body)
	}
	s.expect(404, "GET", at+"/his", "", own)
	if r := s.expect(200, "GET", "/api/v1/servers", "", own); strings.Contains(r.Body, `"beta"`) || !strings.Contains(r.Body, `"alpha"`) {
		t.Errorf("an agent lists servers %s", r.Body)
	}
	s.expect(404, "GET", "/api/v1/servers/beta", "", own)

	// Its endpoint is for itself, its owner and admins; for others there is none.
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + modernMeta + `}}`
	header := modernHeader("tools/list", "")
	for _, who := range []string{own, ann, "X-Nothing: 1"} { // the last is the admin
		if r := s.expect(200, "POST", "/mcp/a/hers", list, append(header, who)...); strings.Join(s.names(r.Body), " ") != "alpha__one" {
			t.Errorf("through its endpoint: %s", r.Body)
		}
	}
	hidden := s.expect(404, "POST", "/mcp/a/hers", list, append(header, bob)...)
	absent := s.expect(404, "POST", "/mcp/a/none", list, append(header, bob)...)
	if strings.ReplaceAll(hidden.Body, "hers", "none") != absent.Body {
		t.Errorf("another's agent answers %s, and none %s", hidden.Body, absent.Body)
	}
	calls := s.Calls(t, "limit=2")
	if c := calls[1]; c.Kind != junctor.KindAgent || c.Name != "hers" || c.Status != junctor.StatusDenied || !strings.Contains(c.Reason, "belongs to another user") {
		t.Errorf("on record: %+v", c)
	}
	if c := calls[0]; c.Kind != junctor.KindAgent || c.Status != junctor.StatusInvalid {
		t.Errorf("on record: %+v", c)
	}
	for _, path := range []string{"/mcp/a/hers/request", "/mcp/a/hers/tools", "/mcp/a/hers/call"} {
		method, body := "POST", list
		if strings.HasSuffix(path, "tools") {
			method, body = "GET", ""
		}
		s.expect(404, method, path, body, bob)
	}

	// A session of the owner as the agent is not one of the owner.
	hello := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	session := "Mcp-Session-Id: " + s.expect(200, "POST", "/mcp/a/hers", hello, ann).Header.Get("Mcp-Session-Id")
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	s.expect(200, "POST", "/mcp/a/hers", ping, ann, session)
	s.expect(404, "POST", "/mcp", ping, ann, session)

	// What tools are for is said by who brought their server.
	s.expect(403, "PUT", "/api/v1/tools/alpha__one/tag", `{"roles":["QA"]}`, ann)
	s.expect(403, "PUT", "/api/v1/roles/Legal", "", ann)
}

func TestDeletedAgentIsRemovedEverywhere(t *testing.T) {
	t.Parallel()
	onAll(t, func(s *scene) {
		t := s.t
		key := s.agent(`{"name":"x","role":"Dev","tools":["alpha/*"]}`)
		auth := "Authorization: Bearer " + key
		endpoints := s.agentEndpoints("x", key)
		if ok, told := endpoints["/mcp"].call("alpha", "one", `{}`); !ok {
			t.Fatal(told)
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		listen := `{"jsonrpc":"2.0","id":9,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + modernMeta + `}}`
		stream := s.Open(ctx, t, "POST", "/mcp", listen, append(modernHeader("subscriptions/listen", ""), auth)...)
		defer func() { _ = stream.Body.Close() }()

		// Switched off, it opens no endpoint, and what was open ends; switched on, it does again.
		s.request("PATCH", "/agents/x", `{"disabled":true}`, 200, nil)
		s.expect(401, "GET", "/mcp/tools", "", auth)
		s.expect(404, "GET", "/mcp/a/x/tools", "") // nor for an admin
		if ok, told := endpoints["stdio"].call("alpha", "one", `{}`); ok {
			t.Errorf("an agent that is off calls through an open pipe: %s", told)
		}
		s.request("PATCH", "/agents/x", `{"disabled":false}`, 200, nil)
		if ok, told := endpoints["/mcp"].call("alpha", "one", `{}`); !ok {
			t.Errorf("switched on again: %s", told)
		}

		s.request("DELETE", "/agents/x", "", 204, nil)
		s.expect(404, "DELETE", "/api/v1/agents/x", "")
		s.expect(401, "GET", "/mcp/tools", "", auth)
		for name, d := range endpoints {
			if d.call == nil || name == "stdio" || name == "/sse" { // those have ended
				continue
			}
			if ok, told := d.call("alpha", "one", `{}`); ok {
				t.Errorf("%s lets a deleted agent in: %s", name, told)
			}
		}
		buf := make([]byte, 4096)
		for { // the stream ends by itself
			if _, err := stream.Body.Read(buf); err != nil {
				break
			}
		}
		if ctx.Err() != nil {
			t.Error("a stream of a deleted agent stays open")
		}
		// Its records stay, and a new agent of its name has none of its keys.
		if calls := s.Calls(t, "agent=x&status=success"); len(calls) < 2 {
			t.Errorf("%d records are left", len(calls))
		}
		again := s.agent(`{"name":"x","role":"Dev"}`)
		s.expect(401, "GET", "/mcp/tools", "", auth)
		if got := s.names(s.expect(200, "GET", "/mcp/tools", "", "Authorization: Bearer "+again).Body); len(got) != 0 {
			t.Errorf("a new agent of the old name sees %v", got)
		}
	})
}

// newPeerServer is an MCP server of the official SDK, whose tools a test changes.
func newPeerServer(t *testing.T) (*mcp.Server, string) {
	t.Helper()
	sdk := mcp.NewServer(&mcp.Implementation{Name: "peer", Version: "1"}, nil)
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return sdk }, nil)
	web := httptest.NewServer(h)
	t.Cleanup(func() {
		_ = web.Config.Close() // streams too
		web.Close()
	})
	return sdk, web.URL
}

func addTool(sdk *mcp.Server, name, about string, meta mcp.Meta) {
	mcp.AddTool(sdk, &mcp.Tool{Name: name, Description: about, Meta: meta}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "from " + name}}}, nil, nil
	})
}

// until waits for what a server's note leads to.
func (s *scene) until(what string, done func() bool) {
	s.t.Helper()
	poll.Until(s.t, what, patience, done)
}

// A whole server that was given follows the server's list; what changed under
// its name is listed with both versions; what people said stays.
func TestAServerThatChanges(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sdk, url := newPeerServer(t)
	addTool(sdk, "create_invoice", "Makes an invoice", nil)
	s := start(t, testkit.Settings{"egress-allow": "127.0.0.0/8", "data-dir": dir})
	s.request("POST", "/servers", fmt.Sprintf(`{"id":"books","url":%q}`, url), 201, nil)
	var tool junctor.Tool
	s.request("GET", "/tools/books__create_invoice", "", 200, &tool)
	if tool.Category != "Finance" || tool.Class == nil || len(tool.Class.Evidence) == 0 || tool.Class.Evidence[0].Text != "invoice" {
		t.Errorf("by the rules: %+v", tool.Class)
	}
	all := s.agent(`{"name":"all","role":"Finance","tools":["books/*"]}`)
	one := s.agent(`{"name":"one","role":"Finance","tools":["books/create_invoice"]}`)
	see := func(key string) string {
		return strings.Join(s.names(s.expect(200, "GET", "/mcp/tools", "", "Authorization: Bearer "+key).Body), " ")
	}
	s.request("PUT", "/tools/books__create_invoice/tag", `{"roles":["Finance","Support"],"category":"Bills"}`, 200, nil)
	if see(all) != "books__create_invoice" || see(one) != "books__create_invoice" {
		t.Errorf("%q and %q", see(all), see(one))
	}

	addTool(sdk, "send_invoice", "Sends an invoice", nil)
	s.until("the new tool", func() bool { return see(all) == "books__create_invoice books__send_invoice" })
	if see(one) != "books__create_invoice" {
		t.Errorf("%q", see(one))
	}
	addTool(sdk, "create_invoice", "Makes an invoice and pays it from your account", nil)
	changes := func() []junctor.ToolChange {
		var page struct{ Items []junctor.ToolChange }
		s.request("GET", "/tools/changes?server=books", "", 200, &page)
		return page.Items
	}
	s.until("both changes", func() bool { return len(changes()) == 2 })
	list := changes()
	if c := list[0]; c.Tool != "create_invoice" || strings.Join(c.What, " ") != "description" || !strings.Contains(string(c.Before), `"Makes an invoice"`) || !strings.Contains(string(c.After), "pays it") || c.BeforeDigest == c.AfterDigest {
		t.Errorf("%+v", c)
	}
	if c := list[1]; c.Tool != "send_invoice" || c.BeforeDigest != "" || c.Before != nil || c.After == nil {
		t.Errorf("%+v", c)
	}
	s.request("GET", "/tools/books__create_invoice", "", 200, &tool)
	if tool.ChangedAt.IsZero() || tool.Category != "Bills" || len(tool.Roles) != 2 {
		t.Errorf("after a change: %+v", tool)
	}
	// Agents hear of changes of what they see, and of nothing else.
	var page struct{ Items []junctor.ToolChange }
	r := s.expect(200, "GET", "/api/v1/tools/changes", "", "Authorization: Bearer "+one)
	if err := json.Unmarshal([]byte(r.Body), &page); err != nil || len(page.Items) != 1 || page.Items[0].Tool != "create_invoice" {
		t.Errorf("an agent's changes: %s", r.Body)
	}
	s.Stop()

	s = start(t, testkit.Settings{"egress-allow": "127.0.0.0/8", "data-dir": dir})
	var after junctor.Tool
	s.request("GET", "/tools/books__create_invoice", "", 200, &after)
	if after.Category != "Bills" || len(after.Roles) != 2 || !after.ChangedAt.Equal(tool.ChangedAt) || len(changes()) != 2 {
		t.Errorf("after a restart: %+v, %d changes", after, len(changes()))
	}
	s.request("PATCH", "/servers/books", `{"title":"Books"}`, 200, nil)
	s.request("GET", "/tools/books__create_invoice", "", 200, &after)
	if after.Category != "Bills" {
		t.Errorf("after the server was changed: %+v", after.Class)
	}
	if see(one) != "books__create_invoice" {
		t.Errorf("after a restart the agent sees %q", see(one))
	}
	// With the server go its grants, and do not come back with its name.
	s.request("DELETE", "/servers/books", "", 204, nil)
	s.request("POST", "/servers", fmt.Sprintf(`{"id":"books","url":%q}`, url), 201, nil)
	if see(one) != "" || see(all) != "" {
		t.Errorf("grants of a server that was removed: %q and %q", see(one), see(all))
	}
}

// What an agent reads: by name, by template, by server, and the page of a tool.
func TestResourcesAndPromptsOfAgents(t *testing.T) {
	t.Parallel()
	sdk, url := newPeerServer(t)
	addTool(sdk, "map", "Shows a place", mcp.Meta{"ui": map[string]any{"resourceUri": "ui://map/page"}})
	addTool(sdk, "plain", "Does a thing", nil)
	read := func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, Text: "what is there"}}}, nil
	}
	for _, uri := range []string{"note://a", "note://b", "ui://map/page", "ui://other/page"} {
		sdk.AddResource(&mcp.Resource{URI: uri, Name: "r"}, read)
	}
	sdk.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "doc://d/{name}", Name: "t"}, read)
	for _, name := range []string{"hello", "bye"} {
		sdk.AddPrompt(&mcp.Prompt{Name: name}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "say"}}}}, nil
		})
	}
	s := start(t, testkit.Settings{"egress-allow": "127.0.0.0/8"})
	s.request("POST", "/servers", fmt.Sprintf(`{"id":"p","url":%q}`, url), 201, nil)
	for name, tt := range map[string]struct {
		lists           string
		resources, read string // listed; and what can be read
		prompts         string
	}{
		"tool":    {`"tools":["p/map"]`, "ui://p/map/page", "ui://p/map/page", ""},
		"other":   {`"tools":["p/plain"]`, "", "", ""},
		"by-name": {`"resources":["p/note://a","p/doc://d/{name}"],"prompts":["p/hello"]`, "p+note://a", "p+note://a p+doc://d/x", "p__hello"},
		"shown":   {`"resources":["p+note://b"],"prompts":["p__bye"]`, "p+note://b", "p+note://b", "p__bye"},
		"all":     {`"resources":["p/*"],"prompts":["p/*"]`, "p+note://a p+note://b ui://p/map/page ui://p/other/page", "p+note://a p+note://b ui://p/map/page ui://p/other/page p+doc://d/x", "p__bye p__hello"},
	} {
		auth := "Authorization: Bearer " + s.agent(fmt.Sprintf(`{"name":%q,%s}`, name, tt.lists))
		ask := func(method, target, params string) testkit.Reply {
			header := append(modernHeader(method, target), auth)
			return s.Do(t, "POST", "/mcp/a/"+name, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{`+params+modernMeta+`}}`, header...)
		}
		listed := func(method, member string) string {
			var answer struct {
				Result map[string]json.RawMessage
			}
			var items []struct{ Name, URI string }
			r := ask(method, "", "")
			if err := json.Unmarshal([]byte(r.Body), &answer); err != nil {
				t.Fatal(r.Body)
			}
			if err := json.Unmarshal(answer.Result[member], &items); err != nil {
				t.Fatal(r.Body)
			}
			var out []string
			for _, i := range items {
				if i.URI != "" {
					i.Name = i.URI
				}
				out = append(out, i.Name)
			}
			return strings.Join(out, " ")
		}
		if got := listed("resources/list", "resources"); got != tt.resources {
			t.Errorf("%s lists resources %q, want %q", name, got, tt.resources)
		}
		if got := listed("prompts/list", "prompts"); got != tt.prompts {
			t.Errorf("%s lists prompts %q, want %q", name, got, tt.prompts)
		}
		for _, uri := range []string{"p+note://a", "p+note://b", "ui://p/map/page", "ui://p/other/page", "p+doc://d/x", "p+doc://d/../x"} {
			r := ask("resources/read", uri, `"uri":"`+uri+`",`)
			if got := strings.Contains(r.Body, "what is there"); got != strings.Contains(" "+tt.read+" ", " "+uri+" ") {
				t.Errorf("%s reads %s: %s", name, uri, r.Body)
			}
		}
		for _, prompt := range []string{"p__hello", "p__bye"} {
			r := ask("prompts/get", prompt, `"name":"`+prompt+`",`)
			if got := strings.Contains(r.Body, "say"); got != strings.Contains(tt.prompts, prompt) {
				t.Errorf("%s gets %s: %s", name, prompt, r.Body)
			}
		}
	}
}

// A change of an agent reaches its clients as a change of their lists.
func TestAgentIsNotifiedOfItsChange(t *testing.T) {
	t.Parallel()
	s := start(t, testkit.Settings{})
	key := s.agent(`{"name":"x","tools":["alpha/one"]}`)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	told := make(chan struct{}, 1024)
	c := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { told <- struct{}{} },
	})
	mine, err := c.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: s.URL + "/mcp", HTTPClient: &http.Client{Transport: withKey(key)}}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-06-18"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = mine.Close() })
	s.until("the client listens", func() bool { // it opens its stream of notes beside the handshake
		s.request("PATCH", "/agents/x", `{"tools":["alpha/two"]}`, 200, nil)
		s.request("PATCH", "/agents/x", `{"tools":["alpha/one"]}`, 200, nil)
		return len(told) > 0
	})
	for _, tt := range []struct {
		what, method, path, body string
		tools                    int
	}{
		{"more tools", "PATCH", "/agents/x", `{"tools":["alpha/one","beta/two"]}`, 2},
		{"fewer tools", "PATCH", "/agents/x", `{"tools":["alpha/one"]}`, 1},
		{"whole servers", "PATCH", "/agents/x", `{"tools":["alpha/*","beta/*"],"role":"Ops"}`, 6},
	} {
		for len(told) > 0 {
			<-told
		}
		s.request(tt.method, tt.path, tt.body, 200, nil)
		select {
		case <-told:
		case <-ctx.Done():
			t.Fatalf("%s: the agent was not told", tt.what)
		}
		if res, err := mine.ListTools(ctx, nil); err != nil || len(res.Tools) != tt.tools {
			t.Errorf("%s: %v, %v", tt.what, res, err)
		}
	}
}

// What cannot be meant is refused before anything is stored.
func TestWhatAnAgentCannotBe(t *testing.T) {
	t.Parallel()
	s := start(t, testkit.Settings{})
	s.agent(`{"name":"x","role":"QA","tools":["alpha/one"],"tier":"pro","limits":{"per_second":2}}`)
	s.request("PUT", "/tools/beta__two/tag", `{"roles":["Finance","Ops"]}`, 200, nil)
	for body, says := range map[string]string{
		`{"name":"Not A Name"}`:                             "lower-case",
		`{"name":"y","role":"Cook"}`:                        "unknown role",
		`{"name":"y","role":""}`:                            "role",
		`{"name":"y","tier":"gold"}`:                        "free, pro, unlimited",
		`{"name":"y","limits":{"per_day":-1}}`:              "must not be negative",
		`{"name":"y","tools":["alpha"]}`:                    "unknown tool",
		`{"name":"y","tools":["alpha/"]}`:                   "server/name",
		`{"name":"y","tools":["alpha/uno"]}`:                "did you mean one",
		`{"name":"y","tools":["alfa/one"]}`:                 "did you mean alpha",
		`{"name":"y","tools":["alpha__uno"]}`:               "did you mean alpha__one",
		`{"name":"y","prompts":["alpha/hello"]}`:            "unknown prompt",
		`{"name":"y","resources":["alpha/note://a"]}`:       "no resources",
		`{"name":"y","tools":["alpha/one","none/*"]}`:       "unknown server",
		`{"name":"y","role":"QA","tools":["beta/*","x/*"]}`: "unknown server",
	} {
		if r := s.expect(422, "POST", "/api/v1/agents", body); !strings.Contains(r.Body, says) {
			t.Errorf("%s: %s, want %q", body, r.Body, says)
		}
	}
	s.expect(404, "GET", "/api/v1/agents/y", "")
	// A tool that is for other roles can be granted, and stays when the role changes.
	s.request("PATCH", "/agents/x", `{"role":"Dev","tools":["alpha/one","beta/two"]}`, 200, nil)
	s.request("PATCH", "/agents/x", `{"role":"QA"}`, 200, nil)
	var x junctor.Agent
	s.request("GET", "/agents/x", "", 200, &x)
	if x.Role != "QA" || len(x.Tools) != 2 {
		t.Errorf("%+v", x)
	}
	// What it has stays while its server is away, and can be given as a whole.
	s.request("POST", "/servers/beta/disable", "", 200, nil)
	s.request("PATCH", "/agents/x", `{"title":"still there","tools":["alpha/one","beta/two","beta/*"]}`, 200, &x)
	if len(x.Tools) != 3 {
		t.Errorf("%+v", x)
	}
	if r := s.expect(422, "PATCH", "/api/v1/agents/x", `{"tools":["beta/one"]}`); !strings.Contains(r.Body, "while its server is inactive") {
		t.Error(r.Body)
	}
}
