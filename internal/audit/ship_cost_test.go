package audit

import (
	"runtime"
	"testing"
)

// What copying costs for a record, but for the copy itself.
func TestShippingAllocatesLittle(t *testing.T) {
	dir := place(t)
	j := open(t, Options{Dir: dir})
	const calls = 20 * shipBatch // two records each
	run(t, j, "x", calls)
	closed(t, j)
	tl := &recordTail{dir: dir, nextSeq: 1}
	defer tl.close()
	read := func() int {
		batch, err := tl.readBatch(1<<40, shipBatch)
		if err != nil {
			t.Fatal(err)
		}
		return len(batch)
	}
	read() // buffers grow
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	records := 0
	for n := read(); n > 0; n = read() {
		records += n
	}
	runtime.ReadMemStats(&after)
	if records < calls {
		t.Fatalf("%d records", records)
	}
	count, bytes := float64(after.Mallocs-before.Mallocs)/float64(records), float64(after.TotalAlloc-before.TotalAlloc)/float64(records)
	t.Logf("%.3f allocations and %.0f bytes a record", count, bytes)
	if count > .2 || bytes > 64 {
		t.Errorf("%.3f allocations and %.0f bytes a record; at most 0.2 and 64", count, bytes)
	}
}
