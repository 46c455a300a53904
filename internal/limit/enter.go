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
	running   [maxBounds]*Account
}

// Leave ends the call.
func (p *Pass) Leave() {
	for i, a := range p.running {
		if a != nil {
			a.end()
			p.running[i] = nil
		}
	}
}

// Enter counts one call against all bounds, or against none. Where limits say
// queue it waits, up to what they say and while the context lasts. The error is
// limited, and says when to come back, or canceled.
func Enter(ctx context.Context, bounds []Bound, now time.Time) (Pass, error) {
	e := entry{bounds: bounds, now: now}
	if err := e.count(ctx); err != nil {
		e.undo()
		return Pass{}, err
	}
	if e.wait > 0 {
		if err := sleep(ctx, e.wait); err != nil {
			e.undo()
			return Pass{}, err
		}
	}
	if err := e.start(ctx); err != nil {
		e.pass.Leave()
		e.undo()
		return Pass{}, err
	}
	return e.pass, nil
}

// entry is one call on its way in. days and rates are how many bounds have
// counted it.
type entry struct {
	bounds      []Bound
	now         time.Time
	days, rates int
	leased      [maxBounds]struct{ day, rate bool } // from the pool, too
	wait        time.Duration
	pass        Pass
	least       bool // pass.Allowance is set
}

// count takes a call of the day and a token of the rate from every bound, as this
// replica counts them, and where there is a pool, as all of them do together.
func (e *entry) count(ctx context.Context) error {
	for i := range e.bounds {
		b := &e.bounds[i]
		if most := b.Limits.PerDay; most > 0 {
			left, ok := b.Account.countDay(most, e.now)
			end := endOfDay(e.now)
			e.note(b, "-per-day", most, left, end)
			if !ok {
				return e.refuse(b, "calls on one day", end.Sub(e.now))
			}
		}
		e.days++
		if err := e.shareDay(ctx, i); err != nil {
			return err
		}
	}
	for i := range e.bounds {
		b := &e.bounds[i]
		if b.Limits.PerSecond > 0 {
			r := rateOf(b.Limits)
			wait, left, whole, ok := b.Account.reserve(r, b.Limits.Wait(), e.now)
			e.note(b, "-per-second", r.Burst, left, whole)
			if !ok {
				return e.refuse(b, "calls a second", wait)
			}
			e.wait = max(e.wait, wait)
		}
		e.rates++
		if err := e.shareRate(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// shareDay takes a call of the day from the pool. One that is away refuses
// nothing.
func (e *entry) shareDay(ctx context.Context, i int) error {
	b := &e.bounds[i]
	most := b.Limits.PerDay
	if b.Account.lease == nil || most <= 0 {
		return nil
	}
	left, ok, err := b.Account.lease.call(ctx, most, b.Account.used(e.now)-1, e.now)
	if err != nil {
		return nil //nolint:nilerr // the pool tells of it
	}
	end := endOfDay(e.now)
	e.note(b, "-per-day", most, left, end)
	if !ok {
		return e.refuse(b, "calls on one day", end.Sub(e.now))
	}
	e.leased[i].day = true
	return nil
}

// shareRate takes a token of the rate from the pool.
func (e *entry) shareRate(ctx context.Context, i int) error {
	b := &e.bounds[i]
	if b.Account.lease == nil || b.Limits.PerSecond <= 0 {
		return nil
	}
	r := rateOf(b.Limits)
	wait, left, whole, ok, err := b.Account.lease.token(ctx, r, b.Limits.Wait(), e.now)
	if err != nil {
		return nil //nolint:nilerr // the pool tells of it
	}
	e.note(b, "-per-second", r.Burst, left, whole)
	if !ok {
		return e.refuse(b, "calls a second", wait)
	}
	e.leased[i].rate = true
	e.wait = max(e.wait, wait)
	return nil
}

// start takes a place among the calls that run at a time.
func (e *entry) start(ctx context.Context) error {
	for i := range e.bounds {
		b := &e.bounds[i]
		most := b.Limits.Concurrent
		if most <= 0 {
			continue
		}
		if !e.place(ctx, b, most) {
			if err := context.Cause(ctx); err != nil {
				return junctor.AsError(err)
			}
			return e.refuse(b, "calls at a time", time.Second)
		}
		e.pass.running[i] = b.Account
	}
	return nil
}

func (e *entry) place(ctx context.Context, b *Bound, most int) bool {
	if wait := b.Limits.Wait() - e.wait; wait > 0 {
		ctx, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		return b.Account.start(ctx, most)
	}
	return b.Account.startNow(most)
}

// undo takes back what count took.
func (e *entry) undo() {
	for i := range e.bounds {
		b := &e.bounds[i]
		if i < e.days && b.Limits.PerDay > 0 {
			b.Account.uncountDay(e.now)
		}
		if i < e.rates && b.Limits.PerSecond > 0 {
			b.Account.giveBack(rateOf(b.Limits))
		}
		if e.leased[i].day {
			b.Account.lease.uncall(e.now)
		}
		if e.leased[i].rate {
			b.Account.lease.untoken()
		}
	}
}

// note keeps the allowance that leaves least.
func (e *entry) note(b *Bound, what string, limit, left int, reset time.Time) {
	if e.least && left >= e.pass.Allowance.Remaining {
		return
	}
	e.least = true
	e.pass.Allowance = junctor.Allowance{Name: b.Who + what, Limit: limit, Remaining: left, Reset: reset.UTC()}
}

func (e *entry) refuse(b *Bound, what string, after time.Duration) error {
	allowance := e.pass.Allowance
	return &junctor.Error{
		Code: junctor.CodeLimited, RetryAfter: after, Allowance: &allowance,
		Message: "this " + b.Who + " has made as many " + what + " as it may; try again in " + after.Round(time.Millisecond).String(),
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return junctor.AsError(context.Cause(ctx))
	}
}
