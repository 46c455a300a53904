package tool

import (
	"html"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// cleanText makes plain text of what a document says, of at most limit characters:
// descriptions are somebody else's, and what is in them is shown to models.
// Markup, control characters and what nobody can see are taken out.
func cleanText(s string, limit int) string {
	if limit <= 0 || s == "" {
		return ""
	}
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

// textCache remembers what it cleaned: schemas are used again and again.
type textCache map[textKey]string

type textKey struct {
	text  string
	limit int
}

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

// runeBoundary is the last place not behind at where a character begins.
func runeBoundary(s string, at int) int {
	for at > 0 && at < len(s) && !utf8.RuneStart(s[at]) {
		at--
	}
	return min(at, len(s))
}

var (
	htmlTags      = regexp.MustCompile(`(?s)<!--.*?-->|</?[A-Za-z][^<>]*>`)
	markdownLinks = regexp.MustCompile(`!?\[([^\[\]]*)\]\([^()\s]*(?:\s+"[^"]*")?\)`)
	markdownMarks = regexp.MustCompile("(?m)^\\s*(#{1,6}|>)\\s*|```[a-z]*|[*`]+|\\|(?:\\s*:?-+:?\\s*\\|)+")
)

// stripMarkup takes HTML and Markdown out.
func stripMarkup(s string) string {
	s = htmlTags.ReplaceAllString(s, " ")
	s = markdownLinks.ReplaceAllString(s, "$1")
	s = markdownMarks.ReplaceAllString(s, "")
	return html.UnescapeString(s)
}

// shortenText cuts a text behind a sentence where it can, or else behind a word.
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

// firstParagraph is a text up to its first empty line.
func firstParagraph(s string) string {
	s = strings.TrimSpace(strings.ReplaceAll(s, "\r\n", "\n"))
	for part := range strings.SplitSeq(s, "\n\n") {
		if p := strings.TrimSpace(part); p != "" && !strings.HasPrefix(p, "#") && !strings.HasPrefix(p, "![") {
			return p
		}
	}
	return s
}

// isPluralSuffix says whether an s ends a word here, as in IDs.
func isPluralSuffix(rest []rune) bool {
	return rest[0] == 's' && (len(rest) == 1 || !unicode.IsLetter(rest[1]))
}

// splitWords parts a text at everything that is no letter or digit, and where a
// capital begins a word, all in lower case.
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
			continue // an accent that was parted from its letter
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
