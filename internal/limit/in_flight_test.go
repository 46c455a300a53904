package limit

import (
	"strconv"
	"testing"
)

// By default a small control group and a large machine have what fits them.
func TestInFlightByMemory(t *testing.T) {
	t.Parallel()
	const mib, result = 1 << 20, 32 << 20
	for name, c := range map[string]struct{ capacity, total, perCaller, all, one int64 }{
		"512 MiB":         {512 * mib, 0, 0, 128 * mib, 65 * mib},
		"64 MiB":          {64 * mib, 0, 0, 32 * mib, 32 * mib},
		"24 GiB":          {24 << 30, 0, 0, 6 << 30, 3 << 29},
		"not known":       {0, 0, 0, 512 * mib, 128 * mib},
		"set":             {24 << 30, 100 * mib, 10 * mib, 100 * mib, 10 * mib},
		"one above total": {24 << 30, 100 * mib, 200 * mib, 100 * mib, 100 * mib},
	} {
		if all, one := (InFlightOptions{c.capacity, c.total, c.perCaller, result}).inFlight(); all != c.all || one != c.one {
			t.Errorf("%s: %d MiB and %d MiB", name, all/mib, one/mib)
		}
	}
}

// A caller may always have two of the largest results in flight, by default.
func TestLeastShareHoldsTwoResults(t *testing.T) {
	t.Parallel()
	const most = 4 << 20
	if _, one := (InFlightOptions{Capacity: 1 << 30, MaxResult: most}).inFlight(); one < 2*most+resultReserve {
		t.Fatalf("one caller has %d bytes by default", one)
	}
}

// Callers without a credential leave half for the others, but always enough for one.
func TestAnonymousLeaveHalf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ total, perCaller, anonymous int64 }{{8 << 20, 1 << 20, 4 << 20}, {8 << 20, 6 << 20, 6 << 20}} {
		_, anonymous := NewInFlightBudgets(InFlightOptions{Total: c.total, PerCaller: c.perCaller})
		var taken int64
		for who := 0; taken+c.perCaller <= c.anonymous; who++ {
			release, err := anonymous.ReserveBytes(t.Context(), Party{Subject: strconv.Itoa(who)}, c.perCaller)
			if err != nil {
				t.Fatalf("caller %d of %d bytes each: %v", who, c.perCaller, err)
			}
			defer release()
			taken += c.perCaller
		}
		if taken != c.anonymous || anonymous.UsedBytes() != taken {
			t.Errorf("of %d bytes, callers without a credential have %d, want %d", c.total, taken, c.anonymous)
		}
	}
}
