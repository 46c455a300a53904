package rules

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// stepKinds returns the members that select what a step does. A step has exactly
// one of them.
func stepKinds() []string {
	return []string{"tool", "from", "in", "set", "numbers", "middle", "around"}
}

// parseSteps parses the steps of an intent, and returns the variables that are
// known after them.
func (r *rulesParser) parseSteps(n *yaml.Node, known []string) ([]step, []string) {
	list := r.parseList(n, "calls", maxSteps)
	out := make([]step, 0, len(list))
	for _, one := range list {
		var s step
		s, known = r.parseStep(one, known)
		if s.isParallel && (len(out) == 0 || out[len(out)-1].tool == "") {
			r.addProblem(one, "also requires a call before this one, because both calls are made together")
		}
		out = append(out, s)
	}
	return out, known
}

// parseStep parses one step, and returns the variables that are known after it.
func (r *rulesParser) parseStep(n *yaml.Node, known []string) (step, []string) {
	// The kind is found first: it decides how the other members are parsed.
	var kind string
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		key := n.Content[i].Value
		if !slices.Contains(stepKinds(), key) {
			continue
		}
		if kind != "" {
			r.addProblem(n.Content[i], "a step can have only one of %s and %s", kind, key)
		}
		kind = key
	}
	s := step{}
	var gives []string
	switch kind {
	case "from":
		s.local, gives = r.parseListStep(n, &s.cond, known)
	case "in":
		s.local, gives = r.parseSearchStep(n, &s.cond, known)
	case "set":
		s.local, gives = r.parseSetStep(n, &s.cond, known)
	case "numbers":
		s.local = r.parseRangeStep(n, &s.cond, known)
	case "middle":
		s.local, gives = r.parseMidpointStep(n, &s.cond, known)
	case "around":
		s.local, gives = r.parseOffsetStep(n, &s.cond, known)
	default: // also if no kind is given: mostly the tool was forgotten
		s, gives = r.parseCallStep(n, known)
	}
	return s, append(slices.Clone(known), gives...)
}

// parseLocalStep parses the members of a step, including its condition. take parses
// the other members and returns false for an unknown one.
func (r *rulesParser) parseLocalStep(n *yaml.Node, what string, c *condition, known []string, take func(key, v *yaml.Node) bool, names ...string) map[string]bool {
	return r.parseObject(n, what, func(key, v *yaml.Node) bool {
		if key.Value == "when" || key.Value == "unless" {
			r.parseCondition(c, key, v, known)
			return true
		}
		return take(key, v)
	}, append(names, "when", "unless")...)
}

// parseCallStep parses a tool call, and returns the variables that it sets.
func (r *rulesParser) parseCallStep(n *yaml.Node, known []string) (step, []string) {
	s := step{args: valueTemplate{kind: 'o'}}
	gives := []string{"result"}
	given := r.parseLocalStep(n, "a call", &s.cond, known, func(key, v *yaml.Node) bool {
		switch key.Value {
		case "tool":
			s.tool = r.parseScalar(v)
		case "arguments":
			if s.args = r.parseValue(v, known, 0); s.args.kind != 'o' {
				r.addProblem(v, "arguments must have names and values")
			}
		case "also":
			s.isParallel = r.parseBool(key, v)
		case "may_fail":
			if s.mayFail = r.parseBool(key, v); s.mayFail {
				gives = append(gives, "error")
			}
		case "as":
			s.resultName = r.parseName(v)
			gives = append(gives, s.resultName)
		case "find":
			s.searches = r.parseSearchPatterns(v)
			gives = append(gives, groupNames(s.searches)...)
		case "take":
			s.extractions = r.parseExtractions(v)
			for _, t := range s.extractions {
				gives = append(gives, t.name)
			}
		default:
			return false
		}
		return true
	}, "tool", "arguments", "also", "may_fail", "as", "find", "take")
	if !given["tool"] {
		r.addProblem(n, "tool is missing: write the tool's name as the agent sees it, such as demo__echo; a step without a call has one of %s", strings.Join(stepKinds()[1:], ", "))
	}
	return s, gives
}

// parseListStep parses a choice from a list, and returns the variables that it
// sets.
func (r *rulesParser) parseListStep(n *yaml.Node, c *condition, known []string) (*listStep, []string) {
	l := &listStep{}
	var gives []string
	// name parses the name of a variable that the step sets.
	name := func(v *yaml.Node) string {
		gives = append(gives, r.parseName(v))
		return gives[len(gives)-1]
	}
	r.parseLocalStep(n, "a choice from a list", c, known, func(key, v *yaml.Node) bool {
		switch key.Value {
		case "from":
			if l.source = r.parseText(v, known); len(l.source) != 1 || l.source[0].name == "" {
				r.addProblem(v, "from must be the placeholder of a list, such as \"{{items}}\"")
			}
		case "words":
			l.wordMatch = &wordMatch{}
			// The text is usually the person's message, the member a name or a
			// title.
			given := r.parseObject(v, "words", func(key, v *yaml.Node) bool {
				switch key.Value {
				case "of":
					l.wordMatch.text = r.parseText(v, known)
				case "in":
					l.wordMatch.memberName = r.parseScalar(v)
				case "as":
					l.wordMatch.sharedName = name(v)
				default:
					return false
				}
				return true
			}, "of", "in", "as")
			if !given["of"] || !given["in"] {
				r.addProblem(v, "words requires of, which is a text, and in, which is the member that must share words with it")
			}
		case "sort":
			// A hyphen before the name sorts in descending order.
			l.sortKey, l.isDescending = strings.CutPrefix(r.parseScalar(v), "-")
			if l.sortKey == "" {
				r.addProblem(v, "sort must be the name of a member; a hyphen before it reverses the order")
			}
		case "where":
			l.where = r.parseMembers(v, "where", known)
		case "prefer":
			l.prefer = r.parseMembers(v, "prefer", known)
		case "add":
			// Only here the item itself is known, as {{item}}.
			l.addedMembers = r.parseMembers(v, "add", append(slices.Clone(known), "item"))
		case "limit":
			var err error
			if l.limit, err = strconv.Atoi(r.parseScalar(v)); err != nil || l.limit < 1 {
				r.addProblem(v, "limit must be a number of at least 1")
			}
		case "as":
			l.listName = name(v)
		case "first":
			l.firstName = name(v)
		case "rest":
			l.restName = name(v)
		default:
			return false
		}
		return true
	}, "from", "where", "words", "sort", "prefer", "limit", "add", "as", "first", "rest")
	if len(gives) == 0 {
		r.addProblem(n, "the result has no name: add as, first or rest")
	}
	return l, gives
}

// parseSearchStep parses a search in a text, and returns the variables that it
// sets.
func (r *rulesParser) parseSearchStep(n *yaml.Node, c *condition, known []string) (*searchStep, []string) {
	f := &searchStep{}
	given := r.parseLocalStep(n, "a search", c, known, func(key, v *yaml.Node) bool {
		switch key.Value {
		case "in":
			f.source = r.parseText(v, known)
		case "find":
			f.patterns = r.parseSearchPatterns(v)
		default:
			return false
		}
		return true
	}, "in", "find")
	if !given["find"] {
		r.addProblem(n, "find is missing: write the pattern to search for in the text")
	}
	return f, groupNames(f.patterns)
}

// parseSetStep parses assignments, and returns the variables that they set.
func (r *rulesParser) parseSetStep(n *yaml.Node, c *condition, known []string) (s setStep, gives []string) {
	r.parseLocalStep(n, "set", c, known, func(key, v *yaml.Node) bool {
		if key.Value != "set" {
			return false
		}
		s = r.parseMembers(v, "set", known)
		return true
	}, "set")
	for _, m := range s {
		gives = append(gives, m.name)
	}
	return s, gives
}

// parseRangeStep parses ranges of variables.
func (r *rulesParser) parseRangeStep(n *yaml.Node, c *condition, known []string) (b rangeStep) {
	r.parseLocalStep(n, "numbers", c, known, func(key, v *yaml.Node) bool {
		if key.Value != "numbers" {
			return false
		}
		r.parseObject(v, "numbers", func(key, v *yaml.Node) bool {
			r.checkKnown(key, []string{key.Value}, known)
			// The name must be known already: a range checks a variable and does
			// not set one.
			one := numberRange{name: r.parseName(key)}
			pair := r.parsePair(v, "the minimum and the maximum, such as [-90, 90]")
			var lok, mok bool
			one.least, lok = parsePlainNumber(pair[0])
			one.most, mok = parsePlainNumber(pair[1])
			if !lok || !mok || one.least > one.most {
				r.addProblem(v, "%s: the minimum and the maximum must be numbers, the minimum first", truncateText(key.Value))
			}
			b = append(b, one)
			return true
		})
		return true
	}, "numbers")
	return b
}

// parseMidpointStep parses midpoints, and returns the variables that they set.
func (r *rulesParser) parseMidpointStep(n *yaml.Node, c *condition, known []string) (m midpointStep, gives []string) {
	r.parseLocalStep(n, "middle", c, known, func(key, v *yaml.Node) bool {
		if key.Value != "middle" {
			return false
		}
		r.parseObject(v, "middle", func(key, v *yaml.Node) bool {
			pair := r.parsePair(v, "two names, such as [south, north]")
			r.checkKnown(v, pair[:], known)
			m = append(m, midpoint{r.parseName(key), pair[0], pair[1]})
			gives = append(gives, key.Value)
			return true
		})
		return true
	}, "middle")
	return m, gives
}

// parseOffsetStep parses offsets, and returns the variables that they set.
func (r *rulesParser) parseOffsetStep(n *yaml.Node, c *condition, known []string) (a offsetStep, gives []string) {
	r.parseLocalStep(n, "around", c, known, func(key, v *yaml.Node) bool {
		if key.Value != "around" {
			return false
		}
		r.parseObject(v, "around", func(key, v *yaml.Node) bool {
			pair := r.parsePair(v, "a name and a distance, such as [latitude, 0.01]")
			r.checkKnown(v, pair[:1], known)
			by, ok := parsePlainNumber(pair[1])
			if !ok {
				r.addProblem(v, "%s: the distance must be a number", truncateText(key.Value))
			}
			a = append(a, numberOffset{r.parseName(key), pair[0], by})
			gives = append(gives, key.Value)
			return true
		})
		return true
	}, "around")
	return a, gives
}

// parsePair parses a list of two scalars. what describes them in the error.
func (r *rulesParser) parsePair(n *yaml.Node, what string) (out [2]string) {
	if n.Kind != yaml.SequenceNode || len(n.Content) != 2 {
		r.addProblem(n, "expected %s", what)
		return out
	}
	return [2]string{r.parseScalar(n.Content[0]), r.parseScalar(n.Content[1])}
}

// parseMembers parses a mapping from names to values with placeholders.
func (r *rulesParser) parseMembers(n *yaml.Node, what string, known []string) []member {
	var out []member
	r.parseObject(n, what, func(key, v *yaml.Node) bool {
		out = append(out, member{r.parseName(key), r.parseValue(v, known, 0)})
		return true
	})
	return out
}

// parseBool parses true or false. Other words of YAML for them are rejected.
func (r *rulesParser) parseBool(key, v *yaml.Node) bool {
	if v.Kind != yaml.ScalarNode || v.Tag != "!!bool" {
		r.addProblem(v, "%s must be true or false", key.Value)
	}
	return v.Value == "true"
}

// parseSearchPatterns parses patterns, of which at least one must have a named
// group: without one, a search would set no variable.
func (r *rulesParser) parseSearchPatterns(n *yaml.Node) []*regexp.Regexp {
	list := r.parsePatterns(n)
	if len(groupNames(list)) == 0 {
		r.addProblem(n, "find must have a named group: (?P<name>…)")
	}
	return list
}

// parseExtractions parses a mapping from variable names to paths into a result.
func (r *rulesParser) parseExtractions(n *yaml.Node) []extraction {
	var out []extraction
	r.parseObject(n, "take", func(key, v *yaml.Node) bool {
		p, err := parsePath(r.parseScalar(v))
		if err != nil {
			r.addProblem(v, "%v", err)
		}
		out = append(out, extraction{r.parseName(key), p})
		return true
	})
	return out
}
