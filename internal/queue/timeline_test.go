package queue_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/queue"
)

// TestTimeline compares the timeline of a queue, on each engine, with one that is counted job
// by job.
func TestTimeline(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		q := r.queue("one")
		if err := r.open().EnsureTenant(r.Context(), "acme", "Acme"); err != nil {
			r.Fatal(err)
		}
		random := rand.New(rand.NewPCG(1, 2))
		begin := r.clock.Now().Truncate(time.Minute)
		for range 60 {
			for range random.IntN(4) {
				j := job("", []string{"one", "two"}[random.IntN(2)])
				j.Trigger = []string{"a", "b"}[random.IntN(2)]
				if random.IntN(8) == 0 {
					j.Tenant = "acme"
				}
				add(r, q, j)
			}
			if random.IntN(3) == 0 {
				for _, l := range r.claim(q) {
					settle(r, q, l, []queue.Outcome{queue.OutcomeFinished, queue.OutcomeFatal, queue.OutcomeRetry, queue.OutcomeHold}[random.IntN(4)])
					r.clock.Add(time.Duration(random.IntN(900)) * time.Millisecond)
				}
			}
			r.clock.Add(time.Duration(random.IntN(70)) * time.Second)
		}
		jobs, _, err := q.List(r.Context(), tenant, queue.Filter{Queue: "q", Limit: 1000})
		if err != nil || len(jobs) < 20 {
			r.Fatalf("%d jobs, %v", len(jobs), err)
		}
		for _, c := range []struct {
			from  time.Time
			step  time.Duration
			steps int
			f     queue.Filter
			match func(j *queue.Job) bool
		}{
			{begin, time.Minute, 90, queue.Filter{}, func(*queue.Job) bool { return true }},
			{begin.Add(7 * time.Minute), 5 * time.Minute, 3, queue.Filter{}, func(*queue.Job) bool { return true }},
			{begin.Add(3 * time.Minute), 30 * time.Minute, 2, queue.Filter{Trigger: "a"}, func(j *queue.Job) bool { return j.Trigger == "a" }},
			{begin, 2 * time.Minute, 20, queue.Filter{Lane: "two"}, func(j *queue.Job) bool { return j.Lane == "two" }},
			{begin.Add(-24 * time.Hour), time.Hour, 48, queue.Filter{Trigger: "none"}, func(*queue.Job) bool { return false }},
		} {
			c.f.Queue = "q"
			got, err := q.Timeline(r.Context(), tenant, queue.TimelineQuery{Filter: c.f, From: c.from, Step: c.step, Steps: c.steps})
			if err != nil {
				r.Fatalf("%v (cause %v)", err, junctor.AsError(err).Cause)
			}
			want := countTimeline(jobs, c.match, c.from, c.step, c.steps, r.clock.Now())
			if !slices.Equal(got, want) {
				r.Errorf("from %s, step %s, %+v:\n%+v, want\n%+v", c.from, c.step, c.f, got, want)
			}
		}
	})
}

// countTimeline counts a timeline job by job.
func countTimeline(jobs []queue.Job, match func(*queue.Job) bool, from time.Time, step time.Duration, steps int, now time.Time) []queue.TimelinePoint {
	out := make([]queue.TimelinePoint, steps)
	for i := range out {
		p := &out[i]
		p.Time = from.Add(time.Duration(i) * step)
		end := p.Time.Add(step)
		if p.Time.After(now) {
			continue
		}
		at := end
		if now.Before(end) {
			at = now
		}
		for k := range jobs {
			j := &jobs[k]
			if !match(j) {
				continue
			}
			if !j.EndedAt.IsZero() && !j.EndedAt.Before(p.Time) && j.EndedAt.Before(end) {
				switch j.State {
				case queue.StateDone:
					p.Done++
				case queue.StateDead:
					p.Dead++
				case queue.StateDropped:
					p.Dropped++
				}
			}
			if j.CreatedAt.Before(end) && (j.EndedAt.IsZero() || !j.EndedAt.Before(end)) {
				p.Open++
				p.OldestSeconds = max(p.OldestSeconds, int64(at.Sub(j.CreatedAt)/time.Second))
			}
		}
	}
	return out
}
