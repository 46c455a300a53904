package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/junctor-mcp/junctor/test/program"
)

//go:generate go test . -run ^TestRetiredWords$ -update

// wordsFile lists the retired words, below the root.
const wordsFile = "test/docs/testdata/retired-words.tsv"

// The scopes in which a word can be retired.
const (
	scopeFlag     = "flag"
	scopeConfig   = "config-key"
	scopeAPI      = "api-field"
	scopeMetric   = "metric"
	scopeLabel    = "label"
	scopePackage  = "package"
	scopeExported = "exported"
	scopeHelp     = "help"
)

func scopes() []string {
	return []string{scopeFlag, scopeConfig, scopeAPI, scopeMetric, scopeLabel, scopePackage, scopeExported, scopeHelp}
}

// wordUse is one name or text that people read.
type wordUse struct {
	scope string
	// What a list of known places calls it: the name itself, so that it may move
	// to another file, or for a text the file that has it, so that it may be
	// written anew.
	place string
	text  string
	file  string // below the root
	line  int
}

func (u wordUse) shown() string {
	if u.place == u.file {
		return u.text
	}
	return u.place
}

// retiredWord is a row `retired` of the list.
type retiredWord struct {
	forms  []string // the word and its inflections, lower case; a form may have several words
	use    string
	scopes []string
}

// placeKey is what a row `exception` or `pending` is about.
type placeKey struct{ word, scope, place string }

type wordList struct {
	retired    []retiredWord
	phrases    []string // that may have a retired word, lower case
	exceptions map[placeKey]bool
	pending    map[placeKey]int
}

// TestRetiredWords fails where a name or text that people read has a word of
// test/docs/testdata/retired-words.tsv. With -update it removes rows of places that are gone; it
// never adds one.
func TestRetiredWords(t *testing.T) {
	t.Parallel()
	root := program.Root(t)
	path := filepath.Join(root, filepath.FromSlash(wordsFile))
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	list, err := parseWords(string(data))
	if err != nil {
		t.Fatal(err)
	}
	uses, err := collectUses(root)
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, u := range uses {
		count[u.scope]++
	}
	for scope, least := range map[string]int{
		scopeFlag: 200, scopeConfig: 100, scopeAPI: 500, scopeMetric: 15, scopeLabel: 500, scopePackage: 50, scopeExported: 1000, scopeHelp: 300,
	} {
		if count[scope] < least {
			t.Errorf("found %d of scope %s, fewer than %d: the search is broken", count[scope], scope, least)
		}
	}
	problems, known := checkWords(list, uses)
	for _, problem := range problems {
		t.Error(problem)
	}
	text, stale := shrinkWords(string(data), known)
	if len(stale) == 0 {
		return
	}
	if !*update {
		t.Errorf("%s has rows of places that no longer use the word. Run `go test ./test/docs -run '^TestRetiredWords$' -update`:\n%s", wordsFile, strings.Join(stale, "\n"))
		return
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestRetiredWordsPlanted shows with the module in testdata/words that each scope
// can fail, that the failure names file and line, and what the rows of a list do.
func TestRetiredWordsPlanted(t *testing.T) {
	t.Parallel()
	uses, err := collectUses(filepath.Join("testdata", "words"))
	if err != nil {
		t.Fatal(err)
	}
	const retired = "retired\tgate gates\tendpoint\t*\n"
	want := []string{
		`internal/admin/testdata/openapi.json:6: api-field "Call.gate" uses "gate": write "endpoint"`,
		`internal/admin/testdata/openapi.json:14: api-field "/gates/{id}" uses "gates": write "endpoint"`,
		`internal/admin/testdata/openapi.json:19: api-field "/gates/{id}?by_gate" uses "gate": write "endpoint"`,
		`internal/cli/command.go:10: flag "gate" uses "gate": write "endpoint"`,
		`internal/cli/command.go:13: help "lists the gates" uses "gates": write "endpoint"`,
		`internal/cli/command.go:15: flag "all-gates" uses "gates": write "endpoint"`,
		`internal/cli/command.go:15: help "every gate" uses "gate": write "endpoint"`,
		`internal/config/settings.go:8: flag "gates-off" uses "gates": write "endpoint"`,
		`internal/config/settings.go:8: config-key "gates_off" uses "gates": write "endpoint"`,
		`internal/config/settings.go:9: help "turns a gate off" uses "gate": write "endpoint"`,
		`internal/config/settings.go:16: config-key "gate" uses "gate": write "endpoint"`,
		`internal/config/settings.go:22: config-key "gate_list" uses "gate": write "endpoint"`,
		`internal/console/web/src/Screen.tsx:4: label "The gate of a call" uses "gate": write "endpoint"`,
		`internal/console/web/src/Screen.tsx:5: label "Choose a gate" uses "gate": write "endpoint"`,
		`internal/console/web/src/Screen.tsx:7: label "All gates" uses "gates": write "endpoint"`,
		`internal/gate/gate.go:2: package "internal/gate" uses "gate": write "endpoint"`,
		`internal/gate/gate.go:5: exported "gate.OpenGate" uses "gate": write "endpoint"`,
		`internal/gate/gate.go:9: exported "gate.Call.GateID" uses "gate": write "endpoint"`,
		`internal/gate/gate.go:13: exported "gate.Call.Gates" uses "gates": write "endpoint"`,
		`internal/telemetry/metrics.go:6: metric "junctor_gates_open" uses "gates": write "endpoint"`,
	}
	list, err := parseWords(retired)
	if err != nil {
		t.Fatal(err)
	}
	got, _ := checkWords(list, uses)
	slices.Sort(got)
	slices.Sort(want)
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("missing: %s", line)
		}
	}
	for _, line := range got {
		if !slices.Contains(want, line) {
			t.Errorf("unexpected: %s", line)
		}
	}
	for _, scope := range scopes() {
		if !slices.ContainsFunc(got, func(line string) bool { return strings.Contains(line, ": "+scope+" ") }) {
			t.Errorf("no violation of the scope %s is planted", scope)
		}
	}
	for _, c := range []struct {
		name, rows string
		problems   int
		stale      int
	}{
		{"an exception", "exception\tgate\tpackage\tinternal/gate\tthe name of a standard\n", len(want) - 1, 0},
		{"an exception that nothing needs", "exception\tgate\tpackage\tinternal/other\tthe name of a standard\n", len(want), 1},
		{"a phrase", "phrase\tgate_of_a_call\tthe name of a standard\n", len(want) - 1, 0},
		{"a known place", "pending\tgate\tflag\tgate\t1\n", len(want) - 1, 0},
		{"a known text, by its file", "pending\tgate\tlabel\tinternal/console/web/src/Screen.tsx\t3\n", len(want) - 3, 0},
		{"more places than known", "pending\tgate\tlabel\tinternal/console/web/src/Screen.tsx\t2\n", len(want), 0},
		{"fewer places than known", "pending\tgate\tflag\tgate\t2\n", len(want) - 1, 1},
		{"a known place that is gone", "pending\tgate\tflag\tother\t1\n", len(want), 1},
	} {
		list, err := parseWords(retired + c.rows)
		if err != nil {
			t.Fatal(err)
		}
		problems, known := checkWords(list, uses)
		text, stale := shrinkWords(retired+c.rows, known)
		if len(problems) != c.problems || len(stale) != c.stale {
			t.Errorf("%s: %d problems and %d stale rows, want %d and %d", c.name, len(problems), len(stale), c.problems, c.stale)
		}
		if _, again := shrinkWords(text, known); len(again) > 0 {
			t.Errorf("%s: after -update there are stale rows: %q", c.name, again)
		}
	}
	for rows, want := range map[string]string{
		"retired\tgate\n":                                "line 1: a row has the columns",
		"gone\tgate\tx\ty\n":                             "line 1: a row has the columns",
		"retired\tgate\tendpoint\tflags\n":               `line 1: the scope "flags" is not one of`,
		"pending\tgate\tflag\tx\t1\n":                    `line 1: "gate" is not a retired word`,
		retired + "pending\tgate\tflag\tx\tmany\n":       `line 2: the count "many" is not a number above 0`,
		retired + "exception\tgate\tflag\tx\t\n":         "line 2: an exception has a reason",
		retired + "retired\tdoor gate\tendpoint\tflag\n": `line 2: "gate" is retired twice`,
	} {
		if _, err := parseWords(rows); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", rows, err, want)
		}
	}
}

func TestSplitWords(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"OpenHTTPDoor2": "open http door2", "peer_url": "peer url", "doors-off": "doors off", "/workspaces/{id}": "workspaces id",
		"Call.Door": "call door", "the server’s own list.": "the server's own list", "NodeIDs": "node ids", "v1Nodes": "v1 nodes",
	} {
		if got := strings.Join(splitWords(name), " "); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

// TestGlossary checks that the glossary is in order and has each term once.
func TestGlossary(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(program.Root(t), "docs", "reference", "glossary.md"))
	if err != nil {
		t.Fatal(err)
	}
	terms, last := 0, ""
	for i, line := range strings.Split(string(text), "\n") {
		columns := strings.Split(line, "|")
		if len(columns) != 4 || i < 6 {
			continue
		}
		terms++
		term := strings.ToLower(strings.TrimSpace(columns[1]))
		if term <= last {
			t.Errorf("docs/reference/glossary.md:%d: %q comes after %q", i+1, term, last)
		}
		last = term
	}
	if terms < 40 {
		t.Errorf("found %d terms: the search is broken", terms)
	}
}

func parseWords(text string) (wordList, error) {
	list := wordList{exceptions: map[placeKey]bool{}, pending: map[placeKey]int{}}
	words := map[string]bool{} // by first form
	forms := map[string]bool{}
	for i, line := range strings.Split(text, "\n") {
		fail := func(format string, args ...any) (wordList, error) {
			return wordList{}, fmt.Errorf("%s: line %d: %s", wordsFile, i+1, fmt.Sprintf(format, args...))
		}
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		row := strings.Split(line, "\t")
		switch {
		case row[0] == "retired" && len(row) == 4:
			w := retiredWord{use: row[2], scopes: strings.Split(row[3], ",")}
			if row[3] == "*" {
				w.scopes = scopes()
			}
			for _, scope := range w.scopes {
				if !slices.Contains(scopes(), scope) {
					return fail("the scope %q is not one of %s", scope, strings.Join(scopes(), ", "))
				}
			}
			for form := range strings.FieldsSeq(row[1]) { // the words of a form are joined by _
				if forms[form] {
					return fail("%q is retired twice", form)
				}
				forms[form] = true
				w.forms = append(w.forms, strings.ReplaceAll(form, "_", " "))
			}
			words[w.forms[0]] = true
			list.retired = append(list.retired, w)
		case row[0] == "phrase" && len(row) == 3:
			list.phrases = append(list.phrases, strings.ReplaceAll(row[1], "_", " "))
		case (row[0] == "exception" || row[0] == "pending") && len(row) == 5:
			key := placeKey{row[1], row[2], row[3]}
			if !words[key.word] {
				return fail("%q is not a retired word", key.word)
			}
			if row[0] == "exception" {
				if row[4] == "" {
					return fail("an exception has a reason")
				}
				list.exceptions[key] = true
				continue
			}
			n, err := strconv.Atoi(row[4])
			if err != nil || n < 1 {
				return fail("the count %q is not a number above 0", row[4])
			}
			list.pending[key] = n
		default:
			return fail("a row has the columns retired, words, word to use, scopes; or phrase, words, reason; or exception, word, scope, place, reason; or pending, word, scope, place, count")
		}
	}
	return list, nil
}

// checkWords returns a line for each use of a retired word that the list does not
// know, and how often each place uses one.
func checkWords(list wordList, uses []wordUse) (problems []string, known map[placeKey]int) {
	known = map[placeKey]int{}
	found := map[placeKey][]string{}
	for _, u := range uses {
		text := " " + strings.Join(splitWords(u.text), " ") + " "
		for _, phrase := range list.phrases {
			text = strings.ReplaceAll(text, " "+phrase+" ", " | ")
		}
		for _, w := range list.retired {
			if !slices.Contains(w.scopes, u.scope) {
				continue
			}
			for _, form := range w.forms {
				n := strings.Count(text, " "+form+" ")
				if n == 0 {
					continue
				}
				key := placeKey{w.forms[0], u.scope, u.place}
				known[key] += n
				line := fmt.Sprintf("%s:%d: %s %q uses %q: write %q", u.file, u.line, u.scope, u.shown(), form, w.use)
				found[key] = append(found[key], line)
			}
		}
	}
	for key, lines := range found {
		if !list.exceptions[key] && known[key] > list.pending[key] {
			problems = append(problems, lines...)
		}
	}
	slices.Sort(problems)
	return problems, known
}

// shrinkWords returns the text of a list without the rows of places that no longer
// use the word, and with smaller counts where fewer do; and those rows.
func shrinkWords(text string, known map[placeKey]int) (smaller string, stale []string) {
	var kept []string
	for line := range strings.SplitSeq(text, "\n") {
		row := strings.Split(line, "\t")
		if len(row) != 5 || strings.HasPrefix(line, "#") {
			kept = append(kept, line)
			continue
		}
		now := known[placeKey{row[1], row[2], row[3]}]
		n, _ := strconv.Atoi(row[4])
		switch {
		case now == 0:
			stale = append(stale, line)
		case row[0] == "pending" && now < n:
			stale = append(stale, line)
			row[4] = strconv.Itoa(now)
			kept = append(kept, strings.Join(row, "\t"))
		default:
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n"), stale
}

// splitWords returns the words of a name or text, in lower case: parts of camel
// case, and whatever stands between characters that are no letters or digits. An
// apostrophe belongs to its word.
func splitWords(text string) (words []string) {
	runes := []rune(strings.ReplaceAll(text, "’", "'"))
	begin := -1
	end := func(i int) {
		if begin >= 0 {
			words = append(words, strings.ToLower(strings.Trim(string(runes[begin:i]), "'")))
		}
		begin = -1
	}
	for i, r := range runes {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' {
			end(i)
			continue
		}
		if begin >= 0 && unicode.IsUpper(r) {
			before := runes[i-1]
			// The plural of an initialism (IDs) is one word.
			follows := i+1 < len(runes) && unicode.IsLower(runes[i+1]) && (runes[i+1] != 's' || i+2 < len(runes) && unicode.IsLower(runes[i+2]))
			if !unicode.IsUpper(before) || follows {
				end(i)
			}
		}
		if begin < 0 {
			begin = i
		}
	}
	end(len(runes))
	return words
}
