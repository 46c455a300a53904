package rules

import (
	"bytes"
	"encoding/json"
	"regexp"

	"github.com/junctor-mcp/junctor/internal/agent"
)

// step is a call and what is taken from its result, or work on what is known.
type step struct {
	cond  condition
	local localStep // where it is no call

	tool        string
	args        valueTemplate
	isParallel  bool   // made together with the one before
	mayFail     bool   // what follows is done all the same, and knows the error
	resultName  string // the name of what the result says
	extractions []extraction
	searches    []*regexp.Regexp // groups name what is found in the text
}

// localStep makes known what follows from what is known. It has no other effect.
type localStep interface{ apply(vars variables) }

// extraction is a value by its path.
type extraction struct {
	name string
	path path
}

// condition holds where all of the one are known and not empty, and none of the
// other is.
type condition struct{ when, unless []template }

func (c *condition) isMet(vars variables) bool {
	for _, t := range c.when {
		if t.render(vars) == "" {
			return false
		}
	}
	for _, t := range c.unless {
		if t.render(vars) != "" {
			return false
		}
	}
	return true
}

// newCall is the call of a step.
func (s *step) newCall(vars variables) agent.Call {
	arguments, err := json.Marshal(s.args.render(vars))
	if err != nil {
		arguments = []byte("{}")
	}
	return agent.Call{Name: s.tool, Arguments: arguments}
}

// readResult takes from a result what the step wants.
func (s *step) readResult(res agent.Result, vars variables) {
	vars["result"] = res.Text
	if s.resultName != "" {
		vars[s.resultName] = res.Text
	}
	searchText(s.searches, res.Text, vars)
	if len(s.extractions) == 0 {
		return
	}
	data := resultData(res)
	for _, t := range s.extractions {
		if v, ok := t.path.lookup(data); ok {
			vars[t.name] = v
		}
	}
}

// searchText notes what patterns find in a text, each at its first place.
func searchText(find []*regexp.Regexp, text string, vars variables) {
	for _, re := range find {
		if groups := re.FindStringSubmatch(text); groups != nil {
			setGroups(vars, re, groups)
		}
	}
}

// resultData is a result as data: what it has as such, or its text where that is
// JSON.
func resultData(res agent.Result) any {
	var content struct {
		Structured json.RawMessage `json:"structuredContent"`
	}
	text := []byte(res.Text)
	if json.Unmarshal(res.Content, &content) == nil && len(content.Structured) > 0 {
		text = content.Structured
	}
	return decodeJSON(text)
}

// decodeJSON reads JSON, numbers as they are written; nil where it is none.
func decodeJSON(text []byte) any {
	var v any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return nil
	}
	return v
}

// searchStep looks into a text that is known.
type searchStep struct {
	source   template
	patterns []*regexp.Regexp
}

func (f *searchStep) apply(vars variables) { searchText(f.patterns, f.source.render(vars), vars) }

// setStep gives names to values. What has no value stays unknown.
type setStep []member

func (s setStep) apply(vars variables) {
	for _, m := range s {
		if v := m.value.render(vars); v != nil {
			vars[m.name] = v
		}
	}
}
