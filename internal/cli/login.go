package cli

import (
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
)

// loginCommand returns `junctor login`, which prints a link to sign in, and the
// group of the same name.
func (c *cli) loginCommand() *cobra.Command {
	var user string
	cmd := &cobra.Command{
		Use: "login", Short: "Make a link to sign in with, and list and end logins",
		Long: "Make a link that signs a user in with a browser, once. Without --user it is for the only user there is.\n\n" +
			"A login lasts 30 days, and ends sooner after 12 hours without use.",
		Example: "  junctor login --user zoe@example.com", Args: rejectUnknownCommand,
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			if user != "" {
				return c.printSignInLink(cmd, user)
			}
			var users listPage[junctor.User]
			if err := c.requestAPI(cmd, http.MethodGet, "/users", nil, &users); err != nil {
				return err
			}
			// With a single user there is nothing to choose.
			switch len(users.Items) {
			case 0:
				return usageErrorf("there are no users yet; junctor user add NAME --role admin adds one")
			case 1:
				return c.printSignInLink(cmd, users.Items[0].Name)
			}
			return usageErrorf("there are several users: name one with --user; junctor user ls lists them")
		}),
	}
	cmd.Flags().StringVar(&user, "user", "", "whom the link signs in, by `name`")
	_ = cmd.RegisterFlagCompletionFunc("user", func(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		return c.completeUsers(cmd, nil, prefix)
	})
	c.addInstanceFlags(cmd)
	cmd.AddCommand(c.loginList(), c.loginRevoke())
	return cmd
}

// loginList returns `login ls`.
func (c *cli) loginList() *cobra.Command {
	var user string
	cmd := &cobra.Command{
		Use: "ls", Short: "List logins that are live", Example: "  junctor login ls", Args: cobra.NoArgs,
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			query := ""
			if user != "" {
				query = "?" + url.Values{"user": {user}}.Encode()
			}
			return printList(c, cmd, "/logins"+query, []string{"ID", "USER", "HOW", "CREATED", "EXPIRES", "LAST USED"}, func(l junctor.Login) []string {
				return []string{l.ID, l.User, l.How, formatTime(l.CreatedAt), formatTime(l.ExpiresAt), formatTime(l.LastUsedAt)}
			})
		}),
	}
	cmd.Flags().StringVar(&user, "user", "", "only the logins of this user, by `name`")
	c.addInstanceFlags(cmd)
	return cmd
}

// loginRevoke returns `login revoke`.
func (c *cli) loginRevoke() *cobra.Command {
	return c.newDeleteCommand(deletion{
		use: "revoke ID", short: "End a login: its browser is signed out", example: "login revoke 5hq2k7wz3n4x6b2a",
		collection: "logins", key: "id", state: "revoked",
		complete: completeFrom(c, "/logins", func(l junctor.Login) (string, string) { return l.ID, l.User }),
	})
}
