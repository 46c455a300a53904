package proc_test

import (
	"math"
	"os"
	"runtime"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/proc"
)

func TestUsageCountsTheTree(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		_, _, err := proc.Usage(os.Getpid())
		if junctor.CodeOf(err) != junctor.CodeUnavailable {
			t.Fatalf("Usage = %v, want a clear refusal", err)
		}
		return
	}
	busy0, err := proc.BusyTime()
	if err != nil {
		t.Fatal(err)
	}
	p, out := start(t, t.Context(), "worker")
	expectLine(t, out, "burnt")
	expectLine(t, out, "burnt")
	cpu, rss, err := proc.Usage(p.Pid())
	if err != nil {
		t.Fatal(err)
	}
	// Each of the two worked until 100 ms had passed on the clock; how much of
	// that it got depends on who else runs, but it filled its memory once.
	if cpu <= 0 || cpu > never {
		t.Errorf("cpu = %v after two processes worked", cpu)
	}
	if want := uint64(2 * 32 << 20); rss < want || rss > 16*want {
		t.Errorf("rss = %d, want the %d bytes that two processes hold and a little more", rss, want)
	}
	busy1, err := proc.BusyTime()
	if err != nil {
		t.Fatal(err)
	}
	if slack := 50 * time.Millisecond; busy1-busy0 < cpu-slack {
		t.Errorf("the machine worked %v, less than the %v of one of its trees", busy1-busy0, cpu)
	}
	// A parent's own time holds that of its children.
	mine, _, err := proc.Usage(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if mine < cpu {
		t.Errorf("this process and its children used %v, less than the %v of one child", mine, cpu)
	}
}

func TestUsageGrows(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("Usage is for Linux")
	}
	before, _, err := proc.Usage(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	x := 1.0
	for range 5_000_000 {
		x = math.Sqrt(x + 1)
	}
	after, _, err := proc.Usage(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if after <= before {
		t.Errorf("usage went from %v to %v while this process worked (%v)", before, after, x)
	}
}

func TestUsageOfUnknownProcess(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("Usage is for Linux")
	}
	p, _ := start(t, t.Context(), "exit3")
	<-p.Done()
	if _, _, err := proc.Usage(p.Pid()); junctor.CodeOf(err) != junctor.CodeNotFound {
		t.Errorf("Usage of an ended process: %v, want not_found", err)
	}
}
