package audit

import (
	"slices"
	"sync"

	junctor "github.com/junctor-mcp/junctor"
)

// maxRounds is how often a caller writes what others have brought meanwhile, before
// one of them has to do it.
const maxRounds = 4

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
	j.writeNow(n)
	for range maxRounds {
		others := j.turn.meanwhile()
		if len(others) == 0 {
			return
		}
		for _, other := range others {
			j.writeNow(other)
			other.told <- true
		}
	}
	j.turn.pass()
}

func (j *Journal) writeNow(n *note) {
	j.mu.Lock()
	defer j.mu.Unlock()
	n.err = j.append(n.call, n.said.buf)
	n.seq = j.seq
}
