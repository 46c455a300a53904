package audit

import (
	"crypto/sha256"
	"errors"
	"os"
	"runtime"
	"slices"
	"sync"
)

// fileExtent is a file up to a place.
type fileExtent struct {
	file   segmentFile
	offset int64
}

// chainPosition is a place in the chain up to which all is on disk.
type chainPosition struct {
	seq  uint64
	hash [sha256.Size]byte
}

// flushGate lets one flush through at a time. Those who wait for it are woken
// together, so that they share the next one.
type flushGate struct {
	mu   sync.Mutex
	idle sync.Cond
	busy bool
}

// waitSynced waits until a record is on disk. Callers that wait together share a
// sync: the first syncs for all that were written by then.
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

// flushWritten brings everything that was written so far to the disk.
func (j *Journal) flushWritten() (chainPosition, error) {
	g := &j.flushGate
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.busy {
		g.idle.Wait()
	}
	return j.flushThroughGate()
}

// flushThroughGate flushes with the gate shut. The gate's lock is held, but not meanwhile.
func (j *Journal) flushThroughGate() (chainPosition, error) {
	g := &j.flushGate
	g.busy = true
	g.mu.Unlock()
	// Who was woken by the last flush gets to write before this one.
	runtime.Gosched()
	m, err := j.flushExtents()
	g.mu.Lock()
	g.busy = false
	g.idle.Broadcast()
	return m, err
}

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

func (j *Journal) syncFiles(todo []fileExtent) error {
	for _, e := range todo {
		if j.syncedExtent.file != e.file {
			j.syncedExtent = fileExtent{file: e.file}
		}
		if j.rewriteBeforeSync {
			// After a failed sync the system may take the pages for clean, and
			// the next sync would do nothing: make them dirty again.
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
		syncDir(j.options.Dir) // the name of the new segment
	}
	return nil
}

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
