package cli

import (
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/junctor-mcp/junctor/internal/admin"
)

// exportCommand returns `junctor export`, which prints the declarations of an
// instance as a file that `junctor apply` reads. Variables that stand for
// sealed credentials are listed on standard error.
func (c *cli) exportCommand() *cobra.Command {
	var form string
	cmd := &cobra.Command{
		Use: "export", Short: "Export servers, agents and events as a settings file",
		Long: "Write the servers, agents, sources, triggers and schedules of an instance in the form of a settings file, " +
			"in a stable order. junctor apply reads it.\n\n" +
			"Keys of agents are not included. References to credentials are written as they are. A sealed credential " +
			"cannot be exported: the file reads it from a variable instead, and the command names these variables. If " +
			"the document of a generated server did not come from a URL, the file contains its text.",
		Example: "  junctor export > servers.yaml", Args: cobra.NoArgs,
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			if form != "yaml" && form != "json" {
				return usageErrorf("--format %q: use yaml or json", form)
			}
			var made admin.Exported
			if err := c.requestAPI(cmd, http.MethodGet, "/export?format="+form, nil, &made); err != nil {
				return err
			}
			// The values are sealed, and the instance does not give them out.
			if len(made.Variables) > 0 {
				c.printNote("the file reads sealed credentials from variables; set these where the file is applied:")
				for _, v := range made.Variables {
					c.printNote("  %s: %s", v.Name, strings.Join(v.Places, ", "))
				}
			}
			_, err := io.WriteString(c.out, made.Text)
			return err
		}),
	}
	// This flag hides the --format that all commands have: the output is a file
	// in any case.
	cmd.Flags().StringVar(&form, "format", "yaml", "`yaml`, or json, which is YAML too")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"yaml", "json"}, cobra.ShellCompDirectiveNoFileComp))
	c.addInstanceFlags(cmd)
	return cmd
}
