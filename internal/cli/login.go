package cli

import (
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
)

func (c *cli) loginCommand() *cobra.Command {
	var user string
	cmd := &cobra.Command{
		Use: "login", Short: "Make a link to sign in with, and list and end logins",
		Long: "Make a link that signs a user in with a browser, once. Without --user it is for the only user there is.\n\n" +
			"A login lasts 30 days, and ends sooner after 12 hours without use.",
		Example: "  junctor login --user zoe@example.com", Args: noArgs,
		RunE: run(func(cmd *cobra.Command, _ []string) error {
			if user != "" {
				return c.link(cmd, user)
			}
			var users list[junctor.User]
			if err := c.ask(cmd, http.MethodGet, "/users", nil, &users); err != nil {
				return err
			}
			switch len(users.Items) {
			case 0:
				return usagef("there are no users yet; junctor user add NAME --role admin adds one")
			case 1:
				return c.link(cmd, users.Items[0].Name)
			}
			return usagef("there are several users: name one with --user; junctor user ls lists them")
		}),
	}
	cmd.Flags().StringVar(&user, "user", "", "whom the link signs in, by `name`")
	_ = cmd.RegisterFlagCompletionFunc("user", func(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		return c.completeUsers(cmd, nil, prefix)
	})
	c.remote(cmd)
	cmd.AddCommand(c.loginList(), c.loginRevoke())
	return cmd
}

func (c *cli) loginList() *cobra.Command {
	var user string
	cmd := &cobra.Command{
		Use: "ls", Short: "List logins that are live", Example: "  junctor login ls", Args: cobra.NoArgs,
		RunE: run(func(cmd *cobra.Command, _ []string) error {
			query := ""
			if user != "" {
				query = "?" + url.Values{"user": {user}}.Encode()
			}
			return printList(c, cmd, "/logins"+query, []string{"ID", "USER", "HOW", "CREATED", "EXPIRES", "LAST USED"}, func(l junctor.Login) []string {
				return []string{l.ID, l.User, l.How, moment(l.CreatedAt), moment(l.ExpiresAt), moment(l.LastUsedAt)}
			})
		}),
	}
	cmd.Flags().StringVar(&user, "user", "", "only the logins of this user, by `name`")
	c.remote(cmd)
	return cmd
}

func (c *cli) loginRevoke() *cobra.Command {
	cmd := &cobra.Command{
		Use: "revoke ID", Short: "End a login: its browser is signed out", Example: "  junctor login revoke 5hq2k7wz3n4x6b2a", Args: cobra.ExactArgs(1),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
			return completeFrom(c, "/logins", func(l junctor.Login) (string, string) { return l.ID, l.User })(cmd, args, prefix)
		},
		RunE: run(func(cmd *cobra.Command, args []string) error {
			if err := c.ask(cmd, http.MethodDelete, path("logins", args[0]), nil, nil); err != nil {
				return err
			}
			return c.done(map[string]string{"id": args[0], "state": "revoked"})
		}),
	}
	c.remote(cmd)
	return cmd
}
