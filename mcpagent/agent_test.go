package mcpagent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/mcpagent"

	"pgregory.net/rapid"
)

const callText = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"agent.receiveFeedback","arguments":{"score":20,"value":205,"valueDecimals":1,"clientAddress":"0xab","feedbackIndex":1},` +
	`"_meta":{"junctor/delivery":{"id":"ID","event":"e1","type":"NewFeedback","source":"chain","agent":"42","attempt":2},"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`

// post sends one call as a modern client does.
func post(t *testing.T, at, body string, header ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range append([]string{"Content-Type: application/json", "Accept: application/json, text/event-stream", "MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: agent.receiveFeedback"}, header...) {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(bytes.TrimSpace(text))
}

func call(id string) string { return strings.Replace(callText, `"ID"`, strconv.Quote(id), 1) }

func TestDeliveries(t *testing.T) {
	t.Parallel()
	var got []mcpagent.Delivery
	fails := true
	agent := mcpagent.New("a", mcpagent.Options{})
	mcpagent.AddHandler(agent, mcpagent.ReceiveFeedbackTool, "Feedback", func(_ context.Context, d mcpagent.Delivery, f mcpagent.Feedback) error {
		got = append(got, d)
		if *f.Score != 20 || f.Rating().FloatString(1) != "20.5" {
			t.Errorf("payload %+v", f)
		}
		if fails {
			return errors.New("not now")
		}
		return nil
	})
	server := httptest.NewServer(agent)
	t.Cleanup(server.Close)
	if status, text := post(t, server.URL, call("d1")); status != 200 || !strings.Contains(text, `"isError":true`) || !strings.Contains(text, "not now") {
		t.Errorf("a handler that fails: %d %s", status, text)
	}
	fails = false
	if status, text := post(t, server.URL, call("d1")); status != 200 || strings.Contains(text, `"isError":true`) || strings.Contains(text, "repeated") {
		t.Errorf("the same again after a failure: %d %s", status, text)
	}
	if status, text := post(t, server.URL, call("d1")); status != 200 || !strings.Contains(text, `"repeated":true`) {
		t.Errorf("the same again: %d %s", status, text)
	}
	want := mcpagent.Delivery{Tool: mcpagent.ReceiveFeedbackTool, ID: "d1", Event: "e1", Type: "NewFeedback", Source: "chain", Agent: "42", Attempt: 2}
	if len(got) != 2 || got[0] != want || got[1] != want {
		t.Errorf("handled %+v", got)
	}
	if status, text := post(t, server.URL, strings.Replace(call("d2"), `"clientAddress":"0xab",`, "", 1)); !strings.Contains(text, "clientAddress") || len(got) != 2 {
		t.Errorf("a payload that does not fit: %d %s", status, text)
	}
}

func TestWhoCanCall(t *testing.T) {
	t.Parallel()
	now := time.Now()
	var n atomic.Int32
	agent := mcpagent.New("a", mcpagent.Options{Token: "open-sesame", Secrets: []string{"old secret of a test", "new secret of a test"}})
	mcpagent.AddHandler(agent, mcpagent.ReceiveFeedbackTool, "Feedback", func(context.Context, mcpagent.Delivery, mcpagent.Feedback) error {
		n.Add(1)
		return nil
	})
	server := httptest.NewServer(agent)
	t.Cleanup(server.Close)
	signed := func(secret, body string) []string {
		return []string{
			"webhook-id: m1", "webhook-timestamp: " + strconv.FormatInt(now.Unix(), 10), "webhook-signature: " + junctor.SignWebhook(secret, "m1", now, []byte(body)),
		}
	}
	body := call("d1")
	for name, c := range map[string]struct {
		header []string
		status int
	}{
		"nothing":               {nil, 401},
		"a token alone":         {[]string{"Authorization: Bearer open-sesame"}, 401},
		"another token":         {append(signed("new secret of a test", body), "X-Agent-Token: x"), 401},
		"another secret":        {append(signed("nobody's secret of a test", body), "X-Agent-Token: open-sesame"), 401},
		"another body's":        {append(signed("new secret of a test", body+" "), "X-Agent-Token: open-sesame"), 401},
		"token and signature":   {append(signed("new secret of a test", body), "X-Agent-Token: open-sesame"), 200},
		"the former secret":     {append(signed("old secret of a test", body), "X-API-Key: open-sesame"), 200},
		"as a bearer token too": {append(signed("old secret of a test", body), "Authorization: Bearer open-sesame"), 200},
	} {
		if status, text := post(t, server.URL, body, c.header...); status != c.status {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	if n.Load() != 1 {
		t.Errorf("handled %d times", n.Load())
	}
	for _, sly := range []string{"[" + body + "]", `{"method":"tools/list","method":"tools/call"}`, "{", ""} {
		if status, _ := post(t, server.URL, sly, "X-Agent-Token: open-sesame"); status == 200 {
			t.Errorf("%.40s is let in without a signature", sly)
		}
	}
}

// However deliveries come, each is done once, unless it fails.
func TestOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		seen := mcpagent.NewMemoryDeduplicator(100)
		ids := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 1, 20).Draw(t, "ids")
		failures := rapid.IntRange(0, 3).Draw(t, "failures")
		var mu sync.Mutex
		done := map[string]int{}
		var work sync.WaitGroup
		for i, id := range ids {
			work.Go(func() {
				_, _ = seen.RunOnce(context.Background(), id, func() error {
					mu.Lock()
					defer mu.Unlock()
					if i < failures {
						return errors.New("no")
					}
					done[id]++
					return nil
				})
			})
		}
		work.Wait()
		for id, n := range done {
			if n != 1 {
				t.Fatalf("%s was done %d times", id, n)
			}
		}
	})
	small := mcpagent.NewMemoryDeduplicator(2)
	for _, id := range []string{"a", "b", "c", "a"} {
		if first, err := small.RunOnce(t.Context(), id, func() error { return nil }); !first || err != nil {
			t.Errorf("%s: %v, %v", id, first, err)
		}
	}
}

func TestWorth(t *testing.T) {
	t.Parallel()
	for text, low := range map[string]bool{
		`{"score":39}`:                         true,
		`{"score":40}`:                         false,
		`{"value":399,"valueDecimals":1}`:      true,
		`{"value":"-32"}`:                      true,
		`{"value":41,"score":1}`:               false,
		`{}`:                                   false,
		`{"value":5,"valueDecimals":99999999}`: false,
	} {
		var f mcpagent.Feedback
		if err := json.Unmarshal([]byte(text), &f); err != nil || f.IsBelow(40) != low {
			t.Errorf("%s: %v (%v)", text, f.IsBelow(40), err)
		}
	}
}

// TestCancelledDeliveryEnds holds that a delivery which the sender gives up ends
// in the agent, and that no web page can make one.
func TestCancelledDeliveryEnds(t *testing.T) {
	t.Parallel()
	begun, ended, over := make(chan struct{}), make(chan struct{}), make(chan struct{})
	agent := mcpagent.New("a", mcpagent.Options{})
	mcpagent.AddHandler(agent, mcpagent.ReceiveFeedbackTool, "Feedback", func(ctx context.Context, _ mcpagent.Delivery, _ mcpagent.Feedback) error {
		close(begun)
		select {
		case <-ctx.Done():
			close(ended)
		case <-over:
		}
		return ctx.Err()
	})
	server := httptest.NewServer(agent)
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(over) }) // first, so that the call ends
	if status, text := post(t, server.URL, call("d1"), "Origin: https://evil.example"); status != http.StatusForbidden {
		t.Errorf("a page of another origin: %d %s", status, text)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, strings.NewReader(call("d1")))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28",
		"Mcp-Method": "tools/call", "Mcp-Name": mcpagent.ReceiveFeedbackTool,
	} {
		r.Header.Set(name, value)
	}
	go func() {
		<-begun
		cancel()
	}()
	if res, err := http.DefaultClient.Do(r); err == nil {
		_ = res.Body.Close()
		t.Error("a request that was given up has an answer")
	}
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("the handler runs on")
	}
}

// TestOlderSenderCancels holds that a client of an older version can give up a
// delivery where it has a session.
func TestOlderSenderCancels(t *testing.T) {
	t.Parallel()
	begun, ended, over := make(chan struct{}), make(chan struct{}), make(chan struct{})
	agent := mcpagent.New("a", mcpagent.Options{HTTP: mcpagent.HTTPOptions{SessionTimeout: time.Minute}})
	mcpagent.AddHandler(agent, "wait", "Waits", func(ctx context.Context, _ mcpagent.Delivery, _ struct{}) error {
		close(begun)
		select {
		case <-ctx.Done():
			close(ended)
		case <-over:
		}
		return ctx.Err()
	})
	server := httptest.NewServer(agent)
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(over) }) // first, so that the call ends
	client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: server.URL}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-begun
		cancel()
	}()
	if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "wait"}); !errors.Is(err, context.Canceled) {
		t.Errorf("the call ends with %v", err)
	}
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("the handler runs on")
	}
}
