package cli

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
)

func (c *cli) consentCommand() *cobra.Command {
	cmd := noun("consent", "List and revoke what people let MCP clients do for them, by OAuth", "junctor consent ls")
	cmd.AddCommand(c.consentList(), c.consentRevoke())
	return cmd
}

func (c *cli) consentList() *cobra.Command {
	var user string
	cmd := &cobra.Command{
		Use: "ls", Short: "List consents", Example: "  junctor consent ls --user zoe@example.com", Args: cobra.NoArgs,
		RunE: run(func(cmd *cobra.Command, _ []string) error {
			query := ""
			if user != "" {
				query = "?" + url.Values{"user": {user}}.Encode()
			}
			return printList(c, cmd, "/consents"+query, []string{"ID", "USER", "PROGRAM", "CLIENT", "DOOR", "SCOPES", "CREATED", "LAST USED"}, func(n junctor.Consent) []string {
				scopes := make([]string, len(n.Scopes))
				for i, s := range n.Scopes {
					scopes[i] = string(s)
				}
				return []string{n.ID, n.User, n.ClientName, n.Client, n.Resource, strings.Join(scopes, ","), moment(n.CreatedAt), moment(n.LastUsedAt)}
			})
		}),
	}
	cmd.Flags().StringVar(&user, "user", "", "only the consents of this user, by `name`")
	_ = cmd.RegisterFlagCompletionFunc("user", func(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		return c.completeUsers(cmd, nil, prefix)
	})
	c.remote(cmd)
	return cmd
}

func (c *cli) consentRevoke() *cobra.Command {
	cmd := &cobra.Command{
		Use: "revoke ID", Short: "Revoke a consent: the program's tokens end", Example: "  junctor consent revoke 5hq2k7wz3n4x6b2a", Args: cobra.ExactArgs(1),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
			return completeFrom(c, "/consents", func(n junctor.Consent) (string, string) { return n.ID, n.ClientName })(cmd, args, prefix)
		},
		RunE: run(func(cmd *cobra.Command, args []string) error {
			if err := c.ask(cmd, http.MethodDelete, path("consents", args[0]), nil, nil); err != nil {
				return err
			}
			return c.done(map[string]string{"id": args[0], "state": "revoked"})
		}),
	}
	c.remote(cmd)
	return cmd
}
