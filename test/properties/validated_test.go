package properties

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"

	"github.com/junctor-mcp/junctor/internal/testkit/upstreams"
)

// listFlaws are what may be wrong with a server; "" is nothing.
func listFlaws() []string {
	return []string{"", "", "", "", "nobody there", "no such page", "a page", "an error", "cut off", "no MCP", "no list", "a broken list"}
}

// spoilHandler makes a server what its flaw says.
func spoilHandler(flaw string, next http.Handler) http.Handler {
	answer := func(status int, kind, body string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		})
	}
	switch flaw {
	case "no such page":
		return http.NotFoundHandler()
	case "a page":
		return answer(http.StatusOK, "text/html", "<title>Welcome</title>")
	case "an error":
		return answer(http.StatusInternalServerError, "text/plain", "a bad day")
	case "no MCP":
		return answer(http.StatusOK, "application/json", `{"hello":"world"}`)
	case "cut off":
		return http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	case "no list", "a broken list":
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				panic(http.ErrAbortHandler)
			}
			var message struct {
				ID     json.RawMessage
				Method string
			}
			_ = json.Unmarshal(body, &message) // what is no message is for the server to refuse
			if message.Method != "tools/list" {
				r.Body = io.NopCloser(strings.NewReader(string(body)))
				next.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			if flaw == "no list" {
				_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"no list today"}}`, message.ID)
			} else {
				_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":"none"}}`, message.ID)
			}
		})
	}
	return next
}

// candidate is a server that may be brought, and how it is asked.
type candidate struct {
	url  string
	gate *gate
	with login
	way  upstreams.Way
	flaw string
	good bool
}

// newCandidate draws a server. Its one tool has the name given.
func newCandidate(rt *rapid.T, tool string) *candidate {
	sdk := mcp.NewServer(&mcp.Implementation{Name: "peer", Version: "1"}, nil)
	mcp.AddTool(sdk, &mcp.Tool{Name: tool}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "said by " + tool}}}, nil, nil
	})
	c := &candidate{way: rapid.SampledFrom([]upstreams.Way{upstreams.Modern, upstreams.Legacy, upstreams.JSON}).Draw(rt, "way"), flaw: rapid.SampledFrom(listFlaws()).Draw(rt, "flaw")}
	wanted := drawLogin(rt)
	c.with = wanted
	if rapid.IntRange(0, 3).Draw(rt, "another login") == 3 {
		c.with = drawLogin(rt)
	}
	c.gate = &gate{login: wanted, next: spoilHandler(c.flaw, handler(c.way, sdk))}
	c.good = c.flaw == "" && (wanted.kind == "none" || c.with == wanted)
	if c.flaw == "nobody there" {
		c.url = drawAbsent(rt)
		return c
	}
	url, end := listen(c.gate)
	rt.Cleanup(end)
	c.url = url
	return c
}

// drawAbsent is an address that nobody listens on.
func drawAbsent(rt *rapid.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		rt.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String()
}

// Property 3: for any server and credentials, the connection is validated before
// anything is saved. What was not reached leaves nothing behind, neither when a
// server is added nor when it is changed; what was reached is there with its
// tools, and its calls carry exactly the credential that was entered.
func TestProperty3ValidatedBeforeSaved(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s *scene) {
		n, saved, refused := 0, 0, 0
		rapid.Check(s.t, func(rt *rapid.T) {
			n++
			id := fmt.Sprintf("s%d", n)
			before := s.all()
			c := newCandidate(rt, "first")
			r := s.request("POST", "/servers", fmt.Sprintf(`{"id":%q,"url":%q,"auth":%s}`, id, c.url, c.with.body()), nil)
			if !s.checkReport(rt, c, r.Status, http.StatusCreated, r.Body) {
				refused++
				if after := s.all(); after != before {
					rt.Fatalf("a server that was not reached left something behind:\n%s\nbefore:\n%s", after, before)
				}
				s.must(rt, http.StatusNotFound, s.request("GET", "/servers/"+id, "", nil))
				return
			}
			saved++
			s.checkEcho(rt, id, "first", c)

			// The same of a change: until the new place was reached, the former serves.
			before = s.all()
			next := newCandidate(rt, "second")
			r = s.request("PATCH", "/servers/"+id, fmt.Sprintf(`{"url":%q,"auth":%s}`, next.url, next.with.body()), nil)
			if s.checkReport(rt, next, r.Status, http.StatusOK, r.Body) {
				saved++
				s.checkEcho(rt, id, "second", next)
			} else {
				refused++
				if after := s.all(); after != before {
					rt.Fatalf("a change that was refused left something behind:\n%s\nbefore:\n%s", after, before)
				}
				s.checkEcho(rt, id, "first", c)
			}
			s.must(rt, http.StatusNoContent, s.request("DELETE", "/servers/"+id, "", nil))
		})
		s.t.Logf("figure: property 3 on %s: %d random servers; %d were reachable and saved, %d were unreachable and not stored", s.engine, n, saved, refused)
	})
}

// checkReport holds an answer to what the candidate is, and says whether it was taken.
func (s *scene) checkReport(rt *rapid.T, c *candidate, status, good int, body string) bool {
	if (status == good) != c.good || status/100 == 2 && status != good {
		rt.Fatalf("a server with the flaw %q that wants %+v, asked with %+v: %d %s", c.flaw, c.gate.login, c.with, status, body)
	}
	if c.good && c.gate.through.Load() == 0 {
		rt.Fatalf("saved before it was reached")
	}
	var problem struct{ Code, Detail string }
	if !c.good && (json.Unmarshal([]byte(body), &problem) != nil || problem.Code == "" || problem.Code == "internal" || problem.Detail == "") {
		rt.Fatalf("the refusal says nothing: %s", body)
	}
	return c.good
}

// checkEcho holds that a server answers a call with its tool, and with the credential
// that was entered: the gate lets no other through.
func (s *scene) checkEcho(rt *rapid.T, id, tool string, c *candidate) {
	before := c.gate.through.Load()
	r := s.request("POST", "/tools/"+id+"__"+tool+"/call", `{"arguments":{}}`, nil)
	if r.Status != http.StatusOK || !strings.Contains(r.Body, "said by "+tool) || c.gate.through.Load() == before {
		rt.Fatalf("%s of %s: %d %s", tool, id, r.Status, r.Body)
	}
}
