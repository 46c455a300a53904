package console

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/junctor-mcp/junctor/test/program"
)

// callsAtOnce is the size of the batches in which calls are made.
const callsAtOnce = 50

// TestScale looks at every screen of an instance with 200 servers and 5,000 tools: how many
// nodes it draws, how long it keeps the browser busy, and what the first load needs. With
// JUNCTOR_PROVE there are a million calls, and the data of every screen is answered within
// a p95 of 300 ms.
func TestScale(t *testing.T) {
	t.Parallel()
	calls, rounds := 2000, 3
	if os.Getenv("JUNCTOR_PROVE") != "" {
		calls, rounds = 1_000_000, 20
	}
	if n, err := strconv.Atoi(os.Getenv("JUNCTOR_CONSOLE_CALLS")); err == nil {
		calls = n
	}
	r := &rig{program.StartConsole(t, "--allow-commands", "--rate-limit", "0", "--log-level", "error")}
	r.furnish(t)
	r.addServers(t)
	r.makeCalls(t, calls)
	r.run(t, "scale_console.mjs", r.Link(t, "ada"), strconv.Itoa(rounds))
}

// addServers adds servers until there are 200 with 5,000 tools. One of them has most of the
// tools, and generated views for all of them.
func (r *rig) addServers(t *testing.T) {
	t.Helper()
	const servers, tools = 194, 4760 // and those of furnish
	many, small := newTools(t, tools-servers+1), newTools(t, 1)
	add := func(id, url, more string) {
		if a, err := r.Request(t.Context(), "POST", "/api/v1/servers", fmt.Sprintf(`{"id":%q,"url":%q%s}`, id, url, more)); err != nil || a.Status != http.StatusCreated {
			t.Fatalf("add %s: %v %d %s", id, err, a.Status, a.Body)
		}
	}
	add("many", many, `,"views":"on"`)
	for i := range servers - 1 {
		add(fmt.Sprintf("small-%03d", i), small, "")
	}
	for _, list := range []struct {
		path  string
		least int
	}{{"/servers", 200}, {"/tools", 4800}, {"/apps?origin=generated", 4500}} {
		sign := "?"
		if strings.Contains(list.path, "?") {
			sign = "&"
		}
		a, err := r.Request(t.Context(), "GET", "/api/v1"+list.path+sign+"limit=0", "")
		var page struct{ Total int }
		if err == nil {
			err = json.Unmarshal([]byte(a.Body), &page)
		}
		if err != nil || page.Total < list.least {
			t.Fatalf("%s has %d items instead of at least %d: %v", list.path, page.Total, list.least, err)
		}
	}
}

// newTools starts an MCP server with so many tools, and gives its address.
func newTools(t *testing.T, count int) string {
	t.Helper()
	sdk := mcp.NewServer(&mcp.Implementation{Name: "many", Version: "1"}, nil)
	type arguments struct {
		Customer string `json:"customer" jsonschema:"number of the customer"`
		Limit    int    `json:"limit,omitempty" jsonschema:"maximum number of orders"`
	}
	type orders struct {
		Orders []string `json:"orders" jsonschema:"numbers of the orders"`
	}
	for i := range count {
		tool := &mcp.Tool{Name: fmt.Sprintf("tool-%04d", i), Description: fmt.Sprintf("The tool with the number %d, which lists the orders of a customer, newest first, and changes nothing.", i)}
		mcp.AddTool(sdk, tool, func(context.Context, *mcp.CallToolRequest, arguments) (*mcp.CallToolResult, orders, error) {
			return nil, orders{Orders: []string{"1"}}, nil
		})
	}
	s := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return sdk }, nil))
	t.Cleanup(func() {
		_ = s.Config.Close()
		s.Close()
	})
	return s.URL
}

// makeCalls makes calls in batches: most succeed, some fail, some are refused.
func (r *rig) makeCalls(t *testing.T, calls int) {
	t.Helper()
	one := func(i int) string {
		name, arguments := "demo__add", fmt.Sprintf(`{"a":%d,"b":%d}`, i, i%7)
		switch {
		case i%50 == 0:
			name, arguments = "demo__fail", `{}`
		case i%67 == 0:
			name, arguments = "demo__echo", `{}` // an argument is missing
		case i%3 == 0:
			name, arguments = "demo__echo", fmt.Sprintf(`{"text":"call %d"}`, i)
		}
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, i, name, arguments)
	}
	keys := r.callerKeys(t)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
	t.Cleanup(client.CloseIdleConnections)
	var next, failed atomic.Int64
	var work sync.WaitGroup
	for worker := range 8 {
		work.Go(func() {
			for {
				from := int(next.Add(callsAtOnce)) - callsAtOnce
				if from >= calls || failed.Load() > 0 {
					return
				}
				batch := make([]string, 0, callsAtOnce)
				for i := from; i < min(from+callsAtOnce, calls); i++ {
					batch = append(batch, one(i))
				}
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL+"/mcp/request", bytes.NewReader([]byte("["+strings.Join(batch, ",")+"]")))
				if err != nil {
					failed.Add(1)
					return
				}
				req.Header.Set("Authorization", "Bearer "+keys[(from/callsAtOnce+worker)%len(keys)])
				req.Header.Set("Content-Type", "application/json")
				res, err := client.Do(req)
				if err != nil {
					failed.Add(1)
					t.Errorf("a batch: %v", err)
					return
				}
				body, err := io.ReadAll(res.Body)
				_ = res.Body.Close()
				if err != nil || res.StatusCode != http.StatusOK || bytes.Count(body, []byte(`"result"`)) < len(batch)/2 {
					failed.Add(1)
					t.Errorf("a batch: %v %d %.300s", err, res.StatusCode, body)
					return
				}
			}
		})
	}
	work.Wait()
	if failed.Load() > 0 {
		t.FailNow()
	}
}

// callerKeys makes keys of services, whose limits are those of no tier.
func (r *rig) callerKeys(t *testing.T) (keys []string) {
	t.Helper()
	for _, name := range []string{"nightly", "shop", "desk"} {
		a, err := r.Request(t.Context(), "POST", "/api/v1/keys", fmt.Sprintf(`{"name":%q,"scopes":["tools:read","tools:call"]}`, name))
		if err != nil || a.Status != http.StatusCreated {
			t.Fatalf("a key: %v %d %s", err, a.Status, a.Body)
		}
		_, rest, _ := strings.Cut(a.Body, `"key":"`)
		key, _, _ := strings.Cut(rest, `"`)
		keys = append(keys, key)
	}
	return keys
}
