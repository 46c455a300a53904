// Package crash kills the real binary, kill -9, and looks at what goes on
// afterwards.
package crash

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/test/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

// readyAgain is the promise for a restart.
const readyAgain = 5 * time.Second

// atMost is when a start is too late: on a busy machine, which the short form may
// run on, at twice what is promised.
func atMost() time.Duration {
	if program.Long() {
		return readyAgain
	}
	return 2 * readyAgain
}

// TestSessionsGoOn opens legacy sessions, kills the process and goes on with the
// same session ids on the next one.
func TestSessionsGoOn(t *testing.T) {
	t.Parallel()
	kills := 3
	if program.Long() {
		kills = 200
	}
	addr, data := program.FreeAddr(t), t.TempDir()
	in := program.Start(t, addr, data)
	var out struct{ Key string }
	stdout, stderr, code := in.CLI(t, "key", "create", "other", "--scope", "tools:call", "--format", "json")
	if err := json.Unmarshal([]byte(stdout), &out); err != nil || code != 0 || out.Key == "" {
		t.Fatalf("key create: exit code %d, %v\n%s%s", code, err, stdout, stderr)
	}
	mine := &client{t: t, url: in.URL + "/mcp", key: program.AdminKey}
	mine.open()
	foreign := &client{t: t, url: mine.url, key: out.Key, session: mine.session}

	var slowest []time.Duration
	for i := range kills {
		in.Kill()
		in = program.Start(t, addr, data)
		slowest = append(slowest, in.Ready)
		want := fmt.Sprintf("still here, %d", i)
		if got := mine.echo(want); !strings.Contains(got, want) {
			t.Fatalf("after kill %d the old session answers %s", i+1, got)
		}
		if status, body := foreign.post("tools/list", `{}`); status != http.StatusNotFound {
			t.Fatalf("after kill %d another key's use of the session: status %d, want 404\n%s", i+1, status, body)
		}
	}
	worst := slices.Max(slowest)
	t.Logf("figure: %d kills: the session continued after each, slowest restart %v", kills, worst.Round(time.Millisecond))
	if worst > atMost() {
		t.Errorf("slowest restart %v, promised %v", worst, readyAgain)
	}

	// An ended session stays ended, whatever is killed.
	if status := mine.end(); status != http.StatusOK && status != http.StatusNoContent {
		t.Fatalf("DELETE: status %d", status)
	}
	for _, when := range []string{"at once", "after a restart"} {
		if status, body := mine.post("tools/list", `{}`); status != http.StatusNotFound {
			t.Errorf("an ended session, %s: status %d, want 404\n%s", when, status, body)
		}
		in.Kill()
		in = program.Start(t, addr, data)
	}

	// A new session on the same instance works, so the 404s were no outage.
	mine.session = ""
	mine.open()
	if got := mine.echo("again"); !strings.Contains(got, "again") {
		t.Errorf("a new session answers %s", got)
	}
	in.Stop(t, 10*time.Second)
}

// client speaks 2025-11-25 by hand: the test is about ids on the wire.
type client struct {
	t       *testing.T
	url     string
	key     string
	session string
	id      int
}

func (c *client) open() {
	c.t.Helper()
	res := c.do(http.MethodPost, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"crash","version":"1"}}}`)
	body, _ := io.ReadAll(res.Body)
	c.session = res.Header.Get("Mcp-Session-Id")
	if res.StatusCode != http.StatusOK || c.session == "" {
		c.t.Fatalf("initialize: status %d, session %q\n%s", res.StatusCode, c.session, body)
	}
	if res := c.do(http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/initialized"}`); res.StatusCode != http.StatusAccepted {
		c.t.Fatalf("notifications/initialized: status %d", res.StatusCode)
	}
}

func (c *client) echo(text string) string {
	c.t.Helper()
	status, body := c.post("tools/call", fmt.Sprintf(`{"name":"demo__echo","arguments":{"text":%q}}`, text))
	if status != http.StatusOK {
		c.t.Fatalf("tools/call: status %d\n%s", status, body)
	}
	return body
}

func (c *client) post(method, params string) (status int, body string) {
	c.t.Helper()
	c.id++
	res := c.do(http.MethodPost, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, c.id, method, params))
	text, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

func (c *client) end() int {
	c.t.Helper()
	return c.do(http.MethodDelete, "").StatusCode
}

func (c *client) do(method, body string) *http.Response {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.url, bytes.NewBufferString(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Close = true // no connection outlives the process it leads to
	req.Header.Set("Authorization", "Bearer "+c.key)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
	}
	if c.session != "" {
		req.Header.Set("Mcp-Session-Id", c.session)
		req.Header.Set("MCP-Protocol-Version", "2025-11-25")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { res.Body.Close() })
	return res
}
