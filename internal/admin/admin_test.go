package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	junctor "github.com/junctor-mcp/junctor"
)

func TestRoutes(t *testing.T) {
	t.Parallel()
	const server = `{"id":"demo","mode":"builtin","state":"active","created_at":"2026-01-02T03:04:05Z","updated_at":"2026-01-02T03:04:05Z"}`
	const tool = `{"server":"demo","name":"echo","exposed":"demo__echo","description":"says it again","input_schema":{"type":"object"},"roles":["General"],"category":"General","hints":{"read_only":{"origin":"unknown"},"destructive":{"origin":"unknown"},"idempotent":{"origin":"unknown"},"open_world":{"origin":"unknown"}},"digest":"00","tokens":7}`
	tests := []struct {
		name, scopes, method, path, body string
		status                           int
		want                             string
	}{
		{"servers", "tools:read", "GET", "/servers", "", 200, `{"items":[` + strings.TrimSuffix(server, "}") + `,"tools":1,"tokens":10}],"total":1}`},
		{"server", "tools:read", "GET", "/servers/demo", "", 200, strings.TrimSuffix(server, "}") + `,"era":"modern","tools":["echo"],"tokens":7,"diagnostics":{"connected":true,"era":"modern","tools":1,"resources":0,"templates":0,"prompts":0,"sessions":0,"parked":0}}`},
		{"switch off", "servers:write", "PATCH", "/servers/demo", `{"state":"inactive"}`, 200, strings.Replace(server, "active", "inactive", 1)},
		{"remove", "servers:write", "DELETE", "/servers/demo", "", 204, ``},
		{"tools", "tools:read", "GET", "/tools", "", 200, `{"items":[` + tool + `],"total":1}`},
		{"no tools", "tools:read", "GET", "/tools?server=demo&q=nothing", "", 200, `{"items":[],"total":0}`},
		{"search", "tools:read", "GET", "/tools?server=demo&q=ec", "", 200, `{"items":[` + tool + `],"total":1}`},
		{"tools without schemas", "tools:read", "GET", "/tools?schemas=false", "", 200, `{"items":[` + strings.Replace(tool, `"input_schema":{"type":"object"},`, "", 1) + `],"total":1}`},
		{"tool", "tools:read", "GET", "/tools/demo__echo", "", 200, tool},
		{"call", "tools:call", "POST", "/tools/demo__echo/call", `{"arguments":{"n":12345678901234567890},"version":"2"}`, 200, `{"content":[],"got":{"n":12345678901234567890},"version":"2"}`},
		{"call without arguments", "tools:call", "POST", "/tools/demo__echo/call", `{}`, 200, `{"content":[],"got":null,"version":""}`},
		{"keys", "keys:write", "GET", "/keys", "", 200, `{"items":[],"total":0}`},
		{"calls", "audit:read", "GET", "/calls", "", 200, `{"items":[{"id":"c1","kind":"tool","entry_point":"mcp","server":"demo","name":"echo","issuer":"key","subject":"k1","status":"success","start":"2026-01-02T03:04:05Z","duration_ns":1000000,"bytes_in":10,"bytes_out":20}],"next":"` + moreCalls + `","total":6,"total_is_minimum":true}`},
		{"settings", "admin", "GET", "/settings", "", 200, `{"items":[{"name":"listen","value":"127.0.0.1:8717","source":"default"}],"total":1}`},
		{"whoami", "tools:read", "GET", "/whoami", "", 200, `{"tenant":"default","issuer":"key","subject":"k1","name":"test","scopes":["tools:read"]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			w.run = func(_ context.Context, _, version string, arguments []byte) (json.RawMessage, bool, error) {
				if arguments == nil {
					arguments = []byte("null")
				}
				return json.RawMessage(`{"content":[],"got":` + string(arguments) + `,"version":"` + version + `"}`), false, nil
			}
			rec := ask(w.handler(t), tt.scopes, tt.method, tt.path, tt.body)
			if rec.Code != tt.status {
				t.Fatalf("status %d, want %d: %s", rec.Code, tt.status, rec.Body)
			}
			if got := strings.TrimSpace(rec.Body.String()); got != tt.want {
				t.Errorf("body\n got %s\nwant %s", got, tt.want)
			}
			if got := rec.Header().Get("Cache-Control"); got != "no-store" {
				t.Errorf("Cache-Control %q", got)
			}
			if got := rec.Header().Get("X-Content-Type-Options"); got != "nosniff" {
				t.Errorf("X-Content-Type-Options %q", got)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, scopes, method, path, body string
		status                           int
		code                             junctor.Code
		detail                           string
		in, pointer                      string
	}{
		{"no credential", "", "GET", "/servers", "", 401, junctor.CodeUnauthenticated, "no key", "", ""},
		{"no credential for the document", "", "GET", "/openapi.json", "", 401, junctor.CodeUnauthenticated, "no key", "", ""},
		{"other scope", "tools:read", "POST", "/keys", `{"name":"a","scopes":["tools:read"]}`, 403, junctor.CodeDenied, "keys:write", "", ""},
		{"not there", "admin", "GET", "/servers/nope", "", 404, junctor.CodeNotFound, "no server nope", "", ""},
		{"patch what is not there", "admin", "PATCH", "/servers/nope", `{"state":"active"}`, 404, junctor.CodeNotFound, "no server nope", "", ""},
		{"no such route", "admin", "GET", "/nope", "", 404, junctor.CodeNotFound, "openapi.json", "", ""},
		{"wrong method", "admin", "PUT", "/servers", "", 405, junctor.CodeInvalid, "GET", "", ""},
		{"unknown member", "admin", "PATCH", "/servers/demo", `{"state":"active","x":1}`, 422, junctor.CodeInvalid, "x", "body", "/x"},
		{"member in other case", "admin", "PATCH", "/servers/demo", `{"State":"active"}`, 422, junctor.CodeInvalid, "State", "body", ""},
		{"member twice", "admin", "PATCH", "/servers/demo", `{"state":"active","state":"inactive"}`, 400, junctor.CodeInvalid, "duplicate", "body", ""},
		{"unknown word", "admin", "PATCH", "/servers/demo", `{"state":"error"}`, 422, junctor.CodeInvalid, "inactive", "body", "/state"},
		{"no JSON", "admin", "PATCH", "/servers/demo", `{`, 400, junctor.CodeInvalid, "", "body", ""},
		{"no body", "admin", "PATCH", "/servers/demo", ``, 400, junctor.CodeInvalid, "body", "", ""},
		{"arguments that are no object", "admin", "POST", "/tools/x/call", `{"arguments":[1]}`, 422, junctor.CodeInvalid, "object", "body", "/arguments"},
		{"unknown cursor", "admin", "GET", "/calls?cursor=page2", "", 422, junctor.CodeInvalid, "cursor", "", ""},
		{"unknown parameter", "admin", "GET", "/calls?tol=x", "", 422, junctor.CodeInvalid, "unknown", "query", "/tol"},
		{"unknown server", "tools:read", "GET", "/tools?server=other", "", 422, junctor.CodeInvalid, "junctor server ls", "", ""},
		{"unknown status", "admin", "GET", "/calls?status=odd", "", 422, junctor.CodeInvalid, "running", "query", "/status"},
		{"limit too high", "admin", "GET", "/calls?limit=1001", "", 422, junctor.CodeInvalid, "1000", "query", "/limit"},
		{"since is no time", "admin", "GET", "/calls?since=today", "", 422, junctor.CodeInvalid, "", "query", "/since"},
		{"key without scopes", "admin", "POST", "/keys", `{"name":"a","scopes":[]}`, 422, junctor.CodeInvalid, "at least one scope", "", ""},
		{"key with unknown scope", "admin", "POST", "/keys", `{"name":"a","scopes":["root"]}`, 422, junctor.CodeInvalid, "", "body", "/scopes/0"},
		{"key for no agent", "admin", "POST", "/keys", `{"name":"a","scopes":["tools:call"],"agent":"x"}`, 404, junctor.CodeNotFound, "no agent x", "", ""},
		{"key for no user", "admin", "POST", "/keys", `{"name":"a","scopes":["tools:call"],"user":"x"}`, 404, junctor.CodeNotFound, "no user x", "", ""},
		{"too large", "admin", "POST", "/tools/x/call", `{"arguments":{"a":"` + strings.Repeat("x", maxCallBody) + `"}}`, 413, junctor.CodeTooLarge, "", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			w.run = func(context.Context, string, string, []byte) (json.RawMessage, bool, error) {
				t.Error("a refused request reached the runner")
				return nil, false, nil
			}
			rec := ask(w.handler(t), tt.scopes, tt.method, tt.path, tt.body)
			p := readProblem(t, rec.Header(), rec.Body.Bytes())
			if rec.Code != tt.status || p.Status != tt.status || p.Code != tt.code {
				t.Errorf("status %d (body %d) code %s, want %d %s", rec.Code, p.Status, p.Code, tt.status, tt.code)
			}
			if !strings.Contains(p.Detail, tt.detail) {
				t.Errorf("detail %q says nothing of %q", p.Detail, tt.detail)
			}
			if tt.in != "" && (len(p.Errors) == 0 || p.Errors[0].In != tt.in || p.Errors[0].Pointer != tt.pointer) {
				t.Errorf("errors %+v, want one at %s %s", p.Errors, tt.in, tt.pointer)
			}
			if rec.Code == http.StatusMethodNotAllowed && !strings.Contains(rec.Header().Get("Allow"), "GET") {
				t.Errorf("Allow %q", rec.Header().Get("Allow"))
			}
			if rec.Code == http.StatusUnauthorized && rec.Header().Get("WWW-Authenticate") == "" {
				t.Error("401 without WWW-Authenticate")
			}
		})
	}
}

func readProblem(t *testing.T, h http.Header, body []byte) Problem {
	t.Helper()
	if got := h.Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("Content-Type %q", got)
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	var p Problem
	if err := dec.Decode(&p); err != nil {
		t.Fatalf("not a problem: %v: %s", err, body)
	}
	return p
}

// Every code has its own place in the table, and what a junctor.Error carries
// arrives; what another error says does not.
func TestErrorsOfTheRunner(t *testing.T) {
	t.Parallel()
	statuses := map[junctor.Code]int{
		junctor.CodeUnauthenticated: 403, junctor.CodeDenied: 403, junctor.CodeNotFound: 404, junctor.CodeInvalid: 422,
		junctor.CodeConflict: 409, junctor.CodePrecondition: 412, junctor.CodeLimited: 429, junctor.CodeTooLarge: 413, junctor.CodeTimeout: 504,
		junctor.CodeCanceled: 499, junctor.CodeUnreachable: 502, junctor.CodeUpstream: 502, junctor.CodeUnavailable: 503,
		junctor.CodeInternal: 500,
	}
	if len(allCodes()) != len(statuses) {
		t.Fatalf("%d codes in the document, %d in this test", len(allCodes()), len(statuses))
	}
	for _, code := range allCodes() {
		t.Run(string(code), func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			w.run = func(context.Context, string, string, []byte) (json.RawMessage, bool, error) {
				return nil, false, &junctor.Error{
					Code: code, Message: "said so", RetryAfter: 1500 * time.Millisecond,
					Violations: []junctor.Violation{{Pointer: "/a", Message: "odd"}},
				}
			}
			rec := ask(w.handler(t), "tools:call", "POST", "/tools/x/call", `{}`)
			p := readProblem(t, rec.Header(), rec.Body.Bytes())
			if rec.Code != statuses[code] || p.Code != code || p.Detail != "said so" || p.Title == "" {
				t.Errorf("status %d, problem %+v", rec.Code, p)
			}
			if got := rec.Header().Get("Retry-After"); got != "2" {
				t.Errorf("Retry-After %q, want 2", got)
			}
			if diff := cmp.Diff([]Fault{{In: "arguments", Pointer: "/a", Message: "odd"}}, p.Errors); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNothingSecretInAnUnknownError(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	w := newWorld()
	w.run = func(context.Context, string, string, []byte) (json.RawMessage, bool, error) {
		return nil, false, errors.New("password hunter2")
	}
	o := w.options()
	o.Log = slog.New(slog.NewTextHandler(&log, nil))
	h, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	rec := ask(h, "tools:call", "POST", "/tools/x/call", `{}`)
	if rec.Code != 500 || strings.Contains(rec.Body.String(), "hunter2") {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	if strings.Count(log.String(), "level=ERROR") != 1 {
		t.Errorf("logged %q, want one line", log.String())
	}
}

func TestPanicCostsOneAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.run = func(context.Context, string, string, []byte) (json.RawMessage, bool, error) { panic("boom") }
	h := w.handler(t)
	rec := ask(h, "tools:call", "POST", "/tools/x/call", `{}`)
	if p := readProblem(t, rec.Header(), rec.Body.Bytes()); rec.Code != 500 || strings.Contains(p.Detail, "boom") {
		t.Errorf("%d %+v", rec.Code, p)
	}
	if rec := ask(h, "tools:read", "GET", "/servers", ""); rec.Code != 200 {
		t.Errorf("after it %d", rec.Code)
	}
}

func TestCreateKey(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, scopes, wanted string
		status               int
	}{
		{"its own", "keys:write,tools:read", `["tools:read"]`, 201},
		{"itself", "keys:write", `["keys:write"]`, 201},
		{"one more", "keys:write,tools:read", `["tools:read","tools:call"]`, 403},
		{"admin from less", "keys:write", `["admin"]`, 403},
		{"anything from admin", "admin", `["admin","bridge:call"]`, 201},
		{"without the right", "tools:read", `["tools:read"]`, 403},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			h := w.handler(t)
			rec := ask(h, tt.scopes, "POST", "/keys", `{"name":"ci","scopes":`+tt.wanted+`,"expires_at":"2030-01-01T00:00:00Z"}`)
			if rec.Code != tt.status {
				t.Fatalf("%d, want %d: %s", rec.Code, tt.status, rec.Body)
			}
			if made := len(w.keys) == 1; made != (tt.status == 201) {
				t.Fatalf("keys made: %d", len(w.keys))
			}
			if tt.status != 201 {
				return
			}
			var got struct{ ID, Key, Prefix, ExpiresAt string }
			if err := json.Unmarshal(rec.Body.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			if got.ID != "k9" || got.Key != "jn_abc_secret" || got.Prefix != "jn_abc" {
				t.Errorf("%+v", got)
			}
			if !w.keys[0].ExpiresAt.Equal(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)) {
				t.Errorf("expires %v", w.keys[0].ExpiresAt)
			}
			if got := rec.Header().Get("Location"); got != "/api/v1/keys/k9" {
				t.Errorf("Location %q", got)
			}
			if list := ask(h, "keys:write", "GET", "/keys", ""); strings.Contains(list.Body.String(), "secret") {
				t.Errorf("the list shows the token: %s", list.Body)
			}
			if rec := ask(h, "keys:write", "DELETE", "/keys/k9", ""); rec.Code != 204 {
				t.Errorf("revoke: %d", rec.Code)
			}
			if rec := ask(h, "keys:write", "DELETE", "/keys/k9", ""); rec.Code != 404 {
				t.Errorf("revoke again: %d", rec.Code)
			}
		})
	}
}

func TestCallFilter(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.keys = append(w.keys, junctor.Key{ID: "k9", Name: "laptop"})
	h := w.handler(t)
	ask(h, "audit:read", "GET", "/calls?tool=demo__echo&server=demo&user=gone&agent=qa&caller=k1&entry_point=mcp&view=v1&key=laptop&status=denied&kind=tool&text=x&since=2026-01-01T00:00:00Z&until=2026-02-01T00:00:00Z&limit=7&cursor="+moreCalls, "")
	want := CallFilter{
		HistoryFilter: HistoryFilter{
			CallsOf: CallsOf{
				Tool: "demo__echo", Server: "demo", User: "gone", Agent: "qa", Caller: "k1", EntryPoint: junctor.EntryMCP, Since: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
			},
			View: "v1", Key: "k9", Kind: junctor.KindTool, Status: junctor.StatusDenied, Until: time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC), Text: "x",
		},
		Limit: 7, Before: pastPosition(),
	}
	if diff := cmp.Diff(want, w.filter); diff != "" {
		t.Error(diff)
	}
	past := want.toFilter()
	past.Limit, past.Cursor, past.WithoutPayloads = 7, moreCalls, true
	if diff := cmp.Diff(past, w.history.filter); diff != "" {
		t.Error(diff)
	}
	ask(h, "audit:read", "GET", "/calls", "")
	if diff := cmp.Diff(CallFilter{Limit: 100}, w.filter); diff != "" {
		t.Error(diff)
	}
}

func TestNewNeedsItsParts(t *testing.T) {
	t.Parallel()
	if _, err := New(Options{}); err == nil || !strings.Contains(err.Error(), "Authenticate") {
		t.Errorf("New without parts: %v", err)
	}
}
