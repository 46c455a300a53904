package servers

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/junctor-mcp/junctor/internal/egress"
	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

// peer is an MCP server of the official SDK behind an endpoint that wants a token.
type peer struct {
	*httptest.Server
	sdk   *mcp.Server
	token atomic.Pointer[string] // nil wants none
	seen  atomic.Pointer[http.Header]
	down  atomic.Bool
}

func newPeer(t testing.TB) *peer {
	t.Helper()
	p := &peer{sdk: mcp.NewServer(&mcp.Implementation{Name: "peer", Version: "1"}, nil)}
	gone := make(chan struct{})
	type text struct {
		Text string `json:"text"`
	}
	mcp.AddTool(p.sdk, &mcp.Tool{Name: "echo", Description: "says it again"}, func(_ context.Context, _ *mcp.CallToolRequest, in text) (*mcp.CallToolResult, any, error) {
		if in.Text == "fail" {
			return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "failed"}}}, nil, nil
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}, nil, nil
	})
	mcp.AddTool(p.sdk, &mcp.Tool{Name: "wait"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		select {
		case <-ctx.Done():
		case <-gone:
		}
		return nil, nil, ctx.Err()
	})
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return p.sdk }, nil)
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := r.Header.Clone()
		p.seen.Store(&header)
		switch token := p.token.Load(); {
		case p.down.Load():
			w.WriteHeader(http.StatusInternalServerError)
		case token != nil && r.Header.Get("Authorization") != "Bearer "+*token:
			// A careless server repeats what it was sent.
			http.Error(w, "not valid: "+r.Header.Get("Authorization"), http.StatusUnauthorized)
		default:
			h.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() {
		close(gone)
		_ = p.Config.Close() // streams too, which Close would wait for
		p.Close()
	})
	return p
}

func (p *peer) wants(token string) { p.token.Store(&token) }

func start(t testing.TB, s testkit.Settings) *testkit.Instance {
	t.Helper()
	all := testkit.Settings{"egress-allow": "127.0.0.0/8"}
	maps.Copy(all, s)
	return testkit.Start(t, all)
}

func key(t testing.TB, i *testkit.Instance, scopes string) string {
	t.Helper()
	r := i.Do(t, "POST", "/api/v1/keys", `{"name":"k","scopes":["`+strings.ReplaceAll(scopes, ",", `","`)+`"]}`)
	var made struct{ Key string }
	if err := json.Unmarshal([]byte(r.Body), &made); err != nil || made.Key == "" {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	return made.Key
}

func as(token string) string { return "Authorization: Bearer " + token }

// operator asks through the socket.
func operator(t testing.TB, i *testkit.Instance, method, path, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://localhost"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := egress.Local(i.Dir + "/junctor.sock").Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var b strings.Builder
	buf := make([]byte, 4096)
	for {
		n, err := resp.Body.Read(buf)
		b.Write(buf[:n])
		if err != nil {
			return resp.StatusCode, b.String()
		}
	}
}

func add(t testing.TB, i *testkit.Instance, id string, p *peer, more string) {
	t.Helper()
	if r := i.Do(t, "POST", "/api/v1/servers", fmt.Sprintf(`{"id":%q,"url":%q%s}`, id, p.URL, more)); r.Status != 201 {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
}

func call(t testing.TB, i *testkit.Instance, tool, text string) testkit.Reply {
	t.Helper()
	return i.Do(t, "POST", "/api/v1/tools/"+tool+"/call", `{"arguments":{"text":"`+text+`"}}`)
}

func TestAServerIsAddedUsedChangedAndRemoved(t *testing.T) {
	t.Parallel()
	i, p := start(t, nil), newPeer(t)
	p.wants("s3cret-token")
	add(t, i, "notes", p, `,"title":"Notes","auth":{"type":"bearer","token":"s3cret-token"},"headers":{"X-Team":"blue-team"},"overrides":{"wait":{"hide":true},"echo":{"name":"say"}}`)
	if r := call(t, i, "notes__say", "hello"); r.Status != 200 || !strings.Contains(r.Body, "hello") {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	if h := *p.seen.Load(); h.Get("X-Team") != "blue-team" {
		t.Errorf("the header did not arrive: %v", h)
	}
	r := i.Do(t, "GET", "/api/v1/servers/notes", "")
	for _, want := range []string{`"state":"active"`, `"tools":["say"]`, `"secret":"***"`, `"X-Team":"***"`, `"connected":true`, `"era":"`} {
		if !strings.Contains(r.Body, want) {
			t.Errorf("%s is not in %s", want, r.Body)
		}
	}
	if r := i.Do(t, "POST", "/api/v1/servers/notes/test", ""); r.Status != 200 || !strings.Contains(r.Body, `"passed":["address","http","authentication","protocol","list"]`) {
		t.Errorf("test: %d %s", r.Status, r.Body)
	}
	if r := i.Do(t, "POST", "/api/v1/servers", fmt.Sprintf(`{"id":"notes","url":%q}`, p.URL)); r.Status != 409 {
		t.Errorf("twice: %d %s", r.Status, r.Body)
	}

	// Changed in place: the credential stays, the tools are back.
	if r := i.Do(t, "PATCH", "/api/v1/servers/notes", `{"overrides":{},"headers":{"X-Team":"***"}}`); r.Status != 200 {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	poll.Until(t, "an answer of notes__echo", time.Minute, func() bool { return call(t, i, "notes__echo", "again").Status == 200 })
	if r := i.Do(t, "POST", "/api/v1/servers/notes/disable", ""); r.Status != 200 {
		t.Errorf("%d %s", r.Status, r.Body)
	}
	if r := call(t, i, "notes__echo", "x"); r.Status != 404 {
		t.Errorf("switched off: %d %s", r.Status, r.Body)
	}
	if r := i.Do(t, "POST", "/api/v1/servers/notes/enable", ""); r.Status != 200 {
		t.Errorf("%d %s", r.Status, r.Body)
	}
	if r := call(t, i, "notes__echo", "x"); r.Status != 200 {
		t.Errorf("switched on: %d %s", r.Status, r.Body)
	}
	if r := i.Do(t, "DELETE", "/api/v1/servers/notes", ""); r.Status != 204 {
		t.Errorf("%d %s", r.Status, r.Body)
	}
	if r := i.Do(t, "GET", "/api/v1/secrets?owner=notes", ""); strings.Contains(r.Body, "conn-") {
		t.Errorf("credentials outlive their server: %s", r.Body)
	}
}

// What was not reached is not stored, whatever the reason, and a change that
// fails leaves everything as it was.
func TestNothingIsStoredThatWasNotReached(t *testing.T) {
	t.Parallel()
	i, p := start(t, nil), newPeer(t)
	p.wants("right-token")
	silent := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(silent.Close)
	closed := httptest.NewServer(nil)
	closed.Close()
	add(t, i, "kept", p, `,"auth":{"type":"bearer","token":"right-token"}`)
	state := func() string {
		return i.Do(t, "GET", "/api/v1/servers", "").Body + i.Do(t, "GET", "/api/v1/secrets", "").Body
	}
	before := state()
	for _, tt := range []struct {
		body, step string
		status     int
	}{
		{fmt.Sprintf(`{"url":%q,"auth":{"type":"bearer","token":"wrong-token"}}`, p.URL), "authentication", 502},
		{fmt.Sprintf(`{"url":%q,"auth":{"type":"none"},"headers":{"X-A":"abcdefgh"}}`, p.URL), "authentication", 502},
		{fmt.Sprintf(`{"url":%q,"auth":{"type":"bearer","token":"x-token"}}`, silent.URL), "protocol", 502},
		{fmt.Sprintf(`{"url":%q,"auth":{"type":"none"}}`, closed.URL), "address", 502},
		{`{"url":"https://no-such-host.invalid/mcp","auth":{"type":"none"}}`, "address", 502},
		{`{"url":"http://10.0.0.1/mcp","auth":{"type":"none"}}`, "address", 403},
		{`{"url":"nonsense"}`, "", 422},
		{`{"url":"https://u:p@example.com/"}`, "", 422},
	} {
		for _, way := range []struct{ method, path, body string }{
			{"POST", "/api/v1/servers", strings.Replace(tt.body, "{", `{"id":"new",`, 1)},
			{"PATCH", "/api/v1/servers/kept", tt.body},
		} {
			r := i.Do(t, way.method, way.path, way.body)
			var problem struct{ Step, Detail string }
			_ = json.Unmarshal([]byte(r.Body), &problem)
			if r.Status != tt.status || problem.Step != tt.step || problem.Detail == "" {
				t.Errorf("%s %s: %d %s", way.method, way.body, r.Status, r.Body)
			}
			if after := state(); after != before {
				t.Errorf("%s %s changed\n%s\nto\n%s", way.method, way.body, before, after)
			}
		}
	}
	if r := call(t, i, "kept__echo", "still"); r.Status != 200 {
		t.Errorf("after all that: %d %s", r.Status, r.Body)
	}
	// Another origin does not get the credential.
	other := newPeer(t)
	if r := i.Do(t, "PATCH", "/api/v1/servers/kept", fmt.Sprintf(`{"url":%q}`, other.URL)); r.Status != 403 || other.seen.Load() != nil {
		t.Errorf("moved: %d %s", r.Status, r.Body)
	}
}

// Credentials that go through every endpoint are in no file, log or answer.
func TestCredentialsAreNowhere(t *testing.T) {
	t.Parallel()
	i, p := start(t, nil), newPeer(t)
	var answers strings.Builder
	canaries := make([]string, 40)
	for n := range canaries {
		canaries[n] = fmt.Sprintf("canary%02dx%s", n, strings.Repeat("q", 8))
	}
	say := func(r testkit.Reply) { fmt.Fprintln(&answers, r.Status, r.Header, r.Body) }
	for n, c := range canaries {
		id := fmt.Sprintf("s%d", n)
		var auth string
		switch n % 5 {
		case 0:
			p.wants(c)
			auth = `"auth":{"type":"bearer","token":"` + c + `"}`
		case 1:
			p.token.Store(nil)
			auth = `"auth":{"type":"api-key","key":"` + c + `","header":"X-Mine"}`
		case 2:
			p.token.Store(nil)
			auth = `"auth":{"type":"basic","username":"u","password":"` + c + `"}`
		case 3:
			p.token.Store(nil)
			auth = `"headers":{"X-Extra":"` + c + `"}`
		case 4: // refused, and repeated by the server
			p.wants("something-else")
			auth = `"auth":{"type":"bearer","token":"` + c + `"}`
		}
		body := fmt.Sprintf(`{"id":%q,"url":%q,%s}`, id, p.URL+"/?key="+c, auth)
		say(i.Do(t, "POST", "/api/v1/servers/probe", body))
		say(i.Do(t, "POST", "/api/v1/servers", body))
		say(i.Do(t, "POST", "/api/v1/servers/"+id+"/test", ""))
		say(call(t, i, id+"__echo", "x"))
		say(i.Do(t, "GET", "/api/v1/servers/"+id, ""))
		say(i.Do(t, "PATCH", "/api/v1/servers/"+id, `{"title":"t"}`))
		say(i.Do(t, "POST", "/mcp/call", fmt.Sprintf(`{"endpoint":{"url":%q,"headers":{"Authorization":"Bearer %s"}},"tool_name":"echo","arguments":{"text":"x"}}`, p.URL, c)))
		say(i.Do(t, "POST", "/mcp/call", fmt.Sprintf(`{"endpoint":{"url":"http://10.0.0.1/?%s","headers":{"Authorization":"Bearer %s"}},"tool_name":"echo"}`, c, c)))
	}
	say(i.Do(t, "GET", "/api/v1/servers", ""))
	say(i.Do(t, "GET", "/api/v1/calls", ""))
	say(i.Do(t, "GET", "/metrics", ""))
	i.Stop()
	for _, c := range canaries {
		if strings.Contains(answers.String(), c) {
			t.Errorf("%s is in an answer: %s", c, around(answers.String(), c))
		}
		if strings.Contains(i.Log.String(), c) {
			t.Errorf("%s is in the log: %s", c, around(i.Log.String(), c))
		}
	}
	for name, text := range files(t, i.Dir) {
		for _, c := range canaries {
			if strings.Contains(text, c) {
				t.Errorf("%s is in %s: %s", c, name, around(text, c))
			}
		}
	}
}

func around(text, part string) string {
	at := strings.Index(text, part)
	return text[max(0, at-200):min(len(text), at+200)]
}

// Addresses that must not be reached are not even dialled, on every route that
// takes one.
func TestNoDialToAddressesWithin(t *testing.T) {
	t.Parallel()
	i := testkit.Start(t, nil) // nothing is allowed
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	var dials atomic.Int64
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			dials.Add(1)
			_ = c.Close()
		}
	}()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	writer := key(t, i, "servers:write,tools:read,bridge:call")
	for _, host := range []string{
		"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "127.1", "2130706433", "0x7f000001", "0", "0.0.0.0", "[::]", "169.254.169.254", "10.0.0.1",
		"192.168.0.1", "172.16.0.1", "100.64.0.1", "[fe80::1]", "[fd00::1]", "[64:ff9b::7f00:1]", "localhost.", "LOCALHOST", "127.0.0.1.",
	} {
		for _, scheme := range []string{"http", "https"} {
			url := scheme + "://" + host + ":" + port + "/mcp"
			for _, transport := range []string{"http", "sse"} {
				for _, way := range []struct{ method, path, body string }{
					{"POST", "/api/v1/servers", `{"id":"x","transport":"` + transport + `","url":"` + url + `"}`},
					{"POST", "/api/v1/servers/probe", `{"transport":"` + transport + `","url":"` + url + `"}`},
					{"POST", "/mcp/call", `{"endpoint":{"url":"` + url + `","transport":"` + transport + `"},"tool_name":"x"}`},
				} {
					r := i.Do(t, way.method, way.path, way.body, as(writer))
					if r.Status < 300 && way.path != "/api/v1/servers/probe" || strings.Contains(r.Body, `"connected":true`) {
						t.Errorf("%s %s: %d %s", way.path, url, r.Status, r.Body)
					}
				}
			}
		}
	}
	token := fmt.Sprintf(`{"id":"x","url":"https://example.com/","auth":{"type":"oauth-client","client_id":"a","secret":"b","token_url":"http://127.0.0.1:%s/"}}`, port)
	if r := i.Do(t, "POST", "/api/v1/servers", token, as(writer)); r.Status != 403 && r.Status != 502 {
		t.Errorf("token_url: %d %s", r.Status, r.Body)
	}
	if n := dials.Load(); n != 0 {
		t.Errorf("%d connections were made", n)
	}
	// The operator may put a server on this machine.
	p := newPeer(t)
	if status, body := operator(t, i, "POST", "/api/v1/servers", fmt.Sprintf(`{"id":"mine","url":%q}`, p.URL)); status != 201 {
		t.Fatalf("%d %s", status, body)
	}
	// Nobody else can lead it elsewhere on this machine.
	if r := i.Do(t, "PATCH", "/api/v1/servers/mine", `{"url":"http://127.0.0.1:`+port+`/"}`, as(writer)); r.Status != 403 || dials.Load() != 0 {
		t.Errorf("%d %s, %d dials", r.Status, r.Body, dials.Load())
	}
}
