package catalog

import (
	"regexp"
	"strings"
)

// template is a URI template of RFC 6570, to judge whether a URI is one that it
// makes. It is strict where the specification is lax: a variable is not empty,
// and stays within its part of the URI.
type template struct{ shape *regexp.Regexp }

// parseTemplate gives nil for what is no template, or one that cannot be judged.
func parseTemplate(text string) *template {
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
		b.WriteString(expression(name))
		rest = tail
	}
	shape, err := regexp.Compile(b.String() + "$")
	if err != nil {
		return nil
	}
	return &template{shape}
}

// expression is what an expression of a template may become.
func expression(name string) string {
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

// makes says whether the template makes the URI. One that climbs out of its
// path, plainly or encoded, is none: where it leads is not where it seems to.
func (t *template) makes(uri string) bool {
	return t.shape.MatchString(uri) && !climbs(uri)
}

func climbs(uri string) bool {
	path, _, _ := strings.Cut(uri, "?")
	path = strings.NewReplacer("%2e", ".", "%2E", ".", "%2f", "/", "%2F", "/", "%5c", "/", "%5C", "/", `\`, "/").Replace(path)
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "." || segment == ".." {
			return true
		}
	}
	return false
}
