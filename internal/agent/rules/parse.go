package rules

import (
	"fmt"
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
type reader struct{ problems []string }

func (r *reader) fault(n *yaml.Node, format string, args ...any) {
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, fmt.Sprintf("line %d: ", n.Line)+fmt.Sprintf(format, args...))
	}
}

// Parse reads rules. An error is invalid, and says what is wrong in which lines.
func Parse(text string) (*Rules, error) {
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
	r := &reader{}
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
	var calls, say, failed *yaml.Node
	known := []string{"message", "speaker"}
	given := r.object(n, "an intent", func(key, v *yaml.Node) bool {
		switch key.Value {
		case "name":
			in.name = r.text(v)
		case "match":
			in.match = r.patterns(v)
			known = append(known, groups(in.match)...)
		case "calls":
			calls = v
		case "say":
			say = v
		case "failed":
			failed = v
		default:
			return false
		}
		return true
	}, "name", "match", "calls", "say", "failed")
	if !given["match"] {
		r.fault(n, "match is missing: a pattern for what people say, or a list of some")
	}
	if calls != nil { // what they give is known to the answer, wherever it stands
		for i, one := range r.list(calls, "calls", maxSteps) {
			var s step
			s, known = r.step(one, known)
			if i == 0 && s.also {
				r.fault(one, "also is for a call that is made together with the one before; this is the first")
			}
			in.steps = append(in.steps, s)
		}
	}
	if say == nil {
		r.fault(n, "say is missing: the answer")
	} else {
		in.say = r.template(say, known)
	}
	if failed != nil {
		in.failed = r.template(failed, append(slices.Clone(known), "error"))
	}
	return in
}

func (r *reader) step(n *yaml.Node, known []string) (step, []string) {
	s := step{args: value{kind: 'o'}}
	gives := []string{"result"}
	given := r.object(n, "a call", func(key, v *yaml.Node) bool {
		switch key.Value {
		case "tool":
			s.tool = r.text(v)
		case "arguments":
			if s.args = r.value(v, known, 0); s.args.kind != 'o' {
				r.fault(v, "arguments are names and values")
			}
		case "also":
			if s.also = v.Value == "true"; v.Kind != yaml.ScalarNode || v.Tag != "!!bool" {
				r.fault(v, "also is true or false")
			}
		case "when":
			t := r.template(v, known)
			s.when = &t
		case "as":
			s.as = r.name(v)
			gives = append(gives, s.as)
		case "find":
			s.find = r.patterns(v)
			if gives = append(gives, groups(s.find)...); len(groups(s.find)) == 0 {
				r.fault(v, "find names what it finds: (?P<name>…)")
			}
		case "take":
			s.take = r.takes(v)
			for _, t := range s.take {
				gives = append(gives, t.name)
			}
		default:
			return false
		}
		return true
	}, "tool", "arguments", "also", "when", "as", "find", "take")
	if !given["tool"] {
		r.fault(n, "tool is missing: its name as the agent sees it, such as demo__echo")
	}
	return s, append(slices.Clone(known), gives...)
}

func (r *reader) takes(n *yaml.Node) []taken {
	var out []taken
	r.object(n, "take", func(key, v *yaml.Node) bool {
		p, err := parsePath(r.text(v))
		if err != nil {
			r.fault(v, "%v", err)
		}
		out = append(out, taken{r.name(key), p})
		return true
	})
	return out
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
