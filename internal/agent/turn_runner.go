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

// maxAnswerTokens bounds one answer of the provider.
const maxAnswerTokens = 8192

// turnRunner is the state of one turn while Run executes it.
type turnRunner struct {
	Turn
	emit         func(Event)
	conversation []Message // the messages of the turn, followed by those of end
	end          TurnResult
	callerCtx    context.Context // the caller's context, without the time limit of the turn
}

// Run executes a turn and returns its result. It calls emit for every event, never
// concurrently.
//
// Run always returns, as long as the provider and the tools obey their contexts,
// and it does not panic: a panic becomes the outcome OutcomeFailed. The limits of the turn
// always hold.
func Run(ctx context.Context, t Turn, emit func(Event)) (end TurnResult) {
	r := &turnRunner{Turn: t, emit: emit, callerCtx: ctx, conversation: slices.Clone(t.Messages)}
	r.Limits = t.Limits.Or(junctor.DefaultTurnLimits())
	if r.Tools == nil {
		r.Tools = NoTools{}
	}
	defer func() {
		if p := recover(); p != nil {
			r.finish(OutcomeFailed, fmt.Sprintf("the run failed with an internal error: %v", p))
			end = r.end
		}
	}()
	most := time.Duration(r.Limits.Seconds) * time.Second
	ctx, cancel := context.WithTimeoutCause(ctx, most, &junctor.Error{
		Code: junctor.CodeTimeout, Message: fmt.Sprintf("the agent's turn took longer than %s (seconds of the agent's limits; raise it there)", junctor.Duration(most)),
		TimeLimit: &junctor.TimeLimit{Name: "seconds", SetBy: junctor.LimitOfCaller, Limit: most},
	})
	defer cancel()
	r.runTurn(ctx)
	return r.end
}

// runTurn asks the provider and makes its calls until there is an outcome. A turn
// whose conversation ends with unanswered calls resumes them first.
func (r *turnRunner) runTurn(ctx context.Context) {
	if r.Provider == nil {
		r.finish(OutcomeFailed, "the agent has neither a model nor rules: set its brain")
		return
	}
	if open := UnansweredCalls(r.conversation); len(open) > 0 && !r.resumeCalls(ctx, open) {
		return
	}
	for {
		if r.endIfTimeUp(ctx) || r.endIfLimitReached() {
			return
		}
		tools, err := r.Tools.List(ctx)
		if err != nil {
			r.endWithError(ctx, err)
			return
		}
		a, err := r.askProvider(ctx, tools)
		if m := a.toMessage(err == nil); m.Text != "" || len(m.Calls) > 0 || len(m.Surfaces) > 0 {
			r.addMessage(m)
		}
		if err != nil {
			r.endWithError(ctx, err)
			return
		}
		switch {
		case len(a.calls) > 0:
			if !r.makeRequestedCalls(ctx, a.calls, tools) {
				return
			}
		case a.stop == StopLength:
			r.finish(OutcomeLimit, fmt.Sprintf("the answer was cut after %d tokens", r.remainingTokens()))
			return
		default:
			r.finish(OutcomeDone, "")
			return
		}
	}
}

// addMessage appends a message to the conversation and to the result.
func (r *turnRunner) addMessage(m Message) {
	r.conversation = append(r.conversation, m)
	r.end.Messages = append(r.end.Messages, m)
}

// finish sets the outcome.
func (r *turnRunner) finish(o Outcome, reason string) { r.end.Outcome, r.end.Reason = o, reason }

// endIfTimeUp finishes the turn if the caller cancelled it or its time is over, and
// reports whether it did. Cancellation by the caller comes first: it also ends ctx.
func (r *turnRunner) endIfTimeUp(ctx context.Context) bool {
	switch {
	case r.callerCtx.Err() != nil:
		r.finish(OutcomeCancelled, "the run was stopped")
	case ctx.Err() != nil:
		r.finish(OutcomeLimit, fmt.Sprintf("the run took longer than its limit of %d s", r.Limits.Seconds))
	default:
		return false
	}
	return true
}

// endIfLimitReached finishes the turn if it may ask the provider no more, and
// reports whether it did.
func (r *turnRunner) endIfLimitReached() bool {
	switch {
	case r.end.Requests >= r.Limits.Turns:
		r.finish(OutcomeLimit, fmt.Sprintf("the run reached its limit of %d model requests", r.Limits.Turns))
	case r.end.Usage.Total() >= r.Limits.Tokens:
		r.finish(OutcomeLimit, fmt.Sprintf("the run used %d tokens; its limit is %d", r.end.Usage.Total(), r.Limits.Tokens))
	default:
		return false
	}
	return true
}

// remainingTokens returns the limit of the next answer.
func (r *turnRunner) remainingTokens() int {
	return max(1, min(maxAnswerTokens, r.Limits.Tokens-r.end.Usage.Total()))
}

// endWithError finishes the turn as failed. An error after the end of the time is a
// consequence of that, so the time is reported instead.
func (r *turnRunner) endWithError(ctx context.Context, err error) {
	if r.endIfTimeUp(ctx) {
		return
	}
	if e, ok := errors.AsType[*junctor.Error](err); ok {
		r.finish(OutcomeFailed, e.Message)
		return
	}
	r.finish(OutcomeFailed, err.Error())
}

// newID returns a new id of a message or call. It matches callIDPattern.
func newID(kind string) string { return kind + "_" + rand.Text()[:16] }
