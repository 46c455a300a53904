package history

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	redactedMark = "[redacted]"
	// minKnownSecret is the length from which on a value that was redacted is
	// looked for elsewhere: shorter ones are words of the language.
	minKnownSecret  = 6
	maxKnownSecrets = 64 // values that are looked for
	maxDepth        = 64 // of containers that are kept
	maxNesting      = 3  // of JSON inside strings inside JSON
)

// redactor makes what is kept of a call's payloads. One goroutine uses it. What
// it gives lies in buffers that it uses again.
type redactor struct {
	maxBytes  int
	detector  detector
	nameCache map[string]secrecy // what names were found to be

	knownSecrets [][]byte   // values of this call that are secret
	secretBytes  []byte     // holds them
	scratch      []byte     // a stack of texts that were decoded or cleaned
	pathStack    []jsonPath // a stack of what is left of paths
	outputs      [maxNesting + 1][]byte
}

func newRedactor(most int) *redactor {
	return &redactor{maxBytes: most, detector: newDetector(), nameCache: map[string]secrecy{}}
}

// reset forgets the call before.
func (r *redactor) reset() {
	r.knownSecrets, r.secretBytes, r.scratch = r.knownSecrets[:0], r.secretBytes[:0], r.scratch[:0]
}

// releaseScratch gives up the texts that were made since the scratch had that length.
// Where it had to grow meanwhile, older texts live on in what it was before.
func (r *redactor) releaseScratch(length int) { r.scratch = r.scratch[:length] }

// redactParams gives what is kept of the beginning of the parameters, which have size
// bytes in all. paths lead to what is secret in them. It is good until more is
// asked for.
func (r *redactor) redactParams(src []byte, size int, paths []jsonPath) []byte {
	n := len(r.knownSecrets)
	text := r.redactJSON(src, size, paths)
	if len(r.knownSecrets) > n { // a value may appear before the name that gives it away
		text = r.redactJSON(src, size, paths)
	}
	return text
}

// redactResult is params for a result.
func (r *redactor) redactResult(src []byte, size int, paths []jsonPath) []byte {
	return r.redactJSON(src, size, paths)
}

// redactText gives a lone text without what is secret in it. It is good until begin.
func (r *redactor) redactText(s string) []byte {
	begin := len(r.scratch)
	r.scratch = append(r.scratch, s...)
	clean, _ := r.cleanText(r.scratch[begin:])
	return clean
}

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
		w.notJSON = true // something follows the value
	}
	if !w.notJSON && len(w.out) == 0 {
		w.out = append(appendCutMarker(append(w.out, '"'), size), '"')
	}
	if !w.notJSON {
		return w.out
	}
	// It is not JSON: kept as a text.
	w = jsonRedactor{redactor: r, totalSize: size, isTruncated: w.isTruncated, maxBytes: r.maxBytes, out: w.out[:0]}
	w.writeText(bytes.ToValidUTF8(src, []byte("\uFFFD")), !w.isTruncated)
	return w.out
}

// rememberSecret notes a value that is secret.
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

// rememberSecretText is remember for a text.
func (r *redactor) rememberSecretText(value string) {
	begin := len(r.scratch)
	r.scratch = append(r.scratch, value...)
	r.rememberSecret(r.scratch[begin:])
	r.releaseScratch(begin)
}

// cleanText gives a text without the values known to be secret and without what
// looks like a secret, and says whether anything was. It is s itself, or lies in
// the scratch.
func (r *redactor) cleanText(s []byte) ([]byte, bool) {
	changed := false
	for _, v := range r.knownSecrets {
		at := bytes.Index(s, v)
		if at < 0 {
			continue
		}
		begin := len(r.scratch)
		for ; at >= 0; at = bytes.Index(s, v) {
			r.scratch = append(append(r.scratch, s[:at]...), redactedMark...)
			s = s[at+len(v):]
		}
		r.scratch = append(r.scratch, s...)
		s, changed = r.scratch[begin:], true
	}
	begin := len(r.scratch)
	var found bool
	if r.scratch, found = r.detector.cleanText(r.scratch, s, r.classifyName); found {
		return r.scratch[begin:], true
	}
	return s, changed
}

// classifyName says how secret the value of a name is.
func (r *redactor) classifyName(name []byte) secrecy {
	if s, ok := r.nameCache[string(name)]; ok {
		return s
	}
	s := classifySecretName(name)
	if len(r.nameCache) < 4096 && len(name) <= 64 {
		r.nameCache[string(name)] = s
	}
	return s
}

// trimUnjudgeable gives the part of a text, of which more follows, that can be
// judged: its last word may be half a secret, its end the beginning of one.
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

// jsonPath is a way into JSON; * is every member or item.
type jsonPath []string

// secretPaths are the paths to what is secret in the calls of one tool.
type secretPaths struct{ params, result []jsonPath }

// newSecretPaths takes the pointers into arguments and results. A structured result is
// often told once more as text: pointers lead into that, too.
func newSecretPaths(arguments, result []string) secretPaths {
	return secretPaths{
		params: parsePointers(arguments, "arguments"),
		result: append(parsePointers(result, "structuredContent"), parsePointers(result, "content", "*", "text")...),
	}
}

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

// descendMember gives the rest of the paths that lead through a member. It lies on the
// stack of rests.
func (r *redactor) descendMember(paths []jsonPath, name []byte) []jsonPath {
	begin := len(r.pathStack)
	for _, p := range paths {
		if len(p) > 0 && (p[0] == string(name) || p[0] == "*") {
			r.pathStack = append(r.pathStack, p[1:])
		}
	}
	return r.pathStack[begin:]
}

// descendItem gives the rest of the paths that lead through an item of an array.
func (r *redactor) descendItem(paths []jsonPath, n int) []jsonPath {
	if len(paths) == 0 {
		return nil
	}
	var digits [20]byte
	return r.descendMember(paths, strconv.AppendInt(digits[:0], int64(n), 10))
}

// endsHere says whether one of the paths ends here.
func endsHere(paths []jsonPath) bool {
	return slices.ContainsFunc(paths, func(p jsonPath) bool { return len(p) == 0 })
}

// appendCutMarker appends that something was cut, and how long it was.
func appendCutMarker(dst []byte, size int) []byte {
	return append(strconv.AppendInt(append(dst, "[cut: "...), int64(size), 10), " bytes in all]"...)
}

// appendQuoted appends s as a JSON string without its quotes, as far as it fits into
// room, and says whether all of it did.
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
			need = utf8.RuneLen(ru) // of U+FFFD where it is no character
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
