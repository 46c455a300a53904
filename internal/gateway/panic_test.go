package gateway_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/gateway"
	"github.com/junctor-mcp/junctor/internal/guard"
	"github.com/junctor-mcp/junctor/internal/testkit"
)

// A tool or prompt that panics costs its own answer.
func TestPanicInABackend(t *testing.T) {
	t.Parallel()
	i, _ := start(t, nil)
	s := open(t, i, "2025-11-25", "{}", "")
	for range 3 {
		for endpoint, body := range map[string]string{
			"modern": post(t, i, request("1", "tools/call", `"name":"probe__panic"`, meta())).Body,
			"legacy": s.post(t, request("1", "tools/call", `"name":"probe__panic"`)).Body,
			"plain":  i.Do(t, http.MethodPost, "/mcp/request", request("1", "tools/call", `"name":"panic"`)).Body,
		} {
			if a := parse(t, body); a.Result["isError"] != true || strings.Contains(body, "on purpose") {
				t.Errorf("%s: %s", endpoint, body)
			}
		}
		for endpoint, body := range map[string]string{
			"modern": post(t, i, request("1", "prompts/get", `"name":"probe__panic"`, meta())).Body,
			"legacy": s.post(t, request("1", "prompts/get", `"name":"probe__panic"`)).Body,
		} {
			if a := parse(t, body); a.code() != -32603 || strings.Contains(body, "on purpose") {
				t.Errorf("%s: %s", endpoint, body)
			}
		}
	}
	if r := s.post(t, request("1", "tools/call", `"name":"probe__raw"`, `"arguments":{"a":1}`)); parse(t, r.Body).text() != `{"a":1}` {
		t.Errorf("the next call: %s", r.Body)
	}
}

// broken is a pipeline with a fault of ours in it.
type broken struct{ gateway.Pipeline }

func (broken) Do(context.Context, *guard.Op, catalog.Sink) (catalog.Result, error) {
	panic("on purpose")
}

func (broken) List(*junctor.Principal, catalog.Scope, catalog.ListKind) ([]byte, error) {
	panic("on purpose")
}

// A fault behind an endpoint costs one answer, on whichever goroutine it happens.
func TestPanicBehindAnEndpoint(t *testing.T) {
	t.Parallel()
	s := newStack(t, func(o *gateway.Options) { o.Pipeline = broken{o.Pipeline} })
	front := wrapped(t, s.g)
	c := open(t, front, "2025-11-25", "{}", "")
	call := request("1", "tools/call", `"name":"probe__raw"`)
	for range 2 {
		if r := c.post(t, call); r.Status != http.StatusOK || parse(t, r.Body).code() != -32603 || string(parse(t, r.Body).ID) != "1" {
			t.Errorf("legacy: %d %s", r.Status, r.Body)
		}
		for name, r := range map[string]testkit.Reply{
			"legacy list": c.post(t, request("1", "tools/list")),
			"modern":      post(t, front, request("1", "tools/call", `"name":"probe__raw"`, meta())),
			"plain":       front.Do(t, http.MethodPost, "/mcp/request", call),
			"tools":       front.Do(t, http.MethodGet, "/mcp/tools", ""),
		} {
			if r.Status != http.StatusInternalServerError || parse(t, r.Body).code() != -32603 {
				t.Errorf("%s: %d %s", name, r.Status, r.Body)
			}
		}
		if r := c.post(t, request("2", "ping")); r.Status != http.StatusOK {
			t.Errorf("the next request: %d", r.Status)
		}
	}
	sse := openSSE(t, front, "")
	sse.handshake(t, "2024-11-05", "{}")
	sse.send(t, call)
	if a := sse.next(t); a.code() != -32603 || string(a.ID) != "1" {
		t.Errorf("sse: %+v", a)
	}
	sse.send(t, request("2", "ping"))
	if a := sse.next(t); string(a.ID) != "2" || a.Result == nil {
		t.Errorf("sse, the next request: %+v", a)
	}
}

// wrapped serves a gateway behind an EdgeMiddleware.
func wrapped(t *testing.T, g *gateway.Gateway, more ...func(*http.ServeMux)) *testkit.Instance {
	t.Helper()
	mux := http.NewServeMux()
	if g != nil {
		g.RegisterRoutes(mux)
	}
	for _, f := range more {
		f(mux)
	}
	server := httptest.NewUnstartedServer(nil)
	front, err := gateway.NewEdgeMiddleware(gateway.EdgeOptions{Addr: server.Listener.Addr().String(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	server.Config.Handler = front.Wrap(mux)
	server.Start()
	t.Cleanup(server.Close)
	if g != nil {
		t.Cleanup(g.Close)
	}
	return &testkit.Instance{URL: server.URL}
}

func TestFrontRecovers(t *testing.T) {
	t.Parallel()
	i := wrapped(t, nil, func(mux *http.ServeMux) {
		mux.HandleFunc("/boom", func(http.ResponseWriter, *http.Request) { panic("on purpose") })
		mux.HandleFunc("/late", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			_, _ = io.WriteString(w, "half an ans")
			_ = http.NewResponseController(w).Flush()
			panic("on purpose")
		})
		mux.HandleFunc("/fine", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "fine") })
	})
	for range 2 {
		r := i.Do(t, http.MethodGet, "/boom", "")
		if a := parse(t, r.Body); r.Status != http.StatusInternalServerError || a.code() != -32603 || r.Header.Get("Content-Type") != "application/json" || strings.Contains(r.Body, "purpose") {
			t.Errorf("%d %s", r.Status, r.Body)
		}
		resp := i.Open(t.Context(), t, http.MethodGet, "/late", "")
		if b, err := io.ReadAll(resp.Body); err == nil {
			t.Errorf("half an answer was taken for one: %q", b)
		}
		_ = resp.Body.Close()
		if r := i.Do(t, http.MethodGet, "/fine", ""); r.Body != "fine" {
			t.Errorf("the next request: %d %s", r.Status, r.Body)
		}
	}
}
