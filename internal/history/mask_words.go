package history

import "strings"

// Suspects gives the places of the words of a command that look like a secret,
// or follow an option whose name says that one comes. It errs on the side of
// taking a word for secret.
func Suspects(words []string) []int {
	var out []int
	for i, masked := range MaskWords(words, redactedMark) {
		if masked != words[i] {
			out = append(out, i)
		}
	}
	return out
}

// MaskWords gives the words of a command with mask in the place of every secret
// that Suspects finds: of a word such as --token=abc the value alone, so that
// the option can still be read.
func MaskWords(words []string, mask string) []string {
	found := newDetector()
	out := make([]string, len(words))
	for i, word := range words {
		out[i] = word
		if text, secret := found.cleanText(nil, []byte(word), classifySecretName); secret {
			out[i] = strings.ReplaceAll(string(text), redactedMark, mask)
		} else if name, value, ok := strings.Cut(word, "="); ok && value != "" && classifySecretName([]byte(name)) != notSecret {
			out[i] = name + "=" + mask // shorter than what clean looks at
		}
		if i > 0 && !strings.HasPrefix(word, "-") {
			option, ok := strings.CutPrefix(words[i-1], "-")
			if ok && !strings.Contains(option, "=") && classifySecretName([]byte(option)) != notSecret {
				out[i] = mask
			}
		}
	}
	return out
}
