package gateway_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/gateway"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// A client that is asked and never answers does not keep its call, nor its
// session, in memory for ever.
func TestAQuestionLapses(t *testing.T) {
	t.Parallel()
	s := newStack(t, func(o *gateway.Options) { o.InputTimeout = 50 * time.Millisecond })
	c := open(t, s.Instance, "2025-11-25", `{"elicitation":{}}`, "")
	st := openStream(t, s.Instance, http.MethodPost, "/mcp", request("1", "tools/call", `"name":"probe__want"`), c.headers()...)
	q := st.next(t)
	if a := st.next(t); a.code() != -31003 || !strings.Contains(a.Error.Message, "did not answer") {
		t.Errorf("%+v", a)
	}
	st.ends(t)
	c.reply(t, q, `"result":{"action":"decline"}`) // too late, and harmless
	if s.probe.runs.Load() != 1 {
		t.Errorf("the tool ran %d times", s.probe.runs.Load())
	}
}

// A session that nobody uses leaves memory, and comes back by its id.
func TestIdleSessionsLeaveMemory(t *testing.T) {
	t.Parallel()
	s := newStack(t, func(o *gateway.Options) { o.IdleTimeout = 20 * time.Millisecond })
	c := open(t, s.Instance, "2025-11-25", "{}", "")
	c.post(t, request("1", "logging/setLevel", `"level":"emergency"`))
	s.ground.pass(time.Second)
	poll.Until(t, "the idle session to leave memory", time.Minute, func() bool { return s.g.SessionCount() == 0 })
	if got := levels(t, c.post(t, request("1", "tools/call", `"name":"probe__levels"`))); len(got) != 1 {
		t.Errorf("it came back without its log level: %v", got)
	}
	s.ground.pass(31 * 24 * time.Hour)
	poll.Until(t, "the expired session to leave memory", time.Minute, func() bool { return s.g.SessionCount() == 0 })
	if r := c.post(t, request("1", "ping")); r.Status != http.StatusNotFound {
		t.Errorf("an expired session: %d", r.Status)
	}
}

// Quiet streams show that they are alive.
func TestKeepAlive(t *testing.T) {
	t.Parallel()
	s := newStack(t, func(o *gateway.Options) { o.KeepAlive = 10 * time.Millisecond })
	c := open(t, s.Instance, "2025-11-25", "{}", "")
	body := listenBody("1", `{"toolsListChanged":true}`)
	for name, open := range map[string]func() *http.Response{
		"listen": func() *http.Response {
			return s.Open(t.Context(), t, http.MethodPost, "/mcp", body, mirrored(t, body)...)
		},
		"notes": func() *http.Response { return s.Open(t.Context(), t, http.MethodGet, "/mcp", "", c.headers()...) },
		"sse":   func() *http.Response { return s.Open(t.Context(), t, http.MethodGet, "/sse", "") },
		"a slow call": func() *http.Response {
			return s.Open(t.Context(), t, http.MethodPost, "/mcp", request("1", "tools/call", `"name":"probe__block"`), c.headers()...)
		},
	} {
		resp := open()
		seen, buf := "", make([]byte, 1024)
		for strings.Count(seen, ":\n\n") < 3 {
			n, err := resp.Body.Read(buf)
			if seen += string(buf[:n]); err != nil {
				t.Fatalf("%s: %q %v", name, seen, err)
			}
		}
		_ = resp.Body.Close()
	}
}

// A legacy stream is let go after a while; its client comes back for the answer.
func TestPolling(t *testing.T) {
	t.Parallel()
	s := newStack(t, func(o *gateway.Options) { o.PollAfter = 30 * time.Millisecond })
	c := open(t, s.Instance, "2025-11-25", "{}", "")
	st := openStream(t, s.Instance, http.MethodPost, "/mcp", request("5", "tools/call", `"name":"probe__block"`), c.headers()...)
	hears(t, "the start", s.probe.started, 10*time.Second)
	prime := <-st.events
	if !prime.HasID || !prime.HasRetry || len(prime.Data) != 0 {
		t.Fatalf("first event: %+v", prime)
	}
	st.ends(t)
	s.probe.release <- struct{}{}
	again := openStream(t, s.Instance, http.MethodGet, "/mcp", "", c.headers("Last-Event-ID: "+prime.ID)...)
	if a := again.next(t); string(a.ID) != "5" || a.text() != "released" {
		t.Errorf("%+v", a)
	}
	again.ends(t)
}

// Close ends streams and refuses what comes later; it can be called twice.
func TestCloseWhileCallsRun(t *testing.T) {
	t.Parallel()
	s := newStack(t, nil)
	c := open(t, s.Instance, "2025-11-25", "{}", "")
	st := openStream(t, s.Instance, http.MethodPost, "/mcp", request("5", "tools/call", `"name":"probe__block"`, `"_meta":{`+progress+`}`), c.headers()...)
	notes := openStream(t, s.Instance, http.MethodGet, "/mcp", "", c.headers()...)
	hears(t, "the start", s.probe.started, 10*time.Second)
	s.g.Close()
	if err := hears(t, "the end", s.probe.ended, time.Minute); err == nil {
		t.Error("the call ended by itself")
	}
	notes.ends(t)
	st.next(t)
	if r := c.post(t, request("6", "tools/call", `"name":"probe__raw"`)); r.Status != http.StatusServiceUnavailable || parse(t, r.Body).code() != -31007 {
		t.Errorf("after the end: %d %s", r.Status, r.Body)
	}
	openStream(t, s.Instance, http.MethodGet, "/mcp", "", c.headers()...).ends(t)
	s.g.Close()
}

// A request state stops to count after its time.
func TestStateExpires(t *testing.T) {
	t.Parallel()
	s := newStack(t, nil)
	state := stateOf(t, post(t, s.Instance, wanting("probe__want", "", "")).Body)
	s.ground.pass(time.Hour)
	r := post(t, s.Instance, wanting("probe__want", state, ""))
	if a := parse(t, r.Body); a.code() != wire.CodeInvalidParams || s.probe.runs.Load() != 1 {
		t.Errorf("%d runs, %s", s.probe.runs.Load(), r.Body)
	}
}
