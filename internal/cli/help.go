package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/junctor-mcp/junctor/internal/config"
)

// helpWidth is the number of columns that help uses. It is the same on every
// terminal, so that the reference shows what the terminal shows.
const helpWidth = 80

// commandGroup is a part of the root help.
type commandGroup struct {
	id, title string
	lines     []helpLine
}

// helpLine is one line of the root help: commands that belong together, and
// what they do.
type helpLine struct {
	commands []string
	text     string
}

// commandGroups returns the groups of commands in the order of the root help.
// Every command that is not hidden is in exactly one of them.
func commandGroups() []commandGroup {
	return []commandGroup{
		{"start", "Start", []helpLine{
			{[]string{"demo", "up", "stop"}, "Start and stop an instance; demo has examples"},
			{[]string{"setup", "connect"}, "Put Junctor between MCP clients and servers"},
			{[]string{"stdio", "service"}, "Run as an MCP server, or at login"},
		}},
		{"servers", "Servers", []helpLine{
			{[]string{"server", "secret"}, "Add and manage servers and their credentials"},
			{[]string{"tool", "app"}, "List, call and tag tools; approve MCP Apps"},
			{[]string{"pack", "api"}, "Add servers from packs; serve an API as tools"},
			{[]string{"export", "apply"}, "Write and apply a file that declares servers"},
		}},
		{"access", "Agents and access", []helpLine{
			{[]string{"agent", "role"}, "Manage agents, their tools and roles"},
			{[]string{"user", "login", "tenant"}, "Manage users, browser logins and tenants"},
			{[]string{"key", "consent", "limit"}, "Manage keys, OAuth consents and limits"},
			{[]string{"policy"}, "Decide with rules which calls are made"},
		}},
		{"observe", "Observe", []helpLine{
			{[]string{"attention"}, "List what needs attention, and what to do"},
			{[]string{"stats", "usage"}, "Show rates, errors and sums of calls"},
			{[]string{"call", "audit"}, "Show calls and the journal"},
		}},
		{"events", "Events", []helpLine{
			{[]string{"event", "source", "schedule"}, "Send events, and manage where they come from"},
			{[]string{"trigger", "delivery"}, "Call tools when an event arrives"},
			{[]string{"chain"}, "Follow registries and agents on blockchains"},
		}},
		{"talk", "Talk", []helpLine{
			{[]string{"room", "model", "component-catalog"}, "Talk with agents; manage their models and UI"},
		}},
		{"operate", "Operate", []helpLine{
			{[]string{"doctor", "config"}, "Check an instance and its settings"},
			{[]string{"backup", "restore"}, "Copy an instance to a file and back"},
			{[]string{"bench", "version"}, "Measure the gateway; print the version"},
			{[]string{"completion", "help"}, "Complete commands in a shell; show help"},
		}},
	}
}

// groupCommands puts the commands below root into their groups.
func groupCommands(root *cobra.Command) {
	groupOf := map[string]string{}
	for _, g := range commandGroups() {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, line := range g.lines {
			for _, name := range line.commands {
				groupOf[name] = g.id
			}
		}
	}
	for _, cmd := range root.Commands() {
		cmd.GroupID = groupOf[cmd.Name()]
	}
}

// helpCommand returns `junctor help`.
func (c *cli) helpCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "help [COMMAND...]", Short: "Show help for a command, or the settings of an instance",
		Example: "  junctor help server add\n  junctor help settings",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var out []string
			for _, sub := range about.Commands() {
				if !sub.Hidden && strings.HasPrefix(sub.Name(), prefix) {
					out = append(out, sub.Name()+"\t"+sub.Short)
				}
			}
			return out, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil {
				return usageErrorf("%v", err)
			}
			if err := rejectUnknownCommand(about, rest); err != nil {
				return err
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
	cmd.AddCommand(c.helpSettings())
	return cmd
}

// printHelp prints the help of a command. It is the help function of all
// commands.
func (c *cli) printHelp(cmd *cobra.Command) {
	out := cmd.OutOrStdout()
	if !cmd.HasParent() {
		printRootHelp(out)
		return
	}
	text := cmd.Long
	if text == "" {
		text = cmd.Short + "."
	}
	fmt.Fprintf(out, "%s\n\nUsage:\n", wrapText(text, helpWidth))
	if subs := listedCommands(cmd); len(subs) > 0 {
		fmt.Fprintf(out, "  %s COMMAND [flags]\n\nCommands:\n", cmd.CommandPath())
		width := 0
		for _, sub := range subs {
			width = max(width, len(sub.Name()))
		}
		for _, sub := range subs {
			printColumns(out, width, sub.Name(), sub.Short)
		}
	} else {
		fmt.Fprintf(out, "  %s\n", cmd.UseLine())
	}
	fmt.Fprintf(out, "\nExamples:\n%s\n", cmd.Example)
	own, common := splitFlags(cmd)
	for _, part := range []struct {
		title string
		flags *pflag.FlagSet
	}{{"Flags", own}, {"Common flags", common}} {
		if part.flags.HasAvailableFlags() {
			fmt.Fprintf(out, "\n%s:\n", part.title)
			printFlags(out, part.flags)
		}
	}
	if takesSettings(cmd) {
		fmt.Fprint(out, "\nEvery setting is a flag too. Settings: junctor help settings\n")
	}
	if cmd.HasSubCommands() {
		fmt.Fprintf(out, "\nHelp for a command: %s COMMAND --help\n", cmd.CommandPath())
	}
}

// printRootHelp prints the help of the root command: each group with one line
// for commands that belong together.
func printRootHelp(out io.Writer) {
	fmt.Fprint(out, "Junctor is an MCP gateway: one program between AI agents and their tools.\n\n"+
		"Usage: junctor [COMMAND] [flags]        Without a command: junctor up\n\n")
	width := 0
	groups := commandGroups()
	for _, g := range groups {
		for _, line := range g.lines {
			width = max(width, len(strings.Join(line.commands, ", ")))
		}
	}
	for _, g := range groups {
		fmt.Fprintln(out, g.title)
		for _, line := range g.lines {
			printColumns(out, width, strings.Join(line.commands, ", "), line.text)
		}
	}
	fmt.Fprint(out, "\nExamples: junctor demo\n          junctor tool call demo__add --arg a=2 --arg b=40\n"+
		"Help:     junctor COMMAND --help    Settings: junctor help settings\n")
}

// printColumns prints a name and its text, which is wrapped in its column.
func printColumns(out io.Writer, width int, name, text string) {
	indent := strings.Repeat(" ", width+4)
	lines := strings.Split(wrapText(text, helpWidth-len(indent)), "\n")
	fmt.Fprintf(out, "  %-*s  %s\n", width, name, strings.Join(lines, "\n"+indent))
}

// printFlags prints flags and what they do in two columns.
func printFlags(out io.Writer, flags *pflag.FlagSet) {
	const widest = 26 // a longer flag has a line of its own
	width := 0
	flags.VisitAll(func(f *pflag.Flag) {
		if name, _ := describeFlag(f); len(name) <= widest {
			width = max(width, len(name))
		}
	})
	flags.VisitAll(func(f *pflag.Flag) {
		name, text := describeFlag(f)
		if len(name) > widest {
			fmt.Fprintf(out, "  %s\n", name)
			name = ""
		}
		printColumns(out, width, name, text)
	})
}

// describeFlag returns a flag with what its value is called, and what it does,
// with the default.
func describeFlag(f *pflag.Flag) (name, text string) {
	value, text := pflag.UnquoteUsage(f)
	name = "    --" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", --" + f.Name
	}
	switch value {
	case "":
	case "string", "strings", "stringArray":
		name += " text"
	case "int", "int64", "uint", "float", "float64":
		name += " number"
	default:
		name += " " + value
	}
	if !slices.Contains([]string{"", "0", "false", "[]", "0s"}, f.DefValue) {
		text += " (default " + f.DefValue + ")"
	}
	return name, text
}

// listedCommands returns the commands below a command that help shows.
func listedCommands(cmd *cobra.Command) []*cobra.Command {
	return slices.DeleteFunc(slices.Clone(cmd.Commands()), func(sub *cobra.Command) bool { return sub.Hidden })
}

// splitFlags returns the flags of a command that its help shows: its own, and
// those that most commands have. Flags of settings are left out if the command
// has all of them.
func splitFlags(cmd *cobra.Command) (own, common *pflag.FlagSet) {
	own, common = pflag.NewFlagSet("", pflag.ContinueOnError), pflag.NewFlagSet("", pflag.ContinueOnError)
	add := func(f *pflag.Flag) {
		switch {
		case f.Hidden:
		case slices.Contains([]string{"format", "help", "config"}, f.Name):
			common.AddFlag(f)
		case !isSetting(f):
			own.AddFlag(f)
		case !takesSettings(cmd):
			common.AddFlag(f)
		}
	}
	cmd.InitDefaultHelpFlag()
	cmd.LocalFlags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	return own, common
}

// takesSettings reports whether every setting is a flag of a command.
func takesSettings(cmd *cobra.Command) bool {
	return !slices.ContainsFunc(config.Settings(), func(s config.Setting) bool {
		f := cmd.Flags().Lookup(s.Name)
		return f == nil || !isSetting(f)
	})
}

// wrapText breaks the lines of paragraphs at width. Paragraphs are divided by
// empty lines; lines that begin with a space stay as they are.
func wrapText(text string, width int) string {
	var out []string
	line := ""
	flush := func() {
		if line != "" {
			out = append(out, line)
		}
		line = ""
	}
	for source := range strings.SplitSeq(text, "\n") {
		if source == "" || strings.HasPrefix(source, " ") {
			flush()
			out = append(out, source)
			continue
		}
		for word := range strings.FieldsSeq(source) {
			switch {
			case line == "":
				line = word
			case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width:
				flush()
				line = word
			default:
				line += " " + word
			}
		}
	}
	flush()
	return strings.Join(out, "\n")
}
