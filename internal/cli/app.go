package cli

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
)

// appCommand returns the group `junctor app`: MCP Apps and the approval of
// their pages.
func (c *cli) appCommand() *cobra.Command {
	cmd := newGroupCommand("app", "List MCP Apps, and approve pages that need eval", "junctor app ls")
	cmd.AddCommand(c.appList(), c.appApprove(), c.appRevoke())
	return cmd
}

// appList returns `app ls`.
func (c *cli) appList() *cobra.Command {
	cmd := &cobra.Command{
		Use: "ls", Short: "List the Apps of all servers", Example: "  junctor app ls", Args: cobra.NoArgs,
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			return printList(c, cmd, "/apps", []string{"NAME", "PAGE", "FOR", "APPROVAL", "ABOUT"}, func(a junctor.App) []string {
				about := a.Description
				if about == "" {
					about = a.Title
				}
				return []string{a.Name, a.Resource, strings.Join(a.Visibility, ","), string(a.Approval.State), firstLine(about, 60)}
			})
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}

// appApprove returns `app approve`. An approval is for one digest of the page:
// if the server changes the page, it needs a new one. Without --digest the
// present page is approved.
func (c *cli) appApprove() *cobra.Command {
	var digest string
	cmd := &cobra.Command{
		Use: "approve NAME", Short: "Approve the current page of an App to use eval",
		Example: "  junctor app approve map__show-map", Args: cobra.ExactArgs(1), ValidArgsFunction: c.completeApps,
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			in := map[string]string{"digest": digest}
			if digest == "" {
				var now junctor.App
				if err := c.requestAPI(cmd, http.MethodGet, apiPath("apps", args[0]), nil, &now); err != nil {
					return err
				}
				in["digest"] = now.Digest
			}
			var app junctor.App
			if err := c.requestAPI(cmd, http.MethodPut, apiPath("apps", args[0], "approval"), in, &app); err != nil {
				return err
			}
			if !c.wantsJSON() {
				_, err := fmt.Fprintf(c.out, "%s has the %s profile: its page %s is approved\n", app.Name, app.Profile, app.Digest)
				return err
			}
			return c.printJSON(app)
		}),
	}
	cmd.Flags().StringVar(&digest, "digest", "", "approve only the page with this `SHA-256`")
	c.addInstanceFlags(cmd)
	return cmd
}

// appRevoke returns `app revoke`.
func (c *cli) appRevoke() *cobra.Command {
	return c.newDeleteCommand(deletion{
		use: "revoke NAME", short: "Revoke the approval of an App's page", example: "app revoke map__show-map",
		collection: "apps", below: []string{"approval"}, key: "name", state: string(junctor.ApprovalNone), complete: c.completeApps,
	})
}

// completeApps suggests the names of Apps.
func (c *cli) completeApps(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	return completeFrom(c, "/apps", func(a junctor.App) (string, string) { return a.Name, a.Title })(cmd, args, prefix)
}
