package worker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/guard"
	"github.com/junctor-mcp/junctor/internal/intake"
	"github.com/junctor-mcp/junctor/internal/queue"
	"github.com/junctor-mcp/junctor/internal/seal"
	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/store/pgtest"
	"github.com/junctor-mcp/junctor/internal/store/postgres"
	"github.com/junctor-mcp/junctor/internal/store/sqlite"
	"github.com/junctor-mcp/junctor/internal/store/storetest"
	"github.com/junctor-mcp/junctor/internal/testkit/clock"
	"github.com/junctor-mcp/junctor/internal/wire"
	"github.com/junctor-mcp/junctor/internal/worker"

	"pgregory.net/rapid"
)

// Two replicas take events of two agents, for which there are several triggers, and
// make their calls, in any order of steps: with endpoints that fail, time-outs, leases
// that run out, replicas that are killed, files that nobody has, and people who hold,
// release, drop and replay. No delivery is leased before an older one of its line,
// whichever trigger that one is of, and a missing file costs a bounded number of
// attempts.
func TestOrderPerAgent(t *testing.T) {
	t.Parallel()
	run := func(t *testing.T, open func(context.Context) (*store.Store, error)) {
		t.Helper()
		r := newOrderRig(t, open)
		rounds, leases, missing := 0, 0, 0
		rapid.Check(t, func(rt *rapid.T) {
			rounds++
			r.begin(rt, rounds)
			rt.Repeat(map[string]func(*rapid.T){
				"take": r.take, "take more": r.take, "claim": r.claim, "claim again": r.claim, "attempt": r.attempt, "attempt more": r.attempt,
				"clock": r.jump, "crash": r.crash, "change": r.change, "start": r.startLanes,
			})
			r.drain(rt)
			leases, missing = leases+r.leased, missing+r.missing
		})
		t.Logf("figure: %s: %d random interleavings of two replicas with several triggers for each agent, %d leases in order, %d calls without a file that nobody has",
			t.Name()[strings.LastIndex(t.Name(), "/")+1:], rounds, leases, missing)
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := storetest.Fresh(t)
		run(t, func(ctx context.Context) (*store.Store, error) { return sqlite.Open(ctx, path) })
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		url := pgtest.Seeded(t, &server, postgres.Open)
		run(t, func(ctx context.Context) (*store.Store, error) { return postgres.Open(ctx, url) })
	})
}

// orderTriggers are several triggers for each agent: on different endpoints, one that
// lets others pass, one with few attempts, and one that names a line of its own.
func orderTriggers() []junctor.Trigger {
	return []junctor.Trigger{
		{Name: "feedback", Match: junctor.Match{Type: "feedback"}, Action: junctor.Action{Server: "one", Tool: "receive", IncludeFile: true, VerifyFile: true}},
		{Name: "retracted", Match: junctor.Match{Type: "*.retracted"}, Action: junctor.Action{Server: "two", Tool: "update"}},
		{Name: "notes", Match: junctor.Match{Source: "s"}, Action: junctor.Action{Server: "one", Tool: "note", SkipAfter: 2}},
		{Name: "tick", Match: junctor.Match{Type: "tick"}, Action: junctor.Action{Server: "three", Tool: "wake", Attempts: 2, RetryErrors: true}},
		{Name: "account", Match: junctor.Match{Type: "feedback"}, Action: junctor.Action{Server: "three", Tool: "book", OrderKey: "account {{data.account}}"}},
	}
}

// replica is one process, as far as deliveries go.
type replica struct {
	q  *queue.Queue
	in *intake.Intake
	w  *worker.Worker
}

// placed is a delivery as the test knows it.
type placed struct {
	queue.Job
	line    string
	place   int    // among all that were placed
	uri     string // of the file that goes along
	passing string // the delivery that was under way when this one was replayed, and goes on first
}

// passed says that others of the line do not wait for it any more.
func (p *placed) passed() bool {
	return p.SkipAfter > 0 && !p.State.IsEnded() && p.Attempts-p.AttemptsBeforeReplay >= p.SkipAfter
}

// moves says that it is the one of its line that is not behind another.
func (p *placed) moves() bool {
	return !p.passed() && (p.State == queue.StateReady || p.State == queue.StateLeased || p.State == queue.StateHeld)
}

type orderRig struct {
	t        *testing.T
	store    *store.Store
	clock    *clock.Clock
	replicas []replica

	round, n        int
	all             map[string]*placed
	flying          []flying
	answer          string // of the next call
	called          *guard.Op
	leased, missing int
}

// flying is a lease that a replica believes to have.
type flying struct {
	*queue.Lease
	by int
}

const orderLease = 10 * time.Second

func newOrderRig(t *testing.T, open func(context.Context) (*store.Store, error)) *orderRig {
	t.Helper()
	r := &orderRig{t: t, clock: clock.New(time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC))}
	log := slog.New(slog.DiscardHandler)
	ids := 0
	for i, name := range []string{"a", "b"} {
		st, err := open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = st.Close() })
		q, err := queue.New(queue.Options{DB: st.Database(), Owner: name, LeaseDuration: orderLease, Logger: log, Now: r.clock.Now, Jitter: func() float64 { return 0.5 }})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(q.Close)
		w, err := worker.New(worker.Options{Queue: q, Pipeline: r, Endpoints: bare{}, Files: r, Meter: meter{}, Logger: log, Now: r.clock.Now})
		if err != nil {
			t.Fatal(err)
		}
		in, err := intake.New(intake.Options{
			Store: st, Secrets: noSecrets{}, Now: r.clock.Now, Replica: name, Log: log,
			NewID: func() string { ids++; return fmt.Sprintf("e%09d", ids) },
			Write: func(ctx context.Context, fn func(context.Context, intake.Booking) error) error {
				return q.Write(ctx, func(ctx context.Context, tx *queue.Tx) error { return fn(ctx, orderBooking{tx}) })
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		r.replicas = append(r.replicas, replica{q, in, w})
		if i > 0 {
			continue
		}
		r.store = st
		for _, trigger := range orderTriggers() {
			if _, err := st.For(tenant).AddTrigger(t.Context(), trigger); err != nil {
				t.Fatal(err)
			}
		}
	}
	return r
}

// orderBooking is a transaction of the queue.
type orderBooking struct{ *queue.Tx }

func (b orderBooking) Place(ctx context.Context, tenant junctor.TenantID, orders ...junctor.Order) ([]string, error) {
	return worker.Place(ctx, b.Tx, tenant, orders...)
}

// noSecrets are those of no source.
type noSecrets struct{}

func (noSecrets) Put(context.Context, junctor.TenantID, string, string, seal.Secret) error {
	return nil
}

func (noSecrets) Get(context.Context, junctor.TenantID, string, string) (seal.Secret, bool, error) {
	return seal.Secret{}, false, nil
}
func (noSecrets) Delete(context.Context, junctor.TenantID, string, string) error { return nil }

// Do implements worker.Pipeline: the call ends as the test says.
func (r *orderRig) Do(_ context.Context, op *guard.Op, _ catalog.Sink) (catalog.Result, error) {
	r.called, op.Dispatched, op.CallID = op, true, "c"
	switch r.answer {
	case "unreachable":
		return catalog.Result{}, junctor.Errorf(junctor.CodeUnreachable, "nobody is there")
	case "timeout":
		return catalog.Result{}, junctor.Errorf(junctor.CodeTimeout, "no answer")
	case "refused":
		return catalog.Result{}, &junctor.Error{Code: junctor.CodeUpstream, Message: "x", Cause: answered(401)}
	case "no such endpoint":
		return catalog.Result{}, &junctor.Error{Code: junctor.CodeUpstream, Message: "x", Cause: answered(404)}
	case "failed":
		return catalog.Result{Body: []byte(`{"isError":true,"content":[{"type":"text","text":"no"}]}`), IsError: true}, nil
	}
	return fine()
}

// AbandonCall implements worker.Pipeline.
func (r *orderRig) AbandonCall(context.Context, *guard.Op, error) {}

// Content implements worker.Files.
func (r *orderRig) Content(_ context.Context, _ junctor.TenantID, o *junctor.Order) (json.RawMessage, string, error) {
	if o.File.URI == "ipfs://missing" {
		return nil, "", junctor.Errorf(junctor.CodeUnreachable, "no gateway has it")
	}
	return json.RawMessage(`{"a":1}`), "cid", nil
}

func (r *orderRig) need(rt *rapid.T, err error) {
	if err != nil {
		rt.Fatalf("%v (cause %v)", err, junctor.AsError(err).Cause)
	}
}

// begin forgets what the round before left, which may have failed.
func (r *orderRig) begin(rt *rapid.T, round int) {
	r.round, r.n, r.leased, r.missing, r.all, r.flying = round, 0, 0, 0, map[string]*placed{}, nil
	ctx, q := r.t.Context(), r.replicas[0].q
	_, err := q.Drop(ctx, tenant, queue.Filter{Queue: worker.Deliveries})
	r.need(rt, err)
	r.clock.Advance(72 * time.Hour)
	for {
		n, err := q.Prune(ctx, worker.Deliveries, r.clock.Now(), r.clock.Now())
		r.need(rt, err)
		if n == 0 {
			break
		}
	}
	_, err = r.store.PruneEvents(ctx, r.clock.Now().Add(time.Hour))
	r.need(rt, err)
	r.startLanes(rt)
}

// startLanes has endpoints called again that are left alone.
func (r *orderRig) startLanes(rt *rapid.T) {
	lanes, err := r.replicas[0].w.Lanes(r.t.Context(), tenant)
	r.need(rt, err)
	for _, l := range lanes {
		if l.State == queue.LaneClosed {
			continue
		}
		for _, one := range r.replicas {
			r.need(rt, one.w.StartLane(r.t.Context(), tenant, l.Name))
		}
	}
}

// refresh reads how far deliveries are.
func (r *orderRig) refresh(rt *rapid.T) {
	jobs, _, err := r.replicas[0].q.List(r.t.Context(), tenant, queue.Filter{Queue: worker.Deliveries, Limit: 1000})
	r.need(rt, err)
	moving := map[string]string{}
	for _, j := range jobs {
		p := r.all[j.ID]
		if p == nil {
			rt.Fatalf("nobody placed %+v", j)
		}
		p.Job = j
		if !p.moves() {
			continue
		}
		if other := moving[p.line]; other != "" {
			rt.Fatalf("%s and %s of the line %q move at the same time", other, p.ID, p.line)
		}
		moving[p.line] = p.ID
	}
	for _, p := range r.all {
		if p.passing != "" && moving[p.line] != p.passing {
			p.passing = "" // it has ended, or is passed itself
		}
	}
}

func (r *orderRig) take(rt *rapid.T) {
	who := rapid.IntRange(0, 1).Draw(rt, "who")
	agent := fmt.Sprintf("%s%d", rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "agent"), r.round)
	kind := rapid.SampledFrom([]string{"feedback", "feedback", "feedback.retracted", "tick"}).Draw(rt, "type")
	uri := rapid.SampledFrom([]string{"", "ipfs://there", "ipfs://missing"}).Draw(rt, "file")
	account := rapid.SampledFrom([]string{"x", "y"}).Draw(rt, "account")
	data := fmt.Sprintf(`{"account":"%s%d","file_uri":%q}`, account, r.round, uri)
	r.clock.Advance(time.Millisecond)
	taken, err := r.replicas[who].in.Take(r.t.Context(), junctor.Event{Tenant: tenant, Source: "s", Type: kind, Agent: agent, Data: json.RawMessage(data)})
	r.need(rt, err)
	triggers := map[string][]string{ // by name, as they are asked
		"feedback": {"account", "feedback", "notes"}, "feedback.retracted": {"notes", "retracted"}, "tick": {"notes", "tick"},
	}[kind]
	if len(taken.Deliveries) != len(triggers) || len(taken.Faults) > 0 {
		rt.Fatalf("%s became %+v", kind, taken)
	}
	for i, id := range taken.Deliveries {
		r.n++
		p := &placed{place: r.n, line: "agent " + agent}
		switch triggers[i] {
		case "account":
			p.line = "account " + account
		case "feedback":
			p.uri = uri
		}
		r.all[id] = p
	}
	r.refresh(rt)
	for i, id := range taken.Deliveries {
		if r.all[id].Trigger != triggers[i] {
			rt.Fatalf("%s became %+v, want one of %s", kind, r.all[id].Job, triggers[i])
		}
	}
}

// inOrder refuses a lease that an older delivery of the line should have come before.
func (r *orderRig) inOrder(rt *rapid.T, p *placed) {
	if p.passed() {
		return
	}
	for _, older := range r.all {
		if older.line == p.line && older.place < p.place && !older.State.IsEnded() && !older.passed() && older.passing != p.ID {
			rt.Fatalf("%s (%s) of the line %q is leased before %s (%s), which is older and %s", p.ID, p.Trigger, p.line, older.ID, older.Trigger, older.State)
		}
	}
}

func (r *orderRig) claim(rt *rapid.T) { r.claimBy(rt, rapid.IntRange(0, 1).Draw(rt, "who")) }

func (r *orderRig) claimBy(rt *rapid.T, who int) (count int) {
	r.refresh(rt)
	most := rapid.IntRange(1, 4).Draw(rt, "most")
	leases, _, err := r.replicas[who].q.Claim(r.t.Context(), worker.Deliveries, most, func(junctor.TenantID, string) int { return 4 })
	r.need(rt, err)
	for _, l := range leases {
		r.inOrder(rt, r.all[l.ID])
		r.leased++
		r.flying = append(r.flying, flying{l, who})
	}
	r.refresh(rt)
	return len(leases)
}

func (r *orderRig) attempt(rt *rapid.T) {
	if len(r.flying) == 0 {
		return
	}
	i := rapid.IntRange(0, len(r.flying)-1).Draw(rt, "lease")
	r.answer = rapid.SampledFrom([]string{"fine", "fine", "fine", "unreachable", "timeout", "refused", "no such endpoint", "failed"}).Draw(rt, "answer")
	r.attemptAt(rt, i)
}

// attemptAt makes an attempt of a lease that holds, and looks at what was sent.
func (r *orderRig) attemptAt(rt *rapid.T, i int) {
	f := r.flying[i]
	r.flying = slices.Delete(r.flying, i, i+1)
	r.refresh(rt)
	p := r.all[f.ID]
	if p.State != queue.StateLeased || !f.Until.After(r.clock.Now()) {
		return // a worker has let go of it by now
	}
	if p.passing == "" {
		r.inOrder(rt, p)
	}
	r.called = nil
	r.replicas[f.by].w.Attempt(r.t.Context(), f.Lease)
	d, err := r.replicas[f.by].w.Get(r.t.Context(), tenant, f.ID)
	r.need(rt, err)
	failures := 0
	for _, a := range d.Tried[f.AttemptsBeforeReplay:] {
		if a.Kind == string(worker.KindFileVerification) {
			failures++
		}
	}
	if failures >= junctor.DefaultFileAttempts || failures > 0 && p.uri != "ipfs://missing" {
		rt.Fatalf("%d attempts failed by the file %q: %+v", failures, p.uri, d.Tried)
	}
	if r.called == nil {
		if p.uri != "ipfs://missing" {
			rt.Fatalf("%s was not called: %+v", f.ID, d.Tried)
		}
		r.refresh(rt)
		return
	}
	content := wire.Get(r.called.Arguments, "fileContent") != nil
	told, _ := wire.String(wire.Get(wire.Get(wire.Get(r.called.Meta, junctor.MetaDelivery), "file"), "state"))
	if content != (p.uri == "ipfs://there") || (told == "missing") != (p.uri == "ipfs://missing") {
		rt.Fatalf("the file %q: %s, %s", p.uri, r.called.Arguments, r.called.Meta)
	}
	if told == "missing" {
		r.missing++
		if d.Verified == nil || d.Verified.State != "missing" || failures != junctor.DefaultFileAttempts-1 && d.Attempts-f.AttemptsBeforeReplay < junctor.DefaultFileAttempts {
			rt.Fatalf("after %d attempts without the file: %+v", failures, d)
		}
	}
	r.refresh(rt)
}

func (r *orderRig) jump(rt *rapid.T) {
	r.clock.Advance(time.Duration(rapid.SampledFrom([]int{1, 2, 5, 11, 40, 400, 8000, 40000}).Draw(rt, "seconds")) * time.Second)
}

// crash has a replica lose what it was at work on; where it starts again it says so.
func (r *orderRig) crash(rt *rapid.T) {
	who := rapid.IntRange(0, 1).Draw(rt, "who")
	r.flying = slices.DeleteFunc(r.flying, func(f flying) bool { return f.by == who })
	if rapid.Bool().Draw(rt, "restart") {
		r.need(rt, r.replicas[who].q.TakeBackLeases(r.t.Context(), []string{"a", "b"}[who]))
	}
}

func (r *orderRig) change(rt *rapid.T) {
	if len(r.all) == 0 {
		return
	}
	r.refresh(rt)
	var ids []string
	byPlace := slices.SortedFunc(func(yield func(*placed) bool) {
		for _, p := range r.all {
			if !yield(p) {
				return
			}
		}
	}, func(a, b *placed) int { return a.place - b.place })
	for range rapid.IntRange(1, 4).Draw(rt, "how many") {
		ids = append(ids, rapid.SampledFrom(byPlace).Draw(rt, "delivery").ID)
	}
	what := rapid.SampledFrom([]string{"replay", "replay", "replay", "hold", "release", "drop"}).Draw(rt, "what")
	moving := map[string]string{}
	for _, p := range r.all {
		if p.moves() {
			moving[p.line] = p.ID
		}
	}
	ended := map[string]bool{}
	for _, id := range ids {
		ended[id] = r.all[id].State.IsEnded()
	}
	_, err := r.replicas[rapid.IntRange(0, 1).Draw(rt, "who")].w.Change(r.t.Context(), tenant, what, queue.Filter{IDs: ids})
	r.need(rt, err)
	for _, id := range ids {
		if what == "replay" && ended[id] {
			r.all[id].passing = moving[r.all[id].line]
		}
	}
	r.refresh(rt)
}

// drain lets everything succeed: nothing is left behind, and all of it in order.
func (r *orderRig) drain(rt *rapid.T) {
	r.answer = "fine"
	for range 10 * (len(r.all) + 10) {
		r.refresh(rt)
		open := 0
		for _, p := range r.all {
			if !p.State.IsEnded() {
				open++
			}
		}
		if open == 0 {
			return
		}
		if r.claimBy(rt, 0)+r.claimBy(rt, 1) == 0 {
			r.startLanes(rt)
			_, err := r.replicas[0].w.Change(r.t.Context(), tenant, "release", queue.Filter{})
			r.need(rt, err)
			r.clock.Advance(13 * time.Hour) // beyond every lease and every wait
		}
		for len(r.flying) > 0 {
			r.attemptAt(rt, 0)
		}
	}
	rt.Fatalf("deliveries do not end: %d", len(r.all))
}
