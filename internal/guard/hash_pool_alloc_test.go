//go:build !race

package guard

import "testing"

// A digest reuses a pooled hasher: a new one for each call would cost kilobytes.
func TestSumBytesAllocatesNothing(t *testing.T) {
	var d hashPool
	payload := make([]byte, 4096)
	if n := testing.AllocsPerRun(100, func() { d.sumBytes(payload) }); n >= 1 {
		t.Errorf("a digest allocates %v times", n)
	}
}
