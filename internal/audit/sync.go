package audit

import (
	"crypto/sha256"
	"errors"
	"os"
	"runtime"
	"slices"
	"sync"
)

// extent is a file up to a place.
type extent struct {
	file segmentFile
	off  int64
}

// mark is a place in the chain up to which all is on disk.
type mark struct {
	seq  uint64
	hash [sha256.Size]byte
}

// gate lets one flush through at a time. Those who wait for it are woken
// together, so that they share the next one.
type gate struct {
	mu   sync.Mutex
	free sync.Cond
	busy bool
}

// commit waits until a record is on disk. Callers that wait together share a
// sync: the first syncs for all that were written by then.
func (j *Journal) commit(seq uint64) error {
	g := &j.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	for j.synced.Load() < seq {
		if g.busy {
			g.free.Wait()
			continue
		}
		if _, err := j.pass(); err != nil {
			return unavailable(err)
		}
	}
	return nil
}

// flushAll brings everything that was written so far to the disk.
func (j *Journal) flushAll() (mark, error) {
	g := &j.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.busy {
		g.free.Wait()
	}
	return j.pass()
}

// pass flushes with the gate shut. The gate's lock is held, but not meanwhile.
func (j *Journal) pass() (mark, error) {
	g := &j.gate
	g.busy = true
	g.mu.Unlock()
	// Who was woken by the last flush gets to write before this one.
	runtime.Gosched()
	m, err := j.flush()
	g.mu.Lock()
	g.busy = false
	g.free.Broadcast()
	return m, err
}

func (j *Journal) flush() (mark, error) {
	j.mu.Lock()
	m := mark{j.seq, j.prev}
	j.todo = append(append(j.todo[:0], j.retired...), extent{j.file, j.off})
	todo := j.todo
	j.retired = nil
	j.mu.Unlock()

	err := j.syncFiles(todo)
	j.mu.Lock()
	if err != nil {
		j.retired = slices.Concat(todo[:len(todo)-1], j.retired)
	}
	j.problems.set(problemSync, err)
	j.mu.Unlock()
	if err != nil {
		return mark{}, err
	}
	for _, done := range todo[:len(todo)-1] {
		done.file.Close()
	}
	j.synced.Store(m.seq)
	return m, nil
}

func (j *Journal) syncFiles(todo []extent) error {
	for _, e := range todo {
		if j.good.file != e.file {
			j.good = extent{file: e.file}
		}
		if j.stale {
			// After a failed sync the system may take the pages for clean, and
			// the next sync would do nothing: make them dirty again.
			if err := rewrite(e.file, j.good.off, e.off); err != nil {
				return err
			}
		}
		if err := e.file.Sync(); err != nil {
			j.stale = true
			return err
		}
		j.good = e
	}
	j.stale = false
	if len(todo) > 1 {
		syncDir(j.o.Dir) // the name of the new segment
	}
	return nil
}

func rewrite(f segmentFile, from, to int64) error {
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
