package rest

import (
	"html"
	"slices"
	"strings"
)

// mention is a place of a text that names a method and a path.
type mention struct {
	methods []string
	paths   []string
	start   int    // where it begins in the text
	rest    string // text behind it
	leads   bool   // nothing but marks stands before it
	loose   bool   // its path is a wildcard or breaks off, so no request can be made of it
}

// inlineText is a line of Markdown without its marks. Backticks stay: they say
// where a path ends.
func inlineText(s string) string {
	if strings.ContainsAny(s, "<&[\\*_!~") {
		p := pattern()
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
		for _, mark := range []string{"~~", "**", "__"} {
			s = stripPairs(s, mark)
		}
		s = strings.NewReplacer(`\{`, "{", `\}`, "}", `\_`, "_", `\<`, "<", `\>`, ">", `\*`, "*", `\[`, "[", `\]`, "]", "\u00a0", " ").Replace(s)
		s = p.emphasis.ReplaceAllString(s, "$1$2$3")
	}
	return s
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

// mentionsIn finds the endpoints that a text names, such as "GET /users",
// "GET/POST /users", "a POST request to `/users`" or "/users (GET)".
func mentionsIn(text string) []mention {
	if onlyMethods(text) != nil { // "PUT / PATCH" names no path
		return nil
	}
	var found []mention
	for _, m := range pattern().endpoint.FindAllStringSubmatchIndex(text, -1) {
		one := mention{start: m[2], methods: methodList(text[m[2]:m[3]]), leads: pattern().marks.MatchString(text[:m[2]])}
		one.paths, one.loose = pathsOf(text[m[4]:m[5]])
		one.rest = text[m[5]:]
		if len(one.paths) > 0 || one.loose {
			found = append(found, one)
		}
	}
	if len(found) > 0 {
		return found
	}
	if m := pattern().pathFirst.FindStringSubmatchIndex(text); m != nil {
		one := mention{start: m[2], methods: methodList(text[m[4]:m[5]]), leads: true, rest: text[m[5]:]}
		one.paths, one.loose = pathsOf(text[m[2]:m[3]])
		return []mention{one}
	}
	return nil
}

// wholeMention is the endpoint that a text is, and nothing else: there a method
// may be in small letters, and a path without its first slash.
func wholeMention(text string) (mention, bool) {
	m := pattern().whole.FindStringSubmatch(strings.Trim(text, " \t`"))
	if m == nil {
		return mention{}, false
	}
	one := mention{methods: methodList(strings.ToUpper(m[1])), leads: true, rest: m[3]}
	path := m[2]
	if !strings.HasPrefix(path, "/") && !pattern().opening.MatchString(path) {
		path = "/" + path
	}
	one.paths, one.loose = pathsOf(path)
	return one, len(one.methods) > 0 && len(one.paths) > 0
}

// unknownMention is the method and path that a text begins with, where it is no
// method that can be sent.
func unknownMention(text string) (method string, found bool) {
	m := pattern().unknownVerb.FindStringSubmatch(text)
	if m == nil {
		return "", false
	}
	return m[1], true
}

// methodList takes "GET/POST" and "GET, POST" apart.
func methodList(s string) []string {
	var all []string
	for _, m := range pattern().method.FindAllString(s, -1) {
		if m = methodName(m); !slices.Contains(all, m) {
			all = append(all, m)
		}
	}
	return all
}

// methodName is a method as it is sent.
func methodName(s string) string {
	if s = strings.ToUpper(strings.TrimSpace(s)); s == "DEL" {
		return "DELETE"
	}
	return s
}

// onlyMethods are the methods that a text consists of; none where it holds
// anything else.
func onlyMethods(s string) []string {
	s = strings.Trim(s, " \t`*[]()")
	if !pattern().methodsOnly.MatchString(s) {
		return nil
	}
	return methodList(strings.ToUpper(s))
}

// pathsOf cleans the path of a mention: punctuation of the sentence around it is
// not part of it. "/a,/b" are two.
func pathsOf(raw string) (paths []string, loose bool) {
	for one := range strings.SplitSeq(strings.ReplaceAll(raw, ",/", " /"), " /") {
		if len(paths) > 0 || loose {
			one = "/" + one
		}
		one = strings.TrimRight(one, ",;:!'\"`")
		if path, query, optional := strings.Cut(one, "[?"); optional { // /a[?b=c]
			one = path + "?" + strings.NewReplacer("[&", "&", "]", "").Replace(query)
		}
		if pattern().wildcard.MatchString(one) {
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

// remark is what a line says of the endpoint that it names.
func remark(rest string) string {
	rest = pattern().version.ReplaceAllString(rest, "")
	rest = strings.Trim(rest, " \t`*|_>#/:=-–—→.,;()[]\"'")
	if len(rest) > 300 {
		return ""
	}
	return strings.Join(strings.Fields(strings.ReplaceAll(rest, "`", "")), " ")
}
