package admin

import (
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
)

const filePack = `{pack: own, title: Own, summary: Own, questions: [{name: token, title: Token, secret: true}, {name: word, title: Word}],
servers: {run: {command: [run, "${word}"], env: {TOKEN: "${token}"}}, web: {url: "https://h.example/mcp"}}, agents: {own-bot: {role: QA, tools: [run/x]}}}`

func body(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestPacks(t *testing.T) {
	t.Parallel()
	w := newWorld()
	h := w.handler(t)
	rec := ask(h, "tools:read", "GET", "/packs", "")
	var found struct{ Items []PackPlan }
	if err := json.Unmarshal(rec.Body.Bytes(), &found); err != nil || len(found.Items) < 15 || found.Items[0].Servers == nil {
		t.Fatalf("%d %v %s", rec.Code, err, rec.Body)
	}

	choice := map[string]any{"file": filePack, "answers": map[string]string{"token": "canary-1234"}}
	rec = ask(h, "servers:write", "POST", "/packs/plan", body(t, choice))
	if rec.Code != http.StatusOK || !strings.Contains(rec.Body.String(), `"missing":["word"]`) || strings.Contains(rec.Body.String(), "canary") {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	for _, c := range []struct {
		change map[string]any
		says   string
	}{
		{map[string]any{"pack": "github"}, "or send a pack in file"},
		{map[string]any{"file": "", "pack": "no-such"}, "unknown pack"},
		{map[string]any{"file": "pack: x"}, "title is missing"},
		{nil, `requires answers for [\"word\"]`},
		{map[string]any{"answers": map[string]string{"token": "t", "word": "a"}}, `would run the command [\"run\" \"a\"]`},
		{map[string]any{"answers": map[string]string{"token": "t", "word": "a"}, "commands": map[string]any{"run": []string{"run", "b"}}}, "send exactly this command"},
		{map[string]any{"answers": map[string]string{"token": "t", "word": "a"}, "names": map[string]string{"run": "demo"}}, "already"},
	} {
		request := map[string]any{"file": filePack, "answers": map[string]string{"token": "t"}}
		maps.Copy(request, c.change)
		rec := ask(h, "servers:write", "POST", "/packs/add", body(t, request))
		if rec.Code < 400 || !strings.Contains(rec.Body.String(), c.says) {
			t.Errorf("%v: %d %s", c.change, rec.Code, rec.Body)
		}
	}
	if len(w.servers) != 1 {
		t.Errorf("something was added: %+v", w.servers)
	}

	request := map[string]any{"file": filePack, "answers": map[string]string{"token": "canary-1234", "word": "a"}, "commands": map[string]any{"run": []string{"run", "a"}}}
	rec = ask(h, "servers:write,agents:write", "POST", "/packs/add", body(t, request))
	if rec.Code != http.StatusCreated || strings.Contains(rec.Body.String(), "canary") || !strings.Contains(rec.Body.String(), "own-bot") {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}

// A pack is added whole or not at all.
func TestPackIsUndone(t *testing.T) {
	t.Parallel()
	w := newWorld()
	h := w.handler(t)
	request := map[string]any{"file": filePack, "answers": map[string]string{"token": "t", "word": "a"}, "commands": map[string]any{"run": []string{"run", "a"}}}
	w.fails = junctor.Errorf(junctor.CodeUnreachable, "nobody is there")
	if rec := ask(h, "servers:write,agents:write", "POST", "/packs/add", body(t, request)); rec.Code != http.StatusBadGateway {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	if len(w.servers) != 1 {
		t.Errorf("%+v", w.servers)
	}
}

// A server that exists already and is reused keeps what an operator said about its
// tools, whatever the pack says about them.
func TestPackLeavesToolsOfReusedServers(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.servers[0].Mode, w.servers[0].Connection = junctor.ModeBYO, junctor.Connection{Transport: junctor.TransportHTTP, URL: "https://h.example/mcp"}
	request := map[string]any{"file": `{pack: own, title: Own, summary: Own, servers: {demo: {url: "https://h.example/mcp"}}, tools: {demo/echo: {roles: [Finance]}}}`}
	if rec := ask(w.handler(t), "servers:write,agents:write", "POST", "/packs/add", body(t, request)); rec.Code != http.StatusCreated {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	if tag := w.staff.tag; tag.Tool != "" {
		t.Errorf("a tool of a server that was there got other roles: %+v", tag)
	}
}

func TestExports(t *testing.T) {
	t.Parallel()
	w := newWorld()
	h := w.handler(t)
	if rec := ask(h, "tools:read", "GET", "/packs/export", ""); rec.Code != http.StatusNotFound {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	w.servers = append(w.servers, junctor.Server{
		ID: "notes", Tenant: "default", Mode: junctor.ModeBYO, State: junctor.StateActive,
		Connection: junctor.Connection{Transport: junctor.TransportHTTP, URL: "https://h.example/mcp", Auth: &junctor.Auth{Type: junctor.AuthBearer, Secret: junctor.Masked}},
	})
	rec := ask(h, "tools:read", "GET", "/packs/export?server=notes&id=team", "")
	if rec.Code != http.StatusOK || !strings.Contains(rec.Body.String(), `${notes-token}`) || strings.Contains(rec.Body.String(), junctor.Masked) {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	if rec := ask(h, "tools:read", "GET", "/packs/export?server=demo", ""); rec.Code != http.StatusUnprocessableEntity {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	rec = ask(h, "tools:read", "GET", "/export", "")
	if rec.Code != http.StatusOK || !strings.Contains(rec.Body.String(), "env:MCP_NOTES_SECRET") {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}

// A file can be applied as its text.
func TestApplyAFile(t *testing.T) {
	t.Parallel()
	w := newWorld()
	h := w.handler(t)
	rec := ask(h, "servers:write", "POST", "/apply", body(t, map[string]any{"dry_run": true, "file": "servers:\n  notes: {url: 'https://h.example/mcp', headers: {X-Key: canary}, disabled: true}\n"}))
	if rec.Code != http.StatusOK || len(w.wanted.Servers) != 1 || w.wanted.Agents != nil {
		t.Fatalf("%d %s %+v", rec.Code, rec.Body, w.wanted)
	}
	if s := w.wanted.Servers[0]; s.Server.Headers["X-Key"] != junctor.Masked || s.Credentials["headers/X-Key"].Reveal() != "canary" || s.Server.State != junctor.StateInactive {
		t.Errorf("%+v", s)
	}
	for text, says := range map[string]string{
		"servers: {notes: {ulr: x}}": "unknown key",
		"listen: 127.0.0.1:1":        "declares no servers",
	} {
		if rec := ask(h, "servers:write", "POST", "/apply", body(t, map[string]any{"file": text})); rec.Code != http.StatusUnprocessableEntity || !strings.Contains(rec.Body.String(), says) {
			t.Errorf("%s: %d %s", text, rec.Code, rec.Body)
		}
	}
	if rec := ask(h, "servers:write", "POST", "/apply", `{"file":"servers: {}","servers":{}}`); rec.Code != http.StatusUnprocessableEntity {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}

func TestJournalRoutes(t *testing.T) {
	t.Parallel()
	w := newWorld()
	h := w.handler(t)
	rec := ask(h, "admin", "POST", "/audit/verify", "")
	if text := rec.Body.String(); rec.Code != http.StatusOK || !strings.Contains(text, "event: progress\ndata: {\"records\":1,") || !strings.Contains(text, `event: report`) || !strings.Contains(text, `"reason":"it was changed"`) {
		t.Errorf("%d %s", rec.Code, text)
	}
	if rec := ask(h, "admin", "GET", "/audit/export", ""); rec.Code != http.StatusOK || rec.Header().Get("Content-Disposition") != `attachment; filename="journal.jsonl"` {
		t.Errorf("%d %v", rec.Code, rec.Header())
	}
	for _, who := range []string{"audit:read", "admin,tenant=acme"} {
		if rec := ask(h, who, "POST", "/audit/verify", ""); rec.Code != http.StatusForbidden {
			t.Errorf("%s: %d", who, rec.Code)
		}
	}
	w.broken = true
	for method, path := range map[string]string{"POST": "/audit/verify", "GET": "/audit/export"} {
		if rec := ask(h, "admin", method, path, ""); rec.Code != http.StatusServiceUnavailable {
			t.Errorf("%s: %d %s", path, rec.Code, rec.Body)
		}
	}
}
