package audit

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
)

const childDir = "JUNCTOR_TEST_JOURNAL"

// child is another process that records calls as fast as it can and says which
// it has recorded, until it is killed.
func child() {
	strict := os.Getenv("JUNCTOR_TEST_STRICT") != ""
	j, err := Open(context.Background(), Options{Dir: os.Getenv(childDir), Replica: "n1", Strict: strict, SegmentBytes: 100_000})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if s := j.State(); s.Degraded {
		fmt.Fprintln(os.Stderr, s.Problems)
		os.Exit(1)
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := 0; ; i++ {
				id := fmt.Sprintf("%d-%d-%d", os.Getpid(), g, i)
				if err := j.Append(context.Background(), started(id)); err != nil {
					os.Exit(1)
				}
				os.Stdout.WriteString(id + "\n") // one write: whole lines
				if err := j.Append(context.Background(), ended(id)); err != nil {
					os.Exit(1)
				}
			}
		})
	}
	wg.Wait()
}

func TestKilledUnderLoad(t *testing.T) {
	t.Parallel()
	rounds := 10
	if os.Getenv("JUNCTOR_PROVE") != "" {
		rounds = 50
	}
	dir := place(t)
	answered := map[string]bool{}
	for round := range rounds {
		cmd := exec.Command(os.Args[0], "-test.run=^$")
		cmd.Env = append(os.Environ(), childDir+"="+dir)
		if round%2 == 1 {
			cmd.Env = append(cmd.Env, "JUNCTOR_TEST_STRICT=1")
		}
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		kill := 1 + rand.IntN(1000)
		sc := bufio.NewScanner(out)
		n := 0
		for sc.Scan() {
			answered[sc.Text()] = true
			if n++; n == kill {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = cmd.Wait() // it was killed
		if n < kill {
			t.Fatalf("round %d: the process ended by itself", round)
		}
		clean(t, dir)
	}
	j := open(t, Options{Dir: dir})
	if s := j.State(); !s.OK || s.Degraded {
		t.Fatalf("state %+v", s)
	}
	closed(t, j)
	r := clean(t, dir)
	all, err := ListRecords(context.Background(), dir, Filter{Tenant: junctor.DefaultTenant, Phase: PhaseStart})
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range all {
		delete(answered, rec.Call)
	}
	if len(answered) > 0 {
		t.Errorf("%d calls that were answered are not on record", len(answered))
	}
	t.Logf("%d records, %d rounds", r.Records, rounds)
}

// A crash may cut the last record at any byte.
func TestTornAtEveryByte(t *testing.T) {
	t.Parallel()
	dir := place(t)
	j := open(t, Options{Dir: dir})
	run(t, j, "a", 2)
	if err := j.signHead(false); err != nil {
		t.Fatal(err)
	}
	_, before, _, _ := at(j)
	record(t, j, started("last"))
	path, size, _, _ := at(j)
	name := filepath.Base(path)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	heads := resolveHeadsDir(dir, "")
	crashed := t.TempDir() // as it is now, with the process dead
	if err := os.CopyFS(crashed, os.DirFS(heads)); err != nil {
		t.Fatal(err)
	}
	for cut := before; cut <= size; cut++ {
		root := quickRoot(t)
		d := filepath.Join(root, "journal")
		for _, err := range []error{os.MkdirAll(d, 0o700), os.CopyFS(filepath.Join(root, "heads"), os.DirFS(crashed)), os.WriteFile(filepath.Join(d, name), whole[:cut], 0o600)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(signingKeyPath(filepath.Join(root, "heads")), 0o600); err != nil {
			t.Fatal(err)
		}
		j, err := Open(context.Background(), Options{Dir: d, Replica: "n1"})
		if err != nil {
			t.Fatal(err)
		}
		if s := j.State(); s.Degraded {
			t.Fatalf("cut at %d: %v", cut, s.Problems)
		}
		record(t, j, started("next"))
		if err := j.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		r := clean(t, d)
		got, err := ListRecords(context.Background(), d, Filter{Phase: PhaseRecover})
		if err != nil {
			t.Fatal(err)
		}
		want := uint64(7)
		switch cut {
		case before:
			want--
			if len(got) != 0 {
				t.Errorf("nothing was torn, and %d records say so", len(got))
			}
		case size:
			if len(got) != 0 {
				t.Errorf("nothing was torn, and %d records say so", len(got))
			}
		default:
			l := line{rawJSON: []byte(got[0].JSON)}
			if err := l.parse(); err != nil || len(got) != 1 || l.Dropped != cut-before {
				t.Errorf("cut at %d: %v", cut, got)
			}
		}
		if r.Records != want {
			t.Errorf("cut at %d: %d records", cut, r.Records)
		}
	}
}

// A crash while a segment is begun leaves a file with less than its first
// record.
func TestTornFirstRecordOfASegment(t *testing.T) {
	t.Parallel()
	for _, left := range []int{0, 1, 70, 200} {
		dir := place(t)
		j := open(t, Options{Dir: dir, SegmentBytes: 1000})
		run(t, j, "a", 3)
		if err := j.signHead(false); err != nil {
			t.Fatal(err)
		}
		_, _, seq, _ := at(j)
		dead := snapshot(t, dir)
		path := segmentPath(filepath.Join(dead, "journal"), seq+1)
		if err := os.WriteFile(path, []byte(fmt.Sprintf("%0"+strconv.Itoa(max(left, 1))+"d", 0))[:left], 0o600); err != nil {
			t.Fatal(err)
		}
		d := filepath.Join(dead, "journal")
		j = open(t, Options{Dir: d, SegmentBytes: 1000})
		if s := j.State(); s.Degraded {
			t.Fatalf("%d bytes left: %v", left, s.Problems)
		}
		run(t, j, "b", 3)
		closed(t, j)
		clean(t, d)
	}
}

// snapshot is a copy of a data directory, as a crash at this moment would leave
// it.
func snapshot(t testing.TB, dir string) (root string) {
	t.Helper()
	root = t.TempDir()
	if err := os.CopyFS(root, os.DirFS(filepath.Dir(dir))); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(signingKeyPath(filepath.Join(root, "heads")), 0o600); err != nil {
		t.Fatal(err)
	}
	return root
}
