//go:build !race

package guard

import (
	"runtime"
	"sync"
	"testing"
)

// A digest reuses a pooled hasher: a new one for each call would cost kilobytes.
func TestSumBytesAllocatesNothing(t *testing.T) {
	var d hashPool
	payload := make([]byte, 4096)
	if n := testing.AllocsPerRun(100, func() { d.sumBytes(payload) }); n >= 1 {
		t.Errorf("a digest allocates %v times", n)
	}
}

// A hasher is not on the stack either: the stack of each connection's goroutine would
// grow for it, and stay as large while the connection is open.
func TestSumBytesAllocatesNoStack(t *testing.T) {
	const connections = 1000
	var d hashPool
	payload := make([]byte, 4096)
	var summed, ended sync.WaitGroup
	closed := make(chan struct{})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	summed.Add(connections)
	for range connections {
		ended.Go(func() {
			d.sumBytes(payload)
			summed.Done()
			<-closed
		})
	}
	summed.Wait()
	runtime.ReadMemStats(&after)
	close(closed)
	ended.Wait()
	if each := (int64(after.StackInuse) - int64(before.StackInuse)) / connections; each > 12<<10 {
		t.Errorf("a goroutine that made a digest has a stack of %d bytes", each)
	}
}
