package limit

import (
	"context"
	"sync"
	"time"
)

// poolBlocks is the number of blocks into which a shared limit is divided. A replica
// takes one block at a time. So with n replicas, up to n blocks may be unused while a
// caller is refused, and as many tokens of a rate may be used later than they became
// available.
const poolBlocks = 20

// minCallBlock is the number of daily calls in the first block of a day. Tokens of a rate
// come back, daily calls do not: a replica that is killed loses the calls that it holds.
// So a replica takes about as many as it uses in a second, and never more than one block.
const minCallBlock = 16

// Pool is the count that replicas share. They take from it in blocks. An error means that
// the pool is unavailable; each replica then counts alone.
type Pool interface {
	// Tokens takes up to most available tokens of a rate. If none is available, it
	// reserves one that will be within patience.
	TakeTokens(ctx context.Context, key string, r Rate, most int, patience time.Duration) (Grant, error)
	// Calls takes up to most calls of a day whose limit is limit. used is the number of
	// calls that this replica has counted, for a pool that has lost its count.
	TakeCalls(ctx context.Context, key string, day int64, limit, most int, used int64) (Grant, error)
}

// Grant is the result of taking from a Pool.
type Grant struct {
	Count     int           // how many were taken; 0 if none is available
	Wait      time.Duration // time until they may be used, or until one is available
	Remaining int           // how many more could be taken
	FullAfter time.Duration // time until the whole burst is available
}

// poolLease holds the tokens and calls that this replica has taken from the pool for one
// account and not used yet.
type poolLease struct {
	pool Pool
	key  string

	mu             sync.Mutex
	tokens         int
	poolTokensLeft int       // in the pool, when tokens were last taken
	tokensFullAt   time.Time // when the whole burst is available again

	calls         int       // of the day, not used yet
	day           int64     // the day that calls belong to
	poolCallsLeft int       // in the pool, when calls were last taken
	lastBlock     int       // number of calls that were taken last
	lastTaken     time.Time // when they were taken
}

// blockSize is the number of tokens or calls in one block of a limit.
func blockSize(limit int) int { return max(1, limit/poolBlocks) }

// useToken uses one token of a rate and takes a new block if none is left. If none is
// available, ok is false and wait is the time until one is. An error means that the pool
// is unavailable.
func (l *poolLease) useToken(ctx context.Context, r Rate, patience time.Duration, now time.Time) (wait time.Duration, left int, whole time.Time, ok bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	most := blockSize(r.Burst)
	l.tokens = min(l.tokens, most) // the limit may have been lowered
	if l.tokens == 0 {
		g, err := l.pool.TakeTokens(ctx, l.key, r, most, patience)
		if err != nil {
			return 0, 0, time.Time{}, false, err
		}
		l.tokens, l.poolTokensLeft, l.tokensFullAt, wait = g.Count, g.Remaining, now.Add(g.FullAfter), g.Wait
		if g.Count == 0 {
			return wait, 0, l.tokensFullAt, false, nil
		}
	}
	l.tokens--
	return wait, l.tokens + l.poolTokensLeft, l.tokensFullAt, true, nil
}

// returnToken gives back a token that useToken used.
func (l *poolLease) returnToken() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tokens++
}

// useCall uses one call of the day and takes a new block if none is left. used is the
// number of calls that this replica has counted today. An error means that the pool is
// unavailable.
func (l *poolLease) useCall(ctx context.Context, limit int, used int64, now time.Time) (left int, ok bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if day := Day(now); l.day != day {
		l.day, l.calls, l.poolCallsLeft = day, 0, 0
	}
	l.calls = min(l.calls, blockSize(limit)) // the limit may have been lowered
	if l.calls == 0 {
		most := l.nextCallBlock(limit, now)
		g, err := l.pool.TakeCalls(ctx, l.key, l.day, limit, most, used)
		if err != nil {
			return 0, false, err
		}
		l.calls, l.poolCallsLeft = g.Count, g.Remaining
		if g.Count == 0 {
			return 0, false, nil
		}
		l.lastBlock, l.lastTaken = most, now
	}
	l.calls--
	return l.calls + l.poolCallsLeft, true, nil
}

// nextCallBlock returns how many calls to take next. It doubles the block if the last one
// lasted less than a second, and halves it if it lasted longer than two.
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

// returnCall gives back a call that useCall used, unless a new day has started.
func (l *poolLease) returnCall(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.day == Day(now) {
		l.calls++
	}
}
