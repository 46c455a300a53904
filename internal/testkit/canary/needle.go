package canary

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"net/url"
	"strings"
)

// needle is one form of one part of a secret.
type needle struct {
	secret int
	form   string
	text   []byte
}

// minNeedle is the shortest text that is looked for: eight bytes are the key of
// the table, and enough to be no accident.
const minNeedle = 8

// needles finds any of many texts in one pass.
type needles struct {
	first   [1 << 16]bool // by the first two bytes
	at      map[uint64][]needle
	longest int
}

// add takes every form of a secret. A long secret is looked for in halves: one
// that was cut on its way is found, and one half is whole where a page of a
// database splits the text.
func (ns *needles) add(secret int, text string) {
	parts := []string{text}
	if half := len(text) / 2; half >= 2*minNeedle {
		parts = []string{text[:half], text[half:]}
	}
	for _, p := range parts {
		ns.put(secret, "raw", p)
		ns.put(secret, "hex", hex.EncodeToString([]byte(p)))
		ns.put(secret, "hex", strings.ToUpper(hex.EncodeToString([]byte(p))))
		for _, escaped := range []string{url.QueryEscape(p), url.PathEscape(p)} {
			if escaped != p {
				ns.put(secret, "url", escaped)
			}
		}
		for shift := range 3 {
			ns.put(secret, "base64", inside(base64.RawStdEncoding, p, shift))
			ns.put(secret, "base64url", inside(base64.RawURLEncoding, p, shift))
		}
	}
}

// inside is what the base64 of a text that holds p has in it, where p begins
// shift bytes after a group of three: the characters that only p decides.
func inside(enc *base64.Encoding, p string, shift int) string {
	coded := enc.EncodeToString([]byte(strings.Repeat("\x00", shift) + p))
	from := (8*shift + 5) / 6        // the first that has no bit of what is before
	to := (8 * (shift + len(p))) / 6 // the first that has a bit of what is after
	return coded[from:min(to, len(coded))]
}

func (ns *needles) put(secret int, form, text string) {
	if len(text) < minNeedle {
		return
	}
	b := []byte(text)
	key := binary.LittleEndian.Uint64(b)
	for _, n := range ns.at[key] {
		if n.secret == secret && bytes.Equal(n.text, b) {
			return // the same in two forms
		}
	}
	ns.first[binary.LittleEndian.Uint16(b)] = true
	ns.at[key] = append(ns.at[key], needle{secret, form, b})
	ns.longest = max(ns.longest, len(b))
}

// find tells found of every needle in b, in the order they lie there.
func (ns *needles) find(b []byte, found func(off int, n needle)) {
	for i := 0; i+minNeedle <= len(b); i++ {
		if !ns.first[uint16(b[i])|uint16(b[i+1])<<8] {
			continue
		}
		for _, n := range ns.at[binary.LittleEndian.Uint64(b[i:])] {
			if bytes.HasPrefix(b[i:], n.text) {
				found(i, n)
			}
		}
	}
}
