package upstreamauth

import (
	"cmp"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/history"
)

// MaskCommand returns a command as readers of a server's definition see it:
// junctor.Masked replaces every part that looks like a secret. The words of a
// command are stored in plain text, so masking is their only protection on display.
func MaskCommand(words []string) []string {
	if words == nil {
		return nil
	}
	return history.MaskSecretWords(words, junctor.Masked)
}

// KeepCommandSecrets undoes MaskCommand in a changed command: where now repeats a
// masked word of former, the stored word takes its place.
//
// It does so only if both commands start the same program. Otherwise a user who may
// edit the server could pass the former program's secrets to a program of their
// own. A mask that matches no stored word stays, and
// junctor.Connection.CheckCommand rejects it.
func KeepCommandSecrets(now, former []string) []string {
	if len(now) == 0 || len(former) == 0 || now[0] != former[0] {
		return now
	}
	shown := MaskCommand(former)
	out := slices.Clone(now)
	for i, word := range now {
		if !strings.Contains(word, junctor.Masked) {
			continue
		}
		// The same position is the best match. A word that moved is found by its
		// masked text.
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

// SecretsInCommand returns the parts of a command's words that MaskCommand hides,
// longest first. For --token=abc it returns the value alone, because output may
// repeat the value without the option. Parts shorter than minSecretLength are left
// out.
func SecretsInCommand(words []string) []string {
	shown := MaskCommand(words)
	var out []string
	for i, word := range words {
		if shown[i] == word {
			continue
		}
		// The hidden text lies between the parts that are shown. A shell script in
		// one word can have several hidden parts.
		parts := strings.Split(shown[i], junctor.Masked)
		rest, whole := strings.CutPrefix(word, parts[0])
		for n, part := range parts[1:] {
			end := strings.Index(rest, part)
			if part == "" && n == len(parts)-2 {
				end = len(rest)
			}
			if end < 0 || !whole { // the hidden parts cannot be told apart: hide the whole word
				out = append(out, word)
				break
			}
			if secret := rest[:end]; len(secret) >= minSecretLength && !slices.Contains(out, secret) {
				out = append(out, secret)
			}
			rest = rest[end+len(part):]
		}
	}
	// If one secret is a prefix of another, the longer one has to be replaced
	// first.
	slices.SortStableFunc(out, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return out
}

// MaskSecretsInTexts returns the texts without the secrets in the words of a
// command. The texts are output of the command or error messages that quote it.
func MaskSecretsInTexts(words []string, texts ...string) []string {
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
	for _, secret := range SecretsInCommand(words) {
		pairs = append(pairs, secret, junctor.Masked)
	}
	replace := strings.NewReplacer(pairs...)
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = replace.Replace(text)
	}
	return out
}

// minSecretLength is the length from which a secret is searched for in texts.
// Shorter ones would match parts of ordinary words.
const minSecretLength = 4
