package worker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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
//
// Each check runs several such interleavings at once, each in a tenant of its own:
// every step of an interleaving is drawn alone, but the steps of all of them are made
// at the same time, and share claims, transactions, the clock and crashes. So the
// lines of many tenants meet in one queue, and 10,000 interleavings end in minutes.
func TestOrderPerAgent(t *testing.T) {
	t.Parallel()
	atOnce := 4
	if os.Getenv("JUNCTOR_PROVE") != "" {
		atOnce = 20
	}
	run := func(t *testing.T, open func(context.Context) (*store.Store, error)) {
		t.Helper()
		r := newOrderRig(t, atOnce, open)
		checks, leases, missing := 0, 0, 0
		rapid.Check(t, func(rt *rapid.T) {
			checks++
			r.begin(rt, checks)
			actions := map[string]func(*rapid.T){"claim": r.claim, "claim again": r.claim, "clock": r.jump, "crash": r.crash}
			for i := range 6 {
				actions[fmt.Sprintf("act %d", i)] = r.act
			}
			rt.Repeat(actions)
			r.drain(rt)
			for _, g := range r.groups {
				leases, missing = leases+g.leased, missing+g.missing
			}
		})
		t.Logf("figure: %s: %d random interleavings of two replicas with several triggers for each agent (%d at once, each in its own tenant, on one queue), %d leases in order, %d calls without a file that cannot be fetched",
			t.Name()[strings.LastIndex(t.Name(), "/")+1:], checks*atOnce, atOnce, leases, missing)
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
	id, trigger string
	state       queue.State
	skipAfter   int
	attempts    int // since it was replayed last

	line    string
	place   int    // among all that were placed
	uri     string // of the file that goes along
	passing string // the delivery that was under way when this one was replayed, and goes on first
}

// passed says that others of the line do not wait for it any more.
func (p *placed) passed() bool {
	return p.skipAfter > 0 && !p.state.IsEnded() && p.attempts >= p.skipAfter
}

// moves says that it is the one of its line that is not behind another.
func (p *placed) moves() bool {
	return !p.passed() && (p.state == queue.StateReady || p.state == queue.StateLeased || p.state == queue.StateHeld)
}

// orderGroup is one interleaving: two agents and their triggers, in a tenant of its own.
type orderGroup struct {
	tenant          junctor.TenantID
	n               int
	all             map[string]*placed
	flying          []flying
	answer          string // of the next calls
	leased, missing int

	mu     sync.Mutex
	called map[string]*guard.Op // the calls of the step, by delivery
}

// flying is a lease that a replica believes to have.
type flying struct {
	*queue.Lease
	by int
}

// orderStep is what one interleaving does in a step: do runs beside those of the others,
// and check after all of them, when the state was read again.
type orderStep struct {
	who   int // the replica
	do    func() error
	check func() error
}

type orderRig struct {
	t        *testing.T
	store    *store.Store
	clock    *clock.Clock
	replicas []replica
	round    int
	groups   []*orderGroup
	byTenant map[junctor.TenantID]*orderGroup
}

const orderLease = 10 * time.Second

func newOrderRig(t *testing.T, groups int, open func(context.Context) (*store.Store, error)) *orderRig {
	t.Helper()
	r := &orderRig{t: t, clock: clock.New(time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)), byTenant: map[junctor.TenantID]*orderGroup{}}
	log := slog.New(slog.DiscardHandler)
	var ids atomic.Int64
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
			NewID: func() string { return fmt.Sprintf("e%09d", ids.Add(1)) },
			Write: func(ctx context.Context, fn func(context.Context, intake.Booking) error) error {
				return q.Write(ctx, func(ctx context.Context, tx *queue.Tx) error { return fn(ctx, orderBooking{tx}) })
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		r.replicas = append(r.replicas, replica{q, in, w})
		if i == 0 {
			r.store = st
		}
	}
	for i := range groups {
		g := &orderGroup{tenant: junctor.TenantID(fmt.Sprintf("t%02d", i))}
		r.groups, r.byTenant[g.tenant] = append(r.groups, g), g
		if err := r.store.EnsureTenant(t.Context(), g.tenant, string(g.tenant)); err != nil {
			t.Fatal(err)
		}
		for _, trigger := range orderTriggers() {
			if _, err := r.store.For(g.tenant).AddTrigger(t.Context(), trigger); err != nil {
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
	g := r.byTenant[op.Principal.Tenant]
	op.Dispatched, op.CallID = true, "c"
	id, _ := wire.String(wire.Get(wire.Get(op.Meta, junctor.MetaDelivery), "id"))
	g.mu.Lock()
	g.called[id] = op
	g.mu.Unlock()
	switch g.answer {
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
		return nil, "", junctor.Errorf(junctor.CodeUnreachable, "no IPFS gateway has the content")
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
	ctx, q := r.t.Context(), r.replicas[0].q
	r.round = round
	for _, g := range r.groups {
		left := slices.ContainsFunc(slices.Collect(maps.Values(g.all)), func(p *placed) bool { return !p.state.IsEnded() })
		g.n, g.leased, g.missing, g.all, g.flying = 0, 0, 0, map[string]*placed{}, nil
		if left {
			_, err := q.Drop(ctx, g.tenant, queue.Filter{Queue: worker.Deliveries})
			r.need(rt, err)
		}
	}
	r.clock.Advance(72 * time.Hour)
	for {
		n, err := q.Prune(ctx, worker.Deliveries, r.clock.Now(), r.clock.Now())
		r.need(rt, err)
		if n == 0 {
			break
		}
	}
	_, err := r.store.PruneEvents(ctx, r.clock.Now().Add(time.Hour))
	r.need(rt, err)
	for _, g := range r.groups {
		r.need(rt, r.startLanes(g))
	}
}

// startLanes has endpoints of an interleaving called again that are left alone.
func (r *orderRig) startLanes(g *orderGroup) error {
	lanes, err := r.replicas[0].w.Lanes(r.t.Context(), g.tenant)
	if err != nil {
		return err
	}
	for _, l := range lanes {
		if l.State == queue.LaneClosed {
			continue
		}
		for _, one := range r.replicas {
			if err := one.w.StartLane(r.t.Context(), g.tenant, l.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// refresh reads how far deliveries are. A delivery that is not among the open ones any
// more has ended; how is read where that matters.
func (r *orderRig) refresh(rt *rapid.T) {
	db := r.store.Database()
	rows, err := db.Read.QueryContext(r.t.Context(), db.Dialect.Bind(
		`SELECT tenant_id, id, trigger_id, state, skip_after, attempt - base FROM jobs WHERE queue = ? AND ended_at IS NULL`), worker.Deliveries)
	r.need(rt, err)
	defer rows.Close() // rows.Err reports errors
	open, moving := map[string]bool{}, map[string]string{}
	for rows.Next() {
		var tenant, id, trigger, state string
		var skipAfter, attempts int64
		r.need(rt, rows.Scan(&tenant, &id, &trigger, &state, &skipAfter, &attempts))
		p := r.byTenant[junctor.TenantID(tenant)].all[id]
		if p == nil {
			rt.Fatalf("nobody placed %s of %s (%s)", id, tenant, trigger)
		}
		open[id] = true
		p.trigger, p.state, p.skipAfter, p.attempts = trigger, queue.State(state), int(skipAfter), int(attempts)
		if !p.moves() {
			continue
		}
		line := tenant + " " + p.line
		if other := moving[line]; other != "" {
			rt.Fatalf("%s and %s of the line %q move at the same time", other, p.id, line)
		}
		moving[line] = p.id
	}
	r.need(rt, rows.Err())
	for _, g := range r.groups {
		for _, p := range g.all {
			if !open[p.id] && !p.state.IsEnded() {
				p.state = queue.StateDone
			}
			if p.passing != "" && moving[string(g.tenant)+" "+p.line] != p.passing {
				p.passing = "" // it has ended, or is passed itself
			}
		}
	}
}

// act lets each interleaving make a step of its own, all of them at the same time.
func (r *orderRig) act(rt *rapid.T) {
	var steps []orderStep
	r.clock.Advance(time.Millisecond)
	for _, g := range r.groups {
		switch rapid.SampledFrom([]string{"take", "take", "attempt", "attempt", "change", "start"}).Draw(rt, "step") {
		case "take":
			steps = append(steps, r.take(rt, g))
		case "attempt":
			if len(g.flying) == 0 {
				continue
			}
			i := rapid.IntRange(0, len(g.flying)-1).Draw(rt, "lease")
			g.answer = rapid.SampledFrom([]string{"fine", "fine", "fine", "unreachable", "timeout", "refused", "no such endpoint", "failed"}).Draw(rt, "answer")
			steps = r.attempt(rt, g, i, steps)
		case "change":
			steps = r.change(rt, g, steps)
		case "start":
			steps = append(steps, orderStep{0, func() error { return r.startLanes(g) }, func() error { return nil }})
		}
	}
	r.together(rt, steps)
}

// together makes steps at the same time, those of one replica after those of the other:
// on SQLite they would only wait for each other's transactions.
func (r *orderRig) together(rt *rapid.T, steps []orderStep) {
	errs := make([]error, len(steps))
	for _, g := range r.groups {
		g.called = map[string]*guard.Op{}
	}
	for who := range r.replicas {
		var all sync.WaitGroup
		for i, s := range steps {
			if s.who == who {
				all.Go(func() { errs[i] = s.do() })
			}
		}
		all.Wait()
	}
	for _, err := range errs {
		r.need(rt, err)
	}
	r.refresh(rt)
	for _, s := range steps {
		r.need(rt, s.check())
	}
}

func (r *orderRig) take(rt *rapid.T, g *orderGroup) orderStep {
	who := rapid.IntRange(0, 1).Draw(rt, "who")
	agent := fmt.Sprintf("%s%d", rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "agent"), r.round)
	kind := rapid.SampledFrom([]string{"feedback", "feedback", "feedback.retracted", "tick"}).Draw(rt, "type")
	uri := rapid.SampledFrom([]string{"", "ipfs://there", "ipfs://missing"}).Draw(rt, "file")
	account := rapid.SampledFrom([]string{"x", "y"}).Draw(rt, "account")
	data := fmt.Sprintf(`{"account":"%s%d","file_uri":%q}`, account, r.round, uri)
	triggers := map[string][]string{ // by name, as they are asked
		"feedback": {"account", "feedback", "notes"}, "feedback.retracted": {"notes", "retracted"}, "tick": {"notes", "tick"},
	}[kind]
	var deliveries []string
	do := func() error {
		taken, err := r.replicas[who].in.Take(r.t.Context(), junctor.Event{Tenant: g.tenant, Source: "s", Type: kind, Agent: agent, Data: json.RawMessage(data)})
		if err != nil {
			return err
		}
		if len(taken.Deliveries) != len(triggers) || len(taken.Faults) > 0 {
			return fmt.Errorf("%s became %+v", kind, taken)
		}
		deliveries = taken.Deliveries
		for i, id := range taken.Deliveries {
			g.n++
			p := &placed{id: id, place: g.n, line: "agent " + agent, state: queue.StateWaiting}
			switch triggers[i] {
			case "account":
				p.line = "account " + account
			case "feedback":
				p.uri = uri
			}
			g.all[id] = p
		}
		return nil
	}
	return orderStep{who, do, func() error {
		for i, id := range deliveries {
			if got := g.all[id]; got.trigger != triggers[i] || got.state.IsEnded() {
				return fmt.Errorf("%s became %+v, want one of %s", kind, got, triggers[i])
			}
		}
		return nil
	}}
}

// inOrder refuses a lease that an older delivery of the line should have come before.
func (g *orderGroup) inOrder(rt *rapid.T, p *placed) {
	if p.passed() {
		return
	}
	for _, older := range g.all {
		if older.line == p.line && older.place < p.place && !older.state.IsEnded() && !older.passed() && older.passing != p.id {
			rt.Fatalf("%s (%s) of the line %q of %s is leased before %s (%s), which is older and %s", p.id, p.trigger, p.line, g.tenant, older.id, older.trigger, older.state)
		}
	}
}

func (r *orderRig) claim(rt *rapid.T) {
	n := len(r.groups)
	r.claimBy(rt, rapid.IntRange(0, 1).Draw(rt, "who"), rapid.SampledFrom([]int{1, n, 2 * n, 4 * n}).Draw(rt, "most"))
}

// claimBy leases deliveries of all interleavings in one claim.
func (r *orderRig) claimBy(rt *rapid.T, who, most int) (count int) {
	leases, _, err := r.replicas[who].q.Claim(r.t.Context(), worker.Deliveries, most, func(junctor.TenantID, string) int { return 4 })
	r.need(rt, err)
	for _, l := range leases {
		g := r.byTenant[l.Tenant]
		g.inOrder(rt, g.all[l.ID])
		g.leased++
		g.flying = append(g.flying, flying{l, who})
	}
	r.refresh(rt)
	return len(leases)
}

// attempt adds the step that makes an attempt of a lease that holds, and looks at what
// was sent.
func (r *orderRig) attempt(rt *rapid.T, g *orderGroup, i int, steps []orderStep) []orderStep {
	f := g.flying[i]
	g.flying = slices.Delete(g.flying, i, i+1)
	p := g.all[f.ID]
	if p.state != queue.StateLeased || !f.Until.After(r.clock.Now()) {
		return steps // a worker has let go of it by now
	}
	if p.passing == "" {
		g.inOrder(rt, p)
	}
	var d worker.Delivery
	do := func() (err error) {
		r.replicas[f.by].w.Attempt(r.t.Context(), f.Lease)
		if p.uri != "" {
			d, err = r.replicas[f.by].w.Get(r.t.Context(), g.tenant, f.ID)
		}
		return err
	}
	return append(steps, orderStep{f.by, do, func() error { return g.checkAttempt(p, f.Lease, &d) }})
}

// checkAttempt says what is wrong with an attempt, by what was sent and stored.
func (g *orderGroup) checkAttempt(p *placed, l *queue.Lease, d *worker.Delivery) error {
	failures := 0
	if p.uri != "" {
		for _, a := range d.Tried[l.AttemptsBeforeReplay:] {
			if a.Kind == string(worker.KindFileVerification) {
				failures++
			}
		}
	}
	if failures >= junctor.DefaultFileAttempts || failures > 0 && p.uri != "ipfs://missing" {
		return fmt.Errorf("%d attempts failed by the file %q: %+v", failures, p.uri, d.Tried)
	}
	call := g.called[l.ID]
	if call == nil {
		if p.uri != "ipfs://missing" {
			return fmt.Errorf("%s was not called: %+v", l.ID, d.Tried)
		}
		return nil
	}
	content := wire.Get(call.Arguments, "fileContent") != nil
	told, _ := wire.String(wire.Get(wire.Get(wire.Get(call.Meta, junctor.MetaDelivery), "file"), "state"))
	if content != (p.uri == "ipfs://there") || (told == "missing") != (p.uri == "ipfs://missing") {
		return fmt.Errorf("the file %q: %s, %s", p.uri, call.Arguments, call.Meta)
	}
	if told == "missing" {
		g.missing++
		if d.Verified == nil || d.Verified.State != "missing" || failures != junctor.DefaultFileAttempts-1 && d.Attempts-l.AttemptsBeforeReplay < junctor.DefaultFileAttempts {
			return fmt.Errorf("after %d attempts without the file: %+v", failures, d)
		}
	}
	return nil
}

func (r *orderRig) jump(rt *rapid.T) {
	r.clock.Advance(time.Duration(rapid.SampledFrom([]int{1, 2, 5, 11, 40, 400, 8000, 40000}).Draw(rt, "seconds")) * time.Second)
}

// crash has a replica lose what it was at work on; where it starts again it says so.
func (r *orderRig) crash(rt *rapid.T) {
	who := rapid.IntRange(0, 1).Draw(rt, "who")
	for _, g := range r.groups {
		g.flying = slices.DeleteFunc(g.flying, func(f flying) bool { return f.by == who })
	}
	if rapid.Bool().Draw(rt, "restart") {
		r.need(rt, r.replicas[who].q.TakeBackLeases(r.t.Context(), []string{"a", "b"}[who]))
		r.refresh(rt)
	}
}

// change adds the step in which a person changes some deliveries of an interleaving.
func (r *orderRig) change(rt *rapid.T, g *orderGroup, steps []orderStep) []orderStep {
	if len(g.all) == 0 {
		return steps
	}
	byPlace := slices.SortedFunc(maps.Values(g.all), func(a, b *placed) int { return a.place - b.place })
	var ids []string
	for range rapid.IntRange(1, 4).Draw(rt, "how many") {
		ids = append(ids, rapid.SampledFrom(byPlace).Draw(rt, "delivery").id)
	}
	what := rapid.SampledFrom([]string{"replay", "replay", "replay", "hold", "release", "drop"}).Draw(rt, "what")
	who := rapid.IntRange(0, 1).Draw(rt, "who")
	do := func() error {
		moving, ended := map[string]string{}, map[string]bool{}
		for _, p := range g.all {
			if p.moves() {
				moving[p.line] = p.id
			}
			ended[p.id] = p.state.IsEnded()
		}
		if _, err := r.replicas[who].w.Change(r.t.Context(), g.tenant, what, queue.Filter{IDs: ids}); err != nil {
			return err
		}
		for _, id := range ids {
			if what == "replay" && ended[id] {
				g.all[id].passing = moving[g.all[id].line]
			}
		}
		return nil
	}
	return append(steps, orderStep{who, do, func() error { return nil }})
}

// drain lets everything succeed: nothing is left behind, and all of it in order.
func (r *orderRig) drain(rt *rapid.T) {
	longest := 0
	for _, g := range r.groups {
		g.answer = "fine"
		longest = max(longest, len(g.all))
	}
	for i := range 20 * (longest + 10) {
		open := r.open()
		if len(open) == 0 {
			r.ended(rt)
			return
		}
		all := 4 * len(r.groups)
		if r.claimBy(rt, i%2, all) == 0 && r.claimBy(rt, 1-i%2, all) == 0 {
			for _, g := range open {
				r.need(rt, r.startLanes(g))
				_, err := r.replicas[0].w.Change(r.t.Context(), g.tenant, "release", queue.Filter{})
				r.need(rt, err)
			}
			r.clock.Advance(13 * time.Hour) // beyond every lease and every wait
			r.refresh(rt)
		}
		var steps []orderStep
		for _, g := range r.groups {
			for len(g.flying) > 0 {
				steps = r.attempt(rt, g, 0, steps)
			}
		}
		if len(steps) > 0 {
			r.together(rt, steps)
		}
	}
	rt.Fatalf("deliveries of %d interleavings do not end", len(r.open()))
}

// open returns the interleavings that have deliveries which have not ended.
func (r *orderRig) open() (list []*orderGroup) {
	for _, g := range r.groups {
		if slices.ContainsFunc(slices.Collect(maps.Values(g.all)), func(p *placed) bool { return !p.state.IsEnded() }) {
			list = append(list, g)
		}
	}
	return list
}

// ended looks once at all deliveries of the round: there are those that were placed and
// no others, and all of them have ended.
func (r *orderRig) ended(rt *rapid.T) {
	for _, g := range r.groups {
		jobs, _, err := r.replicas[0].q.List(r.t.Context(), g.tenant, queue.Filter{Queue: worker.Deliveries, Limit: 1000})
		r.need(rt, err)
		if len(jobs) != len(g.all) {
			rt.Fatalf("%s has %d deliveries, want %d", g.tenant, len(jobs), len(g.all))
		}
		for _, j := range jobs {
			if g.all[j.ID] == nil || !j.State.IsEnded() {
				rt.Fatalf("at the end of %s: %+v", g.tenant, j)
			}
		}
	}
}
