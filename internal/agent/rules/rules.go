// Package rules is a provider that needs no model: an agent whose answers follow
// from rules that somebody wrote down. A file lists intents; the first that fits
// what was said, or what was pressed, makes its calls, takes what it wants from
// their results, and answers with a text and perhaps a surface. The same words
// lead to the same answer.
//
// agent asks it as it asks a model, so calls pass the same limits, approvals and
// pipeline; a2ui has the form of surfaces. It is also what the demonstrations
// and the bank of packs run on. docs/talking.md says how rules are written.
package rules

import (
	"context"
	"encoding/json"
	"iter"
	"regexp"
	"slices"
	"strings"

	"github.com/junctor-mcp/junctor/internal/a2ui"
	"github.com/junctor-mcp/junctor/internal/agent"
)

// Rules are what a file says. They are read once and never changed.
type Rules struct {
	intents  []intent
	fallback template
}

// intent is something that people may want.
type intent struct {
	name           string
	patterns       []*regexp.Regexp
	exceptPatterns []*regexp.Regexp // what fits one of these is not meant, whatever match says
	action         string           // the name of what is pressed; "" for none
	contextNames   []string         // what comes with it, by name
	steps          []step
	answers        []answer // the first that holds is given
	failureText    template
}

// answer is what is said, and shown beside it.
type answer struct {
	cond     condition
	text     template
	surfaces []*surfaceTemplate // the first that can be shown is; none where words are enough
}

// Stream implements agent.Provider. What is to come next follows from the story
// alone: the last thing that was said, and what came of the calls since.
func (r *Rules) Stream(ctx context.Context, q agent.Request) iter.Seq2[agent.Piece, error] {
	return func(yield func(agent.Piece, error) bool) {
		if ctx.Err() != nil {
			yield(agent.Piece{}, ctx.Err())
			return
		}
		calls, text, shown := r.nextReply(q)
		for i := range calls {
			if !yield(agent.Piece{Call: &calls[i]}, nil) {
				return
			}
		}
		for _, word := range strings.SplitAfter(text, " ") {
			if word != "" && !yield(agent.Piece{Text: word}, nil) {
				return
			}
		}
		if shown != nil && !yield(agent.Piece{Surface: shown}, nil) {
			return
		}
		yield(agent.Piece{Usage: &agent.Usage{}}, nil) // nothing was paid for
	}
}

// nextReply gives the calls to make now, or the answer.
func (r *Rules) nextReply(q agent.Request) ([]agent.Call, string, *a2ui.Surface) {
	conversation, last := q.Messages, -1
	for i, m := range slices.Backward(conversation) {
		if m.Role == agent.RoleUser {
			last = i
			break
		}
	}
	vars := variables{}
	if last < 0 {
		return nil, r.fallback.render(vars), nil
	}
	message := &conversation[last]
	vars["message"], vars["speaker"] = message.Text, message.Name
	in := r.findIntent(message, vars)
	if in == nil {
		return nil, r.fallback.render(vars), nil
	}
	calls, a := in.nextCalls(conversation[last+1:], vars)
	switch {
	case len(calls) > 0:
		return calls, "", nil
	case a == nil:
		return nil, in.failureText.render(vars), nil
	}
	text := a.text.render(vars)
	for i, s := range a.surfaces {
		shown := s.render(vars, surfaceID(s.name, conversation[:last+1]))
		if i == len(a.surfaces)-1 || shown != nil && canShowApps(shown, q) {
			return nil, text, shown
		}
	}
	return nil, text, nil
}

// findIntent gives the intent that a message is for, and notes what it names. What
// was pressed leads to the intent of its name; where there is none, its words
// are read like any.
func (r *Rules) findIntent(message *agent.Message, vars variables) *intent {
	if act := message.Action; act != nil {
		for i := range r.intents {
			if in := &r.intents[i]; in.action != "" && in.action == act.Name {
				in.readActionContext(act.Context, vars)
				return in
			}
		}
	}
	for i := range r.intents {
		if in := &r.intents[i]; in.matchText(message.Text, vars) {
			return in
		}
	}
	return nil
}

// readActionContext notes those members of an action's context that the intent names.
func (in *intent) readActionContext(context json.RawMessage, vars variables) {
	members, _ := decodeJSON(context).(map[string]any)
	for _, name := range in.contextNames {
		if v, ok := members[name]; ok && v != nil && v != "" {
			vars[name] = v
		}
	}
}

// matchText says whether the intent is meant, and notes what its pattern names.
func (in *intent) matchText(message string, vars variables) bool {
	if slices.ContainsFunc(in.exceptPatterns, func(re *regexp.Regexp) bool { return re.MatchString(message) }) {
		return false
	}
	for _, re := range in.patterns {
		if groups := re.FindStringSubmatch(message); groups != nil {
			setGroups(vars, re, groups)
			return true
		}
	}
	return false
}

// setGroups keeps what the groups of a pattern found under their names.
func setGroups(vars variables, re *regexp.Regexp, groups []string) {
	for i, name := range re.SubexpNames() {
		if name != "" && groups[i] != "" {
			vars[name] = strings.TrimSpace(groups[i])
		}
	}
}

// nextCalls walks through the steps with the results that there are. It gives calls to
// make, or the answer; neither where a call failed that must not.
func (in *intent) nextCalls(since []agent.Message, vars variables) ([]agent.Call, *answer) {
	results := orderResults(since)
	var now []agent.Call
	for i := range in.steps {
		s := &in.steps[i]
		if len(now) > 0 && !s.isParallel {
			return now, nil // the rest follows from what these say
		}
		if !s.cond.isMet(vars) {
			continue
		}
		if s.tool == "" {
			s.local.apply(vars)
			continue
		}
		if len(results) == 0 {
			now = append(now, s.newCall(vars))
			continue
		}
		res := results[0]
		results = results[1:]
		switch {
		case !res.IsError:
			s.readResult(res, vars)
		case s.mayFail:
			vars["error"] = res.Text
		default:
			vars["error"] = res.Text
			return nil, nil
		}
	}
	if len(now) > 0 {
		return now, nil
	}
	for i := range in.answers {
		if a := &in.answers[i]; a.cond.isMet(vars) {
			return nil, a
		}
	}
	return nil, &in.answers[len(in.answers)-1] // which has no condition
}

// orderResults gives the results of the calls since, in the order of the calls.
func orderResults(since []agent.Message) []agent.Result {
	byID := map[string]agent.Result{}
	for _, m := range since {
		for _, res := range m.Results {
			byID[res.CallID] = res
		}
	}
	var out []agent.Result
	for _, m := range since {
		for _, c := range m.Calls {
			if res, ok := byID[c.ID]; ok {
				out = append(out, res)
			}
		}
	}
	return out
}
