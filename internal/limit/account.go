package limit

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Account is the usage of one party: its rate, its calls of the day and its running
// calls. The limits are not part of it, because a policy can change them at any time;
// every method takes the limit that applies now. All methods are safe for concurrent use.
type Account struct {
	fullAt   atomic.Int64 // when the whole burst is available again, in nanoseconds since 1970
	dayCalls atomic.Int64 // the day, shifted by dayShift, and the calls counted on that day
	lease    *poolLease   // tokens and calls taken from the pool; nil without a pool

	mu         sync.Mutex
	maxRunning int // the limit of the latest caller
	running    int
	waiters    []chan struct{} // calls that wait for a place, oldest first; a channel is closed when its call may start
}

const (
	// dayShift splits dayCalls: the day is above it and the call count below. One word
	// holds both, so that a compare-and-swap changes them together.
	dayShift = 40
	dayMask  = 1<<dayShift - 1
)

// Day returns the number of whole days from 1970 to t, in UTC.
func Day(t time.Time) int64 { return t.Unix() / 86400 }

// endOfDay returns the next midnight in UTC, when daily limits start again.
func endOfDay(t time.Time) time.Time { return time.Unix((Day(t)+1)*86400, 0).UTC() }

// countDailyCall counts one call of today and returns how many may follow. If the limit
// is already reached, it counts nothing and returns false.
func (a *Account) countDailyCall(most int, now time.Time) (left int, ok bool) {
	for day := Day(now); ; {
		old := a.dayCalls.Load()
		calls := int64(0)
		if old>>dayShift == day {
			calls = old & dayMask
		}
		if calls >= int64(most) {
			return 0, false
		}
		if a.dayCalls.CompareAndSwap(old, day<<dayShift|(calls+1)) {
			return most - int(calls) - 1, true
		}
	}
}

// callsToday returns how many calls of today this replica has counted.
func (a *Account) callsToday(now time.Time) int64 {
	if v := a.dayCalls.Load(); v>>dayShift == Day(now) {
		return v & dayMask
	}
	return 0
}

// uncountDailyCall takes back one call that countDailyCall counted. After midnight there
// is nothing to take back, because the new day started at zero.
func (a *Account) uncountDailyCall(now time.Time) {
	for {
		old := a.dayCalls.Load()
		if old>>dayShift != Day(now) || old&dayMask == 0 || a.dayCalls.CompareAndSwap(old, old-1) {
			return
		}
	}
}

// reserveToken takes one token of the rate if it is available within most. The caller
// must then wait for the returned time before it uses the token. If the token would take
// longer, ok is false, nothing is taken, and wait is the time until one is available.
// left is how many further tokens are available at once, and whole is the time at which
// the burst is full again.
func (a *Account) reserveToken(r Rate, most time.Duration, now time.Time) (wait time.Duration, left int, whole time.Time, ok bool) {
	interval, window := r.toDurations()
	at := now.UnixNano()
	for {
		old := a.fullAt.Load()
		// Reserved tokens lie beyond the window, by at most the allowed wait.
		// The cap keeps a clock that was set back from adding to them.
		from := min(max(old, at), at+int64(window)+int64(most))
		next := from + int64(interval)
		if wait = time.Duration(next - int64(window) - at); wait > most {
			return wait, 0, time.Unix(0, old), false
		}
		if a.fullAt.CompareAndSwap(old, next) {
			left = max(0, int((at+int64(window)-next)/int64(interval)))
			return max(wait, 0), left, time.Unix(0, next), true
		}
	}
}

// returnToken gives back a token that reserveToken took.
func (a *Account) returnToken(r Rate) {
	interval, _ := r.toDurations()
	a.fullAt.Add(-int64(interval))
}

// tryStartCall starts a call if fewer than most run and no other call waits. It never
// waits.
func (a *Account) tryStartCall(most int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.startCallLocked(most)
}

// startCallLocked is tryStartCall for callers that hold a.mu.
func (a *Account) startCallLocked(most int) bool {
	a.maxRunning = most
	a.admitWaiters() // the limit may have been raised
	if a.running >= most || len(a.waiters) > 0 {
		return false
	}
	a.running++
	return true
}

// admitWaiters starts as many waiting calls as there are places, oldest first. The caller
// holds a.mu.
func (a *Account) admitWaiters() {
	for a.running < a.maxRunning && len(a.waiters) > 0 {
		close(a.waiters[0])
		a.waiters = a.waiters[1:]
		a.running++
	}
}

// startCall starts a call when fewer than most run, and waits for that until ctx ends.
// Waiting calls start in the order in which they came. It returns false if ctx ended
// first. If it returns true, the caller must call endCall.
func (a *Account) startCall(ctx context.Context, most int) bool {
	a.mu.Lock()
	if a.startCallLocked(most) {
		a.mu.Unlock()
		return true
	}
	turn := make(chan struct{})
	a.waiters = append(a.waiters, turn)
	a.mu.Unlock()
	select {
	case <-turn:
		return true
	case <-ctx.Done():
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.Index(a.waiters, turn)
	if i < 0 {
		return true // the call was started at the same moment
	}
	a.waiters = slices.Delete(a.waiters, i, i+1)
	return false
}

// endCall ends a call that startCall or tryStartCall started.
func (a *Account) endCall() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.running--
	a.admitWaiters()
}

// rateOf returns the rate of a party's limits. If no burst is set, it is the number of
// tokens that come back in one second.
func rateOf(l *junctor.Limits) Rate {
	burst := l.Burst
	if burst == 0 {
		burst = int(max(1, l.PerSecond))
	}
	return Rate{PerSecond: l.PerSecond, Burst: burst}
}
