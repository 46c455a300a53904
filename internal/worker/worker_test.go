package worker_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/guard"
	"github.com/junctor-mcp/junctor/internal/queue"
	"github.com/junctor-mcp/junctor/internal/store/pgtest"
	"github.com/junctor-mcp/junctor/internal/store/sqlite"
	"github.com/junctor-mcp/junctor/internal/store/storetest"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/internal/wire"
	"github.com/junctor-mcp/junctor/internal/worker"
)

var server pgtest.Pool

func TestMain(m *testing.M) { os.Exit(server.LeakCheckedMain(m)) }

const tenant = junctor.DefaultTenant

// pipeline answers calls as a test says, and remembers them.
type pipeline struct {
	answer func(ctx context.Context, op *guard.Op, id string, attempt int) (catalog.Result, error)

	mu    sync.Mutex
	calls []string // server and delivery
}

func (p *pipeline) Do(ctx context.Context, op *guard.Op, _ catalog.Sink) (catalog.Result, error) {
	meta := wire.Get(op.Meta, junctor.MetaDelivery)
	id, _ := wire.String(wire.Get(meta, "id"))
	attempt, _ := strconv.Atoi(string(wire.Get(meta, "attempt")))
	p.mu.Lock()
	p.calls = append(p.calls, op.Scope.Server+" "+id)
	p.mu.Unlock()
	op.Dispatched, op.CallID = true, "c"
	return p.answer(ctx, op, id, attempt)
}

func (p *pipeline) AbandonCall(context.Context, *guard.Op, error) {}

func (p *pipeline) said() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.calls)
}

// bare has no endpoints but servers.
type bare struct{}

func (bare) Open(_ context.Context, _ junctor.TenantID, to worker.Recipient, _ bool) (catalog.Backend, func(bool), error) {
	return nil, nil, junctor.Errorf(junctor.CodeNotFound, "nothing is stored for %s", to.Agent)
}

func (bare) Scrub(_ junctor.TenantID, _ string, _ catalog.Backend, text string) string { return text }

type meter struct{}

func (meter) ObserveAttempt(string, time.Duration) {}

// raiser keeps what answers become.
type raiser struct {
	mu  sync.Mutex
	got []junctor.RaisedEvent
}

func (r *raiser) Raise(_ context.Context, _ *queue.Tx, _ junctor.TenantID, e junctor.RaisedEvent) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, e)
	return nil
}

type rig struct {
	*testing.T
	q *queue.Queue
	p *pipeline
	w *worker.Worker
	r *raiser
}

func newRig(t *testing.T, answer func(ctx context.Context, op *guard.Op, id string, attempt int) (catalog.Result, error)) *rig {
	t.Helper()
	st, err := sqlite.Open(t.Context(), storetest.Fresh(t))
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	r := &rig{T: t, p: &pipeline{answer: answer}, r: &raiser{}}
	if r.q, err = queue.New(queue.Options{DB: st.Database(), Owner: "a", Logger: log, Jitter: func() float64 { return 0 }}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.q.Close(); _ = st.Close() })
	if r.w, err = worker.New(worker.Options{Queue: r.q, Pipeline: r.p, Endpoints: bare{}, Raiser: r.r, Meter: meter{}, Logger: log}); err != nil {
		t.Fatal(err)
	}
	return r
}

// run starts the worker; it ends with the test.
func (r *rig) run() {
	ctx, stop := context.WithCancel(r.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.w.Run(ctx)
	}()
	r.Cleanup(func() { stop(); <-ended })
}

func (r *rig) place(orders ...junctor.Order) (ids []string) {
	r.Helper()
	err := r.q.Write(r.Context(), func(ctx context.Context, tx *queue.Tx) (err error) {
		ids, err = worker.Place(ctx, tx, tenant, orders...)
		return err
	})
	if err != nil {
		r.Fatal(err)
	}
	return ids
}

// until waits for a condition.
func (r *rig) until(what string, ok func() bool) {
	r.Helper()
	poll.Until(r, what, time.Minute, ok)
}

func (r *rig) state(id string) queue.State {
	r.Helper()
	d, err := r.w.Get(context.WithoutCancel(r.Context()), tenant, id)
	if err != nil {
		r.Fatal(err)
	}
	return d.State
}

func order(server, agent string) junctor.Order {
	return junctor.Order{Target: junctor.Target{Server: server}, Tool: "tell", Agent: agent, Trigger: "t", Arguments: []byte(`{"a":1}`)}
}

func fine() (catalog.Result, error) {
	return catalog.Result{Body: []byte(`{"content":[{"type":"text","text":"thanks"}]}`)}, nil
}

func away() (catalog.Result, error) {
	return catalog.Result{}, junctor.Errorf(junctor.CodeUnreachable, "nobody is there")
}

// A tool that this process does not know may be known to another: what was asked of
// its server decides, and waiting for it is no attempt.
func TestToolsThatOthersKnow(t *testing.T) {
	t.Parallel()
	var known atomic.Bool
	r := newRig(t, func(_ context.Context, op *guard.Op, _ string, _ int) (catalog.Result, error) {
		if known.Load() {
			return fine()
		}
		op.Dispatched = false
		return catalog.Result{}, junctor.Errorf(junctor.CodeNotFound, "unknown tool")
	})
	var asked atomic.Value
	w, err := worker.New(worker.Options{
		Queue: r.q, Pipeline: r.p, Endpoints: bare{}, Meter: meter{}, Logger: slog.New(slog.DiscardHandler),
		Unknown: func(_ context.Context, op *guard.Op) queue.Outcome {
			asked.Store(string(op.Principal.Tenant) + " " + op.Scope.Server)
			if op.Scope.Server == "gone" {
				return queue.OutcomeFatal
			}
			known.Store(true) // as soon as it was asked for once
			return queue.OutcomeNotStarted
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	r.w = w
	r.run()
	gone := r.place(order("gone", "a"))[0]
	r.until("what nobody knows is given up", func() bool { return r.state(gone) == queue.StateDead })
	if got := asked.Load(); got != string(tenant)+" gone" {
		t.Errorf("asked for %v", got)
	}
	id := r.place(order("new", "a"))[0]
	r.until("it is delivered when it is known", func() bool { return r.state(id) == queue.StateDone })
	if got := asked.Load(); got != string(tenant)+" new" {
		t.Errorf("asked for %v", got)
	}
	if d, err := r.w.Get(t.Context(), tenant, id); err != nil || d.Attempts != 1 {
		t.Errorf("%d attempts, %v", d.Attempts, err)
	}
}

func TestFailuresAreAttemptedAgainInOrder(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(_ context.Context, _ *guard.Op, _ string, attempt int) (catalog.Result, error) {
		if attempt == 1 {
			return away()
		}
		return fine()
	})
	with := order("s", "42")
	with.Reply = &junctor.Reply{Source: "agent:42", Type: "answered"}
	ids := r.place(with, order("s", "42"))
	r.run()
	r.until("both are delivered", func() bool { return r.state(ids[1]) == queue.StateDone })
	want := []string{"s " + ids[0], "s " + ids[0], "s " + ids[1], "s " + ids[1]}
	if got := r.p.said(); !slices.Equal(got, want) {
		t.Errorf("calls %v, want %v", got, want)
	}
	d, err := r.w.Get(t.Context(), tenant, ids[0])
	if err != nil || len(d.Tried) != 2 || d.Tried[0].Kind != "bridge_unavailable" || d.Tried[1].Outcome != "delivered" || !strings.Contains(d.Tried[1].Answer, "thanks") {
		t.Errorf("attempts %+v, %v", d.Tried, err)
	}
	if len(r.r.got) != 1 || r.r.got[0].Cause != ids[0] || r.r.got[0].Depth != 1 || !strings.Contains(string(r.r.got[0].Data), "thanks") {
		t.Errorf("raised %+v", r.r.got)
	}
	told, err := r.w.Feedback(t.Context(), tenant, "42", time.Time{}, 0)
	if err != nil || strings.Count(string(told), `"delivery":`) != 2 || !strings.Contains(string(told), "thanks") {
		t.Errorf("feedback %s, %v", told, err)
	}
}

// A hundred endpoints, one of which never answers. The others hold as many
// places as when it answers, not one more or less, and it holds its own.
func TestADeadEndpointTakesNoPlaceOfOthers(t *testing.T) {
	t.Parallel()
	alive, _ := placesOfOthers(t, false)
	beside, held := placesOfOthers(t, true)
	if want := 99 * 4; alive != want || beside != want || held != 4 {
		t.Errorf("99 endpoints held %d places, and %d beside a dead one, which held %d; want %d, %d and 4", alive, beside, held, want, want)
	}
	t.Logf("figure: 1 of 100 endpoints dead: the other 99 used %d slots at once, as without it (%d); the dead one used its %d", beside, alive, held)
}

// placesOfOthers delivers to a hundred endpoints, more to each than it has places
// for, and gives how many places the others than the first held together at once,
// each no more than four, and how many the first held at most. No call of
// the others ends before all of their places are taken.
func placesOfOthers(t *testing.T, dead bool) (others, first int) {
	t.Helper()
	const endpoints, each, places = 100, 10, 4
	var mu sync.Mutex
	under, answered, full := 0, 0, make(chan struct{})
	r := newRig(t, func(ctx context.Context, op *guard.Op, _ string, _ int) (catalog.Result, error) {
		if op.Scope.Server == "s0" {
			if dead {
				<-ctx.Done()
				return catalog.Result{}, ctx.Err()
			}
			mu.Lock()
			defer mu.Unlock()
			answered++
			return fine()
		}
		mu.Lock()
		under++
		others = max(others, under)
		if under == (endpoints-1)*places {
			select {
			case <-full:
			default:
				close(full)
			}
		}
		mu.Unlock()
		defer func() {
			mu.Lock()
			under--
			mu.Unlock()
		}()
		select {
		case <-full:
			mu.Lock()
			defer mu.Unlock()
			answered++
			return fine()
		case <-ctx.Done():
			return catalog.Result{}, ctx.Err()
		}
	})
	var orders []junctor.Order
	for range each {
		for n := range endpoints {
			orders = append(orders, order("s"+strconv.Itoa(n), ""))
		}
	}
	r.place(orders...)
	r.run()
	left := 0
	if dead {
		left = each
	}
	r.until("all others are delivered", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return answered == endpoints*each-left
	})
	for n := range endpoints {
		if peak := r.w.Peak(tenant, "server:s"+strconv.Itoa(n)); peak > places || n > 0 && peak != places {
			t.Errorf("endpoint %d held %d places, want %d", n, peak, places)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	return others, r.w.Peak(tenant, "server:s0")
}

// An endpoint that fails is left alone: its deliveries are held, with no attempt
// lost, and go on in order once it is back.
func TestBreakerHolds(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	back := false
	r := newRig(t, func(context.Context, *guard.Op, string, int) (catalog.Result, error) {
		mu.Lock()
		defer mu.Unlock()
		if !back {
			return away()
		}
		return fine()
	})
	var orders []junctor.Order
	for range 30 {
		orders = append(orders, order("s", ""))
	}
	ids := r.place(orders...)
	r.run()
	lane := func() queue.LaneState {
		lanes, err := r.w.Lanes(t.Context(), tenant)
		if err != nil || len(lanes) != 1 {
			return queue.LaneClosed
		}
		return lanes[0].State
	}
	r.until("it is left alone", func() bool { return lane() == queue.LaneOpen })
	failed := len(r.p.said())
	if failed < 5 || failed > 5+4 {
		t.Errorf("%d attempts failed before it was left alone", failed)
	}
	mu.Lock()
	back = true
	mu.Unlock()
	r.until("all are delivered", func() bool {
		s, err := r.q.Stats(t.Context(), worker.Deliveries)
		return err == nil && s.Counts[queue.StateReady]+s.Counts[queue.StateLeased] == 0
	})
	for _, id := range ids {
		if s := r.state(id); s != queue.StateDone {
			t.Errorf("%s is %s", id, s)
		}
	}
	if got := len(r.p.said()); got != failed+30 {
		t.Errorf("%d calls; want %d that failed and one for each delivery", got, failed)
	}
}

func TestWhatIsHeldGoesOnOnceItIsEntered(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(context.Context, *guard.Op, string, int) (catalog.Result, error) { return fine() })
	o := order("", "42")
	o.Target = junctor.Target{Agent: "42"}
	id := r.place(o)[0]
	r.run()
	r.until("it is held", func() bool { return r.state(id) == queue.StateHeld })
	d, err := r.w.Get(t.Context(), tenant, id)
	if err != nil || d.Held != "endpoint_not_found" {
		t.Errorf("held %q, %v", d.Held, err)
	}
	if err := r.w.Entered(t.Context(), tenant, "42"); err != nil {
		t.Fatal(err)
	}
	r.until("it was attempted again", func() bool {
		d, err := r.w.Get(t.Context(), tenant, id)
		return err == nil && d.Attempts == 2
	})
}

// answered is an error that came of an HTTP answer.
type answered int

func (a answered) Error() string   { return "HTTP " + strconv.Itoa(int(a)) }
func (a answered) HTTPStatus() int { return int(a) }

func TestWhatFollowsFromErrors(t *testing.T) {
	t.Parallel()
	upstream := func(cause error) error {
		return &junctor.Error{Code: junctor.CodeUpstream, Message: "it answered wrongly", Cause: cause}
	}
	for name, c := range map[string]struct {
		err   error
		state queue.State
		kind  worker.Kind
	}{
		"nobody is there":           {junctor.Errorf(junctor.CodeUnreachable, "x"), queue.StateReady, worker.KindBridgeUnavailable},
		"no answer in time":         {junctor.Errorf(junctor.CodeTimeout, "x"), queue.StateReady, worker.KindTimeout},
		"500":                       {upstream(answered(500)), queue.StateReady, worker.KindBridgeUnavailable},
		"401":                       {upstream(answered(401)), queue.StateHeld, worker.KindAuthenticationFailed},
		"403":                       {upstream(answered(403)), queue.StateHeld, worker.KindAuthenticationFailed},
		"404":                       {upstream(answered(404)), queue.StateDead, worker.KindEndpointNotFound},
		"410":                       {upstream(answered(410)), queue.StateHeld, worker.KindGone},
		"429":                       {&junctor.Error{Code: junctor.CodeUpstream, Message: "x", RetryAfter: time.Minute}, queue.StateReady, worker.KindBridgeUnavailable},
		"an internal error of it":   {upstream(&wire.Error{Code: wire.CodeInternal, Message: "x"}), queue.StateReady, worker.KindBridgeUnavailable},
		"no such tool":              {junctor.Errorf(junctor.CodeNotFound, "x"), queue.StateDead, worker.KindToolNotFound},
		"arguments that do not fit": {junctor.Errorf(junctor.CodeInvalid, "x"), queue.StateDead, worker.KindInvalidArguments},
		"an address not allowed":    {upstream(junctor.Errorf(junctor.CodeDenied, "x")), queue.StateHeld, worker.KindEndpointNotFound},
		"a rule denies the call":    {&junctor.Error{Code: junctor.CodeDenied, Message: "x", Cause: &guard.RuleError{Rule: "r"}}, queue.StateDead, worker.KindDenied},
		"a fault of ours":           {errors.New("x"), queue.StateReady, worker.KindInternal},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, func(_ context.Context, _ *guard.Op, _ string, attempt int) (catalog.Result, error) {
				if attempt > 1 {
					return fine()
				}
				return catalog.Result{}, c.err
			})
			id := r.place(order("s", ""))[0]
			r.run()
			var d worker.Delivery
			r.until("it was attempted", func() bool {
				d, _ = r.w.Get(t.Context(), tenant, id)
				return d.Attempts > 0
			})
			if d.Tried[0].Kind != string(c.kind) || d.Attempts == 1 && d.State != c.state {
				t.Errorf("it is %s after %s; want %s after %s", d.State, d.Tried[0].Kind, c.state, c.kind)
			}
			if after := time.Minute; name == "429" && d.NextAt.Before(d.CreatedAt.Add(after-time.Second)) {
				t.Errorf("it is attempted at %s, and was told to wait %s", d.NextAt, after)
			}
		})
	}
}

func TestToolsThatFail(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(_ context.Context, _ *guard.Op, _ string, attempt int) (catalog.Result, error) {
		if attempt == 1 {
			return catalog.Result{Body: []byte(`{"isError":true,"content":[{"type":"text","text":"no"}]}`), IsError: true}, nil
		}
		return fine()
	})
	again := order("s", "")
	again.RetryErrors = true
	ids := r.place(order("s", ""), again)
	r.run()
	r.until("one is dead and one delivered", func() bool { return r.state(ids[0]) == queue.StateDead && r.state(ids[1]) == queue.StateDone })
	if d, err := r.w.Get(t.Context(), tenant, ids[0]); err != nil || !strings.HasSuffix(d.Error, "no") {
		t.Errorf("the dead delivery has the error %q, %v", d.Error, err)
	}
	if n, err := r.w.Change(t.Context(), tenant, "replay", queue.Filter{States: []queue.State{queue.StateDead}}); n != 1 || err != nil {
		t.Fatalf("replayed %d, %v", n, err)
	}
	r.until("it is delivered under its id", func() bool { return r.state(ids[0]) == queue.StateDone })
}
