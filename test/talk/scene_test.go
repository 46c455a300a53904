// Package talk holds whole instances to what is said of agents that think: the
// model is a server on this machine that speaks chat completions and says what a
// test wants, good or bad.
package talk

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/testkit"
)

// patience is how long a test waits for what must come.
const patience = 2 * time.Minute

type object = map[string]any

// call is one that the model wants.
type call struct{ Name, Arguments string }

// oracle is the model. It answers with what say gives for what it was asked.
type oracle struct {
	*httptest.Server
	mu    sync.Mutex
	say   func(asked request) (text string, calls []call)
	asked []request
	gone  chan struct{} // somebody left a word that hangs
}

// request is what a model is asked, as far as tests look at it.
type request struct {
	Key      string `json:"-"`
	Model    string
	Messages []struct {
		Role    string
		Content any
	}
	Tools []struct{ Function struct{ Name string } }
}

// names are the tools that the model is told of.
func (r request) names() map[string]bool {
	out := map[string]bool{}
	for _, t := range r.Tools {
		out[t.Function.Name] = true
	}
	return out
}

// hang as a text keeps the answer open.
const hang = "<hang>"

func newOracle(t testing.TB) *oracle {
	t.Helper()
	o := &oracle{gone: make(chan struct{}, 16)}
	o.Server = httptest.NewServer(o)
	t.Cleanup(o.Close)
	return o
}

func (o *oracle) answers(say func(request) (string, []call)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.say, o.asked = say, nil
}

func (o *oracle) requests() []request {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.asked
}

func (o *oracle) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var asked request
	body, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(body, &asked)
	asked.Key = strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if asked.Model == "locked" {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error":{"message":"the key %s is not known"}}`, asked.Key)
		return
	}
	o.mu.Lock()
	o.asked = append(o.asked, asked)
	text, calls := o.say(asked)
	o.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	chunk := func(delta object, finish any) {
		b, _ := json.Marshal(object{"choices": []any{object{"index": 0, "delta": delta, "finish_reason": finish}}})
		fmt.Fprintf(w, "data: %s\n\n", b)
		_ = http.NewResponseController(w).Flush()
	}
	chunk(object{"role": "assistant", "content": strings.TrimSuffix(text, hang)}, nil)
	if strings.HasSuffix(text, hang) {
		<-r.Context().Done()
		o.gone <- struct{}{}
		return
	}
	finish := "stop"
	for i, c := range calls {
		finish = "tool_calls"
		chunk(object{"tool_calls": []any{object{"index": i, "id": fmt.Sprint("call_", i), "type": "function", "function": object{"name": c.Name, "arguments": c.Arguments}}}}, nil)
	}
	chunk(object{}, finish)
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// scene is an instance with a model and an agent that thinks with it.
type scene struct {
	*testkit.Instance
	t     *testing.T
	model *oracle
}

func start(t *testing.T) *scene {
	t.Helper()
	s := &scene{Instance: testkit.Start(t, testkit.Settings{"egress-allow": "127.0.0.0/8"}), t: t, model: newOracle(t)}
	s.expect(201, "POST", "/models", fmt.Sprintf(`{"name":"oracle","kind":"openai","model":"m","base_url":%q}`, s.model.URL+"/v1"), nil)
	return s
}

// expect asks the API, and reads the answer into out.
func (s *scene) expect(status int, method, path, body string, out any) string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	resp := s.Open(ctx, s.t, method, "/api/v1"+path, body)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != status {
		s.t.Fatalf("%s %s: %d, want %d: %s (%v)", method, path, resp.StatusCode, status, text, err)
	}
	if out != nil {
		if err := json.Unmarshal(text, out); err != nil {
			s.t.Fatalf("%s: %v", text, err)
		}
	}
	return string(text)
}

// talk says something to an agent.
func (s *scene) talk(name, message string) admin.TurnEnd {
	s.t.Helper()
	body, err := json.Marshal(admin.Talk{Message: message})
	if err != nil {
		s.t.Fatal(err)
	}
	var end admin.TurnEnd
	s.expect(200, "POST", "/agents/"+name+"/runs", string(body), &end)
	return end
}
