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
		if got := history.FindSecretWords(c.words); !slices.Equal(got, c.want) {
			t.Errorf("%q: %v, want %v", c.words, got, c.want)
		}
	}
}

func TestMaskWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ words, want []string }{
		{[]string{"npx", "-y", "@scope/server@2026.8.31", "/srv/files"}, []string{"npx", "-y", "@scope/server@2026.8.31", "/srv/files"}},
		{[]string{"server", "--token=abc", "--port=80"}, []string{"server", "--token=***", "--port=80"}},
		{[]string{"server", "pw=a"}, []string{"server", "pw=***"}},
		{[]string{"server", "--api-key", "abc", "-v"}, []string{"server", "--api-key", "***", "-v"}},
		{[]string{"server", "-H", "Authorization: Bearer hunter2hunter2"}, []string{"server", "-H", "Authorization: ***"}},
		{[]string{"server", "ghp_0123456789abcdefABCDEF"}, []string{"server", "***"}},
		{[]string{"server", "postgres://ada:hunter2@db/books"}, []string{"server", "postgres://***@db/books"}},
		{[]string{"server", "https://api.example/mcp?token=hunter2&page=2"}, []string{"server", "https://api.example/mcp?token=***&page=2"}},
		{[]string{"server", "--password", ""}, []string{"server", "--password", "***"}},
	} {
		if got := history.MaskSecretWords(c.words, "***"); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.words, got, c.want)
		}
	}
}
