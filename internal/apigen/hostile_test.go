package apigen_test

import (
	"context"
	"errors"
	"os"
	"runtime/metrics"
	"slices"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/apigen"
	"github.com/junctor-mcp/junctor/internal/apigen/doc"
	"github.com/junctor-mcp/junctor/internal/testkit/hostile"
)

// allocated is how many bytes the program has asked for so far.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// hostileDocuments are all of them in the long form, and those of at most 100 KB
// otherwise.
func hostileDocuments() []hostile.Case {
	all := hostile.Documents()
	if os.Getenv("JUNCTOR_LONG") == "" {
		all = slices.DeleteFunc(all, func(c hostile.Case) bool { return len(c.Text) > 100_000 })
	}
	return all
}

// Documents that try to exhaust the generator are read, or refused with a
// reason, within bounds of time and memory.
func TestHostileDocuments(t *testing.T) { //nolint:paralleltest // it measures
	for _, c := range hostileDocuments() {
		begun, before := time.Now(), allocated()
		made, err := apigen.Make(t.Context(), doc.Source{Name: "f", Text: []byte(c.Text)}, nil, "s", "https://a.example", nil)
		took, taken := time.Since(begun), allocated()-before
		if took > 500*time.Millisecond || taken > 256<<20 {
			t.Logf("%s: %v, %d MiB for %d bytes", c.Name, took, taken>>20, len(c.Text))
		}
		if took > 20*time.Second || taken > 4<<30 {
			t.Errorf("%s: %v, %d MiB for %d bytes: %v", c.Name, took, taken>>20, len(c.Text), err)
		}
		if made == nil && err == nil {
			t.Errorf("%s: nothing is said of it", c.Name)
		}
	}
}

// Whoever leaves is not worked for.
func TestMakeEndsWithItsContext(t *testing.T) { //nolint:paralleltest // it measures
	for _, c := range hostileDocuments() {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		begun := time.Now()
		_, err := apigen.Make(ctx, doc.Source{Name: "f", Text: []byte(c.Text)}, nil, "s", "https://a.example", nil)
		took := time.Since(begun)
		cancel()
		if took > 2*time.Second { // far above what it takes on a machine of one's own
			t.Errorf("%s: %v after it was cancelled: %v", c.Name, took, err)
		}
		if code := junctor.CodeOf(err); errors.Is(err, context.DeadlineExceeded) && code != junctor.CodeTimeout {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
}
