package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/junctor-mcp/junctor/internal/config"
)

// settings gives a command a flag for each setting of an instance, or for the
// named ones, and --config.
func (c *cli) settings(cmd *cobra.Command, only ...string) {
	for _, s := range config.Settings() {
		if len(only) > 0 && !slices.Contains(only, s.Name) {
			continue
		}
		addSetting(cmd, s)
	}
	cmd.Flags().String("config", "", "`file` with settings, such as junctor.yaml (JUNCTOR_CONFIG)")
}

// remote gives a command that asks a running instance the flags that say which.
func (c *cli) remote(cmd *cobra.Command) { c.settings(cmd, "data-dir") }

// addSetting adds one flag. Values stay text: package config reads and checks
// them, in the same way from everywhere.
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
	if len(s.Choices) > 0 {
		_ = cmd.RegisterFlagCompletionFunc(s.Name, cobra.FixedCompletions(s.Choices, cobra.ShellCompDirectiveNoFileComp))
	}
}

// settingValue is text that help calls by its kind.
type settingValue struct {
	pflag.Value
	kind config.Kind
}

func (v *settingValue) Type() string { return string(v.kind) }

// sources gathers where the settings of this command line come from.
func (c *cli) sources(cmd *cobra.Command) config.Sources {
	src := config.Sources{Flags: map[string]string{}, Env: c.lookup}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch {
		case f.Name == "config":
			src.File = f.Value.String()
		case !isSetting(f.Name):
		default:
			src.Flags[f.Name] = f.Value.String()
			if list, ok := f.Value.(pflag.SliceValue); ok {
				src.Flags[f.Name] = strings.Join(list.GetSlice(), ",")
			}
		}
	})
	return src
}

func isSetting(name string) bool {
	return slices.ContainsFunc(config.Settings(), func(s config.Setting) bool { return s.Name == name })
}

// load reads the settings of this command line.
func (c *cli) load(cmd *cobra.Command) (*config.Config, error) {
	return config.Load(c.sources(cmd))
}

// lookup is os.LookupEnv on what Main was given.
func (c *cli) lookup(name string) (string, bool) {
	for _, line := range slices.Backward(c.env) { // the last one holds, as in a process
		if value, ok := strings.CutPrefix(line, name+"="); ok {
			return value, true
		}
	}
	return "", false
}

// getenv is the value of an environment variable; "" when it is not set.
func (c *cli) getenv(name string) string {
	value, _ := c.lookup(name)
	return value
}
