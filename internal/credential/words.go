package credential

import (
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

// MaskIn gives texts that a command wrote, or that quote it, without the secrets
// of its words.
func MaskIn(words []string, texts ...string) []string {
	shown := MaskCommand(words)
	var pairs []string
	for i, word := range words {
		if shown[i] == word || word == "" {
			continue
		}
		pairs = append(pairs, word, shown[i])
		// Of --token=abc the value may be repeated without the option.
		before, after, _ := strings.Cut(shown[i], junctor.Masked)
		if secret := strings.TrimSuffix(strings.TrimPrefix(word, before), after); len(secret) >= shortestSecret && secret != word {
			pairs = append(pairs, secret, junctor.Masked)
		}
	}
	if len(pairs) == 0 {
		return texts
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
