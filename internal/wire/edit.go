package wire

import (
	"slices"
	"unsafe"
)

// Member is a member to put into an object. Value is raw JSON.
type Member struct {
	Key   string
	Value []byte
}

// AppendObject appends a copy of obj without the members named in drop and with
// add at its end; a key in add replaces the member that has it, and the last one
// counts where add names a key twice. Whatever stays, stays byte for byte, in its
// order. An obj that is nil, or no object, counts as {}. dst may be obj[:0:len(obj)]:
// then obj is used up, and its own bytes are the result wherever that fits.
func AppendObject(dst, obj []byte, drop []string, add ...Member) []byte {
	dst = append(dst, '{')
	empty := true
	i := skipOpening(obj, '{')
	for {
		from, to, value := findMember(obj, i)
		if value < 0 {
			break
		}
		end := skipValue(obj, value)
		if end < 0 {
			break
		}
		if !isDropped(obj[from:to], drop, add) {
			if !empty {
				dst = append(dst, ',')
			}
			empty = false
			dst = append(dst, obj[from-1:end]...)
		}
		i = end
	}
	for n, m := range add {
		if slices.ContainsFunc(add[n+1:], func(later Member) bool { return later.Key == m.Key }) {
			continue
		}
		if !empty {
			dst = append(dst, ',')
		}
		empty = false
		dst = AppendString(dst, m.Key)
		dst = append(dst, ':')
		dst = append(dst, m.Value...)
	}
	return append(dst, '}')
}

func isDropped(raw []byte, drop []string, add []Member) bool {
	return slices.ContainsFunc(drop, func(key string) bool { return matchesKey(raw, key) }) ||
		slices.ContainsFunc(add, func(m Member) bool { return matchesKey(raw, m.Key) })
}

// Offset is where child, a slice that points into parent, begins in it; -1 when
// it does not point there.
func Offset(parent, child []byte) int {
	if cap(parent) == 0 || cap(child) == 0 {
		return -1
	}
	p := uintptr(unsafe.Pointer(unsafe.SliceData(parent))) //nolint:gosec // compared, never turned back into a pointer
	c := uintptr(unsafe.Pointer(unsafe.SliceData(child)))  //nolint:gosec // likewise
	if c < p || c-p+uintptr(len(child)) > uintptr(len(parent)) {
		return -1
	}
	return int(c - p)
}

// AppendReplaced appends parent with child, a slice that points into it,
// replaced by with. A child that does not point there changes nothing.
func AppendReplaced(dst, parent, child, with []byte) []byte {
	at := Offset(parent, child)
	if at < 0 {
		return append(dst, parent...)
	}
	dst = append(dst, parent[:at]...)
	dst = append(dst, with...)
	return append(dst, parent[at+len(child):]...)
}
