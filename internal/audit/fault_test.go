package audit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	junctor "github.com/junctor-mcp/junctor"
)

// faults is a disk that can fail in chosen ways.
type faults struct {
	mu       sync.Mutex
	write    error // what a write says
	partial  int   // how many bytes it takes before that
	truncate error
	sync     error
	open     error
	syncs    atomic.Int64
	writes   atomic.Int64
}

func (f *faults) set(change func(*faults)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

type faulty struct {
	*os.File
	f *faults
}

func (f *faults) opener(path string, fresh bool) (segmentFile, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open != nil {
		return nil, f.open
	}
	got, err := openSegmentFile(path, fresh)
	if err != nil {
		return nil, err
	}
	return &faulty{got.(*os.File), f}, nil
}

func (w *faulty) WriteAt(b []byte, off int64) (int, error) {
	w.f.mu.Lock()
	defer w.f.mu.Unlock()
	w.f.writes.Add(1)
	if w.f.write != nil {
		n := min(w.f.partial, len(b))
		if n > 0 {
			if _, err := w.File.WriteAt(b[:n], off); err != nil {
				return 0, err
			}
		}
		return n, &os.PathError{Op: "write", Path: w.Name(), Err: w.f.write}
	}
	return w.File.WriteAt(b, off)
}

func (w *faulty) Truncate(n int64) error {
	w.f.mu.Lock()
	defer w.f.mu.Unlock()
	if w.f.truncate != nil {
		return w.f.truncate
	}
	return w.File.Truncate(n)
}

func (w *faulty) Sync() error {
	w.f.mu.Lock()
	err := w.f.sync
	w.f.mu.Unlock()
	w.f.syncs.Add(1)
	if err != nil {
		return err
	}
	return w.File.Sync()
}

func refused(t *testing.T, j *Journal, c *junctor.Call) {
	t.Helper()
	err := j.Append(context.Background(), c)
	if junctor.CodeOf(err) != junctor.CodeUnavailable {
		t.Fatalf("got %v", err)
	}
}

func TestDiskThatFailsAndHeals(t *testing.T) {
	t.Parallel()
	for _, why := range []error{syscall.ENOSPC, syscall.EROFS, syscall.EIO} {
		for _, strict := range []bool{false, true} {
			for _, partial := range []int{0, 1, 64, 65, 100, 10_000} {
				dir := filepath.Join(quickRoot(t), "journal")
				f := &faults{}
				j := open(t, Options{Dir: dir, openSegment: f.opener, Strict: strict})
				record(t, j, started("a"))
				f.set(func(f *faults) { f.write, f.partial = why, partial })
				refused(t, j, ended("a"))
				refused(t, j, started("b"))
				f.set(func(f *faults) { f.truncate = why }) // and now not even that
				refused(t, j, started("c"))
				if s := j.State(); s.OK || !strings.Contains(s.Error, why.Error()) || s.Lost != 1 {
					t.Fatalf("state %+v", s)
				}
				if calls, _ := j.Calls(Query{Access: junctor.AllCalls(junctor.DefaultTenant), Limit: 9}); len(calls) != 1 || calls[0].Status != junctor.StatusSuccess {
					t.Errorf("calls %+v", calls)
				}
				f.set(func(f *faults) { f.write = nil })
				if _, _, _, torn := at(j); torn {
					refused(t, j, started("d")) // half a line is in the way
				}
				f.set(func(f *faults) { f.truncate = nil })
				record(t, j, started("e"))
				if s := j.State(); !s.OK || s.Error != "" || s.Degraded {
					t.Fatalf("healed, but %+v", s)
				}
				closed(t, j)
				r := clean(t, dir)
				if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "1 ends") {
					t.Errorf("notes %q", r.Notes)
				}
			}
		}
	}
}

// A journal that nobody writes to heals too: a load balancer sends nothing to
// an instance that is not ready.
func TestHealsWithoutCalls(t *testing.T) {
	t.Parallel()
	dir := place(t)
	synctest.Test(t, func(t *testing.T) {
		f := &faults{}
		j := open(t, Options{Dir: dir, openSegment: f.opener})
		f.set(func(f *faults) { f.write = syscall.ENOSPC })
		refused(t, j, started("a"))
		time.Sleep(10 * probeInterval)
		if s := j.State(); s.OK {
			t.Fatal("it cannot be well yet")
		}
		f.set(func(f *faults) { f.write = nil })
		time.Sleep(2 * probeInterval)
		synctest.Wait()
		if s := j.State(); !s.OK {
			t.Fatalf("state %+v", s)
		}
		closed(t, j)
	})
	clean(t, dir)
}

func TestSyncThatFails(t *testing.T) {
	t.Parallel()
	dir := place(t)
	f := &faults{}
	j := open(t, Options{Dir: dir, openSegment: f.opener, Strict: true})
	record(t, j, started("a"))
	f.set(func(f *faults) { f.sync = syscall.EIO })
	refused(t, j, ended("a"))
	if s := j.State(); s.OK || !s.Degraded {
		t.Errorf("state %+v", s)
	}
	f.set(func(f *faults) { f.sync = nil })
	before := f.writes.Load()
	record(t, j, started("b"))
	if n := f.writes.Load() - before; n < 2 {
		t.Errorf("%d writes: what the failed sync left was not written again", n)
	}
	if s := j.State(); !s.OK || s.Degraded {
		t.Errorf("state %+v", s)
	}
	closed(t, j)
	clean(t, dir)
}

// A segment that cannot be closed is written on.
func TestNewSegmentThatCannotBeMade(t *testing.T) {
	t.Parallel()
	dir := place(t)
	synctest.Test(t, func(t *testing.T) {
		f := &faults{}
		j := open(t, Options{Dir: dir, openSegment: f.opener, SegmentBytes: 500})
		f.set(func(f *faults) { f.open = syscall.EROFS })
		run(t, j, "a", 5)
		if s := j.State(); !s.OK || !s.Degraded {
			t.Errorf("state %+v", s)
		}
		f.set(func(f *faults) { f.open = nil })
		time.Sleep(2 * rollRetryDelay)
		run(t, j, "b", 5)
		if s := j.State(); !s.OK || s.Degraded {
			t.Errorf("state %+v", s)
		}
		closed(t, j)
	})
	if segs, err := listSegments(dir); err != nil || len(segs) < 2 {
		t.Errorf("%d segments, %v", len(segs), err)
	}
	clean(t, dir)
}

func TestCallersShareASync(t *testing.T) {
	t.Parallel()
	f := &faults{}
	dir := place(t)
	j := open(t, Options{Dir: dir, openSegment: f.opener, Strict: true})
	var wg sync.WaitGroup
	const callers, each = 32, 20
	for g := range callers {
		wg.Go(func() { run(t, j, fmt.Sprint(g), each) })
	}
	wg.Wait()
	if n := f.syncs.Load(); n >= callers*each*2/2 {
		t.Errorf("%d syncs for %d records", n, callers*each*2)
	} else {
		t.Logf("%d syncs for %d records", n, callers*each*2)
	}
	if seq := j.State().Seq; j.syncedSeq.Load() != seq {
		t.Errorf("synced up to %d of %d", j.syncedSeq.Load(), seq)
	}
	closed(t, j)
	clean(t, dir)
}

// Whatever fails and when, an acknowledged record is there and the chain holds.
func TestRandomFaults(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		dir := filepath.Join(quickRoot(rt), "journal")
		f := &faults{}
		o := Options{Dir: dir, Replica: "n1", openSegment: f.opener, Strict: rapid.Bool().Draw(rt, "strict"), SegmentBytes: rapid.Int64Range(300, 3000).Draw(rt, "segment")}
		j, err := Open(context.Background(), o)
		if err != nil {
			rt.Fatal(err)
		}
		acked, n := map[string]bool{}, 0
		toggle := func(p *error) func(*rapid.T) {
			return func(*rapid.T) {
				f.set(func(*faults) {
					if *p == nil {
						*p = syscall.EIO
					} else {
						*p = nil
					}
				})
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"call": func(*rapid.T) {
				n++
				id := fmt.Sprint(n)
				if j.Append(context.Background(), started(id)) == nil {
					acked[id] = true
				}
			},
			"write":    toggle(&f.write),
			"truncate": toggle(&f.truncate),
			"sync":     toggle(&f.sync),
			"open":     toggle(&f.open),
			"partial":  func(rt *rapid.T) { f.set(func(f *faults) { f.partial = rapid.IntRange(0, 600).Draw(rt, "bytes") }) },
		})
		f.set(func(f *faults) { f.write, f.truncate, f.sync, f.open = nil, nil, nil, nil })
		if err := j.Append(context.Background(), started("last")); err != nil {
			rt.Fatalf("not healed: %v", err)
		}
		if err := j.Close(context.Background()); err != nil {
			rt.Fatal(err)
		}
		r, err := Verify(context.Background(), dir, VerifyOptions{})
		if err != nil || !r.OK {
			rt.Fatalf("%v, %v", r.FirstBad, err)
		}
		all, err := ListRecords(context.Background(), dir, Filter{})
		if err != nil {
			rt.Fatal(err)
		}
		for _, rec := range all {
			delete(acked, rec.Call)
		}
		if len(acked) > 0 {
			rt.Fatalf("acknowledged and not on record: %v", acked)
		}
	})
}

func TestFolderThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "journal"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(context.Background(), Options{Dir: filepath.Join(root, "journal"), Replica: "n1"})
	if junctor.CodeOf(err) != junctor.CodeUnavailable {
		t.Errorf("got %v", err)
	}
	var e *junctor.Error
	if !errors.As(err, &e) || e.Cause == nil {
		t.Errorf("no cause in %v", err)
	}
}

// A long piece of a record that failed is not left behind a short one.
func TestPieceIsTakenBack(t *testing.T) {
	t.Parallel()
	for _, truncates := range []bool{true, false} {
		dir := place(t)
		f := &faults{}
		j := open(t, Options{Dir: dir, openSegment: f.opener})
		f.set(func(f *faults) {
			f.write, f.partial = syscall.ENOSPC, 1500
			if !truncates { // not at once
				f.truncate = syscall.EIO
			}
		})
		long := started("a")
		long.Name = strings.Repeat("x", maxName)
		refused(t, j, long)
		f.set(func(f *faults) { f.write, f.truncate = nil, nil })
		j.probeSegment()
		if s := j.State(); !s.OK {
			t.Fatalf("state %+v", s)
		}
		closed(t, j)
		clean(t, dir)
		if info, err := os.Stat(segmentPath(dir, 1)); err != nil || info.Size() > 1000 {
			t.Errorf("%d bytes, %v", info.Size(), err)
		}
	}
}

// A file that cannot be put in place is an error, and no half of it stays behind.
func TestFileThatCannotBeReplaced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "head")
	if err := os.MkdirAll(filepath.Join(path, "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := writeFile(path, []byte("new"), 0o600); err == nil {
		t.Error("nobody hears that the file is not there")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%v, %v", left, err)
	}
}
