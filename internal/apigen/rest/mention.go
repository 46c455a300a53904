package rest

import (
	"html"
	"slices"
	"strings"
)

// endpointMention is a place in a text that names methods and paths.
type endpointMention struct {
	methods []string
	paths   []string
	// start is its offset in the text.
	start int
	// textAfter is the text behind it.
	textAfter string
	// isLeading is set if only marks stand before it.
	isLeading bool
	// isWildcard is set if the path is a wildcard or breaks off, so that no
	// request can be made.
	isWildcard bool
}

// stripInlineMarks returns a line of Markdown without its marks. Backticks
// stay, because they show where a path ends.
func stripInlineMarks(s string) string {
	if strings.ContainsAny(s, "<&[\\*_!~") {
		p := patterns()
		s = p.image.ReplaceAllString(s, "$1")
		s = p.link.ReplaceAllString(s, "$1")
		s = p.autolink.ReplaceAllString(s, "$1")
		s = stripTags(s)
		s = html.UnescapeString(s)
		for _, mark := range []string{"~~", "**", "__"} {
			s = stripPairs(s, mark)
		}
		s = strings.NewReplacer(`\{`, "{", `\}`, "}", `\_`, "_", `\<`, "<", `\>`, ">", `\*`, "*", `\[`, "[", `\]`, "]", "\u00a0", " ").Replace(s)
		s = p.emphasis.ReplaceAllString(s, "$1$2$3")
		s = p.methodEmphasis.ReplaceAllString(s, "$1$2$3")
	}
	return s
}

// stripTags returns a line of Markdown without its HTML tags. As in a page of HTML,
// code gets backticks, emphasis behind a slash is a parameter of the path, and a method
// that a tag ends is a word of its own. Tags of blocks separate words.
func stripTags(s string) string {
	var b strings.Builder
	placeholder := -1 // where its name begins in b
	last := 0
	for _, m := range patterns().inlineTag.FindAllStringSubmatchIndex(s, -1) {
		if strings.HasSuffix(s[last:m[0]], "(?P") || strings.HasSuffix(s[last:m[0]], "(?") {
			continue // the name of a group: /(?P<a>[0-9]+)
		}
		b.WriteString(s[last:m[0]])
		last = m[1]
		text, closes := b.String(), m[2] < m[3]
		switch name := strings.ToLower(s[m[4]:m[5]]); name {
		case "em", "i", "var":
			switch {
			case closes && placeholder >= 0:
				b.Reset()
				b.WriteString(text[:placeholder] + "{" + placeholderName(text[placeholder:]) + "}")
				placeholder = -1
			case !closes && placeholder < 0 && strings.HasSuffix(text, "/"):
				placeholder = len(text)
			default:
				endMethodWord(&b)
			}
		case "code", "kbd", "samp", "tt":
			b.WriteByte('`')
		case "a", "b", "strong", "u", "span", "mark", "small", "sub", "sup", "font", "img":
			endMethodWord(&b)
		default:
			b.WriteByte(' ')
		}
	}
	b.WriteString(s[last:])
	return b.String()
}

// placeholderName returns the name of a parameter that a page emphasizes, with or
// without the marks of another notation.
func placeholderName(s string) string { return strings.Trim(s, ":{}<>[]$ ") }

// endMethodWord writes a space where a text ends in a method, as in <b>GET</b>/users.
func endMethodWord(b *strings.Builder) {
	text := b.String()
	at := strings.LastIndexFunc(text, func(r rune) bool { return r < 'A' || r > 'Z' })
	if len(parseMethodsOnly(text[at+1:])) > 0 {
		b.WriteByte(' ')
	}
}

// stripPairs takes a mark of emphasis away where it opens and closes. One that is
// part of a path stays: /files/** is a wildcard, and /a/__new__ a name.
func stripPairs(s, mark string) string {
	var b strings.Builder
	for {
		open := openingMark(s, mark)
		if open < 0 {
			break
		}
		inner := s[open+len(mark):]
		end := strings.Index(inner, mark)
		for end >= 0 && (end == 0 || inner[end-1] == ' ') { // it closes behind a letter or sign
			next := strings.Index(inner[end+1:], mark)
			if next < 0 {
				end = -1
				break
			}
			end += 1 + next
		}
		if end < 0 {
			break
		}
		b.WriteString(s[:open])
		b.WriteString(inner[:end])
		s = inner[end+len(mark):]
	}
	b.WriteString(s)
	return b.String()
}

// openingMark finds the first mark that can open: text follows it, and it does not
// stand within a path or a word. -1 is that there is none.
func openingMark(s, mark string) int {
	for from := 0; ; {
		at := strings.Index(s[from:], mark)
		if at < 0 {
			return -1
		}
		at += from
		from = at + len(mark)
		before, behind := byte(' '), byte(' ')
		if at > 0 {
			before = s[at-1]
		}
		if from < len(s) {
			behind = s[from]
		}
		if behind != ' ' && before != '/' && (mark != "__" || !isWordByte(before)) {
			return at
		}
	}
}

func isWordByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// findMentions finds the endpoints that a text names, such as "GET /users",
// "GET/POST /users", "a POST request to `/users`" or "/users (GET)".
func findMentions(text string) []endpointMention {
	if parseMethodsOnly(text) != nil { // "PUT / PATCH" names no path
		return nil
	}
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

// parseWholeMention parses a text that is an endpoint and nothing else. In such
// a text the method may be in lower case, and the path may lack its first
// slash.
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

// findUnknownMethod returns the method at the beginning of a text if it cannot
// be sent, such as WS /events.
func findUnknownMethod(text string) (method string, found bool) {
	m := patterns().unknownVerb.FindStringSubmatch(text)
	if m == nil {
		return "", false
	}
	return m[1], true
}

// splitMethods splits "GET/POST" and "GET, POST".
func splitMethods(s string) []string {
	var all []string
	for _, m := range patterns().method.FindAllString(s, -1) {
		if m = normalizeMethod(m); !slices.Contains(all, m) {
			all = append(all, m)
		}
	}
	return all
}

// normalizeMethod returns a method in the form in which it is sent.
func normalizeMethod(s string) string {
	if s = strings.ToUpper(strings.TrimSpace(s)); s == "DEL" {
		return "DELETE"
	}
	return s
}

// parseMethodsOnly returns the methods of a text that consists of methods only,
// and nil for another text.
func parseMethodsOnly(s string) []string {
	s = strings.Trim(s, " \t`*[]()")
	if !patterns().methodsOnly.MatchString(s) {
		return nil
	}
	return splitMethods(strings.ToUpper(s))
}

// splitPaths returns the paths of a mention without the punctuation of the
// sentence around them. "/a,/b" are two. isWildcard is set if there is no
// usable path.
func splitPaths(raw string) (paths []string, loose bool) {
	for one := range strings.SplitSeq(strings.ReplaceAll(raw, ",/", " /"), " /") {
		if len(paths) > 0 || loose {
			one = "/" + one
		}
		one = strings.TrimRight(one, ",;:!'\"`")
		// An optional query may be in brackets: /a[?b=c].
		if path, query, optional := strings.Cut(one, "[?"); optional {
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

// remarkText returns the remark behind an endpoint on its line, such as "list
// all users".
func remarkText(rest string) string {
	rest = patterns().httpVersion.ReplaceAllString(rest, "")
	rest = strings.Trim(rest, " \t`*|_>#/:=-–—→.,;()[]\"'")
	if len(rest) > 300 {
		return ""
	}
	return strings.Join(strings.Fields(strings.ReplaceAll(rest, "`", "")), " ")
}
