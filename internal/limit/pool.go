package limit

import (
	"context"
	"sync"
	"time"
)

// poolBlocks is into how many parts a limit is cut that replicas share: each takes a
// part at a time. So with n replicas up to n parts may lie unused while a caller
// is refused, and as many tokens of a rate may be used later than they came.
const poolBlocks = 20

// minCallBlock of a day are taken at first. Tokens of a rate come again, calls of a day
// do not: those that a replica has in hand are lost when it is killed, so that it
// takes about as many as it uses in a second, and never more than a block.
const minCallBlock = 16

// Pool is what replicas share: there they count what parties use, and take from
// it in blocks. An error means that it is away; then each replica counts for
// itself.
type Pool interface {
	// Tokens takes up to most tokens of a rate that are there, or else one that
	// will be within patience.
	Tokens(ctx context.Context, key string, r Rate, most int, patience time.Duration) (Grant, error)
	// Calls takes up to most calls of what a day has, which is limit. used is what
	// this replica knows to be used, for a pool that has forgotten.
	Calls(ctx context.Context, key string, day int64, limit, most int, used int64) (Grant, error)
}

// Grant is what was taken from a Pool.
type Grant struct {
	N     int           // how many; 0 is that there are none
	Wait  time.Duration // until it may be used, or until there is one
	Left  int           // how many more could be taken
	Whole time.Duration // until all could be
}

// poolLease is what this replica has taken from the pool for one account, and has not
// used yet.
type poolLease struct {
	pool Pool
	key  string

	mu     sync.Mutex
	tokens int
	poolTokensLeft   int // in the pool, when tokens were last taken
	tokensFullAt  time.Time

	calls   int
	day     int64
	poolCallsLeft int
	lastBlock    int       // calls that were taken last
	lastTaken    time.Time // when they were
}

func blockSize(limit int) int { return max(1, limit/poolBlocks) }

// useToken uses one token of a rate. ok is false where there is none, and then wait
// is when there will be one. An error is that the pool is away.
func (l *poolLease) useToken(ctx context.Context, r Rate, patience time.Duration, now time.Time) (wait time.Duration, left int, whole time.Time, ok bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	most := blockSize(r.Burst)
	l.tokens = min(l.tokens, most) // the limit may be less than it was
	if l.tokens == 0 {
		g, err := l.pool.Tokens(ctx, l.key, r, most, patience)
		if err != nil {
			return 0, 0, time.Time{}, false, err
		}
		l.tokens, l.poolTokensLeft, l.tokensFullAt, wait = g.N, g.Left, now.Add(g.Whole), g.Wait
		if g.N == 0 {
			return wait, 0, l.tokensFullAt, false, nil
		}
	}
	l.tokens--
	return wait, l.tokens + l.poolTokensLeft, l.tokensFullAt, true, nil
}

// returnToken gives back what token gave.
func (l *poolLease) returnToken() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tokens++
}

// useCall uses one call of a day's, of which this replica knows used.
func (l *poolLease) useCall(ctx context.Context, limit int, used int64, now time.Time) (left int, ok bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if day := Day(now); l.day != day {
		l.day, l.calls, l.poolCallsLeft = day, 0, 0
	}
	l.calls = min(l.calls, blockSize(limit)) // the limit may be less than it was
	if l.calls == 0 {
		most := l.nextCallBlock(limit, now)
		g, err := l.pool.Calls(ctx, l.key, l.day, limit, most, used)
		if err != nil {
			return 0, false, err
		}
		l.calls, l.poolCallsLeft = g.N, g.Left
		if g.N == 0 {
			return 0, false, nil
		}
		l.lastBlock, l.lastTaken = most, now
	}
	l.calls--
	return l.calls + l.poolCallsLeft, true, nil
}

// nextCallBlock is how many calls to take, now that those of before are used up: twice as
// many where they lasted for less than a second, and half where for long.
func (l *poolLease) nextCallBlock(limit int, now time.Time) int {
	most := l.lastBlock
	switch lasted := now.Sub(l.lastTaken); {
	case lasted < time.Second:
		most *= 2
	case lasted > 2*time.Second:
		most /= 2
	}
	return min(max(most, minCallBlock), blockSize(limit))
}

// returnCall gives back what call gave.
func (l *poolLease) returnCall(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.day == Day(now) {
		l.calls++
	}
}
