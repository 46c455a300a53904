package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// shared is a copy that others look at while it is filled.
type shared struct {
	mu sync.Mutex
	memory
}

func (s *shared) LastShipped(ctx context.Context, replica string) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.memory.LastShipped(ctx, replica)
}

func (s *shared) Ship(ctx context.Context, rs []Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(rs) > shipBatch {
		return fmt.Errorf("%d records at once", len(rs))
	}
	return s.memory.Ship(ctx, rs)
}

func (s *shared) Prune(_ context.Context, _ string, upTo uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prunes = append(s.prunes, upTo)
	for len(s.records) > 0 && s.records[0].Seq <= upTo {
		s.records = s.records[1:]
	}
	return nil
}

func (s *shared) set(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = err
}

func TestShipping(t *testing.T) {
	t.Parallel()
	dir := place(t)
	synctest.Test(t, func(t *testing.T) {
		s := &shared{}
		j := open(t, Options{Dir: dir, Shipper: s, SegmentBytes: 20_000})
		run(t, j, "a", 700)
		time.Sleep(3 * shipInterval)
		synctest.Wait()
		if st := j.State(); st.Lag != 0 || st.Shipped != st.Seq {
			t.Fatalf("state %+v", st)
		}
		s.mu.Lock()
		if s.calls > 1400/shipBusyBatch+2 {
			t.Errorf("%d batches for 1400 records", s.calls)
		}
		s.mu.Unlock()

		// The database is away: no call notices, and nothing is lost.
		s.set(errors.New("away"))
		run(t, j, "b", 100)
		time.Sleep(time.Minute)
		synctest.Wait()
		if st := j.State(); !st.OK || !st.Degraded || st.Lag < 200 || !strings.Contains(st.Problems[0], "away") {
			t.Fatalf("state %+v", st)
		}
		s.set(nil)
		time.Sleep(shipMaxBackoff)
		synctest.Wait()
		if st := j.State(); st.Degraded || st.Lag != 0 {
			t.Fatalf("state %+v", st)
		}
		s.set(errors.New("away"))
		run(t, j, "c", 10)
		closed(t, j)
		s.set(nil)

		// What was not copied is copied after the next start.
		j = open(t, Options{Dir: dir, Shipper: s})
		time.Sleep(3 * shipInterval)
		synctest.Wait()
		if st := j.State(); st.Lag != 0 {
			t.Fatalf("state %+v", st)
		}
		run(t, j, "d", 10)
		closed(t, j) // copies the rest
		r, err := VerifyRecords(context.Background(), s.all(), VerifyOptions{Dir: dir})
		if err != nil || !r.OK || r.Last != j.State().Seq {
			t.Errorf("%+v, %v", r, err)
		}
	})
	clean(t, dir)
}

// fullCopy is a copy that says how far it is and takes no more.
type fullCopy struct{ attempts int }

func (*fullCopy) LastShipped(context.Context, string) (uint64, error) { return 0, nil }

func (c *fullCopy) Ship(context.Context, []Record) error {
	c.attempts++
	return errors.New("full")
}

// openSegments counts the files of a journal that this process has open.
func openSegments(t testing.TB, dir string) (n int) {
	t.Helper()
	const openFiles = "/proc/self/fd"
	files, err := os.ReadDir(openFiles)
	if err != nil {
		t.Skip("this system does not tell which files are open")
	}
	for _, f := range files {
		if at, err := os.Readlink(filepath.Join(openFiles, f.Name())); err == nil && filepath.Dir(at) == dir && strings.HasSuffix(at, segmentSuffix) {
			n++
		}
	}
	return n
}

// A copy that fails for days must not use up the files of the process, and a journal
// that is closed keeps none.
func TestShippingKeepsNoFilesOpen(t *testing.T) {
	t.Parallel()
	for name, ship := range map[string]Shipper{"copied": &shared{}, "full": &fullCopy{}} {
		dir := place(t)
		synctest.Test(t, func(t *testing.T) {
			j := open(t, Options{Dir: dir, Shipper: ship})
			run(t, j, "a", 3)
			time.Sleep(10 * shipMaxBackoff)
			synctest.Wait()
			if n := openSegments(t, dir); n > 2 { // the one that is written, and the one that is read
				t.Errorf("%s: %d segments are open", name, n)
			}
			if c, fails := ship.(*fullCopy); fails && c.attempts < 10 {
				t.Errorf("%d attempts to copy", c.attempts)
			}
			closed(t, j)
			if n := openSegments(t, dir); n != 0 {
				t.Errorf("%s: %d segments are open after the end", name, n)
			}
		})
	}
}

func TestCopyThatIsAhead(t *testing.T) {
	t.Parallel()
	dir := place(t)
	s := &shared{memory: memory{records: []Record{{Seq: 999}}}}
	synctest.Test(t, func(t *testing.T) {
		j := open(t, Options{Dir: dir, Shipper: s})
		run(t, j, "a", 3)
		time.Sleep(time.Second)
		synctest.Wait()
		if st := j.State(); !st.OK || !st.Degraded || !strings.Contains(st.Problems[0], "999") {
			t.Errorf("state %+v", st)
		}
		closed(t, j)
	})
}

func TestHeadsAreSignedInTime(t *testing.T) {
	t.Parallel()
	dir := place(t)
	synctest.Test(t, func(t *testing.T) {
		j := open(t, Options{Dir: dir, HeadRecords: 50})
		seq := func() uint64 {
			synctest.Wait()
			h, err := readHead(resolveHeadsDir(dir, ""), "n1", mustKey(t, resolveHeadsDir(dir, "")))
			if err != nil {
				t.Fatal(err)
			}
			return h.Seq
		}
		if got := seq(); got != 1 {
			t.Errorf("at the start: %d", got)
		}
		run(t, j, "a", 5)
		if got := seq(); got != 1 {
			t.Errorf("too early: %d", got)
		}
		time.Sleep(j.options.HeadInterval)
		if got := seq(); got != 11 {
			t.Errorf("after a while: %d", got)
		}
		run(t, j, "b", 20)
		if got := seq(); got < 50 {
			t.Errorf("after many records: %d", got)
		}
		closed(t, j)
		if got := seq(); got != 51 {
			t.Errorf("at the end: %d", got)
		}
	})
}

func TestRetention(t *testing.T) {
	t.Parallel()
	dir := place(t)
	heads := resolveHeadsDir(dir, "")
	s := &shared{}
	synctest.Test(t, func(t *testing.T) {
		o := Options{Dir: dir, SegmentBytes: 3000, Retention: 30 * time.Minute, Shipper: s}
		j := open(t, o)
		for n := range 30 {
			if n == 20 {
				s.set(errors.New("away")) // what is not copied is kept
			}
			run(t, j, fmt.Sprint(n), 4)
			time.Sleep(3 * time.Minute)
		}
		synctest.Wait()
		st := j.State()
		if st.Checkpoint == 0 || st.Checkpoint > st.Shipped {
			t.Errorf("state %+v", st)
		}
		if r := clean(t, dir); r.First != st.Checkpoint+1 {
			t.Errorf("begins at %d behind checkpoint %d", r.First, st.Checkpoint)
		}
		s.set(nil)
		time.Sleep(6 * time.Minute)
		synctest.Wait()
		if now := j.State(); now.Checkpoint <= st.Checkpoint {
			t.Errorf("still at %+v", now)
		}
		closed(t, j)
	})
	r := clean(t, dir)
	if c, err := VerifyRecords(context.Background(), s.all(), VerifyOptions{Dir: dir}); err != nil || !c.OK || c.First != r.First {
		t.Errorf("the copy: %+v, %v", c, err)
	}
	cps, err := os.ReadFile(checkpointPath(heads, "n1"))
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(cps, []byte("\n"))
	lines = lines[:len(lines)-1]
	if len(lines) < 2 || len(s.prunes) != len(lines) {
		t.Fatalf("%d checkpoints, %d told", len(lines), len(s.prunes))
	}
	for name, forged := range map[string][]byte{
		"missing":         nil,
		"the last one":    bytes.Join(lines[:len(lines)-1], nil),
		"the first one":   bytes.Join(lines[1:], nil),
		"another number":  bytes.Replace(cps, []byte(`"up_to_seq":`), []byte(`"up_to_seq":1`), 1),
		"another content": bytes.Replace(cps, []byte(`"hash":"`), []byte(`"hash":"0`), 1),
	} {
		if err := os.WriteFile(checkpointPath(heads, "n1"), forged, 0o600); err != nil {
			t.Fatal(err)
		}
		if r := verified(t, dir); r.OK || r.FirstBad == nil {
			t.Errorf("%s: not found", name)
		}
		if r, err := VerifyRecords(context.Background(), s.all(), VerifyOptions{HeadsDir: heads}); err != nil || r.OK {
			t.Errorf("%s: not found in the copy: %v", name, err)
		}
	}
}

// What does not hold is evidence and is not removed.
func TestRetentionKeepsEvidence(t *testing.T) {
	t.Parallel()
	dir := place(t)
	synctest.Test(t, func(t *testing.T) {
		j := open(t, Options{Dir: dir, SegmentBytes: 1000, Retention: 10 * time.Minute})
		run(t, j, "a", 10)
		segs, err := listSegments(dir)
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(segs[0].path)
		if err != nil {
			t.Fatal(err)
		}
		b[150] ^= 1
		if err := os.WriteFile(segs[0].path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Minute)
		synctest.Wait()
		if s := j.State(); !s.Degraded || s.Checkpoint != 0 {
			t.Errorf("state %+v", s)
		}
		closed(t, j)
	})
	if r := verified(t, dir); r.OK || r.FirstBad.Seq != 1 {
		t.Errorf("%+v", r.FirstBad)
	}
}

// A crash between the checkpoint and the last removal leaves old segments.
func TestRetentionInterrupted(t *testing.T) {
	t.Parallel()
	dir := place(t)
	synctest.Test(t, func(t *testing.T) {
		o := Options{Dir: dir, SegmentBytes: 1000, Retention: 10 * time.Minute}
		j := open(t, o)
		run(t, j, "a", 10)
		closed(t, j)
		before := t.TempDir()
		if err := os.CopyFS(before, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Minute)
		j = open(t, o)
		synctest.Wait()
		closed(t, j)
		left, err := listSegments(dir)
		if err != nil || len(left) != 1 {
			t.Fatalf("%v, %v", left, err)
		}
		old, err := listSegments(before)
		if err != nil {
			t.Fatal(err)
		}
		restore := func(segs []segment) {
			for _, s := range segs {
				b, err := os.ReadFile(s.path)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, s.fileName()), b, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		restore(old[2 : len(old)-1])
		clean(t, dir)
		// Nothing stands before its first record any more, which is held against the hash
		// that it names itself.
		first := filepath.Join(dir, old[2].fileName())
		whole, err := os.ReadFile(first)
		if err != nil {
			t.Fatal(err)
		}
		edited := bytes.Replace(whole, []byte(`"time":"2000`), []byte(`"time":"2001`), 1)
		if bytes.Equal(whole, edited) {
			t.Fatalf("nothing was edited in %s", whole[:min(len(whole), 300)])
		}
		if err := os.WriteFile(first, edited, 0o600); err != nil {
			t.Fatal(err)
		}
		if r := verified(t, dir); r.OK || r.FirstBad.Seq != old[2].first || r.FirstBad.Line != 1 {
			t.Errorf("the first record that is left was changed: %+v", r.FirstBad)
		}
		if err := os.WriteFile(first, whole, 0o600); err != nil {
			t.Fatal(err)
		}
		j = open(t, o)
		synctest.Wait()
		closed(t, j)
		if left, err := listSegments(dir); err != nil || len(left) != 1 {
			t.Errorf("%d segments are left, %v", len(left), err)
		}
		clean(t, dir)
		// With a hole it is no such remainder.
		restore(old[1:2])
		if r := verified(t, dir); r.OK {
			t.Error("a segment with nothing behind it is accepted")
		}
	})
}

func TestListAndExport(t *testing.T) {
	t.Parallel()
	dir := place(t)
	now := newClock()
	j := open(t, Options{Dir: dir, SegmentBytes: 2000, Now: now.Now})
	for i := range 20 {
		now.add(time.Hour)
		c := started(fmt.Sprint(i))
		c.Subject = []string{"alice", "bob"}[i%2]
		record(t, j, c)
	}
	closed(t, j)
	ctx := context.Background()
	var pages []Record
	for f := (Filter{Subject: "bob", Limit: 3}); ; {
		page, err := ListRecords(ctx, dir, f)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, page...)
		if len(page) < f.Limit {
			break
		}
		f.Before = page[len(page)-1].Seq
	}
	if len(pages) != 10 || pages[0].Call != "19" || pages[9].Call != "1" {
		t.Errorf("%d records of bob, from %s", len(pages), pages[0].Call)
	}
	since, until := time.Date(2026, 1, 1, 5, 0, 0, 0, time.UTC), time.Date(2026, 1, 1, 8, 0, 0, 0, time.UTC)
	got, err := ListRecords(ctx, dir, Filter{Since: since, Until: until, Tenant: junctor.DefaultTenant})
	if err != nil || len(got) != 3 || got[0].Call != "6" || got[2].Call != "4" {
		t.Errorf("%v, %v", got, err)
	}

	var out bytes.Buffer
	if err := ExportRecords(ctx, &out, dir, time.Time{}, time.Time{}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	last := lines[len(lines)-1]
	var head struct{ Head Head }
	if err := json.Unmarshal([]byte(last), &head); err != nil || head.Head.Seq != uint64(len(lines)-1) {
		t.Fatalf("the last line is %s, %v", last, err)
	}
	var prev [32]byte
	for _, text := range lines[:len(lines)-1] {
		var x struct {
			Hash   string
			Record json.RawMessage
		}
		if err := json.Unmarshal([]byte(text), &x); err != nil {
			t.Fatal(err)
		}
		if prev = follow(&prev, x.Record); fmt.Sprintf("%x", prev) != x.Hash {
			t.Fatal("the export is not the chain")
		}
	}

	// Journal and head are put back to an earlier state together: only a head
	// that was kept elsewhere shows it.
	if err := os.RemoveAll(filepath.Dir(segmentPath(dir, 1))); err != nil {
		t.Fatal(err)
	}
	j = open(t, Options{Dir: dir, HeadsDir: filepath.Join(filepath.Dir(dir), "others")})
	closed(t, j)
	r, err := Verify(ctx, dir, VerifyOptions{HeadsDir: filepath.Join(filepath.Dir(dir), "others"), Key: mustKey(t, resolveHeadsDir(dir, "")), Heads: []Head{head.Head}})
	if err != nil || r.OK {
		t.Errorf("%+v, %v", r, err)
	}
}

// A piece of a line that could not be written whole is taken back. A reader that read ahead
// and has it must not put it before what is written in its place.
func TestShippingPastATornLine(t *testing.T) {
	t.Parallel()
	for _, partial := range []int{1, 70, 300} {
		dir, f := place(t), &faults{}
		j := open(t, Options{Dir: dir, openSegment: f.opener})
		run(t, j, "a", 10)
		copied := &memory{}
		tl := &recordTail{dir: dir, nextSeq: 1}
		defer tl.close()
		ship := func(upTo uint64, n int) {
			batch, err := tl.readBatch(upTo, n)
			if err == nil {
				err = copied.Ship(t.Context(), batch)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		upTo := j.State().Seq
		f.set(func(f *faults) { f.write, f.partial, f.truncate = syscall.ENOSPC, partial, syscall.EIO })
		refused(t, j, started("b"))
		ship(upTo, 5)
		f.set(func(f *faults) { f.write, f.truncate = nil, nil })
		run(t, j, "c", 10)
		closed(t, j)
		ship(j.State().Seq, 100)
		if r, err := VerifyRecords(t.Context(), copied.all(), VerifyOptions{Dir: dir}); err != nil || !r.OK || r.Last != j.State().Seq {
			t.Errorf("%d bytes of a line: %+v, %v", partial, r, err)
		}
	}
}
