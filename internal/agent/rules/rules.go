// Package rules is a provider without a model: an agent whose answers follow from
// rules in a YAML file. The file lists intents. The first intent that matches a
// message or an action makes its calls, takes values from their results, and
// answers with a text and possibly a surface. The same conversation always leads to
// the same answer.
//
// Package agent asks it like a model, so its calls pass the same limits, approvals
// and pipeline. app parses the rules of stored agents; the demonstrations and the
// bank pack use them too. Package a2ui defines surfaces. docs/guides/chat.md explains
// how to write rules.
//
// Read the files in this order: rules.go (choose an intent and its next step),
// step.go, list_step.go and number_steps.go (what steps do), template.go and
// path.go (texts with placeholders), surface.go, then parse.go and parse_steps.go.
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

// Rules is a parsed file. It is never changed after Parse, so it is safe for
// concurrent use. A small file:
//
//	intents:
//	  - name: weather
//	    match: 'weather in (?P<city>[a-z ]+)'
//	    calls:
//	      - tool: geo__find
//	        arguments: {q: "{{city}}"}
//	        take: {lat: "$.hits[0].lat"}
//	    say: "{{city}} is at {{lat}}."
//	fallback: "I know only the weather."
type Rules struct {
	intents  []intent
	fallback template
}

// intent is one thing that people may ask for, and the steps that answer it.
type intent struct {
	name           string
	patterns       []*regexp.Regexp
	exceptPatterns []*regexp.Regexp // a text that matches one of these does not match the intent
	action         string           // the name of a surface's action that leads here; "" if none does
	contextNames   []string         // members of the action's context that become variables
	steps          []step
	answers        []answer // the first whose condition is met is used; the last has none
	failureText    template
}

// answer is a text and the surface beside it. An intent can have several:
//
//	answers:
//	  - when: "{{best}}"
//	    say: "The best is {{best.title}}."
//	    surface: {components: [{id: root, component: Text, text: "{{best.title}}"}]}
//	  - say: "There is none."
type answer struct {
	cond     condition
	text     template
	surfaces []*surfaceTemplate // the first that can be shown is used; may be empty
}

// Stream implements agent.Provider. It keeps no state between requests: the next
// step follows from the last user message and the results of the calls after it.
func (r *Rules) Stream(ctx context.Context, q agent.Request) iter.Seq2[agent.AnswerChunk, error] {
	return func(yield func(agent.AnswerChunk, error) bool) {
		if ctx.Err() != nil {
			yield(agent.AnswerChunk{}, ctx.Err())
			return
		}
		calls, text, shown := r.nextReply(q)
		for i := range calls {
			if !yield(agent.AnswerChunk{Call: &calls[i]}, nil) {
				return
			}
		}
		for _, word := range strings.SplitAfter(text, " ") {
			if word != "" && !yield(agent.AnswerChunk{Text: word}, nil) {
				return
			}
		}
		if shown != nil && !yield(agent.AnswerChunk{Surface: shown}, nil) {
			return
		}
		yield(agent.AnswerChunk{Usage: &agent.Usage{}}, nil) // no model, no tokens
	}
}

// nextReply returns the calls to make now or, if there are none, the answer.
func (r *Rules) nextReply(q agent.Request) ([]agent.Call, string, *a2ui.Surface) {
	// Everything before the last user message is answered already.
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
		if canShow(shown, q, i == len(a.surfaces)-1) {
			return nil, text, shown
		}
	}
	return nil, text, nil
}

// findIntent returns the intent of a message and sets the variables that it names.
// An action leads to the intent with its name. If there is none, the action's
// description is matched like any text. It returns nil if no intent matches.
func (r *Rules) findIntent(message *agent.Message, vars variables) *intent {
	// Actions come first: their name is exact, and their text is only a
	// description.
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

// readActionContext sets variables from those members of an action's context that
// the intent lists. Others are ignored: the context comes from a client.
func (in *intent) readActionContext(context json.RawMessage, vars variables) {
	members, _ := decodeJSON(context).(map[string]any)
	for _, name := range in.contextNames {
		if v, ok := members[name]; ok && v != nil && v != "" {
			vars[name] = v
		}
	}
}

// matchText reports whether a text matches the intent, and sets the variables that
// the pattern's groups name.
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

// setGroups sets variables from the named groups of a match. Groups that matched
// nothing stay unset.
func setGroups(vars variables, re *regexp.Regexp, groups []string) {
	for i, name := range re.SubexpNames() {
		if name != "" && groups[i] != "" {
			vars[name] = strings.TrimSpace(groups[i])
		}
	}
}

// nextCalls executes the steps with the results that exist so far. It returns the
// calls to make next, or the answer. It returns neither if a call failed whose step
// does not allow that.
//
// Every request executes the steps from the start, and the n-th call takes the n-th
// result. That works because steps depend on nothing but variables.
func (in *intent) nextCalls(since []agent.Message, vars variables) ([]agent.Call, *answer) {
	results := orderResults(since)
	var now []agent.Call
	for i := range in.steps {
		s := &in.steps[i]
		if len(now) > 0 && !s.isParallel {
			return now, nil // later steps may depend on these results
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
		// A failed call may carry the error on, or ends the intent with its failure
		// text.
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
	return nil, &in.answers[len(in.answers)-1] // it has no condition: parseAnswers checks that
}

// orderResults returns the results of calls in the order of the calls. A call
// without a result is skipped.
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
