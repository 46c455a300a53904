package limit

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// shardCount is how many maps share the keys: enough that callers with different
// keys rarely meet at one lock.
const shardCount = 64

// A shard is swept when it has doubled since the last sweep, or when a key
// arrives this long after it.
const (
	minSweepSize    = 64
	sweepEvery = time.Minute
)

// Memory limits within one process. It keeps one number per key, by the
// generic cell rate algorithm: the time at which the key's burst will be whole
// again. All methods may be called from any goroutine.
type Memory struct {
	base  time.Time // times are kept relative to it, so that a stepped wall clock changes nothing
	seed  maphash.Seed
	shards [shardCount]shard
}

type shard struct {
	mu      sync.RWMutex
	buckets map[string]*bucket
	sweepSize   int           // sweep before growing past this
	sweptAt   time.Duration // when, since base
	_       [64]byte      // keeps neighbours off this cache line
}

// bucket holds the time, in nanoseconds since base, at which nothing of the
// burst is used any more. A bucket whose time has passed says nothing that a
// missing one does not say, so it can be dropped.
type bucket struct{ fullAt atomic.Int64 }

// NewMemory makes a limiter without any keys.
func NewMemory() *Memory {
	m := &Memory{base: time.Now(), seed: maphash.MakeSeed()}
	for i := range m.shards {
		m.shards[i].buckets = map[string]*bucket{}
		m.shards[i].sweepSize = minSweepSize
	}
	return m
}

// Take takes one token of key at the time now. When there is none, ok is false,
// nothing is taken, and retryAfter is how long until there will be one.
// Different rates for one key share its count: the stricter one wins.
func (m *Memory) Take(key string, r Rate, now time.Time) (ok bool, retryAfter time.Duration) {
	interval, window := r.toDurations()
	if interval == 0 {
		return true, 0
	}
	at := now.Sub(m.base)
	s := &m.shards[maphash.String(m.seed, key)%shardCount]

	// The read lock is held over the exchange: a sweep can then never drop a
	// bucket that somebody is about to write.
	s.mu.RLock()
	if b := s.buckets[key]; b != nil {
		ok, retryAfter = b.takeToken(at, interval, window)
		s.mu.RUnlock()
		return ok, retryAfter
	}
	s.mu.RUnlock()

	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.buckets[key]
	if b == nil {
		s.dropFullBuckets(at)
		b = &bucket{}
		b.fullAt.Store(int64(at))
		s.buckets[key] = b
	}
	return b.takeToken(at, interval, window)
}

func (b *bucket) takeToken(now, interval, window time.Duration) (bool, time.Duration) {
	for {
		old := b.fullAt.Load()
		// No bucket is more than empty. This holds when a key's rate was
		// changed, and when the caller's clock went back.
		whole := min(max(time.Duration(old), now), now+window)
		next := whole + interval
		if wait := next - window - now; wait > 0 {
			return false, wait
		}
		if b.fullAt.CompareAndSwap(old, int64(next)) {
			return true, 0
		}
	}
}

// dropFullBuckets drops the buckets that are whole again, if it is time to. The rest
// moves to a new map, since a map never gives its memory back.
func (s *shard) dropFullBuckets(now time.Duration) {
	if len(s.buckets) < s.sweepSize && now-s.sweptAt < sweepEvery {
		return
	}
	kept := map[string]*bucket{}
	for key, b := range s.buckets {
		if time.Duration(b.fullAt.Load()) > now {
			kept[key] = b
		}
	}
	s.buckets, s.sweptAt, s.sweepSize = kept, now, max(minSweepSize, 2*len(kept))
}

// Len is how many keys are held now.
func (m *Memory) Len() int {
	n := 0
	for i := range m.shards {
		s := &m.shards[i]
		s.mu.RLock()
		n += len(s.buckets)
		s.mu.RUnlock()
	}
	return n
}

// Check takes one token of the party that p is. The error is limited, and says
// when to come back.
func (m *Memory) Check(p *junctor.Principal, r Rate, now time.Time) error {
	if interval, _ := r.toDurations(); interval == 0 {
		return nil
	}
	ok, after := m.Take(p.Party(), r, now)
	if ok {
		return nil
	}
	return &junctor.Error{
		Code: junctor.CodeLimited, RetryAfter: after,
		Message: "too many calls; try again in " + after.Round(time.Millisecond).String(),
	}
}
