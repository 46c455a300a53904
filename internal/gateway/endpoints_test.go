package gateway_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// converse is a whole conversation of either era over a pipe.
func converse(t *testing.T, c *talk, modern bool) {
	t.Helper()
	m := `"_meta":{}`
	if modern {
		m = meta()
	}
	for _, step := range []struct{ method, params, want string }{
		{"tools/list", "", `"name":"demo__echo"`},
		{"prompts/list", "", `"name":"demo__greet"`},
		{"resources/list", "", `"uri":"demo+demo://clock"`},
		{"resources/templates/list", "", `"uriTemplate":"demo+demo://greeting/{name}"`},
		{"tools/call", `"name":"demo__echo","arguments":{"text":"hi"}`, `"text":"hi"`},
		{"tools/call", `"name":"demo__fail"`, `"isError":true`},
		{"tools/call", `"name":"demo__ecko"`, `did you mean demo__echo`},
		{"tools/call", `"name":"demo__add","arguments":{}`, `"isError":true`},
		{"resources/read", `"uri":"demo+demo://greeting/Ada"`, `Hello, Ada!`},
		{"prompts/get", `"name":"demo__greet","arguments":{"name":"Ada"}`, `greeting for Ada`},
		{"completion/complete", `"ref":{"type":"ref/prompt","name":"demo__greet"},"argument":{"name":"name","value":"a"}`, `"values":["Ada","Alan"]`},
		{"no/such", "", `-32601`},
	} {
		params := m
		if step.params != "" {
			params = step.params + "," + m
		}
		c.send(t, request(`"`+step.method+`"`, step.method, params))
		text := c.nextText(t)
		if a := parse(t, text); string(a.ID) != `"`+step.method+`"` || !strings.Contains(text, step.want) || strings.Contains(text, "\n") {
			t.Errorf("%s: %s", step.method, text)
		} else if a.Result != nil && (a.Result["resultType"] != nil) != modern {
			t.Errorf("%s: of the wrong era: %s", step.method, text)
		}
	}
}

func TestPipes(t *testing.T) {
	t.Parallel()
	i, p := start(t, nil)
	for name, c := range map[string]*talk{"stdio": openStdio(t, i, ""), "sse": openSSE(t, i, "")} {
		t.Run(name, func(t *testing.T) {
			c.send(t, request("1", "tools/list"))
			if a := c.next(t); a.code() != -32600 || !strings.Contains(a.Error.Message, "initialize") {
				t.Errorf("before the handshake: %+v", a)
			}
			c.send(t, request("1", "ping"))
			if a := c.next(t); a.Result == nil {
				t.Errorf("before the handshake: %+v", a)
			}
			// The modern era needs none.
			c.send(t, request("1", "server/discover", meta()))
			if a := c.next(t); a.Result["supportedVersions"] == nil {
				t.Errorf("discover: %+v", a)
			}
			converse(t, c, true)
			for params, code := range map[string]int{
				strings.Replace(meta(), wire.ModernVersion, "2099-01-01", 1): -32022,
				`"_meta":{"` + wire.MetaProtocolVersion + `":"2026-07-28"}`:  -32602,
			} {
				c.send(t, request("1", "tools/list", params))
				if a := c.next(t); a.code() != code {
					t.Errorf("%s: %+v", params, a)
				}
			}

			c.handshake(t, "2025-11-25", `{"elicitation":{}}`)
			converse(t, c, false)
			c.send(t, request(`"asks"`, "tools/call", `"name":"demo__ask"`))
			q := c.next(t)
			if q.Method != wire.MethodElicitationCreate {
				t.Fatalf("%+v", q)
			}
			c.send(t, `{"jsonrpc":"2.0","id":`+string(q.ID)+`,"result":{"action":"accept","content":{"name":"Ada","colour":"Teal"}}}`)
			if a := c.next(t); string(a.ID) != `"asks"` || !strings.Contains(a.text(), "Ada") {
				t.Errorf("%+v", a)
			}

			// One who cancels wants no answer.
			for _, m := range []string{`"_meta":{}`, meta()} {
				c.send(t, request("77", "tools/call", `"name":"probe__block"`, m))
				hears(t, "the start", p.started, 10*time.Second)
				c.send(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}`)
				if err := hears(t, "the end", p.ended, time.Minute); !errors.Is(err, context.Canceled) {
					t.Errorf("ended with %v", err)
				}
				c.send(t, request("78", "ping"))
				if a := c.next(t); string(a.ID) != "78" {
					t.Errorf("%+v", a)
				}
			}

			// Changes arrive by themselves.
			c.send(t, request("80", "resources/subscribe", `"uri":"probe+probe://a"`))
			c.next(t)
			p.server.Updated("probe://a")
			if a := c.next(t); a.Method != wire.NotificationResourceUpdated {
				t.Errorf("%+v", a)
			}
			p.change(t, "more")
			if a := c.next(t); a.Method != wire.NotificationToolsListChanged {
				t.Errorf("%+v", a)
			}
			c.send(t, listenBody("81", `{"toolsListChanged":true}`))
			if a := c.next(t); a.Method != wire.NotificationSubscriptionsAcknowledged {
				t.Errorf("%+v", a)
			}
			c.send(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":81}}`)
			c.send(t, request("82", "ping"))
			if a := c.next(t); string(a.ID) != "82" {
				t.Errorf("%+v", a)
			}
			p.change(t, "more")
			if a := c.next(t); a.Method != wire.NotificationToolsListChanged || a.Params != nil {
				t.Errorf("%+v", a)
			}
		})
	}
}

func TestStdioLines(t *testing.T) {
	t.Parallel()
	i := run(t, testkit.Settings{"max-body": "64KiB"})
	c := openStdio(t, i, "")
	c.handshake(t, "2025-03-26", "{}")
	c.send(t, request("1", "tools/call", `"name":"demo__echo"`, `"arguments":{"text":"`+strings.Repeat("x", 64<<10)+`"}`))
	if a := c.next(t); a.code() != -31009 || string(a.ID) != "null" {
		t.Errorf("a line too long: %+v", a)
	}
	c.send(t, "what?\n\n\r\n")
	if a := c.next(t); a.code() != -32700 || string(a.ID) != "null" {
		t.Errorf("garbage: %+v", a)
	}
	c.send(t, request("1", "ping")+"\r")
	if a := c.next(t); string(a.ID) != "1" || a.Result == nil {
		t.Errorf("the next line: %+v", a)
	}
	c.send(t, "["+request("1", "ping")+`,{"jsonrpc":"2.0","method":"notifications/x"},`+request("2", "no/such")+"]")
	if got, want := c.nextText(t), `[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"unknown method \"no/such\""}}]`; got != want {
		t.Errorf("batch: %s", got)
	}
	c.send(t, "[]")
	if a := c.next(t); a.code() != -32600 {
		t.Errorf("empty batch: %+v", a)
	}
	newer := openStdio(t, i, "")
	newer.handshake(t, "2025-11-25", "{}")
	newer.send(t, "["+request("1", "ping")+"]")
	if a := newer.next(t); a.code() != -32600 {
		t.Errorf("a batch where there are none: %+v", a)
	}
}

func TestEndOfInputCancels(t *testing.T) {
	t.Parallel()
	i, p := start(t, nil)
	c := openStdio(t, i, "")
	c.handshake(t, "2025-11-25", "{}")
	c.send(t, request("1", "tools/call", `"name":"probe__block"`))
	c.send(t, request("2", "tools/call", `"name":"probe__block"`, meta()))
	hears(t, "the start", p.started, 10*time.Second)
	hears(t, "the start", p.started, 10*time.Second)
	c.close()
	for range 2 {
		if err := hears(t, "the end", p.ended, 10*time.Second); !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v", err)
		}
	}
	if err := hears(t, "the endpoint's end", c.done, 5*time.Second); err != nil {
		t.Error(err)
	}
	if got := status(t, i, "probe__block"); got != "canceled" {
		t.Errorf("recorded as %s", got)
	}
}

func TestPipesEndWithTheInstance(t *testing.T) {
	t.Parallel()
	i, p := start(t, testkit.Settings{"drain-calls": "100ms"})
	c, s := openStdio(t, i, ""), openSSE(t, i, "")
	for _, c := range []*talk{c, s} {
		c.handshake(t, "2025-11-25", "{}")
		c.send(t, listenBody("1", `{"toolsListChanged":true}`))
		c.next(t)
		c.send(t, request("2", "tools/call", `"name":"probe__block"`))
		hears(t, "the start", p.started, 10*time.Second)
	}
	stop(i)
	for range 2 {
		if err := hears(t, "the end", p.ended, time.Minute); err == nil {
			t.Error("the call ended by itself")
		}
	}
	if err := hears(t, "the endpoint's end", c.done, 5*time.Second); err != nil {
		t.Error(err)
	}
	for _, c := range []*talk{c, s} {
		if a := c.next(t); a.Error == nil || !strings.Contains(a.Error.Message, "--drain-calls 100ms") {
			t.Errorf("the call was answered with %+v", a)
		}
		if a := c.next(t); a.Method != wire.NotificationCancelled {
			t.Errorf("%+v", a)
		}
		if a := c.next(t); a.Result["resultType"] != "complete" {
			t.Errorf("%+v", a)
		}
		if m, more := <-c.in; more {
			t.Errorf("one more: %s", m)
		}
	}
}

func TestMessagesBelongToTheirStream(t *testing.T) {
	t.Parallel()
	i := run(t, nil)
	key := newKey(t, i, "tools:call")
	c := openSSE(t, i, "")
	for name, r := range map[string]testkit.Reply{
		"unknown":      i.Do(t, http.MethodPost, "/messages?session=nope", request("1", "ping")),
		"none":         i.Do(t, http.MethodPost, "/messages", request("1", "ping")),
		"another's":    i.Do(t, http.MethodPost, c.endpoint, request("1", "ping"), "Authorization: Bearer "+key),
		"not JSON-RPC": i.Do(t, http.MethodPost, c.endpoint, `{"jsonrpc":"2.0"}`),
	} {
		want := http.StatusNotFound
		if name == "not JSON-RPC" {
			want = http.StatusBadRequest
		}
		if r.Status != want || parse(t, r.Body).code() != -32600 {
			t.Errorf("%s: %d %s", name, r.Status, r.Body)
		}
	}
	for _, r := range []testkit.Reply{i.Do(t, http.MethodGet, c.endpoint, ""), i.Do(t, http.MethodPost, "/sse", request("1", "ping"))} {
		if r.Status != http.StatusMethodNotAllowed || r.Header.Get("Allow") == "" {
			t.Errorf("%d %v", r.Status, r.Header)
		}
	}
	c.close()
	for until := time.Now().Add(time.Minute); ; {
		if r := i.Do(t, http.MethodPost, c.endpoint, request("1", "ping")); r.Status == http.StatusNotFound {
			break
		} else if time.Now().After(until) {
			t.Fatalf("the stream is gone and its session is not: %d", r.Status)
		}
	}
}

func TestEndpointsCanBeDisabled(t *testing.T) {
	t.Parallel()
	ping, list := request("1", "ping"), request("1", "tools/list", meta())
	paths := map[string][]string{"mcp": {"/mcp", "/mcp/s/demo"}, "plain": {"/mcp/request", "/mcp/tools"}, "sse": {"/sse", "/messages"}, "stdio": {}}
	for off := range paths {
		t.Run(off, func(t *testing.T) {
			t.Parallel()
			i := run(t, testkit.Settings{"endpoints-off": off})
			for endpoint, all := range paths {
				for _, path := range all {
					for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
						if endpoint != off && path == "/sse" {
							continue // does not end
						}
						body := ""
						if method == http.MethodPost {
							body = ping
						}
						r := i.Do(t, method, path, body)
						known := strings.HasPrefix(r.Body, `{"jsonrpc"`) || r.Status != http.StatusNotFound
						if known == (endpoint == off) {
							t.Errorf("%s %s: %d %s", method, path, r.Status, r.Body)
						}
					}
				}
			}
			if off != "mcp" {
				if r := post(t, i, list); r.Status != http.StatusOK {
					t.Errorf("another endpoint: %d", r.Status)
				}
			}
			err := i.App.ServeStdio(t.Context(), strings.NewReader(ping+"\n"), &strings.Builder{}, "")
			if (junctor.CodeOf(err) == junctor.CodeNotFound) != (off == "stdio") {
				t.Errorf("stdio: %v", err)
			}
		})
	}
}

func TestStdioRequiresAValidKey(t *testing.T) {
	t.Parallel()
	i := run(t, nil)
	var out strings.Builder
	err := i.App.ServeStdio(t.Context(), strings.NewReader(request("1", "ping")+"\n"), &out, "nope")
	if junctor.CodeOf(err) != junctor.CodeUnauthenticated || out.Len() > 0 {
		t.Errorf("%v %q", err, out.String())
	}
}
