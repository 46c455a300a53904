package builtin

import (
	"net/url"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// uriPattern is a URI template of RFC 6570 level 1: text, variable, text, …,
// text. No two variables are adjacent, so that a URI can be matched in one way
// only.
type uriPattern struct {
	texts []string // one more than names
	names []string
}

// parsePattern parses a URI template.
func parsePattern(s string) (*uriPattern, error) {
	fail := func(why string) (*uriPattern, error) {
		return nil, junctor.Errorf(junctor.CodeInvalid, "%q is not a URI template that can be matched: %s", s, why)
	}
	p := &uriPattern{}
	rest := s
	for {
		text, after, found := strings.Cut(rest, "{")
		if strings.Contains(text, "}") {
			return fail("a } without {")
		}
		if text == "" && found && len(p.names) > 0 {
			return fail("two variables are adjacent, so a URI could match in several ways")
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
		case p.hasVariable(name):
			return fail("variable " + name + " appears twice")
		}
		p.names = append(p.names, name)
		rest = tail
	}
	if len(p.names) == 0 {
		return fail("it has no {variable}; add it as a resource")
	}
	return p, nil
}

// isVariable reports whether a name consists of words of letters, digits and
// underscores, separated by dots.
func isVariable(name string) bool {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"
	for word := range strings.SplitSeq(name, ".") {
		if word == "" || strings.Trim(word, letters) != "" {
			return false
		}
	}
	return true
}

// hasVariable reports whether the template has a variable.
func (p *uriPattern) hasVariable(name string) bool { return slices.Contains(p.names, name) }

// matchURI returns the variables of a URI. A value has at least one character,
// and no / ? or #. Percent escapes are decoded.
//
// It is sufficient to match each text at its first possible place. A text
// without those characters may move forward at the cost of the next value
// alone, and a text with them has only one possible place.
func (p *uriPattern) matchURI(uri string) (map[string]string, bool) {
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
