package resource

import (
	"crypto/sha256"
	"sync"
	"sync/atomic"
	"time"

	"github.com/junctor-mcp/junctor/internal/identity"
)

// Bounds of tokens: the length of one in bytes, and how many are cached.
const (
	maxTokenLength  = 8 << 10
	maxCachedTokens = 10_000
)

// verifiedToken is a token that was verified.
type verifiedToken struct {
	user     *identity.TokenUser
	audience []string
	expires  time.Time
	isLocal  bool // issued by this instance
}

// tokenCache holds verified tokens by hash until they expire. If there are more
// than maxCachedTokens, some are evicted and verified again when they return.
type tokenCache struct {
	mu       sync.RWMutex
	tokens   map[[32]byte]*verifiedToken
	rechecks atomic.Uint64 // counts calls of keepLocal
}

// get returns a cached token, or nil if there is none or it has expired.
func (c *tokenCache) get(sum [32]byte, now time.Time) *verifiedToken {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if t := c.tokens[sum]; t != nil && now.Before(t.expires) {
		return t
	}
	return nil
}

// put caches a verified token.
func (c *tokenCache) put(sum [32]byte, t *verifiedToken, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(sum, t, now)
}

// putLocal caches a local token that was looked up when rechecks was as. If there
// was a recheck since, it caches nothing: the token may have ended between lookup
// and recheck, and would stay cached.
func (c *tokenCache) putLocal(sum [32]byte, t *verifiedToken, now time.Time, as uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rechecks.Load() == as {
		c.add(sum, t, now)
	}
}

// keepLocal drops all local tokens that are not in live.
func (c *tokenCache) keepLocal(live map[[32]byte]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rechecks.Add(1)
	for sum, t := range c.tokens {
		if t.isLocal && !live[sum] {
			delete(c.tokens, sum)
		}
	}
}

// add stores a token and makes room if needed. The caller holds mu.
func (c *tokenCache) add(sum [32]byte, t *verifiedToken, now time.Time) {
	if c.tokens == nil {
		c.tokens = map[[32]byte]*verifiedToken{}
	}
	if len(c.tokens) >= maxCachedTokens {
		c.evict(now)
	}
	c.tokens[sum] = t
}

// evict removes expired tokens, and then arbitrary ones until a sixteenth is free.
// So the next additions need no scan. The caller holds mu.
func (c *tokenCache) evict(now time.Time) {
	for sum, t := range c.tokens {
		if !now.Before(t.expires) {
			delete(c.tokens, sum)
		}
	}
	for sum := range c.tokens {
		if len(c.tokens) < maxCachedTokens-maxCachedTokens/16 {
			return
		}
		delete(c.tokens, sum)
	}
}

// hashToken returns the key of a token. The token has at most maxTokenLength bytes;
// the array on the stack avoids an allocation per request.
func hashToken(token string) [32]byte {
	var onStack [maxTokenLength]byte
	return sha256.Sum256(onStack[:copy(onStack[:], token)])
}
