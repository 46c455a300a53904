package credential

import (
	"cmp"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/history"
)

// MaskCommand gives a command as it is shown: junctor.Masked stands in the place
// of whatever looks like a secret. Words of a command are not sealed, so that
// nobody who reads a definition may see them whole.
func MaskCommand(words []string) []string {
	if words == nil {
		return nil
	}
	return history.MaskWords(words, junctor.Masked)
}

// KeepCommand puts the stored words back where a change repeats what MaskCommand
// shows of them. It does so for the same program only: another one must not be
// handed what was entered for the former. Masks that stand for nothing stay, and
// junctor.Connection.CheckCommand refuses them.
func KeepCommand(now, former []string) []string {
	if len(now) == 0 || len(former) == 0 || now[0] != former[0] {
		return now
	}
	shown := MaskCommand(former)
	out := slices.Clone(now)
	for i, word := range now {
		if !strings.Contains(word, junctor.Masked) {
			continue
		}
		at := i
		if at >= len(shown) || shown[at] != word {
			at = slices.Index(shown, word)
		}
		if at >= 0 {
			out[i] = former[at]
		}
	}
	return out
}

// SecretsOf gives the parts of a command's words that MaskCommand hides, longest
// first: of --token=abc it is the value, which may be repeated without the option.
func SecretsOf(words []string) []string {
	shown := MaskCommand(words)
	var out []string
	for i, word := range words {
		if shown[i] == word {
			continue
		}
		// What lies between the parts that are shown is hidden; a script has several.
		parts := strings.Split(shown[i], junctor.Masked)
		rest, whole := strings.CutPrefix(word, parts[0])
		for n, part := range parts[1:] {
			end := strings.Index(rest, part)
			if part == "" && n == len(parts)-2 {
				end = len(rest)
			}
			if end < 0 || !whole { // it cannot be told which parts: the word as a whole
				out = append(out, word)
				break
			}
			if secret := rest[:end]; len(secret) >= shortestSecret && !slices.Contains(out, secret) {
				out = append(out, secret)
			}
			rest = rest[end+len(part):]
		}
	}
	// Of two that begin alike the longer is to be found.
	slices.SortStableFunc(out, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return out
}

// MaskIn gives texts that a command wrote, or that quote it, without the secrets
// of its words.
func MaskIn(words []string, texts ...string) []string {
	shown := MaskCommand(words)
	var pairs []string
	for i, word := range words {
		if shown[i] != word && word != "" {
			pairs = append(pairs, word, shown[i])
		}
	}
	if len(pairs) == 0 {
		return texts
	}
	for _, secret := range SecretsOf(words) {
		pairs = append(pairs, secret, junctor.Masked)
	}
	replace := strings.NewReplacer(pairs...)
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = replace.Replace(text)
	}
	return out
}

// shortestSecret is the length from which on a secret is looked for in texts:
// shorter ones are found in too many words.
const shortestSecret = 4
