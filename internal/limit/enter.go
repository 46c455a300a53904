package limit

import (
	"context"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Bound is an account together with the limits that apply to it now.
type Bound struct {
	Kind    string // kind of party for messages: agent, user or tool
	Account *Account
	Limits  *junctor.Limits
}

// maxBounds is the largest number of bounds of one call: its agent's, its user's and its
// tool's.
const maxBounds = 3

// Pass is the permission to make one call. Its holder must call Leave when the call has
// ended. The zero Pass is valid.
type Pass struct {
	// Allowance is the limit that leaves the fewest calls, for the headers of the
	// response.
	Allowance junctor.Allowance
	runningIn [maxBounds]*Account // accounts that count the call as running
}

// Leave ends the call. Later calls do nothing.
func (p *Pass) Leave() {
	for i, a := range p.runningIn {
		if a != nil {
			a.endCall()
			p.runningIn[i] = nil
		}
	}
}

// Enter counts one call against all bounds, or against none of them. If limits allow
// queueing, it waits as long as they allow and ctx lasts. The caller must call Leave on
// the Pass. Errors: limited, with the time to come back, or canceled.
func Enter(ctx context.Context, bounds []Bound, now time.Time) (Pass, error) {
	e := pendingCall{bounds: bounds, now: now}
	if err := e.countCall(ctx); err != nil {
		e.undoCounts()
		return Pass{}, err
	}
	if e.wait > 0 {
		if err := sleepContext(ctx, e.wait); err != nil {
			e.undoCounts()
			return Pass{}, err
		}
	}
	if err := e.startRunning(ctx); err != nil {
		e.pass.Leave()
		e.undoCounts()
		return Pass{}, err
	}
	return e.pass, nil
}

// pendingCall is a call while Enter counts it. daysCounted and ratesCounted are how many
// bounds have counted it; undoCounts needs them.
type pendingCall struct {
	bounds                    []Bound
	now                       time.Time
	daysCounted, ratesCounted int
	fromPool                  [maxBounds]struct{ day, rate bool } // whether the pool has counted it, too
	wait                      time.Duration                       // time until all reserved tokens are available
	pass                      Pass
	hasAllowance              bool // pass.Allowance is set
}

// countCall takes one call of the day and one token of the rate from every bound. It
// counts on this replica first and then in the pool. After an error the caller calls
// undoCounts.
func (e *pendingCall) countCall(ctx context.Context) error {
	for i := range e.bounds {
		b := &e.bounds[i]
		if most := b.Limits.PerDay; most > 0 {
			left, ok := b.Account.countDailyCall(most, e.now)
			end := endOfDay(e.now)
			e.noteAllowance(b, "-per-day", most, left, end)
			if !ok {
				return e.limitError(b, "calls on one day", end.Sub(e.now))
			}
		}
		e.daysCounted++
		if err := e.takePooledCall(ctx, i); err != nil {
			return err
		}
	}
	for i := range e.bounds {
		b := &e.bounds[i]
		if b.Limits.PerSecond > 0 {
			r := rateOf(b.Limits)
			wait, left, whole, ok := b.Account.reserveToken(r, b.Limits.Wait(), e.now)
			e.noteAllowance(b, "-per-second", r.Burst, left, whole)
			if !ok {
				return e.limitError(b, "calls a second", wait)
			}
			e.wait = max(e.wait, wait)
		}
		e.ratesCounted++
		if err := e.takePooledToken(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// takePooledCall takes one call of the day from the pool. An unavailable pool refuses
// nothing; the count of this replica has already been checked.
func (e *pendingCall) takePooledCall(ctx context.Context, i int) error {
	b := &e.bounds[i]
	most := b.Limits.PerDay
	if b.Account.lease == nil || most <= 0 {
		return nil
	}
	left, ok, err := b.Account.lease.useCall(ctx, most, b.Account.callsToday(e.now)-1, e.now)
	if err != nil {
		return nil //nolint:nilerr // the pool logs it
	}
	end := endOfDay(e.now)
	e.noteAllowance(b, "-per-day", most, left, end)
	if !ok {
		return e.limitError(b, "calls on one day", end.Sub(e.now))
	}
	e.fromPool[i].day = true
	return nil
}

// takePooledToken takes one token of the rate from the pool. An unavailable pool refuses
// nothing.
func (e *pendingCall) takePooledToken(ctx context.Context, i int) error {
	b := &e.bounds[i]
	if b.Account.lease == nil || b.Limits.PerSecond <= 0 {
		return nil
	}
	r := rateOf(b.Limits)
	wait, left, whole, ok, err := b.Account.lease.useToken(ctx, r, b.Limits.Wait(), e.now)
	if err != nil {
		return nil //nolint:nilerr // the pool logs it
	}
	e.noteAllowance(b, "-per-second", r.Burst, left, whole)
	if !ok {
		return e.limitError(b, "calls a second", wait)
	}
	e.fromPool[i].rate = true
	e.wait = max(e.wait, wait)
	return nil
}

// startRunning takes a place among the running calls of every bound that limits them.
// After an error the caller gives back the places that were taken.
func (e *pendingCall) startRunning(ctx context.Context) error {
	for i := range e.bounds {
		b := &e.bounds[i]
		most := b.Limits.Concurrent
		if most <= 0 {
			continue
		}
		if !e.startInAccount(ctx, b, most) {
			if err := context.Cause(ctx); err != nil {
				return junctor.AsError(err)
			}
			return e.limitError(b, "calls at a time", time.Second)
		}
		e.pass.runningIn[i] = b.Account
	}
	return nil
}

// startInAccount takes a place in one account. It waits if the limits allow that, less
// the time that the call waits for its token.
func (e *pendingCall) startInAccount(ctx context.Context, b *Bound, most int) bool {
	if wait := b.Limits.Wait() - e.wait; wait > 0 {
		ctx, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		return b.Account.startCall(ctx, most)
	}
	return b.Account.tryStartCall(most)
}

// undoCounts takes back everything that countCall counted, so that a refused call costs
// nothing.
func (e *pendingCall) undoCounts() {
	for i := range e.bounds {
		b := &e.bounds[i]
		if i < e.daysCounted && b.Limits.PerDay > 0 {
			b.Account.uncountDailyCall(e.now)
		}
		if i < e.ratesCounted && b.Limits.PerSecond > 0 {
			b.Account.returnToken(rateOf(b.Limits))
		}
		if e.fromPool[i].day {
			b.Account.lease.returnCall(e.now)
		}
		if e.fromPool[i].rate {
			b.Account.lease.returnToken()
		}
	}
}

// noteAllowance keeps the allowance that leaves the fewest calls.
func (e *pendingCall) noteAllowance(b *Bound, what string, limit, left int, reset time.Time) {
	if e.hasAllowance && left >= e.pass.Allowance.Remaining {
		return
	}
	e.hasAllowance = true
	e.pass.Allowance = junctor.Allowance{Name: b.Kind + what, Limit: limit, Remaining: left, Reset: reset.UTC()}
}

// limitError is the error for a bound whose limit is reached.
func (e *pendingCall) limitError(b *Bound, what string, after time.Duration) error {
	allowance := e.pass.Allowance
	return &junctor.Error{
		Code: junctor.CodeLimited, RetryAfter: after, Allowance: &allowance,
		Message: "this " + b.Kind + " has made as many " + what + " as it may; try again in " + after.Round(time.Millisecond).String(),
	}
}

// sleepContext waits for d. It returns an error if ctx ends first.
func sleepContext(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return junctor.AsError(context.Cause(ctx))
	}
}
