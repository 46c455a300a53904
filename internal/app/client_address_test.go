package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/internal/testkit"
)

// addressRules deny calls by the address of the client.
const addressRules = `{"rules":[{"name":"not-from-there","target":{"items":["demo/*"]},"when":"cidr(request.address, \"203.0.113.0/24\")","verdict":"deny","message":"not from there"}]}`

// echoAgent is a published agent that calls a tool whatever it is told.
const echoAgent = `{"name":"parrot","published":true,"tools":["demo/echo"],"brain":{"rules":"intents:\n  - match: 'say (?P<what>.+)'\n    calls:\n      - tool: demo__echo\n        arguments: {text: '{{what}}'}\n    say: 'It said {{what}}.'\n    failed: 'Refused: {{error}}'\nfallback: 'Polly.'\n"}}`

// TestRulesReadAddresses denies calls by the address of their client, through each entry
// point that comes over a network.
func TestRulesReadAddresses(t *testing.T) {
	t.Parallel()
	in := testkit.Start(t, testkit.Settings{"trusted-proxy": "127.0.0.0/8"})
	do := func(method, path, body string, header ...string) string {
		t.Helper()
		r := in.Do(t, method, path, body, header...)
		if r.Status >= http.StatusInternalServerError {
			t.Fatalf("%s %s: %d %s", method, path, r.Status, r.Body)
		}
		return r.Body
	}
	id := func(text string) string {
		t.Helper()
		var made struct{ ID string }
		if err := json.Unmarshal([]byte(text), &made); err != nil || made.ID == "" {
			t.Fatalf("%s: %v", text, err)
		}
		return made.ID
	}
	do("POST", "/api/v1/agents", echoAgent)
	room := id(do("POST", "/api/v1/rooms", `{"name":"Den","members":[{"agent":"parrot"}]}`))
	do("PATCH", "/api/v1/servers/demo", `{"views":"on"}`) // its tools get an App
	view := id(do("POST", "/api/v1/views", `{"tool":"demo__add"}`))
	if text := do("PUT", "/api/v1/policies", addressRules); !strings.Contains(text, "not-from-there") {
		t.Fatal(text)
	}
	const modern = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	n := 0
	for name, call := range map[string]func(from string) string{
		"MCP": func(from string) string {
			return do("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"demo__echo","arguments":{"text":"heard"},`+modern+`}}`,
				"Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: demo__echo", from)
		},
		"MCP, legacy": func(from string) string {
			return do("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"demo__echo","arguments":{"text":"heard"}}}`, from)
		},
		"plain": func(from string) string {
			return do("POST", "/mcp/request", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"demo__echo","arguments":{"text":"heard"}}}`, from)
		},
		"the bridge": func(from string) string {
			return do("POST", "/mcp/call", `{"endpoint":{"server":"demo"},"tool_name":"echo","arguments":{"text":"heard"}}`, from)
		},
		"the admin API": func(from string) string {
			return do("POST", "/api/v1/tools/demo__echo/call", `{"arguments":{"text":"heard"}}`, from)
		},
		"a run": func(from string) string {
			return do("POST", "/api/v1/run", `{"kind":"tool","name":"demo__echo","arguments":{"text":"heard"}}`, from)
		},
		"an App view": func(from string) string {
			return do("POST", "/api/v1/views/"+view+"/rpc", `{"method":"tools/call","params":{"name":"echo","arguments":{"text":"heard"}}}`, from)
		},
		"a room": func(from string) string {
			n++
			return do("POST", "/api/v1/rooms/"+room+"/runs", fmt.Sprintf(`{"threadId":%q,"runId":"r%d","messages":[{"id":"m%d","role":"user","content":"@parrot say heard"}]}`, room, n, n), from)
		},
		"A2A": func(from string) string {
			return do("POST", "/a2a/parrot", `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"say heard"}]},"configuration":{"blocking":true}}}`, from)
		},
		"completions": func(from string) string {
			return do("POST", "/a/parrot/v1/chat/completions", `{"model":"parrot","messages":[{"role":"user","content":"say heard"}]}`, from)
		},
	} {
		if text := call("X-Forwarded-For: 198.51.100.7"); strings.Contains(text, "not from there") || !strings.Contains(text, "heard") {
			t.Errorf("%s, from another network: %s", name, text)
		}
		if text := call("X-Forwarded-For: 203.0.113.9"); !strings.Contains(text, "not from there") {
			t.Errorf("%s, from the network: %s", name, text)
		}
	}
	// The records say where each call came from.
	text := do("GET", "/api/v1/calls?status=denied&limit=50", "")
	var calls struct{ Items []struct{ ID string } }
	if err := json.Unmarshal([]byte(text), &calls); err != nil || len(calls.Items) < 10 {
		t.Fatalf("%d calls, %v: %s", len(calls.Items), err, text)
	}
	for _, c := range calls.Items {
		if text := do("GET", "/api/v1/calls/"+c.ID+"/policies", ""); !strings.Contains(text, "203.0.113.9") {
			t.Errorf("%s: %s", c.ID, text)
		}
	}
}
