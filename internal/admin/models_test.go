package admin

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/agent"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// shed is one model in memory, and an agent that says what it was told.
type shed struct {
	mu    sync.Mutex
	model junctor.Model
	key   string // of the last AddModel or ChangeModel
}

func newShed() *shed {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return &shed{model: junctor.Model{Name: "demo__echo", Kind: junctor.ModelOpenAI, BaseURL: "http://127.0.0.1:1/v1", Model: "tiny", HasKey: true, CreatedAt: at, UpdatedAt: at}}
}

func (s *shed) Models(context.Context, *junctor.Principal) ([]junctor.Model, error) {
	return []junctor.Model{s.model}, nil
}

func (s *shed) Model(_ context.Context, _ *junctor.Principal, name string) (junctor.Model, error) {
	if name != s.model.Name {
		return junctor.Model{}, junctor.Errorf(junctor.CodeNotFound, "no model %s", name)
	}
	return s.model, nil
}

func (s *shed) AddModel(_ context.Context, _ *junctor.Principal, m junctor.Model, key seal.Secret) (junctor.Model, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.key, m.HasKey = key.Reveal(), key.Reveal() != ""
	return m, m.Check()
}

func (s *shed) ChangeModel(ctx context.Context, p *junctor.Principal, name string, change func(*junctor.Model) error, key seal.Secret) (junctor.Model, error) {
	m, err := s.Model(ctx, p, name)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		err = change(&m)
	}
	s.key = key.Reveal()
	return m, err
}

func (s *shed) RemoveModel(ctx context.Context, p *junctor.Principal, name string) error {
	_, err := s.Model(ctx, p, name)
	return err
}

func (s *shed) TestModel(ctx context.Context, p *junctor.Principal, name string) (ModelTest, error) {
	_, err := s.Model(ctx, p, name)
	return ModelTest{OK: true, Detail: `it says "ready"`, DurationMS: 3}, err
}

func (s *shed) RunAgent(_ context.Context, _ *junctor.Principal, name string, story []agent.Message, emit func(agent.Event)) (agent.TurnResult, error) {
	if name == "nobody" {
		return agent.TurnResult{}, junctor.Errorf(junctor.CodeNotFound, "no agent %s", name)
	}
	text := "you said: " + story[len(story)-1].Text
	emit(agent.Event{Kind: agent.EventText, ID: "m1", Text: text})
	return agent.TurnResult{Outcome: agent.OutcomeDone, Messages: []agent.Message{{Role: agent.RoleAssistant, Text: text}}, Requests: 1, Usage: agent.Usage{Input: 3, Output: 4}}, nil
}

func TestModelsKeepTheirKeys(t *testing.T) {
	t.Parallel()
	w := newWorld()
	h := w.handler(t)
	got := ask(h, "admin", "POST", "/models", `{"name":"big","kind":"anthropic","model":"m","key":"sk-very-secret"}`)
	if got.Code != 201 || w.shed.key != "sk-very-secret" || strings.Contains(got.Body.String(), "sk-very") || !strings.Contains(got.Body.String(), `"has_key":true`) {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	for _, c := range []struct{ method, path, body, want string }{
		{"POST", "/models", `{"name":"Big","kind":"anthropic","model":"m"}`, "is not a valid model name"},
		{"POST", "/models", `{"name":"big","kind":"llama","model":"m"}`, "kind"},
		{"POST", "/models", `{"name":"big","kind":"openai"}`, "model is missing"},
		{"POST", "/models", `{"name":"big","kind":"openai","model":"m","base_url":"ftp://x"}`, "base_url must be an http"},
		{"PATCH", "/models/nothing", `{"model":"m"}`, "no model"},
	} {
		if got := ask(h, "admin", c.method, c.path, c.body); got.Code < 400 || !strings.Contains(got.Body.String(), c.want) {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, got.Code, got.Body)
		}
	}
	if got := ask(h, "agents:write", "POST", "/models", `{"name":"big","kind":"openai","model":"m"}`); got.Code != 403 {
		t.Errorf("a maker of agents adds a model: %d", got.Code)
	}
	if got := ask(h, "admin", "PATCH", "/models/demo__echo", `{"model":"other"}`); got.Code != 200 || !strings.Contains(got.Body.String(), `"other"`) || w.shed.key != "" {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

func TestTalkingToAnAgent(t *testing.T) {
	t.Parallel()
	h := newWorld().handler(t)
	var end TurnEnd
	got := ask(h, "admin", "POST", "/agents/bot/runs", `{"message":"hello"}`)
	if err := json.Unmarshal(got.Body.Bytes(), &end); err != nil || got.Code != 200 || end.Text != "you said: hello" || end.Outcome != agent.OutcomeDone || end.Usage.Output != 4 {
		t.Errorf("%d %s: %v", got.Code, got.Body, err)
	}
	story, err := json.Marshal(end.Messages)
	if err != nil {
		t.Fatal(err)
	}
	if got := ask(h, "admin", "POST", "/agents/bot/runs", `{"messages":`+string(story)+`}`); got.Code != 200 || !strings.Contains(got.Body.String(), "you said: you said: hello") {
		t.Errorf("what was answered cannot be sent again: %d %s", got.Code, got.Body)
	}
	got = ask(h, "admin", "POST", "/agents/bot/runs", `{"message":"hello","stream":true}`)
	if body := got.Body.String(); got.Header().Get("Content-Type") != "text/event-stream" || !strings.HasPrefix(body, "event: text\ndata: {\"id\":\"m1\",\"text\":\"you said: hello\"}\n\nevent: end\ndata: {\"outcome\":\"done\"") {
		t.Errorf("%s", body)
	}
	if got := ask(h, "admin", "POST", "/agents/bot/runs", `{}`); got.Code != 400 && got.Code != 422 {
		t.Errorf("saying nothing: %d %s", got.Code, got.Body)
	}
	if got := ask(h, "admin", "POST", "/agents/nobody/runs", `{"message":"hello"}`); got.Code != 404 {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

func TestBrainsOfAgents(t *testing.T) {
	t.Parallel()
	w := newWorld()
	h := w.handler(t)
	got := ask(h, "admin", "PATCH", "/agents/demo__echo", `{"brain":{"model":"big","instructions":"be kind","limits":{"turns":3}}}`)
	if b := w.staff.in.Brain; got.Code != 200 || !b.Given || b.Brain.Model != "big" || b.Brain.Limits.Turns != 3 {
		t.Errorf("%d %s: %+v", got.Code, got.Body, w.staff.in.Brain)
	}
	got = ask(h, "admin", "PATCH", "/agents/demo__echo", `{"brain":null}`)
	if b := w.staff.in.Brain; got.Code != 200 || !b.Given || b.Brain != nil {
		t.Errorf("%d %s: %+v", got.Code, got.Body, b)
	}
	if got := ask(h, "admin", "PATCH", "/agents/demo__echo", `{"brain":{"modl":"x"}}`); got.Code < 400 {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}
