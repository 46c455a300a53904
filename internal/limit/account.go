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
	whole atomic.Int64 // when nothing of the burst is used any more, in nanoseconds since 1970
	today atomic.Int64 // the day, shifted by dayShift, and the calls on it
	lease *lease       // what is taken from the pool; nil where there is none

	mu      sync.Mutex
	most    int // calls at a time, as whoever came last was told
	running int
	queue   []chan struct{} // who waits for running to fall, longest first; closed when it is their turn
}

const (
	dayShift = 40
	dayMask  = 1<<dayShift - 1
)

// Day is the day of a time, since 1970 in UTC.
func Day(t time.Time) int64 { return t.Unix() / 86400 }

func endOfDay(t time.Time) time.Time { return time.Unix((Day(t)+1)*86400, 0).UTC() }

// countDay counts a call of today; false when that is one too many. left is how
// many may follow.
func (a *Account) countDay(most int, now time.Time) (left int, ok bool) {
	for day := Day(now); ; {
		old := a.today.Load()
		calls := int64(0)
		if old>>dayShift == day {
			calls = old & dayMask
		}
		if calls >= int64(most) {
			return 0, false
		}
		if a.today.CompareAndSwap(old, day<<dayShift|(calls+1)) {
			return most - int(calls) - 1, true
		}
	}
}

// used is how many calls of today were counted here.
func (a *Account) used(now time.Time) int64 {
	if v := a.today.Load(); v>>dayShift == Day(now) {
		return v & dayMask
	}
	return 0
}

// uncountDay takes back what countDay counted.
func (a *Account) uncountDay(now time.Time) {
	for {
		old := a.today.Load()
		if old>>dayShift != Day(now) || old&dayMask == 0 || a.today.CompareAndSwap(old, old-1) {
			return
		}
	}
}

// reserve takes one token of the rate, which is there after wait at the latest
// named; false when it would take longer, and then wait is how long. left is how
// many more could be taken at once, and whole when all could.
func (a *Account) reserve(r Rate, most time.Duration, now time.Time) (wait time.Duration, left int, whole time.Time, ok bool) {
	interval, window := r.interval()
	at := now.UnixNano()
	for {
		old := a.whole.Load()
		// What waits in line is beyond the window; a clock that was set back
		// must not make it more.
		from := min(max(old, at), at+int64(window)+int64(most))
		next := from + int64(interval)
		if wait = time.Duration(next - int64(window) - at); wait > most {
			return wait, 0, time.Unix(0, old), false
		}
		if a.whole.CompareAndSwap(old, next) {
			left = max(0, int((at+int64(window)-next)/int64(interval)))
			return max(wait, 0), left, time.Unix(0, next), true
		}
	}
}

// giveBack returns a reserved token.
func (a *Account) giveBack(r Rate) {
	interval, _ := r.interval()
	a.whole.Add(-int64(interval))
}

// startNow begins a call where fewer than most run and nobody waits.
func (a *Account) startNow(most int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.begin(most)
}

func (a *Account) begin(most int) bool {
	a.most = most
	a.admit() // it may be more than before
	if a.running >= most || len(a.queue) > 0 {
		return false
	}
	a.running++
	return true
}

// admit lets those in who wait longest, as many as there are places for.
func (a *Account) admit() {
	for a.running < a.most && len(a.queue) > 0 {
		close(a.queue[0])
		a.queue = a.queue[1:]
		a.running++
	}
}

// start begins a call where fewer than most run, and waits for that until the
// context ends. Whoever waits longest is next.
func (a *Account) start(ctx context.Context, most int) bool {
	a.mu.Lock()
	if a.begin(most) {
		a.mu.Unlock()
		return true
	}
	turn := make(chan struct{})
	a.queue = append(a.queue, turn)
	a.mu.Unlock()
	select {
	case <-turn:
		return true
	case <-ctx.Done():
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.Index(a.queue, turn)
	if i < 0 {
		return true // the turn came at the same moment
	}
	a.queue = slices.Delete(a.queue, i, i+1)
	return false
}

// end ends a call that start or startNow began.
func (a *Account) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.running--
	a.admit()
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
