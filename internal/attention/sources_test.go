package attention

import (
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// The forecast needs samples that are far enough apart, and a disk that fills.
func TestForecast(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	for _, c := range []struct {
		name     string
		from, to diskSample
		left     time.Duration
		ok       bool
	}{
		{"no sample", diskSample{}, diskSample{at, 50}, 0, false},
		{"too soon", diskSample{at, 100}, diskSample{at.Add(time.Minute), 50}, 0, false},
		{"it does not fill", diskSample{at, 100}, diskSample{at.Add(24 * time.Hour), 100}, 0, false},
		{"it gets room", diskSample{at, 100}, diskSample{at.Add(24 * time.Hour), 200}, 0, false},
		{"half in a day", diskSample{at, 100}, diskSample{at.Add(24 * time.Hour), 50}, 24 * time.Hour, true},
		{"a tenth in an hour", diskSample{at, 100}, diskSample{at.Add(time.Hour), 90}, 9 * time.Hour, true},
	} {
		left, ok := forecast(c.from, c.to)
		if ok != c.ok || (left-c.left).Abs() > time.Second {
			t.Errorf("%s: %v %v, want %v %v", c.name, left, ok, c.left, c.ok)
		}
	}
}

// A key is an item in the last part of its life, and after it only if somebody used it.
func TestKeyFinding(t *testing.T) {
	t.Parallel()
	made := time.Date(2026, 5, 4, 0, 0, 0, 0, time.UTC)
	const day = 24 * time.Hour
	for _, c := range []struct {
		name               string
		life, used, revoke time.Duration
		age                time.Duration
		want               junctor.AttentionSeverity
	}{
		{"young", 365 * day, 1, 0, 10 * day, ""},
		{"two weeks left", 365 * day, 1, 0, 352 * day, junctor.SeverityWarning},
		{"a day left", 365 * day, 1, 0, 365*day - time.Hour, junctor.SeverityCritical},
		{"a day left, and never used", 365 * day, 0, 0, 365*day - time.Hour, junctor.SeverityWarning},
		{"a short life, in its middle", day, 1, 0, 12 * time.Hour, ""},
		{"a short life, near its end", day, 1, 0, 20 * time.Hour, junctor.SeverityCritical},
		{"expired, and in use until then", 30 * day, 29 * day, 0, 31 * day, junctor.SeverityCritical},
		{"expired, and not in use", 30 * day, 1, 0, 31 * day, ""},
		{"expired long ago", 30 * day, 29 * day, 0, 60 * day, ""},
		{"revoked", 30 * day, 29 * day, day, 29 * day, ""},
		{"without an end", 0, 1, 0, 900 * day, ""},
	} {
		k := junctor.Key{ID: "k", CreatedAt: made}
		for _, one := range []struct {
			at    *time.Time
			after time.Duration
		}{{&k.ExpiresAt, c.life}, {&k.LastUsedAt, c.used}, {&k.RevokedAt, c.revoke}} {
			if one.after > 0 {
				*one.at = made.Add(one.after)
			}
		}
		f, ok := keyFinding(&k, made.Add(c.age))
		if ok != (c.want != "") || ok && f.Severity != c.want {
			t.Errorf("%s: %v %s, want %q", c.name, ok, f.Severity, c.want)
		}
	}
}
