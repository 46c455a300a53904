package operate

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/app"
	"github.com/junctor-mcp/junctor/internal/store/pgtest"
	"github.com/junctor-mcp/junctor/internal/testkit"
)

// limited is more than is called here, so that nobody is refused.
const limited = `{"tools":{"demo/echo":{"per_second":1000000,"burst":1000000,"per_day":1000000}}}`

// TestWarmCallsAskNobody holds that a call that was made before does not ask the
// PostgreSQL that replicas share, and their Redis once in a while: for so many calls of
// a day as are made in a second or two.
func TestWarmCallsAskNobody(t *testing.T) {
	pg, err := pgtest.Start(pgtest.Options{})
	pgtest.Need(t, err)
	t.Cleanup(pg.Stop)
	addr, _ := redis(t)
	var statements atomic.Int64
	i := testkit.Start(t, testkit.Settings{"db": pg.Database(t), "seal-key-file": filepath.Join(t.TempDir(), "seal.key"), "redis": "redis://" + addr},
		app.WithStatements(func(ctx context.Context) {
			if ctx.Value(http.ServerContextKey) != nil { // of a request, and not of what is written in the background
				statements.Add(1)
			}
		}))
	if r := i.Do(t, http.MethodPatch, "/api/v1/limits", limited, "Content-Type: application/json"); r.Status != http.StatusOK {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	if statements.Load() == 0 || scripts(t, addr) != 0 {
		t.Fatal("a change made no statement, or scripts ran already: nothing is counted")
	}
	open := i.Do(t, http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`,
		"Content-Type: application/json", "Accept: application/json, text/event-stream")
	session := []string{"Mcp-Session-Id: " + open.Header.Get("Mcp-Session-Id"), "Mcp-Protocol-Version: 2025-11-25"}
	call := func(path string, header []string, n int) {
		t.Helper()
		want := fmt.Sprintf("%s %d", path, n)
		r := i.Do(t, http.MethodPost, path, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"demo__echo","arguments":{"text":%q}}}`, want),
			append([]string{"Content-Type: application/json", "Accept: application/json, text/event-stream"}, header...)...)
		if r.Status != http.StatusOK || !strings.Contains(r.Body, want) {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
	}
	const calls = 500
	asked := 0
	for _, endpoint := range []struct {
		path   string
		header []string
	}{{"/mcp/request", nil}, {"/mcp", session}} {
		for n := range 10 {
			call(endpoint.path, endpoint.header, n)
		}
		took := scripts(t, addr)
		if took == 0 {
			t.Fatal("no tokens were taken from the Redis: nothing is counted")
		}
		statements.Store(0)
		for n := range calls {
			call(endpoint.path, endpoint.header, n)
		}
		if n := statements.Load(); n != 0 {
			t.Errorf("%s: %d statements in %d calls", endpoint.path, n, calls)
		}
		n := scripts(t, addr) - took
		if n > calls/50 {
			t.Errorf("%s: the Redis was asked %d times in %d calls", endpoint.path, n, calls)
		}
		asked += n
	}
	t.Logf("figure: %d warm calls, with limits and on two endpoints: 0 PostgreSQL statements, %d Redis requests", 2*calls, asked)
}

var scriptCalls = regexp.MustCompile(`cmdstat_eval(?:sha)?:calls=(\d+)`)

// scripts is how many scripts the Redis was asked to run.
func scripts(t *testing.T, addr string) (n int) {
	t.Helper()
	conn, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte("INFO commandstats\r\nQUIT\r\n")); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	buf := make([]byte, 4096)
	for {
		got, err := conn.Read(buf)
		text.Write(buf[:got])
		if err != nil { // it hangs up after QUIT
			break
		}
	}
	if !strings.Contains(text.String(), "# Commandstats") {
		t.Fatalf("no statistics: %s", text.String())
	}
	for _, m := range scriptCalls.FindAllStringSubmatch(text.String(), -1) {
		calls, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		n += calls
	}
	return n
}
