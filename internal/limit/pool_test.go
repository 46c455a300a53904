package limit

import (
	"context"
	"errors"
	"testing"
	"time"
)

// counted is a pool that only counts.
type counted struct{ asked, taken int }

func (c *counted) TakeTokens(context.Context, string, Rate, int, time.Duration) (Grant, error) {
	return Grant{}, nil
}

func (c *counted) TakeCalls(_ context.Context, _ string, _ int64, limit, most int, _ int64) (Grant, error) {
	n := min(most, limit-c.taken)
	c.asked, c.taken = c.asked+1, c.taken+n
	return Grant{Count: n, Remaining: limit - c.taken}, nil
}

// A replica that is killed takes with it what it has of a day's calls: that is to be
// what it uses in a second or two, however many the day has. And who makes many
// calls is not to wait for the pool at each.
func TestDailyBlocks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name             string
		limit, perSecond int
		mostLost, asked  int // asked: in ten seconds
	}{
		{"few calls of many", 1_000_000, 1, 16, 1},
		{"many calls", 1_000_000, 1000, 2048, 20},
		{"more than a part of the day", 10_000, 900, 500, 23},
		{"a small limit", 100, 1, 5, 2},
		{"one a day", 1, 1, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := &counted{}
			l := &poolLease{pool: p, key: "k"}
			now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
			used, worst := 0, 0
			for range 10 * c.perSecond {
				now = now.Add(time.Second / time.Duration(c.perSecond))
				_, ok, err := l.useCall(t.Context(), c.limit, int64(used), now)
				if err != nil {
					t.Fatal(err)
				}
				if !ok {
					break
				}
				used++
				worst = max(worst, p.taken-used)
			}
			if want := min(10*c.perSecond, c.limit); used != want {
				t.Errorf("%d calls went through, want %d", used, want)
			}
			if worst > c.mostLost {
				t.Errorf("%d calls would be lost with it, want at most %d", worst, c.mostLost)
			}
			if p.asked > c.asked+1 {
				t.Errorf("the pool was asked %d times, want at most %d", p.asked, c.asked)
			}
		})
	}
}

// Who made many calls and now makes few has few in hand again.
func TestDailyBlocksShrink(t *testing.T) {
	t.Parallel()
	p := &counted{}
	l := &poolLease{pool: p, key: "k"}
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	used := 0
	call := func(after time.Duration) {
		now = now.Add(after)
		if _, ok, err := l.useCall(t.Context(), 1_000_000, int64(used), now); !ok || err != nil {
			t.Fatal(ok, err)
		}
		used++
	}
	for range 20_000 {
		call(time.Millisecond)
	}
	for range 10_000 {
		call(time.Minute / 10)
	}
	if left := p.taken - used; left > 16 {
		t.Errorf("%d calls are in hand, want at most 16", left)
	}
}

// away is a pool that does not answer until it is back.
type away struct {
	counted
	back bool
}

func (a *away) TakeCalls(ctx context.Context, key string, day int64, limit, most int, used int64) (Grant, error) {
	if !a.back {
		return Grant{}, errors.New("away")
	}
	return a.counted.TakeCalls(ctx, key, day, limit, most, used)
}

// Calls that are made while the pool is away do not count for what is taken when it is
// back.
func TestDailyBlocksAfterThePoolWasUnreachable(t *testing.T) {
	t.Parallel()
	p := &away{}
	l := &poolLease{pool: p, key: "k"}
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for range 100 {
		now = now.Add(100 * time.Millisecond)
		if _, _, err := l.useCall(t.Context(), 1_000_000, 0, now); err == nil {
			t.Fatal("the pool is away, and nobody says so")
		}
	}
	p.back = true
	if _, ok, err := l.useCall(t.Context(), 1_000_000, 0, now); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if p.taken != minCallBlock {
		t.Errorf("%d calls are taken, want %d", p.taken, minCallBlock)
	}
}
