package audit

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	junctor "github.com/junctor-mcp/junctor"
)

// edits is how many random edits are tried: more by hand, before a release.
func edits() int {
	if os.Getenv("JUNCTOR_PROVE") != "" {
		return 500
	}
	return 100
}

// memory is a copy of records that can be edited.
type memory struct {
	records []Record
	fail    error
	calls   int
	prunes  []uint64
}

func (m *memory) LastShipped(context.Context, string) (uint64, error) {
	if m.fail != nil {
		return 0, m.fail
	}
	if len(m.records) == 0 {
		return 0, nil
	}
	return m.records[len(m.records)-1].Seq, nil
}

func (m *memory) Ship(_ context.Context, rs []Record) error {
	m.calls++
	if m.fail != nil {
		return m.fail
	}
	for _, r := range rs { // their texts are used again
		r.Replica, r.Hash, r.JSON, r.Phase = strings.Clone(r.Replica), strings.Clone(r.Hash), strings.Clone(r.JSON), Phase(strings.Clone(string(r.Phase)))
		r.Tenant, r.Status = junctor.TenantID(strings.Clone(string(r.Tenant))), junctor.Status(strings.Clone(string(r.Status)))
		r.Call, r.Server, r.Name, r.Subject = strings.Clone(r.Call), strings.Clone(r.Server), strings.Clone(r.Name), strings.Clone(r.Subject)
		m.records = append(m.records, r)
	}
	return nil
}

func (m *memory) all() iter.Seq2[Record, error] { return each(m.records) }

func each(rs []Record) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for _, r := range rs {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// history makes a journal of random length, with restarts, small segments, a
// pruned beginning now and then, and a copy.
func history(t testing.TB, dir string, rnd *rand.Rand) *memory {
	t.Helper()
	now := newClock()
	m := &memory{}
	o := Options{Dir: dir, SegmentBytes: int64(1000 + rnd.IntN(4000)), Shipper: m, Now: now.Now}
	if rnd.IntN(2) == 0 {
		o.Retention = 24 * time.Hour
	}
	for session := range 1 + rnd.IntN(3) {
		j := open(t, o)
		for i := range 1 + rnd.IntN(15) {
			now.add(time.Duration(rnd.IntN(5)) * time.Hour)
			run(t, j, fmt.Sprintf("%d-%d", session, i), 1)
		}
		closed(t, j)
	}
	j := open(t, o)
	if o.Retention > 0 {
		j.pruneSegments()
	}
	closed(t, j)
	return m
}

// content is a journal's lines, in order; a piece at the very end is no line.
func content(t testing.TB, dir string) (all [][]byte) {
	t.Helper()
	segs, err := listSegments(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range segs {
		b, err := os.ReadFile(s.path)
		if err != nil {
			t.Fatal(err)
		}
		lines := bytes.SplitAfter(b, []byte("\n"))
		if len(lines[len(lines)-1]) == 0 || i == len(segs)-1 {
			lines = lines[:len(lines)-1]
		}
		all = append(all, lines...)
	}
	return all
}

// differ is the first place where two lists are not the same; -1 for nowhere.
func differ[T any](a, b []T, equal func(T, T) bool) int {
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || !equal(a[i], b[i]) {
			return i
		}
	}
	return -1
}

func follow(prev *[32]byte, text []byte) [32]byte { return new(chainVerifier).hashRecord(prev, text) }

// rehash makes a chain of forged lines whole again, from line i on.
func rehash(lines [][]byte, i int) {
	var prev [32]byte
	if i > 0 {
		parseHash(&prev, lines[i-1][:hexSize])
	}
	for ; i < len(lines); i++ {
		text := lines[i][hashPrefixSize : len(lines[i])-1]
		prev = follow(&prev, text)
		lines[i] = fmt.Appendf(nil, "%x %s\n", prev, text)
	}
}

func TestEditsOfTheJournalAreFound(t *testing.T) {
	t.Parallel()
	kinds, pruned := map[string]int{}, 0
	for n := range edits() {
		rnd := rand.New(rand.NewPCG(uint64(n), 1))
		dir := filepath.Join(quickRoot(t), "journal")
		history(t, dir, rnd)
		before := content(t, dir)
		first := clean(t, dir).First
		if first > 1 {
			pruned++
		}
		segs, err := listSegments(dir)
		if err != nil {
			t.Fatal(err)
		}
		kind := edit(t, segs, rnd)
		after := content(t, dir)
		at := differ(before, after, bytes.Equal)
		if at < 0 {
			if left, err := listSegments(dir); err == nil && len(left) == len(segs) {
				continue // it came out the same: two equal lines changed places
			}
			t.Fatalf("%d: %s changed nothing", n, kind)
		}
		kinds[kind]++
		r := verified(t, dir)
		if r.OK || r.FirstBad == nil {
			t.Fatalf("%d: %s at record %d was not found", n, kind, first+uint64(at))
		}
		want := first + uint64(at)
		if kind == "forge" {
			want = first + uint64(len(before)) - 1 // where the signature is
		}
		if r.FirstBad.Seq != want {
			t.Errorf("%d: %s at record %d, named %v", n, kind, want, r.FirstBad)
		}
	}
	if pruned == 0 {
		t.Error("no history had a pruned beginning")
	}
	t.Log(kinds, "pruned:", pruned)
}

// edit does something to the files that nobody should do.
func edit(t testing.TB, segs []segment, rnd *rand.Rand) (kind string) {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	pick := segs[rnd.IntN(len(segs))]
	b, err := os.ReadFile(pick.path)
	must(err)
	lines := slices.DeleteFunc(bytes.SplitAfter(b, []byte("\n")), func(l []byte) bool { return len(l) == 0 })
	i, k := rnd.IntN(len(lines)), rnd.IntN(len(lines))
	write := func() { must(os.WriteFile(pick.path, bytes.Join(lines, nil), 0o600)) }
	last := segs[len(segs)-1]
	switch kind = []string{"flip", "delete", "insert", "reorder", "cut", "swap", "remove", "append", "forge"}[rnd.IntN(9)]; kind {
	case "flip":
		b[rnd.IntN(len(b))] ^= byte(1 + rnd.IntN(255))
		must(os.WriteFile(pick.path, b, 0o600))
	case "delete":
		lines = slices.Delete(lines, i, i+1)
		write()
	case "insert":
		lines = slices.Insert(lines, i, lines[k])
		write()
	case "reorder":
		if len(lines) == 1 {
			return edit(t, segs, rnd)
		}
		for i == k {
			k = rnd.IntN(len(lines))
		}
		lines[i], lines[k] = lines[k], lines[i]
		write()
	case "cut":
		b, err := os.ReadFile(last.path)
		must(err)
		must(os.Truncate(last.path, int64(rnd.IntN(len(b)))))
	case "swap":
		if len(segs) < 2 {
			return edit(t, segs, rnd)
		}
		other := segs[rnd.IntN(len(segs))]
		for other == pick {
			other = segs[rnd.IntN(len(segs))]
		}
		must(os.Rename(pick.path, pick.path+".x"))
		must(os.Rename(other.path, pick.path))
		must(os.Rename(pick.path+".x", other.path))
	case "remove":
		must(os.Remove(pick.path))
	case "append": // a record that follows the last one in every way
		b, err := os.ReadFile(last.path)
		must(err)
		ls := bytes.SplitAfter(b, []byte("\n"))
		ls = ls[:len(ls)-1]
		l, err := parseLine(bytes.TrimSpace(ls[len(ls)-1]))
		must(err)
		text := fmt.Sprintf(`{"seq":%d,"replica":"n1","time":"2026-01-01T00:00:00Z","phase":"end","call":"x"}`, l.Seq+1)
		hash := follow(&l.hash, []byte(text))
		must(os.WriteFile(last.path, append(b, hex.EncodeToString(hash[:])+" "+text+"\n"...), 0o600))
	case "forge": // an edit after which the last segment is whole again
		b, err := os.ReadFile(last.path)
		must(err)
		ls := bytes.SplitAfter(b, []byte("\n"))
		ls = ls[:len(ls)-1]
		if len(ls) == 1 {
			return edit(t, segs, rnd)
		}
		at := 1 + rnd.IntN(len(ls)-1)
		ls[at] = bytes.Replace(ls[at], []byte(`"replica"`), []byte(`"forged":1,"replica"`), 1)
		rehash(ls, at)
		must(os.WriteFile(last.path, bytes.Join(ls, nil), 0o600))
	}
	return kind
}

func TestEditsOfTheCopyAreFound(t *testing.T) {
	t.Parallel()
	kinds := map[string]int{}
	for n := range edits() {
		rnd := rand.New(rand.NewPCG(uint64(n), 2))
		dir := filepath.Join(quickRoot(t), "journal")
		m := history(t, dir, rnd)
		o := VerifyOptions{Dir: dir}
		if n%2 == 0 { // without the files
			o = VerifyOptions{HeadsDir: filepath.Join(filepath.Dir(dir), "heads")}
		}
		if r, err := VerifyRecords(context.Background(), m.all(), o); err != nil || !r.OK || r.Records != uint64(len(m.records)) {
			t.Fatalf("the copy does not verify: %+v, %v", r.FirstBad, err)
		}
		rs := slices.Clone(m.records)
		kind := editCopy(&rs, rnd)
		at := differ(m.records, rs, func(a, b Record) bool { return a == b })
		if at < 0 {
			continue
		}
		kinds[kind]++
		r, err := VerifyRecords(context.Background(), each(rs), o)
		if err != nil {
			t.Fatal(err)
		}
		if r.OK || r.FirstBad == nil {
			t.Fatalf("%d: %s at row %d was not found", n, kind, at)
		}
		want := m.records[0].Seq + uint64(at)
		if kind == "forge" {
			want = convicted(t, dir, o, want)
		}
		if r.FirstBad.Seq != want {
			t.Errorf("%d: %s at record %d, named %v", n, kind, want, r.FirstBad)
		}
	}
	t.Log(kinds)
}

// convicted is where a chain that was forged from a record on meets something
// that it cannot change: a signature, or the journal's own line.
func convicted(t testing.TB, dir string, o VerifyOptions, from uint64) uint64 {
	t.Helper()
	p, err := readProofs(resolveHeadsDir(dir, ""), "n1", VerifyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	at := p.head.Seq
	for seq := range p.hashes {
		if seq >= from {
			at = min(at, seq)
		}
	}
	if o.Dir != "" {
		segs, err := listSegments(dir)
		if err != nil {
			t.Fatal(err)
		}
		at = min(at, max(from, segs[0].first))
	}
	return at
}

func editCopy(rs *[]Record, rnd *rand.Rand) (kind string) {
	all := *rs
	i, k := rnd.IntN(len(all)), rnd.IntN(len(all))
	r := &all[i]
	switch kind = []string{"column", "line", "hash", "delete", "insert", "reorder", "cut", "forge"}[rnd.IntN(8)]; kind {
	case "column":
		switch rnd.IntN(8) {
		case 0:
			r.Subject += "x"
		case 1:
			r.Tenant += "x"
		case 2:
			r.Time = r.Time.Add(time.Microsecond)
		case 3:
			r.Status = "success?"
		case 4:
			r.Name, r.Server = r.Server+"y", r.Name
		case 5:
			r.Call = "other"
		case 6:
			r.Replica = "n2"
		case 7:
			r.Phase = "else"
		}
	case "line":
		b := []byte(r.JSON)
		b[rnd.IntN(len(b))] ^= byte(1 + rnd.IntN(255))
		r.JSON = string(b)
	case "hash":
		r.Hash = all[k].Hash
	case "delete":
		*rs = slices.Delete(all, i, i+1)
	case "insert":
		*rs = slices.Insert(all, i, all[k])
	case "reorder":
		all[i], all[k] = all[k], all[i]
	case "cut":
		*rs = all[:i]
	case "forge":
		if i == 0 {
			return editCopy(rs, rnd)
		}
		r.JSON = string(bytes.Replace([]byte(r.JSON), []byte(`"replica"`), []byte(`"forged":1,"replica"`), 1))
		var prev [32]byte
		parseHash(&prev, all[i-1].Hash)
		for ; i < len(all); i++ {
			prev = follow(&prev, []byte(all[i].JSON))
			all[i].Hash = hex.EncodeToString(prev[:])
		}
	}
	return kind
}

// Every history is clean, whatever happens to the process between.
func TestHistoriesVerify(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		dir := filepath.Join(quickRoot(rt), "journal")
		var err error
		m := &memory{}
		now := newClock()
		o := Options{
			Dir: dir, Replica: "n1", Strict: rapid.Bool().Draw(rt, "strict"), Shipper: m, Now: now.Now,
			SegmentBytes: rapid.Int64Range(1, 5000).Draw(rt, "segment"), Retention: time.Duration(rapid.IntRange(0, 3).Draw(rt, "keep")) * time.Hour,
		}
		var j *Journal
		calls := 0
		up := func() {
			if j == nil {
				if j, err = Open(context.Background(), o); err != nil {
					rt.Fatal(err)
				}
				if s := j.State(); s.Degraded {
					rt.Fatalf("degraded: %v", s.Problems)
				}
			}
		}
		down := func() {
			if j != nil {
				if err := j.Close(context.Background()); err != nil {
					rt.Fatal(err)
				}
				j = nil
			}
		}
		defer down()
		rt.Repeat(map[string]func(*rapid.T){
			"call": func(*rapid.T) {
				up()
				calls++
				id := fmt.Sprint(calls)
				for _, err := range []error{j.Append(context.Background(), started(id)), j.Append(context.Background(), ended(id))} {
					if err != nil {
						rt.Fatal(err)
					}
				}
			},
			"restart": func(*rapid.T) { down(); up() },
			"torn": func(rt *rapid.T) { // a crash in the middle of a write
				up()
				n := rapid.IntRange(1, 400).Draw(rt, "bytes")
				path, off, _, _ := at(j)
				down()
				head, err := readHead(o.headsOf(), "n1", mustKey(rt, o.headsOf()))
				if err != nil {
					rt.Fatal(err)
				}
				head.Closed = false // it never was
				key, err := loadSigningKey(o.headsOf())
				if err != nil {
					rt.Fatal(err)
				}
				if err := writeHead(o.headsOf(), head, key); err != nil {
					rt.Fatal(err)
				}
				f, err := os.OpenFile(path, os.O_WRONLY, 0)
				if err != nil {
					rt.Fatal(err)
				}
				defer f.Close()
				if _, err := f.WriteAt(bytes.Repeat([]byte("x"), n), off); err != nil {
					rt.Fatal(err)
				}
			},
			"later":    func(*rapid.T) { now.add(30 * time.Minute) },
			"set back": func(*rapid.T) { now.add(-time.Hour) },
			"verify": func(rt *rapid.T) {
				r, err := Verify(context.Background(), dir, VerifyOptions{Replica: "n1"})
				if err != nil || !r.OK {
					rt.Fatalf("%v, %v", r.FirstBad, err)
				}
			},
		})
		up()
		down()
		r, err := VerifyRecords(context.Background(), m.all(), VerifyOptions{Dir: dir})
		if err != nil || !r.OK {
			rt.Fatalf("the copy: %v, %v", r.FirstBad, err)
		}
		n := 0
		for _, rec := range m.records {
			if strings.Contains(rec.JSON, `"call":`) {
				n++
			}
		}
		if n != 2*calls {
			rt.Fatalf("the copy has %d records of %d calls", n, calls)
		}
	})
}

func (o Options) headsOf() string { return resolveHeadsDir(o.Dir, o.HeadsDir) }

func mustKey(t interface{ Fatal(...any) }, heads string) []byte {
	key, err := readPublicKey(heads)
	if err != nil {
		t.Fatal(err)
	}
	return key
}
