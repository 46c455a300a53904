package cli

import (
	"net/http"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
)

// serverCredential returns the group `server credential`: the caller's own
// credentials for servers that are called with those of each user.
func (c *cli) serverCredential() *cobra.Command {
	cmd := newGroupCommand("credential", "Manage your own credentials for servers with --credentials per-user", "junctor server credential ls")
	cmd.AddCommand(c.credentialSet(), c.credentialList(), c.credentialRemove())
	return cmd
}

// credentialSet returns `server credential set`.
func (c *cli) credentialSet() *cobra.Command {
	var f serverFlags
	cmd := &cobra.Command{
		Use: "set SERVER", Short: "Store your credentials for a server",
		Long: "Store your credentials for a server that is called with the credentials of each user. They are encrypted, " +
			"and sent to the server only with your calls and those of your agents. The command requires a key of a user: " +
			"set JUNCTOR_URL and JUNCTOR_KEY.",
		Example: "  junctor server credential set notes --bearer @token.txt", Args: cobra.ExactArgs(1), ValidArgsFunction: c.completeServers,
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			auth, err := c.makeAuthBody(&f)
			if err != nil {
				return err
			}
			if err := f.fields.readMaps(c); err != nil {
				return err
			}
			headers := f.connection.Headers
			if auth == nil && headers == nil {
				return usageErrorf("no credential given: use --bearer, --api-key, --basic, --oauth-client or --header")
			}
			body := struct {
				Auth    *junctor.Auth     `json:"auth,omitempty"`
				Headers map[string]string `json:"headers,omitempty"`
			}{auth, headers}
			var one admin.MyCredential
			if err := c.requestAPI(cmd, http.MethodPut, apiPath("servers", args[0], "credentials", "me"), body, &one); err != nil {
				return err
			}
			return c.printIfJSON(one)
		}),
	}
	f.addAuth(cmd)
	f.fields.addTo(cmd, &f.connection, func(flag string) bool { return flag != "header" })
	c.addInstanceFlags(cmd)
	return cmd
}

// credentialList returns `server credential ls`.
func (c *cli) credentialList() *cobra.Command {
	cmd := &cobra.Command{
		Use: "ls", Short: "List servers that require your credentials, and those you stored", Example: "  junctor server credential ls", Args: cobra.NoArgs,
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			return printList(c, cmd, "/me/credentials", []string{"SERVER", "STATE", "KIND", "UPDATED"}, func(one admin.MyCredential) []string {
				return []string{one.Server, credentialState(&one), credentialKind(&one), formatTime(one.UpdatedAt)}
			})
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}

// credentialState returns whether a credential is entered and usable.
func credentialState(one *admin.MyCredential) string {
	switch {
	case one.Problem != "":
		return one.Problem
	case one.Entered && !one.Wanted:
		return "entered, not required"
	case one.Entered:
		return "entered"
	}
	return "missing"
}

// credentialKind returns how a credential is sent.
func credentialKind(one *admin.MyCredential) string {
	if one.Auth == nil && len(one.Headers) > 0 {
		return "headers"
	}
	return authType(one.Auth)
}

// credentialRemove returns `server credential rm`.
func (c *cli) credentialRemove() *cobra.Command {
	return c.newDeleteCommand(deletion{
		use: "rm SERVER", short: "Erase your credentials for a server", example: "server credential rm notes",
		collection: "servers", below: []string{"credentials", "me"}, key: "server", state: "erased", complete: c.completeServers,
	})
}
