package audit

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"slices"

	junctor "github.com/junctor-mcp/junctor"
)

// resumeChain finds where the chain ends and opens the last segment for writing. It
// reads the last segment whole; Verify reads them all.
func (j *Journal) resumeChain(ctx context.Context) error {
	segs, err := listWrittenSegments(j.options.Dir)
	if err != nil {
		return err
	}
	pub := j.signingKey.Public().(ed25519.PublicKey)
	head, headErr := readHead(j.options.HeadsDir, j.options.Node, pub)
	cps, bad, cpErr := readCheckpoints(j.options.HeadsDir, j.options.Node, pub)
	j.setCheckpoints(cps)
	problem := ""
	if cpErr != nil {
		problem = fmt.Sprintf("checkpoint %d: %v", bad, cpErr)
	}
	known, unsigned := j.loadKnown(ctx)
	if problem == "" {
		problem = unsigned
	}
	if head != nil {
		j.head = *head
		j.seq = head.Seq
		parseHash(&j.prevHash, head.Hash)
	}
	if len(segs) == 0 {
		j.resumedAt = lastCheckpoint(cps).UpTo
		if problem == "" && !errors.Is(headErr, errNoHead) {
			problem = "all segments are missing"
			if headErr != nil {
				problem += "; the signed head: " + headErr.Error()
			}
		}
		return j.resumeAbove(known, lastCheckpoint(cps).UpTo, problem)
	}
	end, err := j.scanLastSegment(ctx, segs, head, known)
	if err != nil {
		return err
	}
	j.resumedAt = end.seq
	if problem == "" {
		problem = end.problem
	}
	if problem == "" {
		problem = end.compareHead(head, headErr)
	}
	if problem == "" {
		problem = end.compareKnown(known, end.knownHashes)
	}
	if problem == "" && end.earlierBreak == "" { // what is known may lie in an earlier segment
		if problem, err = j.compareRecords(known, end.knownHashes); err != nil {
			return err
		}
	}
	if problem != "" {
		if end.seq >= j.seq {
			j.seq, j.prevHash = end.seq, end.hash
		}
		return j.resumeAbove(known, end.seq, problem)
	}
	if end.earlierBreak != "" {
		j.problems.set(problemBreak, errors.New(end.earlierBreak))
	}
	j.seq, j.prevHash = end.seq, end.hash
	return j.reopenSegment(segs[len(segs)-1], end)
}

// resumeAbove begins a segment that says what is wrong, above all that is known of
// the chain: a number that was used is not used again, so the copy takes what follows.
// last is where the files end. A journal without a problem just begins.
func (j *Journal) resumeAbove(known Known, last uint64, problem string) error {
	if missing := known.missingTail(last); missing != "" && problem != missing {
		if problem != "" {
			missing = problem + "; " + missing
		}
		problem = missing
	}
	if seq, hash, _ := known.highestRecord(); seq > j.seq {
		j.seq, j.prevHash = seq, hash
	}
	return j.beginSegment(j.options.Now(), problem)
}

// listWrittenSegments lists the segments that hold something. A file without a byte is
// what a crash leaves that came right after it was made.
func listWrittenSegments(dir string) ([]segment, error) {
	segs, err := listSegments(dir)
	if err != nil {
		return nil, err
	}
	for len(segs) > 0 {
		last := segs[len(segs)-1]
		if info, err := os.Stat(last.path); err != nil || info.Size() > 0 {
			return segs, err
		}
		if err := os.Remove(last.path); err != nil {
			return nil, err
		}
		segs = segs[:len(segs)-1]
	}
	return segs, nil
}

// segmentEnd is what the last segment says.
type segmentEnd struct {
	seq          uint64
	hash         [sha256.Size]byte
	first        uint64
	offset       int64 // where the whole lines end
	tornBytes    int64 // bytes behind them
	headHash     string
	problem      string // why the chain does not hold
	earlierBreak string // why it did not hold earlier, when this segment was begun

	knownHashes map[uint64]string // of the records here that are known elsewhere, by number
}

func (j *Journal) scanLastSegment(ctx context.Context, segs []segment, head *Head, known Known) (segmentEnd, error) {
	last := segs[len(segs)-1]
	e := segmentEnd{first: last.first, knownHashes: map[uint64]string{}}
	wanted := known.hashesBySeq()
	c := chainVerifier{node: j.options.Node, nextSeq: last.first, onBreak: func(reason string) { e.earlierBreak = reason }}
	if last.first == 1 {
		c.prevKnown = true
	} else if n := len(j.checkpoints); n > 0 && j.checkpoints[n-1].UpTo+1 == last.first {
		c.prevKnown = parseHash(&c.prevHash, j.checkpoints[n-1].Hash)
	} else if len(segs) > 1 {
		before, found, err := readLastLine(segs[len(segs)-2].path)
		if err == nil && found && before.Seq+1 == last.first {
			c.prevHash, c.prevKnown = before.hash, true
		} else {
			e.problem = fmt.Sprintf("segment %s does not follow the one before it", last.fileName())
		}
	} else {
		e.problem = fmt.Sprintf("the records before %d are missing", last.first)
	}
	bad, off, torn, err := c.readSegment(ctx, last, func(l *line) string {
		if head != nil && l.Seq == head.Seq {
			e.headHash = l.toRecord().Hash
		}
		if _, ok := wanted[l.Seq]; ok {
			e.knownHashes[l.Seq] = l.toRecord().Hash
		}
		return ""
	})
	if err != nil {
		return e, err
	}
	e.seq, e.hash, e.offset, e.tornBytes = c.nextSeq-1, c.prevHash, off, torn
	if e.earlierBreak != "" {
		e.problem = "" // that was said already
	}
	if bad == nil {
		return e, nil
	}
	if e.problem == "" {
		e.problem = bad.String()
	}
	// What stands behind the bad record keeps its numbers.
	e.seq = max(e.seq, last.first)
	if info, err := os.Stat(last.path); err == nil {
		most := e.seq + uint64(info.Size())/hashPrefixSize //nolint:gosec // sizes are not negative
		if l, found, _ := readLastLine(last.path); found && l.Seq > e.seq && l.Seq <= most {
			e.seq, e.hash = l.Seq, l.hash
		}
	}
	return e, nil
}

// compareHead compares the end with the signed head.
func (e *segmentEnd) compareHead(head *Head, err error) string {
	switch {
	case errors.Is(err, errNoHead) && e.seq <= 1: // a crash in the very first moment
		return ""
	case err != nil:
		return "the signed head: " + err.Error()
	case head.Seq > e.seq:
		return fmt.Sprintf("the tail was cut: the signed head names record %d, the journal ends at %d", head.Seq, e.seq)
	case e.headHash != "" && e.headHash != head.Hash:
		return fmt.Sprintf("record %d is not the one that the signed head names", head.Seq)
	case head.Closed && (e.seq > head.Seq || e.tornBytes > 0):
		return fmt.Sprintf("something was added after record %d, with which the journal was closed", head.Seq)
	}
	return ""
}

// reopenSegment goes on in the last segment, behind its last whole line.
func (j *Journal) reopenSegment(last segment, e segmentEnd) error {
	if e.offset == 0 { // not even its first record was whole
		if err := os.Remove(last.path); err != nil {
			return err
		}
		if err := j.beginSegment(j.options.Now(), ""); err != nil {
			return err
		}
	} else {
		f, err := j.options.openSegment(last.path, false)
		if err != nil {
			return err
		}
		j.file, j.path, j.offset = f, last.path, e.offset
	}
	if e.tornBytes == 0 {
		return nil
	}
	if err := j.file.Truncate(j.offset); err != nil {
		return err
	}
	j.options.Logger.Warn("the last record of the journal was half-written and was dropped", "file", j.path, "bytes", e.tornBytes)
	j.encoder.beginRecord(j.seq+1, j.options.Now(), PhaseRecover)
	j.encoder.addNumber("dropped", e.tornBytes)
	return j.writeEncoded()
}

// loadRecentCalls brings the newest calls back into memory.
func (j *Journal) loadRecentCalls(ctx context.Context) error {
	segs, err := listSegments(j.options.Dir)
	if err != nil {
		return err
	}
	var newest []junctor.Call
	want := 2 * j.options.Recent // a call has up to two records
	for _, s := range slices.Backward(segs) {
		err := readSegmentBackward(s, func(b []byte) bool {
			if l, err := parseLine(b); err == nil && l.Call != "" {
				newest = append(newest, l.toCall())
			}
			return len(newest) < want
		})
		if err != nil || len(newest) >= want {
			break // what was read is good
		}
	}
	for _, c := range slices.Backward(newest) {
		_ = j.recent.Append(ctx, &c) // it cannot fail
	}
	j.recent.markInterrupted()
	return nil
}

// markInterrupted marks the calls that have no end: the process ended before them. A
// call that waits for its client may still come to one.
func (r *Recent) markInterrupted() {
	for i := range r.calls {
		if c := &r.calls[i]; c.Status == junctor.StatusRunning {
			c.Status, c.Code = junctor.StatusError, junctor.CodeUnavailable
			c.Reason = "no end on record: the process ended while the call ran, or waited for its client"
		}
	}
}
