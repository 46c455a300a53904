package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/test/program"
)

// imperativeVerbs returns the first words that a title may have. A new decision
// may need a new verb: add it here.
func imperativeVerbs() []string {
	return []string{
		"Accept", "Add", "Assign", "Build", "Decide", "Describe", "Draw", "Embed", "Forward", "Give", "Judge", "Keep", "Let", "Limit", "Manage",
		"Map", "Move", "Page", "Poll", "Prove", "Raise", "Record", "Refuse", "Remove", "Replace", "Require", "Run", "Send", "Serve", "Share", "Store", "Talk", "Test",
		"Trace", "Treat", "Use", "Write",
	}
}

// TestDecisionRecords checks docs/adr: numbers without gaps, titles that are
// decisions, file names that follow the titles, and an index with every record.
func TestDecisionRecords(t *testing.T) {
	t.Parallel()
	files := readDecisions(t, filepath.Join(program.Root(t), "docs", "adr"))
	if len(files) < 40 {
		t.Fatalf("found %d files in docs/adr: the search is broken", len(files))
	}
	for _, problem := range checkDecisions(files) {
		t.Error("docs/adr/" + problem)
	}
}

// TestDecisionRecordsPlanted shows that each rule of checkDecisions can fail.
func TestDecisionRecordsPlanted(t *testing.T) {
	t.Parallel()
	const body = "\n\nStatus: accepted\n\n## Context\n\n## Decision\n\n## Consequences\n"
	index := "| 1 | [Use one](0001-use-one.md) | accepted | a |\n| 2 | [Store two](0002-store-two.md) | accepted | b |\n"
	for _, c := range []struct{ name, file, text, want string }{
		{"a correct set", "", "", ""},
		{"a gap", "0004-use-four.md", "# 4. Use four" + body, "numbers have a gap: 3 is missing"},
		{"a number that is used twice", "0002-use-three.md", "# 2. Use three" + body, "0002-use-three.md: the number 2 is used twice"},
		{"a title without a verb", "0002-store-two.md", "# 2. Two in a store" + body, `begins with "Two", which is not in imperativeVerbs`},
		{"a file name that does not follow", "0002-store-two.md", "# 2. Store three" + body, "0002-store-two.md: its title requires the name 0002-store-three.md"},
		{"a number that differs from the title's", "0002-store-two.md", "# 3. Store two" + body, "0002-store-two.md: its title has the number 3"},
		{"no section", "0002-store-two.md", "# 2. Store two\n\nStatus: accepted\n\n## Context\n\n## Decision\n", `0002-store-two.md: no "## Consequences"`},
		{"no status", "0002-store-two.md", strings.Replace("# 2. Store two"+body, "Status: accepted", "", 1), `0002-store-two.md: no "Status: "`},
		{"a record that the index lacks", "0003-use-three.md", "# 3. Use three" + body, `README.md: no row that begins with "| 3 | [Use three](0003-use-three.md) | accepted |"`},
		{"an index with a record that is not there", "README.md", index + "| 3 | [Use x](0003-use-x.md) | accepted | c |\n", "README.md: 3 rows for 2 records"},
	} {
		files := map[string]string{"0001-use-one.md": "# 1. Use one" + body, "0002-store-two.md": "# 2. Store two" + body, "README.md": index}
		if c.file != "" {
			files[c.file] = c.text
		}
		got := strings.Join(checkDecisions(files), "\n")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// TestDecisionReferences checks that a link to a decision names the number of its
// file. TestLinks checks only that the file exists, so it would miss an old number.
func TestDecisionReferences(t *testing.T) {
	t.Parallel()
	texts := documents(t)
	changelog, err := os.ReadFile(filepath.Join(program.Root(t), "CHANGELOG.md"))
	if err != nil {
		t.Fatal(err)
	}
	texts["CHANGELOG.md"] = string(changelog)
	links := 0
	for name, text := range texts {
		n, problems := checkDecisionLinks(text)
		links += n
		for _, problem := range problems {
			t.Errorf("%s:%s", name, problem)
		}
	}
	if links < 40 {
		t.Errorf("found %d links to decisions: the search is broken", links)
	}
	_, planted := checkDecisionLinks("a\n[ADR 7](adr/0008-use-x.md), [9](../docs/adr/0008-use-x.md), [ADR 8](0008-use-x.md)\nsee ADR 8\n")
	if want := []string{"2: [ADR 7] links to decision 8", "2: [9] links to decision 8", "3: ADR 8 has no link"}; !slices.Equal(planted, want) {
		t.Errorf("planted: got %q, want %q", planted, want)
	}
}

func checkDecisionLinks(text string) (links int, problems []string) {
	link := regexp.MustCompile(`\[(?:ADR )?(\d+)\]\((?:[a-z./]*adr/)?(\d{4})-[a-z0-9-]+\.md\)`)
	for i, line := range strings.Split(text, "\n") {
		for _, m := range link.FindAllStringSubmatch(line, -1) {
			links++
			if number, _ := strconv.Atoi(m[2]); m[1] != strconv.Itoa(number) {
				problems = append(problems, fmt.Sprintf("%d: %s links to decision %d", i+1, m[0][:strings.Index(m[0], "]")+1], number))
			}
		}
		for _, m := range regexp.MustCompile(`ADR \d+`).FindAllString(link.ReplaceAllString(line, ""), -1) {
			problems = append(problems, fmt.Sprintf("%d: %s has no link", i+1, m))
		}
	}
	return links, problems
}

func readDecisions(t *testing.T, dir string) map[string]string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(name)] = string(text)
	}
	return files
}

// checkDecisions returns the problems of the files of docs/adr, by name.
func checkDecisions(files map[string]string) (problems []string) {
	report := func(name, format string, args ...any) {
		problems = append(problems, name+": "+fmt.Sprintf(format, args...))
	}
	title := regexp.MustCompile(`^# (\d+)\. (.+)\n`)
	seen := map[int]bool{}
	records := 0
	for _, name := range sortedNames(files) {
		text := files[name]
		if name == "README.md" {
			continue
		}
		records++
		m := title.FindStringSubmatch(text)
		number, err := strconv.Atoi(name[:min(4, len(name))])
		if m == nil || err != nil {
			report(name, `a record is named NNNN-TITLE.md and begins with "# N. TITLE"`)
			continue
		}
		if m[1] != strconv.Itoa(number) {
			report(name, "its title has the number %s", m[1])
		}
		if seen[number] {
			report(name, "the number %d is used twice", number)
		}
		seen[number] = true
		if verb, _, _ := strings.Cut(m[2], " "); !slices.Contains(imperativeVerbs(), verb) {
			report(name, "a title says the decision (Use X for Y); this one begins with %q, which is not in imperativeVerbs", verb)
		}
		if want := fmt.Sprintf("%04d-%s.md", number, headingSlug(m[2])); name != want {
			report(name, "its title requires the name %s", want)
		}
		for _, part := range []string{"\nStatus: ", "\n## Context\n", "\n## Decision\n", "\n## Consequences\n"} {
			if !strings.Contains(text, part) {
				report(name, "no %q", strings.Trim(part, "\n"))
			}
		}
		status, _, _ := strings.Cut(strings.TrimPrefix(text[max(0, strings.Index(text, "Status: ")):], "Status: "), "\n")
		word, _, _ := strings.Cut(status, " ")
		row := fmt.Sprintf("| %d | [%s](%s) | %s", number, m[2], name, word)
		if !strings.Contains("\n"+files["README.md"], "\n"+row) {
			report("README.md", "no row that begins with %q", row+" |")
		}
	}
	for i := 1; i <= len(seen); i++ {
		if !seen[i] {
			problems = append(problems, fmt.Sprintf("numbers have a gap: %d is missing", i))
		}
	}
	if rows := len(regexp.MustCompile(`(?m)^\| \d+ \|`).FindAllString(files["README.md"], -1)); rows != records {
		report("README.md", "%d rows for %d records", rows, records)
	}
	return problems
}

// headingSlug returns a title as it stands in a file name.
func headingSlug(title string) string {
	title = strings.ReplaceAll(strings.ToLower(title), "'", "")
	return strings.Trim(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(title, "-"), "-")
}

func sortedNames(files map[string]string) (names []string) {
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
