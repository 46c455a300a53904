package app_test

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/app"
	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/internal/wire"
)

const demoEcho = "demo__echo"

// rawClient sends one prepared request over one connection again and again. It
// allocates nothing, so that what is counted is the server's.
type rawClient struct {
	conn    net.Conn
	r       *bufio.Reader
	request []byte
	want    []byte
	body    []byte
}

func newRawClient(t testing.TB, url string, want string, header, body string) *rawClient {
	t.Helper()
	addr := strings.TrimPrefix(url, "http://")
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	request := fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"+
		"Accept: application/json, text/event-stream\r\n%sContent-Length: %d\r\n\r\n%s", addr, testkit.AdminKey, header, len(body), body)
	return &rawClient{conn: conn, r: bufio.NewReaderSize(conn, 1<<17), request: []byte(request), want: []byte(want), body: make([]byte, 1<<18)}
}

func (c *rawClient) call(t testing.TB) {
	t.Helper()
	if _, err := c.conn.Write(c.request); err != nil {
		t.Fatal(err)
	}
	length := -1
	for first := true; ; first = false {
		line, err := c.r.ReadSlice('\n')
		if err != nil {
			t.Fatal(err)
		}
		if first && !bytes.HasPrefix(line, []byte("HTTP/1.1 200")) {
			t.Fatalf("status line %q", line)
		}
		if len(line) == 2 {
			break
		}
		if v, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			length, _ = strconv.Atoi(string(bytes.TrimSpace(v)))
		}
	}
	if length < 0 {
		t.Fatal("no Content-Length")
	}
	for read := 0; read < length; {
		n, err := c.r.Read(c.body[read:length])
		if err != nil {
			t.Fatal(err)
		}
		read += n
	}
	if !bytes.Contains(c.body[:length], c.want) {
		t.Fatalf("answer %q", c.body[:length])
	}
}

func modernClient(t testing.TB, url, tool string, size int) *rawClient {
	t.Helper()
	text := strings.Repeat("x", size)
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":{"text":"` + text + `"},"_meta":{"` +
		wire.MetaProtocolVersion + `":"` + wire.ModernVersion + `","` + wire.MetaClientCapabilities + `":{}}}}`
	header := "MCP-Protocol-Version: " + wire.ModernVersion + "\r\nMcp-Method: tools/call\r\nMcp-Name: " + tool + "\r\n"
	return newRawClient(t, url, text, header, body)
}

func legacyClient(t testing.TB, i *testkit.Instance, tool string, size int) *rawClient {
	t.Helper()
	r := i.Do(t, http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	text := strings.Repeat("x", size)
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":{"text":"` + text + `"}}}`
	return newRawClient(t, i.URL, text, "Mcp-Session-Id: "+r.Header.Get("Mcp-Session-Id")+"\r\nMCP-Protocol-Version: 2025-06-18\r\n", body)
}

// settled gives what was allocated once the writing in the background, of the
// journal's copy and of the history, has come to rest.
func settled(t testing.TB) runtime.MemStats {
	t.Helper()
	const (
		quiet = 200 * time.Millisecond
		noise = 100 // allocations that are no call's
	)
	var last, now runtime.MemStats
	runtime.ReadMemStats(&last)
	since := time.Now()
	poll.Until(t, "rest in the background", time.Minute, func() bool {
		runtime.ReadMemStats(&now)
		if now.Mallocs-last.Mallocs >= noise {
			last, since = now, time.Now()
		}
		return time.Since(since) >= quiet
	})
	return now
}

// TestEchoAllocations holds the price of one call with every gate on, and with
// all that is written of it in the background. Counts are exact and repeatable,
// unlike times.
func TestEchoAllocations(t *testing.T) {
	i := testkit.Start(t, testkit.Settings{"rate-limit": "1000000", "rate-burst": "1000000"})
	for _, c := range []struct {
		name              string
		connect           func() *rawClient
		maxCount, maxSize uint64
	}{
		{"modern, 200 bytes", func() *rawClient { return modernClient(t, i.URL, demoEcho, 200) }, 55, 7 << 10},
		{"legacy, 200 bytes", func() *rawClient { return legacyClient(t, i, demoEcho, 200) }, 55, 7 << 10},
		{"modern, 64 KiB", func() *rawClient { return modernClient(t, i.URL, demoEcho, 64<<10) }, 100, 3 * 64 << 10},
	} {
		checkAllocations(t, c.name, c.connect(), 2000, c.maxCount, c.maxSize)
	}
}

// checkAllocations makes calls over a new connection, after half as many to warm up, and
// fails if a call allocates more on average than it may. Connect the client only
// now: a connection on which nothing is asked is closed.
func checkAllocations(t *testing.T, name string, client *rawClient, calls int, maxCount, maxSize uint64) {
	t.Helper()
	if raceEnabled { // the race detector allocates too, so nothing is counted
		client.call(t)
		return
	}
	for range calls / 2 {
		client.call(t)
	}
	before := settled(t)
	for range calls {
		client.call(t)
	}
	after := settled(t)
	count, size := (after.Mallocs-before.Mallocs)/uint64(calls), (after.TotalAlloc-before.TotalAlloc)/uint64(calls)
	t.Logf("%s: %d allocations, %d bytes per call", name, count, size)
	if count > maxCount || size > maxSize {
		t.Errorf("%s: %d allocations and %d bytes a call; at most %d and %d", name, count, size, maxCount, maxSize)
	}
}

func BenchmarkEcho(b *testing.B) {
	i := testkit.Start(b, testkit.Settings{"rate-limit": "1000000", "rate-burst": "1000000"})
	for _, c := range []struct {
		name   string
		client *rawClient
	}{
		{"modern/200B", modernClient(b, i.URL, demoEcho, 200)},
		{"modern/64KiB", modernClient(b, i.URL, demoEcho, 64<<10)},
		{"legacy/200B", legacyClient(b, i, demoEcho, 200)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.client.call(b)
			}
		})
	}
}

// TestAllocationsOfNumbers holds what the numbers over time allocate, with all that is done in
// the background, to two allocations a call.
func TestAllocationsOfNumbers(t *testing.T) {
	if raceEnabled { // the race detector allocates too
		t.Skip("allocations are not counted with the race detector")
	}
	const calls = 5000
	perCall := map[bool]float64{}
	for isCounted, opts := range map[bool][]app.Option{true: nil, false: {app.WithoutNumbers()}} {
		i := testkit.Start(t, testkit.Settings{"rate-limit": "1000000", "rate-burst": "1000000"}, opts...)
		client := modernClient(t, i.URL, demoEcho, 200)
		for range calls / 2 {
			client.call(t)
		}
		before := settled(t)
		for range calls {
			client.call(t)
		}
		after := settled(t)
		perCall[isCounted] = float64(after.Mallocs-before.Mallocs) / calls
		i.Stop()
	}
	more := perCall[true] - perCall[false]
	t.Logf("figure: %.2f allocations a call with numbers over time, %.2f without: %.2f more", perCall[true], perCall[false], more)
	if more > 2 {
		t.Errorf("numbers over time cost %.2f allocations a call, at most 2 are promised", more)
	}
}
