package rules

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// kinds are the members of which a step has one: it says what the step does.
func kinds() []string { return []string{"tool", "from", "in", "set", "numbers", "middle", "around"} }

// steps reads what an intent does, and gives what is known after it.
func (r *reader) steps(n *yaml.Node, known []string) ([]step, []string) {
	list := r.list(n, "calls", maxSteps)
	out := make([]step, 0, len(list))
	for _, one := range list {
		var s step
		s, known = r.step(one, known)
		if s.also && (len(out) == 0 || out[len(out)-1].tool == "") {
			r.fault(one, "also is for a call that is made together with the one before; before this one there is no call")
		}
		out = append(out, s)
	}
	return out, known
}

func (r *reader) step(n *yaml.Node, known []string) (step, []string) {
	var kind string
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		key := n.Content[i].Value
		if !slices.Contains(kinds(), key) {
			continue
		}
		if kind != "" {
			r.fault(n.Content[i], "a step does one thing: %s or %s", kind, key)
		}
		kind = key
	}
	s := step{}
	var gives []string
	switch kind {
	case "from":
		s.do, gives = r.lister(n, &s.cond, known)
	case "in":
		s.do, gives = r.finder(n, &s.cond, known)
	case "set":
		s.do, gives = r.setter(n, &s.cond, known)
	case "numbers":
		s.do = r.bounder(n, &s.cond, known)
	case "middle":
		s.do, gives = r.middler(n, &s.cond, known)
	case "around":
		s.do, gives = r.arounder(n, &s.cond, known)
	default: // also where it has none of them: a call is what is missing mostly
		s, gives = r.call(n, known)
	}
	return s, append(slices.Clone(known), gives...)
}

// work reads a step that is no call: take gives false for a member that it does
// not know.
func (r *reader) work(n *yaml.Node, what string, c *condition, known []string, take func(key, v *yaml.Node) bool, names ...string) map[string]bool {
	return r.object(n, what, func(key, v *yaml.Node) bool {
		if key.Value == "when" || key.Value == "unless" {
			r.condition(c, key, v, known)
			return true
		}
		return take(key, v)
	}, append(names, "when", "unless")...)
}

func (r *reader) call(n *yaml.Node, known []string) (step, []string) {
	s := step{args: value{kind: 'o'}}
	gives := []string{"result"}
	given := r.work(n, "a call", &s.cond, known, func(key, v *yaml.Node) bool {
		switch key.Value {
		case "tool":
			s.tool = r.text(v)
		case "arguments":
			if s.args = r.value(v, known, 0); s.args.kind != 'o' {
				r.fault(v, "arguments are names and values")
			}
		case "also":
			s.also = r.truth(key, v)
		case "may_fail":
			if s.mayFail = r.truth(key, v); s.mayFail {
				gives = append(gives, "error")
			}
		case "as":
			s.as = r.name(v)
			gives = append(gives, s.as)
		case "find":
			s.find = r.finds(v)
			gives = append(gives, groups(s.find)...)
		case "take":
			s.take = r.takes(v)
			for _, t := range s.take {
				gives = append(gives, t.name)
			}
		default:
			return false
		}
		return true
	}, "tool", "arguments", "also", "may_fail", "as", "find", "take")
	if !given["tool"] {
		r.fault(n, "tool is missing: its name as the agent sees it, such as demo__echo; a step that is no call has one of %s", strings.Join(kinds()[1:], ", "))
	}
	return s, gives
}

func (r *reader) lister(n *yaml.Node, c *condition, known []string) (*lister, []string) {
	l := &lister{}
	var gives []string
	name := func(v *yaml.Node) string {
		gives = append(gives, r.name(v))
		return gives[len(gives)-1]
	}
	r.work(n, "a choice from a list", c, known, func(key, v *yaml.Node) bool {
		switch key.Value {
		case "from":
			if l.from = r.template(v, known); len(l.from) != 1 || l.from[0].name == "" {
				r.fault(v, "from is a list that is known, such as \"{{items}}\"")
			}
		case "words":
			l.words = &wording{}
			given := r.object(v, "words", func(key, v *yaml.Node) bool {
				switch key.Value {
				case "of":
					l.words.of = r.template(v, known)
				case "in":
					l.words.in = r.text(v)
				case "as":
					l.words.as = name(v)
				default:
					return false
				}
				return true
			}, "of", "in", "as")
			if !given["of"] || !given["in"] {
				r.fault(v, "words has of, a text, and in, the member that is to share words with it")
			}
		case "sort":
			l.sort, l.last = strings.CutPrefix(r.text(v), "-")
			if l.sort == "" {
				r.fault(v, "sort is the name of a member; a hyphen before it puts the last first")
			}
		case "where":
			l.where = r.members(v, "where", known)
		case "prefer":
			l.prefer = r.members(v, "prefer", known)
		case "add":
			l.add = r.members(v, "add", append(slices.Clone(known), "item"))
		case "limit":
			var err error
			if l.limit, err = strconv.Atoi(r.text(v)); err != nil || l.limit < 1 {
				r.fault(v, "limit is a number from 1 on")
			}
		case "as":
			l.as = name(v)
		case "first":
			l.first = name(v)
		case "rest":
			l.rest = name(v)
		default:
			return false
		}
		return true
	}, "from", "where", "words", "sort", "prefer", "limit", "add", "as", "first", "rest")
	if len(gives) == 0 {
		r.fault(n, "nothing is made of the list: name what is chosen with as, first or rest")
	}
	return l, gives
}

func (r *reader) finder(n *yaml.Node, c *condition, known []string) (*finder, []string) {
	f := &finder{}
	given := r.work(n, "a search", c, known, func(key, v *yaml.Node) bool {
		switch key.Value {
		case "in":
			f.in = r.template(v, known)
		case "find":
			f.find = r.finds(v)
		default:
			return false
		}
		return true
	}, "in", "find")
	if !given["find"] {
		r.fault(n, "find is missing: what is looked for in the text")
	}
	return f, groups(f.find)
}

func (r *reader) setter(n *yaml.Node, c *condition, known []string) (s setter, gives []string) {
	r.work(n, "set", c, known, func(key, v *yaml.Node) bool {
		if key.Value != "set" {
			return false
		}
		s = r.members(v, "set", known)
		return true
	}, "set")
	for _, m := range s {
		gives = append(gives, m.name)
	}
	return s, gives
}

func (r *reader) bounder(n *yaml.Node, c *condition, known []string) (b bounder) {
	r.work(n, "numbers", c, known, func(key, v *yaml.Node) bool {
		if key.Value != "numbers" {
			return false
		}
		r.object(v, "numbers", func(key, v *yaml.Node) bool {
			r.uses(key, []string{key.Value}, known)
			one := bound{name: r.name(key)}
			pair := r.pair(v, "the least and the most that it may be, such as [-90, 90]")
			var lok, mok bool
			one.least, lok = plainNumber(pair[0])
			one.most, mok = plainNumber(pair[1])
			if !lok || !mok || one.least > one.most {
				r.fault(v, "%s: the least and the most are numbers, the least first", clip(key.Value))
			}
			b = append(b, one)
			return true
		})
		return true
	}, "numbers")
	return b
}

func (r *reader) middler(n *yaml.Node, c *condition, known []string) (m middler, gives []string) {
	r.work(n, "middle", c, known, func(key, v *yaml.Node) bool {
		if key.Value != "middle" {
			return false
		}
		r.object(v, "middle", func(key, v *yaml.Node) bool {
			pair := r.pair(v, "two names, such as [south, north]")
			r.uses(v, pair[:], known)
			m = append(m, between{r.name(key), pair[0], pair[1]})
			gives = append(gives, key.Value)
			return true
		})
		return true
	}, "middle")
	return m, gives
}

func (r *reader) arounder(n *yaml.Node, c *condition, known []string) (a arounder, gives []string) {
	r.work(n, "around", c, known, func(key, v *yaml.Node) bool {
		if key.Value != "around" {
			return false
		}
		r.object(v, "around", func(key, v *yaml.Node) bool {
			pair := r.pair(v, "a name and a distance, such as [latitude, 0.01]")
			r.uses(v, pair[:1], known)
			by, ok := plainNumber(pair[1])
			if !ok {
				r.fault(v, "%s: the distance is a number", clip(key.Value))
			}
			a = append(a, beside{r.name(key), pair[0], by})
			gives = append(gives, key.Value)
			return true
		})
		return true
	}, "around")
	return a, gives
}

// pair reads a list of two.
func (r *reader) pair(n *yaml.Node, what string) (out [2]string) {
	if n.Kind != yaml.SequenceNode || len(n.Content) != 2 {
		r.fault(n, "here stands %s", what)
		return out
	}
	return [2]string{r.text(n.Content[0]), r.text(n.Content[1])}
}

// members reads names and the values that they are to have.
func (r *reader) members(n *yaml.Node, what string, known []string) []member {
	var out []member
	r.object(n, what, func(key, v *yaml.Node) bool {
		out = append(out, member{r.name(key), r.value(v, known, 0)})
		return true
	})
	return out
}

func (r *reader) truth(key, v *yaml.Node) bool {
	if v.Kind != yaml.ScalarNode || v.Tag != "!!bool" {
		r.fault(v, "%s is true or false", key.Value)
	}
	return v.Value == "true"
}

// finds reads patterns that name what they find.
func (r *reader) finds(n *yaml.Node) []*regexp.Regexp {
	list := r.patterns(n)
	if len(groups(list)) == 0 {
		r.fault(n, "find names what it finds: (?P<name>…)")
	}
	return list
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
