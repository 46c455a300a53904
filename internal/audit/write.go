package audit

import (
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// rollRetryDelay is how long a segment that could not be closed is written on
// before the next try.
const rollRetryDelay = time.Second

const maxKeptLineBuffer = 1 << 20 // of the buffer for lines

// appendBatch writes records in one go. Those that cannot be written together are
// written one by one, so that none is lost for another. The lock is held.
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
		j.encoder.beginRecord(j.seq+1, now, phaseOf(n.call))
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
	if cap(j.lineBuffer) > maxKeptLineBuffer {
		j.lineBuffer = nil
	}
	if j.options.Ship != nil {
		signalChannel(j.shipWake)
	}
	if j.seq/j.options.HeadRecords != seq/j.options.HeadRecords {
		signalChannel(j.headRequested)
	}
}

// prepareWrite does what must be done before the next record.
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
	// A segment may be larger than it should be: better than a call that is
	// refused because a file cannot be made.
	if j.offset >= j.options.SegmentBytes && !now.Before(j.nextRollAttempt) {
		err := j.beginSegment(now, "")
		j.problems.set(problemRoll, err)
		if err != nil {
			j.nextRollAttempt = now.Add(rollRetryDelay)
		}
	}
	return nil
}

// writeEncoded chains and writes the record in the encoder's buffer.
func (j *Journal) writeEncoded() error {
	line, hash := j.encoder.finishRecord(&j.prevHash)
	if err := j.writeLines(line); err != nil {
		return err
	}
	j.seq++
	j.prevHash = hash
	return nil
}

// writeLines writes lines, or none of them.
func (j *Journal) writeLines(lines []byte) error {
	if n, err := j.file.WriteAt(lines, j.offset); err != nil {
		// Half a line would tear the chain: take it back, at the latest before
		// the next write.
		j.hasTornTail = n > 0 && j.file.Truncate(j.offset) != nil
		return err
	}
	j.offset += int64(len(lines))
	return nil
}

// countLost counts records that could not be written.
func (j *Journal) countLost(batch []*pendingRecord, err error) {
	if j.writeErr == nil {
		j.options.Logger.Error("the journal cannot be written: calls are refused until it can", "file", j.path, "error", err)
	}
	j.writeErr = err
	for _, n := range batch {
		if n.err = unavailableError(err); n.call.Status == junctor.StatusRunning {
			j.lostStarts++
		} else {
			j.lostEnds++
			j.lostEndsTotal++
		}
	}
}

// resumeWriting tries to write again after a failure. What was lost meanwhile is the
// first thing on record.
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
	j.options.Logger.Info("the journal is written again", "file", j.path, "calls_refused", j.lostStarts, "ends_lost", j.lostEnds)
	j.writeErr, j.lostStarts, j.lostEnds = nil, 0, 0
	return nil
}

// beginSegment goes on in a new segment. With a reason the chain did not hold, and the
// first record says so. After an error all is as it was.
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
	if old != nil { // its end reaches the disk with the next flush
		j.unsyncedSegments = append(j.unsyncedSegments, fileExtent{old, oldOff})
	}
	if reason != "" {
		j.problems.set(problemBreak, errors.New(reason))
		j.options.Logger.Error("the journal's chain does not hold; a new segment was begun", "file", path, "reason", reason)
	}
	return nil
}

func signalChannel(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

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
