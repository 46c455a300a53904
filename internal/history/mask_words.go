package history

import (
	"strings"

	"github.com/junctor-mcp/junctor/internal/redact"
)

// FindSecretWords returns the positions of the words of a command that look like a
// secret, or that follow an option whose name announces one. If in doubt, it
// treats a word as a secret.
func FindSecretWords(words []string) []int {
	var out []int
	for i, masked := range MaskSecretWords(words, redact.Mark) {
		if masked != words[i] {
			out = append(out, i)
		}
	}
	return out
}

// MaskSecretWords returns the words of a command with mask in place of every secret
// that FindSecretWords finds. Of a word such as --token=abc it replaces only the value,
// so that the option stays readable.
func MaskSecretWords(words []string, mask string) []string {
	found := redact.NewSecrets()
	out := make([]string, len(words))
	for i, word := range words {
		out[i] = word
		if text, secret := found.AppendClean(nil, []byte(word), redact.ClassifyName); secret {
			out[i] = strings.ReplaceAll(string(text), redact.Mark, mask)
		} else if name, value, ok := strings.Cut(word, "="); ok && value != "" && redact.ClassifyName([]byte(name)) != redact.NotSecret {
			out[i] = name + "=" + mask // cleanText skips texts that are this short
		}
		if i > 0 && !strings.HasPrefix(word, "-") {
			option, ok := strings.CutPrefix(words[i-1], "-")
			if ok && !strings.Contains(option, "=") && redact.ClassifyName([]byte(option)) != redact.NotSecret {
				out[i] = mask
			}
		}
	}
	return out
}
