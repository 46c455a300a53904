package wire

import (
	"slices"
	"unsafe"
)

// Member is a member to add to an object.
type Member struct {
	Key   string
	Value []byte // raw JSON
}

// AppendObject appends a copy of obj to dst, without the members named in drop and with
// the members of add at its end. A key in add replaces the member that has it. If add
// names a key twice, the last one wins. All other members stay byte for byte, in their
// order. An obj that is nil, or no object, counts as {}.
//
// dst may be obj[:0:len(obj)]. The result then reuses the memory of obj wherever it fits,
// and obj must not be used any more.
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
			dst = append(dst, obj[from-1:end]...) // from the opening quote of its key
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

// isDropped reports whether the member with that raw key is left out of the copy: because
// drop names it, or because add replaces it.
func isDropped(raw []byte, drop []string, add []Member) bool {
	return slices.ContainsFunc(drop, func(key string) bool { return matchesKey(raw, key) }) ||
		slices.ContainsFunc(add, func(m Member) bool { return matchesKey(raw, m.Key) })
}

// Offset returns the index in parent at which child begins. child must be a slice of the
// same array; if it is not within parent, the result is -1.
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

// AppendReplaced appends parent with child replaced by with. child is a slice that points
// into parent. If it does not, parent is appended unchanged.
func AppendReplaced(dst, parent, child, with []byte) []byte {
	at := Offset(parent, child)
	if at < 0 {
		return append(dst, parent...)
	}
	dst = append(dst, parent[:at]...)
	dst = append(dst, with...)
	return append(dst, parent[at+len(child):]...)
}
