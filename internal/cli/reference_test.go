package cli

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

//go:generate go test . -run ^TestReference$ -update

var updateReference = flag.Bool("update", false, "write the pages of docs/reference/cli again")

// TestReference holds the pages of docs/reference/cli to the commands there are.
func TestReference(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("..", "..", "docs", "reference", "cli")
	root := (&cli{}).newRootCommand()
	pages := map[string]string{"README.md": indexPage(root)}
	for _, cmd := range listedCommands(root) {
		pages[cmd.Name()+".md"] = commandPage(cmd)
	}
	if *updateReference {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range pages {
		have, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil && string(have) == want {
			continue
		}
		if !*updateReference {
			t.Errorf("docs/reference/cli/%s does not match the commands; run `make generate`", name)
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if _, ok := pages[f.Name()]; ok {
			continue
		}
		if !*updateReference {
			t.Errorf("docs/reference/cli/%s is of no command; run `make generate`", f.Name())
		} else if err := os.Remove(filepath.Join(dir, f.Name())); err != nil {
			t.Fatal(err)
		}
	}
}

// referenceNote heads each page.
const referenceNote = "<!-- Generated from internal/cli: make generate -->\n\n"

// indexPage is the list of all commands.
func indexPage(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString(referenceNote + "# Command line\n\n" +
		"`junctor` is one program: it runs an instance, and it manages a running one. `junctor COMMAND --help` shows the text of these pages.\n\n" +
		"Commands that manage an instance use the one on the data directory of `--data-dir`. Without that flag they use the one at `JUNCTOR_URL`, with the key in `JUNCTOR_KEY`; " +
		"without that variable, the one on the default data directory.\n")
	for _, g := range commandGroups() {
		fmt.Fprintf(&b, "\n## %s\n\n| command | what it does |\n|---|---|\n", g.title)
		for _, line := range g.lines {
			for _, name := range line.commands {
				cmd, _, err := root.Find([]string{name})
				if err != nil {
					panic(err)
				}
				fmt.Fprintf(&b, "| [%s](%s.md) | %s |\n", name, name, markdownCell(cmd.Short))
			}
		}
	}
	b.WriteString("\n## Common flags\n\n| flag | description |\n|---|---|\n")
	cmd, _, err := root.Find([]string{"tool", "ls"})
	if err != nil {
		panic(err)
	}
	_, common := splitFlags(cmd)
	common.VisitAll(func(f *pflag.Flag) { b.WriteString(flagRow(f)) })
	b.WriteString("\nA setting is a flag of `junctor up`, `demo`, `stdio`, `doctor` and `config`: see [settings](../settings.md), or `junctor help settings`.\n" +
		"\n## Exit codes\n\n| code | meaning |\n|---|---|\n" +
		"| 0 | the command succeeded |\n| 1 | the command failed |\n| 2 | the command line or the request is invalid |\n| 3 | not found, or not visible to you |\n" +
		"| 4 | denied: the credential is missing, invalid or does not allow it |\n| 5 | the instance or a server is unreachable |\n| 6 | somebody else changed the object since it was read |\n\n" +
		"Answers go to standard output, as text or with `--format json` as JSON. Notes, progress and errors go to standard error.\n")
	return b.String()
}

// commandPage is the page of a command and all commands below it.
func commandPage(top *cobra.Command) string {
	var b strings.Builder
	b.WriteString(referenceNote)
	walkCommands(top, func(cmd *cobra.Command) {
		if cmd.Hidden {
			return
		}
		level := "##"
		if cmd == top {
			level = "#"
		}
		text := cmd.Long
		if text == "" {
			text = cmd.Short + "."
		}
		fmt.Fprintf(&b, "%s %s\n\n%s\n\n", level, cmd.CommandPath(), markdownText(text))
		if subs := listedCommands(cmd); len(subs) > 0 {
			b.WriteString("| command | what it does |\n|---|---|\n")
			for _, sub := range subs {
				fmt.Fprintf(&b, "| [%s](#%s) | %s |\n", sub.Name(), strings.ReplaceAll(sub.CommandPath(), " ", "-"), markdownCell(sub.Short))
			}
			b.WriteString("\n")
		} else {
			fmt.Fprintf(&b, "```text\n%s\n```\n\n", cmd.UseLine())
		}
		if cmd == top || !cmd.HasSubCommands() {
			fmt.Fprintf(&b, "```sh\n%s\n```\n\n", strings.ReplaceAll(strings.TrimPrefix(cmd.Example, "  "), "\n  ", "\n"))
		}
		own, common := splitFlags(cmd)
		if own.HasAvailableFlags() {
			b.WriteString("| flag | description |\n|---|---|\n")
			own.VisitAll(func(f *pflag.Flag) { b.WriteString(flagRow(f)) })
			b.WriteString("\n")
		}
		if takesSettings(cmd) {
			b.WriteString("Takes every [setting](../settings.md) as a flag, and the [common flags](README.md#common-flags).\n\n")
		} else if !cmd.HasSubCommands() {
			var extra []string
			common.VisitAll(func(f *pflag.Flag) {
				if isSetting(f) && f.Name != "data-dir" {
					extra = append(extra, "`--"+f.Name+"`")
				}
			})
			if len(extra) > 0 {
				fmt.Fprintf(&b, "Takes the [settings](../settings.md) %s, and the [common flags](README.md#common-flags).\n\n", strings.Join(extra, " and "))
			} else {
				b.WriteString("Takes the [common flags](README.md#common-flags).\n\n")
			}
		}
	})
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// flagRow is the row of a flag in a table.
func flagRow(f *pflag.Flag) string {
	name, text := describeFlag(f)
	return fmt.Sprintf("| `%s` | %s |\n", strings.ReplaceAll(strings.TrimSpace(name), "|", `\|`), markdownCell(text))
}

// markdownCell returns a text for a cell of a table, on one line.
func markdownCell(s string) string {
	return strings.ReplaceAll(markdownText(strings.Join(strings.Fields(s), " ")), "|", `\|`)
}

// markdownText returns a text of help for a page: characters of Markdown stand
// for themselves, and lines that begin with spaces become a block.
func markdownText(s string) string {
	var out []string
	inBlock := false
	for line := range strings.SplitSeq(s, "\n") {
		if indented := strings.HasPrefix(line, "  "); indented != inBlock {
			fence := "```"
			if indented {
				fence = "```text"
			}
			out, inBlock = append(out, fence), indented
		}
		if !inBlock {
			line = regexp.MustCompile(`([*<>\[\]~])`).ReplaceAllString(line, `\$1`)
		}
		out = append(out, strings.TrimPrefix(line, "  "))
	}
	if inBlock {
		out = append(out, "```")
	}
	return strings.Join(out, "\n")
}

// Every example in help and in the reference is a command line that parses: the
// command exists, its flags are flags of the command, and its arguments fit.
func TestExamplesParse(t *testing.T) {
	t.Parallel()
	count := 0
	walkCommands((&cli{}).newRootCommand(), func(cmd *cobra.Command) {
		for line := range strings.SplitSeq(cmd.Example, "\n") {
			for _, words := range junctorCommands(line) {
				count++
				if err := parseExample(words); err != nil {
					t.Errorf("%s: %q: %v", cmd.CommandPath(), strings.TrimSpace(line), err)
				}
			}
		}
	})
	if count < 100 {
		t.Errorf("only %d examples: the search is broken", count)
	}
}

// parseExample parses a command line without running it.
func parseExample(words []string) error {
	root := (&cli{}).newRootCommand()
	cmd, rest, err := root.Find(words)
	if err != nil {
		return err
	}
	if cmd.DisableFlagParsing {
		return nil
	}
	cmd.InitDefaultHelpFlag()
	if err := cmd.ParseFlags(rest); err != nil {
		return explainFlagError(cmd, err)
	}
	if err := cmd.ValidateRequiredFlags(); err != nil {
		return err
	}
	if err := cmd.ValidateFlagGroups(); err != nil {
		return err
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
}

// junctorCommands returns the command lines of junctor in a line of a shell,
// as words without the name of the program.
func junctorCommands(line string) (out [][]string) {
	var words []string
	flush := func() {
		if i := slices.Index(words, "junctor"); i >= 0 {
			out = append(out, words[i+1:])
		}
		words = nil
	}
	line = strings.NewReplacer("<(", "; ", ")", "", "|", " | ", "$(", "; ", ">", " > ", "< ", " ; ").Replace(line)
	for _, m := range regexp.MustCompile(`'[^']*'|"[^"]*"|[^\s'"]+`).FindAllStringIndex(line, -1) {
		word := line[m[0]:m[1]]
		glued := m[0] > 0 && line[m[0]-1] != ' ' && len(words) > 0
		switch {
		case word == "#":
			flush()
			return out
		case slices.Contains([]string{"|", ";", "&&", ">", "<"}, word):
			flush()
		case glued:
			words[len(words)-1] += strings.Trim(word, `'"`)
		default:
			words = append(words, strings.Trim(word, `'"`))
		}
	}
	flush()
	return out
}

func TestJunctorCommands(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"  junctor up": "[[up]]",
		"  curl x | junctor event send a --data '{\"a\": 1}' # note": `[[event send a --data {"a": 1}]]`,
		"  source <(junctor completion bash)":                        "[[completion bash]]",
		"  A=b junctor tool ls > x":                                  "[[tool ls]]",
	} {
		if got := fmt.Sprint(junctorCommands(line)); got != want {
			t.Errorf("%q: %s, want %s", line, got, want)
		}
	}
	for _, bad := range []string{"tool nope", "tool ls --nope", "tool show", "nope"} {
		if parseExample(strings.Fields(bad)) == nil {
			t.Errorf("%s parses", bad)
		}
	}
}
