package talk

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/agent"
)

// Whatever the model says: what reaches a backend stands on the agent's list, and
// every call that was made is on record as the agent's.
func TestAModelNeverGoesBeyondTheList(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.expect(201, "POST", "/agents", `{"name":"bot","brain":{"model":"oracle","limits":{"turns":4,"calls":6}}}`, nil)
	all := []string{"echo", "add", "fail"}
	names := []string{"demo__echo", "demo__add", "demo__fail", "demo__ask", "ocr__google_vision_ocr", "echo", "call_tool", "find_tools", "demo__ecko", "", "../echo", "demo/echo"}
	arguments := []string{`{"text":"hi"}`, `{"a":1,"b":2}`, `{}`, ``, `{"text":`, `{"name":"demo__fail","arguments":{}}`, `{"text":"a","text":"b"}`, `[]`}
	known := map[string]bool{}
	cases, made := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		allowed := rapid.SliceOfDistinct(rapid.SampledFrom(all), rapid.ID[string]).Draw(rt, "allowed")
		grants := make([]string, len(allowed))
		for i, a := range allowed {
			grants[i] = `"demo/` + a + `"`
		}
		s.expect(200, "PATCH", "/agents/bot", `{"tools":[`+strings.Join(grants, ",")+`]}`, nil)
		s.model.answers(func(asked request) (string, []call) {
			for name := range asked.names() {
				if own, ok := strings.CutPrefix(name, "demo__"); !ok || !slices.Contains(allowed, own) {
					t.Errorf("the model is told of %q; the list is %v", name, allowed)
				}
			}
			var calls []call
			for range rapid.IntRange(0, 4).Draw(rt, "calls") {
				calls = append(calls, call{rapid.SampledFrom(names).Draw(rt, "name"), rapid.SampledFrom(arguments).Draw(rt, "arguments")})
			}
			return "so", calls
		})
		end := s.talk("bot", "go")
		if n := len(s.model.requests()); n > 4 || end.Calls > 6 {
			rt.Fatalf("asked %d times, %d calls", n, end.Calls)
		}
		ran := map[string]bool{}
		for _, m := range end.Messages {
			for _, res := range m.Results {
				switch {
				case res.Record != "":
					ran[res.Record] = true
				case !strings.HasPrefix(res.Text, "not made: "): // no more calls in this run
					rt.Fatalf("an attempt that is not on record: %+v", res)
				}
			}
		}
		var page struct{ Items []junctor.Call }
		s.expect(200, "GET", "/calls?agent=bot&limit=100", "", &page)
		for _, c := range page.Items {
			if known[c.ID] {
				continue
			}
			known[c.ID] = true
			made++
			if c.EntryPoint != junctor.EntryTurn || c.Agent != "bot" || !ran[c.ID] {
				rt.Fatalf("a call that the answer does not speak of: %+v", c)
			}
			began := c.Status == junctor.StatusSuccess || c.Status == junctor.StatusError || c.Status == junctor.StatusRunning
			if began && (c.Server != "demo" || !slices.Contains(allowed, c.Name)) {
				rt.Fatalf("%s/%s was called; the list is %v", c.Server, c.Name, allowed)
			}
			delete(ran, c.ID)
		}
		if len(ran) > 0 {
			rt.Fatalf("calls without a record: %v", ran)
		}
		cases++
	})
	t.Logf("figure: %d conversations with an adversary, %d calls on record, none outside the allowed tools", cases, made)
}

// A model's attempt at a tool that the agent may not use is on record as the same
// attempt by MCP is; a call that its server leaves waiting for input has an end.
func TestAttemptsOfAModelAreOnRecord(t *testing.T) {
	t.Parallel()
	peer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.NewDecoder(r.Body).Decode(&req)
		result := map[string]string{
			"server/discover": `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}`,
			"tools/list":      `{"resultType":"complete","tools":[{"name":"ask","inputSchema":{"type":"object"}}],"ttlMs":0,"cacheScope":"private"}`,
			"tools/call":      `{"resultType":"input_required","requestState":"x","inputRequests":{"q":{"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}}}`,
		}[req.Method]
		w.Header().Set("Content-Type", "application/json")
		if result == "" {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}`, cmp.Or(string(req.ID), "null"))
			return
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, req.ID, result)
	}))
	t.Cleanup(peer.Close)
	s := start(t)
	s.expect(201, "POST", "/servers", fmt.Sprintf(`{"id":"waits","url":%q}`, peer.URL), nil)
	s.expect(201, "POST", "/agents", `{"name":"bot","tools":["demo/echo","waits/ask"],"brain":{"model":"oracle"}}`, nil)
	s.model.answers(func(request) (string, []call) {
		if len(s.model.asked) > 1 {
			return "done", nil
		}
		return "", []call{{"demo__fail", `{}`}, {"nothing__such", `{}`}, {"demo__echo", `[]`}, {"waits__ask", `{}`}}
	})
	s.talk("bot", "go")
	var page struct{ Items []junctor.Call }
	s.expect(200, "GET", "/calls?agent=bot&limit=100", "", &page)
	got := map[string]junctor.Call{}
	for _, c := range page.Items {
		got[c.Name] = c
	}
	for name, want := range map[string]struct {
		server string
		status junctor.Status
	}{
		"fail": {"demo", junctor.StatusDenied}, "nothing__such": {"", junctor.StatusInvalid}, "echo": {"demo", junctor.StatusInvalid}, "ask": {"waits", junctor.StatusError},
	} {
		if c := got[name]; c.Status != want.status || c.Server != want.server || c.EntryPoint != junctor.EntryTurn {
			t.Errorf("%s is on record as %+v, want %+v", name, c, want)
		}
	}
}

// An agent that may use more than a model can be told of finds its tools; what it
// may not use is not found, and not called by that way either.
func TestManyToolsAreFound(t *testing.T) {
	t.Parallel()
	sdk := mcp.NewServer(&mcp.Implementation{Name: "many", Version: "1"}, nil)
	for i := range 120 {
		about := "is one of many"
		if i == 77 {
			about = "tells the tide at the sea"
		}
		sdk.AddTool(&mcp.Tool{Name: fmt.Sprintf("t%d", i), Description: about + strings.Repeat(" word", 200), InputSchema: object{"type": "object"}},
			func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "this is " + r.Params.Name}}}, nil
			})
	}
	peer := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return sdk }, nil))
	t.Cleanup(peer.Close) // waits for the streams of the instance, which ends before it
	s := start(t)
	s.expect(201, "POST", "/servers", fmt.Sprintf(`{"id":"many","url":%q}`, peer.URL), nil)
	s.expect(201, "POST", "/agents", `{"name":"bot","tools":["many/*"],"brain":{"model":"oracle"}}`, nil)
	s.model.answers(func(asked request) (string, []call) {
		switch len(s.model.asked) {
		case 1:
			if n := asked.names(); len(n) != 3 || !n["find_tools"] || !n["call_tool"] {
				t.Errorf("the model is told of %v", n)
			}
			return "", []call{{"find_tools", `{"query":"tide at sea"}`}, {"call_tool", `{"name":"demo__echo","arguments":{"text":"x"}}`}, {"call_tool", `{"name":"many__t77","arguments":{}}`}, {"many__t1", `{}`}}
		default:
			return "found", nil
		}
	})
	end := s.talk("bot", "when is the tide?")
	if end.Outcome != agent.OutcomeDone || len(end.Messages) != 3 {
		t.Fatalf("%+v", end)
	}
	res := end.Messages[1].Results
	if !strings.Contains(res[0].Text, "many__t77") || res[0].IsError {
		t.Errorf("find_tools says %s", res[0].Text)
	}
	if !res[1].IsError || strings.Contains(res[1].Text, "x") && !strings.Contains(res[1].Text, "unknown tool") {
		t.Errorf("a tool of another list: %+v", res[1])
	}
	if res[2].IsError || res[2].Text != "this is t77" || res[2].Server != "many" || res[2].Tool != "t77" {
		t.Errorf("%+v", res[2])
	}
	if !res[3].IsError {
		t.Errorf("a tool that was not listed: %+v", res[3])
	}
	var page struct{ Items []junctor.Call }
	s.expect(200, "GET", "/calls?agent=bot&server=many", "", &page)
	// Newest first: the call that was made, and the attempt at the tool that was not listed.
	if len(page.Items) != 2 || page.Items[0].Name != "t77" || page.Items[0].Status != junctor.StatusSuccess || page.Items[1].Name != "t1" || page.Items[1].Status != junctor.StatusInvalid {
		t.Errorf("on record: %+v", page.Items)
	}
}

// A model's key is in no answer, no log and no file, whatever the model says.
func TestKeyIsNeverShown(t *testing.T) {
	t.Parallel()
	s := start(t)
	const key = "sk-canary-7f3a9c1e5b"
	at := s.model.URL + "/v1"
	said := s.expect(201, "POST", "/models", fmt.Sprintf(`{"name":"locked","kind":"openai","model":"locked","base_url":%q,"key":%q}`, at, key), nil)
	said += s.expect(200, "GET", "/models", "", nil) + s.expect(200, "GET", "/models/locked", "", nil) + s.expect(200, "GET", "/secrets", "", nil)
	said += s.expect(200, "POST", "/models/locked/test", "", nil)
	if !strings.Contains(said, "rejects the key") || !strings.Contains(said, "(the key)") {
		t.Errorf("%s", said)
	}
	s.expect(201, "POST", "/agents", `{"name":"bot","brain":{"model":"locked"}}`, nil)
	if end := s.talk("bot", "hello"); end.Outcome != agent.OutcomeFailed || strings.Contains(end.Reason, key) {
		t.Errorf("%+v", end)
	}
	if strings.Contains(said, key) || strings.Contains(s.Log.String(), key) {
		t.Error("the key is in an answer or the log")
	}
	// It goes nowhere else.
	s.expect(422, "PATCH", "/models/locked", `{"base_url":"http://127.0.0.1:1/v1"}`, nil)
	s.expect(422, "PATCH", "/models/locked", `{"base_url":""}`, nil)
	// It opens what it was entered for.
	s.expect(200, "PATCH", "/models/locked", `{"model":"m"}`, nil)
	s.model.answers(func(asked request) (string, []call) {
		if asked.Key != key {
			t.Errorf("the model was asked with %q", asked.Key)
		}
		return "ready", nil
	})
	if said := s.expect(200, "POST", "/models/locked/test", "", nil); !strings.Contains(said, `"ok":true`) {
		t.Errorf("%s", said)
	}
	s.Stop()
	err := filepath.WalkDir(s.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(key)) {
			t.Errorf("the key is in %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// Who leaves stops the model and the tools.
func TestLeavingStops(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.expect(201, "POST", "/agents", `{"name":"bot","tools":["demo/*"],"brain":{"model":"oracle"}}`, nil)
	s.model.answers(func(request) (string, []call) { return "once upon a time" + hang, nil })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	resp := s.Open(ctx, t, "POST", "/api/v1/agents/bot/runs", `{"message":"a story","stream":true}`)
	defer func() { _ = resp.Body.Close() }()
	var got strings.Builder
	buf := make([]byte, 1024)
	for !strings.Contains(got.String(), "once upon a time") {
		n, err := resp.Body.Read(buf)
		got.Write(buf[:n])
		if err != nil {
			t.Fatalf("%v after %s", err, got.String())
		}
	}
	cancel()
	select {
	case <-s.model.gone:
	case <-time.After(patience):
		t.Error("the model goes on")
	}
}

// Others do not talk to an agent, and do not see what it is told.
func TestWhoseAgentItIs(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.expect(201, "POST", "/agents", `{"name":"bot","brain":{"model":"oracle","instructions":"the secret plan"}}`, nil)
	s.expect(201, "POST", "/users", `{"name":"ann","role":"developer"}`, nil)
	var made struct{ Key string }
	s.expect(201, "POST", "/keys", `{"name":"k","user":"ann","scopes":["tools:read","tools:call","agents:write"]}`, &made)
	hers := "Authorization: Bearer " + made.Key
	if r := s.Do(t, "POST", "/api/v1/agents/bot/runs", `{"message":"hello"}`, hers); r.Status != 404 {
		t.Errorf("%d %s", r.Status, r.Body)
	}
	if r := s.Do(t, "GET", "/api/v1/agents/bot", "", hers); r.Status != 200 || strings.Contains(r.Body, "secret plan") {
		t.Errorf("%d %s", r.Status, r.Body)
	}
	if r := s.Do(t, "GET", "/api/v1/agents/bot", ""); !strings.Contains(r.Body, "secret plan") {
		t.Errorf("%d %s", r.Status, r.Body)
	}
}
