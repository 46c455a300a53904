package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/junctor-mcp/junctor/test/program"
)

// knownFile has every word that the documents use, one a line, in order.
const knownFile = "test/docs/testdata/words.txt"

// TestSpelling fails where a document has a word that is not in testdata/words.txt.
// With -update it writes that file again from the documents: look at its difference
// before you commit it, because a mistake would become a known word.
func TestSpelling(t *testing.T) {
	t.Parallel()
	texts := documents(t)
	changelog, err := os.ReadFile(filepath.Join(program.Root(t), "CHANGELOG.md"))
	if err != nil {
		t.Fatal(err)
	}
	texts["CHANGELOG.md"] = string(changelog)
	used := map[string]string{} // where a word stands first
	finder := newWordFinder()
	for _, name := range sortedNames(texts) {
		for i, line := range proseLines(name, texts[name]) {
			for _, word := range finder.find(line) {
				if used[word] == "" {
					used[word] = fmt.Sprintf("%s:%d", name, i+1)
				}
			}
		}
	}
	if len(used) < 2000 {
		t.Fatalf("found %d words: the search is broken", len(used))
	}
	wrong := misspellings(t)
	for _, word := range sortedNames(used) {
		if right := wrong[word]; right != "" {
			t.Errorf("%s: %q is spelled %q", used[word], word, right)
		}
	}
	path := filepath.Join(program.Root(t), filepath.FromSlash(knownFile))
	if *update {
		if err := os.WriteFile(path, []byte(strings.Join(sortedNames(used), "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	known := strings.Fields(string(data))
	if !slices.IsSorted(known) {
		t.Errorf("%s is not in order; run `go test ./test/docs -run '^TestSpelling$' -update`", knownFile)
	}
	for _, problem := range unknownWords(used, known) {
		t.Error(problem)
	}
}

func TestSpellingPlanted(t *testing.T) {
	t.Parallel()
	line := "The [Gatway](docs/x.md)'s `cde` isn't **re-read**; see https://example.com/qwx, X-Foo-Bar, v2, NewThing, HTTP, a_b, docs/x.md, Köln. <br> --falg users’ don’t."
	got := strings.Join(newWordFinder().find(proseLines("a.md", line)[0]), " ")
	if want := "the gatway's isn't re read see köln users don't"; got != want {
		t.Errorf("words are %q, want %q", got, want)
	}
	problems := unknownWords(map[string]string{"gatway": "README.md:3", "gateway": "README.md:4"}, []string{"gateway"})
	if want := `README.md:3: spell "gatway" right, or add it to ` + knownFile; len(problems) != 1 || problems[0] != want {
		t.Errorf("got %q, want %q", problems, want)
	}
	wrong := misspellings(t)
	for mistake, right := range wrong {
		if wrong[right] != "" {
			t.Errorf("%q, for %q, is a mistake, too", right, mistake)
		}
	}
}

func unknownWords(used map[string]string, known []string) (problems []string) {
	set := map[string]bool{}
	for _, word := range known {
		set[word] = true
	}
	for _, word := range sortedNames(used) {
		if !set[word] {
			problems = append(problems, fmt.Sprintf("%s: spell %q right, or add it to %s", used[word], word, knownFile))
		}
	}
	return problems
}

// wordFinder finds the words of prose.
type wordFinder struct{ skip, word *regexp.Regexp }

func newWordFinder() wordFinder {
	return wordFinder{
		skip: regexp.MustCompile(`\]\([^)]*\)|https?://\S+|<[^>]*>|[\w*./-]*[\w*]/[\w*./{}-]+|--[\w-]+|X-[\w-]+|\w+\.\w+[\w.]*|\w+_\w+`),
		word: regexp.MustCompile(`[\pL\pN]+(?:'\pL+)?`),
	}
}

// find returns the words of a line of prose, in lower case. It leaves out what is no
// prose: addresses, tags, targets of links, file names, flags, header names,
// initialisms and names of code.
func (f wordFinder) find(line string) (words []string) {
	line = f.skip.ReplaceAllStringFunc(line, func(s string) string {
		if strings.HasPrefix(s, "]") {
			return "" // the text of the link may go on: [server](x.md)'s
		}
		return " "
	})
	line = strings.NewReplacer("’", "'", "[", "", "]", "").Replace(line)
	for _, word := range f.word.FindAllString(line, -1) {
		rest := []rune(word)[1:]
		if strings.ContainsFunc(word, unicode.IsDigit) || slices.ContainsFunc(rest, unicode.IsUpper) || len(rest) == 0 {
			continue
		}
		words = append(words, strings.ToLower(word))
	}
	return words
}

// misspellings returns common mistakes, which -update does not make known.
func misspellings(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "misspellings.txt"))
	if err != nil {
		t.Fatal(err)
	}
	list := map[string]string{}
	for pair := range strings.FieldsSeq(string(text)) {
		wrong, right, _ := strings.Cut(pair, ":")
		list[wrong] = right
	}
	return list
}
