package replicas

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/junctor-mcp/junctor/internal/store/pgtest"
	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

// pair is two replicas: what is changed at one is looked for at the other.
type pair struct {
	here, there *testkit.Instance
	slowest     time.Duration
}

func start(t *testing.T) (*pair, *pgtest.Server) {
	t.Helper()
	pg, err := pgtest.Start(pgtest.Options{})
	pgtest.Need(t, err)
	t.Cleanup(pg.Stop)
	url, seal := pg.Database(t), filepath.Join(t.TempDir(), "seal.key")
	one := func() *testkit.Instance {
		return testkit.Start(t, testkit.Settings{"db": url, "seal-key-file": seal, "egress-allow": "127.0.0.0/8"})
	}
	return &pair{here: one(), there: one()}, pg
}

// change makes a change at one replica and waits until the other holds to it.
func (p *pair) change(t *testing.T, what, method, path, body string, want int, holds func() bool) string {
	t.Helper()
	got := p.here.Do(t, method, path, body, "Content-Type: application/json")
	if got.Status != want {
		t.Fatalf("%s: %s %s: %d %s", what, method, path, got.Status, got.Body)
	}
	begun := time.Now()
	if !poll.Holds(time.Minute, holds) {
		t.Fatalf("%s: the other replica does not hold to it; its log:\n%s", what, p.there.Log)
	}
	p.slowest = max(p.slowest, time.Since(begun))
	return got.Body
}

// tools lists what somebody sees at the other replica; nil where they are not
// let in.
func (p *pair) tools(t *testing.T, key string) []string {
	t.Helper()
	got := p.there.Do(t, http.MethodPost, "/mcp/request", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "Authorization: Bearer "+key, "Content-Type: application/json")
	if got.Status == http.StatusUnauthorized {
		return nil
	}
	var answer struct {
		Result struct{ Tools []struct{ Name string } }
	}
	if err := json.Unmarshal([]byte(got.Body), &answer); err != nil {
		t.Fatalf("%d %s: %v", got.Status, got.Body, err)
	}
	names := []string{}
	for _, tool := range answer.Result.Tools {
		names = append(names, tool.Name)
	}
	return names
}

func (p *pair) has(t *testing.T, key, tool string) bool {
	t.Helper()
	return slices.Contains(p.tools(t, key), tool)
}

// peer is an MCP server with a tool of each of these names.
func peer(t *testing.T, names ...string) string {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "peer", Version: "1"}, nil)
	for _, name := range names {
		mcp.AddTool(s, &mcp.Tool{Name: name}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: name}}}, nil, nil
		})
	}
	server := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	t.Cleanup(func() {
		_ = server.Config.Close() // replicas still listen
		server.Close()
	})
	return server.URL
}

func field(t *testing.T, body, name string) string {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal([]byte(body), &all); err != nil {
		t.Fatal(err)
	}
	text, _ := all[name].(string)
	if text == "" {
		t.Fatalf("no %s in %s", name, body)
	}
	return text
}

const document = `{"openapi":"3.0.3","info":{"title":"Pets","version":"1"},"servers":[{"url":"http://127.0.0.1:9"}],
"paths":{"/%s":{"get":{"operationId":"%[1]s","responses":{"200":{"description":"ok"}}}}}}`

// TestChangesAreSeenByAll has everything that calls depend on changed at one of
// two replicas.
func TestChangesAreSeenByAll(t *testing.T) {
	p, pg := start(t)
	admin := testkit.AdminKey

	// Servers that are brought.
	at := peer(t, "look", "write")
	p.change(t, "a server is added", "POST", "/api/v1/servers", fmt.Sprintf(`{"id":"peer","url":%q}`, at), http.StatusCreated,
		func() bool { return p.has(t, admin, "peer__look") })
	p.change(t, "a tool is hidden", "PATCH", "/api/v1/servers/peer", `{"overrides":{"write":{"hide":true}}}`, http.StatusOK,
		func() bool { return !p.has(t, admin, "peer__write") && p.has(t, admin, "peer__look") })
	p.change(t, "a server moves", "PATCH", "/api/v1/servers/peer", fmt.Sprintf(`{"url":%q,"overrides":{}}`, peer(t, "other")), http.StatusOK,
		func() bool { return p.has(t, admin, "peer__other") && !p.has(t, admin, "peer__look") })
	p.change(t, "a server is switched off", "POST", "/api/v1/servers/peer/disable", ``, http.StatusOK, func() bool { return !p.has(t, admin, "peer__other") })
	p.change(t, "and on", "POST", "/api/v1/servers/peer/enable", ``, http.StatusOK, func() bool { return p.has(t, admin, "peer__other") })
	p.change(t, "one of the binary is switched off", "POST", "/api/v1/servers/ocr/disable", ``, http.StatusOK,
		func() bool {
			return !slices.ContainsFunc(p.tools(t, admin), func(s string) bool { return strings.HasPrefix(s, "ocr__") })
		})

	// One that is made of a document.
	text, _ := json.Marshal(fmt.Sprintf(document, "cats"))
	p.change(t, "a server is made of a document", "POST", "/api/v1/servers", `{"id":"pets","mode":"auto-generated","document":`+string(text)+`}`, http.StatusCreated,
		func() bool { return p.has(t, admin, "pets__cats") })
	text, _ = json.Marshal(fmt.Sprintf(document, "dogs"))
	p.change(t, "its document changes", "POST", "/api/v1/servers/pets/import", `{"accept_breaking":true,"document":`+string(text)+`}`, http.StatusOK,
		func() bool { return p.has(t, admin, "pets__dogs") && !p.has(t, admin, "pets__cats") })

	// Keys, agents and what these may use.
	body := p.change(t, "an agent is made", "POST", "/api/v1/agents", `{"name":"bot","tools":["peer/*"]}`, http.StatusCreated, func() bool { return true })
	bot := field(t, body, "key")
	p.change(t, "it is let in", "PATCH", "/api/v1/agents/bot", `{"title":"Bot"}`, http.StatusOK, func() bool { return slices.Equal(p.tools(t, bot), []string{"peer__other"}) })
	p.change(t, "it may use something else", "PATCH", "/api/v1/agents/bot", `{"tools":["pets/*"]}`, http.StatusOK, func() bool { return slices.Equal(p.tools(t, bot), []string{"pets__dogs"}) })
	p.change(t, "it is switched off", "PATCH", "/api/v1/agents/bot", `{"disabled":true}`, http.StatusOK, func() bool { return len(p.tools(t, bot)) == 0 })
	body = p.change(t, "a key is made", "POST", "/api/v1/keys", `{"name":"ci","scopes":["tools:read"]}`, http.StatusCreated, func() bool { return true })
	ci := field(t, body, "key")
	p.change(t, "a tag", "PUT", "/api/v1/tools/peer__other/tag", `{"category":"search"}`, http.StatusOK, func() bool { return p.has(t, ci, "peer__other") })
	p.change(t, "a key is revoked", "DELETE", "/api/v1/keys/"+field(t, body, "id"), ``, http.StatusNoContent, func() bool { return p.tools(t, ci) == nil })

	p.change(t, "a server is removed", "DELETE", "/api/v1/servers/peer", ``, http.StatusNoContent, func() bool { return !p.has(t, admin, "peer__other") })
	t.Logf("figure: a change at one replica takes effect at another after %d ms at most", p.slowest.Milliseconds())

	// What is changed while nobody can be told is found out afterwards.
	if err := pg.Restart(); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "a replica that is ready again", time.Minute, func() bool { return p.here.Do(t, "GET", "/readyz", "").Status == http.StatusOK })
	p.change(t, "a server is added after a restart of the database", "POST", "/api/v1/servers", fmt.Sprintf(`{"id":"peer","url":%q}`, at), http.StatusCreated,
		func() bool { return p.has(t, admin, "peer__look") })
}

// TestSwitchedOffAndOn has a replica hear of its own changes, and of another's,
// while it makes the next: a server that was switched on is there when the answer
// comes, and stays.
func TestSwitchedOffAndOn(t *testing.T) {
	p, _ := start(t)
	at := peer(t, "look")
	for _, id := range []string{"peer", "other"} {
		p.change(t, "a server is added", "POST", "/api/v1/servers", fmt.Sprintf(`{"id":%q,"url":%q}`, id, at), http.StatusCreated, func() bool { return p.has(t, testkit.AdminKey, id+"__look") })
	}
	ctx, stop := context.WithCancel(t.Context())
	var news sync.WaitGroup
	defer news.Wait()
	defer stop()
	news.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			p.there.Do(t, "PATCH", "/api/v1/servers/other", fmt.Sprintf(`{"title":"Number %d"}`, n), "Content-Type: application/json")
		}
	})
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	for n := range 150 {
		for _, state := range []string{"disable", "enable"} {
			if got := p.here.Do(t, "POST", "/api/v1/servers/peer/"+state, ""); got.Status != http.StatusOK {
				t.Fatalf("%s %d: %d %s", state, n, got.Status, got.Body)
			}
		}
		for look := range 3 {
			if got := p.here.Do(t, "POST", "/mcp/request", list, "Content-Type: application/json"); !strings.Contains(got.Body, `"peer__look"`) {
				t.Fatalf("round %d: the server that was switched on is gone at look %d: %s", n, look, got.Body)
			}
			poll.Pause(time.Duration(n%11)*time.Millisecond, "the next look comes at another moment of the other replica's changes")
		}
	}
}
