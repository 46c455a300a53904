package cli

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
)

func (c *cli) serverSuggest() *cobra.Command {
	var in admin.Suggest
	cmd := &cobra.Command{
		Use: "suggest ID", Short: "Have a model suggest names, descriptions and roles for the tools of an API",
		Long: "Ask a model how the tools of an auto-generated server could be shown better, and whom they are for. Nothing is changed: look at\n" +
			"what it suggests, and approve or reject it with junctor server suggestions.",
		Example: "  junctor server suggest pets --model local", Args: cobra.ExactArgs(1), ValidArgsFunction: c.completeServers,
		RunE: run(func(cmd *cobra.Command, args []string) error {
			var out admin.Suggested
			err := c.waiting("the model is asked", func() error {
				return c.ask(cmd, http.MethodPost, path("servers", args[0], "suggestions"), in, &out)
			})
			if err != nil {
				return err
			}
			if c.json() {
				return c.printJSON(out)
			}
			c.printSuggestions(out.Items)
			for _, left := range out.LeftOut {
				c.say("left out: %s: %s", cell(left.Tool), cell(left.Reason))
			}
			if len(out.Items) == 0 {
				c.say("the model %s suggests nothing", out.Model)
				return nil
			}
			c.say("nothing is changed yet: junctor server suggestions %s --approve all, or --approve TOOL, or --reject", args[0])
			return nil
		}),
	}
	cmd.Flags().StringVar(&in.Model, "model", "", "which model is asked, by `name` (default the only one)")
	cmd.Flags().StringArrayVar(&in.Tools, "tool", nil, "only this tool, by the server's own `name`; may be given several times")
	c.remote(cmd)
	return cmd
}

func (c *cli) serverSuggestions() *cobra.Command {
	var approve, reject []string
	cmd := &cobra.Command{
		Use: "suggestions ID", Short: "Show what a model suggests for the tools of an API; approve or reject it",
		Example: "  junctor server suggestions pets\n  junctor server suggestions pets --approve list_pets --reject delete_pet",
		Args:    cobra.ExactArgs(1), ValidArgsFunction: c.completeServers,
		RunE: run(func(cmd *cobra.Command, args []string) error {
			at := path("servers", args[0], "suggestions")
			var page list[junctor.ToolSuggestion]
			if err := c.ask(cmd, http.MethodGet, at, nil, &page); err != nil {
				return err
			}
			if len(approve)+len(reject) == 0 {
				if c.json() {
					return c.printJSON(page)
				}
				c.printSuggestions(page.Items)
				if len(page.Items) == 0 {
					c.say("nothing is suggested; junctor server suggest %s asks a model", args[0])
				}
				return nil
			}
			for _, way := range []struct {
				word  string
				tools []string
			}{{"approve", approve}, {"reject", reject}} {
				if err := c.decide(cmd, at, way.word, page.Items, way.tools); err != nil {
					return err
				}
			}
			return nil
		}),
	}
	cmd.Flags().StringArrayVar(&approve, "approve", nil, "show this tool as is suggested, by the server's own `name`, or all; may be given several times")
	cmd.Flags().StringArrayVar(&reject, "reject", nil, "forget what is suggested for this tool, by the server's own `name`, or all; may be given several times")
	c.remote(cmd)
	return cmd
}

// decide approves or rejects what is suggested for tools.
func (c *cli) decide(cmd *cobra.Command, at, word string, there []junctor.ToolSuggestion, tools []string) error {
	var ids []string
	for _, name := range tools {
		before := len(ids)
		for _, one := range there {
			if (name == "all" || name == one.Tool) && !slices.Contains(ids, one.ID) {
				ids = append(ids, one.ID)
			}
		}
		if len(ids) == before {
			return junctor.Errorf(junctor.CodeNotFound, "nothing is suggested for %q", name)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	var done list[junctor.ToolSuggestion]
	if err := c.ask(cmd, http.MethodPost, at+"/"+word, map[string]any{"ids": ids}, &done); err != nil {
		return err
	}
	if c.json() {
		return c.printJSON(done)
	}
	if word == "approve" {
		c.printSuggestions(done.Items)
		c.say("%d approved", len(done.Items))
	} else {
		c.say("%d rejected", len(done.Items))
	}
	return nil
}

// printSuggestions shows what is, and what would be.
func (c *cli) printSuggestions(all []junctor.ToolSuggestion) {
	for _, one := range all {
		fmt.Fprintf(c.out, "%s  %s\n", cell(one.Tool), cell(one.Key))
		row := func(what, now, to string) {
			if to != "" {
				fmt.Fprintf(c.out, "  %s\n    - %s\n    + %s\n", what, cell(now), cell(to))
			}
		}
		row("name", one.Now.Name, one.To.Name)
		row("description", one.Now.Description, one.To.Description)
		row("roles", joinRoles(one.Now.Roles), joinRoles(one.To.Roles))
		row("category", one.Now.Category, one.To.Category)
	}
}
