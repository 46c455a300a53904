package history

import "strings"

// Suspects gives the places of the words of a command that look like a secret,
// or follow an option whose name says that one comes. It errs on the side of
// taking a word for secret.
func Suspects(words []string) []int {
	found := newDetector()
	var out []int
	for i, word := range words {
		_, secret := found.clean(nil, []byte(word), secrecyOf)
		if i > 0 && !strings.HasPrefix(word, "-") {
			option, ok := strings.CutPrefix(words[i-1], "-")
			secret = secret || ok && !strings.Contains(option, "=") && secrecyOf([]byte(option)) != plain
		}
		if secret {
			out = append(out, i)
		}
	}
	return out
}
