package agent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/a2ui"
	"github.com/junctor-mcp/junctor/internal/catalog"
)

// maxParallel bounds the calls of one answer that run at the same time.
const maxParallel = 4

// makeRequestedCalls makes the calls of an answer, or gives the model the reason
// why not. It returns false if the turn has ended.
func (r *turnRunner) makeRequestedCalls(ctx context.Context, calls []Call, tools []Tool) bool {
	r.normalizeArguments(calls)
	return r.judgeAndMakeCalls(ctx, calls, func(c *Call) (Result, callVerdict) {
		t := findTool(tools, c.Name)
		if t == nil {
			return r.recordRefusal(ctx, *c, junctor.Errorf(junctor.CodeNotFound, "%s", explainUnknownTool(tools, c.Name))), refuseCall
		}
		if !isObject(c.Arguments) {
			return r.recordRefusal(ctx, *c, junctor.Errorf(junctor.CodeInvalid, "the arguments are not a JSON object without duplicate members: the call was not made")), refuseCall
		}
		meant, err := r.Tools.Resolve(ctx, *c)
		if err != nil {
			return r.recordRefusal(ctx, *c, err), refuseCall
		}
		if r.NeedsApproval != nil && r.NeedsApproval(meant, *c) {
			c.Digest = meant.Digest
			return Result{}, awaitApproval
		}
		return Result{}, makeCall
	})
}

// normalizeArguments makes the calls in the conversation ones that can be stored
// and sent to a provider again: invalid arguments become an empty object there.
// calls keeps the invalid arguments, so that they are refused.
func (r *turnRunner) normalizeArguments(calls []Call) {
	kept := slices.Clone(calls)
	for i, c := range kept {
		if len(bytes.TrimSpace(c.Arguments)) == 0 {
			calls[i].Arguments = json.RawMessage("{}")
			kept[i].Arguments = calls[i].Arguments
		} else if !isObject(c.Arguments) {
			kept[i].Arguments = json.RawMessage("{}")
		}
	}
	r.conversation[len(r.conversation)-1].Calls = kept
	r.end.Messages[len(r.end.Messages)-1].Calls = kept
}

// resumeCalls continues calls that a former turn left without a result. Allowed
// calls are made, denied ones are refused, and calls that still need an approval
// wait on. Any other call may or may not have been made, so it gets a result that
// says so. It returns false if the turn has ended.
func (r *turnRunner) resumeCalls(ctx context.Context, open []Call) bool {
	tools, err := r.Tools.List(ctx)
	if err != nil {
		r.endWithError(ctx, err)
		return false
	}
	return r.judgeAndMakeCalls(ctx, open, func(c *Call) (Result, callVerdict) {
		d, decided := r.Decisions[c.ID]
		if decided && !d.Allow {
			res := newRefusal(*c, strings.TrimSuffix("the user did not allow this call, so it was not made: "+d.Reason, ": "))
			res.Denied = true
			return res, refuseCall
		}
		t := findTool(tools, c.Name)
		if t == nil { // the tool was removed meanwhile
			return r.recordRefusal(ctx, *c, junctor.Errorf(junctor.CodeNotFound, "%s", explainUnknownTool(tools, c.Name))), refuseCall
		}
		meant, err := r.Tools.Resolve(ctx, *c)
		switch {
		case err != nil:
			return r.recordRefusal(ctx, *c, err), refuseCall
		case decided && (d.Digest == "" || d.Digest == meant.Digest):
			return Result{}, makeCall
		case decided: // the tool has changed since the person was asked
			c.Digest = meant.Digest
			return Result{}, awaitApproval
		case r.NeedsApproval != nil && r.NeedsApproval(meant, *c):
			c.Digest = meant.Digest
			return Result{}, awaitApproval
		}
		return newLostResult(*c), refuseCall
	})
}

// callVerdict is how to proceed with a call.
type callVerdict uint8

const (
	refuseCall callVerdict = iota
	awaitApproval
	makeCall
)

// judgeAndMakeCalls judges each call in order and makes those that may be made, in
// parallel. In the end every call has a result, in the order of the calls, unless
// it waits for an approval. It returns false if the turn has ended.
func (r *turnRunner) judgeAndMakeCalls(ctx context.Context, calls []Call, judge func(*Call) (Result, callVerdict)) bool {
	results := make([]*Result, len(calls))
	var jobs []int
	var shown []a2ui.Surface
	full, emitted := false, 0
	for i, c := range calls {
		res, v := judge(&c)
		switch {
		case v == awaitApproval:
			r.end.Waiting = append(r.end.Waiting, c)
			r.keepDigest(&c)
			continue
		case v == makeCall && r.end.Calls >= r.Limits.Calls:
			full = true
			res = newRefusal(c, fmt.Sprintf("not made: this run has reached its limit of %d calls", r.Limits.Calls))
		case v == makeCall:
			r.end.Calls++
			jobs = append(jobs, i)
			continue
		}
		results[i] = &res
		r.emit(Event{Kind: EventResult, ID: c.ID, Result: &res})
	}
	for i, res := range r.callInParallel(ctx, calls, jobs) {
		res.CallID = calls[i].ID
		shown = append(shown, r.extractSurfaces(&res)...)
		results[i] = &res
		r.emit(Event{Kind: EventResult, ID: res.CallID, Result: &res})
		for j := range shown[emitted:] {
			r.emit(Event{Kind: EventSurface, ID: res.CallID, Surface: &shown[emitted+j]})
		}
		emitted = len(shown)
	}
	m := Message{Role: RoleTool, Surfaces: shown}
	for _, res := range results {
		if res != nil {
			m.Results = append(m.Results, *res)
		}
	}
	if len(m.Results) > 0 {
		r.addMessage(m)
	}
	switch {
	case r.endIfTimeUp(ctx):
	case len(r.end.Waiting) > 0:
		r.finish(OutcomeWaiting, "a user must approve the agent's calls")
	case full:
		r.finish(OutcomeLimit, fmt.Sprintf("the run reached its limit of %d calls", r.Limits.Calls))
	default:
		return true
	}
	return false
}

// keepDigest stores with a waiting call the digest of the tool about which a person
// is asked, so that the decision holds for that definition only.
func (r *turnRunner) keepDigest(waiting *Call) {
	for _, list := range [][]Message{r.conversation, r.end.Messages} {
		for _, m := range list {
			for i := range m.Calls {
				if m.Calls[i].ID == waiting.ID {
					m.Calls[i].Digest = waiting.Digest
				}
			}
		}
	}
}

// extractSurfaces returns the A2UI surfaces in a result. If one of them is invalid,
// the model reads the reason in the result.
func (r *turnRunner) extractSurfaces(res *Result) []a2ui.Surface {
	if res.IsError {
		return nil
	}
	list, err := a2ui.ReadResultSurfaces(res.Content)
	if err != nil {
		res.Text = strings.TrimSpace(res.Text + "\n(its interface cannot be shown: " + err.Error() + ")")
	}
	return list[:min(len(list), maxSurfaces)]
}

// callInParallel makes the calls with the given indexes and yields each result when
// it arrives. It returns after all workers have ended.
func (r *turnRunner) callInParallel(ctx context.Context, calls []Call, jobs []int) func(func(int, Result) bool) {
	type done struct {
		i   int
		res Result
	}
	return func(yield func(int, Result) bool) {
		out := make(chan done, len(jobs))
		next := make(chan int, len(jobs))
		for _, i := range jobs {
			next <- i
		}
		close(next)
		var workers sync.WaitGroup
		for range min(maxParallel, len(jobs)) {
			workers.Go(func() {
				for i := range next {
					out <- done{i, r.callTool(ctx, calls[i])}
				}
			})
		}
		defer workers.Wait()
		for range jobs {
			d := <-out
			if !yield(d.i, d.res) {
				return
			}
		}
	}
}

// callTool makes one call within its time limit. A panic fails only this call.
func (r *turnRunner) callTool(ctx context.Context, c Call) (res Result) {
	defer func() {
		if p := recover(); p != nil {
			res = newRefusal(c, "the call failed with an internal error")
		}
	}()
	if ctx.Err() != nil {
		return newRefusal(c, "not made: the run was stopped")
	}
	if most := time.Duration(r.Limits.CallSeconds) * time.Second; most > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, most, &junctor.Error{
			Code: junctor.CodeTimeout, Message: fmt.Sprintf("the call was cancelled: no answer within %s (call_seconds of the agent's limits; raise it there)", junctor.Duration(most)),
			TimeLimit: &junctor.TimeLimit{Name: "call_seconds", SetBy: junctor.LimitOfCaller, Limit: most},
		})
		defer cancel()
	}
	return r.Tools.Call(ctx, c)
}

// recordRefusal records that the agent may not make a call, and returns its result.
func (r *turnRunner) recordRefusal(ctx context.Context, c Call, why error) Result {
	res := newRefusal(c, junctor.AsError(why).Message)
	res.Record = r.Tools.RecordRefusal(ctx, c, why)
	return res
}

// newRefusal returns the result of a call that was not made.
func newRefusal(c Call, why string) Result {
	return Result{CallID: c.ID, IsError: true, Text: why}
}

// isObject reports whether arguments are one JSON object without duplicate names,
// which every parser reads in the same way.
func isObject(arguments json.RawMessage) bool {
	v := jsontext.Value(arguments)
	return v.Kind() == '{' && v.IsValid()
}

// findTool returns the tool with a name; nil if there is none.
func findTool(tools []Tool, name string) *Tool {
	i := slices.IndexFunc(tools, func(t Tool) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return &tools[i]
}

// explainUnknownTool returns the error text for a tool that does not exist, with up
// to three similar names.
func explainUnknownTool(tools []Tool, name string) string {
	shown := name
	if len(shown) > 64 {
		shown = strings.ToValidUTF8(shown[:64], "") + "…"
	}
	if len(tools) == 0 {
		return fmt.Sprintf("unknown tool %q: this agent has no tools, so answer without tools", shown)
	}
	type near struct {
		name     string
		distance int
	}
	most := max(3, len(name)/2)
	var found []near
	for _, t := range tools {
		d := catalog.Distance(strings.ToLower(name), strings.ToLower(t.Name), most)
		if t.OriginalName != "" {
			d = min(d, catalog.Distance(strings.ToLower(name), strings.ToLower(t.OriginalName), most)+1)
		}
		if d <= most {
			found = append(found, near{t.Name, d})
		}
	}
	slices.SortStableFunc(found, func(a, b near) int { return cmp.Compare(a.distance, b.distance) })
	if len(found) == 0 {
		return fmt.Sprintf("unknown tool %q: use one of the given tools, or answer without tools", shown)
	}
	names := []string{}
	for _, n := range found[:min(3, len(found))] {
		names = append(names, n.name)
	}
	return fmt.Sprintf("unknown tool %q; did you mean %s?", shown, strings.Join(names, ", "))
}
