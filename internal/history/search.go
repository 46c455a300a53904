package history

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// textSearch finds a text in calls, in upper or lower case. Databases fold only
// the ASCII letters (PostgreSQL: by the locale of the database), and they compare
// the characters as JSON escaped them. If that is not enough for a text, the
// search has two steps: the database returns candidates, and matches decides.
type textSearch struct {
	// For LIKE, with ! as the escape character.
	pattern string
	// "" if the pattern alone decides.
	folded string
}

// plainPunctuation holds the ASCII characters beside letters and digits that no JSON
// encoder escapes.
const plainPunctuation = " !#$%()*+,-.:;=?@[]^_`{|}~"

// newTextSearch builds the search for a text. A character that the database
// cannot compare reliably becomes a wildcard.
func newTextSearch(text string) textSearch {
	var pattern strings.Builder
	pattern.WriteByte('%')
	exact := true
	for _, r := range norm.NFC.String(text) {
		switch {
		case r == '!' || r == '%' || r == '_':
			pattern.WriteByte('!')
			pattern.WriteRune(r)
		case 'A' <= r && r <= 'Z':
			pattern.WriteRune(r + 'a' - 'A')
		case 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r < utf8.RuneSelf && strings.ContainsRune(plainPunctuation, r):
			pattern.WriteRune(r)
		default:
			exact = false
			pattern.WriteByte('%')
		}
	}
	pattern.WriteByte('%')
	s := textSearch{pattern: pattern.String()}
	if !exact {
		s.folded = foldText(text)
	}
	return s
}

// matches reports whether a candidate, limited to what its reader may read, contains the
// text in its tool, caller, parameters, result or reason.
func (s *textSearch) matches(e *Entry) bool {
	if s.folded == "" {
		return true
	}
	for _, text := range []string{string(e.Params), string(e.Result), e.Reason, e.Server + "__" + e.Name, e.Agent, e.Subject} {
		if strings.Contains(foldText(text), s.folded) {
			return true
		}
		if plain := unescapeJSON(text); plain != text && strings.Contains(foldText(plain), s.folded) {
			return true
		}
	}
	return false
}

// foldText returns the form in which two texts are compared: lower case, by way
// of upper case, since some letters have two lower-case forms (σ and ς).
func foldText(text string) string {
	return strings.ToLower(strings.ToUpper(norm.NFC.String(text)))
}

// unescapeJSON replaces the escape sequences of JSON strings wherever they are. The text
// may be cut, so it is not parsed.
func unescapeJSON(text string) string {
	i := strings.IndexByte(text, '\\')
	if i < 0 {
		return text
	}
	var out strings.Builder
	out.Grow(len(text))
	for ; i >= 0 && i+1 < len(text); i = strings.IndexByte(text, '\\') {
		out.WriteString(text[:i])
		escaped := text[i+1]
		text = text[i+2:]
		switch escaped {
		case 'u':
			first, ok := hexRune(text)
			if !ok {
				out.WriteString(`\u`)
				continue
			}
			text = text[4:]
			if utf16.IsSurrogate(first) && strings.HasPrefix(text, `\u`) {
				if second, ok := hexRune(text[2:]); ok && utf16.DecodeRune(first, second) != utf8.RuneError {
					first, text = utf16.DecodeRune(first, second), text[6:]
				}
			}
			out.WriteRune(first)
		case 'n', 'r', 't', 'b', 'f':
			out.WriteByte(map[byte]byte{'n': '\n', 'r': '\r', 't': '\t', 'b': '\b', 'f': '\f'}[escaped])
		default: // a quote, a slash or a backslash
			out.WriteByte(escaped)
		}
	}
	out.WriteString(text)
	return out.String()
}

// hexRune reads the four hexadecimal digits that a text begins with.
func hexRune(text string) (rune, bool) {
	if len(text) < 4 {
		return 0, false
	}
	n, err := strconv.ParseUint(text[:4], 16, 16)
	return rune(n), err == nil
}
