package gateway_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// hostile is a body that means harm, and the codes that it may be answered with.
type hostile struct {
	name, body string
	codes      []int
}

// hostileBodies wraps each trick into a tools/call, whose params end with tail.
func hostileBodies(tail string) []hostile {
	parse, invalid, params := []int{-32700}, []int{-32600}, []int{-32602}
	in := func(s string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"demo__echo","arguments":{"text":"x"},` + s + tail + `}}`
	}
	deep := strings.Repeat(`{"a":`, 10000) + "1" + strings.Repeat("}", 10000)
	return []hostile{
		{"duplicate method", `{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list","params":{` + tail + `}}`, parse},
		{"duplicate method, escaped", `{"jsonrpc":"2.0","id":1,"method":"ping","\u006dethod":"tools/list","params":{` + tail + `}}`, parse},
		{"duplicate name", in(`"name":"demo__fail",`), parse},
		{"duplicate key far below", in(`"x":{"y":[{"z":1,"\u007a":2}]},`), parse},
		{"method in another case", `{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call","params":{` + tail + `}}`, invalid},
		{"params with a long s", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{` + tail + `},"param\u017f":{}}`, invalid},
		{"name in another case", in(`"Name":"demo__fail",`), params},
		{"arguments in another case", in(`"ARGUMENTS":{},`), params},
		{"depth 10000", in(`"x":` + deep + `,`), parse},
		{"depth 10000, lists", in(`"x":` + strings.Repeat("[", 10000) + strings.Repeat("]", 10000) + `,`), parse},
		{"depth 10000, open", strings.Repeat("[", 10000), []int{-32700, -32600}},
		{"depth 500000", strings.Repeat(`{"a":`, 500000), parse},
		{"NUL in a string", in("\"x\":\"\x00\","), parse},
		{"NUL behind it", in("") + "\x00", parse},
		{"NUL alone", "\x00", parse},
		{"lone surrogate", in(`"x":"\ud800",`), parse},
		{"lone low surrogate", in(`"x":"\udc00",`), parse},
		{"surrogates in the wrong order", in(`"x":"\udc00\ud800",`), parse},
		{"lone surrogate in a key", in(`"\ud800":1,`), parse},
		{"byte-order mark", "\ufeff" + in(""), parse},
		{"UTF-16", "\xff\xfe{\x00}\x00", parse},
		{"trailing value", in("") + "{}", parse},
		{"trailing text", in("") + "x", parse},
		{"two lines", in("") + "," + in(""), parse},
		{"invalid UTF-8", in("\"x\":\"\xff\","), parse},
		{"overlong UTF-8", in("\"x\":\"\xc0\xaf\","), parse},
		{"surrogate in UTF-8", in("\"x\":\"\xed\xa0\x80\","), parse},
		{"cut UTF-8", "{\"\xe2\x82", parse},
		{"comment", in("") + "// hi", parse},
		{"leading zero", in(`"x":007,`), parse},
		{"NaN", in(`"x":NaN,`), parse},
		{"bare word", "tools/list", parse},
		{"HTTP in JSON's place", "POST / HTTP/1.1\r\n\r\n", parse},
		{"huge method", `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("m", 1<<20) + `","params":{` + tail + `}}`, []int{-32601, -32020}},
		{"huge name", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + strings.Repeat("n", 1<<20) + `",` + strings.TrimPrefix(tail, ",") + `}}`, []int{-32602, -32020}},
		{"huge id", `{"jsonrpc":"2.0","id":"` + strings.Repeat("i", 1<<20) + `","method":"no/such","params":{` + tail + `}}`, []int{-32601, -32020}},
		{"huge number", `{"jsonrpc":"2.0","id":` + strings.Repeat("9", 1<<20) + `,"method":"no/such","params":{` + tail + `}}`, []int{-32601, -32020}},
		{"many keys", in(manyKeys(50000)), []int{0, -32700, -32020}},
	}
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"k%d":%d,`, i, i)
	}
	return b.String()
}

// Whatever comes in, one request is answered with the right code, the answer
// stays small, and the next request is fine.
func TestHostileBodies(t *testing.T) {
	t.Parallel()
	i := run(t, nil)
	s := open(t, i, "2025-11-25", "{}", "")
	modern := meta()
	for _, endpoint := range []struct {
		name, path, tail string
		header           []string
	}{
		{"modern", "/mcp", modern, []string{"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: demo__echo"}},
		{"legacy", "/mcp", `"_meta":{}`, s.headers()},
		{"plain", "/mcp/request", `"_meta":{}`, nil},
	} {
		t.Run(endpoint.name, func(t *testing.T) {
			t.Parallel()
			for _, h := range hostileBodies(endpoint.tail) {
				began := time.Now()
				r := i.Do(t, http.MethodPost, endpoint.path, h.body, endpoint.header...)
				took := time.Since(began)
				a := parse(t, r.Body)
				if r.Status >= 500 || !slices.Contains(h.codes, a.code()) {
					t.Errorf("%s: %d %.300s", h.name, r.Status, r.Body)
				}
				if len(r.Body) > 4096 && h.name != "huge id" && h.name != "huge number" {
					t.Errorf("%s: the answer has %d bytes", h.name, len(r.Body))
				}
				if took > 30*time.Second { // of a busy machine, with the race detector
					t.Errorf("%s: took %v", h.name, took)
				}
			}
			good := request("1", "tools/call", `"name":"demo__echo"`, `"arguments":{"text":"x"}`, endpoint.tail)
			if r := i.Do(t, http.MethodPost, endpoint.path, good, endpoint.header...); parse(t, r.Body).text() != "x" {
				t.Errorf("the next request: %d %s", r.Status, r.Body)
			}
		})
	}
}

func TestHostileLines(t *testing.T) {
	t.Parallel()
	i := run(t, nil)
	c := openStdio(t, i, "")
	c.handshake(t, "2025-11-25", "{}")
	for _, h := range hostileBodies(`"_meta":{}`) {
		if strings.Contains(h.body, "\n") {
			continue
		}
		c.send(t, h.body)
		if a := c.next(t); !slices.Contains(h.codes, a.code()) {
			t.Errorf("%s: code %d", h.name, a.code())
		}
	}
	c.send(t, request("9", "ping"))
	if a := c.next(t); string(a.ID) != "9" || a.Result == nil {
		t.Errorf("the next line: %+v", a)
	}
}

func TestHostileMessages(t *testing.T) {
	t.Parallel()
	i := run(t, nil)
	c := openSSE(t, i, "")
	for _, h := range hostileBodies(`"_meta":{}`) {
		r := i.Do(t, http.MethodPost, c.endpoint, h.body)
		switch {
		case r.Status == http.StatusAccepted:
			c.next(t)
		case r.Status != http.StatusBadRequest || !slices.Contains(h.codes, parse(t, r.Body).code()):
			t.Errorf("%s: %d %.300s", h.name, r.Status, r.Body)
		}
	}
	c.handshake(t, "2024-11-05", "{}")
}

// endless is a body that would go on for 100 MiB, and counts what was taken.
type endless struct {
	left  int64
	taken atomic.Int64
}

func (e *endless) Read(p []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	n := min(int64(len(p)), e.left)
	for i := range p[:n] {
		p[i] = ' '
	}
	e.left -= n
	e.taken.Add(n)
	return int(n), nil
}

// A body that is too large is cut off when that is known: by its length before
// it is sent, or at the limit when it has none.
func TestLargeBodiesAreCutOff(t *testing.T) {
	t.Parallel()
	i := run(t, nil)
	sse := openSSE(t, i, "")
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	const size = 100 << 20
	for _, path := range []string{"/mcp", "/mcp/s/demo", "/mcp/request", sse.endpoint} {
		for _, length := range []int64{size, -1} {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			body := &endless{left: size}
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, i.URL+path, io.NopCloser(body))
			if err != nil {
				t.Fatal(err)
			}
			req.ContentLength = length
			req.Header.Set("Authorization", "Bearer "+testkit.AdminKey)
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Accept", "application/json, text/event-stream")
			began := time.Now()
			resp, err := client.Do(req)
			if err != nil {
				t.Errorf("%s, length %d: %v", path, length, err)
				cancel()
				continue
			}
			answer, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			cancel()
			if resp.StatusCode != http.StatusRequestEntityTooLarge || parse(t, string(answer)).code() != -31009 {
				t.Errorf("%s, length %d: %d %s", path, length, resp.StatusCode, answer)
			}
			if took, taken := time.Since(began), body.taken.Load(); took > 20*time.Second || taken > size/2 {
				t.Errorf("%s, length %d: took %v and %d bytes", path, length, took, taken)
			}
		}
	}
	if r := i.Do(t, http.MethodPost, "/mcp/request", request("1", "ping")); r.Status != http.StatusOK {
		t.Errorf("the next request: %d", r.Status)
	}
}

// A client that promises a body and sends none holds up nobody but itself, and
// one that cuts it short is told so.
func TestShortBodies(t *testing.T) {
	t.Parallel()
	i := run(t, nil)
	addr := strings.TrimPrefix(i.URL, "http://")
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	head := "POST /mcp/request HTTP/1.1\r\nHost: " + addr + "\r\nAuthorization: Bearer " + testkit.AdminKey + "\r\nContent-Type: application/json\r\nContent-Length: 4000000\r\n\r\n{"
	if _, err := io.WriteString(conn, head); err != nil {
		t.Fatal(err)
	}
	if r := i.Do(t, http.MethodPost, "/mcp/request", request("1", "ping")); r.Status != http.StatusOK {
		t.Errorf("the next request: %d", r.Status)
	}
	if half, ok := conn.(*net.TCPConn); !ok || half.CloseWrite() != nil {
		t.Fatal("cannot close one half")
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest {
		t.Errorf("cut short: %d", resp.StatusCode)
	}
}

// Headers are hostile too.
func TestHostileHeaders(t *testing.T) {
	t.Parallel()
	i := run(t, nil)
	list := request("1", "tools/list", meta())
	for _, h := range []string{
		"Mcp-Session-Id: " + strings.Repeat("A", 20000), "Mcp-Session-Id: ../../etc", "Last-Event-ID: -1", "Last-Event-ID: p-99999999999999999999",
		"MCP-Protocol-Version: " + strings.Repeat("9", 10000), "Accept: " + strings.Repeat(",", 10000), "Content-Type: ;;;", "Mcp-Name: =?base64??=",
	} {
		for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
			body := ""
			if method == http.MethodPost {
				body = list
			}
			if r := i.Do(t, method, "/mcp", body, h); r.Status >= 500 || r.Status < 400 {
				t.Errorf("%s with %.60s: %d %.200s", method, h, r.Status, r.Body)
			}
		}
	}
	if r := i.Do(t, http.MethodPost, "/mcp", list, "X-Big: "+strings.Repeat("x", 64<<10)); r.Status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("64 KiB of headers: %d", r.Status)
	}
}

// FuzzPost: whatever is posted, in whichever era, there is an answer, it is not
// a failure of ours, and it is JSON-RPC.
func FuzzPost(f *testing.F) {
	for _, tail := range []string{meta(), `"_meta":{}`} {
		for _, h := range hostileBodies(tail) {
			if len(h.body) < 1<<16 {
				f.Add([]byte(h.body), uint8(0))
				f.Add([]byte(h.body), uint8(3))
			}
		}
	}
	for n, body := range []string{
		request("1", "tools/list"), request("1", "ping"), initializeBody("2025-11-25", "{}"), request("1", "server/discover", meta()),
		request("1", "resources/read", `"uri":"demo+demo://readme"`), request("1", "prompts/get", `"name":"demo__greet"`, `"arguments":{"name":"x"}`),
		request("1", "completion/complete", `"ref":{"type":"ref/prompt","name":"demo__greet"}`, `"argument":{"name":"name","value":"a"}`),
		request("1", "tools/call", `"name":"demo__ask"`, `"requestState":"x"`, `"inputResponses":{}`, meta(capabilities(`{"elicitation":{}}`))),
		request("1", "logging/setLevel", `"level":"info"`), request("1", "resources/subscribe", `"uri":"demo+demo://clock"`),
		"[" + request("1", "ping") + "]", "", "[]", "{}", "null",
	} {
		f.Add([]byte(body), uint8(n))
	}
	i := run(f, nil)
	legacy := open(f, i, "2025-03-26", "{}", "")
	f.Fuzz(func(t *testing.T, body []byte, how uint8) {
		var m wire.Message
		if m.Parse(body) == nil && (m.Method == wire.MethodSubscriptionsListen || strings.HasSuffix(m.Name, "slow")) {
			t.Skip("does not answer at once")
		}
		path := []string{"/mcp", "/mcp/request", "/mcp/s/demo", "/mcp"}[how%4]
		var header []string
		switch how >> 2 % 3 {
		case 1:
			header = legacy.headers()
		case 2:
			header = []string{"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: demo__echo"}
		}
		r := i.Do(t, http.MethodPost, path, string(body), append(header, "Content-Type: application/json")...)
		if r.Status >= 500 || r.Status < 200 {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		if strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
			if err := wire.CheckJSON([]byte(r.Body)); err != nil {
				t.Fatalf("%v: %s", err, r.Body)
			}
		} else if r.Body != "" && !strings.HasPrefix(r.Header.Get("Content-Type"), "text/event-stream") {
			t.Fatalf("%v %s", r.Header, r.Body)
		}
	})
}
