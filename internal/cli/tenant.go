package cli

import (
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
)

// tenantCommand returns the group `junctor tenant`. Its commands are for the
// operator.
func (c *cli) tenantCommand() *cobra.Command {
	cmd := newGroupCommand("tenant", "Add and list tenants, which are isolated from each other", "junctor tenant ls")
	cmd.AddCommand(c.tenantAdd(), c.tenantList(), c.tenantKey())
	return cmd
}

// tenantAdd returns `tenant add`, which prints the admin key of the new tenant.
func (c *cli) tenantAdd() *cobra.Command {
	var title string
	cmd := &cobra.Command{
		Use: "add NAME", Short: "Add a tenant and print its admin key",
		Long: "Add a tenant and print its admin key once. The holder of the key manages the tenant with JUNCTOR_URL and " +
			"JUNCTOR_KEY, and has no access outside it. A tenant cannot be removed, because records name it.",
		Example: "  junctor tenant add acme --title 'Acme Inc.'", Args: cobra.ExactArgs(1),
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			body := map[string]string{"id": args[0]}
			if title != "" {
				body["name"] = title
			}
			var t admin.CreatedTenant
			if err := c.requestAPI(cmd, http.MethodPost, "/tenants", body, &t); err != nil {
				return err
			}
			if c.wantsJSON() {
				return c.printJSON(t)
			}
			c.printNote("tenant %s; its admin key is shown only once:", t.ID)
			_, err := fmt.Fprintln(c.out, t.AdminKey.Token)
			return err
		}),
	}
	cmd.Flags().StringVar(&title, "title", "", "display name")
	c.addInstanceFlags(cmd)
	return cmd
}

// tenantList returns `tenant ls`.
func (c *cli) tenantList() *cobra.Command {
	cmd := &cobra.Command{
		Use: "ls", Short: "List tenants", Example: "  junctor tenant ls", Args: cobra.NoArgs,
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			return printList(c, cmd, "/tenants", []string{"NAME", "TITLE", "CREATED"}, func(t junctor.Tenant) []string {
				return []string{string(t.ID), t.Name, formatTime(t.CreatedAt)}
			})
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}

// tenantKey returns `tenant key`, which replaces the admin key of a tenant.
func (c *cli) tenantKey() *cobra.Command {
	cmd := &cobra.Command{
		Use: "key NAME", Short: "Replace a lost admin key of a tenant",
		Example: "  junctor tenant key acme", Args: cobra.ExactArgs(1),
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			var key admin.CreatedKey
			if err := c.requestAPI(cmd, http.MethodPost, apiPath("tenants", args[0], "key"), nil, &key); err != nil {
				return err
			}
			return c.printToken(key, "the admin key of "+args[0])
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}
