package wire

import (
	"bytes"
	"hash/maphash"
)

// maxLinearKeys is the number of keys of one object that are compared one by one. The
// keys of larger objects go into a keySet. Otherwise an object with a million keys would
// cost the square of a million steps.
const maxLinearKeys = 16

// keySpan is the position of a key in the text, without its quotes.
type keySpan struct {
	from, to uint32
	escaped  bool
}

// keyStack holds the keys of open objects, innermost last. The first ones are stored in
// place, so that a scanner can live on the stack of its caller and most scans allocate
// nothing.
type keyStack struct {
	count int
	first [32]keySpan
	more  []keySpan
}

// keyAt returns the key at index i.
func (k *keyStack) keyAt(i int) keySpan {
	if i < len(k.first) {
		return k.first[i]
	}
	return k.more[i-len(k.first)]
}

// push adds a key behind the first count ones. Keys of closed objects are overwritten.
func (k *keyStack) push(key keySpan) {
	if k.count < len(k.first) {
		k.first[k.count] = key
	} else {
		k.more = append(k.more[:k.count-len(k.first)], key)
	}
	k.count++
}

// objectScan is the state of the scan of one object.
type objectScan struct {
	id      uint32  // number of the object in the text; never 0
	keyBase int     // index of its first key in scanner.openKeys
	key     keySpan // key of the member that nextMember moved to
	entered bool    // its opening brace was accepted
	first   bool    // no member was read yet
}

// beginObject starts the scan of the object at the current position. If the nesting is
// too deep, nextMember returns false at once.
func (s *scanner) beginObject(depth int) objectScan {
	open := s.enterContainer(depth)
	s.objectCount++
	return objectScan{id: s.objectCount, keyBase: s.openKeys.count, entered: open, first: true}
}

// nextMember reads the next key and its colon and moves to the value, which the caller
// must scan. It returns false at the end of the object and after an error.
func (s *scanner) nextMember(o *objectScan) bool {
	if !o.entered || s.err != nil {
		return false
	}
	s.skipSpace()
	if s.i < len(s.b) && s.b[s.i] == '}' {
		s.i++
		s.openKeys.count = o.keyBase // forget the keys of this object
		return false
	}
	if !o.first {
		if s.i >= len(s.b) || s.b[s.i] != ',' {
			s.failUnexpected("',' or '}'")
			return false
		}
		s.i++
		s.skipSpace()
	}
	o.first = false
	if s.i >= len(s.b) || s.b[s.i] != '"' {
		s.failUnexpected("a key")
		return false
	}
	from := s.i + 1
	escaped := s.scanString()
	if s.err != nil {
		return false
	}
	o.key = keySpan{from: uint32(from), to: uint32(s.i - 1), escaped: escaped} //nolint:gosec // reset bounds the length
	if s.isDuplicate(o) {
		s.failAt(from-1, "this key occurs twice in its object")
		return false
	}
	s.skipSpace()
	if s.i >= len(s.b) || s.b[s.i] != ':' {
		s.failUnexpected("':'")
		return false
	}
	s.i++
	s.skipSpace()
	return true
}

// isDuplicate reports whether the object had its current key before, and remembers the
// key.
func (s *scanner) isDuplicate(o *objectScan) bool {
	if s.allowDuplicates {
		return false
	}
	switch have := s.openKeys.count - o.keyBase; {
	case have < maxLinearKeys:
		for i := o.keyBase; i < s.openKeys.count; i++ {
			if s.sameKey(s.openKeys.keyAt(i), o.key) {
				return true
			}
		}
		s.openKeys.push(o.key)
		return false
	case have == maxLinearKeys:
		for i := o.keyBase; i < s.openKeys.count; i++ {
			s.addKey(o.id, s.openKeys.keyAt(i))
		}
		// One more entry on the stack marks that the set holds all keys of this object.
		s.openKeys.push(o.key)
	}
	return s.addKey(o.id, o.key)
}

// sameKey reports whether two keys have the same text after unescaping.
func (s *scanner) sameKey(a, b keySpan) bool {
	if !a.escaped && !b.escaped {
		return string(s.b[a.from:a.to]) == string(s.b[b.from:b.to])
	}
	return equalKeys(s.b[a.from:a.to], s.b[b.from:b.to])
}

// equalKeys compares two raw keys after unescaping.
func equalKeys(a, b []byte) bool {
	var bufA, bufB [64]byte
	return bytes.Equal(unescapeKey(bufA[:0], a), unescapeKey(bufB[:0], b))
}

// unescapeKey returns a key without escapes: raw itself if it has none, else the
// unescaped text appended to buf.
func unescapeKey(buf, raw []byte) []byte {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw
	}
	return AppendUnescaped(buf, raw)
}

// keySet holds the keys of all objects with many keys. It is a hash table with open
// addressing, filled to three quarters at most. Each has its own random seed, so that a
// sender cannot construct collisions.
type keySet struct {
	slots []keySlot
	count int
	seed  maphash.Seed
}

// keySlot is one key of one object.
type keySlot struct {
	object uint32 // number of the object; 0 if the slot is free
	key    keySpan
}

// addKey adds a key of an object to the set and reports whether it was there already.
func (s *scanner) addKey(object uint32, key keySpan) bool {
	set := &s.largeKeys
	switch {
	case set.slots == nil:
		set.slots = make([]keySlot, 4*maxLinearKeys)
		set.seed = maphash.MakeSeed()
	// Grow before the table is too full. A free slot must always remain, since
	// findKey stops only there.
	case 4*set.count >= 3*len(set.slots):
		old := set.slots
		set.slots = make([]keySlot, 2*len(old))
		for _, slot := range old {
			if slot.object != 0 {
				i, _ := s.findKey(slot.object, slot.key)
				set.slots[i] = slot
			}
		}
	}
	i, found := s.findKey(object, key)
	if !found {
		set.slots[i] = keySlot{object: object, key: key}
		set.count++
	}
	return found
}

// findKey returns the slot that holds the key, or the free slot where it belongs.
func (s *scanner) findKey(object uint32, key keySpan) (at int, found bool) {
	slots := s.largeKeys.slots
	raw := s.b[key.from:key.to]
	var buf [64]byte
	if key.escaped {
		raw = AppendUnescaped(buf[:0], raw)
	}
	// The odd factor spreads equal keys of different objects over the table.
	hash := maphash.Bytes(s.largeKeys.seed, raw) + uint64(object)*0x9E3779B97F4A7C15
	mask := uint64(len(slots) - 1) //nolint:gosec // never empty here
	for i := hash & mask; ; i = (i + 1) & mask {
		switch slot := &slots[i]; {
		case slot.object == 0:
			return int(i), false //nolint:gosec // below len(slots)
		case slot.object == object && s.sameKey(slot.key, key):
			return int(i), true //nolint:gosec // likewise
		}
	}
}
