package junctor

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// nameFits reports whether a name that a user chooses is valid: plain text of 1
// to most characters, without a slash, because slashes separate names.
func nameFits(name string, most int) bool {
	return utf8.ValidString(name) && name != "" && name == strings.TrimSpace(name) && utf8.RuneCountInString(name) <= most &&
		!strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || r == '/' })
}

// nameShort reports whether a name that a program chooses is valid: 1 to most
// characters without control characters.
func nameShort(name string, most int) bool {
	return utf8.ValidString(name) && name != "" && utf8.RuneCountInString(name) <= most && !strings.ContainsFunc(name, unicode.IsControl)
}
