package junctor

import "time"

// BoundDuration is n units as a duration between 0 and most. It is for numbers
// that somebody outside wrote, such as expires_in, Retry-After, retry, ttlMs or
// pollInterval: multiplied first, a large one would overflow to a negative
// duration, and whatever waits for it would not wait at all. What is no number is
// 0.
func BoundDuration(n float64, unit, most time.Duration) time.Duration {
	switch {
	case !(n > 0): // NaN too
		return 0
	case n >= float64(most)/float64(unit):
		return most
	}
	return time.Duration(n * float64(unit))
}
