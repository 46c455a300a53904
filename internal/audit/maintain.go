package audit

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"
)

// The intervals and limits of the maintenance goroutine.
const (
	// How often a failed journal is tried again.
	probeInterval = time.Second
	// Expired segments are looked for at most this often.
	minPruneInterval  = time.Minute
	maxPrunedSegments = 16 // removed at a time
)

// runMaintenance signs heads, retries a failed journal even if no call arrives,
// and removes expired segments. It returns when the journal is closed.
func (j *Journal) runMaintenance() {
	probe, head := time.NewTicker(probeInterval), time.NewTicker(j.options.HeadInterval)
	defer probe.Stop()
	defer head.Stop()
	var prune <-chan time.Time
	if j.options.Retention > 0 {
		t := time.NewTicker(min(max(j.options.Retention/90, minPruneInterval), 24*time.Hour))
		defer t.Stop()
		prune = t.C
	}
	more := j.options.Retention > 0 && j.pruneSegments()
	for {
		select {
		case <-j.lifeCtx.Done():
			return
		case <-probe.C:
			j.probeSegment()
			if more {
				more = j.pruneSegments()
			}
		case <-head.C:
			_ = j.signHead(false) // reported
		case <-j.headRequested:
			_ = j.signHead(false) // reported
		case <-prune:
			more = j.pruneSegments()
		}
	}
}

// probeSegment recovers a journal that no call writes to. It also detects that
// the open segment is no longer the file at its path.
func (j *Journal) probeSegment() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.abandonReason == "" {
		if f, ok := j.file.(*os.File); ok {
			j.abandonReason = describeDisplacement(f, j.path, j.offset)
		}
	}
	if j.writeErr != nil || j.abandonReason != "" {
		if err := j.prepareWrite(j.options.Now()); err != nil {
			j.writeErr = err
		}
	}
}

// describeDisplacement says how another process removed, replaced or cut an open
// segment; "" if it did not. An error of the system is not evidence, so it also
// gives "".
func describeDisplacement(f *os.File, path string, off int64) string {
	mine, err := f.Stat()
	if err != nil {
		return ""
	}
	there, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Sprintf("segment %s was removed while it was written", mine.Name())
	case err != nil:
		return ""
	case !os.SameFile(mine, there):
		return fmt.Sprintf("segment %s was replaced while it was written", mine.Name())
	case mine.Size() < off:
		return fmt.Sprintf("segment %s was cut while it was written", mine.Name())
	}
	return ""
}

// signHead writes a signed head if there is something new. Every record that the
// head names is on disk first: otherwise a power cut would look like a cut tail.
// closed says that no record will follow.
func (j *Journal) signHead(closed bool) error {
	j.headMu.Lock()
	defer j.headMu.Unlock()
	m, err := j.flushWritten()
	if err == nil {
		h := Head{
			Replica: j.options.Replica, Seq: m.seq, Hash: hex.EncodeToString(m.hash[:]),
			Time: j.options.Now().UTC(), Shipped: j.shippedSeq.Load(), Closed: closed,
		}
		if !j.shippedKnown.Load() {
			h.Shipped = j.head.Shipped
		}
		if h.Seq == j.head.Seq && h.Shipped == j.head.Shipped && h.Closed == j.head.Closed && j.headSignedHere {
			return nil
		}
		if err = writeHead(j.options.HeadsDir, &h, j.signingKey); err == nil {
			j.head, j.headSignedHere = h, true
			j.headSeq.Store(h.Seq)
			signalChannel(j.headSigned)
		}
	}
	if j.setProblem(problemHead, err) && err != nil {
		j.options.Logger.Error("cannot sign the journal's head", "error", err)
	}
	return err
}

// SignedHead returns the last head and the key that verifies it. If they are kept
// elsewhere, they show later whether the copy in SQL lost or changed records.
func (j *Journal) SignedHead() (Head, ed25519.PublicKey) {
	j.headMu.Lock()
	defer j.headMu.Unlock()
	key, _ := j.signingKey.Public().(ed25519.PublicKey) // cannot fail
	return j.head, key
}

// setCheckpoints replaces the checkpoints. The caller holds headMu, or is Open.
func (j *Journal) setCheckpoints(all []Checkpoint) {
	j.checkpoints = all
	j.checkpointSeq.Store(lastCheckpoint(all).UpTo)
}

// lastCheckpoint returns the newest checkpoint, or a zero one.
func lastCheckpoint(all []Checkpoint) Checkpoint {
	if n := len(all); n > 0 {
		return all[n-1]
	}
	return Checkpoint{}
}

// pruneSegments removes expired segments behind a signed checkpoint, a few at a
// time, since each of them is read first. more means that others remain.
func (j *Journal) pruneSegments() (more bool) {
	more, err := j.pruneExpired()
	if j.lifeCtx.Err() != nil {
		return false
	}
	if j.setProblem(problemPrune, err) && err != nil {
		j.options.Logger.Error("cannot remove old segments of the journal", "error", err)
	}
	return more
}

// pruneExpired verifies the expired segments, signs a checkpoint that covers them
// and then removes them. In this order a crash never leaves a gap that no
// checkpoint explains. It keeps segments that are not covered by a head or that
// the copy does not have yet.
func (j *Journal) pruneExpired() (more bool, err error) {
	j.headMu.Lock()
	defer j.headMu.Unlock()
	segs, err := listSegments(j.options.Dir)
	if err != nil || len(segs) < 2 {
		return false, err
	}
	before := lastCheckpoint(j.checkpoints)
	c := chainVerifier{replica: j.options.Replica, nextSeq: segs[0].first, prevKnown: segs[0].first == 1}
	if before.UpTo+1 == segs[0].first && before.UpTo > 0 {
		c.prevKnown = parseHash(&c.prevHash, before.Hash)
	}
	limit, bound := j.options.Now().Add(-j.options.Retention), j.head.Seq
	if j.options.Shipper != nil {
		bound = min(bound, j.shippedSeq.Load())
	}
	var old []segment
	for _, s := range segs[:len(segs)-1] {
		last, found, err := readLastLine(s.path)
		if err != nil || !found {
			return false, fmt.Errorf("segment %s: its end cannot be read", s.fileName())
		}
		if last.Time.After(limit) || last.Seq > bound {
			break
		}
		if more = len(old) == maxPrunedSegments; more {
			break
		}
		// A segment that is not valid is evidence, so it is kept.
		bad, _, torn, err := c.readSegment(j.lifeCtx, s, func(l *line) string {
			if l.Seq == before.UpTo && hex.EncodeToString(l.hash[:]) != before.Hash {
				return "it is not the record that the checkpoint names"
			}
			return ""
		})
		switch {
		case err != nil:
			return false, err
		case bad != nil:
			return false, fmt.Errorf("segment %s is kept: %s", s.fileName(), bad)
		case torn > 0:
			return false, fmt.Errorf("segment %s is kept: %w", s.fileName(), errTornLine)
		}
		old = append(old, s)
	}
	if len(old) == 0 {
		return false, nil
	}
	if c.nextSeq-1 > before.UpTo {
		cp := Checkpoint{Replica: j.options.Replica, UpTo: c.nextSeq - 1, Hash: hex.EncodeToString(c.prevHash[:]), Time: j.options.Now().UTC(), Count: c.nextSeq - 1 - before.UpTo}
		cp.Signature = ed25519.Sign(j.signingKey, cp.signedBytes(before.Signature))
		all := slices.Concat(j.checkpoints, []Checkpoint{cp})
		if err := writeCheckpoints(j.options.HeadsDir, all); err != nil {
			return false, err
		}
		j.setCheckpoints(all)
	}
	return more, j.removeSegments(old)
}

// removeSegments removes segments that a checkpoint covers, and lets a Pruner
// remove the same records from the copy.
func (j *Journal) removeSegments(old []segment) error {
	for _, s := range old {
		if err := os.Remove(s.path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	syncDir(j.options.Dir)
	j.options.Logger.Info("old segments of the journal removed", "segments", len(old), "up_to", j.checkpointSeq.Load())
	if p, ok := j.options.Shipper.(Pruner); ok {
		ctx, cancel := context.WithTimeout(j.lifeCtx, time.Minute)
		defer cancel()
		return p.Prune(ctx, j.options.Replica, j.checkpointSeq.Load())
	}
	return nil
}
