package redact

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// cleanWordByWord is appendClean without jumping: it judges every word.
func (d *Secrets) cleanWordByWord(dst, s []byte) ([]byte, bool) {
	if len(s) < 8 {
		return dst, false
	}
	from := 0
	for i := 0; i < len(s); {
		if !isWordByte(s[i]) {
			if a, b := findUserInfo(s, i); b > a {
				dst = append(append(dst, s[from:a]...), Mark...)
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
		a, b := d.findSecret(s, i, j, ClassifyName, &wordStats{})
		if b > a {
			dst = append(append(dst, s[from:a]...), Mark...)
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

// secretPieces are texts in which secrets are found, and pieces of such texts.
// Keys are put together here so that no scanner takes this file for a leak.
func secretPieces() []string {
	random := "7Q" + "x9Zt2LmK4vBn8RwY3c"
	return []string{
		" ", "  ", "\n", "\t", ":", "=", ":=", "=>", " : ", `"`, `\"`, "'", "]", "[", "{", "}", ",", ";", "-", "--", "_", "/", "+", ".", "@", "://", "é", "\x80",
		"a", "b", "B", "be", "the", "word", "basic", "Basic", "bearer", "BEARER", "bearers", "authorization", "Authorization: Bearer ", "password", "--password ",
		"--token=", "api_key", "token", "max_tokens", "Set-Cookie: ", "connectionString", "https://ann:pass@host/x", "-----BEGIN RSA PRIVATE KEY-----", "-----BEGIN CERTIFICATE-----",
		"-----END RSA PRIVATE KEY-----", "AKIA" + "IOSFODNN7EXAMPLE", "ghp_" + random, "sk-" + random, "eyJ" + random + "." + random, "ya29." + random, "1//0" + random, "SG." + random + random,
		"xoxe." + "12345678", "xoxb-" + "1234567", random, random + random, "wJalrXUtnFEMI/K7MDENG/bPxRfiCYCANARY8z2Q4", "true", "null", "[redacted]", "[redacted", "hunter2",
	}
}

// Jumping over what cannot match finds the same secrets as judging every word.
func TestJumpingFindsTheSame(t *testing.T) {
	t.Parallel()
	d := NewSecrets()
	pieces := secretPieces()
	rapid.Check(t, func(rt *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 30).Draw(rt, "pieces"), "")
		sameSecrets(rt, d, []byte(text))
	})
}

func FuzzJumpingFindsTheSame(f *testing.F) {
	for _, p := range secretPieces() {
		f.Add([]byte(p + " " + p))
	}
	d := NewSecrets()
	f.Fuzz(func(t *testing.T, s []byte) { sameSecrets(t, d, s) })
}

func sameSecrets(t rapid.TB, d *Secrets, s []byte) {
	t.Helper()
	want, wantFound := d.cleanWordByWord(nil, s)
	got, found := d.AppendClean(nil, s, ClassifyName)
	if found != wantFound || !bytes.Equal(got, want) {
		t.Fatalf("%q\n got %q, %t\nwant %q, %t", s, got, found, want, wantFound)
	}
}
