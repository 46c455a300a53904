package call

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/junctor-mcp/junctor/internal/wire"
)

// MaxText is the number of bytes of an answer that a result shows. Hosts pass
// no more to models.
const MaxText = 64 << 10

// maxShownItems is the number of elements of an array that are shown first if
// an answer is too large.
const maxShownItems = 25

// truncation is a place where something was left out. Shown and Of count
// elements of an array or bytes of a string.
type truncation struct {
	Pointer string `json:"pointer"`
	Shown   int    `json:"shown"`
	Of      int    `json:"of"`
}

// shrinkJSON shortens JSON to at most most bytes: arrays first, then long
// strings, in stricter and stricter steps. ok is false if the strictest step
// does not suffice.
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

// shrinker bounds the elements of arrays and the bytes of strings.
type shrinker struct{ maxItems, maxText int }

// writeValue appends the shortened value to dst, and each truncation to cuts.
// pointer is the JSON pointer of the value.
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

// truncateText returns the beginning of a text, cut between characters.
func truncateText(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}

// escapePointer escapes a segment of a JSON pointer.
func escapePointer(s string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(s) }

// unescapePointer decodes a segment of a JSON pointer.
func unescapePointer(s string) string { return strings.NewReplacer("~1", "/", "~0", "~").Replace(s) }

// fieldSelection is a tree of the selected fields, by the segments of their
// JSON pointers. A node without children selects everything below it.
type fieldSelection map[string]fieldSelection

// parseSelection parses JSON pointers. "*" means every element of an array and
// may be left out.
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

// writeSelected appends the selected parts of a value to dst.
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

// isNumbered reports whether all segments are numbers, that is, elements are
// selected by index.
func (s fieldSelection) isNumbered() bool {
	for part := range s {
		if _, err := strconv.Atoi(part); err != nil {
			return false
		}
	}
	return true
}
