package junctor

import "time"

// BoundDuration returns n units as a duration between 0 and most, and 0 for
// NaN. Use it for numbers from outside, such as expires_in, Retry-After, ttlMs
// or pollInterval: multiplying first would overflow a large number to a
// negative duration, and a loop that waits for it would not wait at all.
func BoundDuration(n float64, unit, most time.Duration) time.Duration {
	switch {
	case !(n > 0): // NaN too
		return 0
	case n >= float64(most)/float64(unit):
		return most
	}
	return time.Duration(n * float64(unit))
}
