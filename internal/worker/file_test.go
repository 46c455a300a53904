package worker_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/guard"
	"github.com/junctor-mcp/junctor/internal/queue"
	"github.com/junctor-mcp/junctor/internal/store/sqlite"
	"github.com/junctor-mcp/junctor/internal/store/storetest"
	"github.com/junctor-mcp/junctor/internal/testkit/clock"
	"github.com/junctor-mcp/junctor/internal/wire"
	"github.com/junctor-mcp/junctor/internal/worker"
)

// failingFiles gives every file an error.
type failingFiles struct{ err error }

func (f failingFiles) Content(context.Context, junctor.TenantID, *junctor.Order) (json.RawMessage, string, error) {
	return nil, "", f.err
}

// A file that cannot be had is asked for a bounded number of times; then the call is
// made without it, and says so. A file that is not the one that was meant is never
// sent, nor is its event.
func TestFilesThatCannotBeHad(t *testing.T) {
	t.Parallel()
	unreachable := junctor.Errorf(junctor.CodeUnreachable, "gateway-of-the-operator has no such file")
	for name, c := range map[string]struct {
		err            error
		file, attempts int // of the order
		failed         int // attempts that fail
		calls          bool
	}{
		"nobody has it":                         {unreachable, 0, 0, 2, true},
		"its server says to come back tomorrow": {&junctor.Error{Code: junctor.CodeUnavailable, Message: "x", RetryAfter: 24 * time.Hour}, 0, 0, 2, true},
		"as often as the trigger says":          {unreachable, 5, 0, 4, true},
		"one attempt":                           {unreachable, 1, 0, 0, true},
		"the last attempt of the delivery":      {unreachable, 0, 2, 1, true},
		"its address leads nowhere":             {junctor.Errorf(junctor.CodeNotFound, "x"), 0, 0, 0, true},
		"another file than was meant":           {junctor.Errorf(junctor.CodeInvalid, "x"), 0, 0, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st, err := sqlite.Open(t.Context(), storetest.Fresh(t))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = st.Close() })
			log, at := slog.New(slog.DiscardHandler), clock.New(time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC))
			q, err := queue.New(queue.Options{DB: st.Database(), Owner: "a", Logger: log, Now: at.Now, Jitter: func() float64 { return 0.5 }})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(q.Close)
			var op *guard.Op
			p := &pipeline{answer: func(_ context.Context, called *guard.Op, _ string, _ int) (catalog.Result, error) {
				op = called
				return fine()
			}}
			w, err := worker.New(worker.Options{Queue: q, Pipeline: p, Endpoints: bare{}, Files: failingFiles{c.err}, Meter: meter{}, Logger: log, Now: at.Now})
			if err != nil {
				t.Fatal(err)
			}
			first, second := order("s", "42"), order("s", "42")
			first.File = &junctor.File{URI: "ipfs://x", Include: true, Verify: true, Attempts: c.file}
			first.MaxAttempts = c.attempts
			r := &rig{T: t, q: q, w: w, p: p}
			ids := r.place(first, second)
			begin := at.Now()
			for range 100 {
				leases, _, err := q.Claim(t.Context(), worker.Deliveries, 10, func(junctor.TenantID, string) int { return 4 })
				if err != nil {
					t.Fatal(err)
				}
				if len(leases) == 0 {
					at.Advance(time.Second)
					continue
				}
				if len(leases) != 1 || leases[0].ID != ids[0] {
					break // its turn has come
				}
				w.Attempt(t.Context(), leases[0])
			}
			d, err := w.Get(t.Context(), tenant, ids[0])
			if err != nil {
				t.Fatal(err)
			}
			failed := 0
			for _, a := range d.Tried {
				if a.Kind == string(worker.KindFileVerification) {
					failed++
				}
			}
			if failed != c.failed || (op != nil) != c.calls {
				t.Fatalf("%d attempts failed, called %t: %+v", failed, op != nil, d)
			}
			if !c.calls {
				if d.State != queue.StateDead || d.Verified.State != "refused" {
					t.Errorf("%+v", d)
				}
				return
			}
			if waited := at.Now().Sub(begin); waited > time.Minute && c.file == 0 {
				t.Errorf("those behind it waited for %s", waited)
			}
			told := wire.Get(wire.Get(op.Meta, junctor.MetaDelivery), "file")
			if state, _ := wire.String(wire.Get(told, "state")); state != "missing" || d.State != queue.StateDone || d.Verified.State != "missing" || d.Verified.Why == "" {
				t.Errorf("told %s; %+v, %+v", told, d, d.Verified)
			}
			if wire.Get(op.Arguments, "fileContent") != nil || wire.Get(told, "uri") == nil {
				t.Errorf("called with %s, %s", op.Arguments, op.Meta)
			}
			if why, _ := wire.String(wire.Get(told, "why")); why == "" || why == unreachable.Error() || len(why) > 60 {
				t.Errorf("the endpoint is told %q", why)
			}
			if state := r.state(ids[1]); state != queue.StateLeased {
				t.Errorf("the one behind it is %s", state)
			}
		})
	}
}
