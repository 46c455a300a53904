package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// adversary is a model that says whatever the test draws, for as long as it is
// asked: calls of tools that it does not have, by ids of others, with arguments
// that are none, in streams that break.
type adversary struct {
	t     *rapid.T
	names []string
	asked int
	wrong string // what it was asked that it must not be; a run takes panics, so it cannot fail by itself
}

func (a *adversary) Stream(ctx context.Context, r Request) iter.Seq2[AnswerChunk, error] {
	return func(yield func(AnswerChunk, error) bool) {
		a.asked++
		for _, m := range r.Messages {
			if len(callsWithoutResult(m.Calls, r.Messages)) > 0 {
				a.wrong = fmt.Sprintf("asked with calls that have no result: %+v", r.Messages)
			}
		}
		ids := []string{"", "1", "2", "same", "ü", "an id with spaces"}
		for range rapid.IntRange(0, 8).Draw(a.t, "pieces") {
			p := AnswerChunk{Text: "word"}
			switch rapid.IntRange(0, 7).Draw(a.t, "kind") {
			case 0, 1, 2:
				p = AnswerChunk{Call: &Call{
					ID: rapid.SampledFrom(ids).Draw(a.t, "id"), Name: rapid.SampledFrom(a.names).Draw(a.t, "name"),
					Arguments: json.RawMessage(rapid.SampledFrom([]string{`{}`, ``, `{"name":"hidden__write"}`, `{"name":"secret__x"}`, `[`, `{"a":1,"a":2}`, `null`}).Draw(a.t, "arguments")),
				}}
			case 3:
				p = AnswerChunk{Args: &ArgsDelta{ID: rapid.SampledFrom(ids).Draw(a.t, "id"), Name: rapid.SampledFrom(a.names).Draw(a.t, "name"), Delta: "{"}}
			case 4:
				p = AnswerChunk{Usage: &Usage{Input: rapid.IntRange(0, 50_000).Draw(a.t, "input"), Output: rapid.IntRange(0, 9_000).Draw(a.t, "output")}}
			case 5:
				p = AnswerChunk{StopReason: rapid.SampledFrom([]string{StopLength, "end_turn", "?"}).Draw(a.t, "stop")}
			case 6:
				p = AnswerChunk{} // nothing at all
			}
			if !yield(p, nil) {
				return
			}
		}
		switch rapid.IntRange(0, 12).Draw(a.t, "ending") {
		case 0:
			yield(AnswerChunk{}, &ProviderError{Message: "busy", Retryable: true, RetryAfter: time.Duration(rapid.IntRange(0, 900).Draw(a.t, "after")) * time.Second})
		case 1:
			<-ctx.Done()
			yield(AnswerChunk{}, ctx.Err())
		case 2:
			panic("the model panics")
		}
	}
}

// Whatever a model says: nothing outside the list is called, nothing that wants
// a person's word is called without it, the limits hold, and the run ends with a
// story that can be kept and gone on with.
func TestNothingTheModelSaysGoesBeyond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { rapid.Check(bubble{t}, adversarial) })
}

// bubble is a test whose time is not real, and so has no deadline.
type bubble struct{ rapid.TB }

func adversarial(t *rapid.T) {
	all := []string{"a__read", "a__write", "b__read", "b__write", "call_tool"}
	allowed := rapid.SliceOfDistinct(rapid.SampledFrom(all), func(s string) string { return s }).Draw(t, "allowed")
	tools := named(allowed...)
	granted := map[string]bool{}
	var alone atomic.Pointer[Call] // one that was made without a person's word
	wants := func(t Tool, _ Call) bool { return t.Name == "a__write" || t.Name == "hidden__write" }
	tools.call = func(ctx context.Context, c Call) Result {
		if meant, err := tools.Resolve(ctx, c); err != nil || wants(meant, c) && !granted[c.ID] {
			alone.Store(&c)
		}
		select {
		case <-ctx.Done():
		case <-time.After(40 * time.Second):
		}
		return Result{Text: "ok"}
	}
	limits := Limits{
		Turns: rapid.IntRange(0, 6).Draw(t, "turns"), Calls: rapid.IntRange(0, 6).Draw(t, "calls"),
		Seconds: rapid.IntRange(0, 120).Draw(t, "seconds"), Tokens: rapid.IntRange(0, 100_000).Draw(t, "tokens"),
	}
	p := &adversary{t: t, names: append(slices.Clone(all), "hidden__write", "", "rm -rf", "a__reed")}
	turn := Turn{
		Provider: p, Tools: tools, Limits: limits, Messages: []Message{user("go")},
		NeedsApproval: wants,
	}
	for range 3 { // it goes on with the same story
		made := len(tools.calls())
		asked, began := p.asked, time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
		end := Run(ctx, turn, nothing)
		cancel()
		if p.wrong != "" {
			t.Fatal(p.wrong)
		}
		bound := limits.Or(Limits{Turns: 8, Calls: 16, Seconds: 600, Tokens: 200_000})
		if n := len(tools.calls()) - made; n > bound.Calls || n != end.Calls {
			t.Fatalf("%d calls were made, %d told of, %d may be", n, end.Calls, bound.Calls)
		}
		if end.Requests > bound.Turns || p.asked-asked > bound.Turns*(1+maxRetries) {
			t.Fatalf("asked %d times in %d turns, %d may be", p.asked-asked, end.Requests, bound.Turns)
		}
		if took := time.Since(began); took > time.Duration(bound.Seconds)*time.Second {
			t.Fatalf("it took %s", took)
		}
		for _, name := range tools.calls() {
			if !slices.Contains(allowed, name) {
				t.Fatalf("%q was called, the list is %v", name, allowed)
			}
		}
		if c := alone.Load(); c != nil {
			t.Fatalf("called without a person's word: %+v", c)
		}
		if end.Outcome == "" || end.Outcome != OutcomeDone && end.Reason == "" || end.Outcome == OutcomeWaiting && len(end.Waiting) == 0 {
			t.Fatalf("%+v", end)
		}
		if _, err := json.Marshal(end.Messages); err != nil {
			t.Fatalf("the story cannot be kept: %v", err)
		}
		turn.Messages = append(turn.Messages, end.Messages...)
		turn.Decisions = map[string]Decision{}
		for _, c := range end.Waiting {
			switch rapid.IntRange(0, 2).Draw(t, "decision") { // or none
			case 0:
				turn.Decisions[c.ID], granted[c.ID] = Decision{Allow: true}, true
			case 1:
				turn.Decisions[c.ID] = Decision{}
			}
		}
		if rapid.Bool().Draw(t, "the person talks") {
			turn.Messages = append(turn.Messages, user("and?"))
		}
	}
}
