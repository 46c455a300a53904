package apps

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/junctor-mcp/junctor/test/program"
)

const pageType = "text/html;profile=mcp-app"

// greeting is the least that a page says to its host.
const greeting = `<!doctype html><meta charset="utf-8"><title>state</title><p id="text">%s</p><button id="go">Go</button><script>
let n = 1; const waiting = new Map();
const post = (m) => parent.postMessage({jsonrpc: "2.0", ...m}, "*");
window.ask = (method, params) => new Promise((done) => { waiting.set(n, done); post({id: n++, method, params}); });
addEventListener("message", (e) => {
  const m = e.data;
  if (m.id !== undefined && !m.method) waiting.get(m.id)?.(m);
  else if (m.id !== undefined) post({id: m.id, result: {}});
});
window.begin = async () => {
  window.hello = (await ask("ui/initialize", {appInfo: {name: "state", version: "1"}, appCapabilities: {availableDisplayModes: ["inline", "fullscreen", "pip"]}, protocolVersion: "2026-01-26"})).result;
  post({method: "ui/notifications/initialized", params: {}});
};
%s</script>`

// newStates starts a server whose Apps fail, each in its way. GET /change gives
// its page other words; GET /die ends its answers.
func newStates(t *testing.T) (mcpURL, control string) {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "states", Version: "1"}, nil)
	var words atomic.Int32
	var dead atomic.Bool
	add := func(name, script string) {
		uri := "ui://states/" + name + ".html"
		s.AddResource(&mcp.Resource{URI: uri, Name: name, MIMEType: pageType}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			text := fmt.Sprintf(greeting, fmt.Sprintf("%s %d", name, words.Load()), script)
			meta := mcp.Meta{"ui": map[string]any{"prefersBorder": name != "plain", "domain": "https://states.example"}}
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: pageType, Text: text, Meta: meta}}}, nil
		})
		mcp.AddTool(s, &mcp.Tool{Name: name, Title: "State " + name, Meta: mcp.Meta{"ui": map[string]any{"resourceUri": uri}}},
			func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, any, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "said without an App: " + name}}}, nil, nil
			})
	}
	add("mute", ``)
	add("loops", `begin(); document.getElementById("go").onclick = () => { for (;;) {} };`)
	add("plain", `begin();`)
	add("asks", `begin(); document.getElementById("go").onclick = async () => { document.getElementById("text").textContent = JSON.stringify(await ask("tools/call", {name: "asks", arguments: {}})); };`)
	add("changes", `begin();`)
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/change":
			words.Add(1)
			s.AddResource(&mcp.Resource{URI: "states://news", Name: "news"}, nil) // so that the list is told to have changed
		case r.URL.Path == "/die":
			dead.Store(true)
		case r.URL.Path == "/live":
			dead.Store(false)
		case dead.Load():
			panic(http.ErrAbortHandler)
		default:
			handler.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() {
		_ = h.Config.Close() // streams too, which Close would wait for
		h.Close()
	})
	return h.URL, h.URL
}

// TestStates shows what a person sees of Apps that do not work: one that never
// begins, one that hangs, one whose server is gone, one whose page is another
// than was approved.
func TestStates(t *testing.T) {
	t.Parallel()
	r := start(t)
	url, control := newStates(t)
	r.Tell(t, "server", "add", "states", url)
	out := r.run(t, "apps.mjs", "states", r.Link(t, "ada"), control)
	if !strings.Contains(out, "never begins") {
		t.Error("not all states were seen")
	}
}

// TestHostContext holds every member of the host context to what is true in the
// browser, and to what it is told when that changes.
func TestHostContext(t *testing.T) {
	t.Parallel()
	r := start(t)
	url, _ := newStates(t)
	r.Tell(t, "server", "add", "states", url)
	r.run(t, "apps.mjs", "context", r.Link(t, "ada"))
}

// TestBareAddress shows an App where Views have no names of their own: it gets no
// origin, the person is told so, and it works all the same. It also hears what
// happens at its server, and is asked for tools of its own.
func TestBareAddress(t *testing.T) {
	t.Parallel()
	at := program.FreeAddr(t)
	r := start(t, "--sandbox-listen", at, "--sandbox-url", "http://"+at)
	url, control := newStates(t)
	r.Tell(t, "server", "add", "states", url)
	r.run(t, "apps.mjs", "bare", r.Link(t, "ada"), control)
}
