package gateway

import (
	"context"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// tally notes which messages are kept.
type tally struct{ kept []int }

func (l *tally) StoreEvent(_, _ string, s StoredEvent) {
	if s.Message != nil {
		l.kept = append(l.kept, s.Number)
	}
	l.kept = slices.DeleteFunc(l.kept, func(n int) bool { return slices.Contains(s.Delete, n) })
}

func (l *tally) LoadEvents(context.Context, string, string, int) (StoredEvents, bool) {
	return StoredEvents{}, false
}

// What is kept of a stream is its newest messages, as many as there is room for.
func TestWhatIsKeptOfAStream(t *testing.T) {
	t.Parallel()
	text := make([]byte, maxReplayBytes+1)
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.OneOf(rapid.IntRange(1, 100), rapid.IntRange(1, maxReplayBytes/2), rapid.Just(maxReplayBytes), rapid.Just(maxReplayBytes+1)), 0, 3*maxReplayEvents).Draw(t, "sizes")
		l := &tally{}
		c := &replayCopy{store: l}
		for i, size := range sizes {
			c.addMessage(i+1, text[:size], false)
			var want []int
			for n, room := i, maxReplayBytes; n >= 0 && len(want) < maxReplayEvents && sizes[n] <= room; n-- {
				want, room = append(want, n+1), room-sizes[n]
			}
			slices.Reverse(want)
			if !slices.Equal(l.kept, want) {
				t.Fatalf("behind message %d: %v, want %v", i+1, l.kept, want)
			}
		}
	})
}
