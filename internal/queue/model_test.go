package queue_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/queue"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Two processes add, lease, end, lose and change jobs at random, with a clock
// that jumps: what the database holds is at every moment what a plain model
// says, and so is every answer.
func TestQueueAgainstModel(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		qs := []*queue.Queue{r.queue("a"), r.queue("b")}
		rounds := 0
		rapid.Check(r, func(rt *rapid.T) {
			rounds++
			m := &model{T: rt, r: r, name: "q" + strconv.Itoa(rounds), qs: qs, lanes: map[string]*modelLane{}, dedupe: map[string]*modelJob{}, last: map[string]int64{}}
			rt.Repeat(map[string]func(*rapid.T){
				"add": m.add, "claim": m.claim, "claim again": m.claim, "settle": m.settle, "settle more": m.settle, "extend": m.extend,
				"crash": m.crash, "clock": m.jump, "change": m.change, "lane": m.lane, "": m.check,
			})
		})
		r.Logf("figure: %d random sequences", rounds)
	})
}

type modelJob struct {
	id, key, lane string
	state         queue.State
	blocks        bool
	held          string
	seq           int64 // its place in lines
	runAt         time.Time
	until         time.Time
	owner         int
	lease         int64
	lost          int
	attempts      int
	base          int
	most, skip    int
}

type modelLane struct {
	state  queue.LaneState
	until  time.Time
	opened int
}

// held is a lease that a process believes to have.
type heldLease struct {
	*queue.Lease
	by int
}

type model struct {
	*rapid.T
	r      *rig
	name   string
	qs     []*queue.Queue
	jobs   []*modelJob
	leases []heldLease
	lanes  map[string]*modelLane
	dedupe map[string]*modelJob
	last   map[string]int64 // places of lines
	jumps  int
}

func (m *model) now() time.Time { return m.r.clock.Now() }

func (m *model) need(rt *rapid.T, err error) {
	if err != nil {
		rt.Fatalf("%v (cause %v)", err, junctor.AsError(err).Cause)
	}
}

func (m *model) by(id string) *modelJob {
	for _, j := range m.jobs {
		if j.id == id {
			return j
		}
	}
	return nil
}

// advance lets the oldest of a line move where none does.
func (m *model) advance(key string) {
	if key == "" {
		return
	}
	var first *modelJob
	for _, j := range m.jobs {
		if j.key != key || !j.blocks {
			continue
		}
		if j.state != queue.StateWaiting {
			return
		}
		if first == nil {
			first = j
		}
	}
	if first != nil {
		first.state = queue.StateReady
		if first.held != "" {
			first.state = queue.StateHeld
		}
	}
}

func (m *model) add(rt *rapid.T) {
	m.r.clock.Add(time.Millisecond)
	j := queue.Job{
		Tenant: tenant, Queue: m.name, OrderKey: rapid.SampledFrom([]string{"", "k", "l"}).Draw(rt, "key"), Lane: rapid.SampledFrom([]string{"x", "y"}).Draw(rt, "lane"),
		DedupeKey: rapid.SampledFrom([]string{"", "", "d", "e"}).Draw(rt, "dedupe"), Payload: []byte(`{"a":1}`),
		MaxAttempts: rapid.SampledFrom([]int{0, 1, 3}).Draw(rt, "most"), SkipAfter: rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(rt, "skip"),
	}
	var ids []string
	err := m.qs[0].Write(m.r.Context(), func(ctx context.Context, tx *queue.Tx) (err error) {
		ids, err = tx.Enqueue(ctx, j)
		return err
	})
	m.need(rt, err)
	if there := m.dedupe[j.DedupeKey]; j.DedupeKey != "" && there != nil {
		if ids[0] != there.id {
			rt.Fatalf("the dedupe key %s gave %s, want %s", j.DedupeKey, ids[0], there.id)
		}
		if j.OrderKey != "" {
			m.last[j.OrderKey] = max(m.now().UnixNano(), m.last[j.OrderKey]+1)
		}
		return
	}
	made := &modelJob{id: ids[0], key: j.OrderKey, lane: j.Lane, state: queue.StateReady, seq: m.now().UnixNano(), runAt: m.now(), most: j.MaxAttempts, skip: j.SkipAfter}
	if j.OrderKey != "" {
		made.state, made.blocks = queue.StateWaiting, true
		made.seq = max(made.seq, m.last[j.OrderKey]+1)
		m.last[j.OrderKey] = made.seq
	}
	m.jobs = append(m.jobs, made)
	slices.SortFunc(m.jobs, func(a, b *modelJob) int { return cmp.Compare(a.seq, b.seq) })
	if j.DedupeKey != "" {
		m.dedupe[j.DedupeKey] = made
	}
	m.advance(j.OrderKey)
}

// takeBack is what a claim does first.
func (m *model) takeBack() {
	for _, j := range m.jobs {
		if j.state == queue.StateLeased && !j.until.After(m.now()) {
			m.free(j)
		}
	}
}

func (m *model) free(j *modelJob) {
	j.state, j.runAt = queue.StateReady, m.now()
	j.lost++
	if j.held != "" {
		j.state = queue.StateHeld
	}
}

func (m *model) claim(rt *rapid.T) {
	who := rapid.IntRange(0, 1).Draw(rt, "who")
	var got []*queue.Lease
	for {
		leases, next, err := m.qs[who].Claim(m.r.Context(), m.name, 100, plenty)
		m.need(rt, err)
		got = append(got, leases...)
		if len(leases) == 0 && next.After(m.now()) {
			break
		}
	}
	m.takeBack()
	want := map[string]bool{}
	for _, lane := range []string{"x", "y"} {
		for _, j := range m.due(lane) {
			j.state, j.until, j.owner = queue.StateLeased, m.now().Add(lease), who
			j.lease++
			want[j.id] = true
		}
	}
	for _, l := range got {
		j := m.by(l.ID)
		if !want[l.ID] {
			rt.Fatalf("leased %s, which is %s", l.ID, j.state)
		}
		if l.Token() != j.lease || l.Attempts != j.attempts || l.LostLeases != j.lost {
			rt.Fatalf("leased %+v, want %+v", l, j)
		}
		delete(want, l.ID)
		m.leases = append(m.leases, heldLease{l, who})
	}
	if len(want) > 0 {
		rt.Fatalf("not leased: %v", want)
	}
}

// due is what a claim leases of a lane.
func (m *model) due(lane string) []*modelJob {
	var ready []*modelJob
	for _, j := range m.jobs {
		if j.lane == lane && j.state == queue.StateReady {
			ready = append(ready, j)
		}
	}
	now := m.now()
	if l := m.lanes[lane]; l != nil {
		if l.state == queue.LaneStopped || l.until.After(now) || len(ready) == 0 {
			return nil
		}
		l.state, l.until = queue.LaneHalfOpen, now.Add(time.Minute)
		if ready[0].runAt.After(now) {
			ready[0].runAt = now
		}
		return []*modelJob{slices.MinFunc(ready, func(a, b *modelJob) int {
			return cmp.Or(a.runAt.Compare(b.runAt), cmp.Compare(a.seq, b.seq))
		})}
	}
	return slices.DeleteFunc(ready, func(j *modelJob) bool { return j.runAt.After(now) })
}

func (m *model) settle(rt *rapid.T) {
	if len(m.leases) == 0 {
		return
	}
	i := rapid.IntRange(0, len(m.leases)-1).Draw(rt, "lease")
	l := m.leases[i]
	class := rapid.SampledFrom([]queue.Outcome{queue.OutcomeFinished, queue.OutcomeRetry, queue.OutcomeRetry, queue.OutcomeHold, queue.OutcomeFatal, queue.OutcomeNotStarted}).Draw(rt, "class")
	also := rapid.Bool().Draw(rt, "also")
	ran := false
	end := queue.AttemptResult{Outcome: class, HoldReason: "token", Attempt: queue.Attempt{StartedAt: m.now(), Outcome: "x", Error: "y"}}
	if also {
		end.InTransaction = func(context.Context, *queue.Tx) error { ran = true; return nil }
	}
	state, err := m.qs[l.by].Settle(m.r.Context(), l.Lease, end)
	j := m.by(l.ID)
	if j.state != queue.StateLeased || j.lease != l.Token() {
		if junctor.CodeOf(err) != junctor.CodeConflict || ran {
			rt.Fatalf("settled %s under %d, which is %s under %d: %v", l.ID, l.Token(), j.state, j.lease, err)
		}
		return
	}
	m.need(rt, err)
	if ran != also {
		rt.Fatalf("what belongs to the end ran: %v", ran)
	}
	m.end(j, l.Lease, class)
	if state != j.state {
		rt.Fatalf("settled %s: %s, want %s", l.ID, state, j.state)
	}
	if rapid.Bool().Draw(rt, "forget") { // else it may try again, and is refused
		m.leases = slices.Delete(m.leases, i, i+1)
	}
}

func (m *model) end(j *modelJob, l *queue.Lease, class queue.Outcome) {
	now := m.now()
	if class != queue.OutcomeNotStarted {
		j.attempts++
	}
	switch class {
	case queue.OutcomeFinished:
		j.state, j.held, j.runAt = queue.StateDone, "", now
	case queue.OutcomeFatal:
		j.state, j.held, j.runAt = queue.StateDead, "", now
	case queue.OutcomeHold:
		j.state, j.held, j.runAt = queue.StateHeld, "token", now
	case queue.OutcomeNotStarted:
		j.state, j.runAt = queue.StateReady, l.RunAt
	case queue.OutcomeRetry:
		wait, again := queue.RetryDelay(j.attempts-j.base, j.most, 0, 0.5)
		if j.state, j.runAt = queue.StateReady, now.Add(wait); !again {
			j.state, j.held = queue.StateDead, ""
		}
	}
	if j.state == queue.StateReady && j.held != "" {
		j.state = queue.StateHeld
	}
	if j.state.IsEnded() || j.skip > 0 && j.attempts-j.base >= j.skip {
		j.blocks = false
	}
	if !j.blocks {
		m.advance(j.key)
	}
}

func (m *model) extend(rt *rapid.T) {
	who := rapid.IntRange(0, 1).Draw(rt, "who")
	var mine []*queue.Lease
	var want []string
	for _, l := range m.leases {
		if l.by != who {
			continue
		}
		mine = append(mine, l.Lease)
		if j := m.by(l.ID); j.state == queue.StateLeased && j.lease == l.Token() {
			j.until = m.now().Add(lease)
		} else {
			want = append(want, l.ID)
		}
	}
	lost, err := m.qs[who].ExtendLeases(m.r.Context(), mine)
	m.need(rt, err)
	if got := idsOf(lost); !slices.Equal(got, want) {
		rt.Fatalf("lost %v, want %v", got, want)
	}
}

// crash makes a process forget what it had; now and then it says so when it
// starts again.
func (m *model) crash(rt *rapid.T) {
	who := rapid.IntRange(0, 1).Draw(rt, "who")
	m.leases = slices.DeleteFunc(m.leases, func(l heldLease) bool { return l.by == who })
	if !rapid.Bool().Draw(rt, "restart") {
		return
	}
	m.need(rt, m.qs[who].TakeBackLeases(m.r.Context(), []string{"a", "b"}[who]))
	for _, j := range m.jobs {
		if j.state == queue.StateLeased && j.owner == who {
			m.free(j)
		}
	}
}

func (m *model) jump(rt *rapid.T) {
	m.jumps++ // no two moments are the same, so that there is one order
	m.r.clock.Add(time.Duration(m.jumps) * time.Microsecond)
	m.r.clock.Add(time.Duration(rapid.SampledFrom([]int{-3600, -11, -1, 1, 2, 5, 10, 11, 31, 3600, 40000}).Draw(rt, "seconds")) * time.Second)
}

func (m *model) change(rt *rapid.T) {
	if len(m.jobs) == 0 {
		return
	}
	m.r.clock.Add(time.Millisecond)
	chosen := rapid.SliceOfNDistinct(rapid.SampledFrom(m.jobs), 1, 3, func(j *modelJob) string { return j.id })
	if len(m.jobs) < 3 {
		chosen = rapid.Just(m.jobs)
	}
	var ids []string
	jobs := chosen.Draw(rt, "jobs")
	for _, j := range jobs {
		ids = append(ids, j.id)
	}
	what := rapid.SampledFrom([]string{"hold", "release", "drop", "replay"}).Draw(rt, "what")
	do := map[string]func(context.Context, junctor.TenantID, queue.Filter) (int, error){
		"hold": m.qs[0].Hold, "release": m.qs[0].Release, "drop": m.qs[0].Drop, "replay": m.qs[1].Replay,
	}[what]
	n, err := do(m.r.Context(), tenant, queue.Filter{Queue: m.name, IDs: ids})
	m.need(rt, err)
	want := 0
	for _, j := range jobs {
		if m.changed(j, what) {
			want++
		}
	}
	for _, j := range jobs {
		m.advance(j.key)
	}
	if n != want {
		rt.Fatalf("%s changed %d, want %d", what, n, want)
	}
}

func (m *model) changed(j *modelJob, what string) bool {
	open := !j.state.IsEnded()
	switch what {
	case "hold":
		if !open || j.state == queue.StateHeld {
			return false
		}
		if j.held = queue.HeldByHand; j.state == queue.StateReady {
			j.state = queue.StateHeld
		}
	case "release":
		if !open || j.state == queue.StateReady {
			return false
		}
		if j.held = ""; j.state == queue.StateHeld {
			j.state, j.runAt = queue.StateReady, m.now()
		}
	case "drop":
		if j.state == queue.StateDone || j.state == queue.StateDropped {
			return false
		}
		j.state, j.held, j.blocks = queue.StateDropped, "", false
	case "replay":
		if j.state == queue.StateLeased || j.state == queue.StateWaiting {
			return false
		}
		j.state, j.held, j.runAt, j.lost = queue.StateReady, "", m.now(), 0
		if !open {
			j.base = j.attempts
			if j.key != "" {
				j.state, j.blocks = queue.StateWaiting, true
			}
		}
	}
	return true
}

func (m *model) lane(rt *rapid.T) {
	lane := rapid.SampledFrom([]string{"x", "y"}).Draw(rt, "lane")
	l := m.lanes[lane]
	q := m.qs[1]
	switch what := rapid.SampledFrom([]string{"open", "stop", "close", "close by hand"}).Draw(rt, "what"); what {
	case "open":
		m.need(rt, q.OpenLane(m.r.Context(), m.name, tenant, lane, 20*time.Second, time.Minute, "down"))
		if l == nil {
			l = &modelLane{}
			m.lanes[lane] = l
		}
		if l.state != queue.LaneStopped {
			l.state, l.until = queue.LaneOpen, m.now().Add(min(20*time.Second<<l.opened, time.Minute))
			l.opened++
		}
	case "stop":
		m.need(rt, q.StopLane(m.r.Context(), m.name, tenant, lane, "gone"))
		if l == nil {
			l = &modelLane{}
			m.lanes[lane] = l
		}
		l.state = queue.LaneStopped
		l.opened++
	default:
		m.need(rt, q.CloseLane(m.r.Context(), m.name, tenant, lane, what == "close by hand"))
		if l == nil || l.state == queue.LaneStopped && what == "close" {
			return
		}
		delete(m.lanes, lane)
		for _, j := range m.jobs {
			if j.lane == lane && j.state == queue.StateReady && j.runAt.After(m.now()) {
				j.runAt = m.now()
			}
		}
	}
}

// check compares all that the database holds with the model.
func (m *model) check(rt *rapid.T) {
	jobs, _, err := m.qs[0].List(m.r.Context(), tenant, queue.Filter{Queue: m.name, Limit: 1000})
	m.need(rt, err)
	got, want := map[string]string{}, map[string]string{}
	line := func(state queue.State, held string, attempts, base, lost int, at time.Time) string {
		when := ""
		if state == queue.StateReady {
			when = at.UTC().Format(time.RFC3339Nano)
		}
		return fmt.Sprintf("%s %q %d %d %d %s", state, held, attempts, base, lost, when)
	}
	for _, j := range jobs {
		got[j.ID] = line(j.State, j.Held, j.Attempts, j.AttemptsBeforeReplay, j.LostLeases, j.RunAt)
	}
	for _, j := range m.jobs {
		want[j.id] = line(j.state, j.held, j.attempts, j.base, j.lost, j.runAt)
	}
	if d := gocmp.Diff(want, got); d != "" {
		rt.Fatalf("the database holds something else (-want +got):\n%s", d)
	}
	m.checkFigures(rt)
}

// checkFigures compares what is counted with the model.
func (m *model) checkFigures(rt *rapid.T) {
	counts, open := map[queue.State]int{queue.StateWaiting: 0, queue.StateReady: 0, queue.StateLeased: 0, queue.StateHeld: 0, queue.StateDead: 0}, map[string]int{}
	var oldest time.Time
	for _, j := range m.jobs {
		if _, counted := counts[j.state]; counted {
			counts[j.state]++
		}
		if !j.state.IsEnded() {
			open[j.lane]++
		}
		if at := j.runAt.Truncate(time.Microsecond); j.state == queue.StateReady && !at.After(m.now()) && (oldest.IsZero() || at.Before(oldest)) {
			oldest = at
		}
	}
	for lane := range m.lanes {
		open[lane] += 0
	}
	s, err := m.qs[0].Stats(m.r.Context(), m.name)
	m.need(rt, err)
	if d := gocmp.Diff(counts, s.Counts); d != "" || !s.OldestReady.Equal(oldest) {
		rt.Fatalf("counted otherwise (-want +got):\n%s\noldest %s, want %s", d, s.OldestReady, oldest)
	}
	list, err := m.qs[1].Lanes(m.r.Context(), m.name, tenant)
	m.need(rt, err)
	got := map[string]int{}
	for _, l := range list {
		got[l.Name] = l.Jobs
	}
	if d := gocmp.Diff(open, got); d != "" {
		rt.Fatalf("other lanes (-want +got):\n%s", d)
	}
}
