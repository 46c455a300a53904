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
	rereadPause = time.Second
	rereadStorm = 5
	maxReread   = 30 * time.Second
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

// rereads paces how often lists are read again.
type rereads struct {
	last time.Time // when they were read last because of a change
	row  int       // how often in a row
}

// pause is the least time between the last reading and the next.
func (r *rereads) pause() time.Duration {
	if r.row == 0 {
		return 0
	}
	return min(rereadPause<<min(max(r.row-rereadStorm, 0), 5), maxReread)
}

// wait gives how long to wait until the lists may be read again.
func (r *rereads) wait(now time.Time) time.Duration {
	if now.Sub(r.last) > r.pause()+rereadCalm {
		r.row = 0
	}
	return max(r.pause()-now.Sub(r.last), settle)
}

// done notes that they were read.
func (r *rereads) done(now time.Time) {
	r.last = now
	r.row++
}

// limits bounds what all links of a server may cost together.
type limits struct {
	now func() time.Time

	mu     sync.Mutex
	notes  float64 // that may be read at once
	filled time.Time
	warned map[string]*warning
}

type warning struct {
	at      time.Time
	skipped int
}

func newLimits(now func() time.Time) *limits {
	return &limits{now: now, notes: noteBurst, filled: now(), warned: map[string]*warning{}}
}

// note takes one message that nobody asked for, and waits where there are too many: whoever reads
// the connection waits with it.
func (l *limits) note() {
	if l == nil {
		return
	}
	if wait := l.take(); wait > 0 {
		time.Sleep(wait)
	}
}

func (l *limits) take() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if d := now.Sub(l.filled); d > 0 {
		l.notes = min(l.notes+d.Seconds()*noteRate, noteBurst)
	}
	l.filled = now
	l.notes--
	if l.notes >= 0 {
		return 0
	}
	l.notes = max(l.notes, -noteRate/50)
	return min(time.Duration(-l.notes/noteRate*float64(time.Second)), time.Second/50)
}

// warn logs a constant message once in a window, with how often it was left out
// since, and says whether it did.
func (l *limits) warn(log *slog.Logger, message string, args ...any) bool {
	if l == nil {
		log.Warn(message, args...) //nolint:sloglint // every caller gives a constant
		return true
	}
	l.mu.Lock()
	w := l.warned[message]
	if w == nil {
		w = &warning{}
		l.warned[message] = w
	}
	now := l.now()
	if !w.at.IsZero() && now.Sub(w.at) < warnWindow {
		w.skipped++
		l.mu.Unlock()
		return false
	}
	skipped := w.skipped
	w.at, w.skipped = now, 0
	l.mu.Unlock()
	if skipped > 0 {
		args = append(args, "not_logged", skipped)
	}
	log.Warn(message, args...) //nolint:sloglint // every caller gives a constant
	return true
}

// updates passes on that resources changed: of each at most one in updatePause, and
// always the last.
type updates struct {
	mu     sync.Mutex
	told   map[string]time.Time // when each was told of last, while that counts
	waits  map[string]bool      // will be told of
	closed bool
}

// add takes that a resource changed. tell is called now, or later by a timer.
func (u *updates) add(uri string, now time.Time, tell func(uri string)) {
	u.mu.Lock()
	if u.told == nil {
		u.told, u.waits = map[string]time.Time{}, map[string]bool{}
	}
	since := now.Sub(u.told[uri])
	if u.waits[uri] || u.closed {
		u.mu.Unlock()
		return
	}
	if since >= updatePause {
		for other, at := range u.told { // what is over is forgotten
			if now.Sub(at) >= updatePause {
				delete(u.told, other)
			}
		}
		u.told[uri] = now
		u.mu.Unlock()
		tell(uri)
		return
	}
	u.waits[uri] = true
	u.mu.Unlock()
	time.AfterFunc(updatePause-since, func() {
		u.mu.Lock()
		delete(u.waits, uri)
		closed := u.closed
		u.told[uri] = now.Add(updatePause - since)
		u.mu.Unlock()
		if !closed {
			tell(uri)
		}
	})
}

// close has nothing told any more.
func (u *updates) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed = true
}
