package docs

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/test/program"
)

//go:generate go test . -run ^TestLogPage$ -update

// TestLogPage holds docs/reference/log.md to the messages that the program logs, and each
// message to the rules for messages.
func TestLogPage(t *testing.T) {
	t.Parallel()
	lines, err := collectLog(program.Root(t), "./cmd/junctor")
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) < 100 {
		t.Fatalf("found %d log lines: the search is broken", len(lines))
	}
	for _, problem := range checkLog(lines) {
		t.Error(problem)
	}
	checkGenerated(t, "log.md", "log", logTable(lines))
}

// checkLog gives what is wrong with the messages.
func checkLog(lines []logLine) []string {
	var problems []string
	first := map[string]logLine{}
	for _, l := range lines {
		if l.message == "" {
			problems = append(problems, l.place+": the message of a log line is no constant: put what varies into attributes")
			continue
		}
		plain := strings.ToLower(strings.Join(strings.FieldsFunc(l.message, func(r rune) bool { return strings.ContainsRune(" .,:;'", r) }), " "))
		if other, ok := first[plain]; ok && other.message != l.message {
			problems = append(problems, fmt.Sprintf("%s: %q and %q (%s) are one message in two spellings", l.place, l.message, other.message, other.place))
		}
		first[plain] = l
		if strings.HasSuffix(l.message, ".") || strings.Contains(l.message, "\n") {
			problems = append(problems, fmt.Sprintf("%s: %q: a message is one line without a full stop at its end", l.place, l.message))
		}
	}
	return problems
}

func logTable(lines []logLine) string {
	var b strings.Builder
	area := ""
	for i, l := range lines {
		if l.area != area {
			area = l.area
			fmt.Fprintf(&b, "\n### %s\n\n| level | message | attributes |\n|---|---|---|\n", area)
		}
		attributes := slices.Clone(l.attributes)
		if i > 0 && lines[i-1].area == l.area && lines[i-1].message == l.message && lines[i-1].level == l.level {
			continue
		}
		for _, other := range lines[i+1:] {
			if other.area != l.area || other.message != l.message || other.level != l.level {
				break
			}
			attributes = append(attributes, other.attributes...)
		}
		slices.Sort(attributes)
		attributes = slices.Compact(attributes)
		for i, a := range attributes {
			attributes[i] = "`" + a + "`"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", l.level, escapeCell(l.message), strings.Join(attributes, ", "))
	}
	return b.String() + "\n"
}

// TestLogPagePlanted shows with the module in testdata/log what the search finds, and
// that each rule for messages can fail.
func TestLogPagePlanted(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs(filepath.Join("testdata", "log"))
	if err != nil {
		t.Fatal(err)
	}
	lines, err := collectLog(root, ".")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`main.go:15: the message of a log line is no constant: put what varies into attributes`,
		`main.go:16: the message of a log line is no constant: put what varies into attributes`,
		`main.go:19: the message of a log line is no constant: put what varies into attributes`,
		`internal/store/store.go:23: "cannot close, the store" and "cannot close the store" (main.go:18) are one message in two spellings`,
		`main.go:17: "cannot stop.": a message is one line without a full stop at its end`,
	}
	got := checkLog(lines)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	table := logTable(lines)
	for _, row := range []string{"| info | started | `port` |", "| warn | cannot close the store | `error`, `file` |", "| debug | cannot close, the store | `rows` |"} {
		if !strings.Contains(table, row) {
			t.Errorf("no row %q in\n%s", row, table)
		}
	}
}
