// Package access holds what is promised of agents against whole instances, on
// both engines and on replicas, and through every endpoint: who sees what, who can call
// what, and what is on record.
package access

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/junctor-mcp/junctor/internal/app"
	"github.com/junctor-mcp/junctor/internal/builtin"
	"github.com/junctor-mcp/junctor/internal/gateway"
	"github.com/junctor-mcp/junctor/internal/proc"
	"github.com/junctor-mcp/junctor/internal/store/pgtest"
	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/test/program"
	"github.com/junctor-mcp/junctor/test/topology"
)

var postgres pgtest.Pool

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == proc.ReaperVerb {
		os.Exit(proc.RunReaper(os.Args[2:]))
	}
	code := postgres.Main(m)
	program.Clean()
	os.Exit(code)
}

const patience = time.Minute

// The servers of a scene, and the tools that each of them has. Nothing about
// them says what they are for.
func servers() []string { return []string{"alpha", "beta", "gamma"} }
func tools() []string   { return []string{"one", "two", "three"} }

// scene is an instance, or replicas, whose tools count how often they run.
type scene struct {
	*topology.Site
	t *testing.T

	mu  sync.Mutex
	ran map[string]int // by server/tool
}

// onBoth runs a test on an instance over each engine.
func onBoth(t *testing.T, test func(*scene)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(start(t, testkit.Settings{}))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(start(t, testkit.Settings{"db": postgres.Database(t)}))
	})
}

// onAll is onBoth, and on replicas that are asked in turn.
func onAll(t *testing.T, test func(*scene)) {
	t.Helper()
	onBoth(t, test)
	t.Run("replicas", func(t *testing.T) {
		t.Parallel()
		test(startReplicas(t))
	})
}

func start(t *testing.T, settings testkit.Settings) *scene {
	t.Helper()
	s := &scene{t: t, ran: map[string]int{}}
	var opts []app.Option
	for _, id := range servers() {
		b, err := builtin.New(id, id, builtin.Options{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range tools() {
			err := b.AddRawTool(builtin.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)},
				func(_ context.Context, _ *builtin.Call, arguments []byte) (builtin.Result, error) {
					return builtin.TextResult(s.runTool(id, name, arguments)), nil
				})
			if err != nil {
				t.Fatal(err)
			}
		}
		opts = append(opts, app.WithServer(b))
	}
	s.Site = topology.One(testkit.Start(t, settings, opts...))
	return s
}

// startReplicas is start for replicas: the servers stand beside them.
func startReplicas(t *testing.T) *scene {
	t.Helper()
	s := &scene{t: t, ran: map[string]int{}, Site: topology.Replicas(t, nil)}
	for _, id := range servers() {
		sdk := mcp.NewServer(&mcp.Implementation{Name: id, Version: "1"}, nil)
		for _, name := range tools() {
			sdk.AddTool(&mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s.runTool(id, name, r.Params.Arguments)}}}, nil
			})
		}
		web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return sdk }, &mcp.StreamableHTTPOptions{Stateless: true}))
		t.Cleanup(func() {
			_ = web.Config.Close() // streams too
			web.Close()
		})
		s.request("POST", "/servers", fmt.Sprintf(`{"id":%q,"url":%q}`, id, web.URL), http.StatusCreated, nil)
	}
	return s
}

// runTool is what a tool does.
func (s *scene) runTool(server, tool string, arguments []byte) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ran[server+"/"+tool]++
	return server + " " + tool + " heard " + string(arguments)
}

func (s *scene) callsOf(server, tool string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ran[server+"/"+tool]
}

func (s *scene) allCalls() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, times := range s.ran {
		n += times
	}
	return n
}

// request asks the admin API as the admin and reads the answer.
func (s *scene) request(method, path, body string, status int, into any) {
	s.t.Helper()
	r := s.Do(s.t, method, "/api/v1"+path, body)
	if r.Status != status {
		s.t.Fatalf("%s %s %s: %d\n%s", method, path, body, r.Status, r.Body)
	}
	if into != nil {
		if err := json.Unmarshal([]byte(r.Body), into); err != nil {
			s.t.Fatal(err)
		}
	}
}

// agent makes an agent and gives its key.
func (s *scene) agent(body string) string {
	s.t.Helper()
	var made struct{ Key string }
	s.request("POST", "/agents", body, http.StatusCreated, &made)
	return made.Key
}

func quote(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// endpointCall is one way in: it lists tools, where it can, and calls one. Both give
// whether it was let in.
type endpointCall struct {
	list func() []string                                     // shown names, sorted; nil where the endpoint has no list
	call func(server, tool, arguments string) (bool, string) // and all that was told
}

// agentEndpoints are all ways in with an agent's key.
func (s *scene) agentEndpoints(agent, key string) map[string]endpointCall {
	s.t.Helper()
	auth := "Authorization: Bearer " + key
	shown := func(server, tool string) string { return server + "__" + tool }
	d := map[string]endpointCall{
		"/mcp":           s.modernEndpoint("/mcp", auth),
		"/mcp/a":         s.modernEndpoint("/mcp/a/"+agent, auth),
		"/mcp/a, admin":  s.modernEndpoint("/mcp/a/"+agent, "Authorization: Bearer "+testkit.AdminKey),
		"/mcp/request":   s.plainEndpoint("/mcp/request", auth),
		"/mcp/a/request": s.plainEndpoint("/mcp/a/"+agent+"/request", auth),
		"/mcp/tools":     {list: func() []string { return s.names(s.Do(s.t, "GET", "/mcp/tools", "", auth).Body) }},
		"/mcp/a/tools":   {list: func() []string { return s.names(s.Do(s.t, "GET", "/mcp/a/"+agent+"/tools", "", auth).Body) }},
		"/mcp/s": {call: func(server, tool, arguments string) (bool, string) {
			return wasReached(s.Do(s.t, "POST", "/mcp/s/"+server, modernCall(tool, arguments), append(modernHeader("tools/call", tool), auth)...))
		}},
		"/mcp/call": {call: func(server, tool, arguments string) (bool, string) {
			r := s.Do(s.t, "POST", "/mcp/call", fmt.Sprintf(`{"endpoint":{"server":%q},"tool_name":%q,"arguments":%s}`, server, tool, arguments), auth)
			return strings.Contains(r.Body, `"success":true`), r.Body
		}},
		"/mcp/a/call": {call: func(server, tool, arguments string) (bool, string) {
			r := s.Do(s.t, "POST", "/mcp/a/"+agent+"/call", fmt.Sprintf(`{"endpoint":{"server":%q},"tool_name":%q,"arguments":%s}`, server, tool, arguments), auth)
			return strings.Contains(r.Body, `"success":true`), r.Body
		}},
		"REST": {
			list: func() []string { return s.exposed("/api/v1/tools", auth) },
			call: func(server, tool, arguments string) (bool, string) {
				r := s.Do(s.t, "POST", "/api/v1/tools/"+shown(server, tool)+"/call", `{"arguments":`+arguments+`}`, auth)
				return r.Status == http.StatusOK, r.Body
			},
		},
		"REST, one": {call: nil, list: func() []string {
			var seen []string
			for _, server := range servers() {
				for _, tool := range tools() {
					if r := s.Do(s.t, "GET", "/api/v1/tools/"+shown(server, tool), "", auth); r.Status == http.StatusOK {
						seen = append(seen, shown(server, tool))
					}
				}
			}
			slices.Sort(seen)
			return seen
		}},
		"REST, search":       {list: func() []string { return s.exposed("/api/v1/tools?q=a", auth) }}, // all three servers have an a
		"REST, of the agent": {list: func() []string { return s.exposed("/api/v1/agents/"+agent+"/tools", auth) }},
	}
	legacy := program.NewCaller(s.t, program.Legacy, s.URL, key)
	d["/mcp, legacy"] = endpointCall{call: func(server, tool, arguments string) (bool, string) {
		a, err := legacy.Call(s.t.Context(), shown(server, tool), arguments)
		if err != nil {
			s.t.Fatal(err)
		}
		return a.OK, a.Body
	}}
	d["/sse"] = s.sdkEndpoint("2024-11-05", &mcp.SSEClientTransport{Endpoint: s.URL + "/sse", HTTPClient: &http.Client{Transport: withKey(key)}})
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	go func() {
		_ = gateway.RelayStdio(s.t.Context(), filepath.Join(s.Dir, app.SocketName), inR, outW, key)
		_ = outW.Close()
	}()
	s.t.Cleanup(func() { _ = inW.Close(); _ = outR.Close() })
	d["stdio"] = s.sdkEndpoint("2025-11-25", &mcp.IOTransport{Reader: outR, Writer: inW})
	return d
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

func modernCall(tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s,%s}}`, tool, arguments, modernMeta)
}

func modernHeader(method, tool string) []string {
	h := []string{"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: " + method}
	if tool != "" {
		h = append(h, "Mcp-Name: "+tool)
	}
	return h
}

// wasReached says whether an answer of an MCP endpoint is a result.
func wasReached(r testkit.Reply) (bool, string) {
	return r.Status == http.StatusOK && strings.Contains(r.Body, `"result"`), r.Body
}

func (s *scene) modernEndpoint(path, auth string) endpointCall {
	return endpointCall{
		list: func() []string {
			r := s.Do(s.t, "POST", path, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`+modernMeta+`}}`, append(modernHeader("tools/list", ""), auth)...)
			return s.names(r.Body)
		},
		call: func(server, tool, arguments string) (bool, string) {
			name := server + "__" + tool
			return wasReached(s.Do(s.t, "POST", path, modernCall(name, arguments), append(modernHeader("tools/call", name), auth)...))
		},
	}
}

func (s *scene) plainEndpoint(path, auth string) endpointCall {
	return endpointCall{
		list: func() []string {
			return s.names(s.Do(s.t, "POST", path, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, auth).Body)
		},
		call: func(server, tool, arguments string) (bool, string) {
			return wasReached(s.Do(s.t, "POST", path, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%s__%s","arguments":%s}}`, server, tool, arguments), auth))
		},
	}
}

// names reads a list of MCP, of a whole answer or of a result alone.
func (s *scene) names(body string) []string {
	s.t.Helper()
	var answer struct {
		Result *struct{ Tools []struct{ Name string } }
		Tools  []struct{ Name string }
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		s.t.Fatalf("%v: %s", err, body)
	}
	list := answer.Tools
	if answer.Result != nil {
		list = answer.Result.Tools
	}
	out := []string{}
	for _, t := range list {
		out = append(out, t.Name)
	}
	slices.Sort(out)
	return out
}

// exposed reads a list of the admin API.
func (s *scene) exposed(path string, header ...string) []string {
	s.t.Helper()
	r := s.Do(s.t, "GET", path, "", header...)
	var page struct{ Items []struct{ Exposed string } }
	if err := json.Unmarshal([]byte(r.Body), &page); err != nil || r.Status != http.StatusOK {
		s.t.Fatalf("%d, %v: %s", r.Status, err, r.Body)
	}
	out := []string{}
	for _, t := range page.Items {
		out = append(out, t.Exposed)
	}
	slices.Sort(out)
	return out
}

type withKey string

func (k withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(k))
	return http.DefaultTransport.RoundTrip(r)
}

// sdkEndpoint is an endpoint through the official client.
func (s *scene) sdkEndpoint(version string, transport mcp.Transport) endpointCall {
	s.t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "access", Version: "1"}, nil)
	session, err := c.Connect(s.t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = session.Close() })
	return endpointCall{
		list: func() []string {
			ctx, cancel := context.WithTimeout(s.t.Context(), patience)
			defer cancel()
			res, err := session.ListTools(ctx, nil)
			if err != nil {
				s.t.Fatal(err)
			}
			out := []string{}
			for _, t := range res.Tools {
				out = append(out, t.Name)
			}
			slices.Sort(out)
			return out
		},
		call: func(server, tool, arguments string) (bool, string) {
			ctx, cancel := context.WithTimeout(s.t.Context(), patience)
			defer cancel()
			res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: server + "__" + tool, Arguments: json.RawMessage(arguments)})
			if err != nil {
				return false, err.Error()
			}
			return !res.IsError, quote(res)
		},
	}
}
