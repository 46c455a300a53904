package upstreamauth

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/history"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// MaskCommand returns a command as readers of a server's definition see it:
// junctor.Masked replaces every part that looks like a secret. SplitLiterals seals these
// words, so that rows of this version have only words that are masked already.
func MaskCommand(words []string) []string {
	if words == nil {
		return nil
	}
	return history.MaskSecretWords(words, junctor.Masked)
}

// sealWords returns a command as it is stored, with junctor.Masked for every part that
// looks like a secret, and adds each such word, whole, to literals. The program itself
// stays: a file that is run is no secret.
func sealWords(words []string, literals LiteralSet) []string {
	if len(words) == 0 {
		return words
	}
	shown := MaskCommand(words)
	shown[0] = words[0]
	for i, word := range words {
		if shown[i] != word {
			literals[placeOfWord(i)] = seal.NewSecret(word)
		}
	}
	return shown
}

// placeOfWord returns the place of a word of the command in a LiteralSet.
func placeOfWord(i int) string { return junctor.PlaceCommand + strconv.Itoa(i) }

// isMaskedWord reports whether the word at a position of a stored command stands for a
// sealed one.
func isMaskedWord(i int, word string) bool { return i > 0 && strings.Contains(word, junctor.Masked) }

// CheckCommand refuses a command with a masked word for which literals has no secret: it
// stands for a word of a stored command, and there is none.
func CheckCommand(words []string, literals LiteralSet) error {
	for i, word := range words {
		secret, entered := literals[placeOfWord(i)]
		if isMaskedWord(i, word) && !entered || entered && strings.Contains(secret.Reveal(), junctor.Masked) {
			return junctor.Errorf(junctor.CodeInvalid, "command contains the placeholder %q, but no word is stored for this program: enter the word again", word)
		}
	}
	return nil
}

// CheckKeptCommand is CheckCommand for a command that replaces another one, whose sealed
// words it may repeat in masked form.
func CheckKeptCommand(now, former []string, entered LiteralSet) error {
	literals, stored := LiteralSet{}, LiteralSet{}
	maps.Copy(literals, entered)
	for i, word := range former {
		if isMaskedWord(i, word) {
			stored[placeOfWord(i)] = seal.NewSecret("stored")
		}
	}
	keepWords(now, former, stored, literals)
	return CheckCommand(now, literals)
}

// keepWords adds to literals the sealed words of the former command that the present one
// repeats in masked form. It does so only if both start the same program. Otherwise a user
// who may edit the server could pass the former program's secrets to a program of their
// own.
func keepWords(now, former []string, stored, literals LiteralSet) {
	if len(now) == 0 || len(former) == 0 || now[0] != former[0] {
		return
	}
	had := LiteralSet{}
	shown := sealWords(former, had) // rows of earlier versions have words in plain text
	for i, word := range now {
		if _, entered := literals[placeOfWord(i)]; entered || !isMaskedWord(i, word) {
			continue
		}
		// The same position is the best match. A word that moved is found by its
		// masked text.
		at := i
		if at >= len(shown) || shown[at] != word {
			at = slices.Index(shown, word)
		}
		secret, ok := had[placeOfWord(at)]
		if !ok {
			secret, ok = stored[placeOfWord(at)]
		}
		if ok {
			literals[placeOfWord(i)] = secret
		}
	}
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
