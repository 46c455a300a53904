package sqlite_test

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/internal/store"
)

// What storing a record of the journal costs, when batches are full.
func TestAddingAuditAllocatesLittle(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "junctor.db"))
	const size, rounds = 512, 5
	line := `{"a":"` + strings.Repeat("b", 350) + `"}`
	records := make([]store.AuditRecord, size)
	for i := range records {
		records[i] = store.AuditRecord{Replica: "n", Hash: fmt.Sprintf("%064x", i), Line: line}
	}
	seq := uint64(0)
	add := func() {
		for i := range records {
			seq++
			records[i].Seq = seq
		}
		if err := s.AddAudit(t.Context(), records); err != nil {
			t.Fatal(err)
		}
	}
	add() // buffers grow
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range rounds {
		add()
	}
	runtime.ReadMemStats(&after)
	count, bytes := float64(after.Mallocs-before.Mallocs)/(size*rounds), float64(after.TotalAlloc-before.TotalAlloc)/(size*rounds)
	t.Logf("%.2f allocations and %.0f bytes a record", count, bytes)
	if count > 0.5 || bytes > 256 {
		t.Errorf("%.2f allocations and %.0f bytes a record; at most 0.5 and 256", count, bytes)
	}
}
