package guard_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/guard"
	"github.com/junctor-mcp/junctor/internal/limit"
	"github.com/junctor-mcp/junctor/internal/wire"
)

const answer = `{"form":{"action":"accept","content":{"name":"Ada"}}}`

// begin makes a call that asks for input, and gives what its client holds.
func begin(t testing.TB, r *rig, op *guard.Op) (state string) {
	t.Helper()
	first := *op // it is shared, and the guard writes to its own
	res, err := r.Do(t.Context(), &first, nil)
	if err != nil || !res.Input {
		t.Fatalf("%+v, %v", res, err)
	}
	state, ok := wire.String(wire.Get(res.Body, "requestState"))
	if !ok {
		t.Fatalf("no requestState: %s", res.Body)
	}
	return state
}

// goOn is the same request again, with the client's answer.
func goOn(op *guard.Op, state string) *guard.Op {
	next := *op
	next.HasState, next.RequestState, next.InputResponses = true, state, []byte(answer)
	return &next
}

func TestContinue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.rate = limit.Rate{PerSecond: 0.0001, Burst: 1} // one call, and no more
		op := tool("ask", `{}`)
		started := time.Now()
		state := begin(t, r, op)
		if strings.Contains(state, "default") || strings.Contains(state, "expires") {
			t.Errorf("the state can be read: %s", state)
		}
		time.Sleep(time.Minute)
		res, err := r.Do(t.Context(), goOn(op, state), nil)
		if err != nil || !strings.Contains(string(res.Body), "accept by Ada") {
			t.Fatalf("%s, %v", res.Body, err)
		}
		id := r.records()[0].ID
		want := fmt.Sprint([]string{"running " + id, "do " + id, "do " + id, "success " + id})
		if got := fmt.Sprint(r.trail()); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if end := r.records()[1]; !end.Start.Equal(started) || end.Duration != time.Minute {
			t.Errorf("%+v", end)
		}
		time.Sleep(2 * parkFor)
		synctest.Wait()
		if len(r.records()) != 2 || len(r.recordings()) != 1 || len(r.counted()) != 1 {
			t.Errorf("a call that went on has %d records, %d recordings, %q", len(r.records()), len(r.recordings()), r.counted())
		}
	})
}

// letParkedExpire waits until what was parked so far has expired. It runs in a synctest bubble.
func letParkedExpire() { time.Sleep(parkFor) }

// What comes back is a stranger's: only the same party may go on, with the same
// request, once, in time.
func TestStatesThatAreRefused(t *testing.T) {
	t.Parallel()
	op := tool("ask", `{"a":1}`)
	for name, spoil := range map[string]func(t *testing.T, r *rig, next *guard.Op){
		"tampered": func(_ *testing.T, _ *rig, next *guard.Op) {
			next.RequestState = flip(next.RequestState, len(next.RequestState)/2)
		},
		"cut": func(_ *testing.T, _ *rig, next *guard.Op) {
			next.RequestState = next.RequestState[:len(next.RequestState)-1]
		},
		"longer":          func(_ *testing.T, _ *rig, next *guard.Op) { next.RequestState += "A" },
		"another purpose": func(_ *testing.T, r *rig, next *guard.Op) { next.RequestState = r.Seal("session", []byte(`{}`)) },
		"no state inside": func(_ *testing.T, r *rig, next *guard.Op) { next.RequestState = r.Seal("request-state", []byte(`[]`)) },
		"another subject": func(_ *testing.T, _ *rig, next *guard.Op) {
			next.Principal = caller(junctor.ScopeToolsCall)
			next.Principal.Subject = "k2"
		},
		"another issuer": func(_ *testing.T, _ *rig, next *guard.Op) {
			next.Principal = caller(junctor.ScopeToolsCall)
			next.Principal.Issuer = "local"
		},
		"other arguments": func(_ *testing.T, _ *rig, next *guard.Op) { next.Arguments = []byte(`{"a":2}`) },
		"no arguments":    func(_ *testing.T, _ *rig, next *guard.Op) { next.Arguments = nil },
		"another tool":    func(_ *testing.T, _ *rig, next *guard.Op) { next.Name = "srv__ask-for-ever" },
		"another tool whose name and version read the same": func(t *testing.T, r *rig, next *guard.Op) {
			t.Helper()
			next.RequestState = begin(t, r, tool("ask-1", `{"a":1}`))
			next.Name = "srv__ask-"
		},
		"another kind":  func(_ *testing.T, _ *rig, next *guard.Op) { next.Kind, next.Name = junctor.KindPrompt, "srv__p" },
		"expired":       func(_ *testing.T, r *rig, _ *guard.Op) { r.Close(); letParkedExpire() }, // without its timer, which would use it up
		"used before":   func(t *testing.T, r *rig, next *guard.Op) { t.Helper(); _, _ = r.Do(t.Context(), next, nil) },
		"of other keys": func(t *testing.T, _ *rig, next *guard.Op) { t.Helper(); next.RequestState = begin(t, newRig(t), op) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				next := goOn(op, begin(t, r, op))
				spoil(t, r, next)
				synctest.Wait()
				r.forget()
				_, err := r.Do(t.Context(), next, nil)
				if junctor.CodeOf(err) != junctor.CodeInvalid || !strings.Contains(err.Error(), "requestState") {
					t.Fatalf("%v", err)
				}
				if r.heard() != 0 || len(r.records()) != 1 || r.records()[0].Status != junctor.StatusInvalid {
					t.Errorf("steps %q", r.trail())
				}
			})
		})
	}
}

func flip(s string, i int) string {
	c := byte('A')
	if s[i] == c {
		c = 'B'
	}
	return s[:i] + string(c) + s[i+1:]
}

// Of many who come back with one state at once, one goes on.
func TestStateWorksOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	op := tool("ask", `{}`)
	next := goOn(op, begin(t, r, op))
	var wg sync.WaitGroup
	var mu sync.Mutex
	good := 0
	for range 16 {
		wg.Go(func() {
			mine := *next // Do writes into what it is given
			if _, err := r.Do(t.Context(), &mine, nil); err == nil {
				mu.Lock()
				good++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if good != 1 || r.heard() != 2 {
		t.Errorf("%d went on, the backend heard %d", good, r.heard())
	}
}

func TestLapse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		op := tool("ask", `{}`)
		begin(t, r, op)
		time.Sleep(parkFor - time.Second)
		synctest.Wait()
		if len(r.records()) != 1 {
			t.Errorf("too early: %q", r.trail())
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if len(r.records()) != 2 || r.records()[1].Status != junctor.StatusLapsed || r.records()[1].ID != r.records()[0].ID || r.records()[1].Duration != parkFor || r.records()[1].Reason == "" {
			t.Fatalf("%+v", r.records())
		}
		if len(r.recordings()) != 1 || fmt.Sprint(r.counted()) != "[srv__ask lapsed]" {
			t.Errorf("%d recordings, %q", len(r.recordings()), r.counted())
		}
	})
}

// A call that its client took to another process does not lapse here.
func TestNoLapseAfterGoingOnElsewhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		other, err := guard.New(r.options()) // the same store and keys
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		op := tool("ask", `{}`)
		state := begin(t, r, op)
		if _, err := other.Do(t.Context(), goOn(op, state), nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * parkFor)
		synctest.Wait()
		if len(r.records()) != 2 || r.records()[1].Status != junctor.StatusSuccess {
			t.Errorf("%q", r.trail())
		}
	})
}

// Close leaves waiting calls to other processes: it records no end.
func TestCloseForgets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		op := tool("ask", `{}`)
		begin(t, r, op)
		r.Close()
		begin(t, r, op) // and none that comes later waits
		time.Sleep(2 * parkFor)
		synctest.Wait()
		for _, c := range r.records() {
			if c.Status != junctor.StatusRunning {
				t.Errorf("%+v", c)
			}
		}
	})
}

func TestRoundsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		op := tool("ask-for-ever", `{}`)
		state := begin(t, r, op)
		rounds := 1
		var err error
		for {
			var res catalog.Result
			if res, err = r.Do(t.Context(), goOn(op, state), nil); err != nil {
				break
			}
			if rounds++; rounds > 100 {
				t.Fatal("no end")
			}
			state, _ = wire.String(wire.Get(res.Body, "requestState"))
		}
		if rounds != 32 || junctor.CodeOf(err) != junctor.CodeUpstream {
			t.Errorf("%d rounds, then %v", rounds, err)
		}
		last := r.backend.last.Input.State
		if !strings.Contains(last, strings.Repeat("x", 32)) {
			t.Errorf("the backend's own state: %q", last)
		}
		if len(r.records()) != 2 || r.records()[1].Status != junctor.StatusError || r.records()[0].ID != r.records()[1].ID {
			t.Errorf("%d records: %+v", len(r.records()), r.records())
		}
	})
}

// Input is for tools, prompts and resources: elsewhere a backend that asks has
// failed.
func TestInputWhereThereIsNone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	asks := &asking{backend: r.backend}
	if err := r.catalog.Attach(t.Context(), junctor.DefaultTenant, "asks", junctor.ModeBYO, asks); err != nil {
		t.Fatal(err)
	}
	for name, op := range goodOps() {
		op.Name = strings.Replace(op.Name, "srv", "asks", 1)
		res, err := r.Do(t.Context(), op, nil)
		wants := op.Kind == junctor.KindCompletion || op.Kind == junctor.KindSubscription
		if wants && junctor.CodeOf(err) != junctor.CodeUpstream || !wants && (err != nil || !res.Input) {
			t.Errorf("%s: %+v, %v", name, res, err)
		}
	}
}
