package cli

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
)

// serverSuggest returns `server suggest`, which asks a model for better names
// and descriptions of the tools of an API. It changes nothing.
func (c *cli) serverSuggest() *cobra.Command {
	var in admin.Suggest
	cmd := &cobra.Command{
		Use: "suggest ID", Short: "Let a model suggest names, descriptions and roles for generated tools",
		Long: "Ask a model for better names and descriptions of the tools of a generated server, and for their roles. " +
			"Nothing changes: review the suggestions, and approve or reject them with junctor server suggestions.",
		Example: "  junctor server suggest pets --model local", Args: cobra.ExactArgs(1), ValidArgsFunction: c.completeServers,
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			var out admin.Suggested
			err := c.runWithProgress("waiting for the model", func() error {
				return c.requestAPI(cmd, http.MethodPost, apiPath("servers", args[0], "suggestions"), in, &out)
			})
			if err != nil {
				return err
			}
			if c.wantsJSON() {
				return c.printJSON(out)
			}
			c.printSuggestions(out.Items)
			for _, left := range out.LeftOut {
				c.printNote("left out: %s: %s", toCell(left.Tool), toCell(left.Reason))
			}
			if len(out.Items) == 0 {
				c.printNote("the model %s suggests nothing", out.Model)
				return nil
			}
			c.printNote("nothing is changed yet: junctor server suggestions %s --approve all, or --approve TOOL, or --reject", args[0])
			return nil
		}),
	}
	cmd.Flags().StringVar(&in.Model, "model", "", "`name` of the model to ask (default the only one)")
	cmd.Flags().StringArrayVar(&in.Tools, "tool", nil, "only this tool, by its `name` at the server; repeatable")
	c.addInstanceFlags(cmd)
	return cmd
}

// serverSuggestions returns `server suggestions`, which lists, approves and
// rejects them.
func (c *cli) serverSuggestions() *cobra.Command {
	var approve, reject []string
	cmd := &cobra.Command{
		Use: "suggestions ID", Short: "Show, approve or reject the suggestions of a model",
		Example: "  junctor server suggestions pets\n  junctor server suggestions pets --approve list_pets --reject delete_pet",
		Args:    cobra.ExactArgs(1), ValidArgsFunction: c.completeServers,
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			at := apiPath("servers", args[0], "suggestions")
			var page listPage[junctor.ToolSuggestion]
			if err := c.requestAPI(cmd, http.MethodGet, at, nil, &page); err != nil {
				return err
			}
			if len(approve)+len(reject) == 0 {
				if c.wantsJSON() {
					return c.printJSON(page)
				}
				c.printSuggestions(page.Items)
				if len(page.Items) == 0 {
					c.printNote("nothing is suggested; junctor server suggest %s asks a model", args[0])
				}
				return nil
			}
			for _, way := range []struct {
				word  string
				tools []string
			}{{"approve", approve}, {"reject", reject}} {
				if err := c.decideSuggestions(cmd, at, way.word, page.Items, way.tools); err != nil {
					return err
				}
			}
			return nil
		}),
	}
	cmd.Flags().StringArrayVar(&approve, "approve", nil, "apply the suggestion for this tool, by its `name` at the server, or all; repeatable")
	cmd.Flags().StringArrayVar(&reject, "reject", nil, "discard the suggestion for this tool, by its `name` at the server, or all; repeatable")
	c.addInstanceFlags(cmd)
	return cmd
}

// decideSuggestions approves or rejects the suggestions for tools; word is
// approve or reject. The name all means every suggestion. at is the path of the
// suggestions.
func (c *cli) decideSuggestions(cmd *cobra.Command, at, word string, there []junctor.ToolSuggestion, tools []string) error {
	var ids []string
	for _, name := range tools {
		// A name without a suggestion is an error, because it is probably
		// misspelled.
		before := len(ids)
		for _, one := range there {
			if (name == "all" || name == one.Tool) && !slices.Contains(ids, one.ID) {
				ids = append(ids, one.ID)
			}
		}
		if len(ids) == before {
			return junctor.Errorf(junctor.CodeNotFound, "no suggestion exists for the tool %q", name)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	var done listPage[junctor.ToolSuggestion]
	if err := c.requestAPI(cmd, http.MethodPost, at+"/"+word, map[string]any{"ids": ids}, &done); err != nil {
		return err
	}
	if c.wantsJSON() {
		return c.printJSON(done)
	}
	if word == "approve" {
		c.printSuggestions(done.Items)
		c.printNote("%d approved", len(done.Items))
	} else {
		c.printNote("%d rejected", len(done.Items))
	}
	return nil
}

// printSuggestions prints the present and the suggested values.
func (c *cli) printSuggestions(all []junctor.ToolSuggestion) {
	for _, one := range all {
		fmt.Fprintf(c.out, "%s  %s\n", toCell(one.Tool), toCell(one.Key))
		row := func(what, now, to string) {
			if to != "" {
				fmt.Fprintf(c.out, "  %s\n    - %s\n    + %s\n", what, toCell(now), toCell(to))
			}
		}
		row("name", one.Now.Name, one.To.Name)
		row("description", one.Now.Description, one.To.Description)
		row("roles", joinRoles(one.Now.Roles), joinRoles(one.To.Roles))
		row("category", one.Now.Category, one.To.Category)
	}
}
