package room

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/agent"
	"github.com/junctor-mcp/junctor/internal/agent/rules"
)

// An agent speaks chat completions: what is asked wrongly is refused in their words.
func TestCompletions(t *testing.T) {
	t.Parallel()
	mind, err := rules.Parse("intents:\n  - match: 'add'\n    calls: [{tool: demo__add}]\n    say: added\n    failed: 'no: {{error}}'\nfallback: 'heard {{message}}'\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	(&CompletionsHandler{
		Authenticate: func(r *http.Request) (*junctor.Principal, error) {
			switch r.Header.Get("Authorization") {
			case "":
				return nil, junctor.Errorf(junctor.CodeUnauthenticated, "no key")
			case "busy":
				return nil, &junctor.Error{Code: junctor.CodeLimited, Message: "too many", RetryAfter: 1500 * time.Millisecond}
			case "reader":
				return &junctor.Principal{Scopes: []junctor.Scope{junctor.ScopeToolsRead}}, nil
			}
			return &junctor.Principal{Scopes: []junctor.Scope{junctor.ScopeToolsCall}}, nil
		},
		NewTurn: func(_ context.Context, _ *junctor.Principal, name string) (agent.Turn, error) {
			if name != "clerk" {
				return agent.Turn{}, junctor.Errorf(junctor.CodeNotFound, "no agent")
			}
			return agent.Turn{Agent: name, Provider: mind}, nil
		},
		Now: func() time.Time { return time.Unix(1_700_000_000, 0) }, NewID: func() string { return "1" }, MaxBody: 1000,
	}).RegisterRoutes(mux)
	said := func(content string) string { return `{"messages":[{"role":"user","content":` + content + `}]}` }
	for _, c := range []struct {
		name, at, key, body string
		status              int
		want                string
	}{
		{"a text", "clerk", "k", said(`"hello"`), 200, `"content":"heard hello"`},
		{"parts of text", "clerk", "k", said(`[{"type":"text","text":"hel"},{"type":"text","text":"lo"}]`), 200, `heard hel\nlo`},
		{"its time", "clerk", "k", said(`"hello"`), 200, `"created":1700000000`},
		{"a tool that it has not", "clerk", "k", said(`"add"`), 200, `this agent has no tools`},
		{"a stream", "clerk", "k", `{"stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"hello"}]}`, 200, `"total_tokens":`},
		{"no key", "clerk", "", said(`"hello"`), 401, `"code":"unauthenticated"`},
		{"a key that may not call", "clerk", "reader", said(`"hello"`), 404, `unknown agent`},
		{"over a limit", "clerk", "busy", said(`"hello"`), 429, `rate_limit_error`},
		{"no agent", "nobody", "k", said(`"hello"`), 404, `invalid_request_error`},
		{"a picture", "clerk", "k", said(`[{"type":"image_url"}]`), 400, `agents accept only text`},
		{"a role of tomorrow", "clerk", "k", `{"messages":[{"role":"oracle","content":"x"}]}`, 400, `not \"oracle\"`},
		{"the client's tools", "clerk", "k", `{"tools":[{}],"messages":[{"role":"user","content":"x"}]}`, 400, `leave the field out`},
		{"two answers", "clerk", "k", `{"n":2,"messages":[{"role":"user","content":"x"}]}`, 400, `one answer`},
		{"nothing said", "clerk", "k", `{"messages":[{"role":"assistant","content":"x"}]}`, 400, `role user`},
		{"no JSON", "clerk", "k", `{`, 400, `must be a chat completion request`},
		{"too long", "clerk", "k", said(`"` + strings.Repeat("x", 1000) + `"`), 413, `larger than 1000 bytes`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/a/"+c.at+"/v1/chat/completions", strings.NewReader(c.body))
			if c.key != "" {
				r.Header.Set("Authorization", c.key)
			}
			w := httptest.NewRecorder()
			mux.ServeHTTP(w, r)
			if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
				t.Errorf("%d, want %d with %s:\n%s", w.Code, c.status, c.want, w.Body)
			}
			if c.status == 429 && w.Header().Get("Retry-After") != "2" {
				t.Errorf("Retry-After: %q", w.Header().Get("Retry-After"))
			}
		})
	}
}
