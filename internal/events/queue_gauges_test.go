package events

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junctor-mcp/junctor/internal/queue"
)

// Figures that cannot be read are absent, and counted: a depth of 0 would look like an
// empty queue.
func TestFiguresThatCannotBeRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var broken error
		reads, failures := 0, 0
		f := &queueGauges{
			read: func(context.Context) (queue.Stats, error) {
				reads++
				if broken != nil {
					return queue.Stats{}, broken
				}
				return queue.Stats{Counts: map[queue.State]int{queue.StateWaiting: 200_000}, Lanes: map[queue.LaneState]int{}}, nil
			},
			failed: func(error) { failures++ },
		}
		collect := func() map[string]float64 {
			got := map[string]float64{}
			f.collect(func(name, _, _, value string, number float64) { got[name+" "+value] = number })
			return got
		}
		want := func(what string, figures map[string]float64, depth string, readsSoFar, failuresSoFar int) {
			t.Helper()
			at, there := figures["queue_depth waiting"]
			if got := fmt.Sprint(at, there); got != depth || reads != readsSoFar || failures != failuresSoFar || !there && len(figures) > 0 {
				t.Errorf("%s: %s after %d reads and %d failures: %v", what, got, reads, failures, figures)
			}
		}
		broken = errors.New("the database does not answer")
		want("after a start", collect(), "0 false", 1, 1)
		want("at once again", collect(), "0 false", 1, 1)
		time.Sleep(gaugeInterval)
		broken = nil
		want("once it answers", collect(), "200000 true", 2, 1)
		want("together", collect(), "200000 true", 2, 1)
		time.Sleep(gaugeInterval)
		broken = errors.New("the database does not answer")
		want("when it no longer does", collect(), "0 false", 3, 2)
	})
}
