package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/junctor-mcp/junctor/internal/config"
)

// Every command says what it is for and shows an example of itself, and takes
// --format.
func TestEveryCommandHasHelp(t *testing.T) {
	t.Parallel()
	root := (&cli{}).newRootCommand()
	walkCommands(root, func(cmd *cobra.Command) {
		if cmd.Short == "" {
			t.Errorf("%s has no short help", cmd.CommandPath())
		}
		if !strings.HasPrefix(cmd.Example, "  ") || !strings.Contains(cmd.Example, cmd.CommandPath()) && cmd.HasParent() {
			t.Errorf("%s has no example of itself: %q", cmd.CommandPath(), cmd.Example)
		}
		if cmd.Flag("format") == nil {
			t.Errorf("%s has no --format", cmd.CommandPath())
		}
	})
}

// A setting is a flag of every command that runs or judges an instance.
func TestEverySettingIsAFlag(t *testing.T) {
	t.Parallel()
	root := (&cli{}).newRootCommand()
	for _, args := range [][]string{nil, {"up"}, {"demo"}, {"stdio"}, {"doctor"}, {"config", "print"}, {"config", "check"}} {
		cmd, _, err := root.Find(args)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range config.Settings() {
			if cmd.Flags().Lookup(s.Name) == nil {
				t.Errorf("%s has no --%s", cmd.CommandPath(), s.Name)
			}
		}
	}
}

// main runs one command line in this process.
func main(t *testing.T, env []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = Main(t.Context(), args, env, strings.NewReader(""), &out, &err)
	return code, out.String(), err.String()
}

func TestUsageErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		args []string
		says string
	}{
		{[]string{"tol"}, "did you mean tool?"},
		{[]string{"tool", "cal"}, "did you mean call"},
		{[]string{"tool", "show"}, "requires arguments: junctor tool show NAME"},
		{[]string{"tool", "ls", "--nope"}, "--nope"},
		{[]string{"version", "--format", "xml"}, "text or json"},
		{[]string{"up", "extra"}, "extra"},
		{[]string{"up", "--listen", "nonsense"}, "listen"},
		{[]string{"up", "--listen", "0.0.0.0:1"}, "--public-url"},
		{[]string{"completion", "tcsh"}, "tcsh"},
		{[]string{"tool", "call", "x", "--arg", "a=1", "--json", "{}"}, "json"},
		{[]string{"tool", "call", "x", "--json", "[]"}, "JSON object"},
		{[]string{"tool", "call", "x", "--json", "@/no/such/file"}, "cannot be read"},
		{[]string{"key", "create", "x", "--expires", "soon"}, "--expires"},
		{[]string{"call", "ls", "--since", "soon"}, "--since"},
		{[]string{"server", "add", "x"}, "a URL, or a command"},
		{[]string{"server", "add", "x", "https://x", "more"}, "a URL, or a command"},
		{[]string{"server", "add", "x", "https://x", "--bearer", "secret"}, "other users of this machine could see it"},
		{[]string{"server", "add", "x", "https://x", "--bearer", "@"}, "give it as @file"},
		{[]string{"server", "add", "x", "https://x", "--bearer", "@-"}, "--bearer: standard input is empty"},
		{[]string{"server", "add", "x", "https://x", "--bearer", "@/no/such/file"}, "--bearer: /no/such/file cannot be read"},
		{[]string{"server", "add", "x", "https://x", "--bearer", "@/dev/null"}, "--bearer: /dev/null is empty"},
		{[]string{"secret", "set", "x", "y", "--file", "/dev/null"}, "--file: /dev/null is empty"},
		{[]string{"secret", "set", "x", "y"}, "error: standard input is empty"},
		{[]string{"server", "add", "x", "https://x", "--header", "X: @/no/such/file"}, "--header X: /no/such/file cannot be read"},
		{[]string{"source", "add", "x", "--style", "github", "--secret", "@/no/such/file"}, "--secret: /no/such/file cannot be read"},
		{[]string{"model", "add", "x", "--kind", "openai", "--key-file", "/no/such/file"}, "--key-file: /no/such/file cannot be read"},
		{[]string{"server", "add", "x", "https://x", "--bearer", "env:A", "--basic", "u"}, "exclude each other"},
		{[]string{"server", "add", "x", "https://x", "--basic", "u", "--password", "env:A", "--client-secret", "@-"}, "--client-secret requires --oauth-client, --oauth or --grant"},
		{[]string{"server", "add", "x", "https://x", "--bearer", "env:A", "--api-key-header", "X-Key"}, "--api-key-header requires --api-key"},
		{[]string{"server", "add", "x", "https://x", "--bearer", "env:A", "--password", "env:B"}, "--password requires --basic"},
		{[]string{"server", "add", "x", "https://x", "--oauth", "--token-url", "https://x/token"}, "--token-url requires --oauth-client"},
		{[]string{"server", "add", "x", "https://x", "--password", "env:A"}, "--basic"},
		{[]string{"server", "add", "x", "https://x", "--header", "odd"}, "--header"},
		{[]string{"server", "add", "x", "--", "run", "me"}, "--yes"},
		{[]string{"server", "import", "/no/such/file"}, "cannot be read"},
		{[]string{"server", "import", "codex"}, "codex"},
		{[]string{"connect", "emacs"}, "claude-code"},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := main(t, []string{"HOME=" + t.TempDir()}, tt.args...)
			if code != exitUsage || stdout != "" || !strings.Contains(stderr, tt.says) {
				t.Errorf("exit %d, stdout %q, stderr %q", code, stdout, stderr)
			}
		})
	}
}

// Standard input is read once: of two flags that name it, the second would find nothing.
func TestTwoFlagsReadStandardInput(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args []string
		says string
	}{
		{[]string{"server", "add", "x", "https://x", "--header", "A: @-", "--bearer", "-"}, "--header A and --bearer both read standard input"},
		{[]string{"server", "add", "x", "https://x", "--header", "A: -", "--header", "B: @-"}, "--header A and --header B both read standard input"},
		{[]string{"server", "add", "x", "--openapi", "-", "--bearer", "@-"}, "--bearer and the document both read standard input"},
		{[]string{"server", "add", "x", "https://x", "--oauth-client", "id", "--client-secret", "-", "--grant", "jwt-bearer", "--subject", "-"}, "--client-secret and --subject both read standard input"},
	} {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			t.Parallel()
			var stdout, stderr strings.Builder
			code := Main(t.Context(), tt.args, []string{"HOME=" + t.TempDir()}, strings.NewReader("secret\n"), &stdout, &stderr)
			if code != exitUsage || stdout.Len() > 0 || !strings.Contains(stderr.String(), tt.says) {
				t.Errorf("exit %d, stdout %q, stderr %q", code, stdout.String(), stderr.String())
			}
		})
	}
}

func TestHelpGoesToStandardOutput(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--help"}, {"help"}, {"tool"}, {"tool", "call", "--help"}} {
		code, stdout, stderr := main(t, nil, args...)
		if code != exitOK || !strings.Contains(stdout, "Examples:") || stderr != "" {
			t.Errorf("%v: exit %d, stdout %q, stderr %q", args, code, stdout, stderr)
		}
	}
}

func TestQuote(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"/a/b-c.d": "/a/b-c.d", "/a b": "'/a b'", "it's": `'it'\''s'`, "": "''", "$HOME": "'$HOME'"} {
		if got := quoteShellWord(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

// Colour is for a terminal whose user has not said no.
func TestNoColourWithoutATerminal(t *testing.T) {
	t.Parallel()
	_, stdout, _ := main(t, []string{"HOME=" + t.TempDir()}, "config", "check")
	if strings.Contains(stdout, "\x1b") || !strings.Contains(stdout, "valid") {
		t.Errorf("%q", stdout)
	}
}
