package apps_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

// shop is an MCP server with Apps, of the era of sessions and without any: it
// answers each request by itself.
type shop struct {
	*httptest.Server
	page  atomic.Value // string
	meta  atomic.Value // string: _meta of the page's content
	calls atomic.Int64
	reads atomic.Int64 // of the page
}

const shopTools = `[
	{"name":"show","title":"Show","inputSchema":{"type":"object","properties":{"n":{"type":"integer"}}},"_meta":{"ui":{"resourceUri":"ui://shop/page.html"},"ui/resourceUri":"ui://shop/page.html"}},
	{"name":"poll","inputSchema":{"type":"object"},"_meta":{"ui":{"visibility":["app"]}}},
	{"name":"think","inputSchema":{"type":"object"},"_meta":{"ui":{"visibility":["model"]}}},
	{"name":"never","inputSchema":{"type":"object"},"_meta":{"ui":{"visibility":[]}}}
]`

func newShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{}
	s.page.Store("<!doctype html><p>héllo</p>")
	s.meta.Store(`{"ui":{"csp":{"connectDomains":["https://api.example.com","*","https://x.example; script-src *"]},"permissions":{"camera":{}},"prefersBorder":false,"domain":"https://shop.example"}}`)
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *shop) serve(w http.ResponseWriter, r *http.Request) {
	var in struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Name, URI string
		}
	}
	if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&in) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	if in.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	answer := func(result string) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":` + string(in.ID) + `,` + result + `}`))
	}
	text := func(v string) string { b, _ := json.Marshal(v); return string(b) }
	switch in.Method {
	case "initialize":
		answer(`"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{}},"serverInfo":{"name":"shop","version":"1"}}`)
	case "tools/list":
		answer(`"result":{"tools":` + shopTools + `}`)
	case "resources/list":
		answer(`"result":{"resources":[{"uri":"ui://shop/page.html","name":"page","mimeType":"text/html;profile=mcp-app"},{"uri":"shop://stock","name":"stock"}]}`)
	case "resources/templates/list":
		answer(`"result":{"resourceTemplates":[]}`)
	case "resources/read":
		if in.Params.URI == "shop://stock" {
			answer(`"result":{"contents":[{"uri":"shop://stock","text":"7"}]}`)
			return
		}
		s.reads.Add(1)
		answer(`"result":{"contents":[{"uri":"ui://shop/page.html","mimeType":"text/html;profile=mcp-app","text":` + text(s.page.Load().(string)) + `,"_meta":` + s.meta.Load().(string) + `}]}`) //nolint:forcetypeassert // a string is stored
	case "tools/call":
		s.calls.Add(1)
		answer(`"result":{"content":[{"type":"text","text":` + text(in.Params.Name) + `}]}`)
	default:
		answer(`"error":{"code":-32601,"message":"unknown method"}`)
	}
}

// stage is an instance with a shop.
type stage struct {
	*testkit.Instance
	shop *shop
}

func newStage(t *testing.T, s testkit.Settings) *stage {
	t.Helper()
	settings := testkit.Settings{"egress-allow": "127.0.0.0/8"}
	maps.Copy(settings, s)
	st := &stage{testkit.Start(t, settings), newShop(t)}
	st.ok(t, http.StatusCreated, "POST", "/servers", `{"id":"shop","url":"`+st.shop.URL+`"}`)
	return st
}

// ok asks the API for something and holds it to its status.
func (s *stage) ok(t *testing.T, status int, method, path, body string, header ...string) string {
	t.Helper()
	r := s.Do(t, method, "/api/v1"+path, body, header...)
	if r.Status != status {
		t.Fatalf("%s %s: %d %s", method, path, r.Status, r.Body)
	}
	return r.Body
}

// read reads an answer.
func read[T any](t *testing.T, text string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

func (s *stage) open(t *testing.T, header ...string) junctor.View {
	t.Helper()
	return read[junctor.View](t, s.ok(t, http.StatusCreated, "POST", "/views", `{"tool":"shop__show"}`, header...))
}

// browse asks the second listener for a page by its address, as a browser would
// that knows whom the name belongs to.
func (s *stage) browse(t *testing.T, method, page, body string) testkit.Reply {
	t.Helper()
	u, err := url.Parse(page)
	if err != nil {
		t.Fatal(err)
	}
	at := &testkit.Instance{URL: "http://127.0.0.1:" + u.Port()}
	return at.Do(t, method, u.RequestURI(), body, "Host: "+u.Host, "Authorization:")
}

func (s *stage) rpc(t *testing.T, id, body string, header ...string) string {
	t.Helper()
	return strings.TrimSpace(s.ok(t, http.StatusOK, "POST", "/views/"+id+"/rpc", body, header...))
}

func TestViewIsServedOnItsOwnOrigin(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	v := s.open(t)
	if !strings.HasPrefix(v.Proxy, "http://p-"+v.ID+".junctor.localhost:") || !strings.HasPrefix(v.Page, "http://a-"+v.ID+".junctor.localhost:") || v.Isolation != junctor.IsolationOrigin {
		t.Errorf("the View stands at %s and %s", v.Proxy, v.Page)
	}
	if v.PrefersBorder == nil || *v.PrefersBorder || v.Domain != "https://shop.example" || len(v.Refused) != 2 || v.State != junctor.ViewOpen {
		t.Errorf("the View is %+v", v)
	}
	if diff := cmp.Diff([]string{"https://api.example.com"}, v.CSP.Connect); diff != "" {
		t.Error(diff)
	}
	page := s.browse(t, "GET", v.Page, "")
	if page.Status != http.StatusOK || page.Body != "<!doctype html><p>héllo</p>" {
		t.Fatalf("%d %s", page.Status, page.Body)
	}
	for name, want := range map[string]string{
		"Content-Security-Policy": v.Policy, "Connection-Allowlist": `(response-origin "https://api.example.com")`, "X-Content-Type-Options": "nosniff",
		"Referrer-Policy": "no-referrer", "Cache-Control": "no-store", "Origin-Agent-Cluster": "?1", "Content-Type": "text/html; charset=utf-8",
	} {
		if got := page.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if strings.Contains(v.Policy, "script-src *") || !strings.Contains(v.Policy, "frame-ancestors "+v.ProxyOrigin+" "+s.URL) {
		t.Error(v.Policy)
	}
	proxy := s.browse(t, "GET", v.Proxy, "")
	policy := proxy.Header.Get("Content-Security-Policy")
	if proxy.Status != http.StatusOK || !strings.Contains(policy, "frame-src "+v.Origin+";") || !strings.Contains(policy, "frame-ancestors "+s.URL+";") {
		t.Errorf("%d, policy %s", proxy.Status, policy)
	}
	if !strings.Contains(proxy.Body, `data-host="`+s.URL+`"`) || !strings.Contains(proxy.Body, `data-permissions="camera"`) {
		t.Errorf("the proxy is %s", proxy.Body[:700])
	}
}

func TestAppViewUsesOnlyItsServer(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	v := s.open(t)
	unknown := func(name string) string {
		return `{"error":{"code":-32602,"message":"unknown tool \"` + name + `\"; tools/list shows the available tools"}}`
	}
	for _, tc := range []struct{ name, ask, want string }{
		{"its tool", `{"method":"tools/call","params":{"name":"show","arguments":{"n":1}}}`, `{"result":{"content":[{"type":"text","text":"show"}]}}`},
		{"a tool for pages alone", `{"method":"tools/call","params":{"name":"poll"}}`, `{"result":{"content":[{"type":"text","text":"poll"}]}}`},
		{"a tool for models alone", `{"method":"tools/call","params":{"name":"think"}}`, unknown("think")},
		{"a tool for nobody", `{"method":"tools/call","params":{"name":"never"}}`, unknown("never")},
		{"a tool that there is not", `{"method":"tools/call","params":{"name":"qwxyz"}}`, unknown("qwxyz")},
		{"another server's tool", `{"method":"tools/call","params":{"name":"demo__echo"}}`, unknown("demo__echo")},
		{"its tool by its name elsewhere", `{"method":"tools/call","params":{"name":"shop__think"}}`, unknown("shop__think")},
		{"its resource", `{"method":"resources/read","params":{"uri":"shop://stock"}}`, `{"result":{"contents":[{"uri":"shop://stock","text":"7"}]}}`},
		{"ping", `{"method":"ping"}`, `{"result":{}}`},
		{"what is not for Views", `{"method":"logging/setLevel","params":{}}`, `{"error":{"code":-32601,"message":"an App view cannot request logging/setLevel here"}}`},
		{"no name", `{"method":"tools/call","params":{}}`, `{"error":{"code":-32602,"message":"the params of tools/call lack a required member, or have the wrong type"}}`},
		{"context for the model", `{"method":"ui/update-model-context","params":{"structuredContent":{"a":1}}}`, `{"result":{}}`},
	} {
		if got := s.rpc(t, v.ID, tc.ask); got != tc.want {
			t.Errorf("%s:\n got %s\nwant %s", tc.name, got, tc.want)
		}
	}
	if n := s.shop.calls.Load(); n != 2 {
		t.Errorf("the server was called %d times", n)
	}
	list := s.rpc(t, v.ID, `{"method":"tools/list"}`)
	if strings.Contains(list, `"think"`) || strings.Contains(list, `"never"`) || !strings.Contains(list, `"poll"`) {
		t.Errorf("its tools are %s", list)
	}
	after := read[junctor.View](t, s.ok(t, 200, "GET", "/views/"+v.ID, ""))
	if string(after.ModelContext) != `{"structuredContent":{"a":1}}` {
		t.Errorf("the model is told %s", after.ModelContext)
	}
	calls := read[struct{ Items []junctor.Call }](t, s.ok(t, 200, "GET", "/calls?server=shop&tool=poll", ""))
	if len(calls.Items) != 1 || calls.Items[0].EntryPoint != junctor.EntryAppView || calls.Items[0].View != v.ID {
		t.Fatalf("on record is %+v", calls.Items)
	}
	// The journal and the history know which calls are the View's own.
	s.ok(t, 200, "POST", "/tools/shop__show/call", `{"arguments":{}}`)
	other := s.open(t)
	s.rpc(t, other.ID, `{"method":"tools/call","params":{"name":"poll"}}`)
	for _, list := range []string{"/calls?view=", "/calls/history?view="} {
		poll.Until(t, "the call in "+list, time.Minute, func() bool {
			mine := read[struct{ Items []junctor.Call }](t, s.ok(t, 200, "GET", list+v.ID, "")).Items
			for _, c := range mine {
				if c.View != v.ID {
					t.Fatalf("%s: another's call: %+v", list, c)
				}
			}
			return slices.ContainsFunc(mine, func(c junctor.Call) bool { return c.ID == calls.Items[0].ID })
		})
	}
}

// person is somebody with a key of their own.
func (s *stage) person(t *testing.T, name string) (header string) {
	t.Helper()
	s.ok(t, http.StatusCreated, "POST", "/users", `{"name":"`+name+`","role":"developer"}`)
	r := read[struct{ Key string }](t, s.ok(t, http.StatusCreated, "POST", "/keys", `{"name":"`+name+`","user":"`+name+`","scopes":["tools:read","tools:call"]}`))
	return "Authorization: Bearer " + r.Key
}

func TestAppViewsOfOthersAreNotFound(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	ann, bob := s.person(t, "ann"), s.person(t, "bob")
	v := s.open(t, ann)
	for _, who := range []string{bob, ""} {
		header := []string{}
		if who != "" {
			header = append(header, who)
		}
		s.ok(t, 404, "GET", "/views/"+v.ID, "", header...)
		s.ok(t, 404, "GET", "/views/"+v.ID+"/log", "", header...)
		s.ok(t, 404, "POST", "/views/"+v.ID+"/rpc", `{"method":"tools/call","params":{"name":"poll"}}`, header...)
		s.ok(t, 404, "POST", "/views/"+v.ID+"/log", `{"entries":[]}`, header...)
		s.ok(t, 404, "DELETE", "/views/"+v.ID, "", header...)
		if list := s.ok(t, 200, "GET", "/views", "", header...); strings.Contains(list, v.ID) {
			t.Errorf("another's list has it: %s", list)
		}
	}
	if n := s.shop.calls.Load(); n != 0 {
		t.Errorf("the server was called %d times", n)
	}
	s.ok(t, 200, "GET", "/views/"+v.ID, "", ann)
	s.ok(t, 204, "DELETE", "/views/"+v.ID, "", ann)
	s.ok(t, 404, "GET", "/views/"+v.ID, "", ann)
	if r := s.browse(t, "GET", v.Page, ""); r.Status != http.StatusNotFound {
		t.Errorf("the page of a View that is closed: %d", r.Status)
	}
}

func TestViewDiesWithItsSession(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	made := read[struct{ ID, Key string }](t, s.ok(t, http.StatusCreated, "POST", "/keys", `{"name":"k","scopes":["tools:read","tools:call"]}`))
	key := "Authorization: Bearer " + made.Key
	v := s.open(t, key)
	if r := s.browse(t, "GET", v.Page, ""); r.Status != http.StatusOK {
		t.Fatalf("the page: %d", r.Status)
	}
	s.ok(t, 204, "DELETE", "/keys/"+made.ID, "")
	for _, page := range []string{v.Page, v.Proxy} {
		if r := s.browse(t, "GET", page, ""); r.Status != http.StatusNotFound {
			t.Errorf("%s after its session: %d", page, r.Status)
		}
	}
	s.ok(t, 401, "POST", "/views/"+v.ID+"/rpc", `{"method":"ping"}`, key)
}

func TestApprovalIsForOnePage(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	app := read[junctor.App](t, s.ok(t, 200, "GET", "/apps/shop__show", ""))
	if app.Approval.State != junctor.ApprovalNone || app.Profile != junctor.AppStrict || strings.Contains(app.Policy, "'unsafe-eval'") || !app.Read {
		t.Fatalf("%+v", app)
	}
	if diff := cmp.Diff([]string{"show", "poll"}, app.Tools); diff != "" {
		t.Error(diff)
	}
	s.ok(t, 409, "PUT", "/apps/shop__show/approval", `{"digest":"`+strings.Repeat("0", 64)+`"}`)
	s.ok(t, 200, "PUT", "/apps/shop__show/approval", `{"digest":"`+app.Digest+`"}`)
	if v := s.open(t); v.Profile != junctor.AppCompatible || !strings.Contains(s.browse(t, "GET", v.Page, "").Header.Get("Content-Security-Policy"), "'unsafe-eval'") {
		t.Errorf("an approved page runs as %s", v.Profile)
	}
	listed := read[struct{ Items []junctor.App }](t, s.ok(t, 200, "GET", "/apps", "")).Items
	if len(listed) != 1 || listed[0].Approval.State != junctor.ApprovalGiven || listed[0].Profile != junctor.AppCompatible || len(listed[0].Tools) > 0 {
		t.Errorf("an approved App is listed as %+v", listed)
	}
	open := s.open(t)
	s.shop.page.Store("<!doctype html><p>another</p>")
	v := read[junctor.View](t, s.ok(t, http.StatusCreated, "POST", "/views", `{"tool":"shop__show","fresh":true}`))
	if v.Profile != junctor.AppStrict || v.Approval.State != junctor.ApprovalChanged || len(v.Notes) == 0 || strings.Contains(v.Policy, "'unsafe-eval'") {
		t.Errorf("a page that changed after its approval: %s, %+v, %v", v.Profile, v.Approval, v.Notes)
	}
	if state := read[junctor.View](t, s.ok(t, 200, "GET", "/views/"+open.ID+"?check=true", "")).State; state != junctor.ViewChanged {
		t.Errorf("the View of the former page is %s", state)
	}
	s.ok(t, 204, "DELETE", "/apps/shop__show/approval", "")
	s.ok(t, 404, "GET", "/views/"+open.ID, "") // it could do more than it may
	if v := s.open(t); v.Approval.State != junctor.ApprovalNone {
		t.Errorf("after the approval was taken back: %+v", v.Approval)
	}
	s.ok(t, 200, "POST", "/servers/shop/disable", "")
	if state := read[junctor.View](t, s.ok(t, 200, "GET", "/views/"+v.ID, "")).State; state != junctor.ViewRemoved {
		t.Errorf("the View of a server that is gone is %s", state)
	}
}

func TestOpaqueViewHasNoOrigin(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	v := read[junctor.View](t, s.ok(t, http.StatusCreated, "POST", "/views", `{"tool":"show","server":"shop","isolation":"opaque"}`))
	if v.Origin != "null" || v.Isolation != junctor.IsolationOpaque || !strings.HasSuffix(v.Page, "/a/"+v.ID) || len(v.Notes) == 0 {
		t.Errorf("%+v", v)
	}
	page, proxy := s.browse(t, "GET", v.Page, ""), s.browse(t, "GET", v.Proxy, "")
	if policy := page.Header.Get("Content-Security-Policy"); page.Status != 200 || !strings.Contains(policy, "; sandbox allow-scripts allow-forms") {
		t.Errorf("%d %s", page.Status, policy)
	}
	if policy := proxy.Header.Get("Content-Security-Policy"); proxy.Status != 200 || !strings.Contains(policy, "frame-src "+v.Page+";") {
		t.Errorf("%d %s", proxy.Status, policy)
	}
}

func TestReportsAreInTheLog(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	v := s.open(t)
	const report = `{"csp-report":{"effective-directive":"img-src","blocked-uri":"https://evil.example/x.png","document-uri":"d"}}`
	if r := s.browse(t, "POST", v.Page+"r/"+v.ID, report); r.Status != http.StatusNoContent {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	for _, bad := range []string{`{}`, `x`, `{"csp-report":1}`} {
		if r := s.browse(t, "POST", v.Page+"r/"+v.ID, bad); r.Status != http.StatusBadRequest {
			t.Errorf("%s: %d", bad, r.Status)
		}
	}
	s.ok(t, 204, "POST", "/views/"+v.ID+"/log", `{"entries":[{"kind":"sent","method":"ui/initialize","detail":{"a":1}}]}`)
	log := read[struct{ Items []junctor.ViewEntry }](t, s.ok(t, 200, "GET", "/views/"+v.ID+"/log?after=1", "")).Items
	if len(log) != 2 || log[0].Kind != "violation" || log[0].Source != "sandbox" || !strings.Contains(string(log[0].Detail), "evil.example") || log[1].Source != "console" {
		t.Errorf("the log is %+v", log)
	}
}

// Only the names that a View was given show it, to every caller and in every way.
func TestSandboxShowsNothingElse(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	v, w := s.open(t), s.open(t)
	for _, page := range []string{
		strings.Replace(v.Page, "a-"+v.ID, "a-"+w.ID+"x", 1), strings.Replace(v.Page, "a-", "b-", 1), strings.Replace(v.Page, ".junctor.localhost", ".evil.example", 1),
		v.Page + "x", v.Page + "?", v.Page + "a/" + w.ID, strings.Replace(v.Page, "a-"+v.ID+".", "", 1), strings.Replace(v.Page, "a-"+v.ID+".junctor.localhost", "127.0.0.1", 1) + "a/" + v.ID,
	} {
		if r := s.browse(t, "GET", page, ""); r.Status != http.StatusNotFound && !strings.HasSuffix(page, "?") {
			t.Errorf("%s: %d", page, r.Status)
		}
	}
	if r := s.browse(t, "PUT", v.Page, ""); r.Status != http.StatusMethodNotAllowed {
		t.Errorf("PUT: %d", r.Status)
	}
}

// A page is fetched once, for all users and entry points, until its
// server may have another.
func TestPageIsFetchedOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	ann := s.person(t, "ann")
	first := s.open(t)
	for range 3 {
		if v := s.open(t, ann); v.Digest != first.Digest {
			t.Errorf("another page: %s", v.Digest)
		}
	}
	const read = `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"ui://shop/shop/page.html","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	endpoint := s.Do(t, "POST", "/mcp", read, "MCP-Protocol-Version: 2026-07-28", "Mcp-Method: resources/read", "Mcp-Name: ui://shop/shop/page.html")
	if !strings.Contains(endpoint.Body, `"uri":"ui://shop/shop/page.html"`) || !strings.Contains(endpoint.Body, "héllo") {
		t.Errorf("at the endpoint: %s", endpoint.Body)
	}
	if n := s.shop.reads.Load(); n != 1 {
		t.Errorf("the page was fetched %d times", n)
	}
	s.ok(t, 200, "GET", "/views/"+first.ID+"?check=true", "") // it asks for what is there now
	if n := s.shop.reads.Load(); n != 2 {
		t.Errorf("the page was fetched %d times, with a check", n)
	}
}
