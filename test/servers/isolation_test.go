package servers

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/test/program"
)

// roll is the file in which the processes of one server write their numbers, and
// those of their own children.
type roll string

// living gives the processes that were started, and all that still live of them
// and their children.
func (r roll) living(t testing.TB) (started int, living []int) {
	t.Helper()
	b, err := os.ReadFile(string(r))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		started++
		for number := range strings.FieldsSeq(line) {
			pid, err := strconv.Atoi(number)
			if err != nil {
				t.Fatal(err)
			}
			if alive(pid) {
				living = append(living, pid)
			}
		}
	}
	return started, living
}

func (r roll) empty(t testing.TB) {
	t.Helper()
	var living []int
	if !poll.Holds(30*time.Second, func() bool {
		_, living = r.living(t)
		return len(living) == 0
	}) {
		t.Errorf("processes are left: %v", living)
	}
}

const (
	agents  = 10
	calls   = 100 // of each agent, all at once
	windows = 2   // sessions of each agent
)

// Ten agents with two clients each, a hundred calls of each agent at once, on the
// real binary: as many processes as the setting says, and none of them, nor of
// their children, when their session, the program or its life is ended.
func TestProcessCountFollowsTheSetting(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere there is no reaper")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	addr, data, rolls := program.FreeAddr(t), t.TempDir(), t.TempDir()
	in := program.Start(t, addr, data, "--allow-commands", "--rate-limit", "0")
	want := map[string]int{"shared": 1, "user": agents, "session": agents * windows}
	of := func(isolation string) roll { return roll(filepath.Join(rolls, isolation)) }
	for isolation := range want {
		out, errs, code := in.CLI(t, "server", "add", isolation, "--isolation", isolation, "--yes", "--env", "PLAY_SERVER=1", "--env", "ROLL="+string(of(isolation)), "--", self)
		if code != 0 {
			t.Fatalf("%s: exit code %d\n%s%s", isolation, code, out, errs)
		}
		of(isolation).empty(t) // a probe leaves nothing
		if err := os.Remove(string(of(isolation))); err != nil {
			t.Fatal(err)
		}
	}
	var clients []*program.Caller
	for i := range agents {
		out, errs, code := in.CLI(t, "key", "create", fmt.Sprint("agent", i), "--scope", "tools:call", "--format", "json")
		var made struct{ Key string }
		if err := json.Unmarshal([]byte(out), &made); err != nil || code != 0 {
			t.Fatalf("%v %s%s", err, out, errs)
		}
		for range windows {
			clients = append(clients, program.NewCaller(t, program.Legacy, in.URL, made.Key))
		}
	}
	burst := func(isolation string, n int) {
		var wg sync.WaitGroup
		for i, c := range clients {
			for k := range n / windows {
				wg.Go(func() {
					text := fmt.Sprintf("%s %d %d", isolation, i, k)
					body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s__echo","arguments":{"text":%q}}}`, k+1, isolation, text)
					if a, err := c.Send(t.Context(), body, isolation+"__echo"); err != nil || a.Text != text {
						t.Errorf("%s: %v %s", text, err, a.Body)
					}
				})
			}
		}
		wg.Wait()
	}
	count := func(isolation, when string) {
		t.Helper()
		started, living := of(isolation).living(t)
		if started != want[isolation] || len(living) != 2*started {
			t.Errorf("%s, %s: %d processes were started, want %d; %d of them and their children live", isolation, when, started, want[isolation], len(living))
		}
		out, _, _ := in.CLI(t, "server", "show", isolation, "--format", "json")
		var shown struct {
			Diagnostics struct {
				Processes, Sessions int
				Isolation           string
			}
		}
		if err := json.Unmarshal([]byte(out), &shown); err != nil || shown.Diagnostics.Processes != want[isolation] || shown.Diagnostics.Isolation != isolation {
			t.Errorf("%s, %s: server show says %s, %v", isolation, when, out, err)
		}
	}
	for isolation := range want {
		burst(isolation, calls)
		count(isolation, "after the calls")
	}

	// Whatever is killed, nothing is left.
	in.Kill()
	for isolation := range want {
		of(isolation).empty(t)
		_ = os.Remove(string(of(isolation)))
	}
	in = program.Start(t, addr, data, "--allow-commands", "--rate-limit", "0")
	for isolation := range want {
		burst(isolation, windows)
		count(isolation, "after kill -9 and a restart")
	}

	// A client that ends its session ends what was its own.
	for _, c := range clients {
		end(t, in, c)
	}
	of("session").empty(t)
	for _, still := range []string{"shared", "user"} {
		if _, living := of(still).living(t); len(living) != 2*want[still] {
			t.Errorf("%s: %d processes are left where others still use them", still, len(living))
		}
	}
	in.Stop(t, time.Minute)
	for isolation := range want {
		of(isolation).empty(t)
	}
}

// A server that asks while several calls could be meant is isolated from then on,
// a restart included, and says why.
func TestIsolationIsStored(t *testing.T) {
	t.Parallel()
	sdk := mcp.NewServer(&mcp.Implementation{Name: "asks", Version: "1"}, nil)
	var running sync.WaitGroup
	running.Add(2)
	var answered sync.WaitGroup
	answered.Add(2)
	mcp.AddTool(sdk, &mcp.Tool{Name: "ask"}, func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		running.Done()
		running.Wait()
		_, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "?", RequestedSchema: map[string]any{"type": "object"}})
		answered.Done()
		answered.Wait()
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint(err)}}}, nil, nil
	})
	hs := httptest.NewServer(mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return sdk }, nil))
	t.Cleanup(func() {
		_ = hs.Config.Close()
		hs.Close()
	})
	dir := t.TempDir()
	i := start(t, testkit.Settings{"data-dir": dir})
	if r := i.Do(t, "POST", "/api/v1/servers", fmt.Sprintf(`{"id":"asks","transport":"sse","url":%q}`, hs.URL)); r.Status != 201 {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			r := i.Do(t, "POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"asks__ask","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}`,
				"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: asks__ask", "Accept: application/json, text/event-stream")
			if !strings.Contains(r.Body, "several calls are in progress") {
				t.Errorf("asked one of two: %s", r.Body)
			}
		})
	}
	wg.Wait()
	isolated := func() bool {
		body := i.Do(t, "GET", "/api/v1/servers/asks", "").Body
		return strings.Contains(body, `"isolation":"session"`) && strings.Contains(body, `"isolation_reason":"it sent its client a request`)
	}
	poll.Until(t, "isolation", time.Minute, isolated)
	i.Stop()
	i = start(t, testkit.Settings{"data-dir": dir})
	if !isolated() {
		t.Errorf("forgotten: %s", i.Do(t, "GET", "/api/v1/servers/asks", "").Body)
	}
}

func end(t testing.TB, in *program.Instance, c *program.Caller) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, in.URL+"/mcp", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.Key())
	req.Header.Set("Mcp-Session-Id", c.Session)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusNoContent {
		t.Errorf("DELETE: %d", res.StatusCode)
	}
}
