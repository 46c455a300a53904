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

// Shipper copies records to where another hand than the journal's keeps them.
type Shipper interface {
	// Shipped is the number of the last record of a node that the copy has; 0
	// for none.
	Shipped(ctx context.Context, node string) (uint64, error)
	// Ship adds records, of one node and in order: all of them or none. One that
	// the copy has already, with the same hash, is no error. It is called for one
	// batch at a time, and keeps nothing of it: slice and texts are used again.
	Ship(ctx context.Context, records []Record) error
}

// Pruner is a Shipper whose copy follows the journal's retention: it is told
// when a checkpoint was signed, and removes records up to it.
type Pruner interface {
	Prune(ctx context.Context, node string, upTo uint64) error
}

const (
	shipBatch  = 512 // records
	shipBusy   = 128 // and while calls come
	shipEvery  = 50 * time.Millisecond
	shipBack   = 100 * time.Millisecond // the first pause after a failure; then twice as long each time
	shipLonger = 30 * time.Second       // but not above this
	shipTime   = 30 * time.Second       // for one batch
	shipText   = 1 << 20                // of a batch's texts are kept for the next
	shipPause  = time.Second            // the longest pause between two batches
	shipLook   = 20 * time.Millisecond  // and how often it is seen whether calls still come
	shipShare  = 64                     // while calls come, copying takes one of so many parts of the processors
)

// ship copies records as long as the journal is open. No call waits for it.
func (j *Journal) ship() {
	ctx := j.lifeCtx
	var t *tail
	defer func() { t.close() }()
	back := shipBack
	for {
		var err error
		if t == nil {
			t, err = j.shipStart(ctx)
		}
		if err == nil {
			err = j.shipRound(ctx, t)
		}
		if ctx.Err() != nil {
			return
		}
		if j.setProblem(problemShip, err) {
			if err != nil {
				j.options.Logger.Warn("records of the journal cannot be copied; they are kept and copied later", "error", err)
			} else {
				j.options.Logger.Info("records of the journal are copied again")
			}
		}
		if err != nil {
			t.close()
			t = nil
			if !pause(ctx, back) {
				return
			}
			back = min(2*back, shipLonger)
			continue
		}
		back = shipBack
		select {
		case <-ctx.Done():
			return
		case <-j.shipWake:
		}
		if !pause(ctx, shipEvery) { // more come meanwhile
			return
		}
	}
}

func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// shipStart asks how far the copy is and goes there.
func (j *Journal) shipStart(ctx context.Context) (*tail, error) {
	ctx, cancel := context.WithTimeout(ctx, shipTime)
	defer cancel()
	if _, err := j.compareLate(ctx); err != nil {
		return nil, err
	}
	at, err := j.options.Ship.Shipped(ctx, j.options.Node)
	if err != nil {
		return nil, err
	}
	j.mu.Lock()
	seq := j.seq
	j.mu.Unlock()
	if at > seq {
		return nil, fmt.Errorf("the copy has records up to %d, the journal of node %s ends at %d: another journal used this name, or this one is an old copy; give this node a name of its own", at, j.options.Node, seq)
	}
	j.headMu.Lock()
	had := j.head.Shipped
	j.headMu.Unlock()
	if at < had {
		j.options.Logger.Warn("the copy of the journal has lost records; they are copied again", "had", had, "has", at)
	}
	if err := j.compareCopy(ctx); err != nil {
		return nil, err
	}
	j.shippedSeq.Store(at)
	j.shippedKnown.Store(true)
	return &tail{dir: j.options.Dir, next: at + 1, batch: make([]Record, 0, shipBatch)}, nil
}

// compareCopy wants the copy's last record to be the journal's own, where that is
// still here: records of another history must not follow it.
func (j *Journal) compareCopy(ctx context.Context) error {
	w := j.asWitness()
	if w == nil {
		return nil
	}
	known, err := w.Known(ctx, j.options.Node)
	if err != nil || known.Copied == 0 {
		return err
	}
	t := &tail{dir: j.options.Dir, next: known.Copied}
	defer t.close()
	mine, err := t.read(known.Copied, 1)
	if err == nil && len(mine) == 1 && mine[0].Hash != known.CopiedHash {
		err = fmt.Errorf("record %d of node %s is another one in the copy: the journal or the copy was replaced; run junctor audit verify", known.Copied, j.options.Node)
	}
	return err
}

// shipRound copies all that was written by now. It is on disk first: a copy
// must not know records that a power cut takes from the journal.
func (j *Journal) shipRound(ctx context.Context, t *tail) error {
	m, err := j.flushWritten()
	if err != nil {
		return err
	}
	// Small batches while calls come: none of them should wait long for a processor.
	for size := shipBusy; t.next <= m.seq; {
		begin, seq := time.Now(), j.last()
		batch, err := t.read(m.seq, size)
		if err != nil || len(batch) == 0 {
			return err
		}
		runtime.Gosched() // likewise
		sctx, cancel := context.WithTimeout(ctx, shipTime)
		err = j.options.Ship.Ship(sctx, batch)
		cancel()
		if err != nil {
			return err
		}
		j.shippedSeq.Store(batch[len(batch)-1].Seq)
		if size = shipBatch; j.last() != seq {
			size = shipBusy
		}
		if !j.rest(ctx, seq, restAfter(time.Since(begin), runtime.GOMAXPROCS(0))) {
			return ctx.Err()
		}
	}
	return nil
}

// restAfter is how long to leave the processors to calls, which matter more than
// their copy, after work that took so long. What lags meanwhile is copied when
// fewer calls come.
func restAfter(took time.Duration, processors int) time.Duration {
	return min(took*time.Duration(max(shipShare-processors, 0))/time.Duration(processors), shipPause)
}

// rest waits for so long, but only as long as records come after the one with
// this number; false when ctx ends.
func (j *Journal) rest(ctx context.Context, seq uint64, left time.Duration) bool {
	for now := j.last(); now != seq && left > 0; now = j.last() {
		if !pause(ctx, min(left, shipLook)) {
			return false
		}
		seq, left = now, left-shipLook
	}
	return ctx.Err() == nil
}

// last is the number of the last record that was written.
func (j *Journal) last() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.seq
}

// shipRest copies what is left, once.
func (j *Journal) shipRest(ctx context.Context) {
	t, err := j.shipStart(ctx)
	if err == nil {
		err = j.shipRound(ctx, t)
	}
	t.close()
	if err != nil {
		j.options.Logger.Warn("the last records of the journal were not copied; that is done at the next start", "error", err)
	}
}

// tail reads records from a number on, as they are written.
type tail struct {
	dir   string
	next  uint64
	seg   segment
	f     *os.File
	ls    *lineReader
	batch []Record
	line  line   // the one being read
	text  []byte // of the batch
}

func (t *tail) close() {
	if t != nil && t.f != nil {
		t.f.Close()
		t.f = nil
	}
}

// read gives up to n records, none above upTo, which are good until the next
// read. Lines that are no records are passed over: whoever verifies finds them.
func (t *tail) read(upTo uint64, n int) ([]Record, error) {
	if cap(t.text) > shipText {
		t.text = nil
	}
	t.batch, t.text = t.batch[:0], t.text[:0]
	for len(t.batch) < n && t.next <= upTo {
		if t.f == nil {
			if more, err := t.open(); err != nil || !more {
				return t.batch, err
			}
		}
		if t.ls.hasPartialLine() {
			// It was read before the line was known to be written: if it could not be, the
			// piece was taken back, and something else stands in its place.
			if err := t.use(t.seg, t.ls.offset); err != nil {
				return t.batch, err
			}
		}
		off := t.ls.offset
		b, err := t.ls.next()
		switch {
		case err == nil:
			used := len(t.text)
			r, err := t.record(b)
			if err != nil || r.Seq < t.next {
				t.text = t.text[:used]
				continue
			}
			if r.Seq > upTo { // the ones before it are missing; it is for the next time
				return t.batch, t.use(t.seg, off)
			}
			t.batch = append(t.batch, r)
			t.next = r.Seq + 1
		case errors.Is(err, io.EOF) || errors.Is(err, errTornLine):
			// More may have come to this file, or another has been begun.
			more, err := t.advance()
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

// record reads a line, as far as a copy needs to know it: no columns. Its texts are
// parts of the batch's, and not copies. Where that has to grow, those before stay in
// what it was.
func (t *tail) record(b []byte) (r Record, err error) {
	if t.line, err = splitLine(b); err != nil {
		return Record{}, err
	}
	at := len(t.text)
	t.text = append(t.text, b...)
	whole := unsafe.String(&t.text[at], len(b)) //nolint:gosec // a line is not empty, and does not change before the next batch
	t.line.jsonText = whole[hashPrefixSize:]
	if !t.line.scanSeqAndNode(t.line.jsonText) {
		if err := t.line.parse(); err != nil {
			return Record{}, err
		}
	}
	return Record{Node: t.line.Node, Seq: t.line.Seq, Hash: whole[:hexSize], Line: t.line.jsonText}, nil
}

// open opens the segment that holds the next record, or the first that comes
// after it where that is gone.
func (t *tail) open() (bool, error) {
	segs, err := listSegments(t.dir)
	if err != nil || len(segs) == 0 {
		return false, err
	}
	pick := segs[0]
	for _, s := range segs {
		if s.first <= t.next {
			pick = s
		}
	}
	return true, t.use(pick, 0)
}

func (t *tail) use(s segment, off int64) error {
	t.close()
	f, err := os.Open(s.path)
	if err != nil {
		return err
	}
	if _, err := f.Seek(off, io.SeekStart); err != nil {
		f.Close()
		return err
	}
	t.seg, t.f = s, f
	if t.ls == nil {
		t.ls = newLineReader(f, off)
	} else {
		t.ls.reset(f, off)
	}
	return nil
}

// advance is called at the end of what could be read. Records that are wanted
// are on disk by then: behind the place that was read, or in a later segment.
func (t *tail) advance() (bool, error) {
	info, err := t.f.Stat()
	if err != nil {
		return false, err
	}
	if off := t.ls.offset; info.Size() > off && t.ls.tornBytes != info.Size()-off {
		return true, t.use(t.seg, off)
	}
	segs, err := listSegments(t.dir)
	if err != nil {
		return false, err
	}
	for _, s := range segs {
		if s.first > t.seg.first {
			return true, t.use(s, 0)
		}
	}
	return false, nil
}
