package matrix

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/testkit/fault"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/internal/testkit/upstreams"
	"github.com/junctor-mcp/junctor/test/program"
)

const (
	pairs     = 8                       // windows with the fault, each beside one without
	mostPairs = 32                      // as many where those say that the others are slower
	perPair   = 25                      // calls of the bad server in a window
	window    = 1200 * time.Millisecond // longer than the deadline of a call
	spread    = 20 * time.Millisecond   // between the calls of the bad one
	pace      = 20 * time.Millisecond   // between the calls of one of the others
	mostMore  = 1.2
)

// TestOthersAreAsFast measures the other nine while one of ten is bad, beside
// the same with all ten well. Under a load that others make it says nothing, so
// that it is part of the long form alone.
func TestOthersAreAsFast(t *testing.T) { //nolint:paralleltest // it measures
	if !program.Long() {
		t.Skip("a measurement: part of make prove")
	}
	r := newRig(t, time.Second, upstreams.Legacy)
	r.warmUp()
	// First against itself: what the machine makes of equal things.
	for _, k := range append([]fault.Kind{fault.None}, fault.Kinds()...) {
		t.Run(k.String(), func(t *testing.T) {
			var c compared
			for range pairs {
				r.compare(&c, k)
			}
			// With so few a machine that others use says that equal things differ.
			for c.median() > mostMore && len(c.ratios) < mostPairs {
				r.compare(&c, k)
			}
			median := c.median()
			t.Logf("figure: the other nine servers under %q: p95 %.2f ms, without the fault %.2f ms; median of %d pairs %.2f (%.2f to %.2f), %d calls",
				k, ms(p95(c.with)), ms(p95(c.without)), len(c.ratios), median, slices.Min(c.ratios), slices.Max(c.ratios), len(c.with))
			if median > mostMore && k != fault.None {
				t.Errorf("the p95 of the others is %.2f of what it is without the fault", median)
			}
		})
	}
}

// compared is what was measured with a fault and without.
type compared struct {
	ratios        []float64
	with, without []time.Duration
}

func (c *compared) median() float64 {
	list := slices.Sorted(slices.Values(c.ratios))
	return (list[(len(list)-1)/2] + list[len(list)/2]) / 2
}

// compare adds a window with a fault beside one without, now the one first and
// now the other.
func (r *rig) compare(c *compared, k fault.Kind) {
	r.t.Helper()
	var a, b []time.Duration
	without := func() { a = r.window(fault.None) }
	with := func() {
		b = r.window(k)
		r.set(fault.Refuse) // ends what the fault left open
		r.set(fault.None)
		r.checkRecovery(k)
	}
	if len(c.ratios)%2 == 0 {
		without()
		with()
	} else {
		with()
		without()
	}
	c.ratios = append(c.ratios, float64(p95(b))/float64(p95(a)))
	c.without, c.with = append(c.without, a...), append(c.with, b...)
}

// window uses the others for a while, and the bad one under a fault, and gives
// how long the others took.
func (r *rig) window(k fault.Kind) []time.Duration {
	r.t.Helper()
	r.set(k)
	l := r.load(pace)
	begun := time.Now()
	var all sync.WaitGroup
	for i := range perPair {
		poll.Pause(spread, "calls under the fault come one after the other: their number is not what is measured")
		all.Go(func() {
			r.call(context.Background(), endpoint(i)%endpoints, badID(0), upstreams.Tag{Nonce: fmt.Sprint(k, i)})
		})
	}
	all.Wait()
	poll.Pause(window-time.Since(begun), "the load goes on for a whole window")
	took, wrong := l.end()
	if len(wrong) > 0 {
		r.t.Errorf("%v: %d of %d calls of others went wrong: %q", k, len(wrong), len(took), wrong[:min(len(wrong), 3)])
	}
	return took
}

func p95(all []time.Duration) time.Duration {
	all = slices.Sorted(slices.Values(all))
	return all[len(all)*95/100]
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
