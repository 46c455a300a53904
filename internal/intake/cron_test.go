package intake_test

import (
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/intake"

	"pgregory.net/rapid"
)

func TestCronTimes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ cron, zone, after, want string }{
		{"* * * * *", "", "2026-05-04T03:02:01Z", "2026-05-04T03:03:00Z"},
		{"*/15 * * * *", "", "2026-05-04T03:45:00Z", "2026-05-04T04:00:00Z"},
		{"0 9 * * mon-fri", "", "2026-05-01T10:00:00Z", "2026-05-04T09:00:00Z"},
		{"0 9 * * 7", "", "2026-05-04T10:00:00Z", "2026-05-10T09:00:00Z"},
		{"0 0 29 2 *", "", "2026-01-01T00:00:00Z", "2028-02-29T00:00:00Z"},
		{"0 0 13 * fri", "", "2026-05-02T00:00:00Z", "2026-05-08T00:00:00Z"}, // either day
		{"5/20 1,3-4 * jan *", "", "2026-05-04T00:00:00Z", "2027-01-01T01:05:00Z"},
		{"@daily", "Europe/Berlin", "2026-05-04T00:00:00Z", "2026-05-04T22:00:00Z"},
		{"30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T01:30:00Z"}, // an hour that is left out
		{"@hourly", "", "2026-12-31T23:30:00Z", "2027-01-01T00:00:00Z"},
	} {
		cron, err := intake.ParseCron(c.cron, c.zone)
		if err != nil {
			t.Errorf("%s: %v", c.cron, err)
			continue
		}
		after, _ := time.Parse(time.RFC3339, c.after)
		if got := cron.Next(after).Format(time.RFC3339); got != c.want {
			t.Errorf("%s %s after %s: got %s, want %s", c.cron, c.zone, c.after, got, c.want)
		}
	}
}

func TestCronRefusals(t *testing.T) {
	t.Parallel()
	for _, cron := range []string{"", "* * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * 31 feb *", "*/0 * * * *", "5-1 * * * *", "a * * * *", "* * * * 8", "-1 * * * *", "1- * * * *", ", * * * *", "@never"} {
		if _, err := intake.ParseCron(cron, ""); err == nil {
			t.Errorf("%q is taken", cron)
		}
	}
	for _, zone := range []string{"Nowhere", "Local", "../etc/passwd"} {
		if _, err := intake.ParseCron("* * * * *", zone); err == nil {
			t.Errorf("the zone %q is taken", zone)
		}
	}
}

// The next time is later, fits, and nothing between fits.
func TestCronSkipsNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		field := rapid.SampledFrom([]string{"*", "*/7", "3", "5-20/4", "0,9"})
		text := field.Draw(t, "minute") + " " + rapid.SampledFrom([]string{"*", "*/5", "2", "1-4"}).Draw(t, "hour") + " " +
			rapid.SampledFrom([]string{"*", "1", "28-31", "*/10"}).Draw(t, "day") + " * " + rapid.SampledFrom([]string{"*", "1-5", "0"}).Draw(t, "weekday")
		cron, err := intake.ParseCron(text, "")
		if err != nil {
			t.Fatal(err)
		}
		after := time.Unix(rapid.Int64Range(0, 1<<32).Draw(t, "after"), 0).UTC()
		next := cron.Next(after)
		if !next.After(after) || next.Second() != 0 {
			t.Fatalf("%s after %s is %s", text, after, next)
		}
		if again := cron.Next(next.Add(-time.Second)); !again.Equal(next) {
			t.Fatalf("%s: a second before %s comes %s", text, next, again)
		}
		between := after.Add(time.Duration(rapid.Int64Range(0, int64(next.Sub(after))-1).Draw(t, "between")))
		if got := cron.Next(between); !got.Equal(next) {
			t.Fatalf("%s: between, after %s, comes %s instead of %s", text, between, got, next)
		}
	})
}

func FuzzCron(f *testing.F) {
	for _, s := range []string{"* * * * *", "*/15 1-2,5 */2 jan-mar mon", "0 0 31 2 *", "@daily", "9999999999999999999 * * * *", "1/1/1 - , / *"} {
		f.Add(s)
	}
	after := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	f.Fuzz(func(t *testing.T, s string) {
		cron, err := intake.ParseCron(s, "")
		if err != nil {
			return
		}
		if next := cron.Next(after); !next.After(after) {
			t.Errorf("%q: %s", s, next)
		}
	})
}
