package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// remembering is a copy that also keeps the highest head.
type remembering struct {
	shared
	head   *Head
	refuse error
	check  func(seq uint64) // told of every record that is known from now on
}

func (m *remembering) Ship(ctx context.Context, rs []Record) error {
	if m.check != nil {
		m.check(rs[len(rs)-1].Seq)
	}
	return m.shared.Ship(ctx, rs)
}

func (m *remembering) LoadKnown(context.Context, string) (k KnownChain, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refuse != nil {
		return k, m.refuse
	}
	if n := len(m.records); n > 0 {
		k.CopiedSeq, k.CopiedHash = m.records[n-1].Seq, m.records[n-1].Hash
	}
	if m.head != nil {
		head := *m.head
		k.Head = &head
	}
	return k, nil
}

func (m *remembering) KeepHead(_ context.Context, head Head, replace bool) error {
	if m.check != nil {
		m.check(head.Seq)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refuse != nil {
		return m.refuse
	}
	if replace || m.head == nil || head.Seq > m.head.Seq {
		m.head = &head
	}
	return nil
}

// putBack replaces a journal and its heads by an older copy of them.
func putBack(t *testing.T, dir, older string) {
	t.Helper()
	root := filepath.Dir(dir)
	for _, folder := range []string{"journal", "heads"} {
		if err := errors.Join(os.RemoveAll(filepath.Join(root, folder)), os.CopyFS(filepath.Join(root, folder), os.DirFS(filepath.Join(older, folder)))); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(signingKeyPath(filepath.Join(root, "heads")), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A journal that was put back is found by what others remember: at the start, which
// goes on above it and says so, and by every verification.
func TestJournalPutBack(t *testing.T) {
	t.Parallel()
	for name, forget := range map[string]func(*remembering){
		"by copy and head":  func(*remembering) {},
		"by the head alone": func(m *remembering) { m.records = nil },
		"by the copy alone": func(m *remembering) { m.head = nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, m := place(t), &remembering{}
			j := open(t, Options{Dir: dir, Shipper: m})
			run(t, j, "a", 4)
			closed(t, j)
			older := snapshot(t, dir)
			ends := clean(t, dir).Last

			j = open(t, Options{Dir: dir, Shipper: m})
			run(t, j, "b", 4)
			closed(t, j)
			known, err := m.LoadKnown(t.Context(), "n1")
			if err != nil || known.Head == nil || known.Head.Seq != known.CopiedSeq || known.CopiedSeq <= ends {
				t.Fatalf("known %+v, %v", known, err)
			}
			if r, err := Verify(t.Context(), dir, VerifyOptions{Known: known}); err != nil || !r.OK {
				t.Fatalf("%+v, %v", r, err)
			}

			putBack(t, dir, older)
			clean(t, dir) // by itself it holds
			forget(m)
			if known, err = m.LoadKnown(t.Context(), "n1"); err != nil {
				t.Fatal(err)
			}
			last, _, _ := known.highestRecord()
			missing := fmt.Sprintf("records %d to %d", ends+1, last)
			r, err := Verify(t.Context(), dir, VerifyOptions{Known: known})
			if err != nil || r.OK || r.FirstBad.Seq != ends+1 || !strings.Contains(r.FirstBad.Reason, missing) {
				t.Fatalf("%v, %v; want %q", r.FirstBad, err, missing)
			}

			var log bytes.Buffer
			j = open(t, Options{Dir: dir, Shipper: m, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			s := j.State()
			if !s.OK || !s.Degraded || !strings.Contains(strings.Join(s.Problems, " "), missing) || s.Seq != last+1 {
				t.Errorf("state %+v; want record %d to tell %q", s, last+1, missing)
			}
			run(t, j, "c", 1)
			closed(t, j)
			if !strings.Contains(log.String(), missing) {
				t.Errorf("the log does not say %q: %s", missing, log.String())
			}
			if n := len(m.records); name != "by the head alone" && m.records[n-1].Seq != s.Seq+2 {
				t.Errorf("the copy ends at %d, the journal at %d", m.records[n-1].Seq, s.Seq+2)
			}
			for range 2 { // a later start neither hides it nor says it again
				if known, err = m.LoadKnown(t.Context(), "n1"); err != nil {
					t.Fatal(err)
				}
				r, err = Verify(t.Context(), dir, VerifyOptions{Known: known})
				if err != nil || r.OK || r.FirstBad.Seq != ends+1 || !strings.Contains(r.FirstBad.Reason, missing) {
					t.Fatalf("afterwards: %v, %v", r.FirstBad, err)
				}
				j = open(t, Options{Dir: dir, Shipper: m})
				closed(t, j)
			}
			if segs, err := listSegments(dir); err != nil || len(segs) != 2 {
				t.Errorf("%d segments, %v: each start tells it again", len(segs), err)
			}
		})
	}
}

// Another history of the same length, signed by the same key, is not the known one.
func TestJournalReplaced(t *testing.T) {
	t.Parallel()
	dir, m := place(t), &remembering{}
	j := open(t, Options{Dir: dir, Shipper: m})
	run(t, j, "a", 2)
	closed(t, j)
	older := snapshot(t, dir)
	j = open(t, Options{Dir: dir, Shipper: m})
	run(t, j, "b", 3)
	closed(t, j)
	putBack(t, dir, older)
	j = open(t, Options{Dir: dir}) // on no database, or on another
	run(t, j, "c", 9)
	closed(t, j)
	clean(t, dir)
	known, err := m.LoadKnown(t.Context(), "n1")
	if err != nil {
		t.Fatal(err)
	}
	if r, err := Verify(t.Context(), dir, VerifyOptions{Known: known}); err != nil || r.OK || r.FirstBad.Seq != known.CopiedSeq {
		t.Fatalf("%+v, %v", r, err)
	}
	j = open(t, Options{Dir: dir, Shipper: m})
	if s := j.State(); !s.Degraded || !strings.Contains(s.Problems[0], fmt.Sprintf("record %d is not the one that the database knows", known.CopiedSeq)) {
		t.Errorf("state %+v", s)
	}
	had := len(m.records)
	if err := j.compareCopy(t.Context()); err == nil {
		t.Error("records of one history are copied behind those of another")
	}
	closed(t, j)
	if len(m.records) != had {
		t.Errorf("the copy has %d records, and had %d", len(m.records), had)
	}
}

// A head in the database that the journal's key did not sign is told, and not
// believed: its number is not gone on with.
func TestForgedHighestHead(t *testing.T) {
	t.Parallel()
	dir, m := place(t), &remembering{}
	j := open(t, Options{Dir: dir, Shipper: m})
	run(t, j, "a", 2)
	closed(t, j)
	m.head.Seq = 1 << 40
	known, err := m.LoadKnown(t.Context(), "n1")
	if err != nil {
		t.Fatal(err)
	}
	if r, err := Verify(t.Context(), dir, VerifyOptions{Known: known}); err != nil || r.OK || !strings.Contains(r.FirstBad.Reason, "not signed by") {
		t.Errorf("%+v, %v", r, err)
	}
	j = open(t, Options{Dir: dir, Shipper: m})
	if s := j.State(); s.Seq > 100 || !s.Degraded || !strings.Contains(s.Problems[0], "not signed by") {
		t.Errorf("state %+v", s)
	}
	closed(t, j)
	if m.head.Seq > 100 {
		t.Error("the forged head is still there")
	}
}

// What is known elsewhere is on disk before: no crash makes it look as if records
// had been removed.
func TestNothingIsKnownBeforeItIsSynced(t *testing.T) {
	t.Parallel()
	dir := place(t)
	synctest.Test(t, func(t *testing.T) {
		d := &slowDisk{synced: map[string]int64{}}
		m := &remembering{check: func(seq uint64) {
			if last := d.lastSynced(t, dir); seq > last {
				t.Errorf("record %d is known, and a power cut would leave the journal at %d", seq, last)
			}
		}}
		j := open(t, Options{Dir: dir, Shipper: m, SegmentBytes: 20_000, openSegment: d.open})
		for n := range 20 {
			run(t, j, fmt.Sprint(n), 10)
			time.Sleep(time.Second)
		}
		synctest.Wait()
		if s := j.State(); s.Lag != 0 {
			t.Errorf("state %+v", s)
		}
		// As kill -9 leaves it, and as a power cut does: unsynced bytes are gone.
		record(t, j, started("last"))
		killed, cut := snapshot(t, dir), snapshot(t, dir)
		d.cut(t, filepath.Join(cut, "journal"))
		for _, root := range []string{killed, cut} {
			known, err := m.LoadKnown(t.Context(), "n1")
			if err != nil {
				t.Fatal(err)
			}
			then := &remembering{head: known.Head}
			then.records = append(then.records, m.records...)
			again := open(t, Options{Dir: filepath.Join(root, "journal"), Shipper: then})
			if s := again.State(); s.Degraded {
				t.Errorf("a crash looks like tampering: %+v", s)
			}
			if r, err := Verify(t.Context(), filepath.Join(root, "journal"), VerifyOptions{Known: known}); err != nil || !r.OK {
				t.Errorf("%+v, %v", r, err)
			}
			closed(t, again)
		}
		closed(t, j)
	})
}

// slowDisk knows what a power cut would leave of each file.
type slowDisk struct {
	mu     sync.Mutex
	synced map[string]int64
}

type slowFile struct {
	*os.File
	d *slowDisk
}

func (d *slowDisk) open(path string, fresh bool) (segmentFile, error) {
	f, err := openSegmentFile(path, fresh)
	if err != nil {
		return nil, err
	}
	return &slowFile{f.(*os.File), d}, nil
}

func (f *slowFile) Sync() error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	f.d.synced[filepath.Base(f.Name())] = info.Size()
	return nil
}

// cut takes from a copy of the journal what was not synced.
func (d *slowDisk) cut(t *testing.T, copied string) {
	t.Helper()
	segs, err := listSegments(copied)
	if err != nil {
		t.Fatal(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range segs {
		if err := os.Truncate(s.path, d.synced[s.fileName()]); err != nil {
			t.Fatal(err)
		}
	}
}

// lastSynced is the last record that a power cut would leave.
func (d *slowDisk) lastSynced(t *testing.T, dir string) (last uint64) {
	t.Helper()
	segs, err := listSegments(dir)
	if err != nil {
		t.Error(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range segs {
		b, err := os.ReadFile(s.path)
		if err != nil {
			t.Error(err)
			continue
		}
		b = b[:d.synced[s.fileName()]]
		for line := range bytes.Lines(b) {
			if l, err := parseLine(bytes.TrimSuffix(line, []byte("\n"))); err == nil {
				last = max(last, l.Seq)
			}
		}
	}
	return last
}

// The word of a restore is on record, and a note in every verification.
func TestRestoredIsOnRecord(t *testing.T) {
	t.Parallel()
	dir := place(t)
	j := open(t, Options{Dir: dir})
	run(t, j, "a", 2)
	closed(t, j)
	j = open(t, Options{Dir: dir, RestoredFrom: "restored from a backup of Monday"})
	closed(t, j)
	if r := clean(t, dir); len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "record 6: restored from a backup of Monday") {
		t.Errorf("notes %q", r.Notes)
	}
}

// A journal that was put back while the database was away is found when the
// database is back: before records are copied or a head is kept, which would hide it.
func TestJournalPutBackWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		calls   int // while the database is away
		restart bool
		forget  func(*remembering)
	}{
		"shorter than the copy":       {calls: 1},
		"longer than the copy":        {calls: 9},
		"shorter, by the head alone":  {calls: 1, forget: func(m *remembering) { m.records = nil }},
		"longer, by the head alone":   {calls: 9, forget: func(m *remembering) { m.records = nil }},
		"longer, after a restart":     {calls: 9, restart: true, forget: func(m *remembering) { m.records = nil }},
		"shorter, found when it ends": {calls: 1, forget: func(m *remembering) { m.head = nil }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				dir, m := place(t), &remembering{}
				j := open(t, Options{Dir: dir, Shipper: m})
				run(t, j, "a", 2)
				closed(t, j)
				older := snapshot(t, dir)
				ends := clean(t, dir).Last
				j = open(t, Options{Dir: dir, Shipper: m})
				run(t, j, "b", 4)
				closed(t, j)
				putBack(t, dir, older)
				if c.forget != nil {
					c.forget(m)
				}
				known, err := m.LoadKnown(t.Context(), "n1")
				if err != nil {
					t.Fatal(err)
				}
				last, _, _ := known.highestRecord()

				m.mu.Lock()
				m.refuse = errors.New("away")
				m.mu.Unlock()
				// A segment is full after a few records: what is known may lie before the last.
				o := Options{Dir: dir, Shipper: m, SegmentBytes: 2000}
				j = open(t, o)
				run(t, j, "c", c.calls)
				time.Sleep(time.Minute)
				if s := j.State(); !s.Degraded {
					t.Errorf("state %+v: nobody is told that the journal was not compared", s)
				}
				if c.restart {
					closed(t, j)
				}
				m.mu.Lock()
				had := 0
				if m.head != nil {
					had = int(m.head.Seq)
				}
				m.refuse = nil
				m.mu.Unlock()
				if had != 0 && uint64(had) != last {
					t.Errorf("the head of record %d was kept before it was compared", had)
				}
				if c.restart {
					j = open(t, o)
				}
				run(t, j, "d", 1)
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				want := fmt.Sprintf("records %d to %d", ends+1, last)
				if c.restart {
					want = fmt.Sprintf("record %d is not the one that the database knows", last)
				}
				if s := j.State(); !strings.Contains(strings.Join(s.Problems, " "), want) || s.Seq <= last {
					t.Errorf("state %+v; want %q", s, want)
				}
				closed(t, j)
				if known, err = m.LoadKnown(t.Context(), "n1"); err != nil {
					t.Fatal(err)
				}
				if r, err := Verify(t.Context(), dir, VerifyOptions{Known: known}); err != nil || r.OK {
					t.Errorf("it verifies: %+v, %v", r, err)
				}
			})
		})
	}
}

// A journal that is whole goes on as before once the database is back.
func TestJournalOpensWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir, m := place(t), &remembering{}
		j := open(t, Options{Dir: dir, Shipper: m})
		run(t, j, "a", 2)
		closed(t, j)
		m.refuse = errors.New("away")
		j = open(t, Options{Dir: dir, Shipper: m})
		run(t, j, "b", 2)
		time.Sleep(time.Minute)
		m.mu.Lock()
		m.refuse = nil
		m.mu.Unlock()
		run(t, j, "c", 2)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if s := j.State(); s.Degraded || s.Lag != 0 {
			t.Errorf("state %+v", s)
		}
		closed(t, j)
		known, err := m.LoadKnown(t.Context(), "n1")
		if err != nil {
			t.Fatal(err)
		}
		if r, err := Verify(t.Context(), dir, VerifyOptions{Known: known}); err != nil || !r.OK || known.Head.Seq != r.Last {
			t.Errorf("%+v, %v", r, err)
		}
	})
}
