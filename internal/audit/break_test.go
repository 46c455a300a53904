package audit

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A chain that does not hold is not gone on with in silence.
func TestBrokenChainAtStart(t *testing.T) {
	t.Parallel()
	flip := func(path string, at int) error {
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		lines := bytes.SplitAfter(b, []byte("\n"))
		if at < 0 {
			at += len(lines) - 1
		}
		lines[at][100] ^= 1
		return os.WriteFile(path, bytes.Join(lines, nil), 0o600)
	}
	for name, c := range map[string]struct {
		do  func(segs []segment, heads string) error
		bad uint64 // the record that is named
	}{
		"a record of the last segment": {func(s []segment, _ string) error { return flip(s[len(s)-1].path, 1) }, 10},
		"the last record":              {func(s []segment, _ string) error { return flip(s[len(s)-1].path, -1) }, 11},
		"the first of the last":        {func(s []segment, _ string) error { return flip(s[len(s)-1].path, 0) }, 9},
		"a cut tail": {func(s []segment, _ string) error {
			return os.Truncate(s[len(s)-1].path, 300)
		}, 10},
		"the last segment removed":  {func(s []segment, _ string) error { return os.Remove(s[len(s)-1].path) }, 9},
		"the one before it removed": {func(s []segment, _ string) error { return os.Remove(s[len(s)-2].path) }, 5},
		"all removed": {func(s []segment, _ string) error {
			for _, x := range s {
				if err := os.Remove(x.path); err != nil {
					return err
				}
			}
			return nil
		}, 1},
		"something added": {func(s []segment, _ string) error {
			f, err := os.OpenFile(s[len(s)-1].path, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = f.WriteString("added")
			return err
		}, 12},
		"the head removed": {func(_ []segment, heads string) error { return os.Remove(headPath(heads, "n1")) }, 11},
		"the head changed": {func(_ []segment, heads string) error {
			b, err := os.ReadFile(headPath(heads, "n1"))
			if err != nil {
				return err
			}
			return os.WriteFile(headPath(heads, "n1"), bytes.Replace(b, []byte(`"seq":11`), []byte(`"seq":10`), 1), 0o600)
		}, 11},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := place(t)
			j := open(t, Options{Dir: dir, SegmentBytes: 1500})
			run(t, j, "a", 4)
			closed(t, j)
			segs, err := listSegments(dir)
			if err != nil || len(segs) != 3 || segs[1].first != 5 || segs[2].first != 9 {
				t.Fatalf("%v, %v", segs, err)
			}
			if err := c.do(segs, resolveHeadsDir(dir, "")); err != nil {
				t.Fatal(err)
			}
			found := verified(t, dir)
			if found.OK || found.FirstBad.Seq != c.bad {
				t.Fatalf("named %v, want record %d", found.FirstBad, c.bad)
			}

			for range 2 { // it does not go away by another start
				j = open(t, Options{Dir: dir, SegmentBytes: 1500})
				s := j.State()
				if !s.OK || !s.Degraded || !strings.Contains(s.Problems[0], "chain") {
					t.Fatalf("state %+v", s)
				}
				if s.Seq <= 11 {
					t.Errorf("the numbers start again at %d", s.Seq)
				}
				record(t, j, started("x"))
				closed(t, j)
				// The first fault is named as before, or, where what was
				// wrong lies outside the chain, the record that tells of it.
				if r := verified(t, dir); r.OK || r.FirstBad.Seq != c.bad && r.FirstBad.Seq != 12 {
					t.Errorf("after a restart: %v", r.FirstBad)
				}
			}
		})
	}
}

// The segment that is being written is looked after.
func TestSegmentTakenAway(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]func(path string) error{
		"removed":  os.Remove,
		"replaced": func(path string) error { return writeFile(path, []byte("x"), 0o600) },
		"cut":      func(path string) error { return os.Truncate(path, 100) },
	} {
		dir := place(t)
		synctest.Test(t, func(t *testing.T) {
			j := open(t, Options{Dir: dir})
			run(t, j, "a", 3)
			path, _, _, _ := at(j)
			if err := do(path); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * probeInterval)
			synctest.Wait()
			if s := j.State(); !s.Degraded || !s.OK {
				t.Fatalf("%s: state %+v", name, s)
			}
			record(t, j, started("b"))
			closed(t, j)
		})
		if r := verified(t, dir); r.OK {
			t.Errorf("%s: not found", name)
		}
		if all, err := ListRecords(context.Background(), dir, Filter{Call: "b"}); err != nil || len(all) != 1 {
			t.Errorf("%s: what came after is lost: %v", name, err)
		}
	}
}

func TestClockSetBack(t *testing.T) {
	t.Parallel()
	dir := place(t)
	now := newClock()
	j := open(t, Options{Dir: dir, Now: now.Now})
	record(t, j, started("a"))
	now.add(-time.Hour)
	record(t, j, ended("a"), started("b"))
	closed(t, j)
	if r := clean(t, dir); len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "1h0m0s before record 3") {
		t.Errorf("notes %q", r.Notes)
	}
}

func TestSigningKey(t *testing.T) {
	t.Parallel()
	dir := place(t)
	heads := filepath.Join(filepath.Dir(dir), "heads")
	j := open(t, Options{Dir: dir})
	run(t, j, "a", 2)
	pub := mustKey(t, heads)
	closed(t, j)
	if info, err := os.Stat(signingKeyPath(heads)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := os.Chmod(signingKeyPath(heads), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(context.Background(), Options{Dir: dir, Replica: "n1"}); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a key that others can read: %v", err)
	}
	// Another key, with which everything is signed again: only a key that was
	// kept elsewhere tells.
	if err := os.Remove(signingKeyPath(heads)); err != nil {
		t.Fatal(err)
	}
	key, err := loadSigningKey(heads)
	if err != nil {
		t.Fatal(err)
	}
	h, err := readHead(heads, "n1", pub)
	if err != nil {
		t.Fatal(err)
	}
	if err := writeHead(heads, h, key); err != nil {
		t.Fatal(err)
	}
	clean(t, dir)
	if r, err := Verify(context.Background(), dir, VerifyOptions{Key: pub}); err != nil || r.OK {
		t.Errorf("%+v, %v", r, err)
	}
}

// A power cut may leave a long stretch of nothing behind the last record.
func TestNothingBehindTheLastRecord(t *testing.T) {
	t.Parallel()
	dir := place(t)
	j := open(t, Options{Dir: dir})
	run(t, j, "a", 3)
	dead := filepath.Join(snapshot(t, dir), "journal")
	path := segmentPath(dead, 1)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(b, make([]byte, 5*maxLine)...), 0o600); err != nil {
		t.Fatal(err)
	}
	clean(t, dead)
	if all, err := ListRecords(context.Background(), dead, Filter{}); err != nil || len(all) != 7 {
		t.Errorf("%d records, %v", len(all), err)
	}
	j = open(t, Options{Dir: dead})
	if s := j.State(); s.Degraded {
		t.Fatalf("state %+v", s)
	}
	run(t, j, "b", 3)
	closed(t, j)
	if r := clean(t, dead); len(r.Notes) != 1 || r.Records != 14 {
		t.Errorf("%+v", r)
	}
}

// The copy of another machine's journal has only itself to go by.
func TestForeignCopy(t *testing.T) {
	t.Parallel()
	dir := place(t)
	m := &memory{}
	j := open(t, Options{Dir: dir, Shipper: m})
	run(t, j, "a", 5)
	closed(t, j)
	o := VerifyOptions{RemoteReplica: true}
	for _, rs := range [][]Record{m.records, m.records[3:], m.records[:5], nil} {
		if r, err := VerifyRecords(context.Background(), each(rs), o); err != nil || !r.OK || len(r.Notes) == 0 {
			t.Errorf("%+v, %v", r, err)
		}
	}
	bad := append(append([]Record{}, m.records[:4]...), m.records[5:]...)
	if r, err := VerifyRecords(context.Background(), each(bad), o); err != nil || r.OK || r.FirstBad.Seq != 5 {
		t.Errorf("%+v, %v", r.FirstBad, err)
	}
	if _, err := VerifyRecords(context.Background(), m.all(), VerifyOptions{}); err == nil {
		t.Error("nothing to hold it against, and no word of it")
	}
}

// What its replica said last convicts a copy that has lost its end, or all.
func TestForeignCopyAgainstAStatement(t *testing.T) {
	t.Parallel()
	m := &memory{}
	j := open(t, Options{Dir: place(t), Shipper: m})
	run(t, j, "a", 5)
	closed(t, j)
	head, key := j.SignedHead()
	if head.Seq == 0 || head.Shipped != head.Seq || !head.Closed {
		t.Fatalf("%+v", head)
	}
	o := VerifyOptions{RemoteReplica: true, Replica: head.Replica, Key: key, Heads: []Head{head}}
	if r, err := VerifyRecords(context.Background(), m.all(), o); err != nil || !r.OK {
		t.Errorf("whole: %+v, %v", r, err)
	}
	for name, records := range map[string][]Record{"the end": m.records[:5], "all": nil} {
		if r, err := VerifyRecords(context.Background(), each(records), o); err != nil || r.OK || r.FirstBad.Seq != uint64(len(records))+1 {
			t.Errorf("without %s: %+v, %v", name, r, err)
		}
	}
	o.Heads[0].Seq++
	if _, err := VerifyRecords(context.Background(), m.all(), o); err == nil {
		t.Error("a statement that nobody signed was believed")
	}
}
