package apigen_test

import (
	"context"
	"fmt"
	"os"
	"runtime/metrics"
	"slices"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/apigen"
	"github.com/junctor-mcp/junctor/internal/apigen/doc"
	"github.com/junctor-mcp/junctor/internal/testkit/hostile"
)

const (
	// mostWork is how many steps one document may take; the limit is doc's.
	mostWork = 20_000_000
	// mostAllocated is how many bytes may be asked for on account of one document,
	// all together: most of them are garbage at once.
	mostAllocated = 4 << 30
	// Work goes on for so many steps, and asks for so many bytes, after its context
	// has ended: the context is looked at every 2000 steps.
	stepsAfterEnd, allocatedAfterEnd = 4000, 64 << 20
)

// allocated is how many bytes the program has asked for so far.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// hostileDocuments are all of them in the long form, and otherwise those of at most
// 100 KB, or of 20 KB under the race detector, which makes each ten times slower and
// finds nothing more in a large one.
func hostileDocuments() []hostile.Case {
	all, most := hostile.Documents(), 100_000
	if raceEnabled {
		most = 20_000
	}
	if os.Getenv("JUNCTOR_LONG") == "" {
		all = slices.DeleteFunc(all, func(c hostile.Case) bool { return len(c.Text) > most })
	}
	return all
}

// Documents that try to exhaust the generator are read, or refused with a
// reason, within bounds of work and memory.
func TestHostileDocuments(t *testing.T) { //nolint:paralleltest // it measures
	cases := hostileDocuments()
	steps, bytes := 0, uint64(0)
	for _, c := range cases {
		ctx, meter := doc.WithMeter(t.Context())
		before := allocated()
		made, err := apigen.ImportAPI(ctx, doc.Source{Name: "f", Text: []byte(c.Text)}, nil, "s", "https://a.example", nil)
		spent, taken := meter.StepsSpent(), allocated()-before
		// What ends at the limit has taken a last stride beyond it.
		if spent > mostWork+mostWork/10 || taken > mostAllocated {
			t.Errorf("%s: %d steps, %d MiB for %d bytes: %v", c.Name, spent, taken>>20, len(c.Text), err)
		}
		if spent > mostWork && junctor.CodeOf(err) != junctor.CodeTooLarge {
			t.Errorf("%s: %d steps, and %v", c.Name, spent, err)
		}
		if made == nil && err == nil {
			t.Errorf("%s: nothing is said of it", c.Name)
		}
		steps, bytes = max(steps, spent), max(bytes, taken)
	}
	t.Logf("figure: %d hostile documents: at most %d steps and %d MiB asked for", len(cases), steps, bytes>>20)
}

// endingContext ends when it was looked at so many times: at the same place in
// every run, however fast the machine is.
type endingContext struct {
	context.Context
	cancel context.CancelFunc
	looks  int
	meter  *doc.Meter

	steps int    // that were taken when it ended
	bytes uint64 // that were asked for by then
}

func (c *endingContext) Err() error {
	if c.looks--; c.looks == 0 {
		c.bytes = allocated()
		if c.meter != nil {
			c.steps = c.meter.StepsSpent()
		}
		c.cancel()
	}
	return c.Context.Err()
}

// A caller who leaves is not worked for.
func TestMakeEndsWithItsContext(t *testing.T) { //nolint:paralleltest // it measures
	ended, all := 0, []int{1, 2, 5, 50}
	if raceEnabled {
		all = []int{1, 5}
	}
	for _, c := range hostileDocuments() {
		for _, looks := range all {
			inner, cancel := context.WithCancel(t.Context())
			ending := &endingContext{Context: inner, cancel: cancel, looks: looks}
			var ctx context.Context
			ctx, ending.meter = doc.WithMeter(ending)
			_, err := apigen.ImportAPI(ctx, doc.Source{Name: "f", Text: []byte(c.Text)}, nil, "s", "https://a.example", nil)
			cancel()
			if ending.looks > 0 {
				break // it was done before
			}
			ended++
			name := fmt.Sprintf("%s, left after %d looks", c.Name, looks)
			if steps := ending.meter.StepsSpent() - ending.steps; steps > stepsAfterEnd {
				t.Errorf("%s: %d more steps: %v", name, steps, err)
			}
			if more := allocated() - ending.bytes; more > allocatedAfterEnd {
				t.Errorf("%s: %d MiB more were asked for: %v", name, more>>20, err)
			}
			if code := junctor.CodeOf(err); err == nil || code != junctor.CodeCanceled {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if ended < 50 {
		t.Errorf("%d documents were left", ended)
	}
}
