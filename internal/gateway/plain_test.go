package gateway_test

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/junctor-mcp/junctor/internal/testkit"
)

// plainCase is one POST to /mcp/request and what comes back: HTTP 200 with the
// code of the error, or 0 and a part of the result.
type plainCase struct {
	name, body string
	code       int
	id         string // as it comes back; "" is 1
	want       string // in the answer
}

func call(name, args string) string {
	return request("1", "tools/call", `"name":"`+name+`"`, `"arguments":`+args)
}

func protocolCases() []plainCase {
	return []plainCase{
		// Not JSON.
		{name: "empty body", body: " ", code: -32700, id: "null"},
		{name: "cut off", body: `{"jsonrpc":"2.0","id":1`, code: -32700, id: "null"},
		{name: "trailing comma", body: `{"jsonrpc":"2.0","id":1,"method":"ping",}`, code: -32700, id: "null"},
		{name: "trailing data", body: `{"jsonrpc":"2.0","id":1,"method":"ping"}{}`, code: -32700, id: "null"},
		{name: "single quotes", body: `{'jsonrpc':'2.0'}`, code: -32700, id: "null"},
		{name: "duplicate key", body: `{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}`, code: -32700, id: "null"},
		{name: "duplicate key below", body: call("echo", `{"text":"a","text":"b"}`), code: -32700, id: "null"},
		// JSON, but no message.
		{name: "number", body: `7`, code: -32600, id: "null"},
		{name: "null", body: `null`, code: -32600, id: "null"},
		{name: "string", body: `"ping"`, code: -32600, id: "null"},
		{name: "no version", body: `{"id":1,"method":"ping"}`, code: -32600},
		{name: "other version", body: `{"jsonrpc":"1.0","id":1,"method":"ping"}`, code: -32600},
		{name: "no method", body: `{"jsonrpc":"2.0","id":1}`, code: -32600},
		{name: "empty method", body: request("1", ""), code: -32600},
		{name: "method is a number", body: `{"jsonrpc":"2.0","id":1,"method":5}`, code: -32600},
		{name: "params is a list", body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}`, code: -32600},
		{name: "params is a string", body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":"x"}`, code: -32600},
		{name: "another case", body: `{"jsonrpc":"2.0","id":1,"Method":"ping"}`, code: -32600},
		{name: "empty batch", body: `[]`, code: -32600, id: "null"},
		{name: "id null", body: `{"jsonrpc":"2.0","id":null,"method":"ping"}`, code: -32600, id: "null"},
		{name: "id with a fraction", body: `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, code: -32600, id: "null"},
		{name: "id is an object", body: `{"jsonrpc":"2.0","id":{},"method":"ping"}`, code: -32600, id: "null"},
		{name: "id is true", body: `{"jsonrpc":"2.0","id":true,"method":"ping"}`, code: -32600, id: "null"},
		// No such method.
		{name: "unknown method", body: request("1", "tools/run"), code: -32601, want: "tools/call"},
		{name: "method of another endpoint", body: request("1", "resources/list"), code: -32601},
		{name: "method in another case", body: request("1", "Tools/List"), code: -32601},
		// Wrong params.
		{name: "no name", body: request("1", "tools/call", `"arguments":{}`), code: -32602, want: "params.name"},
		{name: "no params", body: `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, code: -32602, want: "params.name"},
		{name: "name is a number", body: request("1", "tools/call", `"name":7`), code: -32602, want: "params.name"},
		{name: "name in another case", body: request("1", "tools/call", `"Name":"echo"`), code: -32602},
		{name: "arguments is a list", body: call("echo", `["a"]`), code: -32602, want: "params.arguments"},
		{name: "arguments is a string", body: call("echo", `"a"`), code: -32602, want: "params.arguments"},
		{name: "unknown tool", body: call("ecko", `{}`), code: -32602, want: "did you mean echo"},
		{name: "unknown tool, nothing near", body: call("zzzzzzzzzz", `{}`), code: -32602, want: "unknown tool"},
		{name: "unknown version", body: request("1", "tools/call", `"name":"add"`, `"version":"9"`, `"arguments":{"a":1,"b":2}`), code: -32602, want: "known versions: 1, 2"},
		{name: "version of a tool without", body: request("1", "tools/call", `"name":"echo"`, `"version":"9"`, `"arguments":{"text":""}`), code: -32602, want: "no versions"},
		{name: "argument missing", body: call("add", `{"a":1}`), code: -32602, want: "missing property 'b'"},
		{name: "argument of another type", body: call("add", `{"a":1,"b":"2"}`), code: -32602, want: `"pointer":"/b"`},
		{name: "argument too many", body: call("echo", `{"text":"a","more":1}`), code: -32602, want: "more"},
		{name: "every violation, the first", body: call("add", `{"a":"1","b":"2"}`), code: -32602, want: `{"pointer":"/a","message":"got string, want number"}`},
		{name: "every violation, the second", body: call("add", `{"a":"1","b":"2"}`), code: -32602, want: `{"pointer":"/b","message":"got string, want number"}`},
		{name: "unknown cursor", body: request("1", "tools/list", `"cursor":"x"`), code: -32602},
		{name: "needs input", body: call("ask", `{}`), code: -32021, want: "elicitation"},
		// A fault of ours says nothing of itself.
		{name: "internal", body: call("internal", `{}`), code: -32603},
	}
}

func workflowCases() []plainCase {
	return []plainCase{
		{name: "initialize, own version", body: initializeBody("2024-11-05", "{}"), id: "0", want: `"protocolVersion":"2024-11-05","capabilities":{"tools":{}}`},
		{name: "initialize, newer version", body: initializeBody("2025-06-18", "{}"), id: "0", want: `"protocolVersion":"2025-06-18"`},
		{name: "initialize, unknown version", body: initializeBody("1", "{}"), id: "0", want: `"protocolVersion":"2024-11-05"`},
		{name: "initialize without params", body: request("1", "initialize"), want: `"protocolVersion":"2024-11-05"`},
		{name: "ping", body: request("1", "ping"), want: `"result":{}`},
		{name: "list", body: request("1", "tools/list"), want: `"name":"echo"`},
		{name: "list without params", body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, want: `"inputSchema"`},
		{name: "bare name", body: call("echo", `{"text":"hi"}`), want: `"text":"hi"`},
		{name: "joined name", body: call("demo__echo", `{"text":"hi"}`), want: `"text":"hi"`},
		{name: "structured members on top", body: call("add", `{"a":2,"b":3}`), want: `"sum":5,"a":2,"b":3}}`},
		{name: "version", body: request("1", "tools/call", `"name":"add"`, `"version":"1"`, `"arguments":{"a":2,"b":3}`), want: `"structuredContent":{"sum":5},"sum":5}}`},
		{name: "version in _meta", body: request("1", "tools/call", `"name":"add"`, `"_meta":{"junctor/version":"1"}`, `"arguments":{"a":2,"b":3}`), want: `"structuredContent":{"sum":5},"sum":5}}`},
		{name: "tool fails", body: call("fail", `{}`), want: `"isError":true`},
		{name: "tool panics", body: call("panic", `{}`), want: `"isError":true`},
		{name: "no arguments", body: request("1", "tools/call", `"name":"fail"`), want: `"isError":true`},
		{name: "unknown members", body: `{"jsonrpc":"2.0","id":1,"method":"ping","extra":{"a":[1]}}`, want: `"result":{}`},
		{name: "arguments byte for byte", body: call("raw", `{"z":1.10,"a":1e400,"b":18446744073709551617,"u":"\u0041"}`), want: `{\"z\":1.10,\"a\":1e400,\"b\":18446744073709551617,\"u\":\"\\u0041\"}`},
		{name: "result's own members stay", body: call("shaped", `{}`), want: `"structuredContent":{"text":"t","isError":true,"content":7,"_meta":8,"structuredContent":9},"text":"t"}}`},
	}
}

func TestPlainEndpoint(t *testing.T) {
	t.Parallel()
	i, _ := start(t, nil)
	protocol, workflow := protocolCases(), workflowCases()
	if len(protocol) < 22 || len(workflow) < 13 {
		t.Fatalf("only %d and %d cases", len(protocol), len(workflow))
	}
	for _, c := range append(protocol, workflow...) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := i.Do(t, http.MethodPost, "/mcp/request", c.body)
			if r.Status != http.StatusOK || r.Header.Get("Content-Type") != "application/json" {
				t.Fatalf("%d %s", r.Status, r.Body)
			}
			a := parse(t, r.Body)
			if c.id == "" {
				c.id = "1"
			}
			if a.code() != c.code || string(a.ID) != c.id || !strings.Contains(r.Body, c.want) {
				t.Errorf("want code %d, id %s, %q in:\n%s", c.code, c.id, c.want, r.Body)
			}
			if (a.Error == nil) == (a.Result == nil) {
				t.Errorf("a response has a result or an error: %s", r.Body)
			}
			if c.code == -32603 && strings.Contains(r.Body, "data") {
				t.Errorf("an internal error tells more than it should: %s", r.Body)
			}
		})
	}
}

// Ids come back byte for byte: two that a number type would make one are two.
func TestIDsComeBackAsTheyAre(t *testing.T) {
	t.Parallel()
	i := run(t, nil)
	s := open(t, i, "2025-11-25", "{}", "")
	for _, id := range []string{
		"0", "-0", "-1", "9007199254740993", "9223372036854775807", "9223372036854775808", "-9223372036854775809", "18446744073709551616",
		`""`, `"1"`, `"a b"`, `"\u0041"`, `"A"`, `"\/"`, `"\ud83d\ude00"`, `"😀"`, `"null"`, `"` + strings.Repeat("x", 2000) + `"`,
	} {
		body := request(id, "tools/call", `"name":"demo__echo"`, `"arguments":{"text":"x"}`)
		for endpoint, got := range map[string]string{
			"plain":  i.Do(t, http.MethodPost, "/mcp/request", body).Body,
			"legacy": s.post(t, body).Body,
			"modern": post(t, i, request(id, "tools/call", `"name":"demo__echo"`, `"arguments":{"text":"x"}`, meta())).Body,
		} {
			if a := parse(t, got); string(a.ID) != id || a.text() != "x" {
				t.Errorf("%s: id %s came back in %s", endpoint, id, got)
			}
		}
	}
}

func TestPlainNotificationsAndBatches(t *testing.T) {
	t.Parallel()
	i := run(t, nil)
	note := `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	ping := func(id string) string { return request(id, "ping") }
	pong := func(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"result":{}}` }
	many := func(n int) string { return "[" + strings.Repeat(ping("1")+",", n-1) + ping("1") + "]" }
	for _, c := range []struct {
		name, body string
		status     int
		want       string // the body; "" is empty, … is anything
	}{
		{"notification", note, 202, ""},
		{"notification of a method", `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo"}}`, 202, ""},
		{"notification of nothing", `{"jsonrpc":"2.0","method":"no/such"}`, 202, ""},
		{"response", `{"jsonrpc":"2.0","id":1,"result":{}}`, 202, ""},
		{"batch", "[" + ping("1") + "," + note + "," + ping(`"b"`) + "]", 200, "[" + pong("1") + "," + pong(`"b"`) + "]"},
		{"batch of notifications", "[" + note + "," + note + "]", 202, ""},
		{"batch of one", "[" + ping("1") + "]", 200, "[" + pong("1") + "]"},
		{"batch with white space before it", " \n[" + ping("1") + "]", 200, "[" + pong("1") + "]"},
		{"batch in a batch", "[[" + ping("1") + "]]", 200, "…"},
		{"large batch", many(100), 200, "[" + strings.Repeat(pong("1")+",", 99) + pong("1") + "]"},
		{"too large batch", many(101), 200, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a batch holds at most 100 messages"}}`},
		{"far too large batch", many(5000), 200, "…"},
	} {
		r := i.Do(t, http.MethodPost, "/mcp/request", c.body)
		if r.Status != c.status || c.want != "…" && r.Body != c.want {
			t.Errorf("%s: %d %s", c.name, r.Status, r.Body)
		}
		if c.want == "…" && !strings.Contains(r.Body, "-32600") {
			t.Errorf("%s: %s", c.name, r.Body)
		}
	}
}

// What is refused before it is a message is refused by HTTP.
func TestRefusalsAreHTTP(t *testing.T) {
	t.Parallel()
	i := run(t, testkit.Settings{"max-body": "64KiB", "rate-limit": "0.001", "rate-burst": "3", "oauth-server": "off"})
	big := call("echo", `{"text":"`+strings.Repeat("x", 64<<10)+`"}`)
	echo := call("echo", `{"text":"x"}`)
	revoked := newKey(t, i, "tools:call")
	var keys struct{ Items []struct{ ID, Name string } }
	if err := json.Unmarshal([]byte(i.Do(t, http.MethodGet, "/api/v1/keys", "").Body), &keys); err != nil {
		t.Fatal(err)
	}
	for _, k := range keys.Items {
		if k.Name == "test" {
			i.Do(t, http.MethodDelete, "/api/v1/keys/"+k.ID, "")
		}
	}
	for _, endpoint := range []string{"/mcp/request", "/mcp"} {
		for _, c := range []struct {
			name, method, body string
			header             []string
			status             int
			want               string // a header line
		}{
			{"no key", "POST", echo, []string{"Authorization:"}, 401, `Www-Authenticate: Bearer realm="junctor"`},
			{"wrong key", "POST", echo, []string{"Authorization: Bearer nope"}, 401, ""},
			{"revoked key", "POST", echo, []string{"Authorization: Bearer " + revoked}, 401, ""},
			{"another scheme", "POST", echo, []string{"Authorization: Basic " + testkit.AdminKey}, 401, ""},
			{"too large", "POST", big, nil, 413, ""},
			{"too large and no key", "POST", big, []string{"Authorization:"}, 401, ""},
			{"no type", "POST", echo, []string{"Content-Type:"}, 415, ""},
			{"text", "POST", echo, []string{"Content-Type: text/plain"}, 415, ""},
			{"form", "POST", echo, []string{"Content-Type: application/x-www-form-urlencoded"}, 415, ""},
			{"almost", "POST", echo, []string{"Content-Type: application/json-seq"}, 415, ""},
			{"PUT", "PUT", echo, nil, 405, "Allow"},
			{"PATCH", "PATCH", echo, nil, 405, "Allow"},
		} {
			r := i.Do(t, c.method, endpoint, c.body, c.header...)
			name, value, _ := strings.Cut(c.want, ": ")
			if r.Status != c.status || name != "" && r.Header.Get(name) == "" || value != "" && r.Header.Get(name) != value {
				t.Errorf("%s %s: %d %v %s", endpoint, c.name, r.Status, r.Header, r.Body)
			}
			if c.status != 405 && (parse(t, r.Body).Error == nil || string(parse(t, r.Body).ID) != "null") {
				t.Errorf("%s %s: no JSON-RPC error: %s", endpoint, c.name, r.Body)
			}
		}
	}
	if r := i.Do(t, http.MethodPost, "/mcp/request", echo, "Content-Type: application/json; charset=utf-8"); r.Status != http.StatusOK {
		t.Errorf("a charset is refused: %d", r.Status)
	}
	key := newKey(t, i, "tools:call")
	var last testkit.Reply
	for range 4 {
		last = i.Do(t, http.MethodPost, "/mcp/request", echo, "Authorization: Bearer "+key)
	}
	seconds, err := strconv.Atoi(last.Header.Get("Retry-After"))
	if a := parse(t, last.Body); last.Status != http.StatusTooManyRequests || err != nil || seconds < 1 || a.code() != -31002 || a.Error.Data["retryAfterMs"] == nil {
		t.Errorf("over the limit: %d %v %s", last.Status, last.Header, last.Body)
	}
	if r := i.Do(t, http.MethodPost, "/mcp/request", request("1", "tools/list"), "Authorization: Bearer "+key); r.Status != http.StatusOK {
		t.Errorf("looking counts as a call: %d", r.Status)
	}
}

// The two examples that the plain endpoint was made for, as curl sends them.
func TestPlainExamples(t *testing.T) {
	t.Parallel()
	i := startDemo(t, testkit.Settings{"open": "true"})
	curl := []string{"Accept: */*", "Authorization:"}
	list := i.Do(t, http.MethodGet, "/mcp/tools", "", curl...)
	var tools struct {
		Tools []struct {
			Name, Description string
			InputSchema       map[string]any
		}
	}
	if err := json.Unmarshal([]byte(list.Body), &tools); err != nil || list.Status != http.StatusOK {
		t.Fatal(list.Status, list.Body, err)
	}
	var names []string
	for _, tool := range tools.Tools {
		names = append(names, tool.Name)
		if tool.Description == "" || tool.InputSchema["type"] != "object" {
			t.Errorf("%+v is not described", tool)
		}
	}
	if diff := cmp.Diff([]string{"echo", "add", "slow", "ask", "fail"}, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	r := i.Do(t, http.MethodPost, "/mcp/request", `{
    "jsonrpc": "2.0",
    "method": "tools/call",
    "params": {
      "name": "add",
      "arguments": {"a": 1, "b": 2}
    },
    "id": 1
  }`, curl...)
	a := parse(t, r.Body)
	if r.Status != http.StatusOK || a.Result["sum"] != 3.0 || string(a.ID) != "1" {
		t.Errorf("%d %s", r.Status, r.Body)
	}
	if r := i.Do(t, http.MethodHead, "/mcp/tools", ""); r.Status != http.StatusOK || r.Body != "" {
		t.Errorf("HEAD: %d %q", r.Status, r.Body)
	}
	if r := i.Do(t, http.MethodPost, "/mcp/tools", "{}"); r.Status != http.StatusMethodNotAllowed || r.Header.Get("Allow") != "GET" {
		t.Errorf("POST: %d %v", r.Status, r.Header)
	}
}
