package gateway_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// exchangeCase is one request that is easy to get wrong.
type exchangeCase struct {
	name   string
	method string // "" is POST
	path   string // "" is /mcp
	body   string
	header []string
	status int
	code   int    // of the JSON-RPC error; 0 for none
	want   string // in the body
}

func runCases(t *testing.T, i *testkit.Instance, cases []exchangeCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Helper()
			if c.method == "" {
				c.method = http.MethodPost
			}
			if c.path == "" {
				c.path = "/mcp"
			}
			r := i.Do(t, c.method, c.path, c.body, c.header...)
			code := 0
			if strings.HasPrefix(r.Body, "{") {
				code = parse(t, r.Body).code()
			}
			if r.Status != c.status || code != c.code || !strings.Contains(r.Body, c.want) {
				t.Errorf("want %d, code %d, %q; got %d %s", c.status, c.code, c.want, r.Status, r.Body)
			}
		})
	}
}

func TestSessionRules(t *testing.T) {
	t.Parallel()
	i, _ := start(t, nil)
	mine := open(t, i, "2025-11-25", "{}", "")
	key := newKey(t, i, "tools:call")
	theirs := open(t, i, "2025-11-25", "{}", key)
	onDemo := i.Do(t, http.MethodPost, "/mcp/s/demo", initializeBody("2025-11-25", "{}")).Header.Get("Mcp-Session-Id")
	gone := open(t, i, "2025-11-25", "{}", "")
	if r := gone.do(t, http.MethodDelete, ""); r.Status != http.StatusNoContent {
		t.Fatalf("DELETE: %d", r.Status)
	}
	ping := request("1", "ping")
	on := func(id string, more ...string) []string { return append([]string{"Mcp-Session-Id: " + id}, more...) }
	changed := mine.id[:len(mine.id)-1] + map[bool]string{true: "B", false: "A"}[strings.HasSuffix(mine.id, "A")]
	runCases(t, i, []exchangeCase{
		{name: "good", body: ping, header: on(mine.id), status: 200},
		{name: "missing", body: ping, status: 400, code: -32600},
		{name: "unknown", body: ping, header: on("nope"), status: 404, code: -32600},
		{name: "a character changed", body: ping, header: on(changed), status: 404, code: -32600},
		{name: "somebody else's", body: ping, header: on(theirs.id), status: 404, code: -32600},
		{name: "mine by somebody else", body: ping, header: on(mine.id, "Authorization: Bearer "+key), status: 404, code: -32600},
		{name: "of one server, on all", body: ping, header: on(onDemo), status: 404, code: -32600},
		{name: "of all, on one server", path: "/mcp/s/demo", body: ping, header: on(mine.id), status: 404, code: -32600},
		{name: "of one server, on another", path: "/mcp/s/probe", body: ping, header: on(onDemo), status: 404, code: -32600},
		{name: "of one server, there", path: "/mcp/s/demo", body: ping, header: on(onDemo), status: 200},
		{name: "unknown server", path: "/mcp/s/nothing", body: ping, header: on(onDemo), status: 404, code: -32600},
		{name: "deleted", body: ping, header: on(gone.id), status: 404, code: -32600},
		{name: "deleted twice", method: "DELETE", header: on(gone.id), status: 404, code: -32600},
		{name: "deleted by somebody else", method: "DELETE", header: on(mine.id, "Authorization: Bearer "+key), status: 404, code: -32600},
		{name: "still there", body: ping, header: on(mine.id), status: 200},
		{name: "DELETE without", method: "DELETE", status: 400, code: -32600},
		{name: "GET without", method: "GET", status: 400, code: -32600},
		{name: "GET unknown", method: "GET", header: on("nope"), status: 404, code: -32600},
		{name: "GET deleted", method: "GET", header: on(gone.id), status: 404, code: -32600},
		{name: "GET somebody else's", method: "GET", header: on(theirs.id), status: 404, code: -32600},
		{name: "GET wants a stream", method: "GET", header: on(mine.id, "Accept: application/json"), status: 406, code: -32600},
		{name: "GET behind an unknown stream", method: "GET", header: on(mine.id, "Last-Event-ID: p0-1"), status: 400, code: -32600},
		{name: "GET behind no event", method: "GET", header: on(mine.id, "Last-Event-ID: what"), status: 400, code: -32600},
		{name: "notification without", body: `{"jsonrpc":"2.0","method":"notifications/initialized"}`, status: 400, code: -32600},
		{name: "response without", body: `{"jsonrpc":"2.0","id":1,"result":{}}`, status: 400, code: -32600},
		{name: "notification", body: `{"jsonrpc":"2.0","method":"notifications/whatever"}`, header: on(mine.id), status: 202},
		{name: "response to nothing", body: `{"jsonrpc":"2.0","id":"x","result":{}}`, header: on(mine.id), status: 202},
		{name: "cancels nothing", body: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}`, header: on(mine.id), status: 202},
		{name: "version absent", body: ping, header: on(mine.id), status: 200},
		{name: "version of another session", body: ping, header: on(mine.id, "MCP-Protocol-Version: 2025-06-18"), status: 200},
		{name: "version unknown", body: ping, header: on(mine.id, "MCP-Protocol-Version: 2024-01-01"), status: 400, code: -32600},
		{name: "version no date", body: ping, header: on(mine.id, "MCP-Protocol-Version: latest"), status: 400, code: -32600},
		{name: "GET version unknown", method: "GET", header: on(mine.id, "MCP-Protocol-Version: 1"), status: 400, code: -32600},
		{name: "DELETE version unknown", method: "DELETE", header: on(mine.id, "MCP-Protocol-Version: 1"), status: 400, code: -32600},
		{name: "GET in the modern era", method: "GET", header: on(mine.id, "MCP-Protocol-Version: 2026-07-28"), status: 405, want: "POST"},
		{name: "DELETE in the modern era", method: "DELETE", header: on(mine.id, "MCP-Protocol-Version: 2026-07-28"), status: 405, want: "POST"},
		{name: "batch where there are none", body: "[" + ping + "]", header: on(mine.id), status: 400, code: -32600},
		{name: "unknown log level", body: request("1", "logging/setLevel", `"level":"loud"`), header: on(mine.id), status: 200, code: -32602, want: "loud"},
		{name: "no log level", body: request("1", "logging/setLevel"), header: on(mine.id), status: 200, code: -32602},
		{name: "not found", body: request("1", "resources/read", `"uri":"demo+demo://no"`), header: on(mine.id), status: 200, code: -32002, want: `"data":{"uri":"demo+demo://no"}`},
		{name: "not found on no server", body: request("1", "resources/read", `"uri":"file:///etc/passwd"`), header: on(mine.id), status: 200, code: -32002},
		{name: "a method of the other era", body: request("1", "subscriptions/listen", `"notifications":{}`), header: on(mine.id), status: 200, code: -32601},
		{name: "still there at the end", body: ping, header: on(mine.id), status: 200},
	})
	// A session id is visible ASCII, as the specification wants it.
	for _, b := range []byte(mine.id) {
		if b < 0x21 || b > 0x7e {
			t.Fatalf("session id %q", mine.id)
		}
	}
}

func TestInitializeRefusesNoVersion(t *testing.T) {
	t.Parallel()
	i := run(t, nil)
	for asked, want := range map[string]string{
		"2024-11-05": "2024-11-05", "2025-03-26": "2025-03-26", "2025-06-18": "2025-06-18", "2025-11-25": "2025-11-25",
		"2026-07-28": "2025-11-25", "2099-01-01": "2025-11-25", "1": "2025-11-25", "": "2025-11-25",
	} {
		r := i.Do(t, http.MethodPost, "/mcp", initializeBody(asked, "{}"))
		if a := parse(t, r.Body); r.Status != http.StatusOK || a.Result["protocolVersion"] != want || r.Header.Get("Mcp-Session-Id") == "" {
			t.Errorf("%q: %d %s", asked, r.Status, r.Body)
		}
	}
	r := i.Do(t, http.MethodPost, "/mcp", request("1", "initialize"))
	if parse(t, r.Body).Result["protocolVersion"] != "2025-11-25" {
		t.Errorf("without params: %s", r.Body)
	}
}

func TestModernRules(t *testing.T) {
	t.Parallel()
	i, _ := start(t, nil)
	s := open(t, i, "2025-11-25", "{}", "")
	list := request("1", "tools/list", meta())
	echo := request("1", "tools/call", `"name":"demo__echo"`, `"arguments":{"text":"x"}`, meta())
	with := func(body string, more ...string) []string { return append(mirrored(t, body), more...) }
	raw := func(metaMembers string) string { return request("1", "tools/list", `"_meta":{`+metaMembers+`}`) }
	version := `"` + wire.MetaProtocolVersion + `":"2026-07-28"`
	other := request("1", "tools/list", strings.Replace(meta(), "2026-07-28", "2026-12-31", 1))
	past := request("1", "tools/list", strings.Replace(meta(), "2026-07-28", "2025-11-25", 1))
	unspoken := `"data":{"supported":["2026-07-28"],"requested":"2026-12-31"}`
	runCases(t, i, []exchangeCase{
		{name: "good", body: list, header: with(list), status: 200},
		{name: "a session header is ignored", body: list, header: with(list, "Mcp-Session-Id: nope"), status: 200, want: `"resultType":"complete"`},
		{name: "a good session header too", body: list, header: with(list, "Mcp-Session-Id: "+s.id), status: 200, want: `"resultType":"complete"`},
		{name: "body alone decides, and wants its headers", body: list, header: []string{"Mcp-Session-Id: " + s.id}, status: 400, code: -32020},
		{name: "discover without marks", body: request("1", "server/discover"), status: 400, code: -32602},
		{name: "mirrored method alone", body: request("1", "tools/list"), header: []string{"Mcp-Method: tools/list"}, status: 400, code: -32602},
		{name: "legacy header and modern body", body: list, header: with(list, "MCP-Protocol-Version: 2025-11-25"), status: 400, code: -32020},

		{name: "version differs", body: list, header: with(list, "MCP-Protocol-Version: 2026-12-31"), status: 400, code: -32020},
		{name: "version missing", body: list, header: with(list, "MCP-Protocol-Version:"), status: 400, code: -32020},
		{name: "method differs", body: list, header: with(list, "Mcp-Method: tools/call"), status: 400, code: -32020},
		{name: "method in another case", body: list, header: with(list, "Mcp-Method: Tools/List"), status: 400, code: -32020},
		{name: "method missing", body: list, header: with(list, "Mcp-Method:"), status: 400, code: -32020},
		{name: "name differs", body: echo, header: with(echo, "Mcp-Name: demo__add"), status: 400, code: -32020},
		{name: "name missing", body: echo, header: with(echo, "Mcp-Name:"), status: 400, code: -32020},
		{name: "name in base64", body: echo, header: with(echo, "Mcp-Name: =?base64?"+base64.StdEncoding.EncodeToString([]byte("demo__echo"))+"?="), status: 200},
		{name: "name in bad base64", body: echo, header: with(echo, "Mcp-Name: =?base64?%%%?="), status: 400, code: -32020},
		{name: "notification differs", body: `{"jsonrpc":"2.0","method":"notifications/a"}`, header: []string{"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: notifications/b"}, status: 400, code: -32020},
		{name: "notification", body: `{"jsonrpc":"2.0","method":"notifications/a"}`, header: []string{"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: notifications/a"}, status: 202},

		{name: "unknown version", body: other, header: with(other), status: 400, code: -32022, want: unspoken},
		{name: "unknown version without headers", body: other, status: 400, code: -32020},
		{name: "legacy version without handshake", body: past, header: with(past), status: 400, code: -32022, want: `"requested":"2025-11-25"`},
		{name: "no _meta", body: request("1", "tools/list"), header: []string{"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/list"}, status: 400, code: -32602, want: "protocolVersion"},
		{name: "no capabilities", body: raw(version), header: with(raw(version)), status: 400, code: -32602, want: "clientCapabilities"},
		{name: "no version", body: raw(capabilities("{}")), header: []string{"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/list"}, status: 400, code: -32602, want: "protocolVersion"},
		{name: "capabilities of another type", body: raw(version + "," + capabilities("[]")), header: with(raw(version + "," + capabilities("[]"))), status: 400, code: -32602},
		{name: "unknown log level", body: raw(version + "," + capabilities("{}") + `,"` + wire.MetaLogLevel + `":"loud"`), header: with(list), status: 400, code: -32602, want: "loud"},
		{name: "log level of another type", body: raw(version + "," + capabilities("{}") + `,"` + wire.MetaLogLevel + `":3`), header: with(list), status: 400, code: -32602},

		{name: "response", body: `{"jsonrpc":"2.0","id":1,"result":{}}`, header: []string{"MCP-Protocol-Version: 2026-07-28"}, status: 400, code: -32600},
		{name: "batch", body: "[" + list + "]", header: []string{"MCP-Protocol-Version: 2026-07-28"}, status: 400, code: -32600},
		{name: "batch with modern bodies alone", body: "[" + list + "]", status: 400, code: -32600},
		{name: "unknown method", body: request("1", "no/such", meta()), header: with(request("1", "no/such", meta())), status: 404, code: -32601},
		{name: "ping is gone", body: request("1", "ping", meta()), header: with(request("1", "ping", meta())), status: 404, code: -32601},
		{name: "unknown cursor", body: request("1", "tools/list", `"cursor":""`, meta()), header: with(list), status: 400, code: -32602},
		{name: "nothing to listen to", body: request("1", "subscriptions/listen", meta()), header: with(request("1", "subscriptions/listen", meta())), status: 400, code: -32602},
		{name: "unknown server", path: "/mcp/s/nothing", body: list, header: with(list), status: 404, code: -32600},
	})
	for _, p := range []string{"demo+demo://no", "file:///etc/passwd", "demo+"} {
		body := request("1", "resources/read", `"uri":"`+p+`"`, meta())
		r := post(t, i, body)
		if a := parse(t, r.Body); r.Status != 400 || a.code() != -32602 || a.Error.Data["uri"] != p {
			t.Errorf("%s: %d %s", p, r.Status, r.Body)
		}
	}
}

func TestArgumentsInHeaders(t *testing.T) {
	t.Parallel()
	i, _ := start(t, nil)
	b64 := func(s string) string { return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?=" }
	for _, c := range []struct {
		name, args string
		header     []string
		ok         bool
	}{
		{"all", `{"region":"eu","n":42,"on":true}`, []string{"Mcp-Param-Region: eu", "Mcp-Param-N: 42", "Mcp-Param-On: true"}, true},
		{"none", `{}`, nil, true},
		{"null is absent", `{"region":null}`, nil, false}, // the schema wants a string
		{"base64", `{"region":"Grüße"}`, []string{"Mcp-Param-Region: " + b64("Grüße")}, true},
		{"base64 where not needed", `{"region":"eu"}`, []string{"Mcp-Param-Region: " + b64("eu")}, true},
		{"number in another form", `{"n":42}`, []string{"Mcp-Param-N: 42.0"}, true},
		{"number with an exponent", `{"n":4.2e1}`, []string{"Mcp-Param-N: 42"}, true},
		{"header name in another case", `{"region":"eu"}`, []string{"mcp-param-REGION: eu"}, true},
		{"unknown header", `{}`, []string{"Mcp-Param-Other: x"}, true},
		{"differs", `{"region":"eu"}`, []string{"Mcp-Param-Region: us"}, false},
		{"differs by case", `{"region":"eu"}`, []string{"Mcp-Param-Region: EU"}, false},
		{"number differs", `{"n":42}`, []string{"Mcp-Param-N: 43"}, false},
		{"boolean differs", `{"on":true}`, []string{"Mcp-Param-On: false"}, false},
		{"missing", `{"region":"eu"}`, nil, false},
		{"too many", `{}`, []string{"Mcp-Param-Region: eu"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := post(t, i, request("1", "tools/call", `"name":"probe__headers"`, `"arguments":`+c.args, meta()), c.header...)
			a := parse(t, r.Body)
			if c.ok && (r.Status != 200 || a.text() != c.args) {
				t.Errorf("refused: %d %s", r.Status, r.Body)
			}
			if !c.ok && (r.Status != 400 || a.code() != -32020) && a.Result["isError"] != true {
				t.Errorf("accepted: %d %s", r.Status, r.Body)
			}
			if !c.ok && c.name != "null is absent" && a.code() != -32020 {
				t.Errorf("code: %s", r.Body)
			}
		})
	}
}

// Wrong arguments are for the model to read: every place, with its pointer.
func TestWrongArgumentsAreAResult(t *testing.T) {
	t.Parallel()
	i := run(t, nil)
	s := open(t, i, "2025-11-25", "{}", "")
	args := `"name":"demo__slow","arguments":{"steps":0,"delay_ms":"long","more":1}`
	for era, body := range map[string]string{
		"modern": post(t, i, request("1", "tools/call", args, meta())).Body,
		"legacy": s.post(t, request("1", "tools/call", args)).Body,
	} {
		a := parse(t, body)
		if a.Result["isError"] != true {
			t.Errorf("%s: %s", era, body)
		}
		for _, want := range []string{"/steps: ", "/delay_ms: ", "'more'"} {
			if !strings.Contains(a.text(), want) {
				t.Errorf("%s: %q is not in %q", era, want, a.text())
			}
		}
	}
}

func TestFrontRules(t *testing.T) {
	t.Parallel()
	i := run(t, testkit.Settings{"allowed-hosts": "gateway.example", "allowed-origins": "https://app.example"})
	list := request("1", "tools/list", meta())
	host := strings.TrimPrefix(i.URL, "http://")
	_, port, _ := strings.Cut(host, ":")
	with := func(more ...string) []string { return append(mirrored(t, list), more...) }
	runCases(t, i, []exchangeCase{
		{name: "no origin", body: list, header: with(), status: 200},
		{name: "own origin", body: list, header: with("Origin: http://" + host), status: 200},
		{name: "localhost", body: list, header: with("Host: localhost:"+port, "Origin: http://localhost:"+port), status: 200},
		{name: "listed origin", body: list, header: with("Origin: https://app.example"), status: 200},
		{name: "listed host", body: list, header: with("Host: gateway.example"), status: 200},
		{name: "other origin", body: list, header: with("Origin: https://evil.example"), status: 403},
		{name: "origin null", body: list, header: with("Origin: null"), status: 403},
		{name: "origin of another port", body: list, header: with("Origin: http://127.0.0.1:1"), status: 403},
		{name: "origin that begins alike", body: list, header: with("Origin: https://app.example.evil"), status: 403},
		{name: "other host", body: list, header: with("Host: evil.example"), status: 421},
		{name: "other host and port", body: list, header: with("Host: evil.example:" + port), status: 421},
		{name: "own host without port", body: list, header: with("Host: 127.0.0.1"), status: 421},
		{name: "GET from elsewhere", method: "GET", header: []string{"Origin: https://evil.example"}, status: 403},
		{name: "plain endpoint from elsewhere", path: "/mcp/request", body: list, header: []string{"Origin: https://evil.example"}, status: 403},
		{name: "tools from elsewhere", method: "GET", path: "/mcp/tools", header: []string{"Origin: https://evil.example"}, status: 403},
		{name: "sse by rebinding", method: "GET", path: "/sse", header: []string{"Host: evil.example:" + port}, status: 421},
		{name: "messages from elsewhere", path: "/messages", body: list, header: []string{"Origin: https://evil.example"}, status: 403},
		{name: "accepts JSON alone", body: list, header: with("Accept: application/json"), status: 406, code: -32600},
		{name: "accepts a stream alone", body: list, header: with("Accept: text/event-stream"), status: 406, code: -32600},
		{name: "accepts text", body: list, header: with("Accept: text/html"), status: 406, code: -32600},
		{name: "accepts anything", body: list, header: with("Accept: */*"), status: 200},
		{name: "accepts with parameters", body: list, header: with("Accept: application/json;q=0.9 , text/event-stream;q=0.1"), status: 200},
		{name: "text", body: list, header: with("Content-Type: text/plain"), status: 415, code: -32600},
		{name: "PUT", method: "PUT", body: list, status: 405},
		{name: "OPTIONS", method: "OPTIONS", status: 405},
	})
	r := i.Do(t, http.MethodPut, "/mcp", list)
	if diff := cmp.Diff("GET, POST, DELETE", r.Header.Get("Allow")); diff != "" {
		t.Errorf("Allow (-want +got):\n%s", diff)
	}
}
