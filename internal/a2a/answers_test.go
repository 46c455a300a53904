package a2a

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/internal/agent"
)

// What a tool's result has for the user comes with the task, each piece as an
// artifact of its own; the rest is the agent's.
func TestHandedOn(t *testing.T) {
	t.Parallel()
	p := open(t)
	p.quill.result = json.RawMessage(`{"content":[
		{"type":"text","text":"for the agent alone"},
		{"type":"text","text":"not for people either","annotations":{"audience":["assistant"]}},
		{"type":"resource","resource":{"uri":"notes+file:///tmp/out.txt","mimeType":"text/plain","blob":"aGVsbG8="},"annotations":{"audience":["user"]}},
		{"type":"resource","resource":{"uri":"notes+mem://x/list.json","mimeType":"application/json","text":"{\"count\":42}"},"annotations":{"audience":["user","assistant"]}},
		{"type":"resource_link","uri":"notes+https://example.com/a.pdf","name":"a.pdf","mimeType":"application/pdf","annotations":{"audience":["user"]}},
		{"type":"resource_link","uri":"notes+file:///etc/passwd","name":"passwd","annotations":{"audience":["user"]}},
		{"type":"image","data":"aGVsbG8=","mimeType":"image/png","annotations":{"audience":["user"]}},
		{"type":"text","text":"for you","annotations":{"audience":["user"]}}],"structuredContent":{"secret":1}}`)
	const text = `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"write"}]}}`
	for name, ask := range wires() {
		r := ask(p, "SendMessage", "", text)
		for _, want := range []string{
			`"name":"out.txt","parts":[{"raw":"aGVsbG8=","filename":"out.txt","mediaType":"text/plain"}]`,
			`"parts":[{"data":{"count":42},"filename":"list.json","mediaType":"application/json"}]`,
			`"parts":[{"url":"https://example.com/a.pdf","filename":"a.pdf","mediaType":"application/pdf"}]`,
			`"parts":[{"raw":"aGVsbG8=","mediaType":"image/png"}]`, `"parts":[{"text":"for you"}]`, `"parts":[{"text":"written"}]`,
		} {
			if !strings.Contains(r.body, want) {
				t.Errorf("%s: no %s in\n%s", name, want, r.body)
			}
		}
		for _, never := range []string{"for the agent alone", "not for people", "passwd", "secret"} {
			if strings.Contains(r.body, never) {
				t.Errorf("%s: %s is told:\n%s", name, never, r.body)
			}
		}
	}
}

func TestNotHandedOn(t *testing.T) {
	t.Parallel()
	user := `"annotations":{"audience":["user"]}`
	for name, r := range map[string]*agent.Result{
		"nothing":             nil,
		"no content":          {},
		"no JSON":             {Content: json.RawMessage(`{`)},
		"an error":            {IsError: true, Content: json.RawMessage(`{"content":[{"type":"text","text":"x",` + user + `}]}`)},
		"bytes that are none": {Content: json.RawMessage(`{"content":[{"type":"image","data":"%",` + user + `}]}`)},
		"a kind to come":      {Content: json.RawMessage(`{"content":[{"type":"hologram",` + user + `}]}`)},
		"an address of ours":  {Content: json.RawMessage(`{"content":[{"type":"resource_link","uri":"ui://a/b",` + user + `}]}`)},
	} {
		if out := extractArtifacts(r); len(out) != 0 {
			t.Errorf("%s: %+v", name, out[0])
		}
	}
	long := extractArtifacts(&agent.Result{Content: json.RawMessage(`{"content":[{"type":"resource","resource":{"uri":"x:/big.bin","text":"` + strings.Repeat("x", maxFileBytes+1) + `"},` + user + `}]}`)})
	if len(long) != 1 || !strings.Contains(long[0].Parts[0].Text(), "big.bin") || !strings.Contains(long[0].Parts[0].Text(), "over the limit") {
		t.Errorf("a long file: %+v", long)
	}
}

// A client that wants no task is answered with a message, and the stream has
// nothing else; where there is more to know it gets the task all the same.
func TestAnsweredWithAMessage(t *testing.T) {
	t.Parallel()
	const wants = `,"metadata":{"answer":"message"}}`
	for name, ask := range wires() {
		p := open(t)
		body := strings.TrimSuffix(said("hello you", ""), "}") + wants
		for _, op := range []string{"SendMessage", "SendStreamingMessage"} {
			r := ask(p, op, "", body)
			if strings.Count(r.body, `"message":{`) != 1 || !strings.Contains(r.body, `"parts":[{"text":"Polly heard hello you"}]`) || !strings.Contains(r.body, `"role":"ROLE_AGENT"`) ||
				!strings.Contains(r.body, `"contextId"`) || strings.Contains(r.body, `"task":`) || strings.Contains(r.body, "Update") {
				t.Errorf("%s, %s: %s", name, op, r.body)
			}
			if r := ask(p, op, "", strings.TrimSuffix(said("fail", ""), "}")+wants); !strings.Contains(r.body, `"task":{`) || !strings.Contains(r.body, "TASK_STATE_FAILED") {
				t.Errorf("%s, %s that fails: %s", name, op, r.body)
			}
			if r := ask(p, op, "", strings.TrimSuffix(said("write", ""), "}")+`,"metadata":{"answer":"message","approvals":"ask"}}`); !strings.Contains(r.body, "TASK_STATE_INPUT_REQUIRED") {
				t.Errorf("%s, %s that waits: %s", name, op, r.body)
			}
		}
		if a := p.call("ListTasks", `{"status":"TASK_STATE_COMPLETED"}`); !strings.Contains(string(a.Result), `"totalSize":2`) {
			t.Errorf("%s: kept are %s", name, a.Result)
		}
	}
}

// Who says today's version gets a card of that version and nothing else; who says
// nothing may be of the former one.
func TestCardsByVersion(t *testing.T) {
	t.Parallel()
	p := open(t)
	for header, old := range map[string]bool{"A2A-Version: 1.0": false, "A2A-Version: -": true, "A2A-Version: 0.3": true, "A2A-Version: 99.0": true} {
		for _, path := range []string{"/.well-known/agent-card.json", "/a2a/parrot/.well-known/agent-card.json"} {
			r := p.send("GET", path, "", header)
			card := decode[map[string]any](t, []byte(r.body))
			for _, name := range []string{"url", "preferredTransport", "protocolVersion", "additionalInterfaces", "security", "supportsAuthenticatedExtendedCard"} {
				if _, has := card[name]; has != old {
					t.Errorf("%s, %s: %s is there: %t", path, header, name, has)
				}
			}
			if strings.Contains(r.body, `"securityRequirements":[{"schemes":{"key":{"list":[]}}}]`) == old {
				t.Errorf("%s, %s: what is to be brought: %s", path, header, r.body)
			}
			if card["supportedInterfaces"] == nil || r.header.Get("Vary") != "A2A-Version" || r.header.Get("ETag") == "" {
				t.Errorf("%s, %s: %v %s", path, header, r.header, r.body)
			}
			if again := p.send("GET", path, "", header, "If-None-Match: "+r.header.Get("ETag")); again.status != 304 {
				t.Errorf("%s, %s, again: %d", path, header, again.status)
			}
		}
	}
}
