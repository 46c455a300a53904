package rules

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// path is a subset of JSONPath: names, indexes and wildcards, such as
// $.days[0].high, $.items[*].title or $['odd name']. Filters and slices are left
// out, because they would need an expression language.
type path []segment

// segment is one part of a path.
type segment struct {
	name  string
	index int
	kind  byte // 'n' for a name, 'i' for an index, '*' for a wildcard
}

// pathNamePattern describes names that need no quotes.
var pathNamePattern = regexp.MustCompile(`^[A-Za-z_\x{80}-\x{10FFFF}][A-Za-z0-9_\x{80}-\x{10FFFF}]*`)

// maxSegments bounds the length of a path.
const maxSegments = 32

// parsePath parses a path, which starts with $.
func parsePath(text string) (path, error) {
	rest, ok := strings.CutPrefix(text, "$")
	if !ok {
		return nil, fmt.Errorf("%q is not a path: a path begins with $, such as $.items[0].title", truncateText(text))
	}
	p := path{}
	for rest != "" {
		s, after, err := nextSegment(rest)
		if err != nil {
			return nil, fmt.Errorf("the path %q, at %q: %w", truncateText(text), truncateText(rest), err)
		}
		p, rest = append(p, s), after
		if len(p) > maxSegments {
			return nil, fmt.Errorf("the path %q has more than %d steps", truncateText(text), maxSegments)
		}
	}
	return p, nil
}

// nextSegment parses the first segment of the rest of a path, and returns what
// follows it.
func nextSegment(rest string) (s segment, after string, err error) {
	if after, ok := strings.CutPrefix(rest, "."); ok {
		if after, ok := strings.CutPrefix(after, "*"); ok {
			return segment{kind: '*'}, after, nil
		}
		name := pathNamePattern.FindString(after)
		if name == "" {
			return s, "", errors.New("a dot must be followed by a name or *; write other names as ['name']")
		}
		return segment{kind: 'n', name: name}, after[len(name):], nil
	}
	inner, ok := strings.CutPrefix(rest, "[")
	if !ok {
		return s, "", errors.New("expected .name, [0], ['name'] or [*]")
	}
	if after, ok := strings.CutPrefix(inner, "*]"); ok {
		return segment{kind: '*'}, after, nil
	}
	// Backslashes are rejected, because implementations of JSONPath disagree on
	// escapes.
	for _, quote := range []string{"'", `"`} {
		if quoted, ok := strings.CutPrefix(inner, quote); ok {
			name, after, ok := strings.Cut(quoted, quote+"]")
			if !ok || strings.Contains(name, `\`) {
				return s, "", errors.New("the name in quotes has no closing quote, or has a backslash")
			}
			return segment{kind: 'n', name: name}, after, nil
		}
	}
	number, after, ok := strings.Cut(inner, "]")
	index, err := strconv.Atoi(number)
	if !ok || err != nil {
		return s, "", errors.New("brackets must contain a number, a name in quotes or *; filters and slices are not supported")
	}
	return segment{kind: 'i', index: index}, after, nil
}

// lookup returns the value at the path and whether there is one. With a wildcard
// the value is a list. A negative index counts from the end.
func (p path) lookup(data any) (any, bool) {
	for i, s := range p {
		switch at := data.(type) {
		case map[string]any:
			if s.kind == '*' {
				return nil, false // members of an object have no order
			}
			next, ok := at[s.name]
			if s.kind != 'n' || !ok {
				return nil, false
			}
			data = next
		case []any:
			if s.kind == '*' {
				return p[i+1:].lookupEach(at), true
			}
			index := s.index
			if index < 0 {
				index += len(at)
			}
			if s.kind != 'i' || index < 0 || index >= len(at) {
				return nil, false
			}
			data = at[index]
		default:
			return nil, false
		}
	}
	return data, true
}

// lookupEach returns the values at the path in each element of a list. Lists of
// nested wildcards are flattened into one.
func (p path) lookupEach(list []any) []any {
	out := []any{}
	for _, one := range list {
		v, ok := p.lookup(one)
		if !ok {
			continue
		}
		// Without a wildcard in the rest, the list is the value itself and stays
		// nested.
		if inner, many := v.([]any); many && p.hasWildcard() {
			out = append(out, inner...)
			continue
		}
		out = append(out, v)
	}
	return out
}

// hasWildcard reports whether the path has a wildcard.
func (p path) hasWildcard() bool {
	for _, s := range p {
		if s.kind == '*' {
			return true
		}
	}
	return false
}
