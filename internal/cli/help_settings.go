package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/junctor-mcp/junctor/internal/config"
)

// settingInfo is the JSON form of one setting in `junctor help settings`.
type settingInfo struct {
	Group    config.Group `json:"group"`
	Flag     string       `json:"flag"`
	Variable string       `json:"variable"`
	Key      string       `json:"key"` // in the settings file
	Kind     config.Kind  `json:"kind"`
	Default  string       `json:"default,omitempty"`
	Choices  []string     `json:"choices,omitempty"`
	Help     string       `json:"help"`
}

// helpSettings returns `junctor help settings`.
func (c *cli) helpSettings() *cobra.Command {
	groups := make([]string, len(config.Groups()))
	for i, g := range config.Groups() {
		groups[i] = string(g)
	}
	return &cobra.Command{
		Use: "settings [WORD...]", Short: "List the settings of an instance, by subject",
		Long: "List the settings of an instance with their flags, variables and defaults. A WORD selects a subject, or the settings whose names contain it. " +
			"Subjects: " + strings.Join(groups, ", ") + ".",
		Example:   "  junctor help settings\n  junctor help settings oidc\n  junctor help settings timeout",
		ValidArgs: groups,
		RunE: runCommand(func(_ *cobra.Command, args []string) error {
			found := findSettings(args)
			if len(found) == 0 {
				return usageErrorf("no setting matches %q; the subjects are %s", strings.Join(args, " "), strings.Join(groups, ", "))
			}
			if c.wantsJSON() {
				return c.printJSON(listPage[settingInfo]{Items: describeSettings(found)})
			}
			c.printSettings(found)
			return nil
		}),
	}
}

// findSettings returns the settings of the groups that words name, and those
// whose names contain a word; all of them without words.
func findSettings(words []string) (out []config.Setting) {
	for _, g := range config.Groups() {
		for _, s := range config.SettingsOf(g) {
			matches := func(word string) bool {
				word = strings.ToLower(strings.TrimLeft(strings.ReplaceAll(word, "_", "-"), "-"))
				return word == string(g) || strings.Contains(s.Name, word)
			}
			if len(words) == 0 || slices.ContainsFunc(words, matches) {
				out = append(out, s)
			}
		}
	}
	return out
}

// describeSettings returns the JSON form of settings.
func describeSettings(all []config.Setting) []settingInfo {
	out := make([]settingInfo, len(all))
	for i, s := range all {
		out[i] = settingInfo{
			Group: s.Group, Flag: "--" + s.Name, Variable: s.Env(), Key: s.Key(),
			Kind: s.Kind, Default: s.Default, Choices: s.Choices, Help: s.Help,
		}
	}
	return out
}

// printSettings prints settings under the titles of their groups.
func (c *cli) printSettings(all []config.Setting) {
	fmt.Fprintln(c.out, wrapText("A setting is a flag of junctor up, demo, stdio, doctor and config, an environment variable, and a line of the file that --config names: "+
		"--rate-limit 50, JUNCTOR_RATE_LIMIT=50 or rate_limit: 50. A flag overrides the variable, and the variable overrides the file.", helpWidth))
	group := config.Group("")
	for _, s := range all {
		if s.Group != group {
			group = s.Group
			fmt.Fprintf(c.out, "\n%s: %s\n", group, group.Title())
		}
		name := "--" + s.Name
		if s.Kind != config.KindBool {
			name += " " + string(s.Kind)
		}
		fmt.Fprintf(c.out, "\n  %-32s %s\n", name, s.Env())
		help := s.Help
		if s.Default != "" {
			help += " (default " + s.Default + ")"
		}
		fmt.Fprintf(c.out, "      %s\n", strings.ReplaceAll(wrapText(help, helpWidth-6), "\n", "\n      "))
	}
}
