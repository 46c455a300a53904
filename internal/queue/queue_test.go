package queue_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/queue"
)

func TestLinesKeepTheirOrder(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		t := r.T
		q := r.queue("a")
		ids := add(t, q, job("k", "x"), job("k", "y"), job("k", "x"))
		other := add(t, q, job("l", "x"))
		for i := range ids {
			got := idsOf(r.claim(q))
			want := []string{ids[i]}
			if i == 0 {
				want = append(want, other[0])
			}
			slices.Sort(want)
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Fatalf("round %d: leased %v, want %v", i, got, want)
			}
			r.clock.Add(lease)
			again := r.claim(q) // the leases ran out: the same jobs again, none behind them
			if len(again) != len(want) {
				t.Fatalf("round %d: leased %v again, want %v", i, idsOf(again), want)
			}
			for _, l := range again {
				settle(t, q, l, queue.OutcomeFinished)
			}
		}
		if s, err := q.Stats(t.Context(), "q"); err != nil || s.Counts[queue.StateReady]+s.Counts[queue.StateWaiting]+s.Counts[queue.StateLeased] != 0 {
			t.Errorf("left: %v, %v", s, err)
		}
	})
}

func TestAStuckJobIsPassed(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		t := r.T
		q := r.queue("a")
		first := job("k", "x")
		first.SkipAfter = 2
		ids := add(t, q, first, job("k", "x"))
		settle(t, q, r.claim(q)[0], queue.OutcomeRetry)
		if got := r.claim(q); len(got) != 0 {
			t.Fatalf("leased %v after one failure", idsOf(got))
		}
		r.clock.Add(time.Second)
		settle(t, q, r.claim(q)[0], queue.OutcomeRetry)
		if got := idsOf(r.claim(q)); !slices.Equal(got, ids[1:]) {
			t.Errorf("leased %v after two failures, want %v", got, ids[1:])
		}
	})
}

func TestOldTokensCountForNothing(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		t := r.T
		a, b := r.queue("a"), r.queue("b")
		id := add(t, a, job("k", "x"))[0]
		old := r.claim(a)[0]
		r.clock.Add(lease)
		young := r.claim(b)[0]
		if young.ID != id || young.Token() <= old.Token() {
			t.Fatalf("leased %s under %d after %d", young.ID, young.Token(), old.Token())
		}
		ran := false
		_, err := a.Settle(t.Context(), old, queue.AttemptResult{Outcome: queue.OutcomeFinished, InTransaction: func(context.Context, *queue.Tx) error { ran = true; return nil }})
		if junctor.CodeOf(err) != junctor.CodeConflict || ran {
			t.Errorf("settled under an old token: %v, what belongs to it ran: %v", err, ran)
		}
		if lost, err := a.ExtendLeases(t.Context(), []*queue.Lease{old, young}); err != nil || len(lost) != 1 || lost[0] != old {
			t.Errorf("extended: lost %v, %v", idsOf(lost), err)
		}
		if got := settle(t, b, young, queue.OutcomeFinished); got != queue.StateDone {
			t.Errorf("settled: %s", got)
		}
	})
}

func TestScheduleAndClasses(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		t := r.T
		q := r.queue("a")
		id := add(t, q, job("", "x"))[0]
		waits := append(queue.RetrySchedule(), 0)
		for n, wait := range waits {
			l := r.claim(q)
			if len(l) != 1 {
				t.Fatalf("attempt %d: %d leases", n+1, len(l))
			}
			settle(t, q, l[0], queue.OutcomeRetry)
			if wait == 0 {
				break
			}
			r.clock.Add(wait - time.Millisecond)
			if got := r.claim(q); len(got) != 0 {
				t.Fatalf("attempt %d came early", n+2)
			}
			r.clock.Add(time.Millisecond)
		}
		if j := get(t, q, id); j.State != queue.StateDead || j.Attempts != len(waits) || j.Error != "why" {
			t.Errorf("at the end: %+v", j)
		}
		attempts, err := q.Attempts(t.Context(), tenant, id)
		if err != nil || len(attempts) != len(waits) || attempts[len(attempts)-1].Number != len(waits) {
			t.Errorf("attempts: %v, %v", attempts, err)
		}
		// It comes back under its id, with attempts numbered on and a whole schedule.
		if n, err := q.Replay(t.Context(), tenant, queue.Filter{Queue: "q", IDs: []string{id}}); n != 1 || err != nil {
			t.Fatalf("replayed %d, %v", n, err)
		}
		settle(t, q, r.claim(q)[0], queue.OutcomeRetry)
		if j := get(t, q, id); j.State != queue.StateReady || j.Attempts != len(waits)+1 || !j.RunAt.Equal(r.clock.Now().Add(time.Second)) {
			t.Errorf("after the replay: %+v", j)
		}
		if n, err := q.Drop(t.Context(), tenant, queue.Filter{Queue: "q"}); n != 1 || err != nil {
			t.Fatalf("dropped %d, %v", n, err)
		}
		three := job("", "y")
		three.MaxAttempts = 3
		id = add(t, q, three)[0]
		for range 3 {
			settle(t, q, r.claim(q)[0], queue.OutcomeRetry)
			r.clock.Add(3 * time.Second)
		}
		if j := get(t, q, id); j.State != queue.StateDead || j.Attempts != 3 {
			t.Errorf("after three of three: %+v", j)
		}
	})
}

func TestDedupe(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		t := r.T
		q := r.queue("a")
		j := job("k", "x")
		j.DedupeKey = "one"
		first := add(t, q, j)
		if again := add(t, q, j, job("k", "x")); again[0] != first[0] || again[1] == first[0] {
			t.Errorf("first %v, then %v", first, again)
		}
		other := j
		other.Queue = "other"
		if got := add(t, q, other); got[0] == first[0] {
			t.Error("another queue has its own keys")
		}
	})
}

// A worker that asked to be woken is, by all that makes a job ready and before its writer
// goes on, so that no job waits for the next look; and by nothing else.
func TestWhatWakes(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		t := r.T
		q := r.queue("a")
		woken := make(chan struct{}, 1)
		q.RegisterWaker(woken)
		wakes := func(what string, want bool) {
			t.Helper()
			select {
			case <-woken:
				if !want {
					t.Errorf("%s woke somebody", what)
				}
			default:
				if want {
					t.Errorf("%s woke nobody", what)
				}
			}
		}
		j := job("", "x")
		j.DedupeKey = "one"
		add(t, q, j)
		wakes("a new job", true)
		add(t, q, j)
		wakes("a job that is there already", false)
		leases := r.claim(q)
		wakes("a lease", false)
		settle(t, q, leases[0], queue.OutcomeFinished)
		wakes("an end that nobody waits for", false)
		add(t, q, job("k", "x"), job("k", "x"))
		wakes("a line", true)
		leases = r.claim(q)
		settle(t, q, leases[0], queue.OutcomeFinished)
		wakes("the end of the first of a line", true)
		if err := q.StopLane(t.Context(), "q", tenant, "x", "by hand"); err != nil {
			t.Fatal(err)
		}
		wakes("a lane that is stopped", false)
		if err := q.CloseLane(t.Context(), "q", tenant, "x", true); err != nil {
			t.Fatal(err)
		}
		wakes("a lane that goes on", true)
	})
}

func TestOneFailsAlone(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		t := r.T
		q := r.queue("a")
		const writers = 60
		errs := make([]error, writers)
		var wg sync.WaitGroup
		wrong := errors.New("wrong")
		for n := range writers {
			wg.Go(func() {
				errs[n] = q.Write(t.Context(), func(ctx context.Context, tx *queue.Tx) error {
					j := job("", "x")
					j.Event = strconv.Itoa(n)
					if _, err := tx.Enqueue(ctx, j); err != nil {
						return err
					}
					switch n % 3 {
					case 1:
						return wrong
					case 2:
						_, err := tx.Exec(ctx, `SELECT nothing FROM nowhere`)
						return err
					}
					return nil
				})
			})
		}
		wg.Wait()
		jobs, _, err := q.List(t.Context(), tenant, queue.Filter{Queue: "q", Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		there := map[string]bool{}
		for _, j := range jobs {
			there[j.Event] = true
		}
		for n := range writers {
			if fine := n%3 == 0; fine != (errs[n] == nil) || fine != there[strconv.Itoa(n)] {
				t.Errorf("write %d: error %v, there %v", n, errs[n], there[strconv.Itoa(n)])
			}
		}
		groups, writes := q.Commits()
		t.Logf("%d writes in %d commits", writes, groups)
	})
}

func TestLanesAreApart(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		t := r.T
		q := r.queue("a")
		for range 20 {
			add(t, q, job("", "dead"))
		}
		fine := add(t, q, job("", "fine"), job("", "fine"))
		got, _, err := q.Claim(t.Context(), "q", 10, func(_ junctor.TenantID, lane string) int {
			if lane == "dead" {
				return 1
			}
			return 4
		})
		if err != nil || len(got) != 3 {
			t.Fatalf("leased %v, %v; want one of the full lane and both of the other", idsOf(got), err)
		}
		for _, l := range got {
			if l.Lane == "dead" {
				settle(t, q, l, queue.OutcomeRetry)
				if err := q.OpenLane(t.Context(), "q", tenant, "dead", time.Minute, time.Hour, "it does not answer"); err != nil {
					t.Fatal(err)
				}
				continue
			}
			settle(t, q, l, queue.OutcomeFinished)
			if !slices.Contains(fine, l.ID) {
				t.Errorf("leased %s", l.ID)
			}
		}
		if got := r.claim(q); len(got) != 0 {
			t.Errorf("leased %v of an open lane", idsOf(got))
		}
		r.clock.Add(time.Minute)
		ahead := r.claim(q)
		if len(ahead) != 1 {
			t.Fatalf("%d were sent ahead", len(ahead))
		}
		if lanes, err := q.Lanes(t.Context(), "q", tenant); err != nil || len(lanes) != 1 || lanes[0].State != queue.LaneHalfOpen || lanes[0].Jobs != 20 {
			t.Errorf("lanes: %+v, %v", lanes, err)
		}
		settle(t, q, ahead[0], queue.OutcomeFinished)
		if err := q.CloseLane(t.Context(), "q", tenant, "dead", false); err != nil {
			t.Fatal(err)
		}
		if got := r.claim(q); len(got) != 19 {
			t.Errorf("leased %d once the lane was closed", len(got))
		}
		if err := q.StopLane(t.Context(), "q", tenant, "dead", "gone"); err != nil {
			t.Fatal(err)
		}
		for _, step := range []error{
			q.OpenLane(t.Context(), "q", tenant, "dead", time.Nanosecond, time.Nanosecond, "x"), q.CloseLane(t.Context(), "q", tenant, "dead", false),
		} {
			if step != nil {
				t.Fatal(step)
			}
		}
		add(t, q, job("", "dead"))
		r.clock.Add(time.Second)
		if got := r.claim(q); len(got) != 0 {
			t.Error("a lane that was stopped goes on by itself")
		}
		if err := q.CloseLane(t.Context(), "q", tenant, "dead", true); err != nil {
			t.Fatal(err)
		}
		if got := r.claim(q); len(got) != 1 {
			t.Error("a lane that was started again stands still")
		}
	})
}

func TestTenantsAreApart(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		t := r.T
		st := r.open()
		if err := st.EnsureTenant(t.Context(), "other", "Other"); err != nil {
			t.Fatal(err)
		}
		q := r.queue("a")
		mine, theirs := job("k", "x"), job("k", "x")
		mine.DedupeKey, theirs.DedupeKey, theirs.Tenant = "d", "d", "other"
		ids := add(t, q, mine, theirs)
		if got := r.claim(q); len(got) != 2 {
			t.Errorf("leased %v", idsOf(got))
		}
		if _, err := q.Get(t.Context(), tenant, ids[1]); junctor.CodeOf(err) != junctor.CodeNotFound {
			t.Errorf("another tenant's job: %v", err)
		}
		if jobs, _, err := q.List(t.Context(), tenant, queue.Filter{Queue: "q"}); err != nil || len(jobs) != 1 {
			t.Errorf("listed %d, %v", len(jobs), err)
		}
		if n, err := q.Drop(t.Context(), tenant, queue.Filter{Queue: "q"}); err != nil || n != 1 {
			t.Errorf("dropped %d, %v", n, err)
		}
		if lanes, err := q.Lanes(t.Context(), "q", tenant); err != nil || len(lanes) != 0 {
			t.Errorf("lanes %v, %v", lanes, err)
		}
	})
}

func TestListsAndPruning(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		t := r.T
		q := r.queue("a")
		var ids []string
		for n := range 7 {
			j := job("", "x")
			j.Agent = strconv.Itoa(n % 2)
			ids = append(ids, add(t, q, j)...)
			r.clock.Add(time.Second)
		}
		var got []string
		for after, more := "", true; more; more = after != "" {
			page, next, err := q.List(t.Context(), tenant, queue.Filter{Queue: "q", Limit: 3, After: after})
			if err != nil {
				t.Fatal(err)
			}
			for _, j := range page {
				got = append(got, j.ID)
			}
			after = next
		}
		slices.Reverse(got)
		if !slices.Equal(got, ids) {
			t.Errorf("listed %v, want %v", got, ids)
		}
		if page, _, err := q.List(t.Context(), tenant, queue.Filter{Queue: "q", Agent: "1", States: []queue.State{queue.StateReady}}); err != nil || len(page) != 3 {
			t.Errorf("of agent 1: %d, %v", len(page), err)
		}
		for i, l := range r.claim(q) {
			settle(t, q, l, []queue.Outcome{queue.OutcomeFinished, queue.OutcomeFatal, queue.OutcomeHold}[i%3])
		}
		r.clock.Add(time.Hour)
		now := r.clock.Now()
		if n, err := q.Prune(t.Context(), "q", now, now.Add(-2*time.Hour)); err != nil || n != 3 {
			t.Errorf("pruned %d, %v", n, err)
		}
		s, err := q.Stats(t.Context(), "q")
		if err != nil || s.Counts[queue.StateDead] != 2 || s.Counts[queue.StateHeld] != 2 {
			t.Errorf("stats: %+v, %v", s, err)
		}
	})
}
