package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
)

func TestRunIsFollowed(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.run = func(context.Context, string, string, []byte) (json.RawMessage, bool, error) {
		return json.RawMessage(`{"content":[]}`), true, nil
	}
	rec := ask(w.handler(t), "tools:call", "POST", "/run", `{"name":"demo__echo","arguments":{"text":"x"}}`)
	got := rec.Body.String()
	for _, want := range []string{
		"event: progress\ndata: {\"progress\":1}\n\n",
		"event: log\ndata: {\"level\":\"info\",\"params\":{\"data\":\"half\"}}\n\n",
		"event: result\ndata: {\"result\":{\"content\":[]},\"is_error\":true,\"duration_ns\":",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in %q", want, got)
		}
	}
	if rec.Code != http.StatusOK || rec.Header().Get("Content-Type") != "text/event-stream" {
		t.Errorf("%d %v", rec.Code, rec.Header())
	}
	w.run = func(context.Context, string, string, []byte) (json.RawMessage, bool, error) {
		return nil, false, junctor.Errorf(junctor.CodeTimeout, "too slow")
	}
	if rec := ask(w.handler(t), "tools:call", "POST", "/run", `{"name":"x"}`); !strings.Contains(rec.Body.String(), "event: error\ndata: {\"type\":") {
		t.Errorf("an error after the stream began: %s", rec.Body)
	}
	if rec := ask(w.handler(t), "tools:call", "POST", "/run", `{"name":"x","kind":"task"}`); rec.Code != http.StatusUnprocessableEntity && rec.Code != http.StatusBadRequest {
		t.Errorf("a kind that cannot be run: %d", rec.Code)
	}
}

func TestProbesAreFollowed(t *testing.T) {
	t.Parallel()
	w := newWorld()
	rec := ask(w.handler(t), "servers:write", "POST", "/servers/probe/steps", `{"url":"https://x.example/mcp"}`)
	got := rec.Body.String()
	step, result := strings.Index(got, "event: step\ndata: {\"step\":\"address\",\"elapsed_ns\":"), strings.Index(got, "event: result\ndata: {\"passed\":[\"address\"],\"failed\":\"tls\"")
	if step < 0 || result < step || rec.Header().Get("Content-Type") != "text/event-stream" {
		t.Errorf("%v %q", rec.Header(), got)
	}
	if rec := ask(w.handler(t), "servers:write", "POST", "/servers/nobody/test/steps", ``); rec.Code != http.StatusNotFound {
		t.Errorf("a server that is not there: %d %s", rec.Code, rec.Body)
	}
}

// Who may not look any more is told of nothing more.
func TestTailEndsWithTheRight(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.tail = make(tail, 2)
	w.tail <- junctor.Call{ID: "c1", Tenant: "default", Status: junctor.StatusRunning}
	o := w.options()
	var mu sync.Mutex
	ended := false
	o.Authenticate = func(r *http.Request) (*junctor.Principal, error) {
		mu.Lock()
		defer mu.Unlock()
		if ended = ended || len(w.tail) == 0; !ended {
			return bearer(r)
		}
		select {
		case w.tail <- junctor.Call{ID: "c2", Tenant: "default"}:
		default:
		}
		return nil, junctor.Errorf(junctor.CodeUnauthenticated, "the session has ended")
	}
	h, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodGet, Prefix+"/calls/tail", nil)
	r.Header.Set("Authorization", "Bearer audit:read")
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	got := rec.Body.String()
	if !strings.Contains(got, `"id":"c1"`) || strings.Contains(got, `"id":"c2"`) || !strings.Contains(got, "event: error") || rec.Header().Get(HeaderRequest) == "" {
		t.Errorf("%s", got)
	}
}
