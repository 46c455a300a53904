package history

import (
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

// redactor makes what is kept of a call's payloads. One goroutine uses it.
type redactor struct {
	max   int
	found detector
	names map[string]secrecy // what names were found to be
	known []string           // values of this call that are secret
}

func newRedactor(most int) *redactor {
	return &redactor{max: most, found: newDetector(), names: map[string]secrecy{}}
}

// begin forgets the call before.
func (r *redactor) begin() { r.known = r.known[:0] }

// params gives what is kept of the beginning of the parameters, which have size
// bytes in all. pointers are secret places in the arguments.
func (r *redactor) params(src []byte, size int, pointers []string) string {
	paths := parsePointers(pointers, "arguments")
	n := len(r.known)
	text := r.json(src, size, paths)
	if len(r.known) > n { // a value may appear before the name that gives it away
		text = r.json(src, size, paths)
	}
	return text
}

// result is params for a result. A structured result is often told once more as
// text: pointers lead into that, too.
func (r *redactor) result(src []byte, size int, pointers []string) string {
	paths := parsePointers(pointers, "structuredContent")
	return r.json(src, size, append(paths, parsePointers(pointers, "content", "*", "text")...))
}

// text gives a lone text without what is secret in it.
func (r *redactor) text(s string) string {
	s, _ = r.clean(s)
	return s
}

func (r *redactor) json(src []byte, size int, paths []path) string {
	if len(src) == 0 {
		return ""
	}
	w := walk{r: r, src: src, size: size, cut: len(src) < size, max: r.max, out: make([]byte, 0, min(len(src)+64, r.max))}
	w.value(paths, 0)
	if w.space(); !w.stopped && w.pos < len(w.src) {
		w.bad = true // something follows the value
	}
	if !w.bad && len(w.out) == 0 {
		return `"` + marker(size) + `"`
	}
	if !w.bad {
		return string(w.out)
	}
	// It is not JSON: kept as a text.
	w = walk{r: r, size: size, cut: w.cut, max: r.max, out: w.out[:0]}
	w.text(strings.ToValidUTF8(string(src), "\uFFFD"), !w.cut)
	return string(w.out)
}

// remember notes a value that is secret.
func (r *redactor) remember(value string) {
	if len(value) >= knownLeast && len(r.known) < knownMost && !slices.Contains(r.known, value) {
		r.known = append(r.known, value)
	}
}

// clean gives a text without the values known to be secret and without what
// looks like a secret, and says whether anything was.
func (r *redactor) clean(s string) (string, bool) {
	changed := false
	for _, v := range r.known {
		if strings.Contains(s, v) {
			s, changed = strings.ReplaceAll(s, v, redacted), true
		}
	}
	if cleaned, found := r.found.clean(s, r.sensitive); found {
		return cleaned, true
	}
	return s, changed
}

// sensitive says how secret the value of a name is.
func (r *redactor) sensitive(name string) secrecy {
	if s, ok := r.names[name]; ok {
		return s
	}
	s := secrecyOf(name)
	if len(r.names) < 4096 && len(name) <= 64 {
		r.names[strings.Clone(name)] = s
	}
	return s
}

// unfinished gives the part of a text, of which more follows, that can be
// judged: its last word may be half a secret, its end the beginning of one.
func (r *redactor) unfinished(s string) string {
	if i := strings.LastIndexAny(s, " \t\r\n"); i >= 0 {
		s = s[:i]
	} else {
		return ""
	}
	for _, v := range r.known {
		for n := min(len(v)-1, len(s)); n > 2; n-- {
			if strings.HasSuffix(s, v[:n]) {
				s = s[:len(s)-n]
				break
			}
		}
	}
	return s
}

// path is a way into JSON; * is every member or item.
type path []string

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

// into gives the rest of the paths that lead through a member or item.
func into(paths []path, name string) []path {
	var rest []path
	for _, p := range paths {
		if len(p) > 0 && (p[0] == name || p[0] == "*") {
			rest = append(rest, p[1:])
		}
	}
	return rest
}

// arrived says whether one of the paths ends here.
func arrived(paths []path) bool {
	return slices.ContainsFunc(paths, func(p path) bool { return len(p) == 0 })
}

// marker tells that something was cut, and how long it was.
func marker(size int) string { return "[cut: " + strconv.Itoa(size) + " bytes in all]" }

// quote appends s as a JSON string without its quotes, as far as it fits into
// room, and says whether all of it did.
func quote(dst []byte, s string, room int) ([]byte, bool) {
	const hex = "0123456789abcdef"
	end := len(dst) + room
	for i := 0; i < len(s); {
		c := s[i]
		size := 1
		var esc string
		switch {
		case c == '"' || c == '\\':
			esc = "\\" + string(c)
		case c == '\n':
			esc = `\n`
		case c == '\t':
			esc = `\t`
		case c == '\r':
			esc = `\r`
		case c < 0x20 || c == 0x7f:
			esc = `\u00` + string(hex[c>>4]) + string(hex[c&15])
		case c >= utf8.RuneSelf:
			var ru rune
			if ru, size = utf8.DecodeRuneInString(s[i:]); ru == utf8.RuneError && size == 1 {
				esc = "\uFFFD"
			}
		}
		if esc == "" {
			esc = s[i : i+size]
		}
		if len(dst)+len(esc) > end {
			return dst, false
		}
		dst = append(dst, esc...)
		i += size
	}
	return dst, true
}
