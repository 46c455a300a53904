package cli

import (
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
)

func (c *cli) tenantCommand() *cobra.Command {
	cmd := noun("tenant", "Add and list tenants: parties that see nothing of each other", "junctor tenant ls")
	cmd.AddCommand(c.tenantAdd(), c.tenantList(), c.tenantKey())
	return cmd
}

func (c *cli) tenantAdd() *cobra.Command {
	var title string
	cmd := &cobra.Command{
		Use: "add NAME", Short: "Add a tenant; its admin key is shown once",
		Long: "Add a tenant. Its admin key goes to standard output, once: who has it runs the tenant with JUNCTOR_URL and\n" +
			"JUNCTOR_KEY, and whatever they do stays in it. A tenant cannot be removed: records name it.",
		Example: "  junctor tenant add acme --title 'Acme Inc.'", Args: cobra.ExactArgs(1),
		RunE: run(func(cmd *cobra.Command, args []string) error {
			body := map[string]string{"id": args[0]}
			if title != "" {
				body["name"] = title
			}
			var t admin.CreatedTenant
			if err := c.ask(cmd, http.MethodPost, "/tenants", body, &t); err != nil {
				return err
			}
			if c.json() {
				return c.printJSON(t)
			}
			c.say("tenant %s; its admin key is shown this once:", t.ID)
			_, err := fmt.Fprintln(c.out, t.AdminKey.Token)
			return err
		}),
	}
	cmd.Flags().StringVar(&title, "title", "", "its name for people")
	c.remote(cmd)
	return cmd
}

func (c *cli) tenantList() *cobra.Command {
	cmd := &cobra.Command{
		Use: "ls", Short: "List tenants", Example: "  junctor tenant ls", Args: cobra.NoArgs,
		RunE: run(func(cmd *cobra.Command, _ []string) error {
			return printList(c, cmd, "/tenants", []string{"NAME", "TITLE", "CREATED"}, func(t junctor.Tenant) []string {
				return []string{string(t.ID), t.Name, moment(t.CreatedAt)}
			})
		}),
	}
	c.remote(cmd)
	return cmd
}

func (c *cli) tenantKey() *cobra.Command {
	cmd := &cobra.Command{
		Use: "key NAME", Short: "Replace a tenant's admin key, for when it was lost",
		Example: "  junctor tenant key acme", Args: cobra.ExactArgs(1),
		RunE: run(func(cmd *cobra.Command, args []string) error {
			var key admin.CreatedKey
			if err := c.ask(cmd, http.MethodPost, path("tenants", args[0], "key"), nil, &key); err != nil {
				return err
			}
			return c.showToken(key, "the admin key of "+args[0])
		}),
	}
	c.remote(cmd)
	return cmd
}
