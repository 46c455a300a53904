// Package cost counts what one call costs the whole process: its client writes
// ready-made bytes and reads into one buffer, so what is allocated is
// allocated by Junctor and by net/http below it, with every gate on.
package cost

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/test/program"
)

// The budget of one call of the built-in echo.
const (
	maxAllocs = 80
	maxBytes  = 8 << 10
)

// text makes the body about 200 bytes long.
var (
	text   = strings.Repeat("junctor ", 10)
	echoed = []byte(text)
)

// requests are the ways to call the echo tool.
func requests(host, session string) map[string][]byte {
	auth := "Authorization: Bearer " + program.AdminKey
	accept := "Accept: application/json, text/event-stream"
	return map[string][]byte{
		"modern": request(host, "/mcp",
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"demo__echo","arguments":{"text":"`+text+`"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"cost","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`,
			auth, accept, "MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: demo__echo"),
		"legacy": request(host, "/mcp",
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"demo__echo","arguments":{"text":"`+text+`"}}}`,
			auth, accept, "MCP-Protocol-Version: 2025-11-25", "Mcp-Session-Id: "+session),
		"plain": request(host, "/mcp/request",
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"demo__echo","arguments":{"text":"`+text+`"}}}`,
			auth),
	}
}

func request(host, path, body string, headers ...string) []byte {
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n\r\n%s",
		path, host, len(body), strings.Join(headers, "\r\n"), body)
}

// TestCallBudget holds the budget.
func TestCallBudget(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes pools forget, so the count means nothing")
	}
	host, session := start(t)
	for name, req := range requests(host, session) {
		r := testing.Benchmark(func(b *testing.B) { call(b, host, req) })
		if r.N == 0 {
			t.Fatalf("%s: the benchmark failed", name)
		}
		t.Logf("figure: one echo call, %s: %d allocations, %d bytes", name, r.AllocsPerOp(), r.AllocedBytesPerOp())
		if r.AllocsPerOp() > maxAllocs || r.AllocedBytesPerOp() > maxBytes {
			t.Errorf("%s: %d allocations and %d bytes a call, the budget is %d and %d", name, r.AllocsPerOp(), r.AllocedBytesPerOp(), maxAllocs, maxBytes)
		}
	}
}

// BenchmarkCall is the same for people with a profiler.
func BenchmarkCall(b *testing.B) {
	host, session := start(b)
	for name, req := range requests(host, session) {
		b.Run(name, func(b *testing.B) { call(b, host, req) })
	}
}

// start runs an instance whose rate limit counts but never refuses, and opens
// a legacy session.
func start(t testing.TB) (host, session string) {
	t.Helper()
	a := program.InProcess(t, map[string]string{"rate-limit": "1000000", "rate-burst": "1000000"})
	req, err := http.NewRequest(http.MethodPost, a.URL()+"/mcp",
		strings.NewReader(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"cost","version":"1"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+program.AdminKey)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		t.Fatal(err)
	}
	return a.Addr(), res.Header.Get("Mcp-Session-Id")
}

// call makes b.N calls over one connection.
func call(b *testing.B, host string, req []byte) {
	conn, err := net.Dial("tcp", host)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	buf := make([]byte, 64<<10)
	for range 100 { // caches, pools and the connection's own buffers
		exchange(b, conn, req, buf)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		exchange(b, conn, req, buf)
	}
}

// exchange sends the request and reads one whole answer.
func exchange(b *testing.B, conn net.Conn, req, buf []byte) {
	if _, err := conn.Write(req); err != nil {
		b.Fatal(err)
	}
	n := 0
	for {
		k, err := conn.Read(buf[n:])
		if err != nil {
			b.Fatal(err)
		}
		n += k
		if complete(buf[:n]) {
			break
		}
	}
	if answer := buf[:n]; !bytes.HasPrefix(answer, []byte("HTTP/1.1 200 ")) || !bytes.Contains(answer, echoed) {
		b.Fatalf("the answer is wrong:\n%s", answer)
	}
}

// complete says whether an answer is whole, by its length or its last chunk.
func complete(answer []byte) bool {
	head, body, ok := bytes.Cut(answer, []byte("\r\n\r\n"))
	if !ok {
		return false
	}
	if _, rest, ok := bytes.Cut(head, []byte("\r\nContent-Length: ")); ok {
		digits, _, _ := bytes.Cut(rest, []byte("\r\n"))
		n, err := strconv.Atoi(string(digits)) // up to 32 digits this does not allocate
		return err == nil && len(body) >= n
	}
	return bytes.HasSuffix(body, []byte("0\r\n\r\n"))
}
