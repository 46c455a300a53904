package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/test/program"
)

// minMessageWords is the number of words from which a quotation in a table of errors is a
// message. Shorter ones are names, codes and states.
const minMessageWords = 4

// TestQuotedMessages holds that the messages which the pages explain in their tables are
// those of the program, so that a reader finds the row of the message on the screen. Each
// must be in the output of a command of its page, or in a text of the source.
func TestQuotedMessages(t *testing.T) {
	t.Parallel()
	root := program.Root(t)
	literals := readLiterals(t, root)
	if len(literals) < 3000 {
		t.Fatalf("the source has only %d texts: they are not read", len(literals))
	}
	parts := fixedParts(literals)
	checked := 0
	for name, page := range documents(t) {
		for _, quoted := range quotedMessages(page) {
			checked++
			if !isMessage(quoted, page, literals, parts) {
				t.Errorf("%s explains %q, but the program has no such message: quote its message", name, quoted)
			}
		}
	}
	if checked < 20 {
		t.Errorf("only %d messages are quoted: the tables are not found", checked)
	}
}

// TestQuotedMessagesPlanted shows that TestQuotedMessages tells messages from texts that
// the program does not have.
func TestQuotedMessagesPlanted(t *testing.T) {
	t.Parallel()
	const page = "| what you see | what to do |\n|---|---|\n| `the server is unreachable today` | wait |\n| the agent is `off` | nothing |\n| `agent \"x\" is not here` | add it |\n\n```text\nagent \"x\" is not here\n```\n"
	quoted := quotedMessages(page)
	if len(quoted) != 2 {
		t.Fatalf("quoted: %q", quoted)
	}
	literals := []string{"%s is unreachable since %s", "add the agent of this name"}
	for i, want := range []bool{false, true} {
		if got := isMessage(quoted[i], page, literals, fixedParts(literals)); got != want {
			t.Errorf("%q is a message: %t", quoted[i], got)
		}
	}
	literals = append(literals, "the server is unreachable %s; try again")
	if !isMessage(quoted[0], page, literals, fixedParts(literals)) {
		t.Errorf("%q is not found in %q", quoted[0], literals)
	}
}

// quotedMessages returns the quotations in the first cells of the tables of messages.
func quotedMessages(page string) (quoted []string) {
	messageTable := regexp.MustCompile(`(?m)^\| (?:what you see|error|message) \|.*\n\|[-| ]+\|\n((?:\|.*\n)+)`)
	quotation := regexp.MustCompile("`([^`]+)`")
	for _, table := range messageTable.FindAllStringSubmatch(page, -1) {
		for row := range strings.Lines(table[1]) {
			cell, _, _ := strings.Cut(strings.TrimPrefix(row, "| "), " | ")
			for _, q := range quotation.FindAllStringSubmatch(cell, -1) {
				if len(strings.Fields(q[1])) >= minMessageWords {
					quoted = append(quoted, q[1])
				}
			}
		}
	}
	return quoted
}

// isMessage reports whether a quotation is in an output of the page, in a text of the
// source, or contains the fixed words of one. The row itself is no output.
func isMessage(quoted, page string, literals []string, parts map[string]bool) bool {
	textFence := regexp.MustCompile("(?s)```text\n(.*?)```")
	for _, block := range textFence.FindAllStringSubmatch(page, -1) {
		if strings.Contains(block[1], quoted) {
			return true
		}
	}
	for _, literal := range literals {
		if strings.Contains(literal, quoted) {
			return true
		}
	}
	words := strings.Fields(quoted)
	for from := range words {
		for to := from + 3; to <= len(words); to++ {
			if parts[strings.Trim(strings.Join(words[from:to], " "), " ,;:.()")] {
				return true
			}
		}
	}
	return false
}

// fixedParts returns the parts of messages between their values which have three words or
// more.
func fixedParts(literals []string) map[string]bool {
	formatVerb := regexp.MustCompile(`%[-+# 0-9.*]*[a-zA-Z]`)
	parts := map[string]bool{}
	for _, literal := range literals {
		for _, part := range formatVerb.Split(literal, -1) {
			if words := strings.Fields(part); len(words) >= 3 {
				parts[strings.Trim(strings.Join(words, " "), " ,;:.()")] = true
			}
		}
	}
	return parts
}

// readLiterals returns the string literals of the Go source below a folder, without
// tests.
func readLiterals(t *testing.T, folder string) (literals []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if path != folder && (strings.HasPrefix(name, ".") || slices.Contains([]string{"test", "testdata", "testkit", "node_modules", "tools"}, name)) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(node ast.Node) bool {
			if text, ok := node.(*ast.BasicLit); ok && text.Kind == token.STRING {
				if value, err := strconv.Unquote(text.Value); err == nil {
					literals = append(literals, value)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return literals
}
