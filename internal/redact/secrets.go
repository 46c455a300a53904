package redact

import (
	"bytes"
	"strings"
)

// Mark is what replaces a secret.
const Mark = "[redacted]"

// Secrets finds secrets in text by their form. If in doubt, it treats a text as
// a secret: a false alarm costs a piece of text, a miss may publish a key. It can
// be used by several goroutines.
type Secrets struct {
	byFirstByte [256][]keyPrefix // the prefixes that begin with a byte
	classes     [256]byteClass
}

// byteClass says what a byte may be part of.
type byteClass uint8

const (
	wordByte byteClass = 1 << iota // a name or a key
	runByte                        // a long run, which may hold keys
)

// minRun is the length of the shortest run that is looked at: no key with its
// prefix is shorter.
const minRun = 13

// keyPrefix is a kind of key that is recognised by its beginning.
type keyPrefix struct {
	prefix    string
	minRest   int  // bytes that must follow the prefix
	allowDots bool // the rest may contain dots
}

// NewSecrets returns a detector that knows the key formats of common services.
func NewSecrets() *Secrets {
	d := &Secrets{}
	for c := range d.classes {
		if isWordByte(byte(c)) {
			d.classes[c] |= wordByte | runByte
		}
	}
	for _, c := range []byte("./+") {
		d.classes[c] |= runByte
	}
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

// isWordByte reports whether c may be part of a name or a key.
func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// AppendClean appends a text without its secrets to dst. It reports whether there
// were any; if not, it appends nothing. classify says how secret the values of
// names are that stand before a colon or an equals sign.
func (d *Secrets) AppendClean(dst, s []byte, classify func(name []byte) Secrecy) ([]byte, bool) {
	return d.appendClean(dst, s, classify, appendMark)
}

// appendMark appends the mark in place of a secret.
func appendMark(dst, _ []byte) []byte { return append(dst, Mark...) }

// appendClean is AppendClean with a function that appends what replaces a secret.
// It jumps from one place that can begin a secret to the next, since most of a
// text cannot: a test compares it with going from word to word.
func (d *Secrets) appendClean(dst, s []byte, classify func([]byte) Secrecy, replace func(dst, secret []byte) []byte) ([]byte, bool) {
	if len(s) < 8 {
		return dst, false
	}
	scan := secretScan{secrets: d, s: s}
	from := 0 // everything before it was written
	for {
		a, b := scan.next(classify)
		if b <= a {
			break
		}
		dst = replace(append(dst, s[from:a]...), s[a:b])
		from, scan.pos = b, b
	}
	if from == 0 {
		return dst, false
	}
	return append(dst, s[from:]...), true
}

// findSecret decides whether the word s[i:j] is a secret, or whether a secret
// follows it. It returns the bounds of the secret. If from equals to, there is
// none, and to is how far it looked. base64 has the statistics of the word before.
func (d *Secrets) findSecret(s []byte, i, j int, classify func([]byte) Secrecy, base64 *wordStats) (from, to int) {
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
	if a, b := d.findNamedValue(s, i, j, classify); b > a {
		return a, b
	}
	if j = base64.seek(s, i, j); base64.looksRandom() {
		for j < len(s) && s[j] == '=' { // base64 has equals signs at its end
			j++
		}
		return i, j
	}
	return 0, 0
}

// prefixedKeyEnd returns the end of a key with a known prefix that begins at i; 0
// for none.
func (d *Secrets) prefixedKeyEnd(s []byte, i int) int {
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
	if from == j {
		return 0, 0
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
	if to-from < 8 || digits == 0 && upper < 2 && to-from < 20 {
		return 0, 0
	}
	return from, to
}

// findNamedValue returns the value that follows the word s[i:j] if that is a
// secret's name. The value follows a colon or an equals sign or, if the name is a
// command-line option, a space.
func (d *Secrets) findNamedValue(s []byte, i, j int, classify func([]byte) Secrecy) (from, to int) {
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
	if classify(s[i:j]) == NotSecret {
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
	if hasPrefix(s[k:], Mark[:len(Mark)-1]) {
		return 0, 0
	}
	n := bytes.IndexAny(s[k:], stops)
	if n < 0 {
		n = len(s) - k
	}
	v := s[k : k+n]
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
