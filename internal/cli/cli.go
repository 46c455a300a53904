// Package cli is the command line of Junctor. A command reads its flags, sends
// requests to the admin API of a running instance, and prints the answer.
// Commands that run an instance, or that work on its files while none runs,
// call internal/app instead. cmd/junctor calls Protect and Main, and nothing
// else calls this package.
//
// Answers go to standard output: text for people, or JSON with --format json.
// Notes, progress and errors go to standard error, so that scripts can use the
// output. A new key is printed alone on standard output, once.
//
// Read cli.go for the root command and the conventions, then admin_client.go
// (requests), find_instance.go (which instance), output.go (printing), exit.go
// (exit codes) and settings.go (flags of settings). instance.go has everything
// that needs internal/app. All other files have the commands of one noun each;
// a method such as agentAdd returns the command `junctor agent add`.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/junctor-mcp/junctor/internal/config"
)

// cli is one run of the command line: its environment, its streams and its
// format. All commands are methods of it, so tests can run them without
// touching the process.
type cli struct {
	// env is in the form of os.Environ. Commands read variables from here and
	// never from the process, because Protect removes Junctor's own ones there.
	env []string
	in  io.Reader
	out io.Writer // for answers
	err io.Writer // for notes, progress and errors
	// format is the value of --format.
	format string

	stdinReader string // the flag that has read standard input; "" if none has
}

// Main runs one command line, without the program's name, and returns its exit
// code. env is in the form of os.Environ. Apart from files and sockets, Main
// reads and writes only what is passed in. It returns when the command ends;
// canceling ctx ends a running instance.
func Main(ctx context.Context, args, env []string, stdin io.Reader, stdout, stderr io.Writer) int {
	c := &cli{env: env, in: stdin, out: stdout, err: stderr}
	root := c.newRootCommand()                //nolint:contextcheck // commands take the context from cobra
	root.SetArgs(append([]string{}, args...)) // never nil, because cobra would use the arguments of the process
	cmd, err := root.ExecuteContextC(ctx)
	c.printError(cmd, err)
	return exitCode(err)
}

// printError prints the error of a command to standard error. If the command
// line itself is wrong, it also says how to get help.
func (c *cli) printError(cmd *cobra.Command, err error) {
	if f, ok := err.(*failure); err == nil || ok && f.silent { //nolint:errorlint // a failure is never wrapped
		return
	}
	text := formatError(err)
	if _, ran := errors.AsType[*failure](err); ran {
		text = nameFlags(cmd, text)
		if settings := explainSettings(cmd, text); settings != "" {
			text += "\n" + settings
		}
	} else {
		text = explainFlagGroupError(text)
	}
	c.printNote("error: %s", text)
	if isUsageError(err) {
		c.printNote("See %s --help", cmd.CommandPath())
	}
}

// newRootCommand returns the root command with all others below it. Without a
// command it does what `junctor up` does.
func (c *cli) newRootCommand() *cobra.Command {
	up := c.upCommand()
	root := &cobra.Command{
		Use:   "junctor",
		Short: "Run and manage an MCP gateway between AI agents and their tools",
		// printRootHelp prints the long help.
		Example: "  junctor demo\n  junctor up\n  junctor tool call demo__add --arg a=2 --arg b=40",
		Version: version(),
		Args:    rejectUnknownCommand,
		RunE:    up.RunE,
		// printError prints errors, in the same way for those of cobra and of
		// commands.
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return c.checkFormat(cmd) },
	}
	root.SetVersionTemplate("junctor {{.Version}}\n")
	root.SetIn(c.in)
	root.SetOut(c.out)
	root.SetErr(c.err)
	root.PersistentFlags().StringVar(&c.format, "format", formatText, "`text` or json")
	_ = root.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{formatText, formatJSON}, cobra.ShellCompDirectiveNoFileComp))
	c.addSettings(root)
	root.AddCommand(up, c.demoCommand(), c.setupCommand(), c.stopCommand(), c.toolCommand(), c.appCommand(), c.serverCommand(), c.packCommand(), c.exportCommand(), c.applyCommand(), c.connectCommand(), c.serviceCommand(), c.agentCommand(), c.roomCommand(), c.modelCommand(), c.componentCatalogCommand(), c.roleCommand(), c.keyCommand(), c.userCommand(), c.loginCommand(), c.consentCommand(), c.chainCommand(), c.tenantCommand(), c.callCommand(), c.deliveryCommand(), c.usageCommand(), c.statsCommand(), c.attentionCommand(), c.eventCommand(), c.triggerCommand(), c.sourceCommand(), c.scheduleCommand(), c.limitCommand(), c.policyCommand(),
		c.secretCommand(), c.auditCommand(), c.backupCommand(), c.restoreCommand(), c.doctorCommand(),
		c.configCommand(), c.stdioCommand(), c.apiCommand(), c.benchCommand(), c.benchChildCommand(), c.bankCommand(), c.reapCommand(), c.completionCommand(), c.versionCommand())
	help := c.helpCommand()
	root.AddCommand(help)
	root.SetHelpCommand(help)
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { c.printHelp(cmd) })
	root.SetFlagErrorFunc(explainFlagError)
	groupCommands(root)
	explainArgs(root)
	return root
}

// The values of --format.
const (
	formatText     = "text"
	formatJSON     = "json"
	formatMarkdown = "markdown" // only for commands that call allowMarkdown
)

// markdownAnnotation is the annotation of commands that also have --format
// markdown.
const markdownAnnotation = "markdown"

// allowMarkdown gives a command the format markdown, and returns the command.
func (c *cli) allowMarkdown(cmd *cobra.Command) *cobra.Command {
	cmd.Annotations = map[string]string{markdownAnnotation: "yes"}
	cmd.Long += "\n\n--format markdown prints Markdown tables."
	return cmd
}

// checkFormat refuses an unknown --format. It runs before every command.
func (c *cli) checkFormat(cmd *cobra.Command) error {
	switch {
	case c.format == formatText, c.format == formatJSON, c.format == formatMarkdown && cmd.Annotations[markdownAnnotation] != "":
		return nil
	case cmd.Annotations[markdownAnnotation] != "":
		return usageErrorf("--format %q: use text, json or markdown", c.format)
	}
	return usageErrorf("--format %q: use text or json", c.format)
}

// wantsJSON reports whether the answer must be JSON, for programs.
func (c *cli) wantsJSON() bool { return c.format == formatJSON }

// printIfJSON ends a command that changed something. People see nothing, as
// usual for a command that succeeds; programs get the new state.
func (c *cli) printIfJSON(v any) error {
	if c.wantsJSON() {
		return c.printJSON(v)
	}
	return nil
}

// runCommand wraps the function of a command. It marks its error as the failure
// of a command that ran. Every other error that cobra returns is about the
// command line, which decides the exit code and the hint to --help.
func runCommand(do func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		err := do(cmd, args)
		if err == nil {
			return nil
		}
		if f, ok := err.(*failure); ok { //nolint:errorlint // made by silentFailure, not wrapped
			return f
		}
		return &failure{err: err}
	}
}

// newGroupCommand returns a command that only groups others, such as `junctor
// agent`. Run alone, it prints its help.
func newGroupCommand(name, short, example string) *cobra.Command {
	return &cobra.Command{
		Use: name, Short: short, Example: "  " + example, Args: rejectUnknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
}

// rejectUnknownCommand refuses a word that is no command, and suggests the
// nearest one. It is the Args function of commands with subcommands.
func rejectUnknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("%s has no command %q", cmd.CommandPath(), args[0])
	subs := listedCommands(cmd)
	names := make([]string, len(subs))
	for i, sub := range subs {
		names[i] = sub.Name()
	}
	if nearest, _ := config.FindNearest(args[0], names); nearest >= 0 {
		text += "; did you mean " + names[nearest] + "?"
	}
	return usageErrorf("%s", text)
}
