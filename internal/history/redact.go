package history

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/junctor-mcp/junctor/internal/redact"
)

// These limits bound the work and the memory that one call can cost the redactor.
const (
	// minKnownSecret is the shortest secret that is also searched for elsewhere
	// in the call. Shorter ones would match ordinary words.
	minKnownSecret = 6
	// Secrets of a call that are searched for.
	maxKnownSecrets = 64
	maxDepth        = 64 // of nested containers
	// Of JSON inside strings inside JSON.
	maxNesting = 3
)

// redactor redacts and cuts the payloads of one call after another. One goroutine
// uses it. Its results are in buffers that it reuses.
type redactor struct {
	maxBytes  int                       // of a payload
	detector  *redact.Secrets           // finds secrets by their form
	nameCache map[string]redact.Secrecy // results of redact.ClassifyName

	knownSecrets [][]byte // secrets of this call
	secretBytes  []byte   // the memory of knownSecrets
	// A stack of decoded or cleaned texts.
	scratch []byte
	// A stack of the remaining paths.
	pathStack []jsonPath
	// One buffer per level of nesting.
	outputs [maxNesting + 1][]byte
}

// newRedactor returns a redactor that keeps up to most bytes of each payload.
func newRedactor(most int) *redactor {
	return &redactor{maxBytes: most, detector: redact.NewSecrets(), nameCache: map[string]redact.Secrecy{}}
}

// reset forgets the previous call.
func (r *redactor) reset() {
	r.knownSecrets, r.secretBytes, r.scratch = r.knownSecrets[:0], r.secretBytes[:0], r.scratch[:0]
}

// releaseScratch gives up the texts that were added since the scratch had that
// length. If the scratch had to grow meanwhile, older texts stay valid in its
// former memory.
func (r *redactor) releaseScratch(length int) { r.scratch = r.scratch[:length] }

// redactParams returns what is kept of the parameters. src is their beginning,
// size their full length, and paths lead to the secrets in them. The result is
// valid until the next call.
func (r *redactor) redactParams(src []byte, size int, paths []jsonPath) []byte {
	n := len(r.knownSecrets)
	text := r.redactJSON(src, size, paths)
	if len(r.knownSecrets) > n { // a secret may appear before the name that reveals it
		text = r.redactJSON(src, size, paths)
	}
	return text
}

// redactResult is redactParams for a result. One pass is enough: the parameters
// come first, so their secrets are known.
func (r *redactor) redactResult(src []byte, size int, paths []jsonPath) []byte {
	return r.redactJSON(src, size, paths)
}

// redactText returns a text without its secrets. It is valid until reset.
func (r *redactor) redactText(s string) []byte {
	begin := len(r.scratch)
	r.scratch = append(r.scratch, s...)
	clean, _ := r.cleanText(r.scratch[begin:])
	return clean
}

// redactJSON redacts and cuts a payload. A payload that is not JSON becomes a
// JSON string.
func (r *redactor) redactJSON(src []byte, size int, paths []jsonPath) []byte {
	if len(src) == 0 {
		return nil
	}
	w := jsonRedactor{redactor: r, src: src, totalSize: size, isTruncated: len(src) < size, maxBytes: r.maxBytes, out: r.outputs[0][:0]}
	defer func(length int) {
		r.outputs[0] = w.out
		r.releaseScratch(length)
	}(len(r.scratch))
	w.copyValue(paths, 0)
	if w.skipSpace(); !w.stopped && w.pos < len(w.src) {
		w.notJSON = true // there is more than one value
	}
	if !w.notJSON && len(w.out) == 0 {
		w.out = append(appendCutMarker(append(w.out, '"'), size), '"')
	}
	if !w.notJSON {
		return w.out
	}
	// It is not JSON, so it is kept as a text.
	w = jsonRedactor{redactor: r, totalSize: size, isTruncated: w.isTruncated, maxBytes: r.maxBytes, out: w.out[:0]}
	w.writeText(bytes.ToValidUTF8(src, []byte("\uFFFD")), !w.isTruncated)
	return w.out
}

// rememberSecret adds a secret to search for in the rest of the call.
func (r *redactor) rememberSecret(value []byte) {
	if len(value) < minKnownSecret || len(r.knownSecrets) == maxKnownSecrets {
		return
	}
	for _, v := range r.knownSecrets {
		if bytes.Equal(v, value) {
			return
		}
	}
	begin := len(r.secretBytes)
	r.secretBytes = append(r.secretBytes, value...)
	r.knownSecrets = append(r.knownSecrets, r.secretBytes[begin:])
}

// rememberSecretText is rememberSecret for a string.
func (r *redactor) rememberSecretText(value string) {
	begin := len(r.scratch)
	r.scratch = append(r.scratch, value...)
	r.rememberSecret(r.scratch[begin:])
	r.releaseScratch(begin)
}

// cleanText returns a text without the known secrets and without text that looks
// like a secret. It reports whether it changed anything. The result is s itself
// or is in the scratch.
func (r *redactor) cleanText(s []byte) ([]byte, bool) {
	changed := false
	for _, v := range r.knownSecrets {
		at := bytes.Index(s, v)
		if at < 0 {
			continue
		}
		begin := len(r.scratch)
		for ; at >= 0; at = bytes.Index(s, v) {
			r.scratch = append(append(r.scratch, s[:at]...), redact.Mark...)
			s = s[at+len(v):]
		}
		r.scratch = append(r.scratch, s...)
		s, changed = r.scratch[begin:], true
	}
	begin := len(r.scratch)
	var found bool
	if r.scratch, found = r.detector.AppendClean(r.scratch, s, r.classifyName); found {
		return r.scratch[begin:], true
	}
	return s, changed
}

// classifyName returns how secret the value of a name is. It caches the names
// that callers use most.
func (r *redactor) classifyName(name []byte) redact.Secrecy {
	if s, ok := r.nameCache[string(name)]; ok {
		return s
	}
	s := redact.ClassifyName(name)
	if len(r.nameCache) < 4096 && len(name) <= 64 {
		r.nameCache[string(name)] = s
	}
	return s
}

// trimUnjudgeable returns the part of a cut-off text that can be judged. Its last
// word may be half a secret, and its end may be the beginning of a known one.
func (r *redactor) trimUnjudgeable(s []byte) []byte {
	if i := bytes.LastIndexAny(s, " \t\r\n"); i >= 0 {
		s = s[:i]
	} else {
		return nil
	}
	for _, v := range r.knownSecrets {
		for n := min(len(v)-1, len(s)); n > 2; n-- {
			if bytes.HasSuffix(s, v[:n]) {
				s = s[:len(s)-n]
				break
			}
		}
	}
	return s
}

// jsonPath is a path into JSON; * stands for every member or item.
type jsonPath []string

// secretPaths are the paths to the secrets in the calls of one tool.
type secretPaths struct{ params, result []jsonPath }

// newSecretPaths parses the pointers into arguments and results. A structured
// result is often repeated as text, so its pointers apply there, too.
func newSecretPaths(arguments, result []string) secretPaths {
	return secretPaths{
		params: parsePointers(arguments, "arguments"),
		result: append(parsePointers(result, "structuredContent"), parsePointers(result, "content", "*", "text")...),
	}
}

// parsePointers parses JSON pointers and puts them below a common path.
func parsePointers(pointers []string, below ...string) []jsonPath {
	paths := make([]jsonPath, 0, len(pointers))
	for _, p := range pointers {
		way := slices.Clone(jsonPath(below))
		for i, segment := range strings.Split(p, "/") {
			if i > 0 { // a pointer begins with a slash, or is empty
				way = append(way, strings.NewReplacer("~1", "/", "~0", "~").Replace(segment))
			}
		}
		paths = append(paths, way)
	}
	return paths
}

// descendMember returns the rest of the paths that lead through a member. It is
// on the path stack.
func (r *redactor) descendMember(paths []jsonPath, name []byte) []jsonPath {
	begin := len(r.pathStack)
	for _, p := range paths {
		if len(p) > 0 && (p[0] == string(name) || p[0] == "*") {
			r.pathStack = append(r.pathStack, p[1:])
		}
	}
	return r.pathStack[begin:]
}

// descendItem returns the rest of the paths that lead through an item of an
// array.
func (r *redactor) descendItem(paths []jsonPath, n int) []jsonPath {
	if len(paths) == 0 {
		return nil
	}
	var digits [20]byte
	return r.descendMember(paths, strconv.AppendInt(digits[:0], int64(n), 10))
}

// endsHere reports whether one of the paths ends at this value.
func endsHere(paths []jsonPath) bool {
	return slices.ContainsFunc(paths, func(p jsonPath) bool { return len(p) == 0 })
}

// appendCutMarker appends a note that a payload was cut, with its full length.
func appendCutMarker(dst []byte, size int) []byte {
	return append(strconv.AppendInt(append(dst, "[cut: "...), int64(size), 10), " bytes in all]"...)
}

// appendQuoted appends s as a JSON string without its quotes, as far as it fits
// into room. It reports whether all of it did. Bytes that are not UTF-8 become
// U+FFFD.
func appendQuoted[T string | []byte](dst []byte, s T, room int) ([]byte, bool) {
	const hex = "0123456789abcdef"
	for i := 0; i < len(s); {
		plain := i
		for plain < len(s) && s[plain] >= 0x20 && s[plain] < 0x7f && s[plain] != '"' && s[plain] != '\\' {
			plain++
		}
		if plain > i {
			fits := min(plain-i, max(room, 0))
			dst = append(dst, s[i:i+fits]...)
			if room -= fits; fits < plain-i {
				return dst, false
			}
			i = plain
			continue
		}
		c := s[i]
		size, need := 1, 2
		switch {
		case c == '\n' || c == '\t' || c == '\r':
		case c < 0x20 || c == 0x7f:
			need = 6
		case c >= utf8.RuneSelf:
			var ru rune
			ru, size = utf8.DecodeRuneInString(string(s[i:min(i+utf8.UTFMax, len(s))]))
			need = utf8.RuneLen(ru) // the length of U+FFFD if it is not a character
		}
		if room -= need; room < 0 {
			return dst, false
		}
		switch {
		case need == 6:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c == '\t':
			dst = append(dst, '\\', 't')
		case c == '\r':
			dst = append(dst, '\\', 'r')
		case c < utf8.RuneSelf:
			dst = append(dst, '\\', c)
		case size == 1:
			dst = append(dst, "\uFFFD"...)
		default:
			dst = append(dst, s[i:i+size]...)
		}
		i += size
	}
	return dst, true
}

// RedactJSON returns a JSON value without its secrets, as the history keeps payloads: those
// in members whose names announce a secret, and texts that look like one. A value of more than
// most bytes is cut, and stays valid JSON.
func RedactJSON(value []byte, most int) []byte {
	r := newRedactor(most)
	return slices.Clone(r.redactParams(value, len(value), nil))
}
