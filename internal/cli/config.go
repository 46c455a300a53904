package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/junctor-mcp/junctor/internal/config"
)

// configCommand returns the group `junctor config`. Its commands read the
// settings of this command line and ask no instance.
func (c *cli) configCommand() *cobra.Command {
	cmd := newGroupCommand("config", "Print and check the settings of an instance", "junctor config print")
	cmd.AddCommand(c.configPrint(), c.configCheck())
	return cmd
}

// configPrint returns `config print`.
func (c *cli) configPrint() *cobra.Command {
	cmd := &cobra.Command{
		Use: "print", Short: "Print each setting with its value and its source",
		Example: "  junctor config print --config junctor.yaml", Args: cobra.NoArgs,
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			cfg, err := c.loadConfig(cmd)
			if err != nil {
				return err
			}
			values := cfg.Values()
			if c.wantsJSON() {
				return c.printJSON(listPage[config.Value]{Items: values})
			}
			rows := make([][]string, len(values))
			for i, v := range values {
				rows[i] = []string{v.Name, v.Value, v.Source}
			}
			return c.printTable([]string{"SETTING", "VALUE", "SOURCE"}, rows)
		}),
	}
	c.addSettings(cmd)
	return cmd
}

// configCheck returns `config check`, which prints every problem of the
// settings and declarations at once.
func (c *cli) configCheck() *cobra.Command {
	cmd := &cobra.Command{
		Use: "check", Short: "Check the settings and list every problem",
		Example: "  junctor config check --config junctor.yaml", Args: cobra.NoArgs,
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			warnings := config.UnknownEnv(c.env)
			cfg, err := c.loadConfig(cmd)
			if err == nil {
				warnings = append(warnings, cfg.Warnings()...)
			}
			problems := config.Problems(err)
			if err == nil {
				problems = c.checkDeclared(cfg)
			}
			// An error without problems is not about the settings.
			if err != nil && len(problems) == 0 {
				return err
			}
			if err := c.printCheck(problems, warnings); err != nil {
				return err
			}
			if len(problems) > 0 {
				return silentFailure("the settings have problems")
			}
			return nil
		}),
	}
	c.addSettings(cmd)
	return cmd
}

// printCheck prints problems and warnings.
func (c *cli) printCheck(problems []config.Problem, warnings []string) error {
	if c.wantsJSON() {
		return c.printJSON(map[string]any{
			"ok": len(problems) == 0, "problems": append([]config.Problem{}, problems...), "warnings": append([]string{}, warnings...),
		})
	}
	for _, p := range problems {
		fmt.Fprintf(c.out, "%s  %s\n", c.colourText(red, "fail"), p)
	}
	for _, w := range warnings {
		fmt.Fprintf(c.out, "%s  %s\n", c.colourText(yellow, "warn"), w)
	}
	if len(problems) == 0 {
		fmt.Fprintf(c.out, "%s    the settings are valid\n", c.colourText(green, "ok"))
	}
	return nil
}
