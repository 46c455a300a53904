package rules

import (
	"bytes"
	"encoding/json"
	"regexp"

	"github.com/junctor-mcp/junctor/internal/agent"
)

// step is a call and what is taken from its result, or work on what is known.
type step struct {
	cond condition
	do   worker // where it is no call

	tool    string
	args    value
	also    bool   // made together with the one before
	mayFail bool   // what follows is done all the same, and knows the error
	as      string // the name of what the result says
	take    []taken
	find    []*regexp.Regexp // groups name what is found in the text
}

// worker makes known what follows from what is known. It has no other effect.
type worker interface{ work(vars values) }

// taken is a value by its path.
type taken struct {
	name string
	path path
}

// condition holds where all of the one are known and not empty, and none of the
// other is.
type condition struct{ when, unless []template }

func (c *condition) holds(vars values) bool {
	for _, t := range c.when {
		if t.text(vars) == "" {
			return false
		}
	}
	for _, t := range c.unless {
		if t.text(vars) != "" {
			return false
		}
	}
	return true
}

// call is the call of a step.
func (s *step) call(vars values) agent.Call {
	arguments, err := json.Marshal(s.args.fill(vars))
	if err != nil {
		arguments = []byte("{}")
	}
	return agent.Call{Name: s.tool, Arguments: arguments}
}

// learn takes from a result what the step wants.
func (s *step) learn(res agent.Result, vars values) {
	vars["result"] = res.Text
	if s.as != "" {
		vars[s.as] = res.Text
	}
	search(s.find, res.Text, vars)
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

// search notes what patterns find in a text, each at its first place.
func search(find []*regexp.Regexp, text string, vars values) {
	for _, re := range find {
		if groups := re.FindStringSubmatch(text); groups != nil {
			note(vars, re, groups)
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
	return decode(text)
}

// decode reads JSON, numbers as they are written; nil where it is none.
func decode(text []byte) any {
	var v any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return nil
	}
	return v
}

// finder looks into a text that is known.
type finder struct {
	in   template
	find []*regexp.Regexp
}

func (f *finder) work(vars values) { search(f.find, f.in.text(vars), vars) }

// setter gives names to values. What has no value stays unknown.
type setter []member

func (s setter) work(vars values) {
	for _, m := range s {
		if v := m.value.fill(vars); v != nil {
			vars[m.name] = v
		}
	}
}
