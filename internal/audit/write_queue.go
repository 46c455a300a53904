package audit

import (
	"runtime"
	"slices"
	"sync"

	junctor "github.com/junctor-mcp/junctor"
)

const (
	// maxBatchesPerWriter is how often a caller writes what others have brought meanwhile,
	// before one of them has to do it.
	maxBatchesPerWriter = 4
	// maxSoloWrites is how often in a row nobody comes to share a write before others are
	// no longer waited for, and askAgain how many writes later they are, once.
	maxSoloWrites, yieldEvery = 4, 64
)

// pendingRecord is a record that is to be written.
type pendingRecord struct {
	call    *junctor.Call
	body    encoder // of the call
	seq     uint64  // once it is written
	err     error
	written chan bool // holds one: whether it was written, or its caller is to write
}

// writeQueue lets one caller write at a time: its own note, and then those of all who
// came meanwhile. A mutex would be handed from one to the next, whether that one
// runs or not. Where the processors are busy each has to wait for one with the
// mutex in its hands, and all others wait for all of them: milliseconds for what
// takes microseconds.
type writeQueue struct {
	mu         sync.Mutex // never held while anything is written
	hasWriter  bool
	waiting    []*pendingRecord
	batch      []*pendingRecord // that are being written; of the one whose turn it is
	soloWrites int              // how often nobody came to share a write, in a row; likewise
}

// enqueue gives the turn to a note, or comes back when another has written it.
func (q *writeQueue) enqueue(n *pendingRecord) (mine bool) {
	q.mu.Lock()
	if !q.hasWriter {
		q.hasWriter = true
		q.mu.Unlock()
		return true
	}
	q.waiting = append(q.waiting, n)
	q.mu.Unlock()
	return !<-n.written
}

// firstBatch gives a note whose turn it is, and those that came with it: while many
// call, others who are about to write are let come first.
func (q *writeQueue) firstBatch(n *pendingRecord) []*pendingRecord {
	if q.soloWrites < maxSoloWrites || q.soloWrites%yieldEvery == 0 {
		runtime.Gosched()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.batch = append(append(q.batch[:0], n), q.waiting...)
	clear(q.waiting)
	q.waiting = q.waiting[:0]
	if q.soloWrites++; len(q.batch) > 1 {
		q.soloWrites = 0
	}
	return q.batch
}

// nextBatch gives the notes that have come since the last time; with none, the turn
// is over.
func (q *writeQueue) nextBatch() []*pendingRecord {
	q.mu.Lock()
	defer q.mu.Unlock()
	clear(q.batch)
	q.waiting, q.batch = q.batch[:0], q.waiting
	q.hasWriter = len(q.batch) > 0
	return q.batch
}

// handOver ends the turn: it is the next one's.
func (q *writeQueue) handOver() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.hasWriter = len(q.waiting) > 0; q.hasWriter {
		q.waiting[0].written <- false
		q.waiting = slices.Delete(q.waiting, 0, 1)
	}
}

// writeRecord writes a note, and perhaps others.
func (j *Journal) writeRecord(n *pendingRecord) {
	if !j.writeQueue.enqueue(n) {
		return
	}
	j.writeBatch(j.writeQueue.firstBatch(n), n)
	for range maxBatchesPerWriter {
		others := j.writeQueue.nextBatch()
		if len(others) == 0 {
			return
		}
		j.writeBatch(others, n)
	}
	j.writeQueue.handOver()
}

// writeBatch writes notes, and tells all but one of them.
func (j *Journal) writeBatch(batch []*pendingRecord, mine *pendingRecord) {
	j.mu.Lock()
	j.appendBatch(batch)
	j.mu.Unlock()
	for _, n := range batch {
		if n != mine {
			n.written <- true
		}
	}
}
