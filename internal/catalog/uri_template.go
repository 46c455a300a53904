package catalog

import (
	"regexp"
	"strings"
)

// uriTemplate is a URI template of RFC 6570 that URIs are matched against. It
// is stricter than the RFC: a variable is not empty and stays within its part
// of the URI. A granted template must never grant more than it appears to.
type uriTemplate struct{ pattern *regexp.Regexp }

// parseTemplate returns nil for a text that is not a template, or is malformed.
func parseTemplate(text string) *uriTemplate {
	if !strings.Contains(text, "{") {
		return nil
	}
	var b strings.Builder
	b.WriteString("^")
	for rest := text; rest != ""; {
		literal, after, found := strings.Cut(rest, "{")
		b.WriteString(regexp.QuoteMeta(literal))
		if !found {
			break
		}
		name, tail, closed := strings.Cut(after, "}")
		if !closed || name == "" {
			return nil
		}
		b.WriteString(expressionPattern(name))
		rest = tail
	}
	shape, err := regexp.Compile(b.String() + "$")
	if err != nil {
		return nil
	}
	return &uriTemplate{shape}
}

// expressionPattern returns the regular expression for one expression of a
// template.
func expressionPattern(name string) string {
	switch name[0] {
	case '+':
		return `[^?#]+`
	case '#':
		return `(?:#.*)?`
	case '/':
		return `(?:/[^/?#]+)*`
	case '.':
		return `(?:\.[^/?#]+)*`
	case ';':
		return `(?:;[^/?#]+)*`
	case '?':
		return `(?:\?[^#]*)?`
	case '&':
		return `(?:&[^#]*)?`
	}
	return `[^/?#]+`
}

// matchesURI reports whether the template can produce the URI. A URI with dot
// segments, plain or encoded, never matches: a server may resolve it to a path
// outside the template.
func (t *uriTemplate) matchesURI(uri string) bool {
	return t.pattern.MatchString(uri) && !hasDotSegments(uri)
}

// hasDotSegments reports whether a path has a segment "." or "..", also in
// encoded form.
func hasDotSegments(uri string) bool {
	path, _, _ := strings.Cut(uri, "?")
	path = strings.NewReplacer("%2e", ".", "%2E", ".", "%2f", "/", "%2F", "/", "%5c", "/", "%5C", "/", `\`, "/").Replace(path)
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "." || segment == ".." {
			return true
		}
	}
	return false
}
