//go:build linux

package deploy

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/test/program"
)

// patience is far above what anything here takes.
const patience = 90 * time.Second

// metric is the line of a metric without labels; "" where there is none.
func metric(t *testing.T, in *program.Instance, name string) string {
	t.Helper()
	a, err := in.Request(t.Context(), http.MethodGet, "/metrics", "")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(a.Body) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// TestDrained tells an instance to end while a call is under way and a stream is
// open. It is not ready from then on and serves all the same, with connections
// that end; the call is answered, the stream is told, and the exit is clean.
func TestDrained(t *testing.T) {
	t.Parallel()
	in := program.Start(t, program.FreeAddr(t), t.TempDir(), "--drain", "8s")
	heard := listen(t, in)
	slow := make(chan program.Answer, 1)
	go func() {
		c := program.NewCaller(t, program.Plain, in.URL, program.AdminKey)
		a, err := c.Call(t.Context(), "demo__slow", `{"steps":11,"delay_ms":1000}`)
		if err != nil {
			t.Errorf("the call that was under way: %v", err)
		}
		slow <- a
	}()
	poll.Until(t, "a call is under way", patience, func() bool { return metric(t, in, "junctor_calls_in_flight") == "1" })

	in.Signal(t, syscall.SIGTERM)
	var ready program.Answer
	poll.Until(t, "it is not ready any more", patience, func() bool {
		var err error
		if ready, err = in.Request(t.Context(), http.MethodGet, "/readyz", ""); err != nil {
			t.Fatal(err)
		}
		return ready.Status != http.StatusOK
	})
	if ready.Status != http.StatusServiceUnavailable || !strings.Contains(ready.Body, "stopping") {
		t.Errorf("/readyz: %d %s", ready.Status, ready.Body)
	}
	if got := metric(t, in, "junctor_draining"); got != "1" {
		t.Errorf("junctor_draining is %q", got)
	}
	for _, era := range program.Eras() {
		c := program.NewCaller(t, era, in.URL, program.AdminKey)
		a, err := c.Call(t.Context(), "demo__echo", `{"text":"still here"}`)
		if err != nil || a.Text != "still here" {
			t.Errorf("%s: a call while it drains: %v %+v", era, err, a)
		}
	}
	select {
	case a := <-slow:
		if !a.OK {
			t.Errorf("the call that was under way: %d %s", a.Status, a.Body)
		}
	case <-time.After(patience):
		t.Fatal("the call that was under way got no answer")
	}
	if code, ok := in.Wait(patience); !ok || code != 0 {
		t.Errorf("it ended: %v, with %d", ok, code)
	}
	select {
	case text := <-heard:
		if !strings.Contains(text, "notifications/cancelled") || !strings.Contains(text, "the server is stopping") {
			t.Errorf("the stream was not told: %s", text)
		}
	case <-time.After(patience):
		t.Error("the stream goes on")
	}
}

// TestDrainCalls tells an instance to end while calls are under way that take longer than
// --drain-calls, and one that does not. The latter is answered as ever. The others are
// answered with an error that names the setting, in each era, and the exit is clean. Calls
// that keep coming meanwhile do not hold up the end.
func TestDrainCalls(t *testing.T) {
	t.Parallel()
	in := program.Start(t, program.FreeAddr(t), t.TempDir(), "--drain-calls", "4s")
	type reply struct {
		name string
		a    program.Answer
		err  error
	}
	answers := make(chan reply, 8)
	send := func(name string, era program.Era, steps int) {
		c := program.NewCaller(t, era, in.URL, program.AdminKey)
		go func() {
			a, err := c.Call(context.WithoutCancel(t.Context()), "demo__slow", fmt.Sprintf(`{"steps":%d,"delay_ms":1000}`, steps))
			answers <- reply{name, a, err}
		}()
	}
	for _, era := range program.Eras() {
		send(string(era), era, 60)
	}
	send("short", program.Plain, 2)
	poll.Until(t, "the calls are under way", patience, func() bool { return metric(t, in, "junctor_calls_in_flight") == "4" })
	told := time.Now()
	in.Signal(t, syscall.SIGTERM)
	stop := make(chan struct{})
	defer close(stop)
	go func() { // more calls, each of them short
		for {
			select {
			case <-stop:
				return
			default:
				_, _ = in.Request(context.WithoutCancel(t.Context()), http.MethodPost, "/mcp/request", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"demo__slow","arguments":{"steps":1,"delay_ms":100}}}`)
			}
		}
	}()
	for range 4 {
		select {
		case r := <-answers:
			if r.name == "short" {
				if r.err != nil || !r.a.OK {
					t.Errorf("the short call: %v, %d %s", r.err, r.a.Status, r.a.Body)
				}
			} else if r.err != nil || !strings.Contains(r.a.Body, "--drain-calls 4s") || !strings.Contains(r.a.Body, `"name":"drain_calls"`) {
				t.Errorf("%s: %v, %d %s", r.name, r.err, r.a.Status, r.a.Body)
			}
		case <-time.After(patience):
			t.Fatal("a call got no answer")
		}
	}
	if took := time.Since(told); took < 3*time.Second {
		t.Errorf("the calls had %s", took)
	}
	if code, ok := in.Wait(patience); !ok || code != 0 {
		t.Errorf("it ended: %v, with %d", ok, code)
	}
	if took := time.Since(told); took > 30*time.Second {
		t.Errorf("it took %s to end", took)
	}
}

// listen opens a subscription and gives what it said, once it has ended.
func listen(t *testing.T, in *program.Instance) <-chan string {
	t.Helper()
	const body = `{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*patience)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, in.URL+"/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Authorization": "Bearer " + program.AdminKey, "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen",
	} {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(res.Body)
	var said strings.Builder
	for lines.Scan() { // until it is known to listen
		said.WriteString(lines.Text())
		if strings.Contains(lines.Text(), "acknowledged") {
			break
		}
	}
	if !strings.Contains(said.String(), "acknowledged") {
		t.Fatalf("subscriptions/listen: %d %s", res.StatusCode, said.String())
	}
	heard := make(chan string, 1)
	go func() {
		defer res.Body.Close()
		for lines.Scan() {
			said.WriteString(lines.Text() + "\n")
		}
		heard <- said.String()
	}()
	return heard
}
