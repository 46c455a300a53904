package cli

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/junctor-mcp/junctor/internal/config"
)

// Help that scrolls off the screen is not read.
func TestRootHelpFitsOneScreen(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--help"}, {"help"}, {"-h"}} {
		code, stdout, _ := main(t, nil, args...)
		lines := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
		if code != exitOK || len(lines) > 40 {
			t.Errorf("%v: exit %d, %d lines, more than 40", args, code, len(lines))
		}
		for _, line := range lines {
			if utf8.RuneCountInString(line) > helpWidth {
				t.Errorf("%v: wider than %d: %q", args, helpWidth, line)
			}
		}
	}
}

// Each command is in one group and on one line of the root help.
func TestCommandGroupsAreComplete(t *testing.T) {
	t.Parallel()
	root := (&cli{}).newRootCommand()
	count := map[string]int{}
	for _, g := range commandGroups() {
		for _, line := range g.lines {
			for _, name := range line.commands {
				count[name]++
			}
		}
	}
	for _, cmd := range root.Commands() {
		if want := 1; cmd.Hidden {
			if count[cmd.Name()] != 0 || cmd.GroupID != "" {
				t.Errorf("%s is hidden, and in a group", cmd.Name())
			}
		} else if count[cmd.Name()] != want || cmd.GroupID == "" {
			t.Errorf("%s is in %d groups, want 1", cmd.Name(), count[cmd.Name()])
		}
		delete(count, cmd.Name())
	}
	for name := range count {
		t.Errorf("%s is in a group, and no command", name)
	}
}

// Each setting has one group, and help settings shows each once.
func TestHelpSettings(t *testing.T) {
	t.Parallel()
	code, stdout, _ := main(t, nil, "help", "settings")
	for _, s := range config.Settings() {
		if !slices.Contains(config.Groups(), s.Group) {
			t.Errorf("%s has the unknown group %q", s.Name, s.Group)
		}
		if n := strings.Count(stdout, " "+s.Env()+"\n"); n != 1 {
			t.Errorf("%s is shown %d times, want once", s.Env(), n)
		}
		if s.Default != "" && !strings.Contains(strings.Join(strings.Fields(stdout), " "), "(default "+s.Default+")") {
			t.Errorf("the default of %s is not shown", s.Name)
		}
	}
	for _, g := range config.Groups() {
		if g.Title() == string(g) || len(config.SettingsOf(g)) == 0 {
			t.Errorf("the group %s has no title, or no setting", g)
		}
	}
	if code != exitOK {
		t.Errorf("exit %d", code)
	}
	for line := range strings.SplitSeq(stdout, "\n") {
		if utf8.RuneCountInString(line) > helpWidth && strings.Contains(strings.TrimSpace(line), " ") {
			t.Errorf("wider than %d: %q", helpWidth, line)
		}
	}
}

func TestHelpSettingsFilter(t *testing.T) {
	t.Parallel()
	var page listPage[settingInfo]
	_, stdout, _ := main(t, nil, "help", "settings", "oidc", "--format", "json")
	if err := json.Unmarshal([]byte(stdout), &page); err != nil || len(page.Items) != len(config.SettingsOf(config.GroupOIDC)) {
		t.Errorf("%d settings, %v", len(page.Items), err)
	}
	_, stdout, _ = main(t, nil, "help", "settings", "JUNCTOR_RATE", "rate_limit", "--format", "json")
	page = listPage[settingInfo]{}
	if err := json.Unmarshal([]byte(stdout), &page); err != nil || len(page.Items) != 1 || page.Items[0].Variable != "JUNCTOR_RATE_LIMIT" || page.Items[0].Default != "200" {
		t.Errorf("%+v, %v", page.Items, err)
	}
	if code, _, stderr := main(t, nil, "help", "settings", "nonsense"); code != exitUsage || !strings.Contains(stderr, "the subjects are network") {
		t.Errorf("exit %d, %s", code, stderr)
	}
}

// Commands that take every setting name them in one line instead of 60.
func TestHelpLeavesSettingsOut(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"up"}, {"demo"}, {"stdio"}, {"doctor"}, {"config", "print"}, {"config", "check"}} {
		_, stdout, _ := main(t, nil, append(args, "--help")...)
		if !strings.Contains(stdout, "junctor help settings") || strings.Contains(stdout, "--oidc-issuer ") || strings.Contains(stdout, "--rate-limit ") || !strings.Contains(stdout, "--config file") {
			t.Errorf("%v:\n%s", args, stdout)
		}
	}
	_, stdout, _ := main(t, nil, "server", "add", "--help")
	for _, want := range []string{"--call-timeout duration", "--data-dir text"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("server add --help has no %s", want)
		}
	}
}

func TestUnknownFlagSuggestions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"agent", "add", "x", "--tolol", "y"}, "unknown flag: --tolol; did you mean --tool?"},
		{[]string{"up", "--listn", "y"}, "unknown flag: --listn; did you mean --listen?"},
		{[]string{"--listn", "y"}, "unknown flag: --listn; did you mean --listen?"},
		{[]string{"tool", "ls", "--formt", "json"}, "unknown flag: --formt; did you mean --format?"},
		{[]string{"tool", "ls", "--dat-dir", "x"}, "unknown flag: --dat-dir; did you mean --data-dir?"},
		{[]string{"server", "ls", "--isolation", "x"}, "unknown flag: --isolation; it is a flag of junctor server add, junctor server probe and junctor server set"},
		{[]string{"server", "show", "x", "--egress-allow", "10.0.0.0/8"}, "unknown flag: --egress-allow; it is a setting of the instance: give it to junctor up"},
		{[]string{"version", "--zzzzzzzz"}, "unknown flag: --zzzzzzzz\n"},
	} {
		code, _, stderr := main(t, []string{"HOME=" + t.TempDir()}, tt.args...)
		if code != exitUsage || !strings.Contains(stderr, tt.want) {
			t.Errorf("%v: exit %d, %s", tt.args, code, stderr)
		}
	}
}

// Every command suggests the flag that a single typo has broken.
func TestEveryFlagIsSuggested(t *testing.T) {
	t.Parallel()
	walkCommands((&cli{}).newRootCommand(), func(cmd *cobra.Command) {
		if cmd.DisableFlagParsing {
			return
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden || len(f.Name) < 5 {
				return
			}
			if got := suggestFlag(cmd, f.Name+"q"); got != "; did you mean --"+f.Name+"?" {
				t.Errorf("%s --%sq: %q", cmd.CommandPath(), f.Name, got)
			}
		})
	})
}

// Errors that cobra makes are worded like those of the commands.
func TestArgumentErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"tool", "show"}, "error: junctor tool show requires arguments: junctor tool show NAME\nSee junctor tool show --help\n"},
		{[]string{"stop", "now"}, `error: junctor stop takes no arguments, and received "now"`},
		{[]string{"tool", "show", "a", "b c"}, "error: junctor tool show received 2 arguments, which do not fit: junctor tool show NAME"},
		{[]string{"agent", "token", "set", "x"}, "error: missing flag: --url\n"},
		{[]string{"tool", "call", "x", "--arg", "a=1", "--json", "{}"}, "error: --arg and --json exclude each other\n"},
		{[]string{"call", "ls", "--limit", "x"}, `error: --limit "x": must be a whole number`},
		{[]string{"server", "set", "x", "--isolation", "nope"}, `error: --isolation "nope": use shared, session or user`},
		{[]string{"server", "set", "x", "--call-timeout", "10"}, `error: --call-timeout "10" is not a valid duration; use a unit`},
		{[]string{"help", "tol"}, `error: junctor has no command "tol"; did you mean tool?`},
	} {
		code, _, stderr := main(t, []string{"HOME=" + t.TempDir()}, tt.args...)
		if code != exitUsage || !strings.Contains(stderr, tt.want) {
			t.Errorf("%v: exit %d, %s", tt.args, code, stderr)
		}
	}
}

// Errors of the API name fields; users of the command line have flags.
func TestErrorsNameFlags(t *testing.T) {
	t.Parallel()
	root := (&cli{}).newRootCommand()
	for _, tt := range []struct{ command, message, want string }{
		{"server add", "the document does not say where the API is: give base_url, such as https://x", "the document does not say where the API is: give --base-url, such as https://x"},
		{"server add", "the server yields no tool. Correct the document, or set allow_empty", "the server yields no tool. Correct the document, or set --allow-empty"},
		{"server set", "an admin set overrides.echo.read_only for it", "an admin set --read-only echo for it"},
		{"server add", "believe_annotations is set by the operator", "--believe-annotations is set by the operator"},
		{"agent set", "the request is not valid: expected number >= 0 (body/limits/per_second)", "the request is not valid: expected number >= 0 (--per-second)"},
		{"agent set", "burst requires per_second", "burst requires --per-second"},
		{"server add", "isolation: unknown", "--isolation: unknown"},
		{"tool call", "the tool demo__some_tool needs an_argument", "the tool demo__some_tool needs an_argument"},
		{"key create", "expires_at is later than 2030", "--expires is later than 2030"},
	} {
		cmd, _, err := root.Find(strings.Fields(tt.command))
		if err != nil {
			t.Fatal(err)
		}
		if got := nameFlags(cmd, tt.message); got != tt.want {
			t.Errorf("%s: %q becomes %q, want %q", tt.command, tt.message, got, tt.want)
		}
	}
	cmd, _, err := root.Find([]string{"server", "add"})
	if err != nil {
		t.Fatal(err)
	}
	if got := explainSettings(cmd, "add it to --egress-allow"); got != "--egress-allow is a setting of the instance: junctor help settings egress-allow" {
		t.Error(got)
	}
	if got := explainSettings(root, "raise it with `junctor server set x --call-timeout 2m`"); got != "" {
		t.Error(got)
	}
	if got := explainSettings(cmd, "raise --call-timeout, or --max-in-flight-per-caller"); got != "--max-in-flight-per-caller is a setting of the instance: junctor help settings max-in-flight-per-caller" {
		t.Error(got)
	}
}
