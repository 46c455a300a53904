package storetest

import (
	"strconv"
	"time"

	junctor "github.com/junctor-mcp/junctor"

	"pgregory.net/rapid"
)

func timeTests() map[string]func(*trial) {
	return map[string]func(*trial){
		"times/come back in UTC, in microseconds": func(t *trial) {
			var m fixtures
			st := t.open().For(junctor.DefaultTenant)
			times := rapid.Custom(func(t *rapid.T) time.Time {
				seconds := rapid.Int64Range(-62_135_596_800, 253_402_300_799).Draw(t, "seconds") // the years 1 to 9999
				nanos := rapid.Int64Range(0, 999_999_999).Draw(t, "nanos")
				zone := time.FixedZone("", rapid.IntRange(-14*3600, 14*3600).Draw(t, "zone"))
				return time.Unix(seconds, nanos).In(zone)
			})
			rapid.Check(t, func(rt *rapid.T) {
				k := m.key(strconv.FormatInt(m.n.Load(), 10), "x")
				k.CreatedAt = times.Draw(rt, "created")
				k.ExpiresAt = times.Draw(rt, "expires")
				k.RevokedAt = times.Draw(rt, "revoked")
				k.LastUsedAt = times.Draw(rt, "used")
				ok(t, st.CreateKey(t.Context(), k))
				got := must(st.Key(t.Context(), k.ID))(t)
				for _, pair := range [][2]time.Time{
					{k.CreatedAt, got.CreatedAt},
					{k.ExpiresAt, got.ExpiresAt},
					{k.RevokedAt, got.RevokedAt},
					{k.LastUsedAt, got.LastUsedAt},
				} {
					if want := pair[0].Truncate(time.Microsecond); !pair[1].Equal(want) || pair[1].Location() != time.UTC {
						rt.Fatalf("%s was stored and %s came back", pair[0].Format(time.RFC3339Nano), pair[1].Format(time.RFC3339Nano))
					}
				}
			})
		},
	}
}
