package tool

import (
	"html"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// cleanText returns plain text of at most limit characters. Descriptions are
// written by strangers and shown to models: it removes markup, control
// characters and invisible ones.
func cleanText(s string, limit int) string {
	if limit <= 0 || s == "" {
		return ""
	}
	// Markup is removed with regular expressions; a text of megabytes need not
	// go through them.
	if len(s) > limit*8 {
		s = s[:runeBoundary(s, limit*8)]
	}
	if strings.ContainsAny(s, "<[`*#|&") {
		s = stripMarkup(s)
	}
	var b strings.Builder
	space := false
	for _, r := range s {
		switch {
		case unicode.IsSpace(r):
			space = true
			continue
		case !unicode.IsPrint(r):
			continue
		}
		if space && b.Len() > 0 {
			b.WriteByte(' ')
		}
		space = false
		b.WriteRune(r)
	}
	return shortenText(b.String(), limit)
}

// textCache remembers cleaned texts, because one schema is compiled many times.
type textCache map[textKey]string

// textKey identifies a cleaned text.
type textKey struct {
	text  string
	limit int
}

// cleanText is cleanText with the cache.
func (c textCache) cleanText(s string, limit int) string {
	if limit <= 0 || s == "" {
		return ""
	}
	out, ok := c[textKey{s, limit}]
	if !ok {
		out = cleanText(s, limit)
		c[textKey{s, limit}] = out
	}
	return out
}

// runeBoundary returns the last offset up to at where a character begins.
func runeBoundary(s string, at int) int {
	for at > 0 && at < len(s) && !utf8.RuneStart(s[at]) {
		at--
	}
	return min(at, len(s))
}

// Markup that stripMarkup removes.
var (
	htmlTags      = regexp.MustCompile(`(?s)<!--.*?-->|</?[A-Za-z][^<>]*>`)
	markdownLinks = regexp.MustCompile(`!?\[([^\[\]]*)\]\([^()\s]*(?:\s+"[^"]*")?\)`)
	markdownMarks = regexp.MustCompile("(?m)^\\s*(#{1,6}|>)\\s*|```[a-z]*|[*`]+|\\|(?:\\s*:?-+:?\\s*\\|)+")
)

// stripMarkup removes HTML and Markdown.
func stripMarkup(s string) string {
	s = htmlTags.ReplaceAllString(s, " ")
	s = markdownLinks.ReplaceAllString(s, "$1")
	s = markdownMarks.ReplaceAllString(s, "")
	return html.UnescapeString(s)
}

// shortenText cuts a text to limit characters: behind a sentence if possible,
// or else behind a word.
func shortenText(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	runes := []rune(s)
	head := string(runes[:limit-1])
	if i := strings.LastIndex(head, ". "); i > len(head)/2 {
		return head[:i+1]
	}
	if i := strings.LastIndexByte(head, ' '); i > len(head)/2 {
		head = head[:i]
	}
	return strings.TrimRight(head, " ,;:.") + "…"
}

// firstParagraph returns the first paragraph that is neither a heading nor an
// image.
func firstParagraph(s string) string {
	s = strings.TrimSpace(strings.ReplaceAll(s, "\r\n", "\n"))
	for part := range strings.SplitSeq(s, "\n\n") {
		if p := strings.TrimSpace(part); p != "" && !strings.HasPrefix(p, "#") && !strings.HasPrefix(p, "![") {
			return p
		}
	}
	return s
}

// isPluralSuffix reports whether rest begins with an s that ends a word, as in
// IDs.
func isPluralSuffix(rest []rune) bool {
	return rest[0] == 's' && (len(rest) == 1 || !unicode.IsLetter(rest[1]))
}

// splitWords splits a text into words in lower case: at every character that is
// no letter or digit, and before capitals that begin a word. Accents are
// removed, since names are ASCII.
func splitWords(s string) (list []string) {
	runes := []rune(norm.NFKD.String(s))
	word := make([]rune, 0, 24)
	end := func() {
		if len(word) > 0 {
			list = append(list, strings.ToLower(string(word)))
		}
		word = word[:0]
	}
	for i, r := range runes {
		switch {
		case r >= utf8.RuneSelf && unicode.Is(unicode.Mn, r):
			// NFKD separates accents from their letters; they are dropped.
			continue
		case r >= utf8.RuneSelf || !unicode.IsLetter(r) && !unicode.IsDigit(r):
			end()
			continue
		case unicode.IsUpper(r) && i > 0 && (unicode.IsLower(runes[i-1]) || unicode.IsDigit(runes[i-1]) ||
			unicode.IsUpper(runes[i-1]) && i+1 < len(runes) && unicode.IsLower(runes[i+1]) && !isPluralSuffix(runes[i+1:])):
			end()
		}
		word = append(word, r)
	}
	end()
	return list
}
