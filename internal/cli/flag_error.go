package cli

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/junctor-mcp/junctor/internal/config"
)

// explainFlagError returns the error for flags that pflag refused. An unknown
// flag gets a suggestion, and a wrong value the flag and what it must be.
func explainFlagError(cmd *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok && unknown.GetSpecifiedShortnames() == "" {
		return usageErrorf("unknown flag: --%s%s", unknown.GetSpecifiedName(), suggestFlag(cmd, unknown.GetSpecifiedName()))
	}
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		value := invalid.GetValue()
		reason := explainValueError(invalid.GetFlag(), invalid.Unwrap())
		// Some reasons repeat the value.
		if rest, ok := strings.CutPrefix(reason, strconv.Quote(value)+" "); ok {
			return usageErrorf("--%s %q %s", invalid.GetFlag().Name, value, rest)
		}
		return usageErrorf("--%s %q: %s", invalid.GetFlag().Name, value, reason)
	}
	return err
}

// explainValueError returns why a value of a flag was refused.
func explainValueError(f *pflag.Flag, err error) string {
	if err == nil {
		return "invalid value"
	}
	field := ""
	switch value := f.Value.(type) {
	case *fieldFlag:
		field = value.field.Name
	case *overrideFlag:
		field = value.field.Name
	}
	if field != "" {
		// The error has the flag already.
		reason := strings.TrimPrefix(err.Error(), field+" ")
		return regexp.MustCompile(`^unknown `+field+` "[^"]*"; `).ReplaceAllString(reason, "")
	}
	number, ok := errors.AsType[*strconv.NumError](err)
	switch kind := f.Value.Type(); {
	case !ok && kind == "duration" && strings.HasPrefix(err.Error(), "time: "):
		return "must be a duration, such as 30s or 5m"
	case !ok:
		return err.Error()
	case errors.Is(number, strconv.ErrRange):
		return "the number is too large"
	case kind == "bool":
		return "must be true or false"
	case strings.HasPrefix(kind, "int"):
		return "must be a whole number"
	}
	return "must be a number"
}

// suggestFlag returns the end of a sentence about an unknown flag: the flag of
// the command that was probably meant, or the commands that have the flag; ""
// if there is neither.
func suggestFlag(cmd *cobra.Command, name string) string {
	var known []string
	visit := func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, f.Name)
		}
	}
	cmd.Flags().VisitAll(visit)
	cmd.InheritedFlags().VisitAll(visit)
	nearest, mistakes := config.FindNearest(name, known)
	elsewhere := describeOwners(cmd, name)
	switch {
	// A single mistake is more likely than a flag of another command.
	case nearest >= 0 && (mistakes <= 1 || elsewhere == ""):
		return "; did you mean --" + known[nearest] + "?"
	case elsewhere != "":
		return "; " + elsewhere
	}
	return ""
}

// describeOwners returns a clause that says which other commands have a flag,
// those that share a parent with cmd first; "" if no command has it.
func describeOwners(cmd *cobra.Command, name string) string {
	if slices.ContainsFunc(config.Settings(), func(s config.Setting) bool { return s.Name == name }) {
		return "it is a setting of the instance: give it to junctor up"
	}
	var near, far []string
	walkCommands(cmd.Root(), func(other *cobra.Command) {
		f := other.LocalFlags().Lookup(name)
		switch {
		case f == nil, f.Hidden, other.Hidden, other == cmd, !other.HasParent():
		case other.Parent() == cmd.Parent(), other.Parent() == cmd:
			near = append(near, other.CommandPath())
		default:
			far = append(far, other.CommandPath())
		}
	})
	owners := slices.Concat(near, far)
	switch {
	case len(owners) == 0:
		return ""
	case len(owners) > 3:
		owners = append(owners[:2:2], strconv.Itoa(len(owners)-2)+" other commands")
	}
	last := owners[len(owners)-1]
	if len(owners) > 1 {
		last = strings.Join(owners[:len(owners)-1], ", ") + " and " + last
	}
	return "it is a flag of " + last
}

// walkCommands calls visit for a command and all commands below it.
func walkCommands(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, sub := range cmd.Commands() {
		walkCommands(sub, visit)
	}
}

// explainArgs makes every command name its usage if its arguments do not fit.
func explainArgs(root *cobra.Command) {
	walkCommands(root, func(cmd *cobra.Command) {
		check := cmd.Args
		if check == nil {
			return
		}
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			if err == nil || isMade(err) {
				return err
			}
			switch _, takes, _ := strings.Cut(cmd.Use, " "); {
			case takes == "":
				return usageErrorf("%s takes no arguments, and received %q", cmd.CommandPath(), args[0])
			case len(args) == 0:
				return usageErrorf("%s requires arguments: %s %s", cmd.CommandPath(), cmd.CommandPath(), takes)
			case len(cmd.ValidArgs) > 0 && len(args) == 1:
				return usageErrorf("unknown argument %q; use %s", args[0], strings.Join(cmd.ValidArgs, ", "))
			default:
				// An argument can be a secret that does not belong here.
				return usageErrorf("%s received %d arguments, which do not fit: %s %s", cmd.CommandPath(), len(args), cmd.CommandPath(), takes)
			}
		}
	})
}

// isMade reports whether an error is a usage error that this package made.
func isMade(err error) bool {
	_, ok := errors.AsType[*usageError](err)
	return ok
}

// explainFlagGroupError rewords what cobra says of flags that are missing or
// that exclude each other. It has no types for these errors.
func explainFlagGroupError(text string) string {
	if names, ok := strings.CutPrefix(text, "required flag(s) "); ok {
		names = strings.ReplaceAll(strings.TrimSuffix(names, " not set"), `"`, "")
		return "missing flag: --" + strings.ReplaceAll(names, ", ", ", --")
	}
	both := regexp.MustCompile(`^if any flags in the group \[.*\] are set none of the others can be; \[(.*)\] were all set$`)
	if m := both.FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("--%s exclude each other", strings.Join(strings.Fields(m[1]), " and --"))
	}
	return text
}
