package rules

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	junctor "github.com/junctor-mcp/junctor"
)

// Bounds of a file, beside its length.
const (
	maxIntents  = 500
	maxPatterns = 50
	maxSteps    = 32
	maxDepth    = 16
	maxProblems = 10
)

// reader reads a file and notes what is wrong with it, with the line.
type reader struct {
	problems  []string
	templates fs.FS // surfaces that rules may name
}

func (r *reader) fault(n *yaml.Node, format string, args ...any) {
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, fmt.Sprintf("line %d: ", n.Line)+fmt.Sprintf(format, args...))
	}
}

// Parse reads rules. templates hold the surfaces that come with the program and
// that rules may name as PACK/NAME, in PACK/templates/NAME.json; nil where there
// are none. An error is invalid, and says what is wrong in which lines.
func Parse(text string, templates fs.FS) (*Rules, error) {
	if len(text) > junctor.MaxRules {
		return nil, junctor.Errorf(junctor.CodeInvalid, "rules: longer than %d KiB", junctor.MaxRules>>10)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "rules: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if len(doc.Content) == 0 {
		return nil, junctor.Errorf(junctor.CodeInvalid, "rules: there are none: write intents and a fallback")
	}
	r := &reader{templates: templates}
	out := r.rules(doc.Content[0])
	if len(r.problems) > 0 {
		return nil, junctor.Errorf(junctor.CodeInvalid, "rules: %s", strings.Join(r.problems, "; "))
	}
	return out, nil
}

func (r *reader) rules(n *yaml.Node) *Rules {
	out := &Rules{}
	known := []string{"message", "speaker"}
	given := r.object(n, "the file", func(key, v *yaml.Node) bool {
		switch key.Value {
		case "intents":
			for _, one := range r.list(v, "intents", maxIntents) {
				out.intents = append(out.intents, r.intent(one))
			}
		case "fallback":
			out.fallback = r.template(v, known)
		default:
			return false
		}
		return true
	}, "intents", "fallback")
	if !given["fallback"] {
		r.fault(n, "fallback is missing: what is said when no intent fits")
	}
	return out
}

func (r *reader) intent(n *yaml.Node) intent {
	in := intent{failed: template{{literal: "That did not work: "}, {name: "error"}}}
	var calls, failed, answers *yaml.Node
	known := []string{"message", "speaker"}
	given := r.object(n, "an intent", func(key, v *yaml.Node) bool {
		switch key.Value {
		case "name":
			in.name = r.text(v)
		case "match":
			in.match = r.patterns(v)
			known = append(known, groups(in.match)...)
		case "except":
			in.except = r.patterns(v)
		case "action":
			in.action = r.text(v)
		case "context":
			for _, one := range r.list(v, "context", maxPatterns) {
				in.context = append(in.context, r.name(one))
			}
			known = append(known, in.context...)
		case "calls":
			calls = v
		case "failed":
			failed = v
		case "answers":
			answers = v
		case "say", "surface", "with":
		default:
			return false
		}
		return true
	}, "name", "match", "except", "action", "context", "calls", "say", "surface", "with", "answers", "failed")
	if !given["match"] && in.action == "" {
		r.fault(n, "match is missing: a pattern for what people say, or a list of some; or the name of an action")
	}
	if given["except"] && !given["match"] {
		r.fault(n, "except takes away from what match finds, and there is no match")
	}
	if given["context"] && in.action == "" {
		r.fault(n, "context is what comes with an action, and there is none")
	}
	if calls != nil { // what they give is known to the answer, wherever it stands
		in.steps, known = r.steps(calls, known)
	}
	switch {
	case answers == nil:
		in.answers = []answer{r.answer(n, known, false)}
	case given["say"] || given["surface"] || given["with"]:
		r.fault(answers, "an intent has answers, or say and surface, not both")
	default:
		in.answers = r.answers(answers, known)
	}
	if failed != nil {
		in.failed = r.template(failed, append(slices.Clone(known), "error"))
	}
	return in
}

// answers reads a list of which the first that holds is given, so the last one
// holds always.
func (r *reader) answers(n *yaml.Node, known []string) []answer {
	list := r.list(n, "answers", maxSteps)
	out := make([]answer, 0, len(list)+1)
	for i, one := range list {
		a := r.answer(one, known, true)
		if last := i == len(list)-1; last && (len(a.cond.when) > 0 || len(a.cond.unless) > 0) {
			r.fault(one, "the last of the answers has a when or an unless: one must be left for all other cases")
		}
		out = append(out, a)
	}
	if len(out) == 0 {
		r.fault(n, "answers has none")
		out = append(out, answer{})
	}
	return out
}

// answer reads an answer; own is false where it stands among an intent's other
// members.
func (r *reader) answer(n *yaml.Node, known []string, own bool) answer {
	var a answer
	var shown, with *yaml.Node
	given := r.object(n, "an answer", func(key, v *yaml.Node) bool {
		switch key.Value {
		case "say":
			a.say = r.template(v, known)
		case "surface":
			shown = v
		case "with":
			with = v
		case "when", "unless":
			if !own {
				return true // the intent has said that it has none
			}
			r.condition(&a.cond, key, v, known)
		default:
			return !own
		}
		return true
	}, "when", "unless", "say", "surface", "with")
	if !given["say"] {
		r.fault(n, "say is missing: the answer")
	}
	if with != nil && shown == nil {
		r.fault(with, "with is for a surface, and there is none")
	}
	if shown != nil {
		a.surfaces = r.surfaces(shown, with, known)
	}
	return a
}

// condition reads when or unless: a text, or a list of some.
func (r *reader) condition(c *condition, key, v *yaml.Node, known []string) {
	list := []*yaml.Node{v}
	if v.Kind == yaml.SequenceNode {
		list = r.list(v, key.Value, maxSteps)
	}
	for _, one := range list {
		t := r.template(one, known)
		if len(t.names()) == 0 {
			r.fault(one, "%s asks whether something is known, such as \"{{name}}\"", key.Value)
		}
		if key.Value == "when" {
			c.when = append(c.when, t)
		} else {
			c.unless = append(c.unless, t)
		}
	}
}

// patterns reads one pattern, or several. They do not tell large letters from
// small ones.
func (r *reader) patterns(n *yaml.Node) []*regexp.Regexp {
	list := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		list = r.list(n, "patterns", maxPatterns)
	}
	var out []*regexp.Regexp
	for _, one := range list {
		re, err := regexp.Compile("(?i)" + r.text(one))
		if err != nil {
			r.fault(one, "the pattern cannot be read: %s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
			continue
		}
		out = append(out, re)
	}
	return out
}

func groups(list []*regexp.Regexp) []string {
	var out []string
	for _, re := range list {
		for _, name := range re.SubexpNames() {
			if name != "" {
				out = append(out, name)
			}
		}
	}
	return out
}

// template reads a text whose placeholders are known.
func (r *reader) template(n *yaml.Node, known []string) template {
	t, err := parseTemplate(r.text(n))
	if err != nil {
		r.fault(n, "%v", err)
	}
	r.uses(n, t.names(), known)
	return t
}

func (r *reader) uses(n *yaml.Node, names, known []string) {
	for _, name := range names {
		if !slices.Contains(known, name) {
			r.fault(n, "nothing gives {{%s}} here; known are %s", name, strings.Join(slices.Compact(slices.Sorted(slices.Values(known))), ", "))
		}
	}
}

// value reads arguments, or a part of them.
func (r *reader) value(n *yaml.Node, known []string, depth int) value {
	if depth > maxDepth {
		r.fault(n, "arguments are nested more than %d deep", maxDepth)
		return value{kind: 'f'}
	}
	switch n.Kind { //nolint:exhaustive // documents do not stand inside of others
	case yaml.MappingNode:
		v := value{kind: 'o'}
		r.object(n, "arguments", func(key, inner *yaml.Node) bool {
			v.object = append(v.object, member{key.Value, r.value(inner, known, depth+1)})
			return true
		})
		return v
	case yaml.SequenceNode:
		v := value{kind: 'l'}
		for _, one := range n.Content {
			v.list = append(v.list, r.value(one, known, depth+1))
		}
		return v
	case yaml.ScalarNode:
		if n.Tag == "!!str" {
			return value{kind: 't', text: r.template(n, known)}
		}
		v := value{kind: 'f'}
		if err := n.Decode(&v.fixed); err != nil {
			r.fault(n, "%q cannot be read", clip(n.Value))
		}
		switch v.fixed.(type) {
		case nil, bool, int, int64, uint64:
			return v
		case float64:
			if n.Value != ".inf" && !strings.Contains(strings.ToLower(n.Value), "inf") && !strings.Contains(strings.ToLower(n.Value), "nan") {
				return v
			}
		}
		r.fault(n, "%q is neither text, number, true, false nor null: put it in quotes", clip(n.Value))
		return value{kind: 'f'}
	}
	r.fault(n, "anchors and aliases are not taken: write it out")
	return value{kind: 'f'}
}

// text reads a text, or what else stands in one line.
func (r *reader) text(n *yaml.Node) string {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		r.fault(n, "a text stands here")
		return ""
	}
	return n.Value
}

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

func (r *reader) name(n *yaml.Node) string {
	name := r.text(n)
	if !variable.MatchString(name) {
		r.fault(n, "%q is no name: use letters, digits and underscores", clip(name))
	}
	return name
}

func (r *reader) list(n *yaml.Node, what string, most int) []*yaml.Node {
	if n.Kind != yaml.SequenceNode {
		r.fault(n, "%s is a list: each begins with a hyphen", what)
		return nil
	}
	if len(n.Content) > most {
		r.fault(n, "%s has more than %d", what, most)
		return nil
	}
	return n.Content
}

// object walks through the members of a map, each once. take gives false for a
// name that it does not know.
func (r *reader) object(n *yaml.Node, what string, take func(key, v *yaml.Node) bool, names ...string) map[string]bool {
	given := map[string]bool{}
	if n.Kind != yaml.MappingNode {
		r.fault(n, "%s has names and values, such as name: value", what)
		return given
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, v := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode || given[key.Value] {
			r.fault(key, "%s has %q twice, or a name that is none", what, clip(key.Value))
			continue
		}
		if given[key.Value] = true; v.Kind == yaml.AliasNode || v.Anchor != "" {
			r.fault(v, "anchors and aliases are not taken: write it out")
			continue
		}
		if !take(key, v) {
			r.fault(key, "%s has no %q; it has %s", what, clip(key.Value), strings.Join(names, ", "))
		}
	}
	return given
}
