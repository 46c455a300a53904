package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/junctor-mcp/junctor/internal/config"
)

// addSettings gives a command a flag for each setting of an instance, or for
// the named ones, and the flag --config.
func (c *cli) addSettings(cmd *cobra.Command, only ...string) {
	for _, s := range config.Settings() {
		if len(only) > 0 && !slices.Contains(only, s.Name) {
			continue
		}
		addSetting(cmd, s)
	}
	cmd.Flags().String("config", "", "`file` with settings, such as junctor.yaml (JUNCTOR_CONFIG)")
}

// addInstanceFlags gives a command the flags that say which running instance it
// talks to.
func (c *cli) addInstanceFlags(cmd *cobra.Command) { c.addSettings(cmd, "data-dir") }

// addSetting adds the flag of one setting. Its value stays text:
// internal/config parses and checks it, in the same way as values of the
// environment and the file.
func addSetting(cmd *cobra.Command, s config.Setting) {
	flags := cmd.Flags()
	help := s.Help + " (" + s.Env() + ")"
	switch s.Kind {
	case config.KindBool:
		flags.Bool(s.Name, s.Default == "true", help)
	case config.KindList:
		flags.StringSlice(s.Name, nil, help)
	case config.KindText, config.KindNumber, config.KindSize, config.KindDuration:
		flags.String(s.Name, s.Default, help)
		flags.Lookup(s.Name).Value = &settingValue{Value: flags.Lookup(s.Name).Value, kind: s.Kind}
	}
	_ = flags.SetAnnotation(s.Name, settingAnnotation, []string{"true"})
	if len(s.Choices) > 0 {
		_ = cmd.RegisterFlagCompletionFunc(s.Name, cobra.FixedCompletions(s.Choices, cobra.ShellCompDirectiveNoFileComp))
	}
}

// settingValue is a text flag that help shows with the kind of the setting,
// such as size or duration.
type settingValue struct {
	pflag.Value
	kind config.Kind
}

// Type implements pflag.Value.
func (v *settingValue) Type() string { return string(v.kind) }

// configSources returns the sources of the settings of this command line: only
// flags that were given, the environment, and the file.
func (c *cli) configSources(cmd *cobra.Command) config.Sources {
	src := config.Sources{Flags: map[string]string{}, Env: c.lookupEnv}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch {
		case f.Name == "config":
			src.File = f.Value.String()
		case !isSetting(f):
		default:
			src.Flags[f.Name] = f.Value.String()
			if list, ok := f.Value.(pflag.SliceValue); ok {
				src.Flags[f.Name] = strings.Join(list.GetSlice(), ",")
			}
		}
	})
	return src
}

// settingAnnotation marks the flags that addSetting adds.
const settingAnnotation = "junctor_setting"

// isSetting reports whether a flag is that of a setting. Commands have other
// flags too, and servers and agents have fields with the name of a setting, such
// as --call-timeout and --exposure.
func isSetting(f *pflag.Flag) bool { return f.Annotations[settingAnnotation] != nil }

// loadConfig reads and checks the settings of this command line.
func (c *cli) loadConfig(cmd *cobra.Command) (*config.Config, error) {
	return config.Load(c.configSources(cmd))
}

// lookupEnv is os.LookupEnv for the environment that Main was given.
func (c *cli) lookupEnv(name string) (string, bool) {
	for _, line := range slices.Backward(c.env) { // the last value counts, as in a process
		if value, ok := strings.CutPrefix(line, name+"="); ok {
			return value, true
		}
	}
	return "", false
}

// getenv returns the value of an environment variable; "" if it is not set.
func (c *cli) getenv(name string) string {
	value, _ := c.lookupEnv(name)
	return value
}
