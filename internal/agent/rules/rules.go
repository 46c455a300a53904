// Package rules is a provider that needs no model: an agent whose answers follow
// from rules that somebody wrote down. A file lists intents; the first whose
// pattern fits what was said makes its calls, takes what it wants from their
// results, and answers with a text. The same words lead to the same answer.
//
// agent asks it as it asks a model, so calls pass the same limits, approvals and
// pipeline. It is also what the demonstrations run on. docs/talking.md says how
// rules are written.
package rules

import (
	"context"
	"encoding/json"
	"iter"
	"regexp"
	"slices"
	"strings"

	"github.com/junctor-mcp/junctor/internal/agent"
)

// Rules are what a file says. They are read once and never changed.
type Rules struct {
	intents  []intent
	fallback template
}

// intent is something that people may want.
type intent struct {
	name   string
	match  []*regexp.Regexp
	steps  []step
	say    template
	failed template
}

// step is a call, and what is taken from its result.
type step struct {
	tool string
	args value
	also bool // made together with the one before
	when *template
	as   string // the name of what the result says
	take []taken
	find []*regexp.Regexp // groups name what is found in the text
}

// taken is a value by its path.
type taken struct {
	name string
	path path
}

// Stream implements agent.Provider. What is to come next follows from the story
// alone: the last thing that was said, and what came of the calls since.
func (r *Rules) Stream(ctx context.Context, q agent.Request) iter.Seq2[agent.Piece, error] {
	return func(yield func(agent.Piece, error) bool) {
		if ctx.Err() != nil {
			yield(agent.Piece{}, ctx.Err())
			return
		}
		calls, text := r.next(q.Messages)
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
		yield(agent.Piece{Usage: &agent.Usage{}}, nil) // nothing was paid for
	}
}

// next gives the calls to make now, or the answer.
func (r *Rules) next(story []agent.Message) ([]agent.Call, string) {
	last := -1
	for i, m := range slices.Backward(story) {
		if m.Role == agent.RoleUser {
			last = i
			break
		}
	}
	vars := values{}
	if last >= 0 {
		vars["message"], vars["speaker"] = story[last].Text, story[last].Name
		for _, in := range r.intents {
			if in.fits(story[last].Text, vars) {
				return in.next(story[last+1:], vars)
			}
		}
	}
	return nil, r.fallback.text(vars)
}

// fits says whether the intent is meant, and notes what its pattern names.
func (in *intent) fits(said string, vars values) bool {
	for _, re := range in.match {
		if groups := re.FindStringSubmatch(said); groups != nil {
			note(vars, re, groups)
			return true
		}
	}
	return false
}

// note keeps what the groups of a pattern found under their names.
func note(vars values, re *regexp.Regexp, groups []string) {
	for i, name := range re.SubexpNames() {
		if name != "" && groups[i] != "" {
			vars[name] = strings.TrimSpace(groups[i])
		}
	}
}

// next walks through the steps with the results that there are.
func (in *intent) next(since []agent.Message, vars values) ([]agent.Call, string) {
	results := made(since)
	var now []agent.Call
	for _, s := range in.steps {
		if len(now) > 0 && !s.also {
			return now, "" // the rest follows from what these say
		}
		if s.when != nil && s.when.text(vars) == "" {
			continue
		}
		if len(results) == 0 {
			arguments, err := json.Marshal(s.args.fill(vars))
			if err != nil {
				arguments = []byte("{}")
			}
			now = append(now, agent.Call{Name: s.tool, Arguments: arguments})
			continue
		}
		res := results[0]
		results = results[1:]
		if res.IsError {
			vars["error"] = res.Text
			return nil, in.failed.text(vars)
		}
		s.learn(res, vars)
	}
	if len(now) > 0 {
		return now, ""
	}
	return nil, in.say.text(vars)
}

// made gives the results of the calls since, in the order of the calls.
func made(since []agent.Message) []agent.Result {
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

// learn takes from a result what the step wants.
func (s *step) learn(res agent.Result, vars values) {
	vars["result"] = res.Text
	if s.as != "" {
		vars[s.as] = res.Text
	}
	for _, re := range s.find {
		if groups := re.FindStringSubmatch(res.Text); groups != nil {
			note(vars, re, groups)
		}
	}
	if len(s.take) == 0 {
		return
	}
	data := dataOf(res)
	for _, t := range s.take {
		if v, ok := t.path.in(data); ok {
			vars[t.name] = v
		}
	}
}

// dataOf is a result as data: what it has as such, or its text where that is
// JSON.
func dataOf(res agent.Result) any {
	var content struct {
		Structured json.RawMessage `json:"structuredContent"`
	}
	text := []byte(res.Text)
	if json.Unmarshal(res.Content, &content) == nil && len(content.Structured) > 0 {
		text = content.Structured
	}
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	var data any
	if d.Decode(&data) != nil {
		return nil
	}
	return data
}
