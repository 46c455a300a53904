package numbers

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/test/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

// patience is far above what anything here takes: it ends a broken test.
const patience = 2 * time.Minute

// makeKeys makes a user, two agents and two services, and returns a key of each. The limit of
// one agent is reached soon.
func makeKeys(t *testing.T, in *program.Instance) (keys []string) {
	t.Helper()
	for _, one := range []struct{ path, body string }{
		{"/users", `{"name":"ada","role":"admin"}`},
		{"/keys", `{"name":"ada","scopes":["tools:read","tools:call"],"user":"ada"}`},
		{"/agents", `{"name":"bot","tools":["demo/echo","demo/fail","demo/slow"]}`},
		{"/agents", `{"name":"capped","tools":["demo/*"],"limits":{"per_day":40}}`},
		{"/keys", `{"name":"one","scopes":["tools:read","tools:call"]}`},
		{"/keys", `{"name":"two","scopes":["tools:read","tools:call"]}`},
		{"/keys", `{"name":"lists","scopes":["tools:read"]}`},
	} {
		a, err := in.Request(t.Context(), http.MethodPost, "/api/v1"+one.path, one.body)
		if err != nil || a.Status != http.StatusCreated {
			t.Fatalf("POST %s: %d %s %v", one.path, a.Status, a.Body, err)
		}
		var made struct{ Key string }
		if err := json.Unmarshal([]byte(a.Body), &made); err != nil {
			t.Fatal(err)
		}
		if made.Key != "" {
			keys = append(keys, made.Key)
		}
	}
	putRules(t, in)
	if len(keys) != 6 {
		t.Fatalf("%d keys were made", len(keys))
	}
	return keys
}

// putRules stores rules that match some of the calls: one denies, one withholds results and
// one records.
func putRules(t *testing.T, in *program.Instance) {
	t.Helper()
	for name, body := range map[string]string{
		"no-fails":  `{"target":{"items":["demo/fail"],"agents":["bot"]},"verdict":"deny"}`,
		"no-greets": `{"phase":"result","kinds":["prompt"],"verdict":"deny"}`,
		"watched":   `{"target":{"items":["demo/echo"]},"verdict":"deny","mode":"audit"}`,
	} {
		a, err := in.Request(t.Context(), http.MethodPut, "/api/v1/policies/"+name, body)
		if err != nil || a.Status >= http.StatusBadRequest {
			t.Fatalf("PUT /policies/%s: %d %s %v", name, a.Status, a.Body, err)
		}
	}
}

// load is callers that make calls of every kind, which end in every way.
type load struct {
	http  *http.Client
	keys  []string
	urls  func() []string // of the replicas
	calls atomic.Int64    // that were answered
}

func newLoad(t *testing.T, keys []string, callers int, urls func() []string) *load {
	t.Helper()
	l := &load{keys: keys, urls: urls, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2 * callers}, Timeout: patience}}
	t.Cleanup(l.http.CloseIdleConnections)
	return l
}

// run has callers make calls until ctx ends, and waits for what is under way then.
func (l *load) run(ctx context.Context, callers int) {
	var work sync.WaitGroup
	for range callers {
		work.Go(func() {
			source := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
			for ctx.Err() == nil {
				l.ask(source)
			}
		})
	}
	work.Wait()
}

// ask makes one request. One that a kill cut short is not repeated.
func (l *load) ask(source *rand.Rand) {
	urls := l.urls()
	base, key := urls[source.IntN(len(urls))], l.keys[source.IntN(len(l.keys))]
	method, name, params := chooseRequest(source)
	isModern := source.IntN(2) == 0
	path, meta := "/mcp/request", ""
	if isModern || method == "prompts/get" {
		isModern, path = true, "/mcp"
		meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
		if params != "" {
			params += ","
		}
	}
	if method == "tools/list" && source.IntN(4) == 0 {
		path += map[bool]string{true: "/s/demo", false: ""}[isModern]
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s%s}}`, method, params, meta)
	req, err := http.NewRequest(http.MethodPost, base+path, strings.NewReader(body))
	if err != nil {
		return
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if isModern {
		req.Header.Set("Mcp-Protocol-Version", "2026-07-28")
		req.Header.Set("Mcp-Method", method)
		if name != "" {
			req.Header.Set("Mcp-Name", name)
		}
	}
	res, err := l.http.Do(req)
	if err != nil {
		poll.Pause(10*time.Millisecond, "the replica is being killed")
		return
	}
	_, err = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
	if err == nil {
		l.calls.Add(1)
	}
}

// chooseRequest returns a method, what it names, and its params without _meta.
func chooseRequest(source *rand.Rand) (method, name, params string) {
	call := func(tool, arguments string) (string, string, string) {
		return "tools/call", tool, fmt.Sprintf(`"name":%q,"arguments":%s`, tool, arguments)
	}
	switch n := source.IntN(100); {
	case n < 8:
		return "tools/list", "", ""
	case n < 12:
		return "prompts/get", "demo__greet", `"name":"demo__greet","arguments":{"name":"ada"}`
	case n < 20:
		return call("demo__add", `{"a":1,"b":2}`)
	case n < 28:
		return call("demo__fail", `{}`)
	case n < 32:
		return call("demo__nothing", `{}`)
	case n < 36:
		return call("demo__echo", `{"text":1}`)
	case n < 38:
		return call("demo__slow", fmt.Sprintf(`{"steps":1,"delay_ms":%d}`, 1+source.IntN(20)))
	default:
		return call("demo__echo", fmt.Sprintf(`{"text":%q}`, strings.Repeat("x", source.IntN(300))))
	}
}
