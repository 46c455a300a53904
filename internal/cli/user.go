package cli

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/identity"
)

// userCommand returns the group `junctor user`.
func (c *cli) userCommand() *cobra.Command {
	cmd := newGroupCommand("user", "Add, list, show, change and remove users", "junctor user ls")
	cmd.AddCommand(c.userAdd(), c.userList(), c.userShow(), c.userSet(), c.userRemove(), c.userPassword(), c.userLink(), c.userSources())
	return cmd
}

// userFlags are the flags that describe a user.
type userFlags struct {
	name, role, tier string
	sources          string // whose tools the default endpoint shows
	disabled         bool
}

// addUserFlags adds the flags that `user add` and `user set` share.
func (c *cli) addUserFlags(cmd *cobra.Command, f *userFlags) {
	flags := cmd.Flags()
	flags.StringVar(&f.role, "role", "", "role of the user: `admin`, developer or viewer (default viewer)")
	flags.StringVar(&f.sources, "sources", "", "servers that their default endpoint shows: `auto-generated`, bring-your-own or both (default both)")
	flags.StringVar(&f.tier, "tier", "", "tier with their limits: free, pro, unlimited or your own (default free)")
	_ = cmd.RegisterFlagCompletionFunc("role", completeFixed(junctor.UserRoles()))
	_ = cmd.RegisterFlagCompletionFunc("sources", completeFixed([]junctor.Sources{junctor.SourcesGenerated, junctor.SourcesBYO, junctor.SourcesBoth}))
}

// completeFixed returns a completion with a fixed list of words.
func completeFixed[T ~string](words []T) cobra.CompletionFunc {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = string(w)
	}
	return cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp)
}

// requestBody returns the members of a user whose flags were given, and no
// others.
func (f *userFlags) requestBody(cmd *cobra.Command) map[string]any {
	body := map[string]any{}
	for name, value := range map[string]any{"name": f.name, "role": f.role, "sources": f.sources, "tier": f.tier, "disabled": f.disabled} {
		if cmd.Flags().Changed(name) {
			body[name] = value
		}
	}
	return body
}

// userAdd returns `user add`.
func (c *cli) userAdd() *cobra.Command {
	var f userFlags
	cmd := &cobra.Command{
		Use: "add NAME", Short: "Add a user",
		Long: "Add a user. NAME is the name that they sign in with, such as their e-mail address. Then create a sign-in " +
			"link with junctor user link, or set a password with junctor user password.",
		Example: "  junctor user add zoe@example.com --role developer", Args: cobra.ExactArgs(1),
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			body := f.requestBody(cmd)
			body["name"] = args[0]
			var u junctor.User
			if err := c.requestAPI(cmd, http.MethodPost, "/users", body, &u); err != nil {
				return err
			}
			return c.printUser(u)
		}),
	}
	c.addUserFlags(cmd, &f)
	c.addInstanceFlags(cmd)
	return cmd
}

// userList returns `user ls`.
func (c *cli) userList() *cobra.Command {
	cmd := &cobra.Command{
		Use: "ls", Short: "List users", Example: "  junctor user ls", Args: cobra.NoArgs,
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			return printList(c, cmd, "/users", []string{"NAME", "ROLE", "SOURCES", "TIER", "STATE", "CREATED", "ID"}, func(u junctor.User) []string {
				return []string{u.Name, string(u.Role), string(u.Sources), u.Tier, userState(u), formatTime(u.CreatedAt), u.ID}
			})
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}

// userState returns whether a user is active.
func userState(u junctor.User) string {
	if u.Disabled {
		return "disabled"
	}
	return "active"
}

// printUser prints a user.
func (c *cli) printUser(u junctor.User) error {
	if c.wantsJSON() {
		return c.printJSON(u)
	}
	return c.printFacts("name", u.Name, "id", u.ID, "role", string(u.Role), "sources", string(u.Sources), "tier", u.Tier, "state", userState(u), "groups", strings.Join(u.Groups, ", "),
		"created", formatTime(u.CreatedAt), "changed", formatTime(u.UpdatedAt))
}

// userShow returns `user show`.
func (c *cli) userShow() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show NAME", Short: "Show a user", Example: "  junctor user show zoe@example.com", Args: cobra.ExactArgs(1), ValidArgsFunction: c.completeUsers,
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			var u junctor.User
			if err := c.requestAPI(cmd, http.MethodGet, apiPath("users", args[0]), nil, &u); err != nil {
				return err
			}
			return c.printUser(u)
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}

// userSet returns `user set`.
func (c *cli) userSet() *cobra.Command {
	var f userFlags
	cmd := &cobra.Command{
		Use: "set NAME", Short: "Change or disable a user",
		Long: "Change a user. A new role applies to their keys and logins at once. --disabled makes their keys and logins " +
			"invalid, and --disabled=false makes the keys valid again.",
		Example: "  junctor user set zoe@example.com --role admin", Args: cobra.ExactArgs(1), ValidArgsFunction: c.completeUsers,
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			body := f.requestBody(cmd)
			if len(body) == 0 {
				return usageErrorf("no change given: use at least one flag, such as --role or --disabled")
			}
			var u junctor.User
			if err := c.requestAPI(cmd, http.MethodPatch, apiPath("users", args[0]), body, &u); err != nil {
				return err
			}
			return c.printUser(u)
		}),
	}
	c.addUserFlags(cmd, &f)
	cmd.Flags().StringVar(&f.name, "name", "", "new name to sign in with")
	cmd.Flags().BoolVar(&f.disabled, "disabled", false, "disable the user; --disabled=false enables them again")
	c.addInstanceFlags(cmd)
	return cmd
}

// userRemove returns `user rm`. It prints what became of the user's servers and
// agents; those that others use belong to the caller afterwards.
func (c *cli) userRemove() *cobra.Command {
	cmd := &cobra.Command{
		Use: "rm NAME", Short: "Delete a user permanently",
		Long: "Delete a user. Their keys and logins become invalid, and their credentials and the servers that only they " +
			"see are erased. Servers and agents that others use become yours. Records of their calls stay.",
		Example: "  junctor user rm zoe@example.com", Args: cobra.ExactArgs(1), ValidArgsFunction: c.completeUsers,
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			var gone identity.RemovedUser
			if err := c.requestAPI(cmd, http.MethodDelete, apiPath("users", args[0]), nil, &gone); err != nil {
				return err
			}
			if c.wantsJSON() {
				return c.printJSON(gone)
			}
			// Nothing is printed for a user who had no servers.
			for what, names := range map[string][]string{"removed with the user: servers": gone.RemovedServers, "yours now: servers": gone.Servers} {
				if len(names) > 0 {
					c.printNote("%s %s", what, strings.Join(names, ", "))
				}
			}
			if len(gone.Agents) > 0 {
				c.printNote("yours now: agents %s; junctor key rotate replaces the keys that the user knew", strings.Join(gone.Agents, ", "))
			}
			return nil
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}

// userPassword returns `user password`.
func (c *cli) userPassword() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "password NAME", Short: "Set a user's password, and sign them out",
		Long: "Set the password of a user, and sign them out. It is read from standard input or from a file, never from " +
			"the command line, where other users of this machine could see it. It needs at least 12 characters. One line " +
			"break at its end is removed.",
		Example: "  junctor user password zoe@example.com --file password.txt", Args: cobra.ExactArgs(1), ValidArgsFunction: c.completeUsers,
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			word, err := c.readSecret("file", file)
			if err != nil {
				return err
			}
			if err := c.requestAPI(cmd, http.MethodPut, apiPath("users", args[0], "password"), map[string]string{"password": word}, nil); err != nil {
				return err
			}
			return c.printIfJSON(map[string]string{"user": args[0], "password": "set"})
		}),
	}
	cmd.Flags().StringVar(&file, "file", "", "read the password from this `file` instead of standard input")
	c.addInstanceFlags(cmd)
	return cmd
}

// userLink returns `user link`, which prints a link that signs a user in once.
func (c *cli) userLink() *cobra.Command {
	cmd := &cobra.Command{
		Use: "link NAME", Short: "Create a link that signs a user in once",
		Long: "Create a sign-in link. Anyone who opens it in a browser within 15 minutes and confirms is signed in as the " +
			"user. The link works once.",
		Example: "  junctor user link zoe@example.com", Args: cobra.ExactArgs(1), ValidArgsFunction: c.completeUsers,
		RunE: runCommand(func(cmd *cobra.Command, args []string) error { return c.printSignInLink(cmd, args[0]) }),
	}
	c.addInstanceFlags(cmd)
	return cmd
}

// userSources returns `user sources`, which is about the user whose key the
// command uses.
func (c *cli) userSources() *cobra.Command {
	cmd := &cobra.Command{
		Use: "sources auto-generated|bring-your-own|both", Short: "Choose the servers that your default endpoint shows",
		Long: "Choose the servers that the default endpoint shows to you, in addition to built-in ones. The choice applies " +
			"to the user of JUNCTOR_KEY, and can be changed at any time.",
		Example: "  junctor user sources bring-your-own", Args: cobra.ExactArgs(1),
		ValidArgs: []string{string(junctor.SourcesGenerated), string(junctor.SourcesBYO), string(junctor.SourcesBoth)},
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			var u junctor.User
			if err := c.requestAPI(cmd, http.MethodPut, "/me/sources", map[string]string{"sources": args[0]}, &u); err != nil {
				return err
			}
			return c.printUser(u)
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}

// printSignInLink creates a link that signs a user in, and prints it alone on
// standard output.
func (c *cli) printSignInLink(cmd *cobra.Command, user string) error {
	var link admin.SignInLink
	if err := c.requestAPI(cmd, http.MethodPost, apiPath("users", user, "link"), nil, &link); err != nil {
		return err
	}
	if c.wantsJSON() {
		return c.printJSON(link)
	}
	c.printNote("open this in a browser before %s; it signs %s in, once:", formatTime(link.ExpiresAt), stripControls(user))
	_, err := fmt.Fprintln(c.out, link.URL)
	return err
}

// completeUsers suggests the names of users.
func (c *cli) completeUsers(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	return completeFrom(c, "/users", func(u junctor.User) (string, string) { return u.Name, string(u.Role) })(cmd, args, prefix)
}
