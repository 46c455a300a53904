package guard

import (
	"sync"

	"github.com/zeebo/blake3"
)

// hashPool computes BLAKE3 digests, which identify payloads in records without keeping
// them. Hashers are pooled: one on the stack would grow the stack of every connection's
// goroutine by tens of kilobytes.
type hashPool struct{ hashers sync.Pool }

// sumBytes returns the digest of b.
func (d *hashPool) sumBytes(b []byte) (sum [32]byte) {
	h, ok := d.hashers.Get().(*blake3.Hasher)
	if !ok {
		h = blake3.New()
	}
	h.Reset()
	_, _ = h.Write(b) // never fails
	h.Sum(sum[:0])
	d.hashers.Put(h)
	return sum
}
