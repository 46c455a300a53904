// Package denial holds a whole instance, and replicas, with several tenants to a
// small model of who may see and call what: while users, agents, lists, servers and keys come,
// change and go, every endpoint has to agree with the model, what is refused must
// reach no server, and the record has to say why.
package denial

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"

	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/test/topology"
)

// The names that things have in every tenant.
func serverNames() []string { return []string{"alpha", "beta", "gamma"} }
func toolNames() []string   { return []string{"one", "two", "three"} }
func userNames() []string   { return []string{"ann", "bob"} }
func agentNames() []string  { return []string{"xeno", "yuri"} }

// patience is far above what an answer takes: it is here to end a broken test.
const patience = 90 * time.Second

// world is the instance, and the servers behind it.
type world struct {
	*topology.Site
	t       *testing.T
	pipes   int // that were opened
	client  http.Client
	tenants []*tenant
	calls   atomic.Int64 // that reached a server, of any tenant

	mu   sync.Mutex
	ran  map[string]int // by tenant/server/name
	peer string
}

func newWorld(t *testing.T, site *topology.Site, tenants int) *world {
	t.Helper()
	w := &world{t: t, Site: site, ran: map[string]int{}, client: http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}}
	t.Cleanup(w.client.CloseIdleConnections)
	w.serve()
	for n := range tenants {
		tn := &tenant{id: fmt.Sprintf("t%d", n), servers: map[string]*server{}, users: map[string]*user{}, agents: map[string]*agent{}, tags: map[string][]string{}}
		var made struct {
			AdminKey struct{ Key string } `json:"admin_key"`
		}
		w.must(t, http.StatusCreated, w.api(testkit.AdminKey, "POST", "/tenants", fmt.Sprintf(`{"id":%q}`, tn.id)), &made)
		tn.admin = &credential{token: made.AdminKey.Key, party: admins, scopes: []string{"admin"}}
		tn.keys = []*credential{tn.admin}
		w.Witness(tn.admin.token)
		w.tenants = append(w.tenants, tn)
	}
	return w
}

// serve starts the servers of all tenants: at /tenant/server, with tools, a prompt
// and a resource that count how often they are asked for.
func (w *world) serve() {
	servers := map[string]*mcp.Server{}
	get := func(r *http.Request) *mcp.Server {
		w.mu.Lock()
		defer w.mu.Unlock()
		if s := servers[r.URL.Path]; s != nil {
			return s
		}
		s := mcp.NewServer(&mcp.Implementation{Name: "peer", Version: "1"}, nil)
		ran := func(own string) string {
			key := strings.TrimPrefix(r.URL.Path, "/") + "/" + own
			w.mu.Lock()
			defer w.mu.Unlock()
			w.ran[key]++
			w.calls.Add(1)
			return "ran " + key
		}
		s.AddPrompt(&mcp.Prompt{Name: thePrompt}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: ran(thePrompt)}}}}, nil
		})
		s.AddResource(&mcp.Resource{URI: theResource, Name: "note"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: theResource, Text: ran(theResource)}}}, nil
		})
		for _, name := range toolNames() {
			mcp.AddTool(s, &mcp.Tool{Name: name, Description: "A tool to count with"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: ran(name)}}}, nil, nil
			})
		}
		servers[r.URL.Path] = s
		return s
	}
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Stateless: true}))
	w.peer = web.URL
	w.t.Cleanup(func() {
		_ = web.Config.Close()
		web.Close()
	})
}

func (w *world) count(tenant, server, tool string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ran[tenant+"/"+server+"/"+tool]
}

// answer is what came back.
type answer struct {
	status  int
	body    string
	session string
}

// send asks with a token; "" is none. header lines are "Name: value".
func (w *world) send(token, method, path, body string, header ...string) answer {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, w.URL+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		req.Header.Set(name, value)
	}
	resp, err := w.client.Do(req)
	if err != nil {
		w.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatalf("%s %s: %v", method, path, err)
	}
	return answer{resp.StatusCode, string(b), resp.Header.Get("Mcp-Session-Id")}
}

func (w *world) api(token, method, path, body string) answer {
	w.t.Helper()
	return w.send(token, method, "/api/v1"+path, body)
}

// must reads an answer that has to have the status.
func (w *world) must(t rapid.TB, status int, a answer, into any) {
	t.Helper()
	if a.status != status {
		t.Fatalf("%d, want %d: %s", a.status, status, a.body)
	}
	if into != nil {
		if err := json.Unmarshal([]byte(a.body), into); err != nil {
			t.Fatalf("%v: %s", err, a.body)
		}
	}
}

func quote(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}
