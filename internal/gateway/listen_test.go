package gateway_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/junctor-mcp/junctor/internal/builtin"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// change gives the probe a tool more, or takes it away again.
func (p *probe) change(t testing.TB, name string) {
	t.Helper()
	if p.server.RemoveTool(name) {
		return
	}
	p.tool(t, name, anything, func(context.Context, *builtin.Call, []byte) (builtin.Result, error) {
		return builtin.TextResult(""), nil
	})
}

func listenBody(id, notifications string) string {
	return request(id, "subscriptions/listen", `"notifications":`+notifications, meta())
}

func TestListen(t *testing.T) {
	t.Parallel()
	i, p := start(t, nil)
	body := listenBody(`"sub"`, `{"toolsListChanged":true,"resourcesListChanged":false,"resourceSubscriptions":["probe+probe://a","probe+probe://none","nowhere"]}`)
	s := openStream(t, i, http.MethodPost, "/mcp", body, mirrored(t, body)...)
	if s.resp.Header.Get("X-Accel-Buffering") != "no" {
		t.Error("a proxy may hold the stream back")
	}
	subscription := map[string]any{wire.MetaSubscriptionID: "sub"}
	ack := s.next(t)
	if diff := cmp.Diff(map[string]any{
		"notifications": map[string]any{"toolsListChanged": true, "resourceSubscriptions": []any{"probe+probe://a"}},
		"_meta":         subscription,
	}, ack.Params); ack.Method != wire.NotificationSubscriptionsAcknowledged || diff != "" {
		t.Fatalf("%s (-want +got):\n%s", ack.Method, diff)
	}
	onlyPrompts := listenBody("2", `{"promptsListChanged":true}`)
	deaf := openStream(t, i, http.MethodPost, "/mcp", onlyPrompts, mirrored(t, onlyPrompts)...)
	deaf.next(t)
	elsewhere := openStream(t, i, http.MethodPost, "/mcp/s/demo", listenBody("3", `{"toolsListChanged":true}`), mirrored(t, body)...)
	elsewhere.next(t)
	own := openStream(t, i, http.MethodPost, "/mcp/s/probe", listenBody("4", `{"resourceSubscriptions":["probe://a"]}`), mirrored(t, body)...)
	own.next(t)

	p.change(t, "new")
	if a := s.next(t); a.Method != wire.NotificationToolsListChanged || !cmp.Equal(a.Params, map[string]any{"_meta": subscription}) {
		t.Errorf("%+v", a)
	}
	p.server.Updated("probe://other")
	p.server.Updated("probe://a")
	if a := s.next(t); a.Method != wire.NotificationResourceUpdated || !cmp.Equal(a.Params, map[string]any{"uri": "probe+probe://a", "_meta": subscription}) {
		t.Errorf("%+v", a)
	}
	if a := own.next(t); a.Method != wire.NotificationResourceUpdated || a.Params["uri"] != "probe://a" {
		t.Errorf("%+v", a)
	}

	stop(i)
	for _, end := range []struct {
		s  *eventStream
		id string
	}{{s, `"sub"`}, {deaf, "2"}, {elsewhere, "3"}, {own, "4"}} {
		if a := end.s.next(t); a.Method != wire.NotificationCancelled {
			t.Errorf("%+v", a)
		}
		a := end.s.next(t)
		if string(a.ID) != end.id || a.Result["resultType"] != "complete" {
			t.Errorf("%+v", a)
		}
		end.s.ends(t)
	}
}

func TestNotesOfASession(t *testing.T) {
	t.Parallel()
	i, p := start(t, nil)
	s := open(t, i, "2025-11-25", "{}", "")
	if r := s.post(t, request("1", "resources/subscribe", `"uri":"probe+probe://a"`)); r.Body != `{"jsonrpc":"2.0","id":1,"result":{}}` {
		t.Fatal(r.Body)
	}
	first := openStream(t, i, http.MethodGet, "/mcp", "", s.headers()...)
	p.change(t, "one")
	if a := first.next(t); a.Method != wire.NotificationToolsListChanged {
		t.Fatalf("%+v", a)
	}
	p.server.Updated("probe://a")
	if a := first.next(t); a.Method != wire.NotificationResourceUpdated || a.Params["uri"] != "probe+probe://a" {
		t.Fatalf("%+v", a)
	}

	// A second GET takes over: a message goes on one stream only.
	second := openStream(t, i, http.MethodGet, "/mcp", "", s.headers()...)
	first.ends(t)
	p.change(t, "one")
	if a := second.next(t); a.Method != wire.NotificationToolsListChanged {
		t.Fatalf("%+v", a)
	}
	second.close()

	// What was missed is replayed, and nothing else.
	p.server.Updated("probe://a")
	third := openStream(t, i, http.MethodGet, "/mcp", "", s.headers("Last-Event-ID: "+second.last)...)
	if a := third.next(t); a.Method != wire.NotificationResourceUpdated {
		t.Fatalf("%+v", a)
	}
	third.close()
	fourth := openStream(t, i, http.MethodGet, "/mcp", "", s.headers("Last-Event-ID: "+first.last)...)
	for _, want := range []string{wire.NotificationToolsListChanged, wire.NotificationResourceUpdated} {
		if a := fourth.next(t); a.Method != want {
			t.Fatalf("%+v, want %s", a, want)
		}
	}

	// Unsubscribed is unsubscribed.
	s.post(t, request("2", "resources/unsubscribe", `"uri":"probe+probe://a"`))
	p.server.Updated("probe://a")
	p.change(t, "one")
	if a := fourth.next(t); a.Method != wire.NotificationToolsListChanged {
		t.Fatalf("%+v", a)
	}
}
