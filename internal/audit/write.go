package audit

import (
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// rollPause is how long a segment that could not be closed is written on
// before the next try.
const rollPause = time.Second

const keptLines = 1 << 20 // of the buffer for lines

// appendBatch writes records in one go. Those that cannot be written together are
// written one by one, so that none is lost for another. The lock is held.
func (j *Journal) appendBatch(batch []*pendingRecord) {
	if j.closed {
		for _, n := range batch {
			n.err = unavailable(errClosed)
		}
		return
	}
	now := j.o.Now()
	if err := j.prepare(now); err != nil {
		j.miss(batch, err)
		return
	}
	seq, prev := j.seq, j.prev
	j.lines = j.lines[:0]
	for _, n := range batch {
		j.enc.beginRecord(j.seq+1, now, phaseOf(n.call))
		j.enc.buf = append(j.enc.buf, n.body.buf...)
		line, hash := j.enc.finishRecord(&j.prev)
		j.lines = append(j.lines, line...)
		j.seq, j.prev = j.seq+1, hash
		n.seq, n.err = j.seq, nil
	}
	if err := j.writeLines(j.lines); err != nil {
		j.seq, j.prev = seq, prev
		if len(batch) == 1 || j.torn {
			j.miss(batch, err)
			return
		}
		for i := range batch {
			j.appendBatch(batch[i : i+1])
		}
		return
	}
	if cap(j.lines) > keptLines {
		j.lines = nil
	}
	if j.o.Ship != nil {
		poke(j.wake)
	}
	if j.seq/j.o.HeadRecords != seq/j.o.HeadRecords {
		poke(j.headNow)
	}
}

// prepare does what must be done before the next record.
func (j *Journal) prepare(now time.Time) error {
	if j.gone != "" {
		if err := j.roll(now, j.gone); err != nil {
			return err
		}
		j.gone = ""
	}
	if j.err != nil {
		if err := j.heal(now); err != nil {
			return err
		}
	}
	// A segment may be larger than it should be: better than a call that is
	// refused because a file cannot be made.
	if j.off >= j.o.SegmentBytes && !now.Before(j.rollAt) {
		err := j.roll(now, "")
		j.problems.set(problemRoll, err)
		if err != nil {
			j.rollAt = now.Add(rollPause)
		}
	}
	return nil
}

// writeEncoded chains and writes the record in the encoder's buffer.
func (j *Journal) writeEncoded() error {
	line, hash := j.enc.finishRecord(&j.prev)
	if err := j.writeLines(line); err != nil {
		return err
	}
	j.seq++
	j.prev = hash
	return nil
}

// writeLines writes lines, or none of them.
func (j *Journal) writeLines(lines []byte) error {
	if n, err := j.file.WriteAt(lines, j.off); err != nil {
		// Half a line would tear the chain: take it back, at the latest before
		// the next write.
		j.torn = n > 0 && j.file.Truncate(j.off) != nil
		return err
	}
	j.off += int64(len(lines))
	return nil
}

// miss counts records that could not be written.
func (j *Journal) miss(batch []*pendingRecord, err error) {
	if j.err == nil {
		j.o.Logger.Error("the journal cannot be written: calls are refused until it can", "file", j.path, "error", err)
	}
	j.err = err
	for _, n := range batch {
		if n.err = unavailable(err); n.call.Status == junctor.StatusRunning {
			j.starts++
		} else {
			j.ends++
			j.lost++
		}
	}
}

// heal tries to write again after a failure. What was lost meanwhile is the
// first thing on record.
func (j *Journal) heal(now time.Time) error {
	if j.torn {
		if err := j.file.Truncate(j.off); err != nil {
			return err
		}
		j.torn = false
	}
	j.enc.beginRecord(j.seq+1, now, PhaseLost)
	j.enc.addNumber("starts", j.starts)
	j.enc.addNumber("ends", j.ends)
	if err := j.writeEncoded(); err != nil {
		return err
	}
	j.o.Logger.Info("the journal is written again", "file", j.path, "calls_refused", j.starts, "ends_lost", j.ends)
	j.err, j.starts, j.ends = nil, 0, 0
	return nil
}

// roll goes on in a new segment. With a reason the chain did not hold, and the
// first record says so. After an error all is as it was.
func (j *Journal) roll(now time.Time, reason string) error {
	path := segmentPath(j.o.Dir, j.seq+1)
	f, err := j.o.openSegment(path, true)
	if err != nil {
		return err
	}
	old, oldPath, oldOff := j.file, j.path, j.off
	j.file, j.path, j.off = f, path, 0
	phase := PhaseSegment
	if reason != "" {
		phase = PhaseBreak
	}
	j.enc.beginRecord(j.seq+1, now, phase)
	j.enc.addText("prev", hex.EncodeToString(j.prev[:]), hexSize)
	j.enc.addText("reason", reason, maxReason)
	torn := j.torn
	if err := j.writeEncoded(); err != nil {
		f.Close()
		os.Remove(path)
		j.file, j.path, j.off, j.torn = old, oldPath, oldOff, torn
		return err
	}
	if old != nil { // its end reaches the disk with the next flush
		j.retired = append(j.retired, extent{old, oldOff})
	}
	if reason != "" {
		j.problems.set(problemBreak, errors.New(reason))
		j.o.Logger.Error("the journal's chain does not hold; a new segment was begun", "file", path, "reason", reason)
	}
	return nil
}

func poke(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

func unavailable(err error) error {
	why := err.Error()
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		why = p.Err.Error()
	}
	return &junctor.Error{
		Code: junctor.CodeUnavailable, Cause: err,
		Message: "the journal cannot be written: " + why + "; calls are refused until it can",
	}
}
