package limit

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// shardCount is the number of maps that share the keys. It is large enough that callers
// with different keys rarely wait for the same lock.
const shardCount = 64

// A shard is swept when it has doubled since the last sweep, or when a key
// arrives sweepEvery after it.
const (
	minSweepSize = 64
	sweepEvery   = time.Minute
)

// RateLimiter limits rates by key inside one process. It keeps one number per key, by the
// generic cell rate algorithm: the time at which the key's burst is full again. All
// methods are safe for concurrent use.
type RateLimiter struct {
	// base is the zero of all kept times. Times relative to it use the monotonic clock,
	// so a stepped wall clock changes nothing.
	base   time.Time
	seed   maphash.Seed
	shards [shardCount]shard
}

// shard is the part of the keys with the same hash remainder, under one lock.
type shard struct {
	mu        sync.RWMutex
	buckets   map[string]*bucket
	sweepSize int           // sweep before the map grows beyond this
	sweptAt   time.Duration // time of the last sweep, since base
	_         [64]byte      // keeps neighbouring shards off this cache line
}

// bucket holds the time, in nanoseconds since base, at which the whole burst is available
// again. A bucket whose time has passed means the same as a missing one, so a sweep may
// drop it.
type bucket struct{ fullAt atomic.Int64 }

// NewRateLimiter makes a RateLimiter without keys.
func NewRateLimiter() *RateLimiter {
	m := &RateLimiter{base: time.Now(), seed: maphash.MakeSeed()}
	for i := range m.shards {
		m.shards[i].buckets = map[string]*bucket{}
		m.shards[i].sweepSize = minSweepSize
	}
	return m
}

// Take takes one token of key at the time now. If there is none, ok is false, nothing is
// taken, and retryAfter is the time until one is available. Different rates for one key
// share its count, so the stricter one wins.
func (m *RateLimiter) Take(key string, r Rate, now time.Time) (ok bool, retryAfter time.Duration) {
	interval, window := r.toDurations()
	if interval == 0 {
		return true, 0
	}
	at := now.Sub(m.base)
	s := &m.shards[maphash.String(m.seed, key)%shardCount]

	// Hold the read lock until the token is taken, so that a sweep cannot drop a
	// bucket that another goroutine is about to write.
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

// takeToken takes one token, or returns the time until one is available.
func (b *bucket) takeToken(now, interval, window time.Duration) (bool, time.Duration) {
	for {
		old := b.fullAt.Load()
		// Cap the bucket at empty. It can be beyond that after the key's rate was
		// changed, or when the caller's clock went back.
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

// dropFullBuckets sweeps the shard if it is time to: it drops the buckets that are full
// again. The rest moves to a new map, since a map never gives memory back. The caller
// holds s.mu.
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

// CheckPrincipal takes one token of the party of p. The error is limited and says when to come
// back.
func (m *RateLimiter) CheckPrincipal(p *junctor.Principal, r Rate, now time.Time) error {
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
