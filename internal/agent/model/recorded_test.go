package model

import (
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/agent"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// update writes the recorded requests anew. It was set when the official SDKs
// (anthropic-sdk-go 1.84.0, openai-go 3.90.0) sent the requests; the client that
// replaced them has to send the same ones.
var update = flag.Bool("update", false, "write the recorded requests anew")

// recordedRequest is one request of the official SDK. A value of the header is
// compared if the SDK's name or version is no part of it.
type recordedRequest struct {
	Name   string            `json:"name"`
	Method string            `json:"method"`
	URL    string            `json:"url"` // without the scheme; the test's server is HOST
	Header map[string]string `json:"header"`
	Body   json.RawMessage   `json:"body"`
}

// recordedCase is a request of package agent, and the model to which it goes.
type recordedCase struct {
	name, key string
	basePath  string // behind the server's address, with the version for kind openai; makersOwn for none
	request   agent.Request
}

// makersOwn stands for the service of the API's maker.
const makersOwn = "maker"

// recordedCases are the requests that were recorded.
func recordedCases() []recordedCase {
	const full = `{"type":"object","properties":{"z":{"type":"number","minimum":0.10,"maximum":1e3,"default":12345678901234567890},"a":{"enum":["<b>","é\u2028","&"]}},"required":["z"],"$defs":{"x":{}},"additionalProperties":false,"x-own":[null,true,{}]}`
	conversation := question()
	conversation.Messages = append(conversation.Messages,
		agent.Message{Role: agent.RoleAssistant, Text: "so", Thinking: json.RawMessage(`{"anthropic":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"redacted_thinking","data":"x"}]}`), Calls: []agent.Call{{ID: "1", Name: "a__b", Arguments: json.RawMessage(`{"n":1.50,"big":12345678901234567890}`)}, {ID: "2", Name: "a__c"}}},
		agent.Message{Role: agent.RoleTool, Results: []agent.Result{{CallID: "1", Text: "one"}, {CallID: "2", IsError: true}}},
		agent.Message{Role: agent.RoleUser, Text: "go on"},
		agent.Message{Role: agent.RoleAssistant, Text: "half a"},
	)
	user := func(texts ...string) (out []agent.Message) {
		for _, text := range texts {
			out = append(out, agent.Message{Role: agent.RoleUser, Text: text})
		}
		return out
	}
	return []recordedCase{
		{"a conversation", "sk-1", "", conversation},
		{"one question", "sk-1", "", agent.Request{Model: "m", MaxTokens: 1, Messages: user("and?")}},
		{"no key", "", "", agent.Request{Model: "m", MaxTokens: 1, Messages: user("and?")}},
		{"nothing said", "sk-1", "", agent.Request{Model: "m", MaxTokens: 4096, Instructions: "be kind"}},
		{"the assistant first", "sk-1", "", agent.Request{Model: "m", MaxTokens: 9, Messages: append([]agent.Message{{Role: agent.RoleAssistant, Text: "welcome"}}, user("a", "", "b")...)}},
		{"an assistant with nothing", "sk-1", "", agent.Request{Model: "m", MaxTokens: 9, Messages: append(user("a"), agent.Message{Role: agent.RoleAssistant})}},
		{"calls without text", "sk-1", "", agent.Request{Model: "m", MaxTokens: 9, Messages: append(user("a"), agent.Message{Role: agent.RoleAssistant, Calls: []agent.Call{{ID: "1", Name: "f", Arguments: json.RawMessage(`{"q":"<&>\u2028é"}`)}}}, agent.Message{Role: agent.RoleTool, Results: []agent.Result{{CallID: "1", Text: "r"}}})}},
		{"reasoning of another provider", "sk-1", "", agent.Request{Model: "m", MaxTokens: 9, Messages: append(user("a"), agent.Message{Role: agent.RoleAssistant, Text: "b", Thinking: json.RawMessage(`{"a2a":{"at":"x"}}`)})}},
		{"a full schema", "sk-1", "", agent.Request{Model: "m", MaxTokens: 9, Messages: user("a"), Tools: []agent.Tool{{Name: "f", Description: "<f> & é", Schema: json.RawMessage(full)}, {Name: "g", Schema: json.RawMessage("  ")}, {Name: "h", Schema: json.RawMessage(`{}`)}}}},
		{"characters", "sk-1", "", agent.Request{Model: "org/m:latest", MaxTokens: 9, Instructions: "<&>\u2028\x00\x7f", Messages: user("é 😀 \"\\ \n\t\r <script>&amp;")}},
		{"broken UTF-8", "sk-1", "", agent.Request{Model: "m", MaxTokens: 9, Messages: user("a\xffb")}},
		{"the maker's own service", "sk-1", makersOwn, conversation},
		{"a path", "sk-1", "/some/proxy", agent.Request{Model: "m", MaxTokens: 9, Messages: user("a")}},
		{"a path with a slash", "sk-1", "/some/proxy/", agent.Request{Model: "m", MaxTokens: 9, Messages: user("a")}},
	}
}

// TestRecordedRequests holds the requests against those of the official SDKs.
func TestRecordedRequests(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind junctor.ModelKind) {
		t.Helper()
		file := filepath.Join("testdata", "requests", string(kind)+".json")
		var got []recordedRequest
		for _, c := range recordedCases() {
			got = append(got, record(t, kind, c))
		}
		if *update {
			text, err := json.MarshalIndent(got, "", "\t")
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, append(text, '\n'), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var want []recordedRequest
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		if len(got) != len(want) {
			t.Fatalf("%d requests, %d recorded", len(got), len(want))
		}
		for i := range want {
			if d := cmp.Diff(decodeBody(t, want[i].Body), decodeBody(t, got[i].Body)); d != "" {
				t.Errorf("%s: the body differs (-SDK +ours):\n%s", want[i].Name, d)
			}
			want[i].Body, got[i].Body = nil, nil
			want[i].Header = comparedHeader(want[i].Header)
			got[i].Header = comparedHeader(got[i].Header)
			if d := cmp.Diff(want[i], got[i]); d != "" {
				t.Errorf("%s: the request differs (-SDK +ours):\n%s", want[i].Name, d)
			}
		}
	})
}

// record sends the request of a case and returns what arrived.
func record(t *testing.T, kind junctor.ModelKind, c recordedCase) recordedRequest {
	t.Helper()
	s := serve(t, kind, reply{events: events(kind, said{text: []string{"ok"}, stop: "end"})})
	base := s.URL + c.basePath
	if kind == junctor.ModelOpenAI && c.basePath == "" {
		base += "/v1"
	}
	client := &http.Client{Transport: &redirecting{next: s.Client().Transport, to: strings.TrimPrefix(s.URL, "http://")}}
	if c.basePath == makersOwn {
		base = ""
	}
	p, err := New(Options{Kind: kind, BaseURL: base, Key: seal.NewSecret(c.key), Client: client})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := hear(t.Context(), p, c.request); err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
	header := map[string]string{}
	for name, values := range s.heads[0] {
		header[http.CanonicalHeaderKey(name)] = strings.Join(values, ", ")
	}
	return recordedRequest{Name: c.name, Method: s.methods[0], URL: strings.ReplaceAll(s.hosts[0], strings.TrimPrefix(s.URL, "http://"), "HOST") + s.paths[0], Header: header, Body: json.RawMessage(s.bodies[0])}
}

// redirecting sends every request to one server, and lets it see the host to which
// the request was meant.
type redirecting struct {
	next http.RoundTripper
	to   string
}

func (r *redirecting) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Host, req.URL.Scheme, req.URL.Host = req.URL.Host, "http", r.to
	return r.next.RoundTrip(req)
}

// comparedHeader leaves out the fields in which the SDKs describe themselves, the
// length and the encoding, which net/http sets.
func comparedHeader(h map[string]string) map[string]string {
	out := map[string]string{}
	for name, value := range h {
		own := strings.HasPrefix(name, "X-Stainless-") || slices.Contains([]string{"User-Agent", "Content-Length", "Accept-Encoding"}, name)
		if !own {
			out[name] = value
		}
	}
	return out
}

// decodeBody decodes a body so that it can be compared: numbers keep their digits.
func decodeBody(t *testing.T, body []byte) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(body)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return v
}
