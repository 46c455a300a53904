package apps_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/testkit"
)

// A client that declares the extension is told that it is spoken here, gets the
// tools that are for pages alone, and may call them; for every other client they
// are not there. Pages are named so that servers which are joined stay apart.
func TestExtensionIsNegotiated(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	const shows = `{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}}`
	modern := func(method, caps, params string) string {
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":%s}}}`, method, params, caps)
		header := []string{"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: " + method}
		if strings.HasPrefix(params, `"name"`) {
			header = append(header, "Mcp-Name: shop__poll")
		}
		return s.Do(t, "POST", "/mcp", body, header...).Body
	}
	legacy := func(method, caps, params string) string {
		hello := s.Do(t, "POST", "/mcp", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":`+caps+`,"clientInfo":{"name":"t","version":"1"}}}`)
		if method == "server/discover" {
			return hello.Body
		}
		params = strings.TrimSuffix(params, ",")
		return s.Do(t, "POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{`+params+`}}`, "Mcp-Session-Id: "+hello.Header.Get("Mcp-Session-Id")).Body
	}
	for era, ask := range map[string]func(method, caps, params string) string{"modern": modern, "legacy": legacy} {
		for caps, host := range map[string]bool{shows: true, "{}": false} {
			if got := strings.Contains(ask("server/discover", caps, ""), `"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}`); got != host {
				t.Errorf("%s client, %s: the extension is announced: %v", era, caps, got)
			}
			list := ask("tools/list", caps, "")
			if strings.Contains(list, "shop__poll") != host || strings.Contains(list, "shop__never") || !strings.Contains(list, "shop__think") {
				t.Errorf("%s client, %s: %s", era, caps, list)
			}
			if !strings.Contains(list, `"ui":{"resourceUri":"ui://shop/shop/page.html"}`) || !strings.Contains(list, `"ui/resourceUri":"ui://shop/shop/page.html"`) {
				t.Errorf("%s client, %s: the page is not told apart: %s", era, caps, list)
			}
			before := s.shop.calls.Load()
			answer := ask("tools/call", caps, `"name":"shop__poll","arguments":{},`)
			if called := s.shop.calls.Load() > before; called != host || host == strings.Contains(answer, `"error"`) {
				t.Errorf("%s client, %s: called %v, %s", era, caps, called, answer)
			}
			read := ask("resources/list", caps, "")
			if !strings.Contains(read, `"ui://shop/shop/page.html"`) {
				t.Errorf("%s client, %s: %s", era, caps, read)
			}
		}
	}
}

// An agent is a model, whichever way it comes in, and a View that acts as an agent
// has no more than the agent.
func TestViewActsAsAnAgent(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	made := read[struct{ Key string }](t, s.ok(t, http.StatusCreated, "POST", "/agents", `{"name":"clerk","tools":["shop/show"]}`))
	key := "Authorization: Bearer " + made.Key
	s.ok(t, 404, "POST", "/tools/shop__poll/call", `{}`, key)
	v := read[struct{ ID, Agent string }](t, s.ok(t, http.StatusCreated, "POST", "/views", `{"tool":"shop__show","agent":"clerk"}`))
	if v.Agent != "clerk" {
		t.Errorf("%+v", v)
	}
	if got := s.rpc(t, v.ID, `{"method":"tools/call","params":{"name":"show"}}`); !strings.Contains(got, `"result"`) {
		t.Error(got)
	}
	for _, ask := range []string{`{"method":"tools/call","params":{"name":"poll"}}`, `{"method":"resources/read","params":{"uri":"shop://stock"}}`} {
		if got := s.rpc(t, v.ID, ask); !strings.Contains(got, `"error":{"code":-32602`) {
			t.Errorf("%s: %s", ask, got)
		}
	}
	s.ok(t, 404, "POST", "/views", `{"tool":"shop__think","agent":"clerk"}`)
	s.ok(t, 404, "POST", "/views", `{"tool":"shop__show","agent":"nobody"}`)
}

// Where tools are found instead of listed, a host has no definition of the tool
// that was called: the result names its page. A client that shows none is told
// nothing of it.
func TestCallToolNamesThePage(t *testing.T) {
	t.Parallel()
	s := newStage(t, testkit.Settings{"exposure": "search"})
	call := func(caps, tool string) string {
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"call_tool","arguments":{"name":"` + tool + `","arguments":{"n":1}},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + caps + `}}}`
		return s.Do(t, "POST", "/mcp", body, "MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: call_tool").Body
	}
	const shows = `{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}}`
	for _, c := range []struct{ name, caps, tool, want string }{
		{"a host", shows, "shop__show", `"_meta":{"ui":{"resourceUri":"ui://shop/shop/page.html"},"junctor/tool":"shop__show"`},
		{"a client that shows no pages", "{}", "shop__show", ""},
		{"a tool without a page", shows, "shop__think", ""},
	} {
		got := call(c.caps, c.tool)
		if !strings.Contains(got, `"content":[{"type":"text"`) || c.want != "" && !strings.Contains(got, c.want) || c.want == "" && strings.Contains(got, "junctor/tool") {
			t.Errorf("%s: %s", c.name, got)
		}
	}
}

// Servers inside the binary get Views when somebody says so, and nothing else of
// them is changed.
func TestViewsOfServersInside(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	has := func() bool { return strings.Contains(s.ok(t, 200, "GET", "/apps", ""), `"server":"demo"`) }
	if has() {
		t.Error("they have Views before anybody said so")
	}
	s.ok(t, 200, "PATCH", "/servers/demo", `{"views":"on"}`)
	if !has() {
		t.Errorf("no Views: %s", s.ok(t, 200, "GET", "/apps", ""))
	}
	for query, want := range map[string]string{"": "demo shop", "origin=server": "shop", "origin=generated": "demo", "visibility=model": "demo shop", "visibility=app&origin=server": "shop"} {
		servers := map[string]bool{}
		for _, app := range read[struct{ Items []junctor.App }](t, s.ok(t, 200, "GET", "/apps?"+query, "")).Items {
			servers[app.Server] = true
		}
		if got := strings.Join(slices.Sorted(maps.Keys(servers)), " "); got != want {
			t.Errorf("/apps?%s has Apps of %q instead of %q", query, got, want)
		}
	}
	s.ok(t, 422, "GET", "/apps?origin=x", "")
	s.ok(t, 200, "POST", "/servers/demo/disable", "")
	s.ok(t, 200, "POST", "/servers/demo/enable", "")
	if !has() {
		t.Error("they are gone after the server was switched off and on")
	}
	s.ok(t, 422, "PATCH", "/servers/demo", `{"url":"https://example.com"}`)
	s.ok(t, 200, "PATCH", "/servers/demo", `{"views":"off"}`)
	if has() {
		t.Error("they have Views after somebody said no")
	}
}
