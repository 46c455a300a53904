package denial

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/junctor-mcp/junctor/internal/catalog"
)

// target is what is asked for: a tool of a server by the name it is shown under,
// and an agent whose door is used where the door is one.
type target struct{ server, tool, agent string }

func (g target) name() string { return g.server + "__" + g.tool }

// door is one way in. list gives the names that are shown, or none where it is
// refused; call says whether the tool ran. What each is expected to do follows
// from view.
type door struct {
	name string
	view view
	list func(w *world, token string, g target) answer
	call func(w *world, token string, g target) answer
}

// view is what a door shows.
type view int

const (
	joined    view = iota // all servers under joined names
	single                // one server under its own names; the server's door itself may be shut
	named                 // one server, of which a tool is asked for at once
	agents                // joined, as an agent
	agentsOne             // named, as an agent
	ofAgent               // what an agent sees, to whoever asks
)

const modern = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

func modernHeader(method, name string) []string {
	h := []string{"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: " + method}
	if name != "" {
		h = append(h, "Mcp-Name: "+name)
	}
	return h
}

func modernList(w *world, token, path string) answer {
	return w.send(token, "POST", path, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`+modern+`}}`, modernHeader("tools/list", "")...)
}

func modernCall(w *world, token, path, name string) answer {
	return w.send(token, "POST", path, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{},%s}}`, name, modern), modernHeader("tools/call", name)...)
}

// legacy sends a request in a new session.
func legacy(w *world, token, path, request string) answer {
	a := w.send(token, "POST", path, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"d","version":"1"}}}`)
	if a.status != http.StatusOK {
		return a
	}
	return w.send(token, "POST", path, request, "Mcp-Session-Id: "+a.session, "MCP-Protocol-Version: 2025-06-18")
}

const listRequest = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`

func callRequest(name string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{}}}`, name)
}

func bridge(g target) string {
	return fmt.Sprintf(`{"endpoint":{"server":%q},"tool_name":%q,"arguments":{}}`, g.server, g.tool)
}

// doors are all ways in over HTTP.
func doors() []door {
	own := func(path string) func(*world, string, target) answer {
		return func(w *world, token string, g target) answer { return w.send(token, "GET", path, "") }
	}
	return []door{
		{
			"/mcp, modern", joined,
			func(w *world, token string, _ target) answer { return modernList(w, token, "/mcp") },
			func(w *world, token string, g target) answer { return modernCall(w, token, "/mcp", g.name()) },
		},
		{
			"/mcp, legacy", joined,
			func(w *world, token string, _ target) answer { return legacy(w, token, "/mcp", listRequest) },
			func(w *world, token string, g target) answer { return legacy(w, token, "/mcp", callRequest(g.name())) },
		},
		{
			"/mcp/s, modern", single,
			func(w *world, token string, g target) answer { return modernList(w, token, "/mcp/s/"+g.server) },
			func(w *world, token string, g target) answer { return modernCall(w, token, "/mcp/s/"+g.server, g.tool) },
		},
		{
			"/mcp/s, legacy", single,
			func(w *world, token string, g target) answer {
				return legacy(w, token, "/mcp/s/"+g.server, listRequest)
			},
			func(w *world, token string, g target) answer {
				return legacy(w, token, "/mcp/s/"+g.server, callRequest(g.tool))
			},
		},
		{
			"/mcp/a, modern", agents,
			func(w *world, token string, g target) answer { return modernList(w, token, "/mcp/a/"+g.agent) },
			func(w *world, token string, g target) answer {
				return modernCall(w, token, "/mcp/a/"+g.agent, g.name())
			},
		},
		{
			"/mcp/a, legacy", agents,
			func(w *world, token string, g target) answer { return legacy(w, token, "/mcp/a/"+g.agent, listRequest) },
			func(w *world, token string, g target) answer {
				return legacy(w, token, "/mcp/a/"+g.agent, callRequest(g.name()))
			},
		},
		{
			"/mcp/request", joined,
			func(w *world, token string, _ target) answer {
				return w.send(token, "POST", "/mcp/request", listRequest)
			},
			func(w *world, token string, g target) answer {
				return w.send(token, "POST", "/mcp/request", callRequest(g.name()))
			},
		},
		{
			"/mcp/a/request", agents,
			func(w *world, token string, g target) answer {
				return w.send(token, "POST", "/mcp/a/"+g.agent+"/request", listRequest)
			},
			func(w *world, token string, g target) answer {
				return w.send(token, "POST", "/mcp/a/"+g.agent+"/request", callRequest(g.name()))
			},
		},
		{"/mcp/tools", joined, own("/mcp/tools"), nil},
		{"/mcp/a/tools", agents, func(w *world, token string, g target) answer {
			return w.send(token, "GET", "/mcp/a/"+g.agent+"/tools", "")
		}, nil},
		{"/mcp/call", named, nil, func(w *world, token string, g target) answer { return w.send(token, "POST", "/mcp/call", bridge(g)) }},
		{"/mcp/a/call", agentsOne, nil, func(w *world, token string, g target) answer {
			return w.send(token, "POST", "/mcp/a/"+g.agent+"/call", bridge(g))
		}},
		{"REST", joined, own("/api/v1/tools"), func(w *world, token string, g target) answer {
			return w.api(token, "POST", "/tools/"+g.name()+"/call", `{"arguments":{}}`)
		}},
		{"REST, search", joined, own("/api/v1/tools?q=count+tool"), nil},
		{"REST, of an agent", ofAgent, func(w *world, token string, g target) answer {
			return w.api(token, "GET", "/agents/"+g.agent+"/tools", "")
		}, nil},
	}
}

// names reads a list: of MCP, of a result alone, or of the admin API. A refusal
// shows nothing.
func names(a answer) []string {
	var message struct {
		Result *struct{ Tools []struct{ Name string } }
		Tools  []struct{ Name string }
		Items  []struct{ Exposed string }
	}
	out := []string{}
	if a.status != http.StatusOK || json.Unmarshal([]byte(a.body), &message) != nil {
		return out
	}
	list := message.Tools
	if message.Result != nil {
		list = message.Result.Tools
	}
	for _, t := range list {
		out = append(out, t.Name)
	}
	for _, t := range message.Items {
		out = append(out, t.Exposed)
	}
	slices.Sort(out)
	return out
}

// ran says whether an answer is that of a tool.
func ran(a answer) bool { return a.status == http.StatusOK && strings.Contains(a.body, `"ran `) }

// verdict is what the model says of a call: why not, and what the refusal is
// about where it is the door itself.
type verdict struct {
	why  catalog.Reason
	kind string // tool, server or agent
}

// judge says what a call through a door leads to.
func (t *tenant) judge(p *principal, v view, g target) verdict {
	kind := "tool"
	switch v {
	case single:
		if why := t.enters(p, g.server); why != "" {
			return verdict{why, "server"}
		}
	case agents, agentsOne:
		acting, why := t.as(p, g.agent)
		if why != "" {
			return verdict{why, "agent"}
		}
		p = acting
	}
	why := t.sees(p, v == joined || v == agents, g.server, g.tool)
	if why == "" && !p.has("tools:call") {
		why = noCall
	}
	return verdict{why, kind}
}

// shows says what a list through a door holds.
func (t *tenant) shows(p *principal, v view, g target) []string {
	switch v {
	case single:
		if t.enters(p, g.server) != "" {
			return []string{}
		}
		list := t.list(p, false, g.server)
		for i, name := range list {
			list[i] = strings.TrimPrefix(name, g.server+"__")
		}
		return list
	case agents:
		acting, why := t.as(p, g.agent)
		if why != "" {
			return []string{}
		}
		return t.list(acting, true, serverNames()...)
	case ofAgent:
		a := t.agents[g.agent]
		if a == nil || a.disabled || !p.has("tools:read") || p.agent != "" && p.agent != g.agent {
			return []string{}
		}
		both := []string{}
		for _, server := range serverNames() {
			if t.enters(p, server) == "" {
				both = append(both, server)
			}
		}
		return t.list(&principal{agent: g.agent, scopes: []string{"tools:read"}}, true, both...)
	}
	return t.list(p, true, serverNames()...)
}
