package limits

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/testkit/upstreams"
	"github.com/junctor-mcp/junctor/test/program"
)

// The limits of the servers below. Progress comes ten times as often as it has to, so that
// it comes in time on a busy machine; what takes enoughSteps outlives the limit of silence.
const (
	idleLimit   = 3 * time.Second
	totalLimit  = 8 * time.Second
	betweenMS   = 300
	enoughSteps = 12
)

// limited is what the servers below are added with.
var limited = fmt.Sprintf(`"call_timeout":%q,"call_timeout_max":%q`, idleLimit, totalLimit)

// addServer adds a server; members are those of its body, without the id.
func addServer(t *testing.T, in *testkit.Instance, id, members string) {
	t.Helper()
	if r := in.Do(t, http.MethodPost, "/api/v1/servers", fmt.Sprintf(`{"id":%q,%s}`, id, members)); r.Status != http.StatusCreated {
		t.Fatalf("%s: %d %s", id, r.Status, r.Body)
	}
}

// call makes a call and returns its answer, the text of an error too, and how long it
// took.
func call(t *testing.T, in *testkit.Instance, era program.Era, tool, arguments string) (program.Answer, time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := program.NewCaller(t, era, in.URL, testkit.AdminKey)
	began := time.Now()
	a, err := c.Call(ctx, tool, arguments)
	if err != nil {
		t.Errorf("%s of %s: %v", tool, era, err)
	}
	return a, time.Since(began)
}

// expectEnd checks that a call ended at a limit, and that its error has all words.
func expectEnd(t *testing.T, a program.Answer, took, limit time.Duration, words ...string) {
	t.Helper()
	if a.OK || took < limit || took > limit+20*time.Second {
		t.Errorf("after %s with the limit %s: %d %s", took, limit, a.Status, a.Body)
	}
	for _, word := range append(words, `"code":"timeout"`) {
		if !strings.Contains(a.Body, word) {
			t.Errorf("the error does not say %q: %s", word, a.Body)
		}
	}
}

// TestLimitsOfTime calls a server of each way, and a command, from a client of each era. A
// call that reports progress outlives the limit of silence; a silent one ends there, and
// one that never ends at the limit of the total. The client has asked for no progress. Each
// error names the limit and how to raise it.
func TestLimitsOfTime(t *testing.T) {
	t.Parallel()
	in := testkit.Start(t, testkit.Settings{"egress-allow": "127.0.0.0/8", "allow-commands": "true"})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{"command"}
	addServer(t, in, "command", fmt.Sprintf(`"transport":"stdio","command":[%q],"env":{"PLAY_SERVER":"1"},%s`, self, limited))
	cancelled := map[string]func() int64{}
	for i, way := range upstreams.Ways() {
		id := fmt.Sprintf("peer%d", i)
		p := upstreams.Start(t, way)
		addServer(t, in, id, fmt.Sprintf(`"url":%q,"transport":%q,%s`, p.URL, way.Transport(), limited))
		cancelled[id] = p.Seen.Cancelled.Load
		// Answers as JSON leave no place for progress.
		if way != upstreams.JSON {
			ids = append(ids, id)
		}
	}
	for _, era := range program.Eras() {
		for _, id := range ids {
			tool := id + "__tag"
			t.Run(fmt.Sprintf("%s/%s", era, id), func(t *testing.T) {
				t.Parallel()
				t.Run("progress", func(t *testing.T) {
					t.Parallel()
					a, took := call(t, in, era, tool, fmt.Sprintf(`{"nonce":"n","steps":%d,"pause_ms":%d}`, enoughSteps, betweenMS))
					if !a.OK || a.Text != "n" || took < idleLimit {
						t.Errorf("after %s: %d %s", took, a.Status, a.Body)
					}
				})
				t.Run("silence", func(t *testing.T) {
					t.Parallel()
					a, took := call(t, in, era, tool, `{"nonce":"n","hold":true}`)
					expectEnd(t, a, took, idleLimit, "sent no answer and no progress for 3s", "junctor server set "+id+" --call-timeout 6s", `"timeLimit":{"name":"call_timeout","setBy":"server"`)
				})
				t.Run("no end", func(t *testing.T) {
					t.Parallel()
					a, took := call(t, in, era, tool, fmt.Sprintf(`{"nonce":"n","steps":1000,"pause_ms":%d}`, betweenMS))
					expectEnd(t, a, took, totalLimit, "had not answered after 8s, with or without progress", "junctor server set "+id+" --call-timeout-max 16s", `"name":"call_timeout_max"`)
				})
			})
		}
	}
	t.Cleanup(func() {
		for _, id := range ids {
			if n := cancelled[id]; n != nil && n() == 0 {
				t.Errorf("%s was not told that calls were cancelled", id)
			}
		}
	})
}

// TestLimitsOfOneTool gives a tool limits of its own, which count in place of those of its
// server and of the instance.
func TestLimitsOfOneTool(t *testing.T) {
	t.Parallel()
	in := testkit.Start(t, testkit.Settings{"egress-allow": "127.0.0.0/8", "call-timeout": "300ms"})
	p := upstreams.Start(t, upstreams.Modern)
	addServer(t, in, "longer", fmt.Sprintf(`"url":%q,"call_timeout":"200ms","overrides":{"tag":{"name":"mark","call_timeout":"1m"}}`, p.URL))
	addServer(t, in, "shorter", fmt.Sprintf(`"url":%q,"call_timeout":"1m","overrides":{"tag":{"call_timeout":"250ms","call_timeout_max":"10m"}}`, p.URL))
	addServer(t, in, "usual", fmt.Sprintf(`"url":%q`, p.URL))
	const slow = `{"nonce":"n","steps":1,"pause_ms":800}`
	if a, _ := call(t, in, program.Modern, "longer__mark", slow); !a.OK {
		t.Errorf("a tool with more time than its server: %d %s", a.Status, a.Body)
	}
	a, took := call(t, in, program.Legacy, "shorter__tag", slow)
	expectEnd(t, a, took, 250*time.Millisecond, "overrides.tag.call_timeout of the server shorter", "junctor server set shorter --tool-call-timeout tag=500ms", `"setBy":"tool"`)
	a, took = call(t, in, program.Plain, "usual__tag", slow)
	expectEnd(t, a, took, 300*time.Millisecond, "--call-timeout of the instance", "junctor server set usual --call-timeout 600ms", `"setBy":"instance"`)
	// A change counts for the next call, over the same connection.
	if r := in.Do(t, http.MethodPatch, "/api/v1/servers/usual", `{"call_timeout":"1m"}`); r.Status != http.StatusOK {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	if a, _ := call(t, in, program.Modern, "usual__tag", slow); !a.OK {
		t.Errorf("with more time: %d %s", a.Status, a.Body)
	}
}

// TestLimitsOfGeneratedServers calls an API that answers late. An API reports no progress,
// so the limit of silence is that of the call.
func TestLimitsOfGeneratedServers(t *testing.T) {
	t.Parallel()
	in := testkit.Start(t, testkit.Settings{"egress-allow": "127.0.0.0/8", "call-timeout": "200ms"})
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		late, err := time.ParseDuration(r.URL.Query().Get("after"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		select {
		case <-time.After(late):
		case <-r.Context().Done():
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"late":true}`))
	}))
	t.Cleanup(api.Close)
	const document = `{"openapi":"3.1.0","info":{"title":"Late","version":"1"},"paths":{"/late":{"get":{"operationId":"late","description":"Answers late.",` +
		`"parameters":[{"name":"after","in":"query","required":true,"schema":{"type":"string"}}],"responses":{"200":{"description":"ok"}}}}}}`
	addServer(t, in, "late", fmt.Sprintf(`"mode":"auto-generated","document":%q,"base_url":%q,%s`, document, api.URL, limited))
	for _, era := range program.Eras() {
		t.Run(string(era), func(t *testing.T) {
			t.Parallel()
			if a, _ := call(t, in, era, "late__late", `{"after":"500ms"}`); !a.OK {
				t.Errorf("%d %s", a.Status, a.Body)
			}
			a, took := call(t, in, era, "late__late", `{"after":"1m"}`)
			expectEnd(t, a, took, idleLimit, "call_timeout of the server late", "junctor server set late --call-timeout 6s")
		})
	}
}

// TestLimitsOfResourcesAndPrompts reads a resource and a prompt that never come. Progress
// of the server counts for them, too.
func TestLimitsOfResourcesAndPrompts(t *testing.T) {
	t.Parallel()
	in := testkit.Start(t, testkit.Settings{"egress-allow": "127.0.0.0/8"})
	wait := func(ctx context.Context, s *mcp.ServerSession, token any, steps int) {
		for i := range steps {
			if token == nil {
				return
			}
			_ = s.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(i + 1)})
			select {
			case <-ctx.Done():
				return
			case <-time.After(betweenMS * time.Millisecond):
			}
		}
		if steps == 0 {
			<-ctx.Done()
		}
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "reader", Version: "1"}, nil)
	for uri, steps := range map[string]int{"slow://never": 0, "slow://late": enoughSteps} {
		server.AddResource(&mcp.Resource{URI: uri, Name: uri}, func(ctx context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			wait(ctx, r.Session, r.Params.GetProgressToken(), steps)
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, Text: "read"}}}, ctx.Err()
		})
	}
	for name, steps := range map[string]int{"never": 0, "late": enoughSteps} {
		server.AddPrompt(&mcp.Prompt{Name: name}, func(ctx context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			wait(ctx, r.Session, r.Params.GetProgressToken(), steps)
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "read"}}}}, ctx.Err()
		})
	}
	h := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(func() {
		_ = h.Config.Close() // streams too, which Close would wait for
		h.Close()
	})
	addServer(t, in, "reader", fmt.Sprintf(`"url":%q,%s`, h.URL, limited))
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	for method, param := range map[string]string{"resources/read": `"uri":"slow://%s"`, "prompts/get": `"name":"%s"`} {
		for _, name := range []string{"never", "late"} {
			t.Run(method+"/"+name, func(t *testing.T) {
				t.Parallel()
				began := time.Now()
				r := in.Do(t, http.MethodPost, "/mcp/s/reader", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s,%s}}`, method, fmt.Sprintf(param, name), meta),
					"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: "+method, "Mcp-Name: "+strings.Trim(strings.SplitN(fmt.Sprintf(param, name), ":", 2)[1], `"`), "Accept: application/json, text/event-stream")
				a := program.Answer{Status: r.Status, Body: r.Body, OK: strings.Contains(r.Body, `"read"`)}
				if took := time.Since(began); name == "never" {
					expectEnd(t, a, took, idleLimit, "call_timeout of the server reader")
				} else if !a.OK || took < idleLimit {
					t.Errorf("after %s: %d %s", took, r.Status, r.Body)
				}
			})
		}
	}
}
