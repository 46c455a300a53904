package bearer

import (
	"crypto/sha256"
	"sync"
	"sync/atomic"
	"time"

	"github.com/junctor-mcp/junctor/internal/identity"
)

const (
	maxToken  = 8 << 10
	maxProven = 10_000
)

// token is one that was verified.
type token struct {
	party    *identity.Party
	audience []string
	expires  time.Time
	own      bool // issued here
}

// proven are the tokens that were verified and have not expired, by hash. There
// are at most maxProven: one more takes the place of another, which will be
// verified again.
type proven struct {
	mu      sync.RWMutex
	of      map[[32]byte]*token
	checked atomic.Uint64 // counts keep
}

func (p *proven) get(sum [32]byte, now time.Time) *token {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if t := p.of[sum]; t != nil && now.Before(t.expires) {
		return t
	}
	return nil
}

func (p *proven) put(sum [32]byte, t *token, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.add(sum, t, now)
}

// putOwn is put for a token of our own that was looked up as of a count of
// checked: what ended since would be remembered otherwise.
func (p *proven) putOwn(sum [32]byte, t *token, now time.Time, as uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.checked.Load() == as {
		p.add(sum, t, now)
	}
}

// keep forgets all tokens of our own but those.
func (p *proven) keep(live map[[32]byte]bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.checked.Add(1)
	for sum, t := range p.of {
		if t.own && !live[sum] {
			delete(p.of, sum)
		}
	}
}

func (p *proven) add(sum [32]byte, t *token, now time.Time) {
	if p.of == nil {
		p.of = map[[32]byte]*token{}
	}
	if len(p.of) >= maxProven {
		p.sweep(now)
	}
	p.of[sum] = t
}

// sweep makes room: what has expired goes, or else some that happen to come
// first, so that it need not look at all of them for each new one.
func (p *proven) sweep(now time.Time) {
	for sum, t := range p.of {
		if !now.Before(t.expires) {
			delete(p.of, sum)
		}
	}
	for sum := range p.of {
		if len(p.of) < maxProven-maxProven/16 {
			return
		}
		delete(p.of, sum)
	}
}

// hash is what is kept of a token, which has maxToken bytes at most.
func hash(token string) [32]byte {
	var onStack [maxToken]byte
	return sha256.Sum256(onStack[:copy(onStack[:], token)])
}
