package app

import "testing"

// A caller may always have two of the largest results in flight, by default.
func TestLeastShareHoldsTwoResults(t *testing.T) {
	t.Parallel()
	const most = 4 << 20
	if _, one := inFlight(1<<30, 0, 0, most); one < 2*most+resultReserve {
		t.Fatalf("one caller has %d bytes by default", one)
	}
}
