package rest

import (
	"html"
	"slices"
	"strings"
)

// endpointMention is a place of a text that names a method and a path.
type endpointMention struct {
	methods    []string
	paths      []string
	start      int    // where it begins in the text
	textAfter  string // text behind it
	isLeading  bool   // nothing but marks stands before it
	isWildcard bool   // its path is a wildcard or breaks off, so no request can be made of it
}

// stripInlineMarks is a line of Markdown without its marks. Backticks stay: they say
// where a path ends.
func stripInlineMarks(s string) string {
	if strings.ContainsAny(s, "<&[\\*_!") {
		p := patterns()
		s = p.image.ReplaceAllString(s, "$1")
		s = p.link.ReplaceAllString(s, "$1")
		s = p.autolink.ReplaceAllString(s, "$1")
		s = p.inlineTag.ReplaceAllStringFunc(s, func(tag string) string {
			if name := strings.Trim(strings.ToLower(tag), "</> "); name == "br" || strings.HasPrefix(name, "td") || strings.HasPrefix(name, "th") {
				return " "
			}
			return ""
		})
		s = html.UnescapeString(s)
		s = strings.NewReplacer("**", "", "__", "", `\{`, "{", `\}`, "}", `\_`, "_", `\<`, "<", `\>`, ">", `\*`, "*", `\[`, "[", `\]`, "]", "\u00a0", " ").Replace(s)
		s = p.emphasis.ReplaceAllString(s, "$1$2$3")
	}
	return s
}

// findMentions finds the endpoints that a text names, such as "GET /users",
// "GET/POST /users", "a POST request to `/users`" or "/users (GET)".
func findMentions(text string) []endpointMention {
	var found []endpointMention
	for _, m := range patterns().endpoint.FindAllStringSubmatchIndex(text, -1) {
		one := endpointMention{start: m[2], methods: splitMethods(text[m[2]:m[3]]), isLeading: patterns().leadingMarks.MatchString(text[:m[2]])}
		one.paths, one.isWildcard = splitPaths(text[m[4]:m[5]])
		one.textAfter = text[m[5]:]
		if len(one.paths) > 0 || one.isWildcard {
			found = append(found, one)
		}
	}
	if len(found) > 0 {
		return found
	}
	if m := patterns().pathFirst.FindStringSubmatchIndex(text); m != nil {
		one := endpointMention{start: m[2], methods: splitMethods(text[m[4]:m[5]]), isLeading: true, textAfter: text[m[5]:]}
		one.paths, one.isWildcard = splitPaths(text[m[2]:m[3]])
		return []endpointMention{one}
	}
	return nil
}

// parseWholeMention is the endpoint that a text is, and nothing else: there a method
// may be in small letters, and a path without its first slash.
func parseWholeMention(text string) (endpointMention, bool) {
	m := patterns().wholeEndpoint.FindStringSubmatch(strings.Trim(text, " \t`"))
	if m == nil {
		return endpointMention{}, false
	}
	one := endpointMention{methods: splitMethods(strings.ToUpper(m[1])), isLeading: true, textAfter: m[3]}
	path := m[2]
	if !strings.HasPrefix(path, "/") && !patterns().urlScheme.MatchString(path) {
		path = "/" + path
	}
	one.paths, one.isWildcard = splitPaths(path)
	return one, len(one.methods) > 0 && len(one.paths) > 0
}

// findUnknownMethod is the method and path that a text begins with, where it is no
// method that can be sent.
func findUnknownMethod(text string) (method string, found bool) {
	m := patterns().unknownVerb.FindStringSubmatch(text)
	if m == nil {
		return "", false
	}
	return m[1], true
}

// splitMethods takes "GET/POST" and "GET, POST" apart.
func splitMethods(s string) []string {
	var all []string
	for _, m := range patterns().method.FindAllString(s, -1) {
		if m = normalizeMethod(m); !slices.Contains(all, m) {
			all = append(all, m)
		}
	}
	return all
}

// normalizeMethod is a method as it is sent.
func normalizeMethod(s string) string {
	if s = strings.ToUpper(strings.TrimSpace(s)); s == "DEL" {
		return "DELETE"
	}
	return s
}

// parseMethodsOnly are the methods that a text consists of; none where it holds
// anything else.
func parseMethodsOnly(s string) []string {
	s = strings.Trim(s, " \t`*[]()")
	if !patterns().methodsOnly.MatchString(s) {
		return nil
	}
	return splitMethods(strings.ToUpper(s))
}

// splitPaths cleans the path of a mention: punctuation of the sentence around it is
// not part of it. "/a,/b" are two.
func splitPaths(raw string) (paths []string, loose bool) {
	for one := range strings.SplitSeq(strings.ReplaceAll(raw, ",/", " /"), " /") {
		if len(paths) > 0 || loose {
			one = "/" + one
		}
		one = strings.TrimRight(one, ",;:!'\"`")
		if path, query, optional := strings.Cut(one, "[?"); optional { // /a[?b=c]
			one = path + "?" + strings.NewReplacer("[&", "&", "]", "").Replace(query)
		}
		if patterns().wildcard.MatchString(one) {
			loose = true
			continue
		}
		for {
			cut := strings.TrimRight(one, ",;:.!*'\"`")
			for _, pair := range []string{"()", "[]", "{}"} {
				if strings.HasSuffix(cut, pair[1:]) && strings.Count(cut, pair[:1]) < strings.Count(cut, pair[1:]) {
					cut = cut[:len(cut)-1]
				}
			}
			if cut == one {
				break
			}
			one = cut
		}
		if one != "" {
			paths = append(paths, one)
		}
	}
	return paths, loose && len(paths) == 0
}

// remarkText is what a line says of the endpoint that it names.
func remarkText(rest string) string {
	rest = patterns().httpVersion.ReplaceAllString(rest, "")
	rest = strings.Trim(rest, " \t`*|_>#/:=-–—→.,;()[]\"'")
	if len(rest) > 300 {
		return ""
	}
	return strings.Join(strings.Fields(strings.ReplaceAll(rest, "`", "")), " ")
}
