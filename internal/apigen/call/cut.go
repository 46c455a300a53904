package call

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/junctor-mcp/junctor/internal/wire"
)

// MaxText is how much of an answer a tool gives: models are told no more by
// their hosts.
const MaxText = 64 << 10

// maxItems is how many elements of an array are shown once an answer is too
// large.
const maxItems = 25

// cut is a place where something was left out.
type cut struct {
	Pointer string `json:"pointer"`
	Shown   int    `json:"shown"`
	Of      int    `json:"of"`
}

// shrink makes JSON small enough: arrays first, then long texts, both more and
// more. ok is false where that does not do.
func shrink(raw []byte, most int) (out []byte, cuts []cut, ok bool) {
	if len(raw) <= most {
		return raw, nil, true
	}
	for _, s := range []shrinker{{maxItems, 8192}, {maxItems, 1024}, {10, 1024}, {5, 512}, {3, 256}, {1, 128}} {
		var cuts []cut
		out := s.write(nil, raw, "", &cuts)
		if len(out) <= most {
			return out, cuts, true
		}
	}
	return nil, nil, false
}

type shrinker struct{ items, text int }

func (s shrinker) write(dst, raw []byte, pointer string, cuts *[]cut) []byte {
	switch kindOf(raw) {
	case object:
		dst = append(dst, '{')
		first := true
		for key, value := range wire.Members(raw) {
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = append(append(append(dst, '"'), key...), `":`...)
			dst = s.write(dst, value, pointer+"/"+escapePointer(wire.Unescape(key)), cuts)
		}
		return append(dst, '}')
	case array:
		dst = append(dst, '[')
		n := 0
		for item := range wire.Elements(raw) {
			if n < s.items {
				if n > 0 {
					dst = append(dst, ',')
				}
				dst = s.write(dst, item, pointer+"/"+strconv.Itoa(n), cuts)
			}
			n++
		}
		if n > s.items {
			*cuts = append(*cuts, cut{pointer, s.items, n})
		}
		return append(dst, ']')
	case primitive:
		if full, ok := wire.String(raw); ok && len(full) > s.text {
			short := clip(full, s.text)
			*cuts = append(*cuts, cut{pointer, len(short), len(full)})
			return wire.AppendString(dst, short+"…")
		}
	case absent:
	}
	return append(dst, raw...)
}

// clip is the beginning of a text, whole characters.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}

func escapePointer(s string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(s) }

func unescapePointer(s string) string { return strings.NewReplacer("~1", "/", "~0", "~").Replace(s) }

// selection is what is wanted of an answer, by the parts of JSON pointers; one
// without parts below is all.
type selection map[string]selection

// newSelection reads JSON pointers. A * stands for every element, and may be left
// out.
func newSelection(pointers []string) selection {
	root := selection{}
	for _, p := range pointers {
		at := root
		for part := range strings.SplitSeq(strings.Trim(p, "/"), "/") {
			if part == "*" || part == "-" || part == "" {
				continue
			}
			part = unescapePointer(part)
			if at[part] == nil {
				at[part] = selection{}
			}
			at = at[part]
		}
	}
	return root
}

// write gives what is selected of a value.
func (s selection) write(dst, raw []byte) []byte {
	if len(s) == 0 {
		return append(dst, raw...)
	}
	switch kindOf(raw) {
	case object:
		dst = append(dst, '{')
		first := true
		for key, value := range wire.Members(raw) {
			below, wanted := s[wire.Unescape(key)]
			if !wanted {
				continue
			}
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = append(append(append(dst, '"'), key...), `":`...)
			dst = below.write(dst, value)
		}
		return append(dst, '}')
	case array:
		dst = append(dst, '[')
		i, first, numbered := 0, true, s.numbered()
		for item := range wire.Elements(raw) {
			below, wanted := s, true
			if numbered {
				below, wanted = s[strconv.Itoa(i)], s[strconv.Itoa(i)] != nil
			}
			i++
			if !wanted {
				continue
			}
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = below.write(dst, item)
		}
		return append(dst, ']')
	case primitive, absent:
	}
	return append(dst, raw...)
}

// numbered says whether elements are selected by their number.
func (s selection) numbered() bool {
	for part := range s {
		if _, err := strconv.Atoi(part); err != nil {
			return false
		}
	}
	return true
}
