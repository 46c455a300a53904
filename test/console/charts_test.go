package console

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/test/program"
)

// newKey makes a key by the API.
func (r *rig) newKey(t *testing.T, body string) string {
	t.Helper()
	var made struct{ Key string }
	a, err := r.Request(t.Context(), http.MethodPost, "/api/v1/keys", body)
	if err != nil || json.Unmarshal([]byte(a.Body), &made) != nil || made.Key == "" {
		t.Fatalf("no key: %v %+v", err, a)
	}
	return made.Key
}

// await waits until an answer of the API has a text.
func (r *rig) await(t *testing.T, path, text string) {
	t.Helper()
	var last program.Answer
	if !poll.Holds(time.Minute, func() bool {
		a, err := r.Request(t.Context(), http.MethodGet, "/api/v1"+path, "")
		last = a
		return err == nil && strings.Contains(a.Body, text)
	}) {
		t.Fatalf("%s does not answer %q: %+v", path, text, last)
	}
}

// addFlaky adds a server that fails from now on.
func (r *rig) addFlaky(t *testing.T) {
	t.Helper()
	sdk := mcp.NewServer(&mcp.Implementation{Name: "flaky", Version: "1"}, nil)
	mcp.AddTool(sdk, &mcp.Tool{Name: "ping"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{}, nil, nil
	})
	s := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return sdk }, nil))
	r.Tell(t, "server", "add", "flaky", s.URL)
	s.CloseClientConnections()
	_ = s.Config.Close()
	s.Close()
	_, _, _ = r.Operate(t, "tool", "call", "flaky__ping")
	_, _, _ = r.Operate(t, "server", "test", "flaky")
	r.await(t, "/attention?kind=server", `"flaky"`)
	r.await(t, "/metrics/servers?server=flaky", `"flaky"`)
}

// The charts of the console show the numbers of the metrics API, lead to the calls that they
// count, and are saved as CSV and PNG.
func TestCharts(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.addFlaky(t)
	r.Tell(t, "agent", "add", "helper", "--tool", "demo/*")
	keys := map[string]string{
		"an admin":  program.AdminKey,
		"an agent":  r.newKey(t, `{"name":"k","agent":"helper","scopes":["tools:read","tools:call"]}`),
		"a service": r.newKey(t, `{"name":"robot","scopes":["tools:read","tools:call"]}`),
		"a user":    r.newKey(t, `{"name":"laptop","user":"ada","scopes":["tools:read","tools:call"]}`),
	}
	for name, key := range keys {
		caller := program.NewCaller(t, program.Modern, r.URL, key)
		for _, call := range [][2]string{
			{"demo__add", `{"a":2,"b":40}`},
			{"demo__add", `{"a":1,"b":1}`},
			{"demo__echo", `{"text":"hello"}`},
			{"demo__fail", `{}`},
			{"demo__add", `{"a":"two"}`},
		} {
			if _, err := caller.Call(t.Context(), call[0], call[1]); err != nil {
				t.Fatalf("%s: %s: %v", name, call[0], err)
			}
		}
	}
	// One delivery is made, one fails for good, and one waits for its endpoint.
	for name, tool := range map[string]string{"hello": "echo", "broken": "fail"} {
		trigger := fmt.Sprintf(`{"name":%q,"match":{"type":%q},"action":{"server":"demo","tool":%q,"template":{"text":"hello"}}}`, name, name, tool)
		if a, err := r.Request(t.Context(), http.MethodPost, "/api/v1/triggers", trigger); err != nil || a.Status != http.StatusCreated {
			t.Fatalf("no trigger: %v %+v", err, a)
		}
		r.Tell(t, "event", "send", name, "--data", `{}`)
	}
	r.await(t, "/deliveries?trigger=hello&state=done", `"hello"`)
	r.await(t, "/deliveries?trigger=broken&state=dead", `"broken"`)
	if a, err := r.Request(t.Context(), http.MethodPost, "/api/v1/endpoints/stop", `{"endpoint":"server:demo"}`); err != nil || a.Status != http.StatusNoContent {
		t.Fatalf("the endpoint is not stopped: %v %+v", err, a)
	}
	r.Tell(t, "event", "send", "hello", "--data", `{}`)
	r.run(t, "charts_console.mjs", "charts", r.Link(t, "ada"))
}

// counts are the calls of one kind, as the console shows them.
type counts struct {
	Calls   int `json:"calls"`
	Failed  int `json:"failed"`
	Refused int `json:"refused"`
}

func (c *counts) add(status string) {
	c.Calls++
	switch status {
	case "denied", "limited", "invalid":
		c.Refused++
	case "error", "timeout", "canceled", "lapsed":
		c.Failed++
	}
}

// counted is what the journal says of all calls.
type counted struct {
	Total struct {
		counts
		P95 int64 `json:"p95"` // microseconds
	} `json:"total"`
	Tools   map[string]*counts `json:"tools"`
	Servers map[string]*counts `json:"servers"`
}

// countJournal counts the calls of an exported journal.
func countJournal(t *testing.T, export string) *counted {
	t.Helper()
	out := &counted{Tools: map[string]*counts{}, Servers: map[string]*counts{}}
	var durations []int64
	for line := range strings.SplitSeq(strings.TrimSpace(export), "\n") {
		var exported struct {
			Record struct {
				Phase, Server, Name, Status string
				Duration                    int64 `json:"duration_us"`
			}
		}
		if err := json.Unmarshal([]byte(line), &exported); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		c := exported.Record
		if c.Phase != "end" && c.Phase != "refuse" {
			continue
		}
		out.Total.add(c.Status)
		for key, list := range map[string]map[string]*counts{c.Server + "/" + c.Name: out.Tools, c.Server: out.Servers} {
			if list[key] == nil {
				list[key] = &counts{}
			}
			list[key].add(c.Status)
		}
		if c.Phase == "end" {
			durations = append(durations, c.Duration)
		}
	}
	slices.Sort(durations)
	out.Total.P95 = durations[int(math.Ceil(0.95*float64(len(durations))))-1]
	return out
}

// With many calls at once, the overview and the usage show what the journal has.
func TestFiguresOfTheJournal(t *testing.T) {
	t.Parallel()
	r := start(t)
	const callers, rounds = 6, 400
	calls := [][2]string{{"demo__add", `{"a":2,"b":40}`}, {"demo__echo", `{"text":"hello"}`}, {"demo__add", `{"a":1,"b":1}`}, {"demo__fail", `{}`}, {"demo__add", `{"a":"two"}`}}
	var all sync.WaitGroup
	for i := range callers {
		caller := program.NewCaller(t, program.Modern, r.URL, program.AdminKey)
		all.Go(func() {
			for n := range rounds {
				call := calls[(i+n)%len(calls)]
				if _, err := caller.Call(t.Context(), call[0], call[1]); err != nil {
					t.Errorf("%s: %v", call[0], err)
				}
			}
		})
	}
	all.Wait()
	of := countJournal(t, r.Tell(t, "audit", "export"))
	if of.Total.Calls != callers*rounds || of.Total.Failed == 0 || of.Total.Refused == 0 {
		t.Fatalf("the journal has %+v", of.Total)
	}
	text, err := json.Marshal(of)
	if err != nil {
		t.Fatal(err)
	}
	r.run(t, "charts_console.mjs", "figures", r.Link(t, "ada"), string(text))
}
