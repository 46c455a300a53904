package limit

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Account is what one party has used of its limits. The limits themselves are
// not part of it: they may change under it.
type Account struct {
	fullAt atomic.Int64 // when nothing of the burst is used any more, in nanoseconds since 1970
	dayCalls atomic.Int64 // the day, shifted by dayShift, and the calls on it
	lease *poolLease       // what is taken from the pool; nil where there is none

	mu      sync.Mutex
	maxRunning    int // calls at a time, as whoever came last was told
	running int
	waiters   []chan struct{} // who waits for running to fall, longest first; closed when it is their turn
}

const (
	dayShift = 40
	dayMask  = 1<<dayShift - 1
)

// Day is the day of a time, since 1970 in UTC.
func Day(t time.Time) int64 { return t.Unix() / 86400 }

func endOfDay(t time.Time) time.Time { return time.Unix((Day(t)+1)*86400, 0).UTC() }

// countDailyCall counts a call of today; false when that is one too many. left is how
// many may follow.
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

// callsToday is how many calls of today were counted here.
func (a *Account) callsToday(now time.Time) int64 {
	if v := a.dayCalls.Load(); v>>dayShift == Day(now) {
		return v & dayMask
	}
	return 0
}

// uncountDailyCall takes back what countDay counted.
func (a *Account) uncountDailyCall(now time.Time) {
	for {
		old := a.dayCalls.Load()
		if old>>dayShift != Day(now) || old&dayMask == 0 || a.dayCalls.CompareAndSwap(old, old-1) {
			return
		}
	}
}

// reserveToken takes one token of the rate, which is there after wait at the latest
// named; false when it would take longer, and then wait is how long. left is how
// many more could be taken at once, and whole when all could.
func (a *Account) reserveToken(r Rate, most time.Duration, now time.Time) (wait time.Duration, left int, whole time.Time, ok bool) {
	interval, window := r.toDurations()
	at := now.UnixNano()
	for {
		old := a.fullAt.Load()
		// What waits in line is beyond the window; a clock that was set back
		// must not make it more.
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

// returnToken returns a reserved token.
func (a *Account) returnToken(r Rate) {
	interval, _ := r.toDurations()
	a.fullAt.Add(-int64(interval))
}

// tryStartCall begins a call where fewer than most run and nobody waits.
func (a *Account) tryStartCall(most int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.startCallLocked(most)
}

func (a *Account) startCallLocked(most int) bool {
	a.maxRunning = most
	a.admitWaiters() // it may be more than before
	if a.running >= most || len(a.waiters) > 0 {
		return false
	}
	a.running++
	return true
}

// admitWaiters lets those in who wait longest, as many as there are places for.
func (a *Account) admitWaiters() {
	for a.running < a.maxRunning && len(a.waiters) > 0 {
		close(a.waiters[0])
		a.waiters = a.waiters[1:]
		a.running++
	}
}

// startCall begins a call where fewer than most run, and waits for that until the
// context ends. Whoever waits longest is next.
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
		return true // the turn came at the same moment
	}
	a.waiters = slices.Delete(a.waiters, i, i+1)
	return false
}

// endCall ends a call that start or startNow began.
func (a *Account) endCall() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.running--
	a.admitWaiters()
}

// rateOf is the steady rate of limits; a burst that is not given is what one
// second brings.
func rateOf(l *junctor.Limits) Rate {
	burst := l.Burst
	if burst == 0 {
		burst = int(max(1, l.PerSecond))
	}
	return Rate{PerSecond: l.PerSecond, Burst: burst}
}
