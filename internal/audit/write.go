package audit

import (
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// rollRetryDelay is how long the journal continues in an oversized segment before
// it tries again to begin a new one.
const rollRetryDelay = time.Second

const maxKeptLineBuffer = 1 << 20 // bytes of lineBuffer that are kept between batches

// appendBatch writes records with one write. If they cannot be written together,
// it writes them one by one, so that no record is lost because of another. It
// sets seq and err of each record. The caller holds mu.
func (j *Journal) appendBatch(batch []*pendingRecord) {
	if j.closed {
		for _, n := range batch {
			n.err = unavailableError(errClosed)
		}
		return
	}
	now := j.options.Now()
	if err := j.prepareWrite(now); err != nil {
		j.countLost(batch, err)
		return
	}
	seq, prev := j.seq, j.prevHash
	j.lineBuffer = j.lineBuffer[:0]
	for _, n := range batch {
		j.encoder.beginRecord(j.seq+1, now, n.phase())
		j.encoder.buf = append(j.encoder.buf, n.body.buf...)
		line, hash := j.encoder.finishRecord(&j.prevHash)
		j.lineBuffer = append(j.lineBuffer, line...)
		j.seq, j.prevHash = j.seq+1, hash
		n.seq, n.err = j.seq, nil
	}
	if err := j.writeLines(j.lineBuffer); err != nil {
		j.seq, j.prevHash = seq, prev
		if len(batch) == 1 || j.hasTornTail {
			j.countLost(batch, err)
			return
		}
		for i := range batch {
			j.appendBatch(batch[i : i+1])
		}
		return
	}
	j.feed.addBatch(batch, now)
	if cap(j.lineBuffer) > maxKeptLineBuffer {
		j.lineBuffer = nil
	}
	if j.options.Shipper != nil {
		signalChannel(j.shipWake)
	}
	if j.seq/j.options.HeadRecords != seq/j.options.HeadRecords {
		signalChannel(j.headRequested)
	}
}

// prepareWrite does all that must happen before the next record: it leaves a
// segment that was displaced, recovers from a failed write, and begins a new
// segment when the current one is full. The caller holds mu.
func (j *Journal) prepareWrite(now time.Time) error {
	if j.abandonReason != "" {
		if err := j.beginSegment(now, j.abandonReason); err != nil {
			return err
		}
		j.abandonReason = ""
	}
	if j.writeErr != nil {
		if err := j.resumeWriting(now); err != nil {
			return err
		}
	}
	// If no new segment can be begun, the current one grows beyond its size. That is
	// better than refusing calls.
	if j.offset >= j.options.SegmentBytes && !now.Before(j.nextRollAttempt) {
		err := j.beginSegment(now, "")
		j.problems.set(problemRoll, err)
		if err != nil {
			j.nextRollAttempt = now.Add(rollRetryDelay)
		}
	}
	return nil
}

// writeEncoded chains and writes the record in the encoder's buffer. The caller
// holds mu.
func (j *Journal) writeEncoded() error {
	line, hash := j.encoder.finishRecord(&j.prevHash)
	if err := j.writeLines(line); err != nil {
		return err
	}
	j.seq++
	j.prevHash = hash
	return nil
}

// writeLines writes all lines or none of them. The caller holds mu.
func (j *Journal) writeLines(lines []byte) error {
	if n, err := j.file.WriteAt(lines, j.offset); err != nil {
		// Half a line would break the chain, so take it back. If that fails,
		// resumeWriting tries again before the next write.
		j.hasTornTail = n > 0 && j.file.Truncate(j.offset) != nil
		return err
	}
	j.offset += int64(len(lines))
	return nil
}

// countLost marks records as failed and counts them for the PhaseLost record. The
// caller holds mu.
func (j *Journal) countLost(batch []*pendingRecord, err error) {
	if j.writeErr == nil {
		j.options.Logger.Error("cannot write the journal: calls are refused until it can be written again", "file", j.path, "error", err)
	}
	j.writeErr = err
	for _, n := range batch {
		n.err = unavailableError(err)
		switch {
		case n.call == nil: // the record of a change is written later
		case n.call.Kind == junctor.KindToolList: // no call
		case n.call.Status == junctor.StatusRunning:
			j.lostStarts++
		default:
			j.lostEnds++
			j.lostEndsTotal++
		}
	}
}

// resumeWriting tries to write again after a failure. The first new record says
// how many were lost meanwhile. The caller holds mu.
func (j *Journal) resumeWriting(now time.Time) error {
	if j.hasTornTail {
		if err := j.file.Truncate(j.offset); err != nil {
			return err
		}
		j.hasTornTail = false
	}
	j.encoder.beginRecord(j.seq+1, now, PhaseLost)
	j.encoder.addNumber("starts", j.lostStarts)
	j.encoder.addNumber("ends", j.lostEnds)
	if err := j.writeEncoded(); err != nil {
		return err
	}
	j.options.Logger.Info("the journal can be written again", "file", j.path, "calls_refused", j.lostStarts, "ends_lost", j.lostEnds)
	j.writeErr, j.lostStarts, j.lostEnds = nil, 0, 0
	return nil
}

// beginSegment continues in a new segment. A reason says why the chain is not
// valid, and the first record then repeats it as a PhaseBreak. After an error
// everything is as before. The caller holds mu.
func (j *Journal) beginSegment(now time.Time, reason string) error {
	path := segmentPath(j.options.Dir, j.seq+1)
	f, err := j.options.openSegment(path, true)
	if err != nil {
		return err
	}
	old, oldPath, oldOff := j.file, j.path, j.offset
	j.file, j.path, j.offset = f, path, 0
	phase := PhaseSegment
	if reason != "" {
		phase = PhaseBreak
	}
	j.encoder.beginRecord(j.seq+1, now, phase)
	j.encoder.addText("prev", hex.EncodeToString(j.prevHash[:]), hexSize)
	j.encoder.addText("reason", reason, maxReason)
	torn := j.hasTornTail
	if err := j.writeEncoded(); err != nil {
		f.Close()
		os.Remove(path)
		j.file, j.path, j.offset, j.hasTornTail = old, oldPath, oldOff, torn
		return err
	}
	if old != nil { // the next flush syncs its end
		j.unsyncedSegments = append(j.unsyncedSegments, fileExtent{old, oldOff})
	}
	if reason != "" {
		j.problems.set(problemBreak, errors.New(reason))
		j.options.Logger.Error("the journal's hash chain is broken: a new segment was started; run junctor audit verify", "file", path, "reason", reason)
	}
	return nil
}

// signalChannel wakes the goroutine that reads ch. A signal that is already
// pending is enough.
func signalChannel(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// unavailableError is the answer to a caller whose record was not written. It
// leaves out the path, which the caller need not know.
func unavailableError(err error) error {
	why := err.Error()
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		why = p.Err.Error()
	}
	return &junctor.Error{
		Code: junctor.CodeUnavailable, Cause: err,
		Message: "the journal cannot be written: " + why + "; calls are refused until it can",
	}
}
