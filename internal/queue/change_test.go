package queue_test

import (
	"context"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/queue"
)

// What is counted before a change is what the change is then made with.
func TestCountsAreThoseOfChanges(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		t := r.T
		q := r.queue("a")
		add(t, q, job("", "x"), job("", "x"), job("", "x"), job("", "x"))
		ends := []queue.Outcome{queue.OutcomeFinished, queue.OutcomeFatal, queue.OutcomeHold, queue.OutcomeRetry}
		for i, l := range r.claim(q) {
			settle(t, q, l, ends[i])
		}
		add(t, q, job("line", "x"), job("line", "x"))
		if lanes, err := q.Lanes(t.Context(), "q", tenant); err != nil || len(lanes) != 1 || lanes[0].Held != 1 || lanes[0].Jobs != 4 {
			t.Errorf("lanes %+v, %v", lanes, err)
		}
		type does = func(context.Context, junctor.TenantID, queue.Filter) (int, error)
		for _, c := range []struct {
			change queue.Change
			do     does
			want   int
		}{
			{queue.ChangeHold, q.Hold, 3},       // due, first and second in line
			{queue.ChangeRelease, q.Release, 4}, // those, and the one that was held before
			{queue.ChangeReplay, q.Replay, 5},   // all but the second in line, which waits
			{queue.ChangeDrop, q.Drop, 6},
		} {
			f := queue.Filter{Queue: "q"}
			before, err := q.Count(t.Context(), tenant, f, c.change)
			if err != nil {
				t.Fatal(err)
			}
			if n, err := c.do(t.Context(), tenant, f); err != nil || n != before || n != c.want {
				t.Errorf("%s: %d were counted, %d changed, want %d (%v)", c.change, before, n, c.want, err)
			}
		}
		if n, err := q.Count(t.Context(), tenant, queue.Filter{Queue: "q", States: []queue.State{queue.StateDone}}, queue.ChangeHold); n != 0 || err != nil {
			t.Errorf("what ended can be held: %d, %v", n, err)
		}
		if from := queue.Change("forget").AppliesTo(); from != nil {
			t.Errorf("forget is made from %v", from)
		}
	})
}
