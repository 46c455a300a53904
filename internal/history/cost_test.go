package history_test

import (
	"fmt"
	"path/filepath"
	"runtime"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/history"
	"github.com/junctor-mcp/junctor/internal/store/sqlite"
)

// What a call costs from Record to its row, the database's part with it, when
// batches are full. It runs beside calls, so it must not be more than they are.
func TestWritingAllocatesLittle(t *testing.T) {
	if raceOn {
		t.Skip("the race detector allocates too")
	}
	db, err := sqlite.OpenHistory(t.Context(), filepath.Join(t.TempDir(), "history.db"))
	h := start(t, db, err, history.Options{Paths: paths{}})
	const size, rounds = 512, 20
	params := []byte(`{"name":"echo","arguments":{"a":"mellon","message":"hello \"there\", password=hunter2000 and {so on}","list":["{\"token\":\"x\"}"]}}`)
	result := []byte(`{"content":[{"type":"text","text":"{\"b\":\"hello there, this is a message of some length\"}"}],"structuredContent":{"b":"x"}}`)
	calls := make([]junctor.Call, 0, size*(rounds+2))
	for n := range cap(calls) {
		c := call(n)
		c.ID = fmt.Sprintf("id%08d", n)
		c.Facts = judged(n).Facts
		calls = append(calls, c)
	}
	batch := func() {
		for i := range calls[:size] {
			h.Record(&calls[i], params, result)
		}
		calls = calls[size:]
		ok(t, h.Flush(t.Context()))
	}
	batch() // buffers grow
	batch()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range rounds {
		batch()
	}
	runtime.ReadMemStats(&after)
	count, bytes := float64(after.Mallocs-before.Mallocs)/(size*rounds), (after.TotalAlloc-before.TotalAlloc)/(size*rounds)
	t.Logf("%.2f allocations and %d bytes per call", count, bytes)
	if count > 1 || bytes > 512 {
		t.Errorf("%.2f allocations and %d bytes a call; at most 1 and 512", count, bytes)
	}
	if n := h.Dropped(); n > 0 {
		t.Errorf("%d dropped", n)
	}
}
