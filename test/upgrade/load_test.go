package upgrade

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// pace is how long each caller waits between two calls.
const pace = 25 * time.Millisecond

// load is callers of every kind, who note what fails.
type load struct {
	c     *client
	calls atomic.Int64 // that were answered right

	mu     sync.Mutex
	failed []string
}

// run calls until ctx ends. Calls that are under way then come to their end.
func (l *load) run(ctx context.Context, session string) {
	whole := context.WithoutCancel(ctx)
	var all sync.WaitGroup
	for n := range 2 {
		all.Go(func() {
			l.repeat(ctx, fmt.Sprintf("plain-%d", n), func(want string) (answer, error) {
				return l.c.send(whole, http.MethodPost, "/mcp/request", call("demo__echo", want))
			})
		})
		all.Go(func() {
			l.repeat(ctx, fmt.Sprintf("session-%d", n), func(want string) (answer, error) {
				return l.c.send(whole, http.MethodPost, "/mcp", call("demo__echo", want), "Mcp-Session-Id: "+session, "Mcp-Protocol-Version: 2025-11-25")
			})
		})
		all.Go(func() {
			l.repeat(ctx, fmt.Sprintf("peer-%d", n), func(want string) (answer, error) {
				return l.c.send(whole, http.MethodPost, "/mcp/request", call("peer__repeat", want))
			})
		})
	}
	all.Go(func() { l.repeat(ctx, "keys", func(want string) (answer, error) { return l.change(whole, want) }) })
	all.Wait()
}

func call(tool, text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{"text":%q}}}`, tool, text)
}

// repeat asks again and again for a text that must come back.
func (l *load) repeat(ctx context.Context, who string, ask func(want string) (answer, error)) {
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for n := 0; ctx.Err() == nil; n++ {
		want := fmt.Sprintf("%s says %d", who, n)
		got, err := ask(want)
		switch {
		case err != nil:
			l.fail("%s: %v", want, err)
		case got.status >= 300 || !strings.Contains(got.body, want):
			l.fail("%s: replica %s answered %d %s", want, got.replica, got.status, got.body)
		default:
			l.calls.Add(1)
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

func (l *load) fail(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = append(l.failed, fmt.Sprintf(format, args...))
}

func (l *load) failures() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed
}

// change makes a key and takes it back, at whichever replicas it comes to.
func (l *load) change(ctx context.Context, name string) (answer, error) {
	made, err := l.c.send(ctx, http.MethodPost, "/api/v1/keys", fmt.Sprintf(`{"name":%q,"scopes":["tools:read"]}`, name))
	if err != nil || made.status >= 300 {
		return made, err
	}
	var key struct{ ID string }
	if err := json.Unmarshal([]byte(made.body), &key); err != nil || key.ID == "" {
		return made, fmt.Errorf("no id in %s: %w", made.body, err)
	}
	gone, err := l.c.send(ctx, http.MethodDelete, "/api/v1/keys/"+key.ID, "")
	if err != nil || gone.status >= 300 {
		return gone, err
	}
	return made, nil
}

// session begins one of a legacy client, which all replicas serve.
func (l *load) session(t *testing.T) string {
	t.Helper()
	got, err := l.c.send(t.Context(), http.MethodPost, "/mcp",
		`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"stayer","version":"1"}}}`)
	if err != nil || got.status != http.StatusOK || got.session == "" {
		t.Fatalf("initialize: %v %d %s", err, got.status, got.body)
	}
	told, err := l.c.send(t.Context(), http.MethodPost, "/mcp", `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		"Mcp-Session-Id: "+got.session, "Mcp-Protocol-Version: 2025-11-25")
	if err != nil || told.status != http.StatusAccepted {
		t.Fatalf("initialized: %v %d %s", err, told.status, told.body)
	}
	return got.session
}
