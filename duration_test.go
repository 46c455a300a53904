package junctor_test

import (
	"math"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

func TestBoundDuration(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		n    float64
		unit time.Duration
		want time.Duration
	}{
		{0, time.Second, 0},
		{-1, time.Second, 0},
		{-1e300, time.Second, 0},
		{math.NaN(), time.Second, 0},
		{math.Inf(1), time.Second, time.Hour},
		{math.Inf(-1), time.Second, 0},
		{1.5, time.Second, 1500 * time.Millisecond},
		{3600, time.Second, time.Hour},
		{9.3e9, time.Second, time.Hour}, // above 2^63 nanoseconds
		{math.MaxInt64, time.Millisecond, time.Hour},
		{250, time.Millisecond, 250 * time.Millisecond},
	} {
		if got := junctor.BoundDuration(tt.n, tt.unit, time.Hour); got != tt.want {
			t.Errorf("%v times %v is %v, want %v", tt.n, tt.unit, got, tt.want)
		}
	}
}
