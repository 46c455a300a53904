package cli

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
)

func (c *cli) toolTag() *cobra.Command {
	var roles []string
	var category string
	var clean bool
	cmd := &cobra.Command{
		Use: "tag TOOL", Short: "Say what a tool is for, in place of what the rules found",
		Long: "Say what a tool is for. Agents are given tools of their role, and those for General. What is said stays\n" +
			"whatever the server does; --clear leaves the tool to the rules again. junctor tool show has what the rules found, and why.",
		Example: "  junctor tool tag demo__echo --role QA --role Dev --category Text", Args: cobra.ExactArgs(1), ValidArgsFunction: c.completeTools,
		RunE: run(func(cmd *cobra.Command, args []string) error {
			var t junctor.Tool
			var err error
			switch {
			case clean:
				err = c.ask(cmd, http.MethodDelete, path("tools", args[0], "tag"), nil, &t)
			case len(roles) == 0 && category == "":
				return usagef("say what the tool is for with --role or --category, or --clear it")
			default:
				err = c.ask(cmd, http.MethodPut, path("tools", args[0], "tag"), map[string]any{"roles": roles, "category": category}, &t)
			}
			if err != nil {
				return err
			}
			if c.json() {
				return c.printJSON(t)
			}
			return c.facts("name", t.Exposed, "roles", joinRoles(t.Roles), "category", t.Category)
		}),
	}
	cmd.Flags().StringArrayVar(&roles, "role", nil, "a role that it is for; may be given several times")
	cmd.Flags().StringVar(&category, "category", "", "its category; without it the first role")
	cmd.Flags().BoolVar(&clean, "clear", false, "forget what was said")
	cmd.MarkFlagsMutuallyExclusive("clear", "role")
	cmd.MarkFlagsMutuallyExclusive("clear", "category")
	_ = cmd.RegisterFlagCompletionFunc("role", c.completeRoles)
	c.remote(cmd)
	return cmd
}

func joinRoles(roles []junctor.Role) string {
	names := make([]string, len(roles))
	for i, r := range roles {
		names[i] = string(r)
	}
	return strings.Join(names, ", ")
}

// why tells what a tool's roles rest on.
func why(class *junctor.Class) string {
	if class == nil {
		return ""
	}
	if class.Tag != nil && len(class.Tag.Roles) > 0 {
		return "said by " + class.Tag.By
	}
	if len(class.Evidence) == 0 {
		return "nothing says more"
	}
	parts := make([]string, len(class.Evidence))
	for i, e := range class.Evidence {
		parts[i] = fmt.Sprintf("%s: %q in the %s (%d)", e.Role, e.Text, e.Where, e.Weight)
	}
	return fmt.Sprintf("%.0f %% sure: %s", 100*class.Confidence, strings.Join(parts, ", "))
}

func (c *cli) toolChanges() *cobra.Command {
	var server string
	var limit int
	cmd := &cobra.Command{
		Use: "changes [TOOL]", Short: "List tools that their servers offer otherwise than before",
		Long: "List tools that are new, gone, or whose title, description, schemas or annotations changed under the same name,\n" +
			"newest first. --format json has both versions.",
		Example: "  junctor tool changes --server notes", Args: cobra.MaximumNArgs(1), ValidArgsFunction: c.completeTools,
		RunE: run(func(cmd *cobra.Command, args []string) error {
			query := url.Values{"server": nonEmpty(server), "limit": {strconv.Itoa(limit)}}
			if len(args) > 0 {
				query.Set("tool", args[0])
			}
			return printList(c, cmd, "/tools/changes?"+query.Encode(), []string{"SEEN", "SERVER", "TOOL", "WHAT"}, func(ch junctor.ToolChange) []string {
				return []string{moment(ch.SeenAt), ch.Server, ch.Tool, changeText(ch)}
			})
		}),
	}
	cmd.Flags().StringVar(&server, "server", "", "only the tools of this server")
	cmd.Flags().IntVar(&limit, "limit", 50, "how many")
	_ = cmd.RegisterFlagCompletionFunc("server", c.completeServers)
	c.remote(cmd)
	return cmd
}

func changeText(ch junctor.ToolChange) string {
	switch {
	case ch.BeforeDigest == "":
		return "new"
	case ch.AfterDigest == "":
		return "gone"
	}
	return strings.Join(ch.What, ", ")
}

func (c *cli) roleCommand() *cobra.Command {
	cmd := noun("role", "List the roles of agents and tools, and add your own", "junctor role ls")
	ls := &cobra.Command{
		Use: "ls", Short: "List roles", Example: "  junctor role ls", Args: cobra.NoArgs,
		RunE: run(func(cmd *cobra.Command, _ []string) error {
			return printList(c, cmd, "/roles", []string{"NAME", "OWN"}, func(r admin.RoleInfo) []string {
				own := ""
				if r.Own {
					own = "yes"
				}
				return []string{string(r.Name), own}
			})
		}),
	}
	cmd.AddCommand(ls, c.roleChange("add", "Add a role of your own", http.MethodPut, "added"),
		c.roleChange("rm", "Remove a role of your own that nothing has", http.MethodDelete, "removed"))
	c.remote(ls)
	return cmd
}

func (c *cli) roleChange(verb, short, method, state string) *cobra.Command {
	cmd := &cobra.Command{
		Use: verb + " NAME", Short: short, Example: "  junctor role " + verb + " Legal", Args: cobra.ExactArgs(1),
		RunE: run(func(cmd *cobra.Command, args []string) error {
			if err := c.ask(cmd, method, path("roles", args[0]), nil, nil); err != nil {
				return err
			}
			return c.done(map[string]string{"name": args[0], "state": state})
		}),
	}
	c.remote(cmd)
	return cmd
}
