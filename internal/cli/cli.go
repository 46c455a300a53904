// Package cli is the command line: it reads flags, asks a running instance
// through the admin API, and prints. Commands are thin, a file per noun; what
// they do is done by internal/admin on the other side of the operator's socket,
// or by internal/app when the command is to run an instance. cmd/junctor calls
// Main and nothing else.
package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// cli is one command line being run.
type cli struct {
	env    []string
	in     io.Reader
	out    io.Writer // answers
	err    io.Writer // talk
	format string
}

// Main runs one command line, without the program's name, and gives its exit
// code. env is as os.Environ has it. Nothing outside of what is passed in is
// read or written but files and sockets.
func Main(ctx context.Context, args, env []string, stdin io.Reader, stdout, stderr io.Writer) int {
	c := &cli{env: env, in: stdin, out: stdout, err: stderr}
	root := c.root()                          //nolint:contextcheck // commands take the context from cobra
	root.SetArgs(append([]string{}, args...)) // never nil: cobra would take the process's own
	cmd, err := root.ExecuteContextC(ctx)
	c.complain(cmd, err)
	return exitOf(err)
}

// complain says what went wrong, and on a wrong command line where help is.
func (c *cli) complain(cmd *cobra.Command, err error) {
	if f, ok := err.(*failure); err == nil || ok && f.silent { //nolint:errorlint // only the outermost may be silent
		return
	}
	c.say("error: %s", explain(err))
	if isUsage(err) {
		c.say("%s --help says more", cmd.CommandPath())
	}
}

func (c *cli) root() *cobra.Command {
	up := c.upCommand()
	root := &cobra.Command{
		Use:   "junctor",
		Short: "One door between AI agents and everything they may act on",
		Long: "Junctor is an MCP gateway in one binary: clients of every protocol version on one side, servers on the\n" +
			"other, and one pipeline of checks and records between them.\n\nWithout a command it starts, as junctor up does.",
		Example:           "  junctor demo\n  junctor up\n  junctor tool call demo__add --arg a=2 --arg b=40",
		Version:           version(),
		Args:              noArgs,
		RunE:              up.RunE,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return c.checkFormat(cmd) },
	}
	root.SetVersionTemplate("junctor {{.Version}}\n")
	root.SetIn(c.in)
	root.SetOut(c.out)
	root.SetErr(c.err)
	root.PersistentFlags().StringVar(&c.format, "format", formatText, "`text` for people or json for programs")
	_ = root.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{formatText, formatJSON}, cobra.ShellCompDirectiveNoFileComp))
	c.settings(root)
	root.AddCommand(up, c.demoCommand(), c.toolCommand(), c.appCommand(), c.serverCommand(), c.packCommand(), c.exportCommand(), c.applyCommand(), c.connectCommand(), c.agentCommand(), c.roomCommand(), c.modelCommand(), c.componentCatalogCommand(), c.roleCommand(), c.keyCommand(), c.userCommand(), c.loginCommand(), c.consentCommand(), c.chainCommand(), c.tenantCommand(), c.callCommand(), c.deliveryCommand(), c.usageCommand(), c.eventCommand(), c.triggerCommand(), c.sourceCommand(), c.scheduleCommand(), c.limitCommand(),
		c.secretCommand(), c.auditCommand(), c.backupCommand(), c.restoreCommand(), c.doctorCommand(),
		c.configCommand(), c.stdioCommand(), c.apiCommand(), c.benchCommand(), c.benchChildCommand(), c.bankCommand(), c.reapCommand(), c.completionCommand(), c.versionCommand())
	return root
}

// Values of --format.
const (
	formatText     = "text"
	formatJSON     = "json"
	formatMarkdown = "markdown" // of commands that say so
)

// markdown marks a command that knows that format too.
const markdown = "markdown"

func (c *cli) alsoMarkdown(cmd *cobra.Command) *cobra.Command {
	cmd.Annotations = map[string]string{markdown: "yes"}
	cmd.Long += "\n\n--format markdown gives the tables of a document."
	return cmd
}

func (c *cli) checkFormat(cmd *cobra.Command) error {
	switch {
	case c.format == formatText, c.format == formatJSON, c.format == formatMarkdown && cmd.Annotations[markdown] != "":
		return nil
	case cmd.Annotations[markdown] != "":
		return usagef("--format %q: it is text, json or markdown", c.format)
	}
	return usagef("--format %q: it is text or json", c.format)
}

// json says whether a program reads the answer.
func (c *cli) json() bool { return c.format == formatJSON }

// done ends a command that changed something: silently for people, with what
// is now for programs.
func (c *cli) done(v any) error {
	if c.json() {
		return c.printJSON(v)
	}
	return nil
}

// run marks what a command returns as the failure of a command that ran: all
// else that Execute returns is about the command line.
func run(do func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		err := do(cmd, args)
		if err == nil {
			return nil
		}
		if f, ok := err.(*failure); ok { //nolint:errorlint // made by said, not wrapped
			return f
		}
		return &failure{err: err}
	}
}

// noun is a command that only holds verbs.
func noun(name, short, example string) *cobra.Command {
	return &cobra.Command{
		Use: name, Short: short, Example: "  " + example, Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
}

// noArgs refuses a word that is no command, with those that come near.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("%s has no command %q", cmd.CommandPath(), args[0])
	if cmd.SuggestionsMinimumDistance <= 0 {
		cmd.SuggestionsMinimumDistance = 2
	}
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		text += "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return usagef("%s", text)
}
