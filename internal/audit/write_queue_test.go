package audit

import (
	"bytes"
	"fmt"
	"os"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
)

func TestTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var turns writeQueue
		come := func() (*pendingRecord, chan bool) {
			n, mine := &pendingRecord{written: make(chan bool, 1)}, make(chan bool, 1)
			go func() { mine <- turns.enqueue(n) }()
			synctest.Wait()
			return n, mine
		}
		_, first := come()
		_, second := come()
		third, last := come()
		if !<-first || len(second) > 0 || len(last) > 0 {
			t.Fatal("the turn is not that of the first alone")
		}
		turns.handOver()
		if !<-second || len(last) > 0 {
			t.Fatal("it was not passed to the second")
		}
		if others := turns.nextBatch(); len(others) != 1 || others[0] != third {
			t.Fatalf("%d came meanwhile", len(others))
		}
		third.written <- true
		if <-last {
			t.Error("what was written is to be written again")
		}
		if len(turns.nextBatch()) > 0 {
			t.Error("somebody comes twice")
		}
		if _, next := come(); !<-next {
			t.Error("the turn is not free")
		}
		turns.handOver()
		if _, next := come(); !<-next {
			t.Error("the turn is not free after it was passed to nobody")
		}
	})
}

// crowded is a disk on which somebody else has come to write before each write ends.
type crowded struct {
	*os.File
	meanwhile *func()
}

func (w *crowded) WriteAt(b []byte, off int64) (int, error) {
	(*w.meanwhile)()
	return w.File.WriteAt(b, off)
}

// Turns go from hand to hand, and everybody is recorded once.
func TestCrowd(t *testing.T) {
	t.Parallel()
	dir := place(t)
	const callers = 10 * maxBatchesPerWriter
	meanwhile := func() {}
	j := open(t, Options{Dir: dir, openSegment: func(path string, fresh bool) (segmentFile, error) {
		f, err := openSegmentFile(path, fresh)
		if err != nil {
			return nil, err
		}
		return &crowded{f.(*os.File), &meanwhile}, nil
	}})
	var wg sync.WaitGroup
	left := callers
	meanwhile = func() { // under the journal's lock
		if left == 0 {
			return
		}
		left--
		c := ended(fmt.Sprint("c", left))
		wg.Go(func() { record(t, j, c) })
		for waits := 0; waits == 0; {
			j.writeQueue.mu.Lock()
			waits = len(j.writeQueue.waiting)
			j.writeQueue.mu.Unlock()
		}
	}
	record(t, j, ended("first"))
	wg.Wait()
	closed(t, j)
	calls := map[string]int{}
	all, err := ListRecords(t.Context(), dir, Filter{Phase: PhaseEnd})
	for _, r := range all {
		calls[r.Call]++
	}
	if err != nil || len(all) != callers+1 || len(calls) != callers+1 {
		t.Errorf("%d records of %d calls, %v; want one of each of %d", len(all), len(calls), err, callers+1)
	}
	clean(t, dir)
}

// narrow is a disk that has no room for more than one record at a time.
type narrow struct {
	*os.File
	writes *int
}

func (w *narrow) WriteAt(b []byte, off int64) (int, error) {
	if *w.writes++; bytes.Count(b, []byte{'\n'}) > 1 {
		return 0, syscall.ENOSPC
	}
	return w.File.WriteAt(b, off)
}

// Records that come together are written in one go, or, where that fails, one by one.
func TestWrittenTogether(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		writes int
		wrap   func(*os.File, *int) segmentFile
	}{
		"room for all": {1, func(f *os.File, writes *int) segmentFile {
			return &crowded{f, new(func() { *writes++ })}
		}},
		"room for one": {1 + 3, func(f *os.File, writes *int) segmentFile { return &narrow{f, writes} }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, writes := place(t), 0
			j := open(t, Options{Dir: dir, openSegment: func(path string, fresh bool) (segmentFile, error) {
				f, err := openSegmentFile(path, fresh)
				if err != nil {
					return nil, err
				}
				return c.wrap(f.(*os.File), &writes), nil
			}})
			var notes []*pendingRecord
			for _, id := range []string{"a", "b", "c"} {
				n := &pendingRecord{call: ended(id)}
				n.body.addCall(n.call)
				notes = append(notes, n)
			}
			j.mu.Lock()
			first, before := j.seq+1, writes
			j.appendBatch(notes)
			took := writes - before
			j.mu.Unlock()
			for i, n := range notes {
				if n.err != nil || n.seq != first+uint64(i) {
					t.Errorf("%s: record %d, %v; want %d", n.call.ID, n.seq, n.err, first+uint64(i))
				}
			}
			if took != c.writes {
				t.Errorf("%d writes, want %d", took, c.writes)
			}
			closed(t, j)
			clean(t, dir)
		})
	}
}
