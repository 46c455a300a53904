package upstream

import (
	"log/slog"
	"sync"
	"time"
)

// A server decides how many messages it sends by itself. This file bounds what that
// costs: how often lists are read again, how many such messages are handled in a second,
// and how often one warning is logged.

const (
	// rereadPause is the shortest time between two readings of lists that the server says
	// have changed. After rereadStreak readings in a row it doubles each time, up to
	// maxRereadPause.
	rereadPause    = time.Second
	rereadStreak   = 5
	maxRereadPause = 30 * time.Second
	// rereadCalm is how long after the pause a server must be quiet for its next change
	// to be read at once.
	rereadCalm = 5 * time.Second

	// noteBurst messages of a server are handled as fast as they come, then noteRate in a
	// second. Notifications, requests and answers to nothing count. The reader then
	// waits, the connection fills up, and the server has to wait.
	noteBurst = 2000
	noteRate  = 500

	// warnWindow is the time in which a warning is not repeated.
	warnWindow = 10 * time.Second
	// updatePause is the shortest time between two notifications that a resource changed.
	updatePause = time.Second
)

// rereadPacer decides when lists are read again. One goroutine uses it.
type rereadPacer struct {
	last   time.Time // when lists were last read because of a change
	streak int       // readings in a row
}

// minPause is the shortest time between the last reading and the next.
func (r *rereadPacer) minPause() time.Duration {
	if r.streak == 0 {
		return 0
	}
	return min(rereadPause<<min(max(r.streak-rereadStreak, 0), 5), maxRereadPause)
}

// nextWait gives the time to wait before the lists may be read again.
func (r *rereadPacer) nextWait(now time.Time) time.Duration {
	if now.Sub(r.last) > r.minPause()+rereadCalm {
		r.streak = 0
	}
	return max(r.minPause()-now.Sub(r.last), listSettleTime)
}

// recordRead records that the lists were read.
func (r *rereadPacer) recordRead(now time.Time) {
	r.last = now
	r.streak++
}

// serverLimits bounds the costs of all links of a server together. A nil value has no
// limits.
type serverLimits struct {
	now func() time.Time

	mu         sync.Mutex
	noteTokens float64 // messages that may be handled at once; negative is a debt
	refilledAt time.Time
	warnings   map[string]*warning // by message
}

// warning is when a message was last logged, and how often it was left out since.
type warning struct {
	loggedAt time.Time
	skipped  int
}

// newServerLimits makes limits with a full burst.
func newServerLimits(now func() time.Time) *serverLimits {
	return &serverLimits{now: now, noteTokens: noteBurst, refilledAt: now(), warnings: map[string]*warning{}}
}

// paceMessage counts one message that nobody asked for, and sleeps if there are too many.
// The reader of the connection calls it, so the server has to wait as well.
func (l *serverLimits) paceMessage() {
	if l == nil {
		return
	}
	if wait := l.takeToken(); wait > 0 {
		time.Sleep(wait)
	}
}

// takeToken takes one token and gives the time to sleep. The debt is bounded, so that a
// burst does not block a connection for long.
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

// warnOnce logs a constant message once in a window, with the number of those left out
// since. It reports whether it logged.
func (l *serverLimits) warnOnce(log *slog.Logger, message string, args ...any) bool {
	if l == nil {
		log.Warn(message, args...) //nolint:sloglint // all callers give a constant
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
	log.Warn(message, args...) //nolint:sloglint // all callers give a constant
	return true
}

// updatePacer passes on that resources changed: each at most once in updatePause, and
// always after the last change.
type updatePacer struct {
	mu        sync.Mutex
	lastSent  map[string]time.Time // by URI, while that counts
	scheduled map[string]bool      // a timer will send these
	closed    bool
}

// addUpdate records that a resource changed. It calls tell now, or later from a timer.
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
		for other, at := range u.lastSent { // old entries have no effect any more
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

// close ends all notifications, including scheduled ones.
func (u *updatePacer) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed = true
}
