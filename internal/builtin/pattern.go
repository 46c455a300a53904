package builtin

import (
	"net/url"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// pattern is a URI template of RFC 6570 level 1: text, variable, text, …, text.
// Variables stand between texts, and no two touch.
type pattern struct {
	texts []string // one more than names
	names []string
}

func parsePattern(s string) (*pattern, error) {
	fail := func(why string) (*pattern, error) {
		return nil, junctor.Errorf(junctor.CodeInvalid, "%q is not a URI template that can be matched: %s", s, why)
	}
	p := &pattern{}
	rest := s
	for {
		text, after, found := strings.Cut(rest, "{")
		if strings.Contains(text, "}") {
			return fail("a } without {")
		}
		if text == "" && found && len(p.names) > 0 {
			return fail("two variables touch, so a URI could be read in several ways")
		}
		p.texts = append(p.texts, text)
		if !found {
			break
		}
		name, tail, closed := strings.Cut(after, "}")
		switch {
		case !closed:
			return fail("a { without }")
		case !isVariable(name):
			return fail("a variable is letters, digits, underscores and dots; operators are not supported")
		case p.has(name):
			return fail("variable " + name + " stands there twice")
		}
		p.names = append(p.names, name)
		rest = tail
	}
	if len(p.names) == 0 {
		return fail("it has no {variable}; add it as a resource")
	}
	return p, nil
}

// isVariable says whether name is words of letters, digits and underscores with
// a dot between each two.
func isVariable(name string) bool {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"
	for word := range strings.SplitSeq(name, ".") {
		if word == "" || strings.Trim(word, letters) != "" {
			return false
		}
	}
	return true
}

func (p *pattern) has(name string) bool { return slices.Contains(p.names, name) }

// match reads the variables out of a URI. A value is at least one character and
// has no / ? or #; it is given with its percent escapes decoded.
//
// Taking each text at its first possible place is enough: a text without those
// characters may move to the front at the cost of the next value alone, and one
// with them has only one place where it can stand.
func (p *pattern) match(uri string) (map[string]string, bool) {
	rest, ok := strings.CutPrefix(uri, p.texts[0])
	if !ok {
		return nil, false
	}
	vars := make(map[string]string, len(p.names))
	for i, name := range p.names {
		text := p.texts[i+1]
		end := len(rest) - len(text)
		if i < len(p.names)-1 {
			if rest == "" {
				return nil, false
			}
			end = 1 + strings.Index(rest[1:], text)
		}
		if end < 1 || rest[end:end+len(text)] != text {
			return nil, false
		}
		value, err := url.PathUnescape(rest[:end])
		if err != nil || strings.ContainsAny(rest[:end], "/?#") {
			return nil, false
		}
		vars[name] = value
		rest = rest[end+len(text):]
	}
	return vars, true
}
