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

// toolTag returns `tool tag`, which sets the roles and the category of a tool,
// or returns the tool to the classification rules.
func (c *cli) toolTag() *cobra.Command {
	var roles []string
	var category string
	var clean bool
	cmd := &cobra.Command{
		Use: "tag TOOL", Short: "Set the roles and the category of a tool",
		Long: "Set the roles and the category of a tool, instead of those that rules detected. Tools are suggested for " +
			"agents with one of their roles, and General tools for all. The tag stays when the server changes; --clear " +
			"removes it. junctor tool show prints what the rules detected, and why.",
		Example: "  junctor tool tag demo__echo --role QA --role Dev --category Text", Args: cobra.ExactArgs(1), ValidArgsFunction: c.completeTools,
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			var t junctor.Tool
			var err error
			switch {
			case clean:
				err = c.requestAPI(cmd, http.MethodDelete, apiPath("tools", args[0], "tag"), nil, &t)
			case len(roles) == 0 && category == "":
				return usageErrorf("no change given: use --role, --category or --clear")
			default:
				err = c.requestAPI(cmd, http.MethodPut, apiPath("tools", args[0], "tag"), map[string]any{"roles": roles, "category": category}, &t)
			}
			if err != nil {
				return err
			}
			if c.wantsJSON() {
				return c.printJSON(t)
			}
			return c.printFacts("name", t.Exposed, "roles", joinRoles(t.Roles), "category", t.Category)
		}),
	}
	cmd.Flags().StringArrayVar(&roles, "role", nil, "role that the tool is for; repeatable")
	cmd.Flags().StringVar(&category, "category", "", "category of the tool (default the first role)")
	cmd.Flags().BoolVar(&clean, "clear", false, "remove the tag, so that rules set the roles again")
	cmd.MarkFlagsMutuallyExclusive("clear", "role")
	cmd.MarkFlagsMutuallyExclusive("clear", "category")
	_ = cmd.RegisterFlagCompletionFunc("role", c.completeRoles)
	c.addInstanceFlags(cmd)
	return cmd
}

// joinRoles returns roles as one text.
func joinRoles(roles []junctor.Role) string {
	names := make([]string, len(roles))
	for i, r := range roles {
		names[i] = string(r)
	}
	return strings.Join(names, ", ")
}

// explainRoles returns why a tool has its roles: who set them, or the evidence
// that the rules found.
func explainRoles(class *junctor.Class) string {
	if class == nil {
		return ""
	}
	// A tag takes precedence over the rules.
	if class.Tag != nil && len(class.Tag.Roles) > 0 {
		return "set by " + class.Tag.By
	}
	if len(class.Evidence) == 0 {
		return "no evidence for another role"
	}
	parts := make([]string, len(class.Evidence))
	for i, e := range class.Evidence {
		parts[i] = fmt.Sprintf("%s: %q in the %s (%d)", e.Role, e.Text, e.Where, e.Weight)
	}
	return fmt.Sprintf("%.0f %% sure: %s", 100*class.Confidence, strings.Join(parts, ", "))
}

// toolChanges returns `tool changes`, which lists tools that their servers
// changed.
func (c *cli) toolChanges() *cobra.Command {
	var server string
	var limit int
	cmd := &cobra.Command{
		Use: "changes [TOOL]", Short: "List tools that their servers changed",
		Long: "List tools that are new or removed, or whose title, description, schemas or annotations changed under the " +
			"same name, newest first. --format json has both versions.",
		Example: "  junctor tool changes --server notes", Args: cobra.MaximumNArgs(1), ValidArgsFunction: c.completeTools,
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			query := url.Values{"server": nonEmpty(server), "limit": {strconv.Itoa(limit)}}
			if len(args) > 0 {
				query.Set("tool", args[0])
			}
			return printList(c, cmd, "/tools/changes?"+query.Encode(), []string{"SEEN", "SERVER", "TOOL", "WHAT"}, func(ch junctor.ToolChange) []string {
				return []string{formatTime(ch.SeenAt), ch.Server, ch.Tool, describeChange(ch)}
			})
		}),
	}
	cmd.Flags().StringVar(&server, "server", "", "only the tools of this server")
	cmd.Flags().IntVar(&limit, "limit", 50, "maximum number of results")
	_ = cmd.RegisterFlagCompletionFunc("server", c.completeServers)
	c.addInstanceFlags(cmd)
	return cmd
}

// describeChange returns what changed of a tool.
func describeChange(ch junctor.ToolChange) string {
	switch {
	case ch.BeforeDigest == "":
		return "new"
	case ch.AfterDigest == "":
		return "removed"
	}
	return strings.Join(ch.What, ", ")
}

// roleCommand returns the group `junctor role`.
func (c *cli) roleCommand() *cobra.Command {
	cmd := newGroupCommand("role", "List, add and remove roles of agents and tools", "junctor role ls")
	ls := &cobra.Command{
		Use: "ls", Short: "List roles", Example: "  junctor role ls", Args: cobra.NoArgs,
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			return printList(c, cmd, "/roles", []string{"NAME", "OWN"}, func(r admin.RoleInfo) []string {
				own := ""
				if r.Own {
					own = "yes"
				}
				return []string{string(r.Name), own}
			})
		}),
	}
	cmd.AddCommand(ls, c.roleChange("add", "Add a role", http.MethodPut, "added"),
		c.roleChange("rm", "Remove an unused role that you added", http.MethodDelete, "removed"))
	c.addInstanceFlags(ls)
	return cmd
}

// roleChange returns `role add` or `role rm`, which verb names; method is the
// HTTP method of its request.
func (c *cli) roleChange(verb, short, method, state string) *cobra.Command {
	cmd := &cobra.Command{
		Use: verb + " NAME", Short: short, Example: "  junctor role " + verb + " Legal", Args: cobra.ExactArgs(1),
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			if err := c.requestAPI(cmd, method, apiPath("roles", args[0]), nil, nil); err != nil {
				return err
			}
			return c.printIfJSON(map[string]string{"name": args[0], "state": state})
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}
