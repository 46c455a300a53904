package app_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/app"
	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

// readAttention returns the list as the holder of a key sees it.
func readAttention(t *testing.T, i *testkit.Instance, query string, header ...string) admin.AttentionList {
	t.Helper()
	r := i.Do(t, http.MethodGet, "/api/v1/attention"+query, "", header...)
	var list admin.AttentionList
	if err := json.Unmarshal([]byte(r.Body), &list); err != nil || r.Status != http.StatusOK {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	return list
}

// awaitAttention waits until the list has an item of a kind, and returns it.
func awaitAttention(t *testing.T, i *testkit.Instance, kind junctor.AttentionKind, header ...string) (item junctor.AttentionItem) {
	t.Helper()
	poll.Until(t, "an item of the kind "+string(kind), time.Minute, func() bool {
		list := readAttention(t, i, "?kind="+string(kind), header...)
		if len(list.Items) > 0 {
			item = list.Items[0]
		}
		return list.Total > 0 && !list.Healthy
	})
	if item.Problem == "" || item.Command == "" || !strings.HasPrefix(item.Console, "/") || item.Since.IsZero() || item.Object.ID == "" || item.Object.Name == "" {
		t.Errorf("the item does not say what it is, or what to do: %+v", item)
	}
	return item
}

// awaitCalm waits until the list has no item of a kind.
func awaitCalm(t *testing.T, i *testkit.Instance, kind junctor.AttentionKind) {
	t.Helper()
	poll.Until(t, "no item of the kind "+string(kind), time.Minute, func() bool { return readAttention(t, i, "?kind="+string(kind)).Total == 0 })
}

// create posts to the API and wants the answer 201.
func create(t *testing.T, i *testkit.Instance, path, body string, header ...string) string {
	t.Helper()
	r := i.Do(t, http.MethodPost, "/api/v1"+path, body, header...)
	if r.Status != http.StatusCreated {
		t.Fatalf("%s: %d %s", path, r.Status, r.Body)
	}
	return r.Body
}

// A new instance needs no attention.
func TestNothingNeedsAttentionAtFirst(t *testing.T) {
	t.Parallel()
	i := testkit.Start(t, nil)
	if list := readAttention(t, i, ""); !list.Healthy || list.Total != 0 || list.CheckedAt.IsZero() {
		t.Errorf("%+v", list)
	}
	if body := i.Do(t, http.MethodGet, "/metrics", "").Body; !strings.Contains(body, "\njunctor_attention_items{severity=\"critical\"} 0\n") {
		t.Error("no metric of items")
	}
}

// A server that is killed is an item, an event, and a trigger's call; when it answers again,
// the item is cleared. The stream of calls shows both.
func TestFailingServerNeedsAttention(t *testing.T) {
	t.Parallel()
	i := testkit.Start(t, testkit.Settings{"egress-allow": "127.0.0.0/8"})
	upstream := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)
	mcp.AddTool(upstream, &mcp.Tool{Name: "say"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "hi"}}}, nil, nil
	})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return upstream }, &mcp.StreamableHTTPOptions{Stateless: true})
	shop := httptest.NewServer(handler)
	t.Cleanup(func() { shop.Close() })
	address := shop.Listener.Addr().String()
	create(t, i, "/servers", `{"id":"shop","url":"http://`+address+`/mcp"}`)
	create(t, i, "/triggers", `{"name":"tell","match":{"source":"attention:*","type":"attention.raised"},"action":{"server":"demo","tool":"echo","template":{"text":"{{data.object.id}}: {{data.problem}}"}}}`)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	stream := i.Open(ctx, t, http.MethodGet, "/api/v1/calls/tail", "")
	defer stream.Body.Close()
	pushed := make(chan admin.AttentionList, 100)
	go readPushed(stream, pushed)

	shop.CloseClientConnections()
	shop.Close()
	i.Do(t, http.MethodPost, "/api/v1/tools/shop__say/call", `{}`)
	item := awaitAttention(t, i, junctor.AttentionServer)
	if item.Severity != junctor.SeverityCritical || item.Object.ID != "shop" || item.Console != "/servers/shop" {
		t.Errorf("%+v", item)
	}
	awaitPush(t, pushed, 1)
	awaitEvent(t, i, junctor.EventAttentionRaised, 1)
	poll.Until(t, "the trigger's delivery is done", time.Minute, func() bool {
		return strings.Contains(i.Do(t, http.MethodGet, "/api/v1/deliveries?trigger=tell&state=done", "").Body, `"id"`)
	})
	again := readAttention(t, i, "?severity=critical").Items
	if len(again) != 1 || again[0].ID != item.ID || !again[0].Since.Equal(item.Since) {
		t.Errorf("the item changed: %+v, then %+v", item, again)
	}

	restarted := &httptest.Server{Listener: mustListen(t, address), Config: &http.Server{Handler: handler}}
	restarted.Start()
	t.Cleanup(func() { restarted.CloseClientConnections(); restarted.Close() })
	poll.Until(t, "the server answers again", time.Minute, func() bool {
		return i.Do(t, http.MethodPost, "/api/v1/tools/shop__say/call", `{}`).Status == http.StatusOK
	})
	awaitCalm(t, i, junctor.AttentionServer)
	awaitPush(t, pushed, 0)
	awaitEvent(t, i, junctor.EventAttentionCleared, 0)
}

// readPushed passes the lists of a stream on.
func readPushed(stream *http.Response, to chan<- admin.AttentionList) {
	lines, event := bufio.NewScanner(stream.Body), ""
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		if name == "event" {
			event = value
		}
		var list admin.AttentionList
		if name == "data" && event == "attention" && json.Unmarshal([]byte(value), &list) == nil {
			to <- list
		}
	}
}

// awaitPush waits until a list of so many items is pushed.
func awaitPush(t *testing.T, pushed <-chan admin.AttentionList, items int) {
	t.Helper()
	late := time.After(time.Minute)
	for {
		select {
		case list := <-pushed:
			if list.Total == items {
				return
			}
		case <-late:
			t.Fatalf("no list of %d items was pushed", items)
		}
	}
}

// awaitEvent waits until one event of a type is stored that caused so many deliveries.
func awaitEvent(t *testing.T, i *testkit.Instance, typ string, raised int) {
	t.Helper()
	var page struct{ Items []junctor.Event }
	poll.Until(t, "an event "+typ, time.Minute, func() bool {
		if err := json.Unmarshal([]byte(i.Do(t, http.MethodGet, "/api/v1/events?type="+typ, "").Body), &page); err != nil {
			t.Fatal(err)
		}
		return len(page.Items) > 0
	})
	var item junctor.AttentionItem
	if err := json.Unmarshal(page.Items[0].Data, &item); err != nil || len(page.Items) != 1 || page.Items[0].Raised != raised || page.Items[0].Source != junctor.AttentionSource(item.Kind) || item.ID == "" {
		t.Errorf("%d events, the first: %+v (%v)", len(page.Items), page.Items[0], err)
	}
}

// Each tenant sees its own items, and only admins of the default tenant those of the instance.
// A key without audit:read sees nothing, and one with it only what it may know of.
func TestTenantsSeeTheirOwnAttention(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "junctor.yaml")
	if err := os.WriteFile(file, []byte("schedules: {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var ahead atomic.Int64 // of the real time; it lets keys grow old at once
	i := testkit.Start(t, testkit.Settings{"config": file}, app.WithClock(func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }))
	var acme struct {
		AdminKey struct {
			Key string `json:"key"`
		} `json:"admin_key"`
	}
	if err := json.Unmarshal([]byte(create(t, i, "/tenants", `{"id":"acme"}`)), &acme); err != nil {
		t.Fatal(err)
	}
	theirs := "Authorization: Bearer " + acme.AdminKey.Key
	expires := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	narrow := func(scope string) string {
		var made struct {
			Key string `json:"key"`
		}
		if err := json.Unmarshal([]byte(create(t, i, "/keys", `{"name":"narrow-`+scope[:2]+`","scopes":["`+scope+`"]}`)), &made); err != nil {
			t.Fatal(err)
		}
		return "Authorization: Bearer " + made.Key
	}
	auditor, caller := narrow("audit:read"), narrow("tools:call")
	create(t, i, "/keys", `{"name":"theirs","scopes":["tools:call"],"expires_at":"`+expires+`"}`, theirs)
	create(t, i, "/keys", `{"name":"ours","scopes":["tools:call"],"expires_at":"`+expires+`"}`)
	ahead.Store(int64(50 * time.Minute)) // in the last fifth of their hour
	if err := os.WriteFile(file, []byte("schedules: [\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	awaitAttention(t, i, junctor.AttentionSettings)
	if item := awaitAttention(t, i, junctor.AttentionKey); item.Object.Name != "ours" {
		t.Errorf("%+v", item)
	}
	if item := awaitAttention(t, i, junctor.AttentionKey, theirs); item.Object.Name != "theirs" {
		t.Errorf("%+v", item)
	}
	kinds := func(header ...string) (out []string) {
		for _, item := range readAttention(t, i, "", header...).Items {
			out = append(out, string(item.Kind)+" "+item.Object.Name)
		}
		slices.Sort(out)
		return out
	}
	if got, want := kinds(), []string{"key ours", "settings " + file}; !slices.Equal(got, want) {
		t.Errorf("an admin of default sees %q, want %q", got, want)
	}
	if got, want := kinds(theirs), []string{"key theirs"}; !slices.Equal(got, want) {
		t.Errorf("an admin of acme sees %q, want %q", got, want)
	}
	if got := kinds(auditor); len(got) != 0 {
		t.Errorf("an auditor sees %q", got)
	}
	if r := i.Do(t, http.MethodGet, "/api/v1/attention", "", caller); r.Status != http.StatusForbidden {
		t.Errorf("a key without audit:read: %d", r.Status)
	}
	poll.Until(t, "the events of both items of default", time.Minute, func() bool {
		return strings.Count(i.Do(t, http.MethodGet, "/api/v1/events", "").Body, `"attention.raised"`) == 2
	})
	if body := i.Do(t, http.MethodGet, "/api/v1/events", "", auditor).Body; strings.Contains(body, file) || !strings.Contains(body, "attention:settings") {
		t.Errorf("an auditor reads the data of events about the instance: %s", body)
	}
	if body := i.Do(t, http.MethodGet, "/api/v1/events", "", theirs).Body; strings.Contains(body, "attention:settings") || !strings.Contains(body, "attention:key") {
		t.Errorf("events of acme: %s", body)
	}
	if err := os.WriteFile(file, []byte("schedules: {}\n# mended\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	awaitCalm(t, i, junctor.AttentionSettings)
}

// A delivery that fails for good is an item until it is dropped, and the item survives a
// restart with its time.
func TestDeadLetterNeedsAttention(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	i := testkit.Start(t, testkit.Settings{"data-dir": dir})
	create(t, i, "/triggers", `{"name":"sum","match":{"type":"order"},"action":{"server":"demo","tool":"add","attempts":1,"template":{"a":"no number","b":1}}}`)
	if r := i.Do(t, http.MethodPost, "/api/v1/events", `{"type":"order"}`); r.Status != http.StatusAccepted {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	item := awaitAttention(t, i, junctor.AttentionDelivery)
	if item.Object.Name != "sum" || !strings.Contains(item.Command, "--trigger sum") || !strings.Contains(item.Problem, "1 delivery to server:demo") {
		t.Errorf("%+v", item)
	}
	i.Stop()
	i = testkit.Start(t, testkit.Settings{"data-dir": dir})
	if again := awaitAttention(t, i, junctor.AttentionDelivery); again != item {
		t.Errorf("after a restart: %+v, want %+v", again, item)
	}
	if r := i.Do(t, http.MethodPost, "/api/v1/deliveries/actions", `{"action":"replay","state":"dead"}`); r.Status != http.StatusOK {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	poll.Until(t, "the second death replaces the first", time.Minute, func() bool {
		list := readAttention(t, i, "?kind=delivery")
		return len(list.Items) == 1 && list.Items[0].Since.After(item.Since)
	})
	if body := i.Do(t, http.MethodGet, "/api/v1/events?type=attention.raised", "").Body; !strings.Contains(body, item.ID) {
		t.Error(body)
	}
}

// mustListen listens on an address again.
func mustListen(t *testing.T, address string) net.Listener {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return l
}
