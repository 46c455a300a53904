package audit

import (
	"context"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// EndedCall is a call that ended or was refused, as its record describes it.
type EndedCall struct {
	Seq  uint64    // number of the record
	Time time.Time // of the record, in whole microseconds
	Call junctor.Call
}

// maxFeedCalls is how many ended calls wait in memory for a follower. A follower that is
// further behind reads them from the segments.
const maxFeedCalls = 8192

// followBatch is how many records a follower reads from the segments at once.
const followBatch = 512

// callFeed hands ended calls from the writer to a follower, in the order of their
// records. It keeps nothing until it is started.
type callFeed struct {
	mu      sync.Mutex
	started bool
	// All ended calls whose records follow completeAfter.
	calls         []EndedCall
	completeAfter uint64
	seq           uint64        // the last record that was written
	ready         chan struct{} // holds a value if records were written since the last take
}

// addBatch notes the records of a batch that was written at a time. The caller holds
// Journal.mu, so batches arrive in the order of their records.
func (f *callFeed) addBatch(batch []*pendingRecord, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.started {
		return
	}
	for _, n := range batch {
		f.seq = n.seq
		switch {
		case n.call.Status == junctor.StatusRunning:
		case len(f.calls) == maxFeedCalls: // the follower reads all of them from the segments
			clear(f.calls)
			f.calls, f.completeAfter = f.calls[:0], n.seq
		default:
			f.calls = append(f.calls, EndedCall{Seq: n.seq, Time: now, Call: *n.call})
		}
	}
	signalChannel(f.ready)
}

// take moves all calls to the end of into, if none of them between after and the present is
// missing. If some are, it returns false and the number of the record up to which they have
// to be read from the segments.
func (f *callFeed) take(into []EndedCall, after uint64) (calls []EndedCall, upTo uint64, whole bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if after < f.completeAfter {
		return into, f.completeAfter, false
	}
	calls = append(into, f.calls...)
	clear(f.calls)
	f.calls, f.completeAfter = f.calls[:0], f.seq
	return calls, f.seq, true
}

// Follower reads the calls of a journal that ended, in the order of their records and each
// once. It is for one goroutine, and a journal has one at a time.
type Follower struct {
	journal *Journal
	tail    *recordTail // nil while the follower reads from memory
	seq     uint64      // the last record that Next covered
	calls   []EndedCall
}

// Follow returns a follower of the calls whose records come after a number. The caller
// closes it. If the journal ends before that record, because a power cut took its last
// ones, the follower begins at the end.
func (j *Journal) Follow(after uint64) *Follower {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.feed.mu.Lock()
	defer j.feed.mu.Unlock()
	j.feed.started, j.feed.seq, j.feed.completeAfter, j.feed.calls = true, j.seq, j.seq, nil
	return &Follower{journal: j, seq: min(after, j.seq)}
}

// Close ends the follower.
func (f *Follower) Close() {
	f.tail.close()
	f.journal.feed.mu.Lock()
	defer f.journal.feed.mu.Unlock()
	f.journal.feed.started, f.journal.feed.calls = false, nil
}

// Wait waits until there are records that Next did not cover, or until ctx ends.
func (f *Follower) Wait(ctx context.Context) error {
	for f.seq >= f.journal.lastSeq() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-f.journal.feed.ready:
		}
	}
	return ctx.Err()
}

// Next returns the next calls that ended, and the number of the last record that they
// cover. It does not wait: there may be no calls, and the number grows even so, because half
// of the records begin a call. The calls are valid until the following Next.
func (f *Follower) Next() (calls []EndedCall, upTo uint64, err error) {
	clear(f.calls)
	var whole bool
	if f.calls, upTo, whole = f.journal.feed.take(f.calls[:0], f.seq); whole {
		f.tail.close()
		f.tail, f.seq = nil, upTo
		return f.calls, f.seq, nil
	}
	if err := f.readSegments(upTo); err != nil {
		return nil, f.seq, err
	}
	return f.calls, f.seq, nil
}

// readSegments reads one batch of records, none above upTo.
func (f *Follower) readSegments(upTo uint64) error {
	if f.tail == nil {
		f.tail = &recordTail{dir: f.journal.options.Dir, nextSeq: f.seq + 1, batch: make([]Record, 0, followBatch)}
	}
	records, err := f.tail.readBatch(upTo, followBatch)
	if err != nil {
		f.tail.close()
		f.tail = nil
		return err
	}
	for i := range records {
		// The texts of a record are reused; those of a call are not.
		l, err := parseLine([]byte(records[i].Hash + " " + records[i].JSON))
		if err == nil && l.Call != "" && (l.Phase == PhaseEnd || l.Phase == PhaseRefuse) {
			f.calls = append(f.calls, EndedCall{Seq: l.Seq, Time: l.Time, Call: l.toCall()})
		}
	}
	f.seq = upTo // what is not there was removed, or is no record: nobody will read it
	if len(records) == followBatch {
		f.seq = records[len(records)-1].Seq
	}
	return nil
}
