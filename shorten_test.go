package junctor_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	junctor "github.com/junctor-mcp/junctor"
)

// TestShortenText: what fits stays as it is, the rest is the beginning of the text, valid
// and no longer than asked for.
func TestShortenText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, most := rapid.String().Draw(t, "text"), rapid.IntRange(0, 20).Draw(t, "most")
		got := junctor.ShortenText(s, most)
		if len(s) <= most {
			if got != s {
				t.Fatalf("%q fits %d bytes and became %q", s, most, got)
			}
			return
		}
		head, cut := strings.CutSuffix(got, "…")
		if !cut || !strings.HasPrefix(s, head) || len(head) > most || len(head) < most-utf8.UTFMax+1 || !utf8.ValidString(got) {
			t.Fatalf("%q cut to %d bytes: %q", s, most, got)
		}
	})
}
