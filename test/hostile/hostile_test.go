// Package hostile runs an App that wants out, in a real browser, in the console
// of the whole program. Every way out that it tries must be closed and stand in
// its log, and a server that stands in for the rest of the world counts what
// reached it: nothing.
package hostile

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/junctor-mcp/junctor/test/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

// outsideWorld is everything outside: whatever reaches it is a leak.
type outsideWorld struct {
	url string
	udp string // port

	mu   sync.Mutex
	came []string
}

func newWorld(t *testing.T) *outsideWorld {
	t.Helper()
	w := &outsideWorld{}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.recordRequest(r.Method + " " + r.URL.String())
		fmt.Fprint(rw, "got it")
	}), ConnState: func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			w.recordRequest("a TCP connection")
		}
	}}
	go func() { _ = s.Serve(l) }()
	packets, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		buf := make([]byte, 2048)
		for {
			n, _, err := packets.ReadFrom(buf)
			if err != nil {
				return
			}
			w.recordRequest(fmt.Sprintf("a packet of %d bytes", n))
		}
	}()
	t.Cleanup(func() {
		_ = s.Close()
		_ = packets.Close()
	})
	w.url = "http://" + l.Addr().String()
	_, w.udp, _ = net.SplitHostPort(packets.LocalAddr().String())
	return w
}

func (w *outsideWorld) recordRequest(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.came = append(w.came, what)
}

// listLeaks gives what came, and forgets it.
func (w *outsideWorld) listLeaks() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	came := w.came
	w.came = nil
	return came
}

// calls counts what tools were really called.
type calls struct {
	mu   sync.Mutex
	made map[string]int
}

func (c *calls) tool(name string) mcp.ToolHandlerFor[map[string]any, any] {
	return func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, any, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.made[name]++
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: name + " was called"}}}, nil, nil
	}
}

func (c *calls) count(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.made[name]
}

const pageType = "text/html;profile=mcp-app"

func serve(t *testing.T, s *mcp.Server) string {
	t.Helper()
	h := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	t.Cleanup(func() {
		_ = h.Config.Close() // streams too, which Close would wait for
		h.Close()
	})
	return h.URL
}

func addPage(s *mcp.Server, uri, html string, meta map[string]any) {
	s.AddResource(&mcp.Resource{URI: uri, Name: uri, MIMEType: pageType}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: pageType, Text: html, Meta: mcp.Meta{"ui": meta}}}}, nil
	})
}

func uiMeta(uri string, visibility ...string) mcp.Meta {
	m := map[string]any{}
	if uri != "" {
		m["resourceUri"] = uri
	}
	if visibility != nil {
		m["visibility"] = visibility
	}
	return mcp.Meta{"ui": m}
}

// rig is a console with the hostile server and one with something to lose.
type rig struct {
	*program.Console
	world *outsideWorld
	calls *calls
}

func startRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{program.StartConsole(t), newWorld(t), &calls{made: map[string]int{}}}
	r.Tell(t, "user", "add", "vera", "--role", "admin")
	r.Tell(t, "server", "add", "hostile", serve(t, r.hostile(t)))
	r.Tell(t, "server", "add", "bank", serve(t, r.bank()))
	return r
}

// hostile is a server with two Apps: one that tries everything while it stays,
// and one that leaves. Their metadata tries to get into the policy.
func (r *rig) hostile(t *testing.T) *mcp.Server {
	t.Helper()
	text, err := os.ReadFile("testdata/hostile.html")
	if err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(r.URL)
	if err != nil {
		t.Fatal(err)
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "hostile", Version: "1"}, nil)
	for _, last := range []string{"all", "leave"} {
		html := strings.NewReplacer("__SINK__", r.world.url, "__UDP__", r.world.udp, "__CONSOLE__", "http://console.junctor.localhost:"+at.Port(),
			"__BASE__", "junctor.localhost", "__LAST__", last).Replace(string(text))
		uri := "ui://hostile/" + last + ".html"
		addPage(s, uri, html, map[string]any{
			"csp": map[string]any{
				"connectDomains":  []string{"*", "'unsafe-eval'", "https://a.example; script-src *", "data:", "http:", "https://a.example " + r.world.url, "https://a.example\n" + r.world.url, "https://a.example,*"},
				"resourceDomains": []string{"'unsafe-eval'", "*", "blob:", "http://*", "https://b.example'; frame-src *"},
				"frameDomains":    []string{"*", "data:", "javascript:"},
				"baseUriDomains":  []string{"*"},
			},
			"domain": "console.junctor.localhost",
		})
		mcp.AddTool(s, &mcp.Tool{Name: last, Description: "An App that wants out.", Meta: uiMeta(uri)}, r.calls.tool(last))
	}
	mcp.AddTool(s, &mcp.Tool{Name: "own", Meta: uiMeta("", "app")}, r.calls.tool("own"))
	mcp.AddTool(s, &mcp.Tool{Name: "for-models", Meta: uiMeta("", "model")}, r.calls.tool("for-models"))
	mcp.AddTool(s, &mcp.Tool{Name: "for-nobody", Meta: uiMeta("", []string{}...)}, r.calls.tool("for-nobody"))
	return s
}

func (r *rig) bank() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "bank", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "transfer", Meta: uiMeta("", "app")}, r.calls.tool("transfer"))
	addPage(s, "ui://bank/page.html", "<p>accounts-canary</p>", map[string]any{})
	mcp.AddTool(s, &mcp.Tool{Name: "accounts", Meta: uiMeta("ui://bank/page.html")}, r.calls.tool("accounts"))
	s.AddResource(&mcp.Resource{URI: "bank://accounts", Name: "accounts"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "bank://accounts", Text: "accounts-canary"}}}, nil
	})
	s.AddPrompt(&mcp.Prompt{Name: "advice"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "accounts-canary"}}}}, nil
	})
	return s
}

// run drives the browser; the last line that the script prints is what it saw.
func (r *rig) run(t *testing.T, into any, args ...string) {
	t.Helper()
	out, err := r.Node.Run(t, 8*time.Minute, "hostile.mjs", args...)
	if err != nil {
		t.Fatalf("hostile.mjs: %v\n%s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), into); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func TestEscapes(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	r.world.listLeaks() // what starting made
	var got struct {
		Tried  map[string]string
		Log    []string // what stands in the View's log
		Policy string
		Errors []string
	}
	r.run(t, &got, "escapes", r.Link(t, "ada"))
	if len(got.Tried) < 60 {
		t.Errorf("only %d ways out were tried", len(got.Tried))
	}
	log := strings.Join(got.Log, "\n")
	for name, outcome := range got.Tried {
		if !strings.HasPrefix(outcome, "blocked") {
			t.Errorf("%s: %s", name, outcome)
		}
		if !strings.Contains(log, `"attempt":"`+name+`"`) {
			t.Errorf("%s: the View's log does not have it", name)
		}
	}
	if came := r.world.listLeaks(); len(came) > 0 {
		t.Errorf("outside arrived: %q", came)
	}
	for _, tool := range []string{"own", "for-models", "for-nobody", "transfer", "accounts"} {
		if n := r.calls.count(tool); n != 0 {
			t.Errorf("%s was called %d times", tool, n)
		}
	}
	if strings.Contains(log, "accounts-canary") {
		t.Error("something of the bank is in the log")
	}
	// What the host or the browser's policy stopped, it wrote down itself.
	for _, want := range []string{
		"connect-src", "img-src", "script-src", "style-src", "font-src", "media-src", "frame-src", "object-src", "base-uri",
		"reserved for the proxy", "bypassed the proxy", "too large", "too many messages at once", "The message is not JSON-RPC", "matches no request", "Only http and https links",
	} {
		if !strings.Contains(log, want) {
			t.Errorf("the log has nothing of %q", want)
		}
	}
	for _, bad := range []string{"*", "unsafe-eval", "a.example", "b.example", "data: http", r.world.url} {
		if strings.Contains(got.Policy, bad) {
			t.Errorf("%q came into the policy: %s", bad, got.Policy)
		}
	}
	for _, e := range got.Errors {
		t.Errorf("on the console: %s", e)
	}
	t.Logf("figure: %d escape attempts of a hostile App in Chromium: all blocked and logged; 0 requests, connections or packets reached the network", len(got.Tried))
}

// TestLeaving is an App that goes elsewhere: nothing arrives there, and the
// person is told.
func TestLeaving(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	r.world.listLeaks()
	var got map[string]string
	r.run(t, &got, "leave", r.Link(t, "ada"))
	for _, way := range []string{"navigate", "form", "meta", "window", "script"} {
		if got[way] == "" {
			t.Errorf("%s was not tried", way)
		}
	}
	t.Logf("%v", got)
	if came := r.world.listLeaks(); len(came) > 0 {
		t.Errorf("outside arrived: %q", came)
	}
}

// TestApart is two people with two Views each: nobody has anything of another's,
// and a View ends with its session.
func TestApart(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	var got struct{ Seen []string }
	r.run(t, &got, "apart", r.Link(t, "ada"), r.Link(t, "vera"))
	for _, s := range got.Seen {
		t.Error(s)
	}
}
