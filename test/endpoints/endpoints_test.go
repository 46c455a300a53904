// Package endpoints calls one tool through every endpoint of a whole instance, to hold
// what is promised for all of them.
package endpoints

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/junctor-mcp/junctor/internal/app"
	"github.com/junctor-mcp/junctor/internal/builtin"
	"github.com/junctor-mcp/junctor/internal/testkit"
)

const limit = 2 * time.Minute

// bench is an instance with a server `probe` whose one tool counts its runs.
type bench struct {
	*testkit.Instance
	runs atomic.Int64
	seen func() // runs inside the tool
}

type nothing struct{}

func start(t *testing.T) *bench {
	t.Helper()
	return startWith(t, nil)
}

func startWith(t *testing.T, settings testkit.Settings) *bench {
	t.Helper()
	b := &bench{seen: func() {}}
	s, err := builtin.New("probe", "Probe", builtin.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	err = builtin.AddTool(s, builtin.Tool{Name: "hit", Description: "Counts."}, func(context.Context, *builtin.Call, nothing) (string, error) {
		b.runs.Add(1)
		b.seen()
		return "hit", nil
	})
	if err != nil {
		t.Fatal(err)
	}
	b.Instance = testkit.Start(t, settings, app.WithServer(s))
	return b
}

// key makes a key with the scopes.
func (b *bench) key(t *testing.T, scopes string) string {
	t.Helper()
	r := b.Do(t, http.MethodPost, "/api/v1/keys", `{"name":"k","scopes":[`+scopes+`]}`)
	var out struct{ Key string }
	if err := json.Unmarshal([]byte(r.Body), &out); err != nil || r.Status != http.StatusCreated {
		t.Fatalf("POST /api/v1/keys: %d %s", r.Status, r.Body)
	}
	return out.Key
}

// endpoints are the ways to call probe/hit with a key. Each gives what the caller
// is told: "hit" when it ran, else why not.
func (b *bench) endpoints() map[string]func(t *testing.T, key string) string {
	const args = `"params":{"name":"probe__hit","arguments":{}}`
	raw := func(path, body string) func(*testing.T, string) string {
		return func(t *testing.T, key string) string {
			t.Helper()
			r := b.Do(t, http.MethodPost, path, body, "Authorization: Bearer "+key)
			return r.Body
		}
	}
	sdk := func(version, tool string, transport func(key string) mcp.Transport) func(*testing.T, string) string {
		return func(t *testing.T, key string) string {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			c := mcp.NewClient(&mcp.Implementation{Name: "endpoints", Version: "1"}, nil)
			s, err := c.Connect(ctx, transport(key), &mcp.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				return "refused: " + err.Error()
			}
			defer s.Close()
			res, err := s.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: nothing{}})
			if err != nil {
				return "refused: " + err.Error()
			}
			text, err := json.Marshal(res)
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
	}
	streamable := func(path string) func(string) mcp.Transport {
		return func(key string) mcp.Transport {
			return &mcp.StreamableClientTransport{Endpoint: b.URL + path, HTTPClient: &http.Client{Transport: withKey(key)}, MaxRetries: -1}
		}
	}
	return map[string]func(*testing.T, string) string{
		"/mcp, modern": sdk("2026-07-28", "probe__hit", streamable("/mcp")),
		"/mcp, legacy": sdk("2025-11-25", "probe__hit", streamable("/mcp")),
		"/mcp/s/probe": sdk("2026-07-28", "hit", streamable("/mcp/s/probe")),
		"/sse": sdk("2024-11-05", "probe__hit", func(key string) mcp.Transport {
			return &mcp.SSEClientTransport{Endpoint: b.URL + "/sse", HTTPClient: &http.Client{Transport: withKey(key)}}
		}),
		"stdio":         sdk("2025-11-25", "probe__hit", func(key string) mcp.Transport { return b.stdio(key) }),
		"/mcp/request":  raw("/mcp/request", `{"jsonrpc":"2.0","id":1,"method":"tools/call",`+args+`}`),
		"the bare name": raw("/mcp/request", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hit","arguments":{}}}`),
		"the admin API": raw("/api/v1/tools/probe__hit/call", `{"arguments":{}}`),
	}
}

// agents are the ways to have a published agent call probe/hit, which it does as
// itself: what a key may do there is talk to it.
func (b *bench) agents(t *testing.T) map[string]func(t *testing.T, key string) string {
	t.Helper()
	r := b.Do(t, http.MethodPost, "/api/v1/agents", `{"name":"hitter","published":true,"tools":["probe/hit"],"brain":{"rules":"intents:\n  - match: '.'\n    calls: [{tool: probe__hit}]\n    say: '{{result}}'\nfallback: hm\n"}}`)
	if r.Status != http.StatusCreated {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	const message = `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"go"}]}}`
	post := func(path, body string, header ...string) func(*testing.T, string) string {
		return func(t *testing.T, key string) string {
			t.Helper()
			return b.Do(t, http.MethodPost, "/a2a/hitter/"+path, body, append(header, "Authorization: Bearer "+key)...).Body
		}
	}
	return map[string]func(*testing.T, string) string{
		"A2A, JSON-RPC":         post("", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":`+message+`}`, "A2A-Version: 1.0"),
		"A2A, JSON-RPC, stream": post("", `{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":`+message+`}`, "A2A-Version: 1.0"),
		"A2A, HTTP+JSON":        post("rest/message:send", message, "A2A-Version: 1.0"),
		"A2A 0.3, JSON-RPC":     post("", `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"go"}]}}}`),
	}
}

// stdio is `junctor stdio` inside this process.
func (b *bench) stdio(key string) mcp.Transport {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	go func() {
		err := b.App.ServeStdio(context.Background(), inR, outW, key)
		outW.CloseWithError(fmt.Errorf("stdio ended: %w", errorOr(err, io.EOF)))
		inR.Close()
	}()
	return &mcp.IOTransport{Reader: outR, Writer: inW}
}

func errorOr(err, other error) error {
	if err == nil {
		return other
	}
	return err
}

// withKey adds a key to every request.
type withKey string

func (k withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(k))
	return http.DefaultTransport.RoundTrip(r)
}

// TestDeniedNeverReachesABackend calls with a key that may look but not call,
// and with one that may, so that the count is seen to work.
func TestDeniedNeverReachesABackend(t *testing.T) {
	t.Parallel()
	b := start(t)
	looks, calls, revoked := b.key(t, `"tools:read","audit:read"`), b.key(t, `"tools:read","tools:call"`), "not-a-key-of-this-instance"
	all := b.endpoints()
	maps.Copy(all, b.agents(t))
	for name, call := range all {
		for _, key := range []string{looks, revoked} {
			before := b.runs.Load()
			if said := call(t, key); strings.Contains(said, `"text":"hit"`) {
				t.Errorf("%s: a key without the right was answered %s", name, said)
			}
			if n := b.runs.Load() - before; n != 0 {
				t.Errorf("%s: a denied call reached the backend %d times", name, n)
			}
		}
		before := b.runs.Load()
		said := call(t, calls)
		if n := b.runs.Load() - before; n != 1 || !strings.Contains(said, `"hit"`) {
			t.Errorf("%s: an allowed call ran %d times and was answered %s", name, n, said)
		}
	}
}

// TestRecordComesBeforeTheBackend looks at the record of a call from inside the
// tool that runs, and at what is left of it and of a refusal afterwards.
func TestRecordComesBeforeTheBackend(t *testing.T) {
	t.Parallel()
	b := start(t)
	looks, calls := b.key(t, `"tools:read"`), b.key(t, `"tools:read","tools:call"`)
	var during string
	b.seen = func() { during = b.Do(t, http.MethodGet, "/api/v1/calls?tool=probe__hit&status=running", "").Body }
	for name, call := range b.endpoints() {
		during = ""
		call(t, calls)
		if n := len(records(t, during)); n != 1 {
			t.Errorf("%s: while the tool ran there were %d records of it: %s", name, n, during)
		}
		all := b.Do(t, http.MethodGet, "/api/v1/calls?tool=probe__hit&limit=1", "").Body
		if r := records(t, all); len(r) != 1 || r[0].Status != "success" {
			t.Errorf("%s: afterwards the record is %s", name, all)
		}
		call(t, looks)
		all = b.Do(t, http.MethodGet, "/api/v1/calls?limit=1", "").Body
		if r := records(t, all); len(r) != 1 || r[0].Status != "denied" || r[0].Reason == "" {
			t.Errorf("%s: the record of a refusal is %s", name, all)
		}
	}
}

// TestRecordOfAnAgentsCall is the same for agents that are talked to: the call is
// on record as the agent's own before the tool runs.
func TestRecordOfAnAgentsCall(t *testing.T) {
	t.Parallel()
	b := start(t)
	calls := b.key(t, `"tools:read","tools:call"`)
	var during string
	b.seen = func() {
		during = b.Do(t, http.MethodGet, "/api/v1/calls?tool=probe__hit&agent=hitter&status=running", "").Body
	}
	for name, call := range b.agents(t) {
		during = ""
		if said := call(t, calls); !strings.Contains(said, `"hit"`) {
			t.Errorf("%s: %s", name, said)
		}
		if n := len(records(t, during)); n != 1 {
			t.Errorf("%s: while the tool ran there were %d records of it: %s", name, n, during)
		}
		after := b.Do(t, http.MethodGet, "/api/v1/calls?tool=probe__hit&limit=1", "").Body
		if r := records(t, after); len(r) != 1 || r[0].Status != "success" || r[0].EntryPoint != "turn" {
			t.Errorf("%s: afterwards the record is %s", name, after)
		}
	}
}

// TestHTTPFastPath calls through every endpoint, and through a server at a plain http URL,
// with the HTTP fast path on and off. Requests of net/http ask for gzip, and those of
// the fast path do not, which shows who sent them.
func TestHTTPFastPath(t *testing.T) {
	t.Parallel()
	for setting, encoding := range map[string]string{"on": "", "off": "gzip"} {
		server := mcp.NewServer(&mcp.Implementation{Name: "far", Version: "1"}, nil)
		mcp.AddTool(server, &mcp.Tool{Name: "hit"}, func(context.Context, *mcp.CallToolRequest, nothing) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "hit"}}}, nil, nil
		})
		var asked sync.Map // Accept-Encoding of calls
		handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
		far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if strings.Contains(string(body), `"tools/call"`) {
				asked.Store(r.Header.Get("Accept-Encoding"), nil)
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			handler.ServeHTTP(w, r)
		}))
		t.Cleanup(far.Close) // after the instance, whose stream would hold it open
		b := startWith(t, testkit.Settings{"http-fast-path": setting, "egress-allow": "127.0.0.0/8"})
		calls := b.key(t, `"tools:read","tools:call"`)
		for name, call := range b.endpoints() {
			if said := call(t, calls); !strings.Contains(said, `"hit"`) {
				t.Errorf("%s, %s: %s", setting, name, said)
			}
		}
		if r := b.Do(t, http.MethodPost, "/api/v1/servers", `{"id":"far","url":"`+far.URL+`"}`); r.Status != http.StatusCreated {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		r := b.Do(t, http.MethodPost, "/mcp/request", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"far__hit","arguments":{}}}`, "Authorization: Bearer "+calls)
		if !strings.Contains(r.Body, `"hit"`) {
			t.Errorf("%s: %s", setting, r.Body)
		}
		if _, ok := asked.Load(encoding); !ok {
			t.Errorf("%s: the call did not come with Accept-Encoding %q", setting, encoding)
		}
		if status := b.postAmbiguous(t); !strings.HasPrefix(status, "HTTP/1.1 400 ") {
			t.Errorf("%s: a request with two lengths is answered %q", setting, status)
		}
	}
}

// postAmbiguous sends a request with both Content-Length and Transfer-Encoding, and
// gives the status line of the response.
func (b *bench) postAmbiguous(t *testing.T) string {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(b.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(limit))
	_, _ = io.WriteString(c, "POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return line
}

type record struct {
	Status, Reason string
	EntryPoint     string `json:"entry_point"`
}

func records(t *testing.T, body string) []record {
	t.Helper()
	var page struct{ Items []record }
	if err := json.Unmarshal([]byte(body), &page); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return page.Items
}
