package secrets

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/test/program"
)

// TestNoKeyOfAModelLeaves gives keys to models that repeat them in every way there
// is, in refusals, in errors and in streams that break off; has agents think with
// them, for people and for programs; and has them suggest something.
func TestNoKeyOfAModelLeaves(t *testing.T) {
	t.Parallel()
	h := newHunt(t)
	data := t.TempDir()
	in := program.Launch(t, program.Spec{
		Addr: program.FreeAddr(t), DataDir: data, Args: []string{"--log-level", "debug", "--egress-allow", "127.0.0.0/8", "--call-timeout", "5s"},
	})
	in.WaitReady(t)
	peer := httptest.NewServer(http.HandlerFunc(repeats))
	t.Cleanup(peer.Close)
	h.operator(in, "POST", "/api/v1/servers", `{"id":"pets","mode":"auto-generated","document":"openapi: 3.1.0\ninfo: {title: Pets, version: '1'}\nservers: [{url: 'http://127.0.0.1:9'}]\npaths: {/pets: {get: {operationId: pets, responses: {'200': {description: ok}}}}}\n"}`, http.StatusCreated)
	for _, kind := range []string{"openai", "anthropic"} {
		for _, way := range []string{"401", "429", "500", "error", "cut", "nonsense"} {
			name := kind[:1] + "-" + way
			first, second := h.plant("first key of "+name), h.plant("key of "+name)
			h.operator(in, "POST", "/api/v1/models", fmt.Sprintf(`{"name":%q,"kind":%q,"model":"m","base_url":%q,"key":%q}`, name, kind, peer.URL+"/"+way, first), http.StatusCreated)
			h.operator(in, "PATCH", "/api/v1/models/"+name, fmt.Sprintf(`{"key":%q}`, second), http.StatusOK)
			h.operator(in, "POST", "/api/v1/models", fmt.Sprintf(`{"name":%q,"kind":%q,"model":"m","key":%q}`, name, kind, h.plant("key of another "+name)), http.StatusConflict)
			h.operator(in, "PATCH", "/api/v1/models/"+name, `{"base_url":"http://127.0.0.1:9"}`, 0)                                                                             // the key does not go along
			h.operator(in, "POST", "/api/v1/agents", fmt.Sprintf(`{"name":%q,"tools":["demo/echo"],"brain":{"model":%[1]q,"limits":{"seconds":1}}}`, name), http.StatusCreated) // it is not asked three times
			h.operator(in, "POST", "/api/v1/agents/"+name+"/runs", `{"message":"hello"}`, http.StatusOK)
			switch way {
			case "401":
				h.operator(in, "POST", "/a/"+name+"/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hello"}]}`, 0)
				h.operator(in, "POST", "/api/v1/servers/pets/suggestions", fmt.Sprintf(`{"model":%q}`, name), 0)
			case "error":
				h.operator(in, "POST", "/api/v1/models/"+name+"/test", "", http.StatusOK)
			}
		}
	}
	for name, body := range map[string]string{
		"a key that is a number": `{"name":"bad","kind":"openai","model":"m","key":[%q]}`,
		"a kind that is none":    `{"name":"bad","kind":"llama","model":"m","key":%q}`,
		"a key in the address":   `{"name":"bad","kind":"openai","model":"m","base_url":"https://me:%s@127.0.0.1/v1"}`,
		"a member too many":      `{"name":"bad","kind":"openai","model":"m","api_key":%q}`,
	} {
		h.operator(in, "POST", "/api/v1/models", fmt.Sprintf(body, h.plant(name)), 0)
	}
	for _, path := range []string{"/models", "/models/o-error", "/agents", "/agents/o-error", "/calls?limit=500", "/export", "/export?format=json", "/secrets", "/servers/pets/suggestions"} {
		a, err := in.Request(t.Context(), http.MethodGet, "/api/v1"+path, "")
		if err != nil {
			t.Fatal(err)
		}
		h.text("GET /api/v1"+path, a.Body)
	}
	for _, args := range [][]string{{"model", "ls"}, {"agent", "show", "o-401"}, {"export"}, {"model", "add", "file", "--kind", "openai", "--model", "m", "--key-file", filepath.Join(t.TempDir(), "none")}} {
		stdout, stderr, _ := in.CLI(t, args...)
		h.text(strings.Join(args, " "), stdout+stderr)
	}
	h.operator(in, "POST", "/api/v1/tools/demo__echo/call", `{"arguments":{"text":"hello"}}`, http.StatusOK)
	h.everything(in, "models")
	h.backup(in, "", "models")
	h.tree(data)
	in.Kill()
	h.text("the output", in.Log())
	h.tree(data)
	h.done("keys of models")
}

// repeats is a model that says what it was told to prove itself with, in the way
// that its address names.
func repeats(w http.ResponseWriter, r *http.Request) {
	key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ") + r.Header.Get("X-Api-Key")
	_, _ = io.Copy(io.Discard, r.Body)
	way, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	status := map[string]int{"401": http.StatusUnauthorized, "429": http.StatusTooManyRequests, "500": http.StatusInternalServerError}[way]
	switch {
	case status != 0:
		w.Header().Set("X-Key", key)
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"error":{"message":"the key %s is not known"},"message":%q}`, key, key)
	case way == "nonsense":
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {%s\n\n", key)
	case way == "cut":
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "event: error\ndata: {\"type\":\"error\",\"error\":{\"message\":\"%s", key)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	default: // an error in the stream of either wire
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"x\",\"message\":\"the key %s is not known\"}}\n\n", key)
	}
}
