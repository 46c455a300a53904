package secrets

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/test/program"
)

// TestNoSecretOfAgentsLeaves gives keys to agents elsewhere that repeat them
// wherever they can, and has published agents tell of tasks to addresses that
// repeat what they are told with.
func TestNoSecretOfAgentsLeaves(t *testing.T) {
	t.Parallel()
	h := newHunt(t)
	data := t.TempDir()
	in := program.Launch(t, program.Spec{
		Addr: program.FreeAddr(t), DataDir: data, Args: []string{"--log-level", "debug", "--egress-allow", "127.0.0.0/8", "--call-timeout", "20s"},
	})
	in.WaitReady(t)
	h.peers(in)
	h.pushes(in)
	for _, path := range []string{"/models", "/models/card-401", "/agents", "/agents/card-401", "/export", "/export?format=json", "/secrets", "/tools", "/servers/agents"} {
		a, err := in.Request(t.Context(), http.MethodGet, "/api/v1"+path, "")
		if err != nil {
			t.Fatal(err)
		}
		h.text("GET /api/v1"+path, a.Body)
	}
	for _, args := range [][]string{{"model", "ls"}, {"agent", "show", "card-401"}, {"agent", "run", "rpc-error", "hello"}, {"export"}} {
		stdout, stderr, _ := in.CLI(t, args...)
		h.text(strings.Join(args, " "), stdout+stderr)
	}
	h.everything(in, "agents")
	h.backup(in, "", "agents")
	h.tree(data)
	in.Kill()
	h.text("the output", in.Log())
	h.tree(data)
	h.done("keys of agents elsewhere, tokens of pushes")
}

// peers has agents elsewhere asked, by every way to ask them.
func (h *hunt) peers(in *program.Instance) {
	h.t.Helper()
	peer := httptest.NewServer(http.HandlerFunc(betrays))
	h.t.Cleanup(peer.Close)
	for _, way := range []string{"card-401", "card-500", "card-text", "card-away", "rpc-401", "rpc-500", "rpc-error", "rpc-failed", "rpc-cut"} {
		first, second := h.plant("first key of "+way), h.plant("key of "+way)
		h.operator(in, "POST", "/api/v1/models", fmt.Sprintf(`{"name":%q,"kind":"a2a","base_url":%q,"key":%q}`, way, peer.URL+"/"+way, first), http.StatusCreated)
		h.operator(in, "PATCH", "/api/v1/models/"+way, fmt.Sprintf(`{"key":%q}`, second), http.StatusOK)
		h.operator(in, "POST", "/api/v1/models", fmt.Sprintf(`{"name":%q,"kind":"a2a","base_url":%q,"key":%q}`, way, peer.URL, h.plant("key of another "+way)), http.StatusConflict)
		h.operator(in, "POST", "/api/v1/agents", fmt.Sprintf(`{"name":%q,"published":true,"brain":{"model":%[1]q,"limits":{"seconds":2}}}`, way), http.StatusCreated)
		h.operator(in, "POST", "/api/v1/models/"+way+"/test", "", http.StatusOK)
		h.operator(in, "POST", "/api/v1/agents/"+way+"/runs", `{"message":"hello"}`, http.StatusOK)
		if said := h.operator(in, "POST", "/api/v1/tools/agents__"+way+"/call", `{"arguments":{"message":"hello"}}`, http.StatusOK); !strings.Contains(said, `"isError":true`) {
			h.t.Errorf("%s, as a tool: %s", way, said)
		}
		h.endpoint(in, "/a2a/"+way+"/", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hello"}]}}}`)
	}
}

// betrays is an agent elsewhere that says what it was told to prove itself with,
// in the way that its address names.
func betrays(w http.ResponseWriter, r *http.Request) {
	key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	_, _ = io.Copy(io.Discard, r.Body)
	way, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	card, reads := "http://"+r.Host+"/"+way+"/rpc", r.Method == http.MethodGet
	status := map[string]int{"401": http.StatusUnauthorized, "500": http.StatusInternalServerError}[way[strings.LastIndex(way, "-")+1:]]
	stream := func(format string, args ...any) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, format, args...)
		_ = http.NewResponseController(w).Flush()
	}
	switch {
	case reads && way == "card-text":
		fmt.Fprintf(w, "the key is %s", key)
	case status != 0 && reads == strings.HasPrefix(way, "card-"):
		w.Header().Set("X-Key", key)
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"error":{"message":"the key %s is not known"},"message":%q}`, key, key)
	case reads:
		if way == "card-away" {
			card = "http://127.0.0.1:9/" + key
		}
		fmt.Fprintf(w, `{"name":"Traitor","description":"It tells.","version":"1","capabilities":{"streaming":true},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[],
			"supportedInterfaces":[{"url":%q,"protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`, card)
	case way == "rpc-error":
		stream("data: {\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32603,\"message\":\"the key %s is not known\"}}\n\n", key)
	case way == "rpc-failed":
		stream("data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"statusUpdate\":{\"taskId\":\"t\",\"contextId\":\"c\",\"status\":{\"state\":\"TASK_STATE_FAILED\",\"message\":{\"messageId\":\"m\",\"role\":\"ROLE_AGENT\",\"parts\":[{\"text\":\"the key %s is not known\"}]}}}}}\n\n", key)
	default:
		stream("data: {\"jsonrpc\":\"2.0\",\"error\":{\"message\":\"%s", key)
		panic(http.ErrAbortHandler)
	}
}

// endpoint asks at an endpoint of A2A, of version 1.0 unless a header says otherwise, and
// looks through the answer.
func (h *hunt) endpoint(in *program.Instance, path, body string, header ...string) string {
	h.t.Helper()
	a, err := in.Request(h.t.Context(), http.MethodPost, path, body, append([]string{"A2A-Version: 1.0"}, header...)...)
	if err != nil {
		h.t.Fatal(err)
	}
	h.text("POST "+path, fmt.Sprint(a.Header, a.Body))
	return a.Body
}

// told is an address that is told of tasks, says so back, and fails.
type told struct {
	mu   sync.Mutex
	with map[string]bool
}

func (w *told) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	token, credentials := r.Header.Get("A2A-Notification-Token"), r.Header.Get("Authorization")
	w.mu.Lock()
	w.with[token] = true
	w.mu.Unlock()
	rw.Header().Set("X-Token", token)
	http.Error(rw, "not known: "+token+" "+credentials, http.StatusInternalServerError)
}

func (w *told) heard(token string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.with[token]
}

// pushes has addresses told, rightly and wrongly.
func (h *hunt) pushes(in *program.Instance) {
	h.t.Helper()
	hook := &told{with: map[string]bool{}}
	at := httptest.NewServer(hook)
	h.t.Cleanup(at.Close)
	h.operator(in, "POST", "/api/v1/agents", `{"name":"polly","published":true,"tools":["demo/slow"],"brain":{"rules":"intents:\n  - match: wait\n    calls: [{tool: demo__slow, arguments: {steps: 100, delay_ms: 1000}}]\n    say: done\nfallback: hello\n"}}`, http.StatusCreated)
	const at10, at03 = `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":%q}]},"configuration":{"returnImmediately":true,"taskPushNotificationConfig":%s}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":%q}]},"configuration":{"blocking":false,"pushNotificationConfig":%s}}}`
	secrets := func(name string) (token, credentials string) {
		return h.plant("token of " + name), h.plant("credentials of " + name)
	}
	var wait []string
	one := func(name, more string) string {
		token, credentials := secrets(name)
		wait = append(wait, token)
		return fmt.Sprintf(`{%s"url":%q,"token":%q,"authentication":{"scheme":"Bearer","credentials":%q}}`, more, at.URL, token, credentials)
	}
	var answer struct {
		Result struct {
			Task struct{ ID string }
		}
	}
	text := h.endpoint(in, "/a2a/polly/", fmt.Sprintf(at10, "wait", one("the message", "")))
	if err := json.Unmarshal([]byte(text), &answer); err != nil || answer.Result.Task.ID == "" {
		h.t.Fatalf("%v: %s", err, text)
	}
	task := answer.Result.Task.ID
	token, credentials := secrets("the message of before")
	wait = append(wait, token)
	h.endpoint(in, "/a2a/polly/", fmt.Sprintf(at03, "hello", fmt.Sprintf(`{"url":%q,"token":%q,"authentication":{"schemes":["Bearer"],"credentials":%q}}`, at.URL, token, credentials)), "A2A-Version: 0.3")
	h.endpoint(in, "/a2a/polly/", `{"jsonrpc":"2.0","id":1,"method":"CreateTaskPushNotificationConfig","params":`+one("a method", `"taskId":"`+task+`",`)+`}`)
	h.endpoint(in, "/a2a/polly/rest/tasks/"+task+"/pushNotificationConfigs", one("a path", ""))
	for name, body := range map[string]string{
		"an address that is none": `{"url":"nowhere","token":%q,"authentication":{"scheme":"Bearer","credentials":%q}}`,
		"a name in the address":   `{"url":"http://me:%s@127.0.0.1/","token":%q}`,
		"no scheme":               `{"url":"http://127.0.0.1:9/","token":%q,"authentication":{"scheme":"","credentials":%q}}`,
		"a member too many":       `{"url":"http://127.0.0.1:9/","tokens":%q,"token":%q}`,
		"a token that is a list":  `{"url":"http://127.0.0.1:9/","token":[%q,%q]}`,
		"no JSON":                 `{"url":"http://127.0.0.1:9/","token":%q,%q`,
	} {
		first, second := secrets(name)
		body = fmt.Sprintf(body, first, second)
		h.endpoint(in, "/a2a/polly/", fmt.Sprintf(at10, "hello", body))
		h.endpoint(in, "/a2a/polly/", fmt.Sprintf(at03, "hello", body), "A2A-Version: 0.3")
		h.endpoint(in, "/a2a/polly/rest/tasks/"+task+"/pushNotificationConfigs", body)
	}
	h.endpoint(in, "/a2a/polly/", `{"jsonrpc":"2.0","id":1,"method":"ListTaskPushNotificationConfigs","params":{"taskId":"`+task+`"}}`)
	h.endpoint(in, "/a2a/polly/", `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"`+task+`"}}`)
	h.endpoint(in, "/a2a/polly/", fmt.Sprintf(at10, "hello", `{"url":"http://127.0.0.1:9/"}`), "Authorization: Bearer "+h.plant("a key that is none"))
	h.endpoint(in, "/a2a/polly/", `{"jsonrpc":"2.0","id":1,"method":"CancelTask","params":{"id":"`+task+`"}}`)
	if !poll.Holds(90*time.Second, func() bool { // another process: nothing to wait on but what it sends
		wait = slices.DeleteFunc(wait, hook.heard)
		return len(wait) == 0
	}) {
		h.t.Fatalf("%d addresses were not told", len(wait))
	}
}
