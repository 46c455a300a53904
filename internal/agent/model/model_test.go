package model

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/agent"
)

// Both SDKs are driven against a server on this machine that speaks their wires.
// No hosted model was ever asked.

func kinds() []junctor.ModelKind {
	return []junctor.ModelKind{junctor.ModelAnthropic, junctor.ModelOpenAI}
}

// each runs a test for both kinds.
func each(t *testing.T, test func(*testing.T, junctor.ModelKind)) {
	t.Helper()
	for _, kind := range kinds() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			test(t, kind)
		})
	}
}

func question() agent.Request {
	return agent.Request{
		Instructions: "be kind", Model: "m", MaxTokens: 500, Messages: []agent.Message{{Role: agent.RoleUser, Name: "ada", Text: "and?"}},
		Tools: []agent.Tool{{Name: "a__b", Description: "does b", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"$defs":{"x":{}},"additionalProperties":false}`)}, {Name: "a__c"}},
	}
}

// hear takes an answer to its end.
func hear(ctx context.Context, p agent.Provider, r agent.Request) (lines []string, err error) {
	for piece, failed := range p.Stream(ctx, r) {
		if failed != nil {
			return lines, failed
		}
		lines = append(lines, line(piece))
	}
	return lines, nil
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind junctor.ModelKind) {
		t.Helper()
		s := serve(t, kind, reply{events: events(kind, said{
			thinking: "hm", text: []string{"let ", "me"}, stop: "calls",
			calls: []wanted{{"call_1", "a__b", []string{`{"n"`, `:1}`}}, {"call_2", "a__c", nil}},
		})})
		got, err := hear(t.Context(), s.provider(t, "sk-1"), question())
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"thinking hm", "text let ", "text me", "args call_1 a__b", `args call_1 a__b {"n"`, "args call_1 a__b :1}", "args call_2 a__c", `call call_1 a__b {"n":1}`, "call call_2 a__c ", "usage 25+7", "stop tool_calls"}
		if kind == junctor.ModelAnthropic {
			want = slices.Insert(want, 9, `opaque {"anthropic":[{"type":"thinking","thinking":"hm","signature":"signed"}]}`)
			want[len(want)-1] = "stop tool_use"
		} else {
			want[4], want[6] = want[6], want[4] // calls begin before their arguments
			want[5], want[6] = want[6], want[5]
		}
		slices.Sort(want[3:7])
		slices.Sort(got[3:7])
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	})
}

func TestRequests(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind junctor.ModelKind) {
		t.Helper()
		s := serve(t, kind, reply{events: events(kind, said{text: []string{"ok"}, stop: "end"})})
		r := question()
		r.Messages = append(r.Messages,
			agent.Message{Role: agent.RoleAssistant, Text: "so", Thinking: json.RawMessage(`{"anthropic":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"redacted_thinking","data":"x"}]}`), Calls: []agent.Call{{ID: "1", Name: "a__b", Arguments: json.RawMessage(`{"n":1}`)}, {ID: "2", Name: "a__c"}}},
			agent.Message{Role: agent.RoleTool, Results: []agent.Result{{CallID: "1", Text: "one"}, {CallID: "2", IsError: true}}},
			agent.Message{Role: agent.RoleUser, Text: "go on"},
			agent.Message{Role: agent.RoleAssistant, Text: "half a"},
		)
		if _, err := hear(t.Context(), s.provider(t, "sk-1"), r); err != nil {
			t.Fatal(err)
		}
		asked := s.requests()[0]
		head, path := s.heads[0], s.paths[0]
		var want string
		if kind == junctor.ModelAnthropic {
			if path != "/v1/messages" || head.Get("X-Api-Key") != "sk-1" {
				t.Errorf("%s with %v", path, head)
			}
			want = `{"max_tokens":500,"model":"m","stream":true,"system":[{"text":"be kind","type":"text"}],
				"tools":[{"name":"a__b","description":"does b","input_schema":{"type":"object","properties":{"n":{"type":"integer"}},"$defs":{"x":{}},"additionalProperties":false}},{"name":"a__c","input_schema":{"type":"object","properties":{}}}],
				"messages":[{"role":"user","content":[{"type":"text","text":"ada: and?"}]},
				{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"redacted_thinking","data":"x"},{"type":"text","text":"so"},{"type":"tool_use","id":"1","name":"a__b","input":{"n":1}},{"type":"tool_use","id":"2","name":"a__c","input":{}}]},
				{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","is_error":false,"content":[{"type":"text","text":"one"}]},{"type":"tool_result","tool_use_id":"2","is_error":true,"content":[{"type":"text","text":"(nothing)"}]},{"type":"text","text":"go on"}]},
				{"role":"assistant","content":[{"type":"text","text":"half a"}]},{"role":"user","content":[{"type":"text","text":"Go on."}]}]}`
		} else {
			if path != "/v1/chat/completions" || head.Get("Authorization") != "Bearer sk-1" {
				t.Errorf("%s with %v", path, head)
			}
			want = `{"max_tokens":500,"model":"m","stream":true,"stream_options":{"include_usage":true},
				"tools":[{"type":"function","function":{"name":"a__b","description":"does b","parameters":{"type":"object","properties":{"n":{"type":"integer"}},"$defs":{"x":{}},"additionalProperties":false}}},{"type":"function","function":{"name":"a__c","parameters":{"type":"object","properties":{}}}}],
				"messages":[{"role":"system","content":"be kind"},{"role":"user","content":"ada: and?"},
				{"role":"assistant","content":"so","tool_calls":[{"type":"function","id":"1","function":{"name":"a__b","arguments":"{\"n\":1}"}},{"type":"function","id":"2","function":{"name":"a__c","arguments":"{}"}}]},
				{"role":"tool","tool_call_id":"1","content":"one"},{"role":"tool","tool_call_id":"2","content":"(nothing)"},{"role":"user","content":"go on"},{"role":"assistant","content":"half a"},{"role":"user","content":"Go on."}]}`
		}
		var expected map[string]any
		if err := json.Unmarshal([]byte(want), &expected); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(expected, asked); d != "" {
			t.Error(d)
		}
	})
}

func TestFaults(t *testing.T) {
	t.Parallel()
	half := func(kind junctor.ModelKind) []string {
		all := events(kind, said{text: []string{"half"}, calls: []wanted{{"1", "a__b", []string{`{}`}}}, stop: "calls"})
		if kind == junctor.ModelAnthropic {
			return all[:8] // into the call
		}
		return all[:4]
	}
	for _, c := range []struct {
		name  string
		reply func(junctor.ModelKind) reply
		says  string
		again bool
		after time.Duration
	}{
		{"too many requests", func(junctor.ModelKind) reply {
			return reply{status: 429, header: map[string]string{"Retry-After": "7"}, body: `{"error":{"message":"slow down"}}`}
		}, "limits requests (429): slow down", true, 7 * time.Second},
		{"overloaded", func(junctor.ModelKind) reply { return reply{status: 529, body: `<html>`} }, "cannot answer now (529)", true, 0},
		{"milliseconds", func(junctor.ModelKind) reply {
			return reply{status: 503, header: map[string]string{"Retry-After-Ms": "1500", "Retry-After": "9"}}
		}, "(503)", true, 1500 * time.Millisecond},
		{"a wrong key, said back", func(junctor.ModelKind) reply {
			return reply{status: 401, body: `{"error":{"message":"bad key sk-secret\n!"}}`}
		}, "rejects the key of the model (401): bad key (the key) !", false, 0},
		{"no such model", func(junctor.ModelKind) reply { return reply{status: 404, body: `{"error":"model 'm' not found"}`} }, "has no such model, or no API at", false, 0},
		{"a bad request", func(junctor.ModelKind) reply { return reply{status: 400, body: `{"message":"too long"}`} }, "rejects the request (400): too long", false, 0},
		{"a redirect that leads nowhere", func(junctor.ModelKind) reply { return reply{status: 304} }, "(304)", false, 0},
		{"the connection is cut", func(k junctor.ModelKind) reply { return reply{events: half(k), cut: true} }, "broke off", true, 0},
		{"the stream ends early", func(k junctor.ModelKind) reply { return reply{events: half(k)} }, "broke off", true, 0},
		{"nothing comes", func(junctor.ModelKind) reply { return reply{} }, "broke off", true, 0},
		{"no JSON", func(k junctor.ModelKind) reply {
			return reply{events: []string{"event: message_start\ndata: {\"choices\": oh no\n\n"}}
		}, "sent an invalid event", true, 0},
		{"an error in the stream", func(k junctor.ModelKind) reply {
			return reply{events: append(half(k)[:2], "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"too busy for sk-secret\"}}\n\n")}
		}, "too busy for (the key)", true, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, kind junctor.ModelKind) {
				t.Helper()
				s := serve(t, kind, c.reply(kind))
				got, err := hear(t.Context(), s.provider(t, "sk-secret"), question())
				f, ok := errors.AsType[*agent.ProviderError](err)
				if !ok || !strings.Contains(f.Message, c.says) || strings.Contains(f.Message, "sk-secret") || f.Retryable != c.again || f.RetryAfter != c.after {
					t.Errorf("%v (%+v)", err, f)
				}
				if slices.ContainsFunc(got, func(l string) bool { return strings.HasPrefix(l, "call ") }) {
					t.Errorf("a call of an answer that is not whole: %v", got)
				}
				if n := len(s.requests()); n != 1 {
					t.Errorf("asked %d times", n)
				}
			})
		})
	}
}

func TestNobodyThere(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind junctor.ModelKind) {
		t.Helper()
		s := serve(t, kind)
		p := s.provider(t, "")
		s.Close()
		_, err := hear(t.Context(), p, question())
		if f, ok := errors.AsType[*agent.ProviderError](err); !ok || !f.Retryable {
			t.Errorf("%v", err)
		}
	})
}

func TestCancelReachesTheModel(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind junctor.ModelKind) {
		t.Helper()
		s := serve(t, kind, reply{events: events(kind, said{text: []string{"once upon"}, stop: "end"})[:5], hang: true})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		end := agent.Run(ctx, agent.Turn{Provider: s.provider(t, ""), Messages: question().Messages}, func(e agent.Event) {
			if e.Kind == agent.EventText {
				cancel()
			}
		})
		if end.Outcome != agent.OutcomeCancelled || end.Text() != "once upon" {
			t.Errorf("%+v", end)
		}
		select {
		case <-s.gone:
		case <-time.After(time.Minute):
			t.Error("the server was not told")
		}
	})
}

// counter is a tool that notes its calls.
type counter struct{ made []string }

func (c *counter) List(context.Context) ([]agent.Tool, error) { return question().Tools, nil }

func (c *counter) Resolve(_ context.Context, call agent.Call) (agent.Tool, error) {
	return agent.Tool{Name: call.Name}, nil
}

func (c *counter) RecordRefusal(context.Context, agent.Call, error) string { return "" }

func (c *counter) Call(_ context.Context, call agent.Call) agent.Result {
	c.made = append(c.made, call.Name+" "+string(call.Arguments))
	return agent.Result{Text: "done"}
}

func TestATurn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind junctor.ModelKind) {
		t.Helper()
		s := serve(t, kind,
			reply{status: 429, header: map[string]string{"Retry-After": "1"}},
			reply{events: events(kind, said{calls: []wanted{{"1", "a__b", []string{`{"n": oops`}}, {"2", "a__no", []string{`{}`}}}, stop: "calls"})},
			reply{events: events(kind, said{calls: []wanted{{"3", "a__b", []string{`{"n":`, `2}`}}}, stop: "calls"})},
			reply{events: events(kind, said{text: []string{"there"}, stop: "end"})},
		)
		tools := &counter{}
		waited := time.Duration(0)
		end := agent.Run(t.Context(), agent.Turn{Provider: s.provider(t, ""), Model: "m", Messages: question().Messages, Tools: tools}, func(e agent.Event) { waited += e.Wait })
		if end.Outcome != agent.OutcomeDone || end.Text() != "there" || waited != time.Second || end.Usage != (agent.Usage{Input: 75, Output: 21}) {
			t.Errorf("%+v, waited %s", end, waited)
		}
		if d := cmp.Diff([]string{`a__b {"n":2}`}, tools.made); d != "" {
			t.Error(d)
		}
		text := compact(s.requests()[2])
		for _, want := range []string{"are not a JSON object", "did you mean a__b"} {
			if !strings.Contains(text, want) {
				t.Errorf("the model does not hear %q: %s", want, text)
			}
		}
	})
}

func TestAnswersThatAreCutShort(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind junctor.ModelKind) {
		t.Helper()
		s := serve(t, kind, reply{events: events(kind, said{text: []string{"so"}, calls: []wanted{{"1", "a__b", []string{`{"n"`}}}, stop: "length"})})
		tools := &counter{}
		end := agent.Run(t.Context(), agent.Turn{Provider: s.provider(t, ""), Messages: question().Messages, Tools: tools}, func(agent.Event) {})
		if end.Outcome != agent.OutcomeLimit || end.Text() != "so" || len(tools.made) > 0 {
			t.Errorf("%+v, made %v", end, tools.made)
		}
	})
}

// What servers that are not the maker's do with calls.
func TestCallsOfOtherServers(t *testing.T) {
	t.Parallel()
	chunk := func(calls ...any) string {
		return "data: " + compact(object{"choices": []any{object{"index": 0, "delta": object{"tool_calls": calls}}}}) + "\n\n"
	}
	fn := func(index int, id, name, args string) object {
		return object{"index": index, "id": id, "type": "function", "function": object{"name": name, "arguments": args}}
	}
	end := "data: " + compact(object{"choices": []any{object{"index": 0, "delta": object{}, "finish_reason": "tool_calls"}}}) + "\n\ndata: [DONE]\n\n"
	for _, c := range []struct {
		name   string
		events []string
		want   []string
	}{
		{"one index for all", []string{chunk(fn(0, "x", "a__b", `{"n":1}`)), chunk(fn(0, "y", "a__c", `{}`)), end}, []string{`call x a__b {"n":1}`, "call y a__c {}"}},
		{"no ids", []string{chunk(fn(0, "", "a__b", `{"n":1}`), fn(1, "", "a__c", `{}`)), end}, []string{`call  a__b {"n":1}`, "call  a__c {}"}},
		{"the id again with every part", []string{chunk(fn(0, "x", "a__b", `{"n"`)), chunk(fn(0, "x", "", `:1}`)), end}, []string{`call x a__b {"n":1}`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, junctor.ModelOpenAI, reply{events: c.events})
			got, err := hear(t.Context(), s.provider(t, ""), question())
			got = slices.DeleteFunc(got, func(l string) bool { return !strings.HasPrefix(l, "call ") })
			if d := cmp.Diff(c.want, got); err != nil || d != "" {
				t.Errorf("%v %s", err, d)
			}
		})
	}
}

// The environment has no word in where requests go, and with which key.
func TestTheEnvironmentIsNotRead(t *testing.T) {
	for _, name := range []string{"OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"} {
		t.Setenv(name, "http://127.0.0.1:1/elsewhere")
	}
	for _, name := range []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"} {
		t.Setenv(name, "of-the-environment")
	}
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Own: of-the-environment")
	t.Setenv("OPENAI_CUSTOM_HEADERS", "X-Own: of-the-environment")
	for _, kind := range kinds() {
		s := serve(t, kind, reply{events: events(kind, said{text: []string{"ok"}, stop: "end"})})
		if _, err := hear(t.Context(), s.provider(t, ""), question()); err != nil {
			t.Fatal(err)
		}
		if text := compact(s.heads[0]); strings.Contains(text, "of-the-environment") {
			t.Errorf("%s: %s", kind, text)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "3": 3 * time.Second, "0.5": 500 * time.Millisecond, "-1": 0, "soon": 0, "1e300": 24 * time.Hour,
		"Fri, 02 Jan 2026 03:05:05 GMT": time.Minute, "Fri, 02 Jan 2026 03:00:00 GMT": 0,
	} {
		if got := parseRetryAfter(http.Header{"Retry-After": {value}}, now); got != want {
			t.Errorf("%q is %s", value, got)
		}
	}
}
