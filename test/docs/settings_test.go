package docs

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/test/program"
)

//go:generate go test . -run ^TestSettings$ -update

var update = flag.Bool("update", false, "write generated parts of documents and lists of words again")

// TestSettings holds the table of settings in the reference to the settings there are.
func TestSettings(t *testing.T) {
	t.Parallel()
	const begin, end = "<!-- settings: make generate -->\n", "<!-- end of settings -->\n"
	file := filepath.Join(program.Root(t), "docs", "reference", "settings.md")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	have, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("settings.md has no part between %q and %q", begin, end)
	}
	want := settingsTable()
	if have == want {
		return
	}
	if !*update {
		t.Fatalf("the settings in docs/reference/settings.md are not those in internal/config; run `make generate`. Want:\n%s", want)
	}
	if err := os.WriteFile(file, []byte(before+begin+want+end+after), 0o600); err != nil {
		t.Fatal(err)
	}
}

// settingsTable returns a table for each group of settings.
func settingsTable() string {
	var b strings.Builder
	for _, g := range config.Groups() {
		fmt.Fprintf(&b, "\n## %s\n\n| setting | default | what it is |\n|---|---|---|\n", g.Title())
		for _, s := range config.SettingsOf(g) {
			def := s.Default
			if def != "" {
				def = "`" + def + "`"
			}
			fmt.Fprintf(&b, "| `--%s` | %s | %s |\n", s.Name, def, strings.ReplaceAll(s.Help, "|", `\|`))
		}
	}
	b.WriteString("\n")
	return b.String()
}
