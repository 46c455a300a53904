package junctor

import (
	"math"
	"strings"
	"time"
)

// Duration is a time span that people write: in JSON and in settings files it is a text
// with a unit, such as 5m or 1h30m. Zero is not set.
type Duration time.Duration

// ParseDuration parses a text such as 30s, 5m or 1h30m.
func ParseDuration(text string) (Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, Errorf(CodeInvalid, "%q is not a valid duration; use a unit, such as 30s, 5m or 1h", ShortenText(text, 40))
	}
	return Duration(d), nil
}

// String returns the shortest text that ParseDuration reads as the same duration: 5m, not
// 5m0s.
func (d Duration) String() string {
	text := time.Duration(d).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler. An empty text is zero.
func (d *Duration) UnmarshalText(text []byte) (err error) {
	if *d = 0; len(text) > 0 {
		*d, err = ParseDuration(string(text))
	}
	return err
}

// DurationOfMS returns a number of milliseconds from outside as a Duration, at most the
// longest one there is.
func DurationOfMS(ms int64) Duration {
	return Duration(BoundDuration(float64(ms), time.Millisecond, math.MaxInt64))
}

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
