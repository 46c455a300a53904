package audit

import (
	"crypto/sha256"
	"errors"
	"os"
)

// extent is a file up to a place.
type extent struct {
	file file
	off  int64
}

// mark is a place in the chain up to which all is on disk.
type mark struct {
	seq  uint64
	hash [sha256.Size]byte
}

// commit waits until a record is on disk. Callers that wait together share a
// sync: who gets the lock first syncs for all that were written by then.
func (j *Journal) commit(seq uint64) error {
	if j.synced.Load() >= seq {
		return nil
	}
	j.flushing.Lock()
	defer j.flushing.Unlock()
	if j.synced.Load() >= seq {
		return nil
	}
	if _, err := j.flush(); err != nil {
		return unavailable(err)
	}
	return nil
}

// flushAll brings everything that was written so far to the disk.
func (j *Journal) flushAll() (mark, error) {
	j.flushing.Lock()
	defer j.flushing.Unlock()
	return j.flush()
}

// flush syncs; flushing is held.
func (j *Journal) flush() (mark, error) {
	j.mu.Lock()
	m := mark{j.seq, j.prev}
	todo := append(j.retired, extent{j.file, j.off})
	j.retired = nil
	j.mu.Unlock()

	err := j.syncFiles(todo)
	j.mu.Lock()
	if err != nil {
		j.retired = append(todo[:len(todo)-1:len(todo)-1], j.retired...)
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

func rewrite(f file, from, to int64) error {
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
