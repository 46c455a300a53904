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

// resumeChain finds where the chain ends and opens the last segment for writing.
// It reads only the last segment in full, to start fast; Verify reads all of
// them.
//
// It compares the end with three witnesses: the checkpoints, the signed head and
// the database. If one of them disagrees, the journal continues in a new segment
// that says so, above every number that was ever used.
func (j *Journal) resumeChain(ctx context.Context) error {
	segs, err := listWrittenSegments(j.options.Dir)
	if err != nil {
		return err
	}
	pub := j.signingKey.Public().(ed25519.PublicKey)
	head, headErr := readHead(j.options.HeadsDir, j.options.Replica, pub)
	cps, bad, cpErr := readCheckpoints(j.options.HeadsDir, j.options.Replica, pub)
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
	if problem == "" && end.earlierBreak == "" { // the known records may be in an earlier segment
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

// resumeAbove begins a segment that describes the problem, above all known
// records of the chain. A number is never used twice, so the copy accepts the
// records that follow. last is where the files end. Without a problem it begins
// an ordinary segment.
func (j *Journal) resumeAbove(known KnownChain, last uint64, problem string) error {
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

// listWrittenSegments lists the segments and removes empty ones from the end. A
// crash right after a file was created leaves such an empty file.
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

// segmentEnd describes the end of the last segment.
type segmentEnd struct {
	seq       uint64
	hash      [sha256.Size]byte
	first     uint64
	offset    int64 // where the complete lines end
	tornBytes int64 // bytes after them
	// Hash of the record that the signed head names, if it is in this segment.
	headHash string
	problem  string // why the chain is not valid
	// Why the chain was not valid when this segment was begun.
	earlierBreak string

	// Hashes of the records here that the witness knows, by number.
	knownHashes map[uint64]string
}

// scanLastSegment verifies the last segment and returns its end. A chain that is
// not valid is no error: it is in the result's problem.
func (j *Journal) scanLastSegment(ctx context.Context, segs []segment, head *Head, known KnownChain) (segmentEnd, error) {
	last := segs[len(segs)-1]
	e := segmentEnd{first: last.first, knownHashes: map[uint64]string{}}
	wanted := known.hashesBySeq()
	c := chainVerifier{replica: j.options.Replica, nextSeq: last.first, onBreak: func(reason string) { e.earlierBreak = reason }}
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
		e.problem = "" // the break already recorded it
	}
	if bad == nil {
		return e, nil
	}
	if e.problem == "" {
		e.problem = bad.String()
	}
	// The records after the bad one keep their numbers, so that none is used twice.
	e.seq = max(e.seq, last.first)
	if info, err := os.Stat(last.path); err == nil {
		most := e.seq + uint64(info.Size())/hashPrefixSize //nolint:gosec // sizes are not negative
		if l, found, _ := readLastLine(last.path); found && l.Seq > e.seq && l.Seq <= most {
			e.seq, e.hash = l.Seq, l.hash
		}
	}
	return e, nil
}

// compareHead compares the end with the signed head, or with the error of reading
// it. It returns the difference, or "".
func (e *segmentEnd) compareHead(head *Head, err error) string {
	switch {
	case errors.Is(err, errNoHead) && e.seq <= 1: // a crash before the first head was signed
		return ""
	case err != nil:
		return "the signed head: " + err.Error()
	case head.Seq > e.seq:
		return fmt.Sprintf("the tail was cut: the signed head names record %d, the journal ends at %d", head.Seq, e.seq)
	case e.headHash != "" && e.headHash != head.Hash:
		return fmt.Sprintf("record %d is not the one that the signed head names", head.Seq)
	case head.Closed && (e.seq > head.Seq || e.tornBytes > 0):
		return fmt.Sprintf("data was added after record %d, with which the journal was closed", head.Seq)
	}
	return ""
}

// reopenSegment continues in the last segment, after its last complete line. It
// cuts off a half-written line and records that it did.
func (j *Journal) reopenSegment(last segment, e segmentEnd) error {
	if e.offset == 0 { // not even its first record is complete
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
	j.options.Logger.Warn("incomplete last record of the journal dropped", "file", j.path, "bytes", e.tornBytes)
	j.encoder.beginRecord(j.seq+1, j.options.Now(), PhaseRecover)
	j.encoder.addNumber("dropped", e.tornBytes)
	return j.writeEncoded()
}

// loadRecentCalls reads the newest calls back into memory.
func (j *Journal) loadRecentCalls(ctx context.Context) error {
	segs, err := listSegments(j.options.Dir)
	if err != nil {
		return err
	}
	var newest []junctor.Call
	want := 2 * j.options.RecentCalls // a call has up to two records
	for _, s := range slices.Backward(segs) {
		err := readSegmentBackward(s, func(b []byte) bool {
			if l, err := parseLine(b); err == nil && l.Call != "" {
				newest = append(newest, l.toCall())
			}
			return len(newest) < want
		})
		if err != nil || len(newest) >= want {
			break // the calls that were read are enough
		}
	}
	for _, c := range slices.Backward(newest) {
		_ = j.recent.Append(ctx, &c) // it cannot fail
	}
	j.recent.markInterrupted()
	return nil
}

// markInterrupted marks the calls without an end: the process ended before they
// did. A call that waits for its client may still get one.
func (r *RecentCalls) markInterrupted() {
	for i := range r.calls {
		if c := &r.calls[i]; c.Status == junctor.StatusRunning {
			c.Status, c.Code = junctor.StatusError, junctor.CodeUnavailable
			c.Reason = "no end on record: the process ended while the call ran, or waited for its client"
		}
	}
}
