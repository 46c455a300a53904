package upstream

import (
	"log/slog"
	"sync"
	"time"
)

// A server decides how much it says by itself. What that costs is decided here:
// how often lists are read again, how many messages that nobody asked for are read in
// a second, and how often one message is logged.

const (
	// rereadPause is the least time between two readings of lists that a server
	// says have changed; from rereadStorm on in a row it doubles, to maxReread.
	rereadPause    = time.Second
	rereadStreak   = 5
	maxRereadPause = 30 * time.Second
	// rereadCalm is for how long after the pause a server has to be quiet for its
	// next change to be read at once.
	rereadCalm = 5 * time.Second

	// noteBurst notifications, requests and answers to nothing of a server are read as
	// fast as they come, and then noteRate in a second: the connection fills up, and
	// the server waits.
	noteBurst = 2000
	noteRate  = 500

	// warnWindow is how long a warning is not repeated.
	warnWindow = 10 * time.Second
	// updatePause is the least time between two that a resource changed.
	updatePause = time.Second
)

// rereadPacer paces how often lists are read again.
type rereadPacer struct {
	last   time.Time // when they were read last because of a change
	streak int       // how often in a row
}

// minPause is the least time between the last reading and the next.
func (r *rereadPacer) minPause() time.Duration {
	if r.streak == 0 {
		return 0
	}
	return min(rereadPause<<min(max(r.streak-rereadStreak, 0), 5), maxRereadPause)
}

// nextWait gives how long to wait until the lists may be read again.
func (r *rereadPacer) nextWait(now time.Time) time.Duration {
	if now.Sub(r.last) > r.minPause()+rereadCalm {
		r.streak = 0
	}
	return max(r.minPause()-now.Sub(r.last), listSettleTime)
}

// recordRead notes that they were read.
func (r *rereadPacer) recordRead(now time.Time) {
	r.last = now
	r.streak++
}

// serverLimits bounds what all links of a server may cost together.
type serverLimits struct {
	now func() time.Time

	mu         sync.Mutex
	noteTokens float64 // that may be read at once
	refilledAt time.Time
	warnings   map[string]*warning
}

type warning struct {
	loggedAt time.Time
	skipped  int
}

func newServerLimits(now func() time.Time) *serverLimits {
	return &serverLimits{now: now, noteTokens: noteBurst, refilledAt: now(), warnings: map[string]*warning{}}
}

// paceMessage takes one message that nobody asked for, and waits where there are too many: whoever reads
// the connection waits with it.
func (l *serverLimits) paceMessage() {
	if l == nil {
		return
	}
	if wait := l.takeToken(); wait > 0 {
		time.Sleep(wait)
	}
}

func (l *serverLimits) takeToken() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if d := now.Sub(l.refilledAt); d > 0 {
		l.noteTokens = min(l.noteTokens+d.Seconds()*noteRate, noteBurst)
	}
	l.refilledAt = now
	l.noteTokens--
	if l.noteTokens >= 0 {
		return 0
	}
	l.noteTokens = max(l.noteTokens, -noteRate/50)
	return min(time.Duration(-l.noteTokens/noteRate*float64(time.Second)), time.Second/50)
}

// warnOnce logs a constant message once in a window, with how often it was left out
// since, and says whether it did.
func (l *serverLimits) warnOnce(log *slog.Logger, message string, args ...any) bool {
	if l == nil {
		log.Warn(message, args...) //nolint:sloglint // every caller gives a constant
		return true
	}
	l.mu.Lock()
	w := l.warnings[message]
	if w == nil {
		w = &warning{}
		l.warnings[message] = w
	}
	now := l.now()
	if !w.loggedAt.IsZero() && now.Sub(w.loggedAt) < warnWindow {
		w.skipped++
		l.mu.Unlock()
		return false
	}
	skipped := w.skipped
	w.loggedAt, w.skipped = now, 0
	l.mu.Unlock()
	if skipped > 0 {
		args = append(args, "not_logged", skipped)
	}
	log.Warn(message, args...) //nolint:sloglint // every caller gives a constant
	return true
}

// updatePacer passes on that resources changed: of each at most one in updatePause, and
// always the last.
type updatePacer struct {
	mu        sync.Mutex
	lastSent  map[string]time.Time // when each was told of last, while that counts
	scheduled map[string]bool      // will be told of
	closed    bool
}

// addUpdate takes that a resource changed. tell is called now, or later by a timer.
func (u *updatePacer) addUpdate(uri string, now time.Time, tell func(uri string)) {
	u.mu.Lock()
	if u.lastSent == nil {
		u.lastSent, u.scheduled = map[string]time.Time{}, map[string]bool{}
	}
	since := now.Sub(u.lastSent[uri])
	if u.scheduled[uri] || u.closed {
		u.mu.Unlock()
		return
	}
	if since >= updatePause {
		for other, at := range u.lastSent { // what is over is forgotten
			if now.Sub(at) >= updatePause {
				delete(u.lastSent, other)
			}
		}
		u.lastSent[uri] = now
		u.mu.Unlock()
		tell(uri)
		return
	}
	u.scheduled[uri] = true
	u.mu.Unlock()
	time.AfterFunc(updatePause-since, func() {
		u.mu.Lock()
		delete(u.scheduled, uri)
		closed := u.closed
		u.lastSent[uri] = now.Add(updatePause - since)
		u.mu.Unlock()
		if !closed {
			tell(uri)
		}
	})
}

// close has nothing told any more.
func (u *updatePacer) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed = true
}
