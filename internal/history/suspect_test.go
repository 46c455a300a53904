package history_test

import (
	"slices"
	"testing"

	"github.com/junctor-mcp/junctor/internal/history"
)

func TestSuspects(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		words []string
		want  []int
	}{
		{[]string{"npx", "-y", "@modelcontextprotocol/server-filesystem@2026.8.31", "/srv/files"}, nil},
		{[]string{"server", "--token", "hunter2", "--verbose"}, []int{2}},
		{[]string{"server", "--api-key=hunter2hunter2", "--port", "8080"}, []int{1}},
		{[]string{"server", "ghp_0123456789abcdefABCDEF"}, []int{1}},
		{[]string{"server", "postgres://ada:hunter2@db/books"}, []int{1}},
		{[]string{"server", "--password", "--verbose"}, nil},
	} {
		if got := history.Suspects(c.words); !slices.Equal(got, c.want) {
			t.Errorf("%q: %v, want %v", c.words, got, c.want)
		}
	}
}
