package audit

import (
	"runtime"
	"slices"
	"sync"

	junctor "github.com/junctor-mcp/junctor"
)

const (
	// maxBatchesPerWriter is how many batches of other callers one caller writes
	// before another has to take over. Without it, one caller could write for
	// ever while its own answer waits.
	maxBatchesPerWriter = 4
	// maxSoloWrites is how many writes in a row may have a single record before
	// the writer stops yielding to other callers. yieldEvery is how many writes
	// later it yields again, once.
	maxSoloWrites, yieldEvery = 4, 64
)

// pendingRecord is a record that waits to be written. Its caller owns it; while
// it is in the queue, the writer owns it.
type pendingRecord struct {
	call *junctor.Call // nil if the record is about a change
	// The members of the call or change, already encoded.
	body encoder
	seq  uint64 // its number, once it is written
	err  error  // why it was not written
	// Holds one value: true if the record was handled, false if its caller has
	// to write.
	written chan bool
}

// phase returns the phase of the record.
func (n *pendingRecord) phase() Phase {
	if n.call == nil {
		return PhaseChange
	}
	return phaseOf(n.call)
}

// writeQueue lets one caller write at a time: its own record, and then the
// records of all callers that arrived meanwhile.
//
// A mutex would be passed from caller to caller, whether the next one has a
// processor or not. On a busy machine each caller would wait for a processor
// while it holds the mutex, and all others would wait for all of them:
// milliseconds for a task of microseconds.
type writeQueue struct {
	// Never held while records are written.
	mu        sync.Mutex
	hasWriter bool             // a caller is writing
	waiting   []*pendingRecord // records of callers that wait
	// Records that are being written; only the writer uses it.
	batch []*pendingRecord
	// How many batches in a row had one record; only the writer uses it.
	soloWrites int
}

// enqueue makes the caller the writer, or waits until another caller has handled
// its record. If it returns true, the caller must write n and then call nextBatch
// or handOver.
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

// firstBatch returns the writer's own record and the records that are waiting.
// While many callers share writes, it first yields the processor, so that more
// records join the batch.
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

// nextBatch returns the records that arrived since the last batch. If there are
// none, the caller is no longer the writer.
func (q *writeQueue) nextBatch() []*pendingRecord {
	q.mu.Lock()
	defer q.mu.Unlock()
	clear(q.batch)
	q.waiting, q.batch = q.batch[:0], q.waiting
	q.hasWriter = len(q.batch) > 0
	return q.batch
}

// handOver ends the caller's time as the writer. The first caller that waits
// becomes the writer.
func (q *writeQueue) handOver() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.hasWriter = len(q.waiting) > 0; q.hasWriter {
		q.waiting[0].written <- false
		q.waiting = slices.Delete(q.waiting, 0, 1)
	}
}

// writeRecord writes a record, and perhaps the records of other callers. The
// result is in n.seq and n.err.
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

// writeBatch writes a batch and wakes the callers of all its records but mine.
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
