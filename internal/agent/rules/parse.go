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

// Bounds of a file, beside its length. They keep the work of one message small.
const (
	maxIntents  = 500
	maxPatterns = 50
	maxSteps    = 32
	maxDepth    = 16
	maxProblems = 10
)

// rulesParser parses a file and collects its problems, each with its line. It goes
// on after a problem, so that a person can correct several at once.
type rulesParser struct {
	problems  []string
	templates fs.FS // bundled surfaces that rules may name; may be nil
}

// addProblem adds a problem at a node, up to maxProblems.
func (r *rulesParser) addProblem(n *yaml.Node, format string, args ...any) {
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, fmt.Sprintf("line %d: ", n.Line)+fmt.Sprintf(format, args...))
	}
}

// Parse parses rules. templates holds the bundled surfaces, which rules name as
// PACK/NAME, in the files PACK/templates/NAME.json; it may be nil. The error has
// CodeInvalid and lists the problems with their lines.
func Parse(text string, templates fs.FS) (*Rules, error) {
	if len(text) > junctor.MaxRules {
		return nil, junctor.Errorf(junctor.CodeInvalid, "rules: longer than %d KiB", junctor.MaxRules>>10)
	}
	// The document is parsed as nodes and not into a struct: nodes have line
	// numbers, and show duplicate names, aliases and unknown members.
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "rules: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if len(doc.Content) == 0 {
		return nil, junctor.Errorf(junctor.CodeInvalid, "rules: the text is empty: write intents and a fallback")
	}
	r := &rulesParser{templates: templates}
	out := r.parseRules(doc.Content[0])
	if len(r.problems) > 0 {
		return nil, junctor.Errorf(junctor.CodeInvalid, "rules: %s", strings.Join(r.problems, "; "))
	}
	return out, nil
}

// parseRules parses the file's top level.
func (r *rulesParser) parseRules(n *yaml.Node) *Rules {
	out := &Rules{}
	known := []string{"message", "speaker"}
	given := r.parseObject(n, "the file", func(key, v *yaml.Node) bool {
		switch key.Value {
		case "intents":
			for _, one := range r.parseList(v, "intents", maxIntents) {
				out.intents = append(out.intents, r.parseIntent(one))
			}
		case "fallback":
			out.fallback = r.parseText(v, known)
		default:
			return false
		}
		return true
	}, "intents", "fallback")
	if !given["fallback"] {
		r.addProblem(n, "fallback is missing: write the answer to messages that match no intent")
	}
	return out
}

// parseIntent parses an intent. It tracks which variables are known at each place,
// so that a placeholder without a source is reported when the rules are stored and
// not in a conversation.
func (r *rulesParser) parseIntent(n *yaml.Node) intent {
	in := intent{failureText: template{{literal: "That did not work: "}, {name: "error"}}}
	var calls, failed, answers *yaml.Node
	// The values of match and context are known everywhere in the intent, whatever
	// the order of its members. Calls, answers and the failure text are parsed
	// after them.
	known := []string{"message", "speaker"}
	given := r.parseObject(n, "an intent", func(key, v *yaml.Node) bool {
		switch key.Value {
		case "name":
			in.name = r.parseScalar(v)
		case "match":
			in.patterns = r.parsePatterns(v)
			known = append(known, groupNames(in.patterns)...)
		case "except":
			in.exceptPatterns = r.parsePatterns(v)
		case "action":
			in.action = r.parseScalar(v)
		case "context":
			for _, one := range r.parseList(v, "context", maxPatterns) {
				in.contextNames = append(in.contextNames, r.parseName(one))
			}
			known = append(known, in.contextNames...)
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
		r.addProblem(n, "match and action are missing: write a pattern for messages, a list of patterns, or the name of an action")
	}
	if given["except"] && !given["match"] {
		r.addProblem(n, "except requires match, because it excludes messages that match finds")
	}
	if given["context"] && in.action == "" {
		r.addProblem(n, "context requires action, because it names the values that come with an action")
	}
	if calls != nil { // first, whatever the order in the file: answers use their variables
		in.steps, known = r.parseSteps(calls, known)
	}
	switch {
	case answers == nil:
		in.answers = []answer{r.parseAnswer(n, known, false)}
	case given["say"] || given["surface"] || given["with"]:
		r.addProblem(answers, "an intent must have either answers, or say and surface")
	default:
		in.answers = r.parseAnswers(answers, known)
	}
	if failed != nil {
		in.failureText = r.parseText(failed, append(slices.Clone(known), "error"))
	}
	return in
}

// parseAnswers parses a list of answers, of which the first with a met condition is
// used. The last must have no condition, so that one always applies.
func (r *rulesParser) parseAnswers(n *yaml.Node, known []string) []answer {
	list := r.parseList(n, "answers", maxSteps)
	out := make([]answer, 0, len(list)+1)
	for i, one := range list {
		a := r.parseAnswer(one, known, true)
		if last := i == len(list)-1; last && (len(a.cond.when) > 0 || len(a.cond.unless) > 0) {
			r.addProblem(one, "the last of the answers must have neither when nor unless: it is the answer in all other cases")
		}
		out = append(out, a)
	}
	if len(out) == 0 {
		r.addProblem(n, "answers is empty: write at least one answer")
		out = append(out, answer{})
	}
	return out
}

// parseAnswer parses an answer. It has a mapping of its own if isOwn is true;
// otherwise its members are among those of the intent.
func (r *rulesParser) parseAnswer(n *yaml.Node, known []string, isOwn bool) answer {
	var a answer
	var shown, with *yaml.Node
	given := r.parseObject(n, "an answer", func(key, v *yaml.Node) bool {
		switch key.Value {
		case "say":
			a.text = r.parseText(v, known)
		case "surface":
			shown = v
		case "with":
			with = v
		case "when", "unless":
			if !isOwn {
				return true // parseIntent has reported it as unknown
			}
			r.parseCondition(&a.cond, key, v, known)
		default:
			return !isOwn
		}
		return true
	}, "when", "unless", "say", "surface", "with")
	if !given["say"] {
		r.addProblem(n, "say is missing: write the text of the answer")
	}
	if with != nil && shown == nil {
		r.addProblem(with, "with requires surface")
	}
	if shown != nil {
		a.surfaces = r.parseSurfaces(shown, with, known)
	}
	return a
}

// parseCondition parses a when or an unless, one text or a list, and adds it to c.
// Each text needs a placeholder, because a fixed text would always or never hold.
func (r *rulesParser) parseCondition(c *condition, key, v *yaml.Node, known []string) {
	list := []*yaml.Node{v}
	if v.Kind == yaml.SequenceNode {
		list = r.parseList(v, key.Value, maxSteps)
	}
	for _, one := range list {
		t := r.parseText(one, known)
		if len(t.variableNames()) == 0 {
			r.addProblem(one, "%s requires a placeholder, such as \"{{name}}\"", key.Value)
		}
		if key.Value == "when" {
			c.when = append(c.when, t)
		} else {
			c.unless = append(c.unless, t)
		}
	}
}

// parsePatterns parses one pattern or a list. Patterns ignore case. Go's regular
// expressions take linear time, so a hostile pattern cannot block.
func (r *rulesParser) parsePatterns(n *yaml.Node) []*regexp.Regexp {
	list := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		list = r.parseList(n, "patterns", maxPatterns)
	}
	var out []*regexp.Regexp
	for _, one := range list {
		re, err := regexp.Compile("(?i)" + r.parseScalar(one))
		if err != nil {
			r.addProblem(one, "the pattern is invalid: %s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
			continue
		}
		out = append(out, re)
	}
	return out
}

// groupNames returns the names of all named groups.
func groupNames(list []*regexp.Regexp) []string {
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

// parseText parses a text with placeholders, all of which must be known.
func (r *rulesParser) parseText(n *yaml.Node, known []string) template {
	t, err := parseTemplate(r.parseScalar(n))
	if err != nil {
		r.addProblem(n, "%v", err)
	}
	r.checkKnown(n, t.variableNames(), known)
	return t
}

// checkKnown reports names that no earlier step sets.
func (r *rulesParser) checkKnown(n *yaml.Node, names, known []string) {
	for _, name := range names {
		if !slices.Contains(known, name) {
			r.addProblem(n, "unknown name {{%s}}; the names known here are %s", name, strings.Join(slices.Compact(slices.Sorted(slices.Values(known))), ", "))
		}
	}
}

// parseValue parses a value with placeholders: arguments of a call, or a part of
// them.
func (r *rulesParser) parseValue(n *yaml.Node, known []string, depth int) valueTemplate {
	if depth > maxDepth {
		r.addProblem(n, "arguments are nested more than %d deep", maxDepth)
		return valueTemplate{kind: 'f'}
	}
	switch n.Kind { //nolint:exhaustive // documents are not nested
	case yaml.MappingNode:
		v := valueTemplate{kind: 'o'}
		r.parseObject(n, "arguments", func(key, inner *yaml.Node) bool {
			v.object = append(v.object, member{key.Value, r.parseValue(inner, known, depth+1)})
			return true
		})
		return v
	case yaml.SequenceNode:
		v := valueTemplate{kind: 'l'}
		for _, one := range n.Content {
			v.list = append(v.list, r.parseValue(one, known, depth+1))
		}
		return v
	case yaml.ScalarNode:
		// Only texts have placeholders; a number or a boolean keeps its type.
		if n.Tag == "!!str" {
			return valueTemplate{kind: 't', text: r.parseText(n, known)}
		}
		v := valueTemplate{kind: 'f'}
		if err := n.Decode(&v.literal); err != nil {
			r.addProblem(n, "%q cannot be read", truncateText(n.Value))
		}
		switch v.literal.(type) {
		case nil, bool, int, int64, uint64:
			return v
		case float64:
			if n.Value != ".inf" && !strings.Contains(strings.ToLower(n.Value), "inf") && !strings.Contains(strings.ToLower(n.Value), "nan") {
				return v
			}
		}
		r.addProblem(n, "%q is neither text, number, true, false nor null: put it in quotes", truncateText(n.Value))
		return valueTemplate{kind: 'f'}
	}
	r.addProblem(n, "anchors and aliases are not supported: write the value out")
	return valueTemplate{kind: 'f'}
}

// parseScalar parses a text or any other value on one line, except null.
func (r *rulesParser) parseScalar(n *yaml.Node) string {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		r.addProblem(n, "a text is required here")
		return ""
	}
	return n.Value
}

// variablePattern describes the name of a variable.
var variablePattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

// parseName parses the name of a variable.
func (r *rulesParser) parseName(n *yaml.Node) string {
	name := r.parseScalar(n)
	if !variablePattern.MatchString(name) {
		r.addProblem(n, "%q is not a valid name: use letters, digits and underscores", truncateText(name))
	}
	return name
}

// parseList returns the elements of a list; none if it is not a list or too long.
func (r *rulesParser) parseList(n *yaml.Node, what string, most int) []*yaml.Node {
	if n.Kind != yaml.SequenceNode {
		r.addProblem(n, "%s must be a list; each item begins with a hyphen", what)
		return nil
	}
	if len(n.Content) > most {
		r.addProblem(n, "%s has more than %d items", what, most)
		return nil
	}
	return n.Content
}

// parseObject calls take for each member of a mapping and returns the names that it
// has. It reports duplicate names, and names for which take returns false. Aliases
// are rejected, because they can expand to a document of any size.
func (r *rulesParser) parseObject(n *yaml.Node, what string, take func(key, v *yaml.Node) bool, names ...string) map[string]bool {
	given := map[string]bool{}
	if n.Kind != yaml.MappingNode {
		r.addProblem(n, "%s must have names and values, such as name: value", what)
		return given
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, v := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode || given[key.Value] {
			r.addProblem(key, "%s has the name %q twice, or the name is not a text", what, truncateText(key.Value))
			continue
		}
		if given[key.Value] = true; v.Kind == yaml.AliasNode || v.Anchor != "" {
			r.addProblem(v, "anchors and aliases are not supported: write the value out")
			continue
		}
		if !take(key, v) {
			r.addProblem(key, "%s has no %q; it has %s", what, truncateText(key.Value), strings.Join(names, ", "))
		}
	}
	return given
}
