package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	junctor "github.com/junctor-mcp/junctor"
)

// step is one answer of a scripted provider.
type step struct {
	pieces []AnswerChunk
	err    error
	hang   bool // until the context ends, behind the pieces
}

// script is a provider that says what it was told to, and remembers what it was
// asked.
type script struct {
	steps []step
	asked []Request
}

func (s *script) Stream(ctx context.Context, r Request) iter.Seq2[AnswerChunk, error] {
	return func(yield func(AnswerChunk, error) bool) {
		i := len(s.asked)
		s.asked = append(s.asked, r)
		if i >= len(s.steps) {
			yield(AnswerChunk{}, fmt.Errorf("asked %d times, the script has %d answers", i+1, len(s.steps)))
			return
		}
		for _, p := range s.steps[i].pieces {
			if !yield(p, nil) {
				return
			}
		}
		if s.steps[i].hang {
			<-ctx.Done()
			yield(AnswerChunk{}, ctx.Err())
			return
		}
		if err := s.steps[i].err; err != nil {
			yield(AnswerChunk{}, err)
		}
	}
}

// shelf is tools that note what is called.
type shelf struct {
	tools []Tool
	mu    sync.Mutex
	made  []string
	kept  []string // refused, on record
	call  func(context.Context, Call) Result
}

func (s *shelf) List(context.Context) ([]Tool, error) { return s.tools, nil }

func (s *shelf) Resolve(_ context.Context, c Call) (Tool, error) {
	if c.Name == "call_tool" {
		var in struct{ Name string }
		_ = json.Unmarshal(c.Arguments, &in)
		if in.Name != "hidden__write" {
			return Tool{}, junctor.Errorf(junctor.CodeNotFound, "unknown tool %q", in.Name)
		}
		return Tool{Name: in.Name}, nil
	}
	return *findTool(s.tools, c.Name), nil
}

func (s *shelf) RecordRefusal(_ context.Context, c Call, why error) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = append(s.kept, c.Name+": "+why.Error())
	return "refused-" + c.ID
}

func (s *shelf) Call(ctx context.Context, c Call) Result {
	s.mu.Lock()
	s.made = append(s.made, c.Name)
	s.mu.Unlock()
	if s.call != nil {
		return s.call(ctx, c)
	}
	return Result{Text: "said by " + c.Name, Record: "rec-" + c.ID}
}

func (s *shelf) calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(slices.Values(s.made))
}

func text(s string) AnswerChunk { return AnswerChunk{Text: s} }

func call(id, name, args string) AnswerChunk {
	return AnswerChunk{Call: &Call{ID: id, Name: name, Arguments: json.RawMessage(args)}}
}

func user(s string) Message { return Message{Role: RoleUser, Text: s} }

func named(names ...string) *shelf {
	s := &shelf{}
	for _, n := range names {
		s.tools = append(s.tools, Tool{Name: n, ReadOnly: strings.Contains(n, "read")})
	}
	return s
}

// listen notes events, in one line each.
func listen(lines *[]string) func(Event) {
	return func(e Event) {
		line := string(e.Kind)
		switch {
		case e.Result != nil:
			line += " " + e.ID + " " + e.Result.Text
		case e.Call != nil:
			line += " " + e.Call.ID + " " + e.Call.Name
		case e.Usage != nil:
			line += fmt.Sprintf(" %d+%d", e.Usage.Input, e.Usage.Output)
		case e.Text != "":
			line += " " + e.Text
		}
		*lines = append(*lines, line)
	}
}

func nothing(Event) {}

func TestTalkAndCalls(t *testing.T) {
	t.Parallel()
	tools := named("notes__read", "notes__write")
	p := &script{steps: []step{
		{pieces: []AnswerChunk{text("let me "), text("look"), {Args: &ArgsDelta{ID: "a", Name: "notes__read", Delta: `{"q"`}}, {Args: &ArgsDelta{ID: "a", Delta: `:1}`}}, call("a", "notes__read", `{"q":1}`), {Usage: &Usage{Input: 10, Output: 5}}, {Opaque: json.RawMessage(`["kept"]`)}}},
		{pieces: []AnswerChunk{text("there it is"), {Usage: &Usage{Input: 20, Output: 3}}}},
	}}
	var lines []string
	end := Run(t.Context(), Turn{Provider: p, Tools: tools, Messages: []Message{user("find it")}, Instructions: "be short", Model: "m"}, listen(&lines))
	want := TurnResult{
		Outcome: OutcomeDone, Requests: 2, Calls: 1, Usage: Usage{Input: 30, Output: 8},
		Messages: []Message{
			{Role: RoleAssistant, Text: "let me look", Calls: []Call{{ID: "a", Name: "notes__read", Arguments: json.RawMessage(`{"q":1}`)}}, Thinking: json.RawMessage(`["kept"]`)},
			{Role: RoleTool, Results: []Result{{CallID: "a", Text: "said by notes__read", Record: "rec-a"}}},
			{Role: RoleAssistant, Text: "there it is"},
		},
	}
	if d := cmp.Diff(want, end); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{
		"step", "text-start", "text let me ", "text look", "text-end", "call-start a notes__read", `call-args {"q"`, `call-args :1}`, "call-end a notes__read", "usage 10+5",
		"result a said by notes__read", "step", "text-start", "text there it is", "text-end", "usage 20+3",
	}, lines); d != "" {
		t.Error(d)
	}
	if end.Text() != "there it is" {
		t.Errorf("the last words are %q", end.Text())
	}
	second := p.asked[1]
	if second.Instructions != "be short" || second.Model != "m" || len(second.Messages) != 3 || second.Messages[1].Thinking == nil {
		t.Errorf("asked with %+v", second)
	}
}

func TestCallsAtTheSameTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tools := named("a__slow")
		tools.call = func(_ context.Context, c Call) Result {
			time.Sleep(10 * time.Second)
			return Result{Text: c.ID}
		}
		var pieces []AnswerChunk
		for i := range 8 {
			pieces = append(pieces, call(fmt.Sprint("c", i), "a__slow", `{}`))
		}
		p := &script{steps: []step{{pieces: pieces}, {pieces: []AnswerChunk{text("done")}}}}
		began := time.Now()
		end := Run(t.Context(), Turn{Provider: p, Tools: tools}, nothing)
		if took := time.Since(began); end.Outcome != OutcomeDone || took != 20*time.Second {
			t.Errorf("%s after %s: eight calls, four at a time, of 10 s", end.Outcome, took)
		}
		for i, res := range end.Messages[1].Results {
			if want := fmt.Sprint("c", i); res.CallID != want || res.Text != want {
				t.Errorf("result %d is %+v", i, res)
			}
		}
	})
}

func TestWhatIsNotMade(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, tool, args string
		says             string
	}{
		{"an unknown tool, with the closest", "notes__reed", `{}`, `unknown tool "notes__reed"; did you mean notes__read?`},
		{"the server's own name alone", "read", `{}`, `did you mean notes__read?`},
		{"a tool like no other", "rm_rf", `{}`, `use one of the given tools`},
		{"arguments that are no JSON", "notes__read", `{"a":`, "not a JSON object"},
		{"arguments that are a list", "notes__read", `[1]`, "not a JSON object"},
		{"a name twice", "notes__read", `{"a":1,"a":2}`, "not a JSON object"},
		{"found, but not to be used", "call_tool", `{"name":"secret__x"}`, `unknown tool "secret__x"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tools := named("notes__read", "call_tool")
			tools.tools[0].OriginalName = "read"
			p := &script{steps: []step{{pieces: []AnswerChunk{call("1", c.tool, c.args)}}, {pieces: []AnswerChunk{text("sorry")}}}}
			end := Run(t.Context(), Turn{Provider: p, Tools: tools}, nothing)
			if end.Outcome != OutcomeDone || len(tools.calls()) > 0 || end.Calls != 0 {
				t.Fatalf("%+v, made %v", end, tools.calls())
			}
			res := end.Messages[1].Results[0]
			if len(tools.kept) != 1 || !strings.HasPrefix(tools.kept[0], c.tool+": ") || res.Record != "refused-1" {
				t.Errorf("on record: %q, as %q", tools.kept, res.Record)
			}
			if !res.IsError || !strings.Contains(res.Text, c.says) {
				t.Errorf("the model hears %q, not %q", res.Text, c.says)
			}
			if _, err := json.Marshal(end.Messages); err != nil {
				t.Errorf("the story cannot be kept: %v", err)
			}
		})
	}
}

func TestNoArgumentsAreAnEmptyObject(t *testing.T) {
	t.Parallel()
	tools := named("a__read")
	tools.call = func(_ context.Context, c Call) Result { return Result{Text: string(c.Arguments)} }
	p := &script{steps: []step{{pieces: []AnswerChunk{call("1", "a__read", ``)}}, {}}}
	end := Run(t.Context(), Turn{Provider: p, Tools: tools}, nothing)
	if got := end.Messages[1].Results[0].Text; got != "{}" {
		t.Errorf("called with %q", got)
	}
}

func TestApprovals(t *testing.T) {
	t.Parallel()
	turn := func(p *script, tools *shelf) Turn {
		return Turn{
			Provider: p, Tools: tools, Messages: []Message{user("do it")},
			NeedsApproval: func(t Tool, _ Call) bool { return !t.ReadOnly },
		}
	}
	begin := func(t *testing.T) (*script, *shelf, Turn, TurnResult) {
		t.Helper()
		tools := named("a__read", "a__write", "call_tool")
		p := &script{steps: []step{
			{pieces: []AnswerChunk{call("1", "a__read", `{}`), call("2", "a__write", `{}`), call("3", "call_tool", `{"name":"hidden__write"}`)}},
			{pieces: []AnswerChunk{text("so be it")}},
		}}
		next := turn(p, tools)
		end := Run(t.Context(), next, nothing)
		if end.Outcome != OutcomeWaiting || len(end.Waiting) != 2 || !slices.Equal(tools.calls(), []string{"a__read"}) {
			t.Fatalf("%+v, made %v", end, tools.calls())
		}
		next.Messages = append(next.Messages, end.Messages...)
		return p, tools, next, end
	}
	t.Run("one allowed, one denied", func(t *testing.T) {
		t.Parallel()
		p, tools, next, _ := begin(t)
		next.Decisions = map[string]Decision{"2": {Allow: true}, "3": {Reason: "too early"}}
		end := Run(t.Context(), next, nothing)
		if end.Outcome != OutcomeDone || !slices.Equal(tools.calls(), []string{"a__read", "a__write"}) {
			t.Fatalf("%+v, made %v", end, tools.calls())
		}
		res := end.Messages[0].Results
		if len(res) != 2 || res[0].Denied || !res[1].Denied || !strings.HasSuffix(res[1].Text, "too early") {
			t.Errorf("%+v", res)
		}
		if last := p.asked[1].Messages; len(last) != 3 || len(last[2].Results) != 3 {
			t.Errorf("the model was asked with %+v", last)
		}
	})
	t.Run("one decided, one still open", func(t *testing.T) {
		t.Parallel()
		p, tools, next, _ := begin(t)
		next.Decisions = map[string]Decision{"2": {Allow: true}}
		end := Run(t.Context(), next, nothing)
		if end.Outcome != OutcomeWaiting || len(end.Waiting) != 1 || end.Waiting[0].ID != "3" || len(p.asked) != 1 {
			t.Errorf("%+v", end)
		}
		if !slices.Equal(tools.calls(), []string{"a__read", "a__write"}) {
			t.Errorf("made %v", tools.calls())
		}
	})
	t.Run("the person talks instead", func(t *testing.T) {
		t.Parallel()
		p, tools, next, _ := begin(t)
		next.Messages = append(next.Messages, user("never mind"))
		end := Run(t.Context(), next, nothing)
		if end.Outcome != OutcomeDone || !slices.Equal(tools.calls(), []string{"a__read"}) {
			t.Errorf("%+v, made %v", end, tools.calls())
		}
		if last := p.asked[1].Messages; len(last[2].Results) != 3 || !last[2].Results[2].IsError {
			t.Errorf("the model was asked with %+v", last)
		}
	})
	t.Run("taken away meanwhile", func(t *testing.T) {
		t.Parallel()
		_, tools, next, _ := begin(t)
		tools.tools = tools.tools[:1]
		next.Decisions = map[string]Decision{"2": {Allow: true}, "3": {Allow: true}}
		end := Run(t.Context(), next, nothing)
		if end.Outcome != OutcomeDone || !slices.Equal(tools.calls(), []string{"a__read"}) {
			t.Errorf("%+v, made %v", end, tools.calls())
		}
	})
}

func TestCallsOfALostRunAreNotMadeAgain(t *testing.T) {
	t.Parallel()
	tools := named("a__read")
	p := &script{steps: []step{{pieces: []AnswerChunk{text("I do not know")}}}}
	end := Run(t.Context(), Turn{Provider: p, Tools: tools, Messages: []Message{
		user("go"), {Role: RoleAssistant, Calls: []Call{{ID: "1", Name: "a__read"}}},
	}}, nothing)
	if end.Outcome != OutcomeDone || len(tools.calls()) > 0 || !strings.Contains(end.Messages[0].Results[0].Text, "lost") {
		t.Errorf("%+v, made %v", end, tools.calls())
	}
}

func TestIDsThatAModelRepeats(t *testing.T) {
	t.Parallel()
	tools := named("a__read")
	p := &script{steps: []step{
		{pieces: []AnswerChunk{call("x", "a__read", `{}`), call("x", "a__read", `{}`), call("", "a__read", `{}`), call("no/id", "a__read", `{}`)}},
		{pieces: []AnswerChunk{call("x", "a__read", `{}`)}},
		{},
	}}
	end := Run(t.Context(), Turn{Provider: p, Tools: tools}, nothing)
	seen := map[string]bool{}
	for _, m := range end.Messages {
		for _, c := range m.Calls {
			if seen[c.ID] || !callIDPattern.MatchString(c.ID) {
				t.Errorf("the id %q", c.ID)
			}
			seen[c.ID] = true
		}
		for _, res := range m.Results {
			if !seen[res.CallID] {
				t.Errorf("a result of %q", res.CallID)
			}
		}
	}
	if len(seen) != 5 || !seen["x"] {
		t.Errorf("the ids are %v", seen)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	forever := func(n int, pieces ...AnswerChunk) *script {
		return &script{steps: slices.Repeat([]step{{pieces: pieces}}, n)}
	}
	for _, c := range []struct {
		name   string
		p      *script
		limits Limits
		says   string
		turns  int
		calls  int
	}{
		{"turns", forever(9, call("", "a__read", `{}`)), Limits{}, "limit of 8 model requests", 8, 8},
		{"calls", forever(9, slices.Repeat([]AnswerChunk{call("", "a__read", `{}`)}, 5)...), Limits{}, "16 calls", 4, 16},
		{"tokens", forever(9, AnswerChunk{Usage: &Usage{Input: 40, Output: 20}}, call("", "a__read", `{}`)), Limits{Tokens: 100}, "the run used 120 tokens; its limit is 100", 2, 2},
		{"tokens that nobody counts", forever(9, text(strings.Repeat("word ", 200)), call("", "a__read", `{}`)), Limits{Tokens: 300}, "its limit is 300", 2, 2},
		{"a long answer", forever(1, text("and then"), AnswerChunk{StopReason: StopLength}), Limits{}, "cut after 8192 tokens", 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tools := named("a__read")
			end := Run(t.Context(), Turn{Provider: c.p, Tools: tools, Limits: c.limits}, nothing)
			if end.Outcome != OutcomeLimit || !strings.Contains(end.Reason, c.says) || end.Requests != c.turns || end.Calls != c.calls || len(tools.calls()) != c.calls {
				t.Errorf("%s %q after %d turns and %d calls (%d made)", end.Outcome, end.Reason, end.Requests, end.Calls, len(tools.calls()))
			}
			if open := UnansweredCalls(end.Messages); len(open) > 0 {
				t.Errorf("calls without a result: %v", open)
			}
		})
	}
}

func TestTime(t *testing.T) {
	t.Parallel()
	t.Run("of a call", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			tools := named("a__read")
			tools.call = func(ctx context.Context, _ Call) Result {
				<-ctx.Done()
				return Result{IsError: true, Text: ctx.Err().Error()}
			}
			began := time.Now()
			end := Run(t.Context(), Turn{Provider: &script{steps: []step{{pieces: []AnswerChunk{call("1", "a__read", `{}`)}}, {}}}, Tools: tools, Limits: junctor.TurnLimits{CallSeconds: 60}}, nothing)
			if end.Outcome != OutcomeDone || time.Since(began) != time.Minute {
				t.Errorf("%+v after %s", end, time.Since(began))
			}
		})
	})
	t.Run("of all", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			end := Run(t.Context(), Turn{Provider: &script{steps: []step{{pieces: []AnswerChunk{text("I was ab")}, hang: true}}}}, nothing)
			if end.Outcome != OutcomeLimit || time.Since(began) != 10*time.Minute || end.Text() != "I was ab" {
				t.Errorf("%+v after %s", end, time.Since(began))
			}
		})
	})
}

func TestCancel(t *testing.T) {
	t.Parallel()
	t.Run("in the middle of an answer", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		p := &script{steps: []step{{pieces: []AnswerChunk{call("1", "a__read", `{}`), text("half")}, hang: true}}}
		tools := named("a__read")
		end := Run(ctx, Turn{Provider: p, Tools: tools}, func(e Event) {
			if e.Kind == EventText {
				cancel()
			}
		})
		if end.Outcome != OutcomeCancelled || end.Text() != "half" || len(end.Messages[0].Calls) > 0 || len(tools.calls()) > 0 {
			t.Errorf("%+v, made %v", end, tools.calls())
		}
	})
	t.Run("in the middle of a call", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		p := &script{steps: []step{{pieces: slices.Repeat([]AnswerChunk{call("", "a__read", `{}`)}, 6)}}}
		tools := named("a__read")
		tools.call = func(ctx context.Context, _ Call) Result {
			cancel()
			<-ctx.Done()
			return Result{IsError: true, Text: "cancelled"}
		}
		end := Run(ctx, Turn{Provider: p, Tools: tools}, nothing)
		if end.Outcome != OutcomeCancelled || len(end.Messages) != 2 || len(end.Messages[1].Results) != 6 {
			t.Errorf("%+v", end)
		}
	})
}

func TestRetries(t *testing.T) {
	t.Parallel()
	busy := func(after time.Duration) step {
		return step{err: &ProviderError{Message: "the model is busy", Retryable: true, RetryAfter: after}}
	}
	for _, c := range []struct {
		name    string
		steps   []step
		outcome Outcome
		took    time.Duration
		asked   int
		says    string
	}{
		{"as long as the other side says", []step{busy(7 * time.Second), {pieces: []AnswerChunk{text("hi")}}}, OutcomeDone, 7 * time.Second, 2, ""},
		{"longer each time where it does not", []step{busy(0), busy(0), busy(0), {pieces: []AnswerChunk{text("hi")}}}, OutcomeDone, 3500 * time.Millisecond, 4, ""},
		{"not for ever", slices.Repeat([]step{busy(0)}, 9), OutcomeFailed, 3500 * time.Millisecond, 4, "busy"},
		{"not beyond the time of the run", []step{busy(time.Hour), {}}, OutcomeFailed, 0, 1, "in 1h0m0s"},
		{"not when it would not help", []step{{err: &ProviderError{Message: "the key is wrong"}}, {}}, OutcomeFailed, 0, 1, "the key is wrong"},
		{"not when the answer had begun", []step{{pieces: []AnswerChunk{text("as I")}, err: &ProviderError{Message: "it broke off", Retryable: true}}, {}}, OutcomeFailed, 0, 1, "broke off"},
		{"not when nobody knows why", []step{{err: errors.New("hm")}, {}}, OutcomeFailed, 0, 1, "hm"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := &script{steps: c.steps}
				began := time.Now()
				end := Run(t.Context(), Turn{Provider: p}, nothing)
				if took := time.Since(began); end.Outcome != c.outcome || took != c.took || len(p.asked) != c.asked || !strings.Contains(end.Reason, c.says) {
					t.Errorf("%s %q after %s, asked %d times", end.Outcome, end.Reason, took, len(p.asked))
				}
				if end.Requests != 1 {
					t.Errorf("counts as %d turns", end.Requests)
				}
			})
		})
	}
}

func TestACutStreamMakesNoCall(t *testing.T) {
	t.Parallel()
	tools := named("a__write")
	p := &script{steps: []step{{pieces: []AnswerChunk{text("now"), call("1", "a__write", `{}`)}, err: &ProviderError{Message: "the stream was cut", Retryable: true}}}}
	end := Run(t.Context(), Turn{Provider: p, Tools: tools}, nothing)
	want := []Message{{Role: RoleAssistant, Text: "now"}}
	if d := cmp.Diff(want, end.Messages, cmpopts.EquateEmpty()); end.Outcome != OutcomeFailed || len(tools.calls()) > 0 || d != "" {
		t.Errorf("%s, made %v: %s", end.Outcome, tools.calls(), d)
	}
}

type panics struct{}

func (panics) Stream(context.Context, Request) iter.Seq2[AnswerChunk, error] { panic("oh") }

func TestPanicsStayInside(t *testing.T) {
	t.Parallel()
	if end := Run(t.Context(), Turn{Provider: panics{}}, nothing); end.Outcome != OutcomeFailed || !strings.Contains(end.Reason, "oh") {
		t.Errorf("%+v", end)
	}
	tools := named("a__read")
	tools.call = func(context.Context, Call) Result { panic("oh") }
	end := Run(t.Context(), Turn{Provider: &script{steps: []step{{pieces: []AnswerChunk{call("1", "a__read", `{}`)}}, {pieces: []AnswerChunk{text("well")}}}}, Tools: tools}, nothing)
	if end.Outcome != OutcomeDone || !end.Messages[1].Results[0].IsError {
		t.Errorf("%+v", end)
	}
	if end := Run(t.Context(), Turn{}, nothing); end.Outcome != OutcomeFailed || !strings.Contains(end.Reason, "brain") {
		t.Errorf("%+v", end)
	}
}

func TestAnAgentWithoutToolsStillTalks(t *testing.T) {
	t.Parallel()
	p := &script{steps: []step{{pieces: []AnswerChunk{call("1", "a__read", `{}`)}}, {pieces: []AnswerChunk{text("hello")}}}}
	end := Run(t.Context(), Turn{Provider: p}, nothing)
	if end.Outcome != OutcomeDone || end.Text() != "hello" || !strings.Contains(end.Messages[1].Results[0].Text, "has no tools") {
		t.Errorf("%+v", end)
	}
}

func TestAnswersWithoutEnd(t *testing.T) {
	t.Parallel()
	for name, piece := range map[string]AnswerChunk{
		"text": text(strings.Repeat("x", 1<<16)), "thinking": {Thinking: strings.Repeat("x", 1<<16)}, "calls": call("", "a__read", `{}`),
		"arguments": {Args: &ArgsDelta{ID: "1", Name: "a__read", Delta: strings.Repeat("x", 1<<16)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tools := named("a__read")
			end := Run(t.Context(), Turn{Provider: endless{piece}, Tools: tools}, nothing)
			if end.Outcome != OutcomeFailed || len(tools.calls()) > 0 {
				t.Errorf("%s %q, made %v", end.Outcome, end.Reason, tools.calls())
			}
		})
	}
}

type endless struct{ piece AnswerChunk }

func (e endless) Stream(context.Context, Request) iter.Seq2[AnswerChunk, error] {
	return func(yield func(AnswerChunk, error) bool) {
		for yield(e.piece, nil) {
		}
	}
}
