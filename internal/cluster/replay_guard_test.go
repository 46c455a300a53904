package cluster

import (
	"fmt"
	"testing"
	"time"
)

// TestReplayGuard repeats messages, late, in another order and under other clocks.
func TestReplayGuard(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	const skewed = -time.Hour
	type step struct {
		number  uint64
		age     time.Duration
		channel bool
		want    bool
	}
	for name, steps := range map[string][]step{
		"once":                         {{number: 1, want: true}, {number: 1}, {number: 2, want: true}, {number: 1}, {number: 2}},
		"overtaken":                    {{number: 5, want: true}, {number: 3, want: true}, {number: 4, want: true}, {number: 3}, {number: 6, want: true}},
		"recorded before we were here": {{number: 5, age: time.Minute}, {number: 6, age: time.Minute}, {number: 9, want: true}, {number: 5, age: time.Minute}, {number: 8, age: time.Minute}},
		"far behind":                   {{number: 1, want: true}, {number: 5000, want: true}, {number: 3000}, {number: 4500, want: true}, {number: 1}},
		"clocks need not agree":        {{number: 1, want: true}, {number: 2, age: skewed, want: true}, {number: 2, age: skewed}, {number: 3, age: time.Hour, want: true}},
		"proved in a channel":          {{number: 7, age: skewed}, {number: 7, channel: true, want: true}, {number: 7, age: skewed, want: true}, {number: 7, channel: true}, {number: 7, age: skewed}, {number: 6, age: skewed}, {number: 8, age: skewed, want: true}, {number: 8, age: skewed}},
		"of the future":                {{number: 1, age: -time.Minute}},
		"without a number":             {{number: 0}},
	} {
		var g replayGuard
		for i, s := range steps {
			if s.channel {
				if got := g.confirm("a", s.number, now); got != s.want {
					t.Errorf("%s, step %d, in a channel: %v", name, i, got)
				}
				continue
			}
			if got := g.accept("a", s.number, now.Add(-s.age), now); got != s.want {
				t.Errorf("%s, step %d: %v", name, i, got)
			}
		}
	}

	// Those that are remembered are bounded, and what is forgotten is not taken for new
	// when it is old.
	var g replayGuard
	for i := range 2 * maxSenders {
		if !g.accept(fmt.Sprint(i), 1, now, now.Add(time.Duration(i)*time.Millisecond)) {
			t.Fatalf("sender %d is not heard", i)
		}
	}
	if len(g.senders) > maxSenders || g.accept("0", 1, now, now.Add(time.Hour)) {
		t.Errorf("%d senders", len(g.senders))
	}
	for n := range uint64(5000) {
		g.accept("b", n+1, now, now)
	}
	if n := len(g.senders["b"].seen); n > 2*reordered {
		t.Errorf("%d numbers are remembered", n)
	}
}
