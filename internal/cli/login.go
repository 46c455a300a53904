package cli

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
)

// loginCommand returns `junctor login`, which prints a link to sign in, and the
// group of the same name.
func (c *cli) loginCommand() *cobra.Command {
	var user string
	cmd := &cobra.Command{
		Use: "login", Short: "Create a sign-in link for the console; list and end logins",
		Long: "Print a link that signs a user in to the console once. Without --user, the link is for the only user; if " +
			"there are several, the command asks on a terminal.\n\n" +
			"A login lasts 30 days, and ends after 12 hours without use.",
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
				return usageErrorf("no users exist; add one with junctor user add NAME --role admin")
			case 1:
				return c.printSignInLink(cmd, users.Items[0].Name)
			}
			name, err := c.chooseUser(users.Items)
			if err != nil {
				return err
			}
			return c.printSignInLink(cmd, name)
		}),
	}
	cmd.Flags().StringVar(&user, "user", "", "`name` of the user who signs in with the link")
	_ = cmd.RegisterFlagCompletionFunc("user", func(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		return c.completeUsers(cmd, nil, prefix)
	})
	c.addInstanceFlags(cmd)
	cmd.AddCommand(c.loginList(), c.loginRevoke())
	return cmd
}

// chooseUser asks on a terminal which of several users the link is for. The answer is a
// number of the list or a name. Without a terminal it is an error that names the users.
func (c *cli) chooseUser(users []junctor.User) (string, error) {
	if !isTerminal(c.in) {
		const shown = 10
		names := make([]string, 0, shown)
		for _, u := range users[:min(len(users), shown)] {
			names = append(names, stripControls(u.Name))
		}
		more := ""
		if len(users) > shown {
			more = "; junctor user ls lists all"
		}
		return "", usageErrorf("%d users exist: name one with --user (%s%s)", len(users), strings.Join(names, ", "), more)
	}
	for i, u := range users {
		c.printNote("%3d  %s (%s)", i+1, stripControls(u.Name), u.Role)
	}
	fmt.Fprint(c.err, "Who signs in? Number or name: ")
	line, err := readLine(c.in)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	answer := strings.TrimSpace(line)
	if slices.ContainsFunc(users, func(u junctor.User) bool { return u.Name == answer }) {
		return answer, nil
	}
	if n, err := strconv.Atoi(answer); err == nil && n >= 1 && n <= len(users) {
		return users[n-1].Name, nil
	}
	return "", usageErrorf("%q is not a number of the list or the name of a user", stripControls(answer))
}

// loginList returns `login ls`.
func (c *cli) loginList() *cobra.Command {
	var user string
	cmd := &cobra.Command{
		Use: "ls", Short: "List active logins", Example: "  junctor login ls", Args: cobra.NoArgs,
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			query := ""
			if user != "" {
				query = "?" + url.Values{"user": {user}}.Encode()
			}
			return printNamedList(c, cmd, "/logins"+query, []string{"ID", "USER", "HOW", "CREATED", "EXPIRES", "LAST USED"}, func(l junctor.Login, names *callerNames) []string {
				return []string{l.ID, names.user(l.User), l.How, formatTime(l.CreatedAt), formatTime(l.ExpiresAt), formatTime(l.LastUsedAt)}
			})
		}),
	}
	cmd.Flags().StringVar(&user, "user", "", "only logins of the user with this `name`")
	c.addInstanceFlags(cmd)
	return cmd
}

// loginRevoke returns `login revoke`.
func (c *cli) loginRevoke() *cobra.Command {
	return c.newDeleteCommand(deletion{
		use: "revoke ID", short: "End a login and sign its browser out", example: "login revoke 5hq2k7wz3n4x6b2a",
		collection: "logins", key: "id", state: "revoked",
		complete: completeFrom(c, "/logins", func(l junctor.Login) (string, string) { return l.ID, l.User }),
	})
}
