package app_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/junctor-mcp/junctor/internal/app"
	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// echoServer is an MCP server over plain http that allocates nothing for a call,
// so that what is counted is the gateway's. It speaks one era.
type echoServer struct {
	url    string
	modern bool
	dials  atomic.Int64
}

func newEchoServer(t testing.TB, modern bool) *echoServer {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	s := &echoServer{url: "http://" + ln.Addr().String() + "/mcp", modern: modern}
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			s.dials.Add(1)
			t.Cleanup(func() { _ = c.Close() })
			go s.serve(c)
		}
	}()
	return s
}

func (s *echoServer) serve(c net.Conn) {
	r := bufio.NewReaderSize(c, 1<<17)
	body, out := make([]byte, 1<<18), make([]byte, 0, 1<<18)
	for {
		length, post := 0, false
		for {
			line, err := r.ReadSlice('\n')
			if err != nil {
				return
			}
			post = post || bytes.HasPrefix(line, []byte("POST "))
			if len(line) == 2 {
				break
			}
			if v, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
				for _, d := range bytes.TrimSpace(v) {
					length = length*10 + int(d-'0')
				}
			}
		}
		for read := 0; read < length; {
			n, err := r.Read(body[read:length])
			if err != nil {
				return
			}
			read += n
		}
		if out = append(out[:0], "HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n"...); post {
			out = s.answer(out[:0], body[:length])
		}
		if _, err := c.Write(out); err != nil {
			return
		}
	}
}

func between(b []byte, from string, to byte) []byte {
	i := bytes.Index(b, []byte(from))
	if i < 0 {
		return nil
	}
	b = b[i+len(from):]
	return b[:bytes.IndexByte(b, to)]
}

// answer appends the whole answer to a message.
func (s *echoServer) answer(dst, body []byte) []byte {
	id, method := between(body, `"id":`, ','), between(body, `"method":"`, '"')
	result, status := "", "200 OK"
	switch string(method) {
	case wire.MethodToolsCall:
		text := between(body, `"text":"`, '"')
		const begin, end = `{"jsonrpc":"2.0","id":`, `"}]}}`
		mid := `,"result":{"content":[{"type":"text","text":"`
		if s.modern {
			mid = `,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"e","version":"1"}},"content":[{"type":"text","text":"`
		}
		dst = append(dst, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "...)
		dst = strconv.AppendInt(dst, int64(len(begin)+len(id)+len(mid)+len(text)+len(end)), 10)
		dst = append(append(append(append(dst, "\r\n\r\n"...), begin...), id...), mid...)
		return append(append(dst, text...), end...)
	case wire.MethodToolsList:
		result = `{"tools":[{"name":"echo","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}]}`
	case wire.MethodServerDiscover:
		if s.modern {
			result = `{"supportedVersions":["` + wire.ModernVersion + `"],"capabilities":{"tools":{}},"serverInfo":{"name":"e","version":"1"}}`
		}
	case wire.MethodInitialize:
		if !s.modern {
			result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"e","version":"1"}}`
		}
	}
	message := `{"jsonrpc":"2.0","id":` + string(id) + `,"result":` + result + `}`
	switch {
	case id == nil:
		status, message = "202 Accepted", ""
	case result == "":
		message = `{"jsonrpc":"2.0","id":` + string(id) + `,"error":{"code":-32601,"message":"unknown"}}`
	}
	return fmt.Appendf(dst, "HTTP/1.1 %s\r\nContent-Type: application/json\r\nMcp-Session-Id: s1\r\nContent-Length: %d\r\n\r\n%s", status, len(message), message)
}

// withServers is an instance with an upstream of each era that wants a
// credential, and every gate on.
func withServers(t testing.TB, statements func(context.Context)) *testkit.Instance {
	t.Helper()
	settings := testkit.Settings{"rate-limit": "1000000", "rate-burst": "1000000", "egress-allow": "127.0.0.0/8"}
	i := testkit.Start(t, settings, app.WithStatements(statements))
	for id, modern := range map[string]bool{"new": true, "old": false} {
		s := newEchoServer(t, modern)
		if r := i.Do(t, http.MethodPost, "/api/v1/servers", fmt.Sprintf(`{"id":%q,"url":%q,"auth":{"type":"bearer","secret":"a-sealed-one"}}`, id, s.url)); r.Status != http.StatusCreated {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
	}
	return i
}

// pairs are all pairs of client and server.
func pairs(t testing.TB, i *testkit.Instance, size int) map[string]func() *rawClient {
	t.Helper()
	return map[string]func() *rawClient{
		"modern to modern": func() *rawClient { return modernClient(t, i.URL, "new__echo", size) },
		"modern to legacy": func() *rawClient { return modernClient(t, i.URL, "old__echo", size) },
		"legacy to modern": func() *rawClient { return legacyClient(t, i, "new__echo", size) },
		"legacy to legacy": func() *rawClient { return legacyClient(t, i, "old__echo", size) },
	}
}

// TestUpstreamAllocations holds the price of a call that goes on to a server.
func TestUpstreamAllocations(t *testing.T) {
	i := withServers(t, nil)
	for _, c := range []struct {
		size              int
		maxCount, maxSize uint64
	}{
		{200, 60, 7 << 10},
		{64 << 10, 65, 64 << 10 * 3 / 2},
	} {
		for name, connect := range pairs(t, i, c.size) {
			checkAllocations(t, fmt.Sprintf("%s, %d bytes", name, c.size), connect(), 1000, c.maxCount, c.maxSize)
		}
	}
}

// gauge reads one of the instance's metrics.
func gauge(t testing.TB, i *testkit.Instance, name string) int {
	t.Helper()
	for line := range strings.Lines(i.Do(t, http.MethodGet, "/metrics", "").Body) {
		if v, ok := strings.CutPrefix(line, name+" "); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
			if err != nil {
				t.Fatal(err)
			}
			return int(n)
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}

// TestHotPathIsDry holds that a warm call asks no database, dials nobody and
// starts no process.
func TestHotPathIsDry(t *testing.T) {
	var statements atomic.Int64
	i := withServers(t, func(ctx context.Context) {
		if ctx.Value(http.ServerContextKey) != nil { // of a request, and not of what is written in the background
			statements.Add(1)
		}
	})
	if statements.Load() == 0 {
		t.Fatal("adding a server made no statement: nothing is counted")
	}
	calls := 2500
	if raceEnabled {
		calls = 250
	}
	for name, connect := range pairs(t, i, 200) {
		client := connect()
		for before := -1; before != gauge(t, i, "junctor_dialled_connections"); { // what listens to the server dials, too
			before = gauge(t, i, "junctor_dialled_connections")
			for range 100 {
				client.call(t)
			}
		}
		dials, started := gauge(t, i, "junctor_dialled_connections"), processes(t)
		if dials == 0 {
			t.Fatal("no dials are counted")
		}
		statements.Store(0)
		for range calls {
			client.call(t)
		}
		if n := statements.Load(); n != 0 {
			t.Errorf("%s: %d statements in %d calls", name, n, calls)
		}
		if n := gauge(t, i, "junctor_dialled_connections") - dials; n != 0 {
			t.Errorf("%s: %d dials in %d calls", name, n, calls)
		}
		if now := processes(t); now != started {
			t.Errorf("%s: processes were started: %v before, %v after", name, started, now)
		}
	}
}

// TestListsAreRenderedOnce holds that lists are put together once for each set
// of permissions and each change, not for each principal or request.
func TestListsAreRenderedOnce(t *testing.T) {
	i := withServers(t, nil)
	keys := make([]string, 50)
	for n := range keys {
		r := i.Do(t, http.MethodPost, "/api/v1/keys", fmt.Sprintf(`{"name":"k%d","scopes":["tools:read","tools:call"]}`, n))
		keys[n] = string(between([]byte(strings.ReplaceAll(r.Body, `": "`, `":"`)), `"key":"`, '"'))
		if r.Status != http.StatusCreated || keys[n] == "" {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
	}
	list := func() {
		t.Helper()
		before := gauge(t, i, "junctor_rendered_lists")
		for n := range 1000 {
			r := i.Do(t, http.MethodPost, "/mcp/request", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "Authorization: Bearer "+keys[n%len(keys)])
			if r.Status != http.StatusOK || !strings.Contains(r.Body, "new__echo") {
				t.Fatalf("%d %s", r.Status, r.Body)
			}
		}
		if n := gauge(t, i, "junctor_rendered_lists") - before; n != 1 {
			t.Errorf("%d lists were put together for 1000 requests", n)
		}
	}
	list()
	if r := i.Do(t, http.MethodPatch, "/api/v1/servers/new", `{"overrides":{"echo":{"description":"another"}}}`); r.Status != http.StatusOK {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	list()
}

func BenchmarkUpstream(b *testing.B) {
	i := withServers(b, nil)
	for _, size := range []int{200, 64 << 10} {
		for name, connect := range pairs(b, i, size) {
			client := connect()
			b.Run(name+"/"+strconv.Itoa(size), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					client.call(b)
				}
			})
		}
	}
}
