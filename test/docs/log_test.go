package docs

import (
	"fmt"
	"maps"
	"os"
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
	actions := readLogActions(t, filepath.Join("testdata", "log-actions.tsv"))
	for _, problem := range checkLogActions(lines, actions) {
		t.Error(problem)
	}
	checkGenerated(t, "log.md", "log", logTable(lines, actions))
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

// readLogActions reads what to do about a message: a line has the message, a tab and one
// sentence.
func readLogActions(t *testing.T, file string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	actions := map[string]string{}
	for line := range strings.Lines(string(text)) {
		message, action, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if _, twice := actions[message]; !ok || twice || !strings.HasSuffix(action, ".") {
			t.Errorf("%s: %q: want a message that is listed once, a tab, and a sentence", file, line)
		}
		actions[message] = action
	}
	return actions
}

// checkLogActions gives the warnings and errors that say nowhere what to do, and the
// actions of messages that nothing logs.
func checkLogActions(lines []logLine, actions map[string]string) []string {
	var problems []string
	used := map[string]bool{}
	for _, l := range lines {
		if !needsAction(l) {
			continue
		}
		if actions[l.message] == "" && !used[l.message] {
			problems = append(problems, fmt.Sprintf("%s: %q: say in testdata/log-actions.tsv what an operator should do", l.place, l.message))
		}
		used[l.message] = true
	}
	for _, message := range slices.Sorted(maps.Keys(actions)) {
		if !used[message] {
			problems = append(problems, fmt.Sprintf("%q: no warning or error has this message: remove it from testdata/log-actions.tsv", message))
		}
	}
	return problems
}

// needsAction reports whether the page says what to do about a message.
func needsAction(l logLine) bool { return l.message != "" && (l.level == "warn" || l.level == "error") }

func logTable(lines []logLine, actions map[string]string) string {
	var b strings.Builder
	area := ""
	for i, l := range lines {
		if l.area != area {
			area = l.area
			fmt.Fprintf(&b, "\n### %s\n\n| level | message | attributes | what to do |\n|---|---|---|---|\n", area)
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
		action := ""
		if needsAction(l) {
			action = actions[l.message]
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", l.level, escapeCell(l.message), strings.Join(attributes, ", "), action)
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
	actions := map[string]string{"cannot close the store": "Check the disk.", "started": "Wait."}
	missing := checkLogActions(lines, actions)
	wantMissing := []string{
		`main.go:17: "cannot stop.": say in testdata/log-actions.tsv what an operator should do`,
		`"started": no warning or error has this message: remove it from testdata/log-actions.tsv`,
	}
	if !slices.Equal(missing, wantMissing) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(missing, "\n"), strings.Join(wantMissing, "\n"))
	}
	table := logTable(lines, actions)
	for _, row := range []string{"| info | started | `port` |  |", "| warn | cannot close the store | `error`, `file` | Check the disk. |", "| debug | cannot close, the store | `rows` |  |"} {
		if !strings.Contains(table, row) {
			t.Errorf("no row %q in\n%s", row, table)
		}
	}
}
