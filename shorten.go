package junctor

import "strings"

// ShortenText returns s if it has at most the given number of bytes. Otherwise it returns
// the beginning of s, cut between two characters, with an ellipsis behind it. Messages and
// logs use it to repeat what a caller or a server sent without growing with it.
func ShortenText(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
