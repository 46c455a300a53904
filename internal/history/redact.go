package history

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	redacted = "[redacted]"
	// knownLeast is the length from which on a value that was redacted is
	// looked for elsewhere: shorter ones are words of the language.
	knownLeast = 6
	knownMost  = 64 // values that are looked for
	mostDepth  = 64 // of containers that are kept
	mostNested = 3  // of JSON inside strings inside JSON
)

// redactor makes what is kept of a call's payloads. One goroutine uses it. What
// it gives lies in buffers that it uses again.
type redactor struct {
	max   int
	found detector
	names map[string]secrecy // what names were found to be

	known   [][]byte // values of this call that are secret
	values  []byte   // holds them
	scratch []byte   // a stack of texts that were decoded or cleaned
	rests   []path   // a stack of what is left of paths
	outs    [mostNested + 1][]byte
}

func newRedactor(most int) *redactor {
	return &redactor{max: most, found: newDetector(), names: map[string]secrecy{}}
}

// begin forgets the call before.
func (r *redactor) begin() { r.known, r.values, r.scratch = r.known[:0], r.values[:0], r.scratch[:0] }

// release gives up the texts that were made since the scratch had that length.
// Where it had to grow meanwhile, older texts live on in what it was before.
func (r *redactor) release(length int) { r.scratch = r.scratch[:length] }

// params gives what is kept of the beginning of the parameters, which have size
// bytes in all. paths lead to what is secret in them. It is good until more is
// asked for.
func (r *redactor) params(src []byte, size int, paths []path) []byte {
	n := len(r.known)
	text := r.json(src, size, paths)
	if len(r.known) > n { // a value may appear before the name that gives it away
		text = r.json(src, size, paths)
	}
	return text
}

// result is params for a result.
func (r *redactor) result(src []byte, size int, paths []path) []byte {
	return r.json(src, size, paths)
}

// text gives a lone text without what is secret in it. It is good until begin.
func (r *redactor) text(s string) []byte {
	begin := len(r.scratch)
	r.scratch = append(r.scratch, s...)
	clean, _ := r.clean(r.scratch[begin:])
	return clean
}

func (r *redactor) json(src []byte, size int, paths []path) []byte {
	if len(src) == 0 {
		return nil
	}
	w := walk{r: r, src: src, size: size, cut: len(src) < size, max: r.max, out: r.outs[0][:0]}
	defer func(length int) {
		r.outs[0] = w.out
		r.release(length)
	}(len(r.scratch))
	w.value(paths, 0)
	if w.space(); !w.stopped && w.pos < len(w.src) {
		w.bad = true // something follows the value
	}
	if !w.bad && len(w.out) == 0 {
		w.out = append(marker(append(w.out, '"'), size), '"')
	}
	if !w.bad {
		return w.out
	}
	// It is not JSON: kept as a text.
	w = walk{r: r, size: size, cut: w.cut, max: r.max, out: w.out[:0]}
	w.text(bytes.ToValidUTF8(src, []byte("\uFFFD")), !w.cut)
	return w.out
}

// remember notes a value that is secret.
func (r *redactor) remember(value []byte) {
	if len(value) < knownLeast || len(r.known) == knownMost {
		return
	}
	for _, v := range r.known {
		if bytes.Equal(v, value) {
			return
		}
	}
	begin := len(r.values)
	r.values = append(r.values, value...)
	r.known = append(r.known, r.values[begin:])
}

// rememberText is remember for a text.
func (r *redactor) rememberText(value string) {
	begin := len(r.scratch)
	r.scratch = append(r.scratch, value...)
	r.remember(r.scratch[begin:])
	r.release(begin)
}

// clean gives a text without the values known to be secret and without what
// looks like a secret, and says whether anything was. It is s itself, or lies in
// the scratch.
func (r *redactor) clean(s []byte) ([]byte, bool) {
	changed := false
	for _, v := range r.known {
		at := bytes.Index(s, v)
		if at < 0 {
			continue
		}
		begin := len(r.scratch)
		for ; at >= 0; at = bytes.Index(s, v) {
			r.scratch = append(append(r.scratch, s[:at]...), redacted...)
			s = s[at+len(v):]
		}
		r.scratch = append(r.scratch, s...)
		s, changed = r.scratch[begin:], true
	}
	begin := len(r.scratch)
	var found bool
	if r.scratch, found = r.found.clean(r.scratch, s, r.sensitive); found {
		return r.scratch[begin:], true
	}
	return s, changed
}

// sensitive says how secret the value of a name is.
func (r *redactor) sensitive(name []byte) secrecy {
	if s, ok := r.names[string(name)]; ok {
		return s
	}
	s := secrecyOf(name)
	if len(r.names) < 4096 && len(name) <= 64 {
		r.names[string(name)] = s
	}
	return s
}

// unfinished gives the part of a text, of which more follows, that can be
// judged: its last word may be half a secret, its end the beginning of one.
func (r *redactor) unfinished(s []byte) []byte {
	if i := bytes.LastIndexAny(s, " \t\r\n"); i >= 0 {
		s = s[:i]
	} else {
		return nil
	}
	for _, v := range r.known {
		for n := min(len(v)-1, len(s)); n > 2; n-- {
			if bytes.HasSuffix(s, v[:n]) {
				s = s[:len(s)-n]
				break
			}
		}
	}
	return s
}

// path is a way into JSON; * is every member or item.
type path []string

// secretPaths are the paths to what is secret in the calls of one tool.
type secretPaths struct{ params, result []path }

// newSecretPaths takes the pointers into arguments and results. A structured result is
// often told once more as text: pointers lead into that, too.
func newSecretPaths(arguments, result []string) secretPaths {
	return secretPaths{
		params: parsePointers(arguments, "arguments"),
		result: append(parsePointers(result, "structuredContent"), parsePointers(result, "content", "*", "text")...),
	}
}

func parsePointers(pointers []string, below ...string) []path {
	paths := make([]path, 0, len(pointers))
	for _, p := range pointers {
		way := slices.Clone(path(below))
		for i, segment := range strings.Split(p, "/") {
			if i > 0 { // a pointer begins with a slash, or is empty
				way = append(way, strings.NewReplacer("~1", "/", "~0", "~").Replace(segment))
			}
		}
		paths = append(paths, way)
	}
	return paths
}

// into gives the rest of the paths that lead through a member. It lies on the
// stack of rests.
func (r *redactor) into(paths []path, name []byte) []path {
	begin := len(r.rests)
	for _, p := range paths {
		if len(p) > 0 && (p[0] == string(name) || p[0] == "*") {
			r.rests = append(r.rests, p[1:])
		}
	}
	return r.rests[begin:]
}

// item gives the rest of the paths that lead through an item of an array.
func (r *redactor) item(paths []path, n int) []path {
	if len(paths) == 0 {
		return nil
	}
	var digits [20]byte
	return r.into(paths, strconv.AppendInt(digits[:0], int64(n), 10))
}

// arrived says whether one of the paths ends here.
func arrived(paths []path) bool {
	return slices.ContainsFunc(paths, func(p path) bool { return len(p) == 0 })
}

// marker appends that something was cut, and how long it was.
func marker(dst []byte, size int) []byte {
	return append(strconv.AppendInt(append(dst, "[cut: "...), int64(size), 10), " bytes in all]"...)
}

// quote appends s as a JSON string without its quotes, as far as it fits into
// room, and says whether all of it did.
func quote[T string | []byte](dst []byte, s T, room int) ([]byte, bool) {
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
