package limit

import (
	"context"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Bound is an account and the limits that hold for it at this moment.
type Bound struct {
	Who     string // for people: agent, user, tool
	Account *Account
	Limits  *junctor.Limits
}

// maxBounds is how many bounds a call may have: its agent's, its user's, its
// tool's.
const maxBounds = 3

// Pass is the right to make one call. Leave gives its places back.
type Pass struct {
	Allowance junctor.Allowance
	runningIn   [maxBounds]*Account
}

// Leave ends the call.
func (p *Pass) Leave() {
	for i, a := range p.runningIn {
		if a != nil {
			a.endCall()
			p.runningIn[i] = nil
		}
	}
}

// Enter counts one call against all bounds, or against none. Where limits say
// queue it waits, up to what they say and while the context lasts. The error is
// limited, and says when to come back, or canceled.
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

// pendingCall is one call on its way in. days and rates are how many bounds have
// counted it.
type pendingCall struct {
	bounds      []Bound
	now         time.Time
	daysCounted, ratesCounted int
	fromPool      [maxBounds]struct{ day, rate bool } // from the pool, too
	wait        time.Duration
	pass        Pass
	hasAllowance       bool // pass.Allowance is set
}

// countCall takes a call of the day and a token of the rate from every bound, as this
// replica counts them, and where there is a pool, as all of them do together.
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

// takePooledCall takes a call of the day from the pool. One that is away refuses
// nothing.
func (e *pendingCall) takePooledCall(ctx context.Context, i int) error {
	b := &e.bounds[i]
	most := b.Limits.PerDay
	if b.Account.lease == nil || most <= 0 {
		return nil
	}
	left, ok, err := b.Account.lease.useCall(ctx, most, b.Account.callsToday(e.now)-1, e.now)
	if err != nil {
		return nil //nolint:nilerr // the pool tells of it
	}
	end := endOfDay(e.now)
	e.noteAllowance(b, "-per-day", most, left, end)
	if !ok {
		return e.limitError(b, "calls on one day", end.Sub(e.now))
	}
	e.fromPool[i].day = true
	return nil
}

// takePooledToken takes a token of the rate from the pool.
func (e *pendingCall) takePooledToken(ctx context.Context, i int) error {
	b := &e.bounds[i]
	if b.Account.lease == nil || b.Limits.PerSecond <= 0 {
		return nil
	}
	r := rateOf(b.Limits)
	wait, left, whole, ok, err := b.Account.lease.useToken(ctx, r, b.Limits.Wait(), e.now)
	if err != nil {
		return nil //nolint:nilerr // the pool tells of it
	}
	e.noteAllowance(b, "-per-second", r.Burst, left, whole)
	if !ok {
		return e.limitError(b, "calls a second", wait)
	}
	e.fromPool[i].rate = true
	e.wait = max(e.wait, wait)
	return nil
}

// startRunning takes a place among the calls that run at a time.
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

func (e *pendingCall) startInAccount(ctx context.Context, b *Bound, most int) bool {
	if wait := b.Limits.Wait() - e.wait; wait > 0 {
		ctx, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		return b.Account.startCall(ctx, most)
	}
	return b.Account.tryStartCall(most)
}

// undoCounts takes back what count took.
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

// noteAllowance keeps the allowance that leaves least.
func (e *pendingCall) noteAllowance(b *Bound, what string, limit, left int, reset time.Time) {
	if e.hasAllowance && left >= e.pass.Allowance.Remaining {
		return
	}
	e.hasAllowance = true
	e.pass.Allowance = junctor.Allowance{Name: b.Who + what, Limit: limit, Remaining: left, Reset: reset.UTC()}
}

func (e *pendingCall) limitError(b *Bound, what string, after time.Duration) error {
	allowance := e.pass.Allowance
	return &junctor.Error{
		Code: junctor.CodeLimited, RetryAfter: after, Allowance: &allowance,
		Message: "this " + b.Who + " has made as many " + what + " as it may; try again in " + after.Round(time.Millisecond).String(),
	}
}

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
