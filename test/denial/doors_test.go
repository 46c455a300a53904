package denial

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/app"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/gateway"
)

// What can be asked for.
const (
	tools     = "tool"
	prompts   = "prompt"
	resources = "resource"
)

// Each server has one of these beside its tools.
const (
	thePrompt   = "ask"
	theResource = "peer:///note"
)

// target is what is asked for: a tool of a server by the name it is shown under, a
// prompt or a resource, and an agent whose endpoint is used where the endpoint is one.
type target struct{ kind, server, tool, agent string }

// name is how it is called where servers stand side by side.
func (g target) name() string { return joinedName(g.kind, g.server, g.tool) }

func joinedName(kind, server, own string) string {
	if kind == resources {
		return server + "+" + own
	}
	return server + "__" + own
}

// endpoint is one way in. list gives the names that are shown, or none where it is
// refused; call says whether the tool ran. What each is expected to do follows
// from view.
type endpoint struct {
	name string
	kind string
	view view
	list func(w *world, token string, g target) answer
	call func(w *world, token string, g target) answer
}

// view is what an endpoint shows.
type view int

const (
	joined    view = iota // all servers under joined names
	single                // one server under its own names; the server's endpoint itself may be shut
	named                 // one server, of which a tool is asked for at once
	agents                // joined, as an agent
	agentsOne             // named, as an agent
	ofAgent               // what an agent sees, to any caller
)

const modern = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

func modernHeader(method, name string) []string {
	h := []string{"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: " + method}
	if name != "" {
		h = append(h, "Mcp-Name: "+name)
	}
	return h
}

// listMethod and called are the methods for a kind, and how it is named in params.
func listMethod(kind string) string { return kind + "s/list" }

func callMethod(kind string) (method, member string) {
	switch kind {
	case prompts:
		return "prompts/get", "name"
	case resources:
		return "resources/read", "uri"
	}
	return "tools/call", "name"
}

func modernListRequest(kind string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s}}`, listMethod(kind), modern)
}

func modernCallRequest(kind, name string) string {
	method, member := callMethod(kind)
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%q:%q,%s}}`, method, member, name, modern)
}

func modernList(w *world, token, path, kind string) answer {
	return w.send(token, "POST", path, modernListRequest(kind), modernHeader(listMethod(kind), "")...)
}

func modernCall(w *world, token, path, kind, name string) answer {
	method, _ := callMethod(kind)
	return w.send(token, "POST", path, modernCallRequest(kind, name), modernHeader(method, name)...)
}

const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"d","version":"1"}}}`

// callLegacy sends a request in a new session.
func callLegacy(w *world, token, path, request string) answer {
	a := w.send(token, "POST", path, initialize)
	if a.status != http.StatusOK {
		return a
	}
	return w.send(token, "POST", path, request, "Mcp-Session-Id: "+a.session, "MCP-Protocol-Version: 2025-06-18")
}

func listRequest(kind string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q}`, listMethod(kind))
}

func callRequest(kind, name string) string {
	method, member := callMethod(kind)
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%q:%q}}`, method, member, name)
}

// overSSE sends a request over a new HTTP+SSE connection.
func overSSE(w *world, token, request string) answer {
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	header := "Authorization:"
	if token != "" {
		header += " Bearer " + token
	}
	resp := w.Open(ctx, w.t, "GET", "/sse", "", header)
	defer resp.Body.Close()
	lines := bufio.NewReader(resp.Body)
	next := func() string {
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return ""
			}
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				return strings.TrimSpace(data)
			}
		}
	}
	if resp.StatusCode != http.StatusOK {
		return answer{status: resp.StatusCode}
	}
	endpoint := next()
	for _, message := range []string{initialize, request} {
		if a := w.send(token, "POST", endpoint, message); a.status >= 300 {
			return a
		}
		if got := next(); message == request {
			return answer{status: http.StatusOK, body: got}
		}
	}
	return answer{}
}

// overStdio sends a request over pipes, as junctor stdio does: through the socket of
// an instance, of replicas each in turn.
func overStdio(w *world, token, request string) answer {
	if token == "" {
		token = "none" // without any, the user who started the program is asking
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	w.pipes++
	socket := filepath.Join(w.Each[w.pipes%len(w.Each)].Dir, app.SocketName)
	// It stays open until the answer is there: what is asked has all its time.
	asked, ask := io.Pipe()
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- gateway.RelayStdio(ctx, socket, asked, in, token)
		_, _ = asked.Close(), in.Close()
	}()
	go func() { _, _ = io.WriteString(ask, request+"\n") }()
	line, _ := bufio.NewReader(out).ReadString('\n')
	_, _ = ask.Close(), out.Close()
	if err := <-ended; junctor.CodeOf(err) == junctor.CodeUnauthenticated {
		return answer{status: http.StatusUnauthorized}
	}
	return answer{status: http.StatusOK, body: line}
}

func bridgeBody(g target) string {
	return fmt.Sprintf(`{"endpoint":{"server":%q},"tool_name":%q,"arguments":{}}`, g.server, g.tool)
}

// allEndpoints are all ways in.
func allEndpoints() (all []endpoint) {
	for _, kind := range []string{tools, prompts, resources} {
		all = append(all, endpointsOf(kind)...)
	}
	return append(all, endpointsOfTools()...)
}

// endpointsOf are those that lead to what there is of a kind.
func endpointsOf(kind string) []endpoint {
	both := func(name string, v view, path func(target) string, shown func(target) string) []endpoint {
		return []endpoint{
			{
				name + ", modern, " + kind + "s", kind, v,
				func(w *world, token string, g target) answer { return modernList(w, token, path(g), kind) },
				func(w *world, token string, g target) answer { return modernCall(w, token, path(g), kind, shown(g)) },
			},
			{
				name + ", legacy, " + kind + "s", kind, v,
				func(w *world, token string, g target) answer { return callLegacy(w, token, path(g), listRequest(kind)) },
				func(w *world, token string, g target) answer {
					return callLegacy(w, token, path(g), callRequest(kind, shown(g)))
				},
			},
		}
	}
	own := func(g target) string { return g.tool }
	return slices.Concat(
		both("/mcp", joined, func(target) string { return "/mcp" }, target.name),
		both("/mcp/s", single, func(g target) string { return "/mcp/s/" + g.server }, own),
		both("/mcp/a", agents, func(g target) string { return "/mcp/a/" + g.agent }, target.name),
		[]endpoint{
			{
				"/sse, " + kind + "s", kind, joined,
				func(w *world, token string, _ target) answer { return overSSE(w, token, listRequest(kind)) },
				func(w *world, token string, g target) answer { return overSSE(w, token, callRequest(kind, g.name())) },
			},
			{
				"stdio, " + kind + "s", kind, joined,
				func(w *world, token string, _ target) answer { return overStdio(w, token, modernListRequest(kind)) },
				func(w *world, token string, g target) answer {
					return overStdio(w, token, modernCallRequest(kind, g.name()))
				},
			},
		})
}

// endpointsOfTools are those that lead to tools alone.
func endpointsOfTools() []endpoint {
	own := func(path string) func(*world, string, target) answer {
		return func(w *world, token string, g target) answer { return w.send(token, "GET", path, "") }
	}
	return []endpoint{
		{
			"/mcp/request", tools, joined,
			func(w *world, token string, _ target) answer {
				return w.send(token, "POST", "/mcp/request", listRequest(tools))
			},
			func(w *world, token string, g target) answer {
				return w.send(token, "POST", "/mcp/request", callRequest(tools, g.name()))
			},
		},
		{
			"/mcp/a/request", tools, agents,
			func(w *world, token string, g target) answer {
				return w.send(token, "POST", "/mcp/a/"+g.agent+"/request", listRequest(tools))
			},
			func(w *world, token string, g target) answer {
				return w.send(token, "POST", "/mcp/a/"+g.agent+"/request", callRequest(tools, g.name()))
			},
		},
		{"/mcp/tools", tools, joined, own("/mcp/tools"), nil},
		{"/mcp/a/tools", tools, agents, func(w *world, token string, g target) answer {
			return w.send(token, "GET", "/mcp/a/"+g.agent+"/tools", "")
		}, nil},
		{"/mcp/call", tools, named, nil, func(w *world, token string, g target) answer {
			return w.send(token, "POST", "/mcp/call", bridgeBody(g))
		}},
		{"/mcp/a/call", tools, agentsOne, nil, func(w *world, token string, g target) answer {
			return w.send(token, "POST", "/mcp/a/"+g.agent+"/call", bridgeBody(g))
		}},
		{"REST", tools, joined, own("/api/v1/tools"), func(w *world, token string, g target) answer {
			return w.api(token, "POST", "/tools/"+g.name()+"/call", `{"arguments":{}}`)
		}},
		{"REST, search", tools, joined, own("/api/v1/tools?q=count+tool"), nil},
		{"REST, of an agent", tools, ofAgent, func(w *world, token string, g target) answer {
			return w.api(token, "GET", "/agents/"+g.agent+"/tools", "")
		}, nil},
	}
}

// namesIn reads a list: of MCP, of a result alone, or of the admin API. A refusal
// shows nothing.
func namesIn(a answer) []string {
	var message struct {
		Result *struct {
			Tools, Prompts []struct{ Name string }
			Resources      []struct{ URI string }
		}
		Tools []struct{ Name string }
		Items []struct{ Exposed string }
	}
	out := []string{}
	if a.status != http.StatusOK || json.Unmarshal([]byte(a.body), &message) != nil {
		return out
	}
	list := message.Tools
	if message.Result != nil {
		list = slices.Concat(message.Result.Tools, message.Result.Prompts)
		for _, r := range message.Result.Resources {
			out = append(out, r.URI)
		}
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

// hasRun says whether an answer is that of a tool.
func hasRun(a answer) bool { return a.status == http.StatusOK && strings.Contains(a.body, `"ran `) }

// verdict is what the model says of a call: why not, and what the refusal is
// about where it is the endpoint itself.
type verdict struct {
	why  catalog.Reason
	kind string // tool, prompt or resource, server or agent
}

// judge says what a call through an endpoint leads to.
func (t *tenant) judge(p *principal, v view, g target) verdict {
	switch v {
	case single:
		if why := t.mayEnter(p, g.server); why != "" {
			return verdict{why, "server"}
		}
	case agents, agentsOne:
		acting, why := t.actAs(p, g.agent)
		if why != "" {
			return verdict{why, "agent"}
		}
		p = acting
	}
	why := t.mayUse(p, v == joined || v == agents, g.kind, g.server, g.tool)
	if why == "" && !p.has("tools:call") {
		why = noCall
	}
	return verdict{why, g.kind}
}

// visibleItems says what a list through an endpoint holds.
func (t *tenant) visibleItems(p *principal, v view, g target) []string {
	switch v {
	case single:
		if t.mayEnter(p, g.server) != "" {
			return []string{}
		}
		list := t.list(p, false, g.kind, g.server)
		for i, name := range list {
			list[i] = strings.TrimPrefix(name, joinedName(g.kind, g.server, ""))
		}
		return list
	case agents:
		acting, why := t.actAs(p, g.agent)
		if why != "" {
			return []string{}
		}
		return t.list(acting, true, g.kind, serverNames()...)
	case ofAgent:
		a := t.agents[g.agent]
		if a == nil || a.disabled || !p.has("tools:read") || p.agent != "" && p.agent != g.agent {
			return []string{}
		}
		both := []string{}
		for _, server := range serverNames() {
			if t.mayEnter(p, server) == "" {
				both = append(both, server)
			}
		}
		return t.list(&principal{agent: g.agent, scopes: []string{"tools:read"}}, true, tools, both...)
	}
	return t.list(p, true, g.kind, serverNames()...)
}
