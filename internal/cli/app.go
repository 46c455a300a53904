package cli

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
)

func (c *cli) appCommand() *cobra.Command {
	cmd := noun("app", "List the Apps that tools bring, and approve pages that need eval", "junctor app ls")
	cmd.AddCommand(c.appList(), c.appApprove(), c.appRevoke())
	return cmd
}

func (c *cli) appList() *cobra.Command {
	cmd := &cobra.Command{
		Use: "ls", Short: "List the Apps of all servers", Example: "  junctor app ls", Args: cobra.NoArgs,
		RunE: run(func(cmd *cobra.Command, _ []string) error {
			return printList(c, cmd, "/apps", []string{"NAME", "PAGE", "FOR", "APPROVAL", "ABOUT"}, func(a junctor.App) []string {
				about := a.Description
				if about == "" {
					about = a.Title
				}
				return []string{a.Name, a.Resource, strings.Join(a.Visibility, ","), string(a.Approval.State), firstLine(about, 60)}
			})
		}),
	}
	c.remote(cmd)
	return cmd
}

func (c *cli) appApprove() *cobra.Command {
	var digest string
	cmd := &cobra.Command{
		Use: "approve NAME", Short: "Let an App's page, as it is now, make code of text (eval)",
		Example: "  junctor app approve map__show-map", Args: cobra.ExactArgs(1), ValidArgsFunction: c.completeApps,
		RunE: run(func(cmd *cobra.Command, args []string) error {
			in := map[string]string{"digest": digest}
			if digest == "" {
				var now junctor.App
				if err := c.ask(cmd, http.MethodGet, path("apps", args[0]), nil, &now); err != nil {
					return err
				}
				in["digest"] = now.Digest
			}
			var app junctor.App
			if err := c.ask(cmd, http.MethodPut, path("apps", args[0], "approval"), in, &app); err != nil {
				return err
			}
			if !c.json() {
				_, err := fmt.Fprintf(c.out, "%s has the %s profile: its page %s is approved\n", app.Name, app.Profile, app.Digest)
				return err
			}
			return c.printJSON(app)
		}),
	}
	cmd.Flags().StringVar(&digest, "digest", "", "approve this page and no other, by its `SHA-256`")
	c.remote(cmd)
	return cmd
}

func (c *cli) appRevoke() *cobra.Command {
	cmd := &cobra.Command{
		Use: "revoke NAME", Short: "Take the approval of an App's page back", Example: "  junctor app revoke map__show-map", Args: cobra.ExactArgs(1), ValidArgsFunction: c.completeApps,
		RunE: run(func(cmd *cobra.Command, args []string) error {
			if err := c.ask(cmd, http.MethodDelete, path("apps", args[0], "approval"), nil, nil); err != nil {
				return err
			}
			return c.done(map[string]string{"name": args[0], "state": string(junctor.ApprovalNone)})
		}),
	}
	c.remote(cmd)
	return cmd
}

func (c *cli) completeApps(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	return completeFrom(c, "/apps", func(a junctor.App) (string, string) { return a.Name, a.Title })(cmd, args, prefix)
}
