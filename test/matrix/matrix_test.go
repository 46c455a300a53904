package matrix

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/testkit/fault"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/internal/testkit/upstreams"
	"github.com/junctor-mcp/junctor/test/program"
)

// codes are those with which a call of a server under a fault may end. A breaker
// that has opened says unavailable, whatever opened it.
func codes(k fault.Kind, way upstreams.Way) []junctor.Code {
	late := []junctor.Code{junctor.CodeTimeout, junctor.CodeUnavailable, codeBridge}
	broken := []junctor.Code{junctor.CodeUpstream, junctor.CodeTimeout, junctor.CodeUnavailable, codeBridge}
	if way == upstreams.SSE && slices.Contains([]fault.Kind{fault.Truncate, fault.WrongType, fault.WrongIDs}, k) {
		return append(broken, "") // answers come on a stream that is older than the fault
	}
	switch k {
	case fault.Refuse:
		return append(broken, junctor.CodeUnreachable)
	case fault.Hang, fault.SlowHeaders, fault.SlowDrip, fault.Latency, fault.EndlessSSE, fault.StreamHang:
		return late
	case fault.Huge, fault.HugeHeaders, fault.InfoFlood:
		return append(broken, junctor.CodeTooLarge)
	case fault.ResetAfter:
		return append(broken, "") // every other answer arrives
	default:
		return broken
	}
}

// graceTime is what a call may take beyond its deadline. Where other work shares the
// machine, much more is let pass.
func graceTime() time.Duration {
	if program.Long() {
		return time.Second
	}
	return 20 * time.Second
}

// In the short form one server of each way is bad at once; in the long one, one
// of ten.
func TestBadServers(t *testing.T) { //nolint:paralleltest // it counts goroutines
	ways := []upstreams.Way{upstreams.Legacy, upstreams.Modern, upstreams.SSE}
	if !program.Long() {
		holdLimits(t, 24, 400*time.Millisecond, ways...)
		return
	}
	for _, way := range ways {
		t.Run(string(way), func(t *testing.T) { holdLimits(t, 200, time.Second, way) })
	}
}

func holdLimits(t *testing.T, calls int, deadline time.Duration, ways ...upstreams.Way) {
	t.Helper()
	r := newRig(t, deadline, ways...)
	r.warmUp()
	before := r.waitSettled()
	for _, k := range fault.Kinds() {
		r.checkFault(k, calls, before)
	}
	if !t.Failed() {
		t.Logf("figure: %d kinds of faults in front of %d of %d servers (%v), %d calls of each: every call ended with the right code within its deadline plus %v; the other nine answered throughout and held no additional goroutine, file, connection or session",
			len(fault.Kinds()), len(ways), len(ways)+others, ways, calls, graceTime())
	}
}

// warmUp lets every pool grow to what the load of the tests makes of it.
func (r *rig) warmUp() {
	r.t.Helper()
	l := r.load(0)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 4 {
				nonce := fmt.Sprint("warm", i, n)
				out := r.call(context.Background(), endpoint(n)%endpoints, badID(i%len(r.bad)), upstreams.Tag{Nonce: nonce})
				for range 20 { // on a busy machine a connection may take longer than a call may
					if out.code != "timeout" {
						break
					}
					out = r.call(context.Background(), endpoint(n)%endpoints, badID(i%len(r.bad)), upstreams.Tag{Nonce: nonce})
				}
				if out.text != nonce {
					r.t.Errorf("before all faults: %+v", out)
				}
			}
		})
	}
	all.Wait()
	if _, wrong := l.end(); len(wrong) > 0 {
		r.t.Fatalf("before all faults: %q", wrong[:min(len(wrong), 3)])
	}
}

// waitSettled is what is held when everything has come to rest.
func (r *rig) waitSettled() heldResources {
	r.t.Helper()
	const quiet = 500 * time.Millisecond
	last, since := r.measureHeld(), time.Now()
	poll.Until(r.t, "rest", time.Minute, func() bool {
		if now := r.measureHeld(); now.compareHeld(last) != "" || last.compareHeld(now) != "" {
			last, since = now, time.Now()
		}
		return time.Since(since) >= quiet
	})
	return last
}

// checkFault puts the bad server under a fault, calls it, and looks at everything
// else.
func (r *rig) checkFault(k fault.Kind, calls int, before heldResources) {
	r.t.Helper()
	met := r.met()
	r.set(k)
	l := r.load(time.Millisecond)
	ended := map[junctor.Code]int{}
	var slowest time.Duration
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range calls {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), r.deadline+time.Minute)
			defer cancel()
			nonce := fmt.Sprintf("bad-%d-%d", k, i)
			out := r.call(ctx, endpoint(i/len(r.bad))%endpoints, badID(i%len(r.bad)), upstreams.Tag{Nonce: nonce, Steps: i % 2})
			mu.Lock()
			defer mu.Unlock()
			ended[out.code]++
			slowest = max(slowest, out.took)
			switch {
			case !slices.Contains(codes(k, r.bad[i%len(r.bad)].Way), out.code):
				r.t.Errorf("%v: a call ended with %q: %s", k, out.code, out.text)
			case out.code == "" && out.text != nonce:
				r.t.Errorf("%v: %s got %q", k, nonce, out.text)
			}
			if out.took > r.deadline+graceTime() {
				r.t.Errorf("%v: a call with a deadline of %v took %v", k, r.deadline, out.took)
			}
		})
	}
	all.Wait()
	took, wrong := l.end()
	r.t.Logf("%-14v %d calls: %s; slowest %v; meanwhile %d good calls", k, calls, formatTally(ended), slowest.Round(time.Millisecond), len(took))
	if len(wrong) > 0 {
		r.t.Errorf("%v: %d of %d calls of others went wrong: %q", k, len(wrong), len(took), wrong[:min(len(wrong), 3)])
	}
	for i, now := range r.met() {
		if k != fault.Refuse && now == met[i] {
			r.t.Errorf("%v: no call of %s met it", k, badID(i))
		}
	}
	if k == fault.ResetAfter {
		r.set(fault.Refuse) // ends the connections that it spoilt for later
	}
	r.set(fault.None)
	r.checkRecovery(k)
	var more string
	if !poll.Holds(time.Minute, func() bool {
		more = r.measureHeld().compareHeld(before)
		return more == ""
	}) {
		r.t.Errorf("%v is over, and more is held than before: %s", k, more)
	}
}

// checkRecovery waits until every bad server is used again.
func (r *rig) checkRecovery(k fault.Kind) {
	r.t.Helper()
	for i := range r.bad {
		var out outcome
		if !poll.Holds(time.Minute, func() bool {
			out = r.call(context.Background(), endpointModern, badID(i), upstreams.Tag{Nonce: "back"})
			return out.text == "back"
		}) {
			r.t.Fatalf("%v is over, and %s is not used again: %+v", k, badID(i), out)
		}
	}
}

func formatTally(ended map[junctor.Code]int) string {
	var out []string
	for _, c := range slices.Sorted(maps.Keys(ended)) {
		name := string(c)
		if c == "" {
			name = "answered"
		}
		out = append(out, fmt.Sprintf("%d %s", ended[c], name))
	}
	return fmt.Sprint(out)
}
