package redact

import (
	"bytes"
	"encoding/base64"
	"net/url"
	"unicode/utf8"

	"github.com/junctor-mcp/junctor/internal/wire"
)

// sniffed is how many characters of base64 show whether it is text.
const sniffed = 1024

// removedURI replaces a URI that is none any more without what was found in it.
const removedURI = "redacted:uri"

// blob judges base64, whatever its media type says: text in it is cleaned. It returns
// false if it is no base64.
func (w *walk) blob(encoded []byte, begin, end int) bool {
	if content, is := decodeText(encoded); is {
		if clean, changed := w.cleanContent(content); changed {
			with := wire.AppendString(nil, base64.StdEncoding.EncodeToString(clean))
			w.edits = append(w.edits, edit{from: begin, to: end, with: with})
		}
		return true
	}
	_, ok := decodeBase64(encoded[:min(len(encoded), sniffed)])
	return ok
}

// cleanContent cleans a text that may be JSON.
func (w *walk) cleanContent(text []byte) ([]byte, bool) {
	if mayBeContainer(text) {
		if nested, ok := w.nestedWalk(text); ok {
			return render(text, nested.edits, wholeStyle, nil), len(nested.edits) > 0
		}
	}
	clean, changed := w.redactor.clean(w.buffers, text, appendMark)
	return bytes.Clone(clean), changed
}

// decodeText decodes base64 that holds a text.
func decodeText(encoded []byte) (text []byte, is bool) {
	begin, ok := decodeBase64(encoded[:min(len(encoded), sniffed)])
	if !ok || !isText(begin) {
		return nil, false
	}
	text, ok = decodeBase64(encoded)
	return text, ok
}

// decodeBase64 decodes base64 in either alphabet, as the most lenient of its readers
// does: other characters are ignored, and the padding may be missing.
func decodeBase64(encoded []byte) ([]byte, bool) {
	clean := make([]byte, 0, len(encoded))
	for _, c := range encoded {
		switch {
		case isAlphanumeric(c) || c == '+' || c == '/':
			clean = append(clean, c)
		case c == '-':
			clean = append(clean, '+')
		case c == '_':
			clean = append(clean, '/')
		case c == '=' || isSpace(c):
		default:
			if len(clean) == 0 {
				return nil, false
			}
		}
	}
	if len(clean)%4 == 1 {
		clean = clean[:len(clean)-1]
	}
	out := make([]byte, base64.RawStdEncoding.DecodedLen(len(clean)))
	n, err := base64.RawStdEncoding.Decode(out, clean)
	return out[:n], err == nil
}

// isText reports whether the beginning of a content is text: it has no bytes that
// texts do not have, and its characters are UTF-8 or mostly ASCII.
func isText(begin []byte) bool {
	if bytes.IndexByte(begin, 0) >= 0 {
		return false
	}
	printable := 0
	for _, c := range begin {
		if c >= 0x20 && c < 0x7f || isSpace(c) {
			printable++
		}
	}
	if printable*10 >= len(begin)*9 {
		return true
	}
	for n := 0; n < utf8.UTFMax && len(begin) > 0; n++ { // its last character may be incomplete
		if utf8.Valid(begin) {
			return true
		}
		begin = begin[:len(begin)-1]
	}
	return false
}

// uri judges a URI. If it would be none without what was found, or hides a find behind
// escapes, all of it goes: a client may refuse a result with a broken URI.
func (w *walk) uri(text []byte, begin, end int) {
	if string(text) == removedURI {
		return
	}
	replace := func(with string) {
		w.edits = append(w.edits, edit{from: begin, to: end, with: wire.AppendString(nil, with)})
	}
	if bytes.HasPrefix(text, []byte("data:")) {
		head, encoded, _ := bytes.Cut(text, []byte(";base64,"))
		if content, is := decodeText(encoded); is {
			if _, changed := w.cleanContent(content); changed {
				replace(removedURI)
			}
			return
		} else if len(encoded) > 0 {
			text = head
		}
	}
	clean, changed := w.redactor.clean(w.buffers, text, appendMark)
	if changed {
		parsed, err := url.Parse(string(clean))
		if err != nil || !parsed.IsAbs() || bytes.ContainsAny([]byte(parsed.Host), "[]") {
			clean = []byte(removedURI)
		}
		replace(string(clean))
		return
	}
	if bytes.IndexByte(text, '%') >= 0 {
		if plain, err := url.PathUnescape(string(text)); err == nil {
			if _, changed = w.redactor.clean(w.buffers, []byte(plain), appendMark); changed {
				replace(removedURI)
			}
		}
	}
}
