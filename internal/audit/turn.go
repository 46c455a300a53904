package audit

import (
	"runtime"
	"slices"
	"sync"

	junctor "github.com/junctor-mcp/junctor"
)

const (
	// maxRounds is how often a caller writes what others have brought meanwhile,
	// before one of them has to do it.
	maxRounds = 4
	// maxAlone is how often in a row nobody comes to share a write before others are
	// no longer waited for, and askAgain how many writes later they are, once.
	maxAlone, askAgain = 4, 64
)

// note is a record that is to be written.
type note struct {
	call *junctor.Call
	said encoder // of the call
	seq  uint64  // once it is written
	err  error
	told chan bool // holds one: whether it was written, or its caller is to write
}

// turn lets one caller write at a time: its own note, and then those of all who
// came meanwhile. A mutex would be handed from one to the next, whether that one
// runs or not. Where the processors are busy each has to wait for one with the
// mutex in its hands, and all others wait for all of them: milliseconds for what
// takes microseconds.
type turn struct {
	mu      sync.Mutex // never held while anything is written
	taken   bool
	waiting []*note
	others  []*note // that are being written; of the one whose turn it is
	alone   int     // how often nobody came to share a write, in a row; likewise
}

// wait gives the turn to a note, or comes back when another has written it.
func (t *turn) wait(n *note) (mine bool) {
	t.mu.Lock()
	if !t.taken {
		t.taken = true
		t.mu.Unlock()
		return true
	}
	t.waiting = append(t.waiting, n)
	t.mu.Unlock()
	return !<-n.told
}

// gather gives a note whose turn it is, and those that came with it: while many
// call, others who are about to write are let come first.
func (t *turn) gather(n *note) []*note {
	if t.alone < maxAlone || t.alone%askAgain == 0 {
		runtime.Gosched()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.others = append(append(t.others[:0], n), t.waiting...)
	clear(t.waiting)
	t.waiting = t.waiting[:0]
	if t.alone++; len(t.others) > 1 {
		t.alone = 0
	}
	return t.others
}

// meanwhile gives the notes that have come since the last time; with none, the turn
// is over.
func (t *turn) meanwhile() []*note {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.others)
	t.waiting, t.others = t.others[:0], t.waiting
	t.taken = len(t.others) > 0
	return t.others
}

// pass ends the turn: it is the next one's.
func (t *turn) pass() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.taken = len(t.waiting) > 0; t.taken {
		t.waiting[0].told <- false
		t.waiting = slices.Delete(t.waiting, 0, 1)
	}
}

// write writes a note, and perhaps others.
func (j *Journal) write(n *note) {
	if !j.turn.wait(n) {
		return
	}
	j.writeAll(j.turn.gather(n), n)
	for range maxRounds {
		others := j.turn.meanwhile()
		if len(others) == 0 {
			return
		}
		j.writeAll(others, n)
	}
	j.turn.pass()
}

// writeAll writes notes, and tells all but one of them.
func (j *Journal) writeAll(notes []*note, mine *note) {
	j.mu.Lock()
	j.append(notes)
	j.mu.Unlock()
	for _, n := range notes {
		if n != mine {
			n.told <- true
		}
	}
}
