package audit

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

// What retention takes away between the reading of checkpoints and that of
// records is not missing: it is looked at again.
func TestVerifyBesideRetention(t *testing.T) {
	t.Parallel()
	now := newClock()
	o := Options{Dir: filepath.Join(t.TempDir(), "journal"), SegmentBytes: 1, Now: now.Now, Retention: time.Hour}
	j := open(t, o)
	for i := range 5 {
		run(t, j, fmt.Sprint(i), 1)
	}
	closed(t, j)
	first, err := findReplica(o.Dir, resolveHeadsDir(o.Dir, ""))
	if err != nil {
		t.Fatal(err)
	}
	p, err := readProofs(resolveHeadsDir(o.Dir, ""), first, VerifyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.detectNewCheckpoint(); err != nil {
		t.Errorf("nothing was pruned: %v", err)
	}

	now.add(3 * time.Hour)
	j = open(t, o)
	j.pruneSegments()
	closed(t, j)
	segs, err := listSegments(o.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if segs, err = skipEmptySegments(segs); err != nil || len(segs) == 0 {
		t.Fatalf("%d segments: %v", len(segs), err)
	}
	r := Report{Replica: first}
	if err := r.walkSegments(t.Context(), segs, p, nil); err != nil || r.FirstBad == nil {
		t.Fatalf("held against checkpoints of before: %v, %v", r.FirstBad, err)
	}
	if err := p.detectNewCheckpoint(); !errors.Is(err, errNewCheckpoint) {
		t.Errorf("a later checkpoint is not seen: %v", err)
	}
	if r, err := Verify(t.Context(), o.Dir, VerifyOptions{}); err != nil || !r.OK {
		t.Errorf("afterwards: %v, %v", r.FirstBad, err)
	}
}
