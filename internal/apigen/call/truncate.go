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

// maxShownItems is how many elements of an array are shown once an answer is too
// large.
const maxShownItems = 25

// truncation is a place where something was left out.
type truncation struct {
	Pointer string `json:"pointer"`
	Shown   int    `json:"shown"`
	Of      int    `json:"of"`
}

// shrinkJSON makes JSON small enough: arrays first, then long texts, both more and
// more. ok is false where that does not do.
func shrinkJSON(raw []byte, most int) (out []byte, cuts []truncation, ok bool) {
	if len(raw) <= most {
		return raw, nil, true
	}
	for _, s := range []shrinker{{maxShownItems, 8192}, {maxShownItems, 1024}, {10, 1024}, {5, 512}, {3, 256}, {1, 128}} {
		var cuts []truncation
		out := s.writeValue(nil, raw, "", &cuts)
		if len(out) <= most {
			return out, cuts, true
		}
	}
	return nil, nil, false
}

type shrinker struct{ maxItems, maxText int }

func (s shrinker) writeValue(dst, raw []byte, pointer string, cuts *[]truncation) []byte {
	switch kindOf(raw) {
	case kindObject:
		dst = append(dst, '{')
		first := true
		for key, value := range wire.Members(raw) {
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = append(append(append(dst, '"'), key...), `":`...)
			dst = s.writeValue(dst, value, pointer+"/"+escapePointer(wire.Unescape(key)), cuts)
		}
		return append(dst, '}')
	case kindArray:
		dst = append(dst, '[')
		n := 0
		for item := range wire.Elements(raw) {
			if n < s.maxItems {
				if n > 0 {
					dst = append(dst, ',')
				}
				dst = s.writeValue(dst, item, pointer+"/"+strconv.Itoa(n), cuts)
			}
			n++
		}
		if n > s.maxItems {
			*cuts = append(*cuts, truncation{pointer, s.maxItems, n})
		}
		return append(dst, ']')
	case kindPrimitive:
		if full, ok := wire.String(raw); ok && len(full) > s.maxText {
			short := truncateText(full, s.maxText)
			*cuts = append(*cuts, truncation{pointer, len(short), len(full)})
			return wire.AppendString(dst, short+"…")
		}
	case kindAbsent:
	}
	return append(dst, raw...)
}

// truncateText is the beginning of a text, whole characters.
func truncateText(s string, most int) string {
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

// fieldSelection is what is wanted of an answer, by the parts of JSON pointers; one
// without parts below is all.
type fieldSelection map[string]fieldSelection

// parseSelection reads JSON pointers. A * stands for every element, and may be left
// out.
func parseSelection(pointers []string) fieldSelection {
	root := fieldSelection{}
	for _, p := range pointers {
		at := root
		for part := range strings.SplitSeq(strings.Trim(p, "/"), "/") {
			if part == "*" || part == "-" || part == "" {
				continue
			}
			part = unescapePointer(part)
			if at[part] == nil {
				at[part] = fieldSelection{}
			}
			at = at[part]
		}
	}
	return root
}

// writeSelected gives what is selected of a value.
func (s fieldSelection) writeSelected(dst, raw []byte) []byte {
	if len(s) == 0 {
		return append(dst, raw...)
	}
	switch kindOf(raw) {
	case kindObject:
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
			dst = below.writeSelected(dst, value)
		}
		return append(dst, '}')
	case kindArray:
		dst = append(dst, '[')
		i, first, numbered := 0, true, s.isNumbered()
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
			dst = below.writeSelected(dst, item)
		}
		return append(dst, ']')
	case kindPrimitive, kindAbsent:
	}
	return append(dst, raw...)
}

// isNumbered says whether elements are selected by their number.
func (s fieldSelection) isNumbered() bool {
	for part := range s {
		if _, err := strconv.Atoi(part); err != nil {
			return false
		}
	}
	return true
}
