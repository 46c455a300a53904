package cli

import (
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
)

// consentCommand returns the group `junctor consent`: OAuth consents of users
// to MCP clients.
func (c *cli) consentCommand() *cobra.Command {
	cmd := newGroupCommand("consent", "List and revoke the OAuth consents of users", "junctor consent ls")
	cmd.AddCommand(c.consentList(), c.consentRevoke())
	return cmd
}

// consentList returns `consent ls`.
func (c *cli) consentList() *cobra.Command {
	var user string
	cmd := &cobra.Command{
		Use: "ls", Short: "List consents", Example: "  junctor consent ls --user zoe@example.com", Args: cobra.NoArgs,
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			query := ""
			if user != "" {
				query = "?" + url.Values{"user": {user}}.Encode()
			}
			return printNamedList(c, cmd, "/consents"+query, []string{"ID", "USER", "PROGRAM", "CLIENT", "ENDPOINT", "SCOPES", "CREATED", "LAST USED"}, func(n junctor.Consent, names *callerNames) []string {
				scopes := make([]string, len(n.Scopes))
				for i, s := range n.Scopes {
					scopes[i] = string(s)
				}
				return []string{n.ID, names.user(n.User), n.ClientName, n.Client, n.Resource, strings.Join(scopes, ","), formatTime(n.CreatedAt), formatTime(n.LastUsedAt)}
			})
		}),
	}
	cmd.Flags().StringVar(&user, "user", "", "only the consents of this user, by `name`")
	_ = cmd.RegisterFlagCompletionFunc("user", func(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		return c.completeUsers(cmd, nil, prefix)
	})
	c.addInstanceFlags(cmd)
	return cmd
}

// consentRevoke returns `consent revoke`.
func (c *cli) consentRevoke() *cobra.Command {
	return c.newDeleteCommand(deletion{
		use: "revoke ID", short: "Revoke a consent and its tokens", example: "consent revoke 5hq2k7wz3n4x6b2a",
		collection: "consents", key: "id", state: "revoked",
		complete: completeFrom(c, "/consents", func(n junctor.Consent) (string, string) { return n.ID, n.ClientName }),
	})
}
