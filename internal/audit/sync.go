package audit

import (
	"crypto/sha256"
	"errors"
	"os"
	"runtime"
	"slices"
	"sync"
)

// fileExtent is the beginning of a file, up to an offset.
type fileExtent struct {
	file   segmentFile
	offset int64
}

// chainPosition is a record up to which the whole chain is on disk.
type chainPosition struct {
	seq  uint64
	hash [sha256.Size]byte
}

// flushGate lets one flush run at a time. It wakes all waiting callers together,
// so that they share the next flush.
type flushGate struct {
	mu   sync.Mutex
	idle sync.Cond // signals that busy became false
	busy bool
}

// waitSynced waits until a record is on disk. Callers that wait together share a
// sync: the first one syncs all records that were written by then.
func (j *Journal) waitSynced(seq uint64) error {
	g := &j.flushGate
	g.mu.Lock()
	defer g.mu.Unlock()
	for j.syncedSeq.Load() < seq {
		if g.busy {
			g.idle.Wait()
			continue
		}
		if _, err := j.flushThroughGate(); err != nil {
			return unavailableError(err)
		}
	}
	return nil
}

// flushWritten brings all records that were written so far to the disk, and
// returns the last of them.
func (j *Journal) flushWritten() (chainPosition, error) {
	g := &j.flushGate
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.busy {
		g.idle.Wait()
	}
	return j.flushThroughGate()
}

// flushThroughGate flushes while the gate is closed. The caller holds the gate's
// mutex; it is released during the flush.
func (j *Journal) flushThroughGate() (chainPosition, error) {
	g := &j.flushGate
	g.busy = true
	g.mu.Unlock()
	// Let the callers that the last flush woke write first, so that they share this one.
	runtime.Gosched()
	m, err := j.flushExtents()
	g.mu.Lock()
	g.busy = false
	g.idle.Broadcast()
	return m, err
}

// flushExtents syncs the closed segments that are not yet on disk, and the
// current one. Only the owner of the gate calls it.
func (j *Journal) flushExtents() (chainPosition, error) {
	j.mu.Lock()
	m := chainPosition{j.seq, j.prevHash}
	j.extentsToSync = append(append(j.extentsToSync[:0], j.unsyncedSegments...), fileExtent{j.file, j.offset})
	todo := j.extentsToSync
	j.unsyncedSegments = nil
	j.mu.Unlock()

	err := j.syncFiles(todo)
	j.mu.Lock()
	if err != nil {
		j.unsyncedSegments = slices.Concat(todo[:len(todo)-1], j.unsyncedSegments)
	}
	j.problems.set(problemSync, err)
	j.mu.Unlock()
	if err != nil {
		return chainPosition{}, err
	}
	for _, done := range todo[:len(todo)-1] {
		done.file.Close()
	}
	j.syncedSeq.Store(m.seq)
	return m, nil
}

// syncFiles syncs files in order. After a failed sync it first rewrites the bytes
// that were not synced.
func (j *Journal) syncFiles(todo []fileExtent) error {
	for _, e := range todo {
		if j.syncedExtent.file != e.file {
			j.syncedExtent = fileExtent{file: e.file}
		}
		if j.rewriteBeforeSync {
			// After a failed sync the kernel may mark the pages clean, and the next
			// sync would do nothing. Writing them again makes them dirty.
			if err := rewriteExtent(e.file, j.syncedExtent.offset, e.offset); err != nil {
				return err
			}
		}
		if err := e.file.Sync(); err != nil {
			j.rewriteBeforeSync = true
			return err
		}
		j.syncedExtent = e
	}
	j.rewriteBeforeSync = false
	if len(todo) > 1 {
		syncDir(j.options.Dir) // makes the name of the new segment durable
	}
	return nil
}

// rewriteExtent writes a part of a file over itself.
func rewriteExtent(f segmentFile, from, to int64) error {
	buf := make([]byte, 64<<10)
	for from < to {
		n, err := f.ReadAt(buf[:min(int64(len(buf)), to-from)], from)
		if n == 0 {
			return errors.Join(err, os.ErrInvalid)
		}
		if _, err := f.WriteAt(buf[:n], from); err != nil {
			return err
		}
		from += int64(n)
	}
	return nil
}
