package rules

import (
	"bytes"
	"encoding/json"
	"regexp"

	"github.com/junctor-mcp/junctor/internal/agent"
)

// step is a tool call with the values taken from its result, or a local step:
//
//   - tool: sky__now
//     arguments: {lat: "{{lat}}"}
//     find: 'it is (?P<sky>\w+)'
//     take: {highs: "$.days[*].high"}
type step struct {
	cond  condition
	local localStep // nil for a call

	tool        string
	args        valueTemplate
	isParallel  bool   // made together with the call before it
	mayFail     bool   // if the call fails, the next steps run and {{error}} is set
	resultName  string // variable for the result's text; "" for none
	extractions []extraction
	searches    []*regexp.Regexp // their named groups are searched in the result's text
}

// localStep computes variables from variables. It has no other effect.
type localStep interface{ apply(vars variables) }

// extraction is a variable and the path of its value in a result.
type extraction struct {
	name string
	path path
}

// condition is met if every text in when, and no text in unless, renders to
// something. It belongs to a step or an answer:
//
//	when: "{{city}}"
//	unless: ["{{lat}}", "{{lon}}"]
type condition struct{ when, unless []template }

// isMet reports whether the condition is met. An empty condition always is.
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

// newCall returns the tool call of a step. Package agent sets its id.
func (s *step) newCall(vars variables) agent.Call {
	arguments, err := json.Marshal(s.args.render(vars))
	if err != nil {
		arguments = []byte("{}")
	}
	return agent.Call{Name: s.tool, Arguments: arguments}
}

// readResult sets the variables that the step takes from a result. Values that the
// result does not have stay unset.
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

// searchText sets variables from the first match of each pattern in a text.
func searchText(find []*regexp.Regexp, text string, vars variables) {
	for _, re := range find {
		if groups := re.FindStringSubmatch(text); groups != nil {
			setGroups(vars, re, groups)
		}
	}
}

// resultData returns a result as decoded JSON: its structured content or, without
// one, its text if that is JSON.
func resultData(res agent.Result) any {
	var content struct {
		Structured json.RawMessage `json:"structuredContent"`
	}
	text := []byte(res.Text)
	// The structured content has types; the text may be a rendering for people.
	if json.Unmarshal(res.Content, &content) == nil && len(content.Structured) > 0 {
		text = content.Structured
	}
	return decodeJSON(text)
}

// decodeJSON decodes JSON and keeps numbers as they are written, so that large ids
// are not rounded. It returns nil if the text is not JSON.
func decodeJSON(text []byte) any {
	var v any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return nil
	}
	return v
}

// searchStep searches a text for patterns whose groups name variables:
//
//   - in: "{{message}}"
//     find: 'for (?P<days>\d+) days'
type searchStep struct {
	source   template
	patterns []*regexp.Regexp
}

// apply implements localStep.
func (f *searchStep) apply(vars variables) { searchText(f.patterns, f.source.render(vars), vars) }

// setStep assigns values to variables. A variable without a value stays as it is:
//
//   - set: {query: "{{city}}, {{country}}"}
type setStep []member

// apply implements localStep.
func (s setStep) apply(vars variables) {
	for _, m := range s {
		if v := m.value.render(vars); v != nil {
			vars[m.name] = v
		}
	}
}
