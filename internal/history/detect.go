package history

import (
	"bytes"
	"math"
	"strings"
)

// detector finds secrets in text by their form. If in doubt, it treats a text as
// a secret: a false alarm costs a piece of history, a miss may publish a key.
type detector struct {
	byFirstByte [256][]keyPrefix // the prefixes that begin with a byte
}

// keyPrefix is a kind of key that is recognised by its beginning.
type keyPrefix struct {
	prefix    string
	minRest   int  // bytes that must follow the prefix
	allowDots bool // the rest may contain dots
}

// newDetector returns a detector that knows the key formats of common services.
func newDetector() detector {
	var d detector
	for _, t := range []keyPrefix{
		{"jct_", 12, false}, // ours
		{"ghp_", 16, false},
		{"gho_", 16, false},
		{"ghu_", 16, false},
		{"ghs_", 16, false},
		{"ghr_", 16, false}, // GitHub
		{"github_pat_", 16, false},
		{"glpat-", 16, false},
		{"gldt-", 16, false},
		{"glrt-", 16, false}, // GitLab
		{"xoxb-", 8, false},
		{"xoxp-", 8, false},
		{"xoxa-", 8, false},
		{"xoxr-", 8, false},
		{"xoxs-", 8, false},
		{"xoxe-", 8, false},
		{"xoxe.", 8, true},
		{"xapp-", 8, false}, // Slack
		{"AKIA", 16, false},
		{"ASIA", 16, false},
		{"AROA", 16, false},
		{"ABIA", 16, false},
		{"ACCA", 16, false}, // AWS
		{"AIza", 30, false},
		{"ya29.", 16, true},
		{"GOCSPX-", 16, false},
		{"1//0", 20, false}, // Google
		{"sk_live_", 8, false},
		{"sk_test_", 8, false},
		{"rk_live_", 8, false},
		{"rk_test_", 8, false},
		{"whsec_", 16, false}, // Stripe
		{"sk-", 20, false},    // OpenAI, Anthropic and many others
		{"hf_", 20, false},    // Hugging Face
		{"npm_", 30, false},
		{"pypi-", 30, false}, // registries
		{"dckr_pat_", 16, false},
		{"dop_v1_", 16, false}, // Docker, DigitalOcean
		{"shpat_", 16, false},
		{"shpss_", 16, false}, // Shopify
		{"SG.", 30, true},
		{"hvs.", 20, true},
		{"hvb.", 20, true}, // SendGrid, Vault
		{"AGE-SECRET-KEY-", 20, false},
		{"eyJ", 20, true}, // a JWT or another signed object
	} {
		d.byFirstByte[t.prefix[0]] = append(d.byFirstByte[t.prefix[0]], t)
	}
	return d
}

// isWordByte reports whether c may be part of a name or a key. A lookup table was
// measured and is not faster.
func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// cleanText appends a text without its secrets to dst. It reports whether there
// were any; if not, it appends nothing. sensitive classifies the names before a
// colon or an equals sign.
func (d *detector) cleanText(dst, s []byte, sensitive func([]byte) secrecy) ([]byte, bool) {
	if len(s) < 8 {
		return dst, false
	}
	from := 0 // everything before it was written
	for i := 0; i < len(s); {
		if !isWordByte(s[i]) {
			if a, b := findUserInfo(s, i); b > a {
				dst = append(append(dst, s[from:a]...), redactedMark...)
				from, i = b, b
				continue
			}
			i++
			continue
		}
		j := i + 1
		for j < len(s) && isWordByte(s[j]) {
			j++
		}
		a, b := d.findSecret(s, i, j, sensitive)
		if b > a {
			dst = append(append(dst, s[from:a]...), redactedMark...)
			from, i = b, b
			continue
		}
		i = max(j, b)
	}
	if from == 0 {
		return dst, false
	}
	return append(dst, s[from:]...), true
}

// findSecret decides whether the word s[i:j] is a secret, or whether a secret
// follows it. It returns the bounds of the secret. If from equals to, there is
// none, and to is how far it looked.
func (d *detector) findSecret(s []byte, i, j int, sensitive func([]byte) secrecy) (from, to int) {
	word := s[i:j]
	for k := i; k < j; k++ {
		if k == i || s[k-1] == '-' || s[k-1] == '_' {
			if end := d.prefixedKeyEnd(s, k); end > 0 {
				return k, end
			}
		}
	}
	if hasPrefix(word, "-----BEGIN") {
		return findPrivateKey(s, i)
	}
	if len(word) <= 6 && (bytes.EqualFold(word, []byte("bearer")) || bytes.EqualFold(word, []byte("basic"))) {
		if a, b := findSchemeCredential(s, j); b > a {
			return a, b
		}
	}
	if a, b := d.findNamedValue(s, i, j, sensitive); b > a {
		return a, b
	}
	// Base64 has two more characters, and equals signs at its end.
	for j < len(s) && (isWordByte(s[j]) || s[j] == '+' || s[j] == '/') {
		j++
	}
	if looksRandom(s[i:j]) {
		for j < len(s) && s[j] == '=' {
			j++
		}
		return i, j
	}
	return 0, 0
}

// prefixedKeyEnd returns the end of a key with a known prefix that begins at i; 0
// for none.
func (d *detector) prefixedKeyEnd(s []byte, i int) int {
	for _, t := range d.byFirstByte[s[i]] {
		if !hasPrefix(s[i:], t.prefix) {
			continue
		}
		end := i + len(t.prefix)
		for end < len(s) && (isWordByte(s[end]) || t.allowDots && s[end] == '.') {
			end++
		}
		if end-i-len(t.prefix) >= t.minRest {
			return end
		}
	}
	return 0
}

// findPrivateKey returns the bounds of a PEM private key that begins at i.
// Without an end marker it extends to the end of the text.
func findPrivateKey(s []byte, i int) (from, to int) {
	line := s[i:]
	head := bytes.Index(line[5:], []byte("-----"))
	if head < 0 {
		if bytes.Contains(line, []byte("PRIVATE")) {
			return i, len(s)
		}
		return 0, 0
	}
	if !bytes.Contains(line[:head+5], []byte("PRIVATE KEY")) {
		return i + head + 10, i + head + 10 // a certificate is public
	}
	rest := line[head+10:]
	_, after, ended := bytes.Cut(rest, []byte("-----END"))
	if !ended {
		return i, len(s)
	}
	dashes := bytes.Index(after, []byte("-----"))
	if dashes < 0 {
		return i, len(s)
	}
	return i, len(s) - len(after) + dashes + 5
}

// findSchemeCredential returns the credential after the name of an HTTP
// authentication scheme, which ends at j. Prose such as "basic authentication"
// has none.
func findSchemeCredential(s []byte, j int) (from, to int) {
	from = j
	for from < len(s) && (isSpace(s[from]) || s[from] == ':') {
		from++
	}
	to = from
	var digits, upper int
	for to < len(s) && (isWordByte(s[to]) || strings.IndexByte("+/=.~%", s[to]) >= 0) {
		if s[to] >= '0' && s[to] <= '9' {
			digits++
		} else if s[to] >= 'A' && s[to] <= 'Z' {
			upper++
		}
		to++
	}
	if from == j || to-from < 8 || digits == 0 && upper < 2 && to-from < 20 {
		return 0, 0
	}
	return from, to
}

// findNamedValue returns the value that follows the word s[i:j] if that is a
// secret's name. The value follows a colon or an equals sign or, if the name is a
// command-line option, a space.
func (d *detector) findNamedValue(s []byte, i, j int, sensitive func([]byte) secrecy) (from, to int) {
	k := j
	for k < len(s) && (s[k] == '\\' || s[k] == '"' || s[k] == '\'' || s[k] == ']') {
		k++
	}
	for k < len(s) && isSpace(s[k]) && k < j+6 {
		k++
	}
	option := hasPrefix(s[i:j], "--") && k > j && isSpace(s[j])
	if k >= len(s) || s[k] != ':' && s[k] != '=' && !option {
		return 0, 0
	}
	if sensitive(s[i:j]) == notSecret {
		return 0, 0
	}
	if !option || s[k] == ':' || s[k] == '=' {
		for k++; k < len(s) && (s[k] == '=' || s[k] == '>'); k++ { // := => ==
		}
	}
	begin := k
	for k < len(s) && isSpace(s[k]) && k < begin+8 {
		k++
	}
	return findValue(s, k, spansLine(s[i:j]))
}

// spansLine reports whether the value of a name extends to the end of its line,
// as in an HTTP header.
func spansLine(name []byte) bool {
	ends := func(with string) bool {
		return len(name) >= len(with) && bytes.EqualFold(name[len(name)-len(with):], []byte(with))
	}
	return ends("authorization") || ends("cookie") || len(name) == len("connectionstring") && ends("connectionstring")
}

// hasPrefix reports whether s begins with prefix.
func hasPrefix(s []byte, prefix string) bool {
	return len(s) >= len(prefix) && string(s[:len(prefix)]) == prefix
}

// findValue returns the bounds of the value that begins at k: up to its closing
// quote or, without quotes, up to the first byte that cannot be part of a value.
// line says that the value extends to the end of its line.
func findValue(s []byte, k int, line bool) (from, to int) {
	if k >= len(s) {
		return 0, 0
	}
	escapes := k
	for k < len(s) && s[k] == '\\' {
		k++
	}
	if k < len(s) && (s[k] == '"' || s[k] == '\'' || s[k] == '`') {
		closing := s[escapes : k+1]
		if n := bytes.Index(s[k+1:], closing); n >= 0 {
			return k + 1, k + 1 + n
		}
		return k + 1, len(s)
	}
	stops := " \t\r\n\"'`,;&<>)]}"
	if line {
		stops = "\r\n\"'`<>"
	}
	n := bytes.IndexAny(s[k:], stops)
	if n < 0 {
		n = len(s) - k
	}
	v := s[k : k+n]
	if hasPrefix(v, redactedMark[:len(redactedMark)-1]) {
		return 0, 0
	}
	switch string(v) {
	case "", "null", "true", "false":
		return 0, 0
	}
	return k, k + n
}

// findUserInfo returns the user and password of a URL whose "://" is at i.
func findUserInfo(s []byte, i int) (from, to int) {
	if s[i] != ':' || !hasPrefix(s[i:], "://") {
		return 0, 0
	}
	from = i + 3
	n := bytes.IndexAny(s[from:], "/?# \t\r\n\"'<>")
	if n < 0 {
		n = len(s) - from
	}
	at := bytes.LastIndexByte(s[from:from+n], '@')
	if at <= 0 {
		return 0, 0
	}
	return from, from + at
}

// looksRandom reports whether a word looks generated rather than written: long,
// with lower-case letters, upper-case letters and digits in no order. Hexadecimal
// digests, UUIDs, paths and names in any style do not match.
func looksRandom(word []byte) bool {
	const least = 32
	if len(word) < least {
		return false
	}
	var seen [256]int
	var kinds [4]int
	turns, last := 0, -1
	for i := range word {
		c := word[i]
		seen[c]++
		kind := 3
		switch {
		case c >= 'a' && c <= 'z':
			kind = 0
		case c >= 'A' && c <= 'Z':
			kind = 1
		case c >= '0' && c <= '9':
			kind = 2
		}
		kinds[kind]++
		if kind != last {
			turns++
			last = kind
		}
	}
	if kinds[0] < 3 || kinds[1] < 3 || kinds[2] < 2 || turns*100 < 35*len(word) {
		return false
	}
	entropy := 0.0
	for _, n := range seen {
		if n > 0 {
			p := float64(n) / float64(len(word))
			entropy -= p * math.Log2(p)
		}
	}
	return entropy >= 4
}
