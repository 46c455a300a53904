package intake_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/intake"
	"github.com/junctor-mcp/junctor/internal/queue"
	"github.com/junctor-mcp/junctor/internal/seal"
	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/store/sqlite"
	"github.com/junctor-mcp/junctor/internal/store/storetest"
	"github.com/junctor-mcp/junctor/internal/testkit/clock"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/internal/worker"
)

// booking is a transaction of the real queue.
type booking struct{ *queue.Tx }

func (b booking) Place(ctx context.Context, tenant junctor.TenantID, orders ...junctor.Order) ([]string, error) {
	return worker.Place(ctx, b.Tx, tenant, orders...)
}

// secrets are kept in memory: sealing is somebody else's.
type secrets struct {
	mu  sync.Mutex
	all map[string]seal.Secret
}

func (s *secrets) Put(_ context.Context, tenant junctor.TenantID, owner, name string, v seal.Secret) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[fmt.Sprint(tenant, owner, name)] = v
	return nil
}

func (s *secrets) Get(_ context.Context, tenant junctor.TenantID, owner, name string) (seal.Secret, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.all[fmt.Sprint(tenant, owner, name)]
	return v, ok, nil
}

func (s *secrets) Delete(_ context.Context, tenant junctor.TenantID, owner, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, fmt.Sprint(tenant, owner, name))
	return nil
}

type rig struct {
	*testing.T
	in    *intake.Intake
	store *store.Store
	queue *queue.Queue
	clock *clock.Clock
}

func newRig(t *testing.T) *rig {
	t.Helper()
	st, err := sqlite.Open(t.Context(), storetest.Fresh(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	log := slog.New(slog.DiscardHandler)
	q, err := queue.New(queue.Options{DB: st.Database(), Owner: "n", Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	r := &rig{T: t, store: st, queue: q, clock: clock.New(time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC))}
	var n atomic.Int64
	r.in, err = intake.New(intake.Options{
		Store: st, Secrets: &secrets{all: map[string]seal.Secret{}}, Now: r.clock.Now, Replica: "n", Log: log,
		NewID: func() string { return fmt.Sprintf("e%06d", n.Add(1)) },
		Write: func(ctx context.Context, fn func(context.Context, intake.Booking) error) error {
			return q.Write(ctx, func(ctx context.Context, tx *queue.Tx) error { return fn(ctx, booking{tx}) })
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rig) trigger(t junctor.Trigger) {
	r.Helper()
	if _, err := r.store.For(junctor.DefaultTenant).AddTrigger(r.Context(), t); err != nil {
		r.Fatal(err)
	}
}

// orders lists what was placed, oldest first.
func (r *rig) orders() (out []junctor.Order) {
	r.Helper()
	jobs, _, err := r.queue.List(r.Context(), junctor.DefaultTenant, queue.Filter{Queue: worker.Deliveries})
	if err != nil {
		r.Fatal(err)
	}
	for _, j := range slices.Backward(jobs) {
		var o junctor.Order
		if err := json.Unmarshal(j.Payload, &o); err != nil {
			r.Fatal(err)
		}
		out = append(out, o)
	}
	return out
}

func (r *rig) take(e junctor.Event) junctor.Taken {
	r.Helper()
	e.Tenant = junctor.DefaultTenant
	taken, err := r.in.Take(r.Context(), e)
	if err != nil {
		r.Fatal(err)
	}
	return taken
}

func TestHooks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.trigger(junctor.Trigger{Name: "t", Match: junctor.Match{Type: "paid"}, Action: junctor.Action{Server: "notes", Tool: "add", Template: json.RawMessage(`{"n":"{{data.n}}"}`)}})
	if _, err := r.in.AddSource(t.Context(), junctor.DefaultTenant, junctor.Source{ID: "shop", Style: junctor.StyleStandard, AgentField: "data.who"}, seal.NewSecret("a fine long secret")); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	r.in.Routes(mux)
	post := func(source, secret, id, body string) (int, junctor.Taken) {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/hooks/"+source, strings.NewReader(body))
		req.Header.Set(junctor.HeaderWebhookID, id)
		req.Header.Set(junctor.HeaderWebhookTimestamp, strconv.FormatInt(r.clock.Now().Unix(), 10))
		req.Header.Set(junctor.HeaderWebhookSignature, junctor.SignWebhook(secret, id, r.clock.Now(), []byte(body)))
		rec := httptest.NewRecorder()
		mux.ServeHTTP(rec, req)
		var taken junctor.Taken
		_ = json.Unmarshal(rec.Body.Bytes(), &taken) // of a refusal it has nothing
		return rec.Code, taken
	}
	const body = `{"type":"paid","who":"42","n":7}`
	status, first := post("shop", "a fine long secret", "m1", body)
	if status != 202 || len(first.Deliveries) != 1 {
		t.Fatalf("%d %+v", status, first)
	}
	if status, again := post("shop", "a fine long secret", "m1", body); status != 202 || again.ID != first.ID || !again.Duplicate {
		t.Errorf("the same message again: %d %+v", status, again)
	}
	for name, status := range map[string]int{
		"another secret": first2(post("shop", "another secret of a test", "m2", body)),
		"another source": first2(post("none", "a fine long secret", "m2", body)),
	} {
		if status != 401 {
			t.Errorf("%s: %d", name, status)
		}
	}
	if status := first2(post("shop", "a fine long secret", "m3", "no JSON")); status != 400 {
		t.Errorf("no JSON: %d", status)
	}
	if status := first2(post("shop", "a fine long secret", "m4", `"`+strings.Repeat("x", junctor.MaxEventData)+`"`)); status != 413 {
		t.Errorf("too large: %d", status)
	}
	orders := r.orders()
	if len(orders) != 1 || orders[0].Agent != "42" || string(orders[0].Arguments) != `{"n":7}` || orders[0].Event != first.ID || orders[0].Key != "agent:42" {
		t.Errorf("orders %+v", orders)
	}

	// After a rotation both secrets count, after the next the first does not.
	src, err := r.store.SourceAt(t.Context(), "shop")
	if err != nil {
		t.Fatal(err)
	}
	for i, next := range []string{"the second one of all", "the third one of all"} {
		read := src
		if src, err = r.in.ChangeSource(t.Context(), junctor.DefaultTenant, "user:u1", read, seal.NewSecret(next), false); err != nil {
			t.Fatal(err)
		}
		// The secret of a change that comes too late takes nothing's place.
		if _, err := r.in.ChangeSource(t.Context(), junctor.DefaultTenant, "user:u2", read, seal.NewSecret("one that comes too late"), false); junctor.CodeOf(err) != junctor.CodePrecondition {
			t.Errorf("a change of a former version: %v", err)
		}
		want := map[bool]int{true: 202, false: 401}[i == 0]
		if status := first2(post("shop", "a fine long secret", fmt.Sprint("r", i), body)); status != want {
			t.Errorf("the first secret after %d rotations: %d", i+1, status)
		}
		if status := first2(post("shop", next, fmt.Sprint("s", i), body)); status != 202 {
			t.Errorf("the new secret: %d", status)
		}
	}
}

func first2(status int, _ junctor.Taken) int { return status }

func TestFaultsAndReplay(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.trigger(junctor.Trigger{Name: "good", Action: junctor.Action{Server: "notes", Tool: "add"}})
	r.trigger(junctor.Trigger{Name: "needs", Action: junctor.Action{Agent: junctor.EventAgent, Tool: "x", Template: json.RawMessage(`{"a":"{{data.a}}"}`)}})
	taken := r.take(junctor.Event{Source: "s", Type: "t"})
	if len(taken.Deliveries) != 1 || len(taken.Faults) != 1 || !strings.Contains(taken.Faults[0], "trigger needs: template at /a") {
		t.Fatalf("%+v", taken)
	}
	if e, err := r.store.For(junctor.DefaultTenant).Event(t.Context(), taken.ID); err != nil || len(e.Faults) != 1 || e.Raised != 1 {
		t.Errorf("stored %+v, %v", e, err)
	}
	needs, err := r.store.For(junctor.DefaultTenant).Trigger(t.Context(), "needs")
	if err != nil {
		t.Fatal(err)
	}
	needs.Action = junctor.Action{Server: "notes", Tool: "x", Template: json.RawMessage(`{"a":"{{data.a?}}"}`)}
	if _, err := r.store.For(junctor.DefaultTenant).UpdateTrigger(t.Context(), needs); err != nil {
		t.Fatal(err)
	}
	again, err := r.in.Replay(t.Context(), junctor.DefaultTenant, taken.ID)
	if err != nil || len(again.Deliveries) != 2 || len(again.Faults) != 0 {
		t.Fatalf("%+v, %v", again, err)
	}
	if n := len(r.orders()); n != 2 {
		t.Errorf("%d deliveries: the one that was there was made again", n)
	}
}

func TestTogether(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.trigger(junctor.Trigger{Name: "many", Action: junctor.Action{Server: "notes", Tool: "add", Batch: 3, BatchWaitMS: 60_000, Template: json.RawMessage(`{"n":"{{data.n}}"}`)}})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.in.Run(ctx)
	}()
	defer func() {
		stop()
		<-done
	}()
	for n := range 4 {
		r.take(junctor.Event{Source: "s", Type: "t", Agent: "a", Data: json.RawMessage(fmt.Sprintf(`{"n":%d}`, n))})
	}
	r.take(junctor.Event{Source: "s", Type: "t", Agent: "b", Data: json.RawMessage(`{"n":9}`)})
	await := func(n int) (orders []junctor.Order) {
		poll.Holds(time.Minute, func() bool {
			orders = r.orders()
			return len(orders) >= n
		})
		return orders
	}
	if got := await(1); len(got) != 1 || string(got[0].Arguments) != `{"events":[{"n":0},{"n":1},{"n":2}]}` {
		t.Fatalf("a whole batch: %+v", got)
	}
	r.clock.Advance(time.Minute + time.Second)
	got := await(3)
	if len(got) != 3 {
		t.Fatalf("after the wait: %+v", got)
	}
	rest := string(got[1].Arguments) + string(got[2].Arguments)
	if !strings.Contains(rest, `{"events":[{"n":3}]}`) || !strings.Contains(rest, `{"events":[{"n":9}]}`) {
		t.Errorf("the rest: %s", rest)
	}
}

func TestSchedules(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.trigger(junctor.Trigger{Name: "t", Match: junctor.Match{Source: "schedule:*"}, Action: junctor.Action{Server: "notes", Tool: "add"}})
	s := junctor.Schedule{Name: "hourly", Cron: "@hourly", Type: "tick", Agent: "7"}
	if err := intake.CheckSchedule(&s, r.clock.Now()); err != nil || !s.NextAt.Equal(time.Date(2026, 5, 4, 4, 0, 0, 0, time.UTC)) {
		t.Fatalf("%s, %v", s.NextAt, err)
	}
	if _, err := r.store.For(junctor.DefaultTenant).PutSchedule(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	r.clock.Advance(5 * time.Hour) // some were missed
	ctx, stop := context.WithCancel(t.Context())
	var work sync.WaitGroup
	for range 3 { // as several processes would
		work.Go(func() { r.in.Run(ctx) })
	}
	poll.Until(t, "the schedule's delivery", time.Minute, func() bool { return len(r.orders()) > 0 })
	stop()
	work.Wait()
	if got := r.orders(); len(got) != 1 || got[0].Source != "schedule:hourly" || got[0].Agent != "7" {
		t.Errorf("%+v", got)
	}
	if s, err := r.store.For(junctor.DefaultTenant).Schedule(t.Context(), "hourly"); err != nil || !s.NextAt.After(r.clock.Now()) {
		t.Errorf("next at %s, %v", s.NextAt, err)
	}
}

func TestNextTimes(t *testing.T) {
	t.Parallel()
	in := newRig(t).in
	for _, c := range []struct{ cron, zone, first string }{
		{"0 9 * * mon-fri", "Europe/Berlin", "2026-05-04T07:00:00Z"},
		{"@hourly", "", "2026-05-04T04:00:00Z"},
	} {
		got, err := in.NextTimes(c.cron, c.zone, 3)
		if err != nil || len(got) != 3 || got[0].Format(time.RFC3339) != c.first {
			t.Errorf("%s in %q: %v, %v", c.cron, c.zone, got, err)
		}
		for i := 1; i < len(got); i++ {
			if !got[i].After(got[i-1]) {
				t.Errorf("%s: %v are not in order", c.cron, got)
			}
		}
	}
	if _, err := in.NextTimes("0 25 * * *", "", 3); junctor.CodeOf(err) != junctor.CodeInvalid {
		t.Errorf("an hour that there is not: %v", err)
	}
}

func TestAnswersEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.trigger(junctor.Trigger{Name: "t", Match: junctor.Match{Source: "trigger:*"}, Action: junctor.Action{Server: "notes", Tool: "add", Raise: true}})
	for depth := range 12 {
		err := r.queue.Write(t.Context(), func(ctx context.Context, tx *queue.Tx) error {
			return r.in.Raise(ctx, booking{tx}, junctor.DefaultTenant, junctor.RaisedEvent{Source: "trigger:t", Type: "add", Cause: fmt.Sprint("d", depth), Depth: depth})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	got := r.orders()
	if len(got) != 9 || got[8].Depth != 8 || got[8].Reply == nil {
		t.Errorf("%d orders, the last %+v", len(got), got[len(got)-1])
	}
}

// The calls of one agent wait in one line, whichever triggers they are of; a trigger
// can name another line, which is never an agent's.
func TestLinesOfOrders(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	action := junctor.Action{Server: "notes", Tool: "add", SkipAfter: 2}
	keyed, batched := action, action
	keyed.OrderKey = "{{data.account?}}"
	batched.OrderKey, batched.Batch = "{{data.account}}", 2
	r.trigger(junctor.Trigger{Name: "one", Action: action})
	r.trigger(junctor.Trigger{Name: "two", Action: action})
	r.trigger(junctor.Trigger{Name: "three", Action: keyed})
	for name, c := range map[string]struct {
		agent, data string
		want        string // the lines of one, three and two, as their names sort
	}{
		"an agent":                  {"42", `{}`, "agent:42 agent:42 agent:42"},
		"a key":                     {"42", `{"account":"x"}`, "agent:42 key:x agent:42"},
		"a key like an agent":       {"42", `{"account":"agent:7"}`, "agent:42 key:agent:7 agent:42"},
		"a number":                  {"42", `{"account":7}`, "agent:42 key:7 agent:42"},
		"no agent":                  {"", `{"account":"x"}`, "- key:x -"},
		"neither":                   {"", `{}`, "- - -"},
		"what no database can keep": {"42", `{"account":"a\u0000b"}`, "agent:42 key:sha256: agent:42"},
		"what is too long":          {"42", `{"account":"` + strings.Repeat("x", 201) + `"}`, "agent:42 key:sha256: agent:42"},
	} {
		before := len(r.orders())
		r.take(junctor.Event{Source: "s", Type: "t", Agent: c.agent, Data: json.RawMessage(c.data)})
		var lines []string
		for _, o := range r.orders()[before:] {
			line := o.Key
			if o.Unordered {
				line = "-"
			}
			if head, _, long := strings.Cut(line, "sha256:"); long && len(line) == len("key:sha256:")+64 {
				line = head + "sha256:"
			}
			lines = append(lines, line)
			if o.SkipAfter != 2 {
				t.Errorf("%s: skip_after is %d", name, o.SkipAfter)
			}
		}
		if got := strings.Join(lines, " "); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	r.trigger(junctor.Trigger{Name: "many", Action: batched})
	before := len(r.orders())
	for _, account := range []string{"x", "y", "x"} { // those of one key go out together
		r.take(junctor.Event{Source: "s", Type: "t", Agent: "42", Data: json.RawMessage(`{"account":"` + account + `"}`)})
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.in.Run(ctx)
	}()
	var together []string
	poll.Until(t, "the batches", time.Minute, func() bool {
		together = nil
		for _, o := range r.orders()[before:] {
			if o.Trigger == "many" {
				together = append(together, fmt.Sprintf("%s %d", o.Key, strings.Count(string(o.Arguments), "{}")))
			}
		}
		return len(together) == 2
	})
	stop()
	<-done
	if slices.Sort(together); !slices.Equal(together, []string{"key:x 2", "key:y 1"}) {
		t.Errorf("together: %v", together)
	}
}
