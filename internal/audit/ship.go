package audit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"
	"unsafe"
)

// Shipper copies records to a store that is not under the control of the
// journal's folder. internal/store implements it.
type Shipper interface {
	// Shipped returns the number of the last record of a replica that the copy has;
	// 0 for none.
	LastShipped(ctx context.Context, replica string) (uint64, error)
	// Ship adds records of one replica, in order: all of them or none. A record that
	// the copy already has, with the same hash, is no error. Ship is called for
	// one batch at a time. It must not keep the slice or its texts, which are
	// reused.
	Ship(ctx context.Context, records []Record) error
}

// Pruner is a Shipper whose copy follows the journal's retention. When a
// checkpoint was signed, the journal calls Prune to remove the records up to it.
type Pruner interface {
	// Prune removes the records of a replica up to and including upTo.
	Prune(ctx context.Context, replica string, upTo uint64) error
}

const (
	shipBatch = 512 // records per batch
	// Records per batch while calls arrive.
	shipBusyBatch = 128
	// How long more records are collected.
	shipInterval = 50 * time.Millisecond
	// The first pause after a failure; each further one is twice as long.
	shipMinBackoff = 100 * time.Millisecond
	shipMaxBackoff = 30 * time.Second // the longest pause after a failure
	shipTimeout    = 30 * time.Second // for one batch
	// Bytes of a batch's text that are kept for the next.
	maxKeptShipText = 1 << 20
	// The longest pause between two batches.
	shipMaxRest = time.Second
	// How often that pause checks whether calls still arrive.
	shipPollInterval = 20 * time.Millisecond
	// While calls arrive, copying uses at most 1/64 of the processors.
	shipCPUShare = 64
)

// shipRecords copies records until the journal is closed. No call waits for it.
// After a failure it asks the copy again how far it is, with growing pauses.
func (j *Journal) shipRecords() {
	ctx := j.lifeCtx
	var t *recordTail
	defer func() { t.close() }()
	back := shipMinBackoff
	for {
		var err error
		if t == nil {
			t, err = j.openShipTail(ctx)
		}
		if err == nil {
			err = j.shipWritten(ctx, t)
		}
		if ctx.Err() != nil {
			return
		}
		if j.setProblem(problemShip, err) {
			if err != nil {
				j.options.Logger.Warn("cannot copy journal records to the database; they are kept and copied later", "error", err)
			} else {
				j.options.Logger.Info("journal records are copied to the database again")
			}
		}
		if err != nil {
			t.close()
			t = nil
			if !waitFor(ctx, back) {
				return
			}
			back = min(2*back, shipMaxBackoff)
			continue
		}
		back = shipMinBackoff
		select {
		case <-ctx.Done():
			return
		case <-j.shipWake:
		}
		if !waitFor(ctx, shipInterval) { // collects more records for the batch
			return
		}
	}
}

// waitFor waits for d; it returns false if ctx ends first.
func waitFor(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// openShipTail asks how far the copy is and returns a reader of the records that
// follow. The caller closes it.
func (j *Journal) openShipTail(ctx context.Context) (*recordTail, error) {
	ctx, cancel := context.WithTimeout(ctx, shipTimeout)
	defer cancel()
	if _, err := j.compareLate(ctx); err != nil {
		return nil, err
	}
	at, err := j.options.Shipper.LastShipped(ctx, j.options.Replica)
	if err != nil {
		return nil, err
	}
	j.mu.Lock()
	seq := j.seq
	j.mu.Unlock()
	if at > seq {
		return nil, fmt.Errorf("the copy has records up to %d, the journal of replica %s ends at %d: another journal used this name, or this one is an old copy; give this replica a name of its own", at, j.options.Replica, seq)
	}
	j.headMu.Lock()
	had := j.head.Shipped
	j.headMu.Unlock()
	if at < had {
		j.options.Logger.Warn("the database lost journal records; copying them again", "had", had, "has", at)
	}
	if err := j.compareCopy(ctx); err != nil {
		return nil, err
	}
	j.shippedSeq.Store(at)
	j.shippedKnown.Store(true)
	return &recordTail{dir: j.options.Dir, nextSeq: at + 1, batch: make([]Record, 0, shipBatch)}, nil
}

// compareCopy checks that the copy's last record is the journal's own, if the
// journal still has it. Records of another history must not follow it.
func (j *Journal) compareCopy(ctx context.Context) error {
	w := j.asWitness()
	if w == nil {
		return nil
	}
	known, err := w.LoadKnown(ctx, j.options.Replica)
	if err != nil || known.CopiedSeq == 0 {
		return err
	}
	t := &recordTail{dir: j.options.Dir, nextSeq: known.CopiedSeq}
	defer t.close()
	mine, err := t.readBatch(known.CopiedSeq, 1)
	if err == nil && len(mine) == 1 && mine[0].Hash != known.CopiedHash {
		err = fmt.Errorf("record %d of replica %s differs in the copy: the journal or the copy was replaced; run junctor audit verify", known.CopiedSeq, j.options.Replica)
	}
	return err
}

// shipWritten copies all records that were written by now. It syncs them first: a
// copy must not know records that a power cut takes from the journal.
func (j *Journal) shipWritten(ctx context.Context, t *recordTail) error {
	m, err := j.flushWritten()
	if err != nil {
		return err
	}
	// Batches are small while calls arrive, so that no call waits long for a processor.
	for size := shipBusyBatch; t.nextSeq <= m.seq; {
		begin, seq := time.Now(), j.lastSeq()
		batch, err := t.readBatch(m.seq, size)
		if err != nil || len(batch) == 0 {
			return err
		}
		runtime.Gosched() // for the same reason
		sctx, cancel := context.WithTimeout(ctx, shipTimeout)
		err = j.options.Shipper.Ship(sctx, batch)
		cancel()
		if err != nil {
			return err
		}
		j.shippedSeq.Store(batch[len(batch)-1].Seq)
		if size = shipBatch; j.lastSeq() != seq {
			size = shipBusyBatch
		}
		if !j.yieldToCalls(ctx, seq, restDuration(time.Since(begin), runtime.GOMAXPROCS(0))) {
			return ctx.Err()
		}
	}
	return nil
}

// restDuration returns how long to leave the processors to calls after a batch
// that took so long. Calls matter more than their copy, which catches up when
// fewer calls arrive.
func restDuration(took time.Duration, processors int) time.Duration {
	return min(took*time.Duration(max(shipCPUShare-processors, 0))/time.Duration(processors), shipMaxRest)
}

// yieldToCalls waits for the given time, but stops as soon as no record has
// arrived since seq. It returns false if ctx ends.
func (j *Journal) yieldToCalls(ctx context.Context, seq uint64, left time.Duration) bool {
	for now := j.lastSeq(); now != seq && left > 0; now = j.lastSeq() {
		if !waitFor(ctx, min(left, shipPollInterval)) {
			return false
		}
		seq, left = now, left-shipPollInterval
	}
	return ctx.Err() == nil
}

// lastSeq returns the number of the last record that was written.
func (j *Journal) lastSeq() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.seq
}

// shipRemaining copies the records that are left, with a single attempt.
func (j *Journal) shipRemaining(ctx context.Context) {
	t, err := j.openShipTail(ctx)
	if err == nil {
		err = j.shipWritten(ctx, t)
	}
	t.close()
	if err != nil {
		j.options.Logger.Warn("last journal records were not copied to the database; they are copied at the next start", "error", err)
	}
}

// recordTail reads records from a number on, while the journal is being written.
// It is used by one goroutine. Its zero value with dir and nextSeq is ready;
// close it.
type recordTail struct {
	dir     string
	nextSeq uint64
	segment segment
	file    *os.File
	lines   *lineReader
	batch   []Record
	// The line being read; kept to reuse its memory.
	line      line
	batchText []byte // the texts of the batch
}

// close closes the open segment. A nil tail is allowed, and the tail can be used
// again.
func (t *recordTail) close() {
	if t != nil && t.file != nil {
		t.file.Close()
		t.file = nil
	}
}

// readBatch returns up to n records, none above upTo. They are valid until the
// next call. Lines that are not records are skipped; Verify reports them.
func (t *recordTail) readBatch(upTo uint64, n int) ([]Record, error) {
	if cap(t.batchText) > maxKeptShipText {
		t.batchText = nil
	}
	t.batch, t.batchText = t.batch[:0], t.batchText[:0]
	for len(t.batch) < n && t.nextSeq <= upTo {
		if t.file == nil {
			if more, err := t.openSegment(); err != nil || !more {
				return t.batch, err
			}
		}
		if t.lines.hasPartialLine() {
			// The bytes were read while the line was being written. If that write failed,
			// it was taken back, and other bytes are in its place: read them again.
			if err := t.switchTo(t.segment, t.lines.offset); err != nil {
				return t.batch, err
			}
		}
		off := t.lines.offset
		b, err := t.lines.next()
		switch {
		case err == nil:
			used := len(t.batchText)
			r, err := t.parseRecord(b)
			if err != nil || r.Seq < t.nextSeq {
				t.batchText = t.batchText[:used]
				continue
			}
			if r.Seq > upTo { // a gap: keep this record for the next call
				return t.batch, t.switchTo(t.segment, off)
			}
			t.batch = append(t.batch, r)
			t.nextSeq = r.Seq + 1
		case errors.Is(err, io.EOF) || errors.Is(err, errTornLine):
			// The file may have grown, or a new segment may have been begun.
			more, err := t.advanceSegment()
			if err != nil || !more {
				return t.batch, err
			}
		case errors.Is(err, errMalformedLine):
		default:
			return nil, err
		}
	}
	return t.batch, nil
}

// parseRecord parses only what a copy needs: no columns. The texts are parts of
// batchText, not copies. If batchText has to grow, earlier records keep its
// former memory.
func (t *recordTail) parseRecord(b []byte) (r Record, err error) {
	if t.line, err = splitLine(b); err != nil {
		return Record{}, err
	}
	at := len(t.batchText)
	t.batchText = append(t.batchText, b...)
	whole := unsafe.String(&t.batchText[at], len(b)) //nolint:gosec // a line is not empty, and does not change before the next batch
	t.line.jsonText = whole[hashPrefixSize:]
	if !t.line.scanSeqAndReplica(t.line.jsonText) {
		if err := t.line.parse(); err != nil {
			return Record{}, err
		}
	}
	return Record{Replica: t.line.Replica, Seq: t.line.Seq, Hash: whole[:hexSize], JSON: t.line.jsonText}, nil
}

// openSegment opens the segment that holds the next record or, if it was removed,
// the first later one. It returns false if there are no segments.
func (t *recordTail) openSegment() (bool, error) {
	segs, err := listSegments(t.dir)
	if err != nil || len(segs) == 0 {
		return false, err
	}
	pick := segs[0]
	for _, s := range segs {
		if s.first <= t.nextSeq {
			pick = s
		}
	}
	return true, t.switchTo(pick, 0)
}

// switchTo continues in a segment at an offset.
func (t *recordTail) switchTo(s segment, off int64) error {
	t.close()
	f, err := os.Open(s.path)
	if err != nil {
		return err
	}
	if _, err := f.Seek(off, io.SeekStart); err != nil {
		f.Close()
		return err
	}
	t.segment, t.file = s, f
	if t.lines == nil {
		t.lines = newLineReader(f, off)
	} else {
		t.lines.reset(f, off)
	}
	return nil
}

// advanceSegment is called when the open file has no more complete lines. The
// records that are wanted are on disk by then: after the offset that was read, or
// in a later segment. It returns false if there are no more.
func (t *recordTail) advanceSegment() (bool, error) {
	info, err := t.file.Stat()
	if err != nil {
		return false, err
	}
	if off := t.lines.offset; info.Size() > off && t.lines.tornBytes != info.Size()-off {
		return true, t.switchTo(t.segment, off)
	}
	segs, err := listSegments(t.dir)
	if err != nil {
		return false, err
	}
	for _, s := range segs {
		if s.first > t.segment.first {
			return true, t.switchTo(s, 0)
		}
	}
	return false, nil
}
