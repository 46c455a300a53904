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

// maxParallel is how many calls of one answer are made at a time.
const maxParallel = 4

// fulfil makes the calls that the model wants, or says why not. It gives false
// when the run has ended with it.
func (r *run) fulfil(ctx context.Context, calls []Call, tools []Tool) bool {
	r.tidy(calls)
	return r.make(ctx, calls, func(c *Call) (Result, verdict) {
		t := find(tools, c.Name)
		if t == nil {
			return r.refused(ctx, *c, junctor.Errorf(junctor.CodeNotFound, "%s", unknown(tools, c.Name))), refuse
		}
		if !isObject(c.Arguments) {
			return r.refused(ctx, *c, junctor.Errorf(junctor.CodeInvalid, "the arguments are not one JSON object with each name once: the call was not made")), refuse
		}
		meant, err := r.Tools.Resolve(ctx, *c)
		if err != nil {
			return r.refused(ctx, *c, err), refuse
		}
		if r.NeedsApproval != nil && r.NeedsApproval(meant, *c) {
			c.Digest = meant.Digest
			return Result{}, wait
		}
		return Result{}, do
	})
}

// tidy makes the calls in the story ones that can be kept and sent again: bad
// arguments are kept as none, and judged by what the calls here still have.
func (r *run) tidy(calls []Call) {
	kept := slices.Clone(calls)
	for i, c := range kept {
		if len(bytes.TrimSpace(c.Arguments)) == 0 {
			calls[i].Arguments = json.RawMessage("{}")
			kept[i].Arguments = calls[i].Arguments
		} else if !isObject(c.Arguments) {
			kept[i].Arguments = json.RawMessage("{}")
		}
	}
	r.story[len(r.story)-1].Calls = kept
	r.end.Messages[len(r.end.Messages)-1].Calls = kept
}

// resume goes on with calls that a run left without a result: those that a
// person has allowed are made, those that wait go on waiting, and of the others
// nobody knows whether they were made.
func (r *run) resume(ctx context.Context, open []Call) bool {
	tools, err := r.Tools.List(ctx)
	if err != nil {
		r.broken(ctx, err)
		return false
	}
	return r.make(ctx, open, func(c *Call) (Result, verdict) {
		d, decided := r.Decisions[c.ID]
		if decided && !d.Allow {
			res := refused(*c, strings.TrimSuffix("the person did not allow this call, so it was not made: "+d.Reason, ": "))
			res.Denied = true
			return res, refuse
		}
		t := find(tools, c.Name)
		if t == nil { // it was taken away meanwhile
			return r.refused(ctx, *c, junctor.Errorf(junctor.CodeNotFound, "%s", unknown(tools, c.Name))), refuse
		}
		meant, err := r.Tools.Resolve(ctx, *c)
		switch {
		case err != nil:
			return r.refused(ctx, *c, err), refuse
		case decided && (d.Digest == "" || d.Digest == meant.Digest):
			return Result{}, do
		case decided: // the tool is not the one that the person was asked about
			c.Digest = meant.Digest
			return Result{}, wait
		case r.NeedsApproval != nil && r.NeedsApproval(meant, *c):
			c.Digest = meant.Digest
			return Result{}, wait
		}
		return lost(*c), refuse
	})
}

// verdict is what is to happen with a call.
type verdict uint8

const (
	refuse verdict = iota
	wait
	do
)

// make judges each call and makes those that may be, some at a time. Every call
// that does not wait has a result in the end, in the order of the calls.
func (r *run) make(ctx context.Context, calls []Call, judge func(*Call) (Result, verdict)) bool {
	results := make([]*Result, len(calls))
	var jobs []int
	var shown []a2ui.Surface
	full, told := false, 0
	for i, c := range calls {
		res, v := judge(&c)
		switch {
		case v == wait:
			r.end.Waiting = append(r.end.Waiting, c)
			r.keepDigest(&c)
			continue
		case v == do && r.end.Calls >= r.Limits.Calls:
			full = true
			res = refused(c, fmt.Sprintf("not made: %d calls are all that this run may make", r.Limits.Calls))
		case v == do:
			r.end.Calls++
			jobs = append(jobs, i)
			continue
		}
		results[i] = &res
		r.emit(Event{Kind: EventResult, ID: c.ID, Result: &res})
	}
	for i, res := range r.together(ctx, calls, jobs) {
		res.CallID = calls[i].ID
		shown = append(shown, r.brought(&res)...)
		results[i] = &res
		r.emit(Event{Kind: EventResult, ID: res.CallID, Result: &res})
		for j := range shown[told:] {
			r.emit(Event{Kind: EventSurface, ID: res.CallID, Surface: &shown[told+j]})
		}
		told = len(shown)
	}
	m := Message{Role: RoleTool, Surfaces: shown}
	for _, res := range results {
		if res != nil {
			m.Results = append(m.Results, *res)
		}
	}
	if len(m.Results) > 0 {
		r.add(m)
	}
	switch {
	case r.over(ctx):
	case len(r.end.Waiting) > 0:
		r.finish(Waiting, "a person has to allow what it wants to do")
	case full:
		r.finish(Limit, fmt.Sprintf("%d calls were made, as many as may be", r.Limits.Calls))
	default:
		return true
	}
	return false
}

// keepDigest notes with a call in the story which tool a person is asked about:
// whoever keeps the story can hold the person's word to it.
func (r *run) keepDigest(waiting *Call) {
	for _, list := range [][]Message{r.story, r.end.Messages} {
		for _, m := range list {
			for i := range m.Calls {
				if m.Calls[i].ID == waiting.ID {
					m.Calls[i].Digest = waiting.Digest
				}
			}
		}
	}
}

// brought gives the surfaces that a result brings. What of them cannot be shown
// the model is told.
func (r *run) brought(res *Result) []a2ui.Surface {
	if res.IsError {
		return nil
	}
	list, err := a2ui.InResult(res.Content)
	if err != nil {
		res.Text = strings.TrimSpace(res.Text + "\n(its interface cannot be shown: " + err.Error() + ")")
	}
	return list[:min(len(list), maxShown)]
}

// together makes calls, some at a time, and gives each result as it comes.
func (r *run) together(ctx context.Context, calls []Call, jobs []int) func(func(int, Result) bool) {
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
					out <- done{i, r.one(ctx, calls[i])}
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

// one makes one call within its time. A panic costs this call only.
func (r *run) one(ctx context.Context, c Call) (res Result) {
	defer func() {
		if p := recover(); p != nil {
			res = refused(c, "the call failed inside")
		}
	}()
	if ctx.Err() != nil {
		return refused(c, "not made: the run was stopped")
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(r.Limits.CallSeconds)*time.Second)
	defer cancel()
	return r.Tools.Call(ctx, c)
}

// refused is the result of a call that the agent may not make, once it is on
// record.
func (r *run) refused(ctx context.Context, c Call, why error) Result {
	res := refused(c, junctor.AsError(why).Message)
	res.Record = r.Tools.Refuse(ctx, c, why)
	return res
}

// refused is the result of a call that was not made.
func refused(c Call, why string) Result {
	return Result{CallID: c.ID, IsError: true, Text: why}
}

// isObject says whether arguments are one JSON object that everybody reads in
// the same way.
func isObject(arguments json.RawMessage) bool {
	v := jsontext.Value(arguments)
	return v.Kind() == '{' && v.IsValid()
}

func find(tools []Tool, name string) *Tool {
	i := slices.IndexFunc(tools, func(t Tool) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return &tools[i]
}

// unknown says that there is no such tool, and which of those there are come
// closest.
func unknown(tools []Tool, name string) string {
	shown := name
	if len(shown) > 64 {
		shown = strings.ToValidUTF8(shown[:64], "") + "…"
	}
	if len(tools) == 0 {
		return fmt.Sprintf("there is no tool %q: this agent has none, so answer without", shown)
	}
	type near struct {
		name     string
		distance int
	}
	most := max(3, len(name)/2)
	var found []near
	for _, t := range tools {
		d := catalog.Distance(strings.ToLower(name), strings.ToLower(t.Name), most)
		if t.Own != "" {
			d = min(d, catalog.Distance(strings.ToLower(name), strings.ToLower(t.Own), most)+1)
		}
		if d <= most {
			found = append(found, near{t.Name, d})
		}
	}
	slices.SortStableFunc(found, func(a, b near) int { return cmp.Compare(a.distance, b.distance) })
	if len(found) == 0 {
		return fmt.Sprintf("there is no tool %q: use one of those that you were given, or answer without", shown)
	}
	names := []string{}
	for _, n := range found[:min(3, len(found))] {
		names = append(names, n.name)
	}
	return fmt.Sprintf("there is no tool %q; did you mean %s?", shown, strings.Join(names, ", "))
}
