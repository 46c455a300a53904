package wire

import (
	"bytes"
	"hash/maphash"
)

// maxLinearKeys is up to how many keys of an object are compared one by one. Above
// it they go into a keySet, so that an object with a million keys costs a
// million steps and not the square of it.
const maxLinearKeys = 16

// keySpan is where a key stands, without its quotes.
type keySpan struct {
	from, to uint32
	escaped  bool
}

// keyStack holds the keys of open objects, innermost last. The first ones are
// part of it, so that a scanner can live on the stack of its caller and most
// scans allocate nothing.
type keyStack struct {
	count int
	first [32]keySpan
	more  []keySpan
}

func (k *keyStack) keyAt(i int) keySpan {
	if i < len(k.first) {
		return k.first[i]
	}
	return k.more[i-len(k.first)]
}

func (k *keyStack) push(key keySpan) {
	if k.count < len(k.first) {
		k.first[k.count] = key
	} else {
		k.more = append(k.more[:k.count-len(k.first)], key)
	}
	k.count++
}

// objectScan is an object that is being scanned.
type objectScan struct {
	id      uint32  // its number in the text; never 0
	keyBase int     // where its keys begin in scanner.keys
	key     keySpan // the member that nextMember moved to
	entered bool
	first   bool
}

func (s *scanner) beginObject(depth int) objectScan {
	open := s.enterContainer(depth)
	s.objectCount++
	return objectScan{id: s.objectCount, keyBase: s.openKeys.count, entered: open, first: true}
}

// nextMember reads the next key and its colon, moves to the value, which the
// caller scans, and says false at the end of the object or at a fault.
func (s *scanner) nextMember(o *objectScan) bool {
	if !o.entered || s.err != nil {
		return false
	}
	s.skipSpace()
	if s.i < len(s.b) && s.b[s.i] == '}' {
		s.i++
		s.openKeys.count = o.keyBase
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

// isDuplicate says whether the object has had its current key before, and remembers it.
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
		// One more entry says that the set holds all of them.
		s.openKeys.push(o.key)
	}
	return s.addKey(o.id, o.key)
}

func (s *scanner) sameKey(a, b keySpan) bool {
	if !a.escaped && !b.escaped {
		return string(s.b[a.from:a.to]) == string(s.b[b.from:b.to])
	}
	return equalKeys(s.b[a.from:a.to], s.b[b.from:b.to])
}

// equalKeys compares two raw keys by what they mean.
func equalKeys(a, b []byte) bool {
	var bufA, bufB [64]byte
	return bytes.Equal(unescapeKey(bufA[:0], a), unescapeKey(bufB[:0], b))
}

// unescapeKey gives the key as it is meant: itself when it has no escapes, else
// its unescaped form, appended to buf.
func unescapeKey(buf, raw []byte) []byte {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw
	}
	return appendUnescaped(buf, raw)
}

// keySet holds the keys of all objects that have many: open addressing, filled
// to three quarters at most, under a seed of its own so that nobody can aim for
// collisions.
type keySet struct {
	slots []keySlot
	count int
	seed  maphash.Seed
}

type keySlot struct {
	object uint32 // 0: free
	key    keySpan
}

// addKey puts the object's key into the set and says whether it was there.
func (s *scanner) addKey(object uint32, key keySpan) bool {
	set := &s.largeKeys
	switch {
	case set.slots == nil:
		set.slots = make([]keySlot, 4*maxLinearKeys)
		set.seed = maphash.MakeSeed()
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

// findKey gives the slot that holds the key, or the free one where it belongs.
func (s *scanner) findKey(object uint32, key keySpan) (at int, found bool) {
	slots := s.largeKeys.slots
	raw := s.b[key.from:key.to]
	var buf [64]byte
	if key.escaped {
		raw = appendUnescaped(buf[:0], raw)
	}
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
