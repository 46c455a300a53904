// Package limit counts the calls and bytes that parties use, and refuses what
// exceeds their limits. Of this module it imports only package junctor.
//
// It has three independent parts:
//
//   - Limits of known parties. An Account holds the usage of one user, agent or tool. A
//     Enforcer holds all accounts and the limits that apply to them. Enter counts one call
//     against several accounts at once. Package guard calls Enforcer.Enter for every
//     operation, after the permission check and before the arguments are checked. Package
//     quota keeps the Enforcer in step with the stored users, agents and policies.
//   - Rates of callers that are not authenticated yet. RateLimiter limits inside one process;
//     SharedRateLimiter adds the other replicas. Packages signin and oauth/server limit login attempts
//     with it, and CallLimiter applies a plain rate to all calls.
//   - Memory of messages in flight. ByteBudget and ByteGrowth bound the buffers of
//     request bodies and results. Packages gateway and upstream allocate through them.
//
// Replicas share counts through a Pool, which package cluster implements.
//
// Read limit.go, account.go, enter.go and enforcer.go first, then pool.go, rate_limiter.go,
// shared_rate_limiter.go and call_limiter.go. byte_budget.go, byte_growth.go and
// in_flight.go stand alone.
package limit

import (
	"math"
	"time"
)

// Rate is a token bucket's size and refill speed. The zero Rate means no limit.
type Rate struct {
	PerSecond float64 // tokens that come back each second; 0 or less means no limit
	Burst     int     // calls at once after a pause; less than 1 counts as 1
}

// maxWindow bounds both results of toDurations, so that adding them to any time of this
// process cannot overflow an int64.
const maxWindow = time.Duration(math.MaxInt64 / 8)

// toDurations returns the time that one token takes to come back, and the time that the
// whole burst takes. An interval of 0 means that there is no limit.
func (r Rate) toDurations() (interval, window time.Duration) {
	if r.PerSecond <= 0 || math.IsNaN(r.PerSecond) {
		return 0, 0
	}
	each := float64(time.Second) / r.PerSecond
	all := each * float64(max(r.Burst, 1))
	if each >= float64(maxWindow) {
		each = float64(maxWindow)
	}
	if all >= float64(maxWindow) {
		all = float64(maxWindow)
	}
	return time.Duration(each), time.Duration(all)
}
