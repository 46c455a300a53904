package junctor

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// nameFits says whether a name that people choose is one: plain text of 1 to
// most characters, without a slash, which parts names from each other.
func nameFits(name string, most int) bool {
	return utf8.ValidString(name) && name != "" && name == strings.TrimSpace(name) && utf8.RuneCountInString(name) <= most &&
		!strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || r == '/' })
}

// nameShort says whether a name that programs choose is one: text of 1 to most
// characters without control characters.
func nameShort(name string, most int) bool {
	return utf8.ValidString(name) && name != "" && utf8.RuneCountInString(name) <= most && !strings.ContainsFunc(name, unicode.IsControl)
}
