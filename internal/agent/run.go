package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// maxAnswer is how many tokens one answer may have.
const maxAnswer = 8192

// run is one turn on its way.
type run struct {
	Turn
	emit  func(Event)
	story []Message // the turn's, and behind them those of end
	end   End
	whole context.Context // the caller's, without the limit of time
}

// Run takes a turn until it has an End. It always ends, whatever provider and
// tools do as long as they heed their contexts, and does not panic; the limits
// hold. emit is told what happens, never twice at the same time.
func Run(ctx context.Context, t Turn, emit func(Event)) (end End) {
	r := &run{Turn: t, emit: emit, whole: ctx, story: slices.Clone(t.Messages)}
	r.Limits = t.Limits.Or(junctor.DefaultTurnLimits())
	if r.Tools == nil {
		r.Tools = NoTools{}
	}
	defer func() {
		if p := recover(); p != nil {
			r.finish(Failed, fmt.Sprintf("the run failed inside: %v", p))
			end = r.end
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, time.Duration(r.Limits.Seconds)*time.Second)
	defer cancel()
	r.turn(ctx)
	return r.end
}

// turn asks and answers until there is an outcome.
func (r *run) turn(ctx context.Context) {
	if r.Provider == nil {
		r.finish(Failed, "the agent has no model and no rules: give it a brain")
		return
	}
	if open := unanswered(r.story); len(open) > 0 && !r.resume(ctx, open) {
		return
	}
	for {
		if r.over(ctx) || r.spent() {
			return
		}
		tools, err := r.Tools.List(ctx)
		if err != nil {
			r.broken(ctx, err)
			return
		}
		a, err := r.ask(ctx, tools)
		if m := a.message(err == nil); m.Text != "" || len(m.Calls) > 0 || len(m.Surfaces) > 0 {
			r.add(m)
		}
		if err != nil {
			r.broken(ctx, err)
			return
		}
		switch {
		case len(a.calls) > 0:
			if !r.fulfil(ctx, a.calls, tools) {
				return
			}
		case a.stop == StopLength:
			r.finish(Limit, fmt.Sprintf("the answer was cut after %d tokens", r.room()))
			return
		default:
			r.finish(Done, "")
			return
		}
	}
}

// add puts a message behind the story.
func (r *run) add(m Message) {
	r.story = append(r.story, m)
	r.end.Messages = append(r.end.Messages, m)
}

func (r *run) finish(o Outcome, reason string) { r.end.Outcome, r.end.Reason = o, reason }

// over ends the run where its time is.
func (r *run) over(ctx context.Context) bool {
	switch {
	case r.whole.Err() != nil:
		r.finish(Cancelled, "it was stopped")
	case ctx.Err() != nil:
		r.finish(Limit, fmt.Sprintf("it took longer than %d s", r.Limits.Seconds))
	default:
		return false
	}
	return true
}

// spent ends the run where nothing is left of what it may use.
func (r *run) spent() bool {
	switch {
	case r.end.Turns >= r.Limits.Turns:
		r.finish(Limit, fmt.Sprintf("the model was asked %d times, as often as it may be", r.Limits.Turns))
	case r.end.Usage.Total() >= r.Limits.Tokens:
		r.finish(Limit, fmt.Sprintf("%d tokens were used; %d may be", r.end.Usage.Total(), r.Limits.Tokens))
	default:
		return false
	}
	return true
}

// room is how long the next answer may be.
func (r *run) room() int { return max(1, min(maxAnswer, r.Limits.Tokens-r.end.Usage.Total())) }

// broken ends the run with what went wrong, unless its time was over anyway.
func (r *run) broken(ctx context.Context, err error) {
	if r.over(ctx) {
		return
	}
	if e, ok := errors.AsType[*junctor.Error](err); ok {
		r.finish(Failed, e.Message)
		return
	}
	r.finish(Failed, err.Error())
}

// newID makes the id of a message or call.
func newID(kind string) string { return kind + "_" + rand.Text()[:16] }
