package wire

import (
	"bytes"
	"hash/maphash"
)

// fewKeys is up to how many keys of an object are compared one by one. Above
// it they go into a keySet, so that an object with a million keys costs a
// million steps and not the square of it.
const fewKeys = 16

// keySpan is where a key stands, without its quotes.
type keySpan struct {
	from, to uint32
	escaped  bool
}

// keyStack holds the keys of open objects, innermost last. The first ones are
// part of it, so that a scanner can live on the stack of its caller and most
// scans allocate nothing.
type keyStack struct {
	n     int
	first [32]keySpan
	more  []keySpan
}

func (k *keyStack) at(i int) keySpan {
	if i < len(k.first) {
		return k.first[i]
	}
	return k.more[i-len(k.first)]
}

func (k *keyStack) push(key keySpan) {
	if k.n < len(k.first) {
		k.first[k.n] = key
	} else {
		k.more = append(k.more[:k.n-len(k.first)], key)
	}
	k.n++
}

// object is an object that is being scanned.
type object struct {
	id    uint32  // its number in the text; never 0
	base  int     // where its keys begin in scanner.keys
	key   keySpan // the member that nextMember moved to
	open  bool
	first bool
}

func (s *scanner) openObject(depth int) object {
	open := s.open(depth)
	s.objects++
	return object{id: s.objects, base: s.keys.n, open: open, first: true}
}

// nextMember reads the next key and its colon, moves to the value, which the
// caller scans, and says false at the end of the object or at a fault.
func (s *scanner) nextMember(o *object) bool {
	if !o.open || s.err != nil {
		return false
	}
	s.space()
	if s.i < len(s.b) && s.b[s.i] == '}' {
		s.i++
		s.keys.n = o.base
		return false
	}
	if !o.first {
		if s.i >= len(s.b) || s.b[s.i] != ',' {
			s.unexpected("',' or '}'")
			return false
		}
		s.i++
		s.space()
	}
	o.first = false
	if s.i >= len(s.b) || s.b[s.i] != '"' {
		s.unexpected("a key")
		return false
	}
	from := s.i + 1
	escaped := s.str()
	if s.err != nil {
		return false
	}
	o.key = keySpan{from: uint32(from), to: uint32(s.i - 1), escaped: escaped} //nolint:gosec // reset bounds the length
	if s.seen(o) {
		s.fail(from-1, "this key occurs twice in its object")
		return false
	}
	s.space()
	if s.i >= len(s.b) || s.b[s.i] != ':' {
		s.unexpected("':'")
		return false
	}
	s.i++
	s.space()
	return true
}

// seen says whether the object has had its current key before, and remembers it.
func (s *scanner) seen(o *object) bool {
	if s.twice {
		return false
	}
	switch have := s.keys.n - o.base; {
	case have < fewKeys:
		for i := o.base; i < s.keys.n; i++ {
			if s.sameKey(s.keys.at(i), o.key) {
				return true
			}
		}
		s.keys.push(o.key)
		return false
	case have == fewKeys:
		for i := o.base; i < s.keys.n; i++ {
			s.addKey(o.id, s.keys.at(i))
		}
		// One more entry says that the set holds all of them.
		s.keys.push(o.key)
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
	used  int
	seed  maphash.Seed
}

type keySlot struct {
	object uint32 // 0: free
	key    keySpan
}

// addKey puts the object's key into the set and says whether it was there.
func (s *scanner) addKey(object uint32, key keySpan) bool {
	set := &s.set
	switch {
	case set.slots == nil:
		set.slots = make([]keySlot, 4*fewKeys)
		set.seed = maphash.MakeSeed()
	case 4*set.used >= 3*len(set.slots):
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
		set.used++
	}
	return found
}

// findKey gives the slot that holds the key, or the free one where it belongs.
func (s *scanner) findKey(object uint32, key keySpan) (at int, found bool) {
	slots := s.set.slots
	raw := s.b[key.from:key.to]
	var buf [64]byte
	if key.escaped {
		raw = appendUnescaped(buf[:0], raw)
	}
	hash := maphash.Bytes(s.set.seed, raw) + uint64(object)*0x9E3779B97F4A7C15
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
