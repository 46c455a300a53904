// Package limit counts what parties do and says when it is too much. Account
// holds what one party has used, Book the accounts of users, agents and tools
// with the limits that bind them, and Enter takes a call past all of them at
// once. Memory is the plain rate for callers that are not known yet. It is
// ground: guard asks it between "may they" and "are the arguments right"; app
// keeps the Book in step with what is stored.
package limit

import (
	"math"
	"time"
)

// Rate is how often something may happen. The zero Rate is no limit.
type Rate struct {
	PerSecond float64 // steady rate; 0 or less is no limit
	Burst     int     // how many at once after a pause; less than 1 counts as 1
}

// maxWindow bounds interval and window, so that sums of them with any time of
// this process stay inside an int64.
const maxWindow = time.Duration(math.MaxInt64 / 8)

// toDurations is the time that one token takes to come back, and window the time
// that a whole burst takes. An interval of 0 means that there is no limit.
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
