package cli

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestShortIDsAreUniqueInTheHistory holds that the short id of a call in a filtered list is
// not also the beginning of the id of a call that came a moment later.
func TestShortIDsAreUniqueInTheHistory(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 19, 5, 0, 0, 0, time.UTC)
	id := func(at time.Time) string { return strconv.FormatInt(at.UnixNano(), 16) + "0123456789abcdef" }
	listed, next := id(at), id(at.Add(20*time.Microsecond))
	short := shortenIDs([]string{listed})[listed]
	if !strings.HasPrefix(listed, short) || strings.HasPrefix(next, short) {
		t.Errorf("%s is short for %s, and for %s", short, listed, next)
	}
}
