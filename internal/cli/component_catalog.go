package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/junctor-mcp/junctor/internal/a2ui"
	"github.com/junctor-mcp/junctor/internal/admin"
)

// componentCatalogCommand returns the group `junctor component-catalog`: A2UI
// catalogs of interface components.
func (c *cli) componentCatalogCommand() *cobra.Command {
	cmd := newGroupCommand("component-catalog", "Manage the UI components that agents can answer with", "junctor component-catalog ls")
	cmd.AddCommand(c.componentCatalogAdd(), c.componentCatalogList(), c.componentCatalogShow(),
		c.newRemoveCommand("component-catalog", "component-catalogs", "Remove a registered component catalog", "fleet"))
	return cmd
}

// componentCatalogAdd returns `component-catalog add`. Size and syntax are
// checked here, so that the error names the file.
func (c *cli) componentCatalogAdd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "add NAME FILE", Short: "Register a component catalog, or replace it",
		Long: "Register a catalog of UI components, or replace one. FILE is a JSON document in the form of A2UI v0.9: " +
			"components by name, each in the namespace of the catalog, with JSON Schemas of their properties. Its " +
			"member fallbacks names the basic components that replace each component in the console and in clients that " +
			"do not know the catalog. Agents can use the components at once. docs/guides/a2ui.md has an example.",
		Example: "  junctor component-catalog add fleet fleet.json", Args: cobra.ExactArgs(2),
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			if info, err := os.Stat(args[1]); err == nil && info.Size() > a2ui.MaxCatalogBytes {
				return usageErrorf("%s is too large for a component catalog: the maximum is %d KiB", args[1], a2ui.MaxCatalogBytes>>10)
			}
			text, err := os.ReadFile(args[1])
			if err != nil {
				return usageErrorf("%s cannot be read: %v", args[1], err)
			}
			if !json.Valid(text) {
				return usageErrorf("%s is invalid JSON: a component catalog is a JSON document", args[1])
			}
			var added admin.ComponentCatalog
			if err := c.requestAPI(cmd, http.MethodPut, apiPath("component-catalogs", args[0]), map[string]any{"document": json.RawMessage(text)}, &added); err != nil {
				return err
			}
			c.printNote("registered %s with %s; it is served at %s", added.ID, strings.Join(added.Components, ", "), added.URL)
			return c.printIfJSON(added)
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}

// componentCatalogList returns `component-catalog ls`.
func (c *cli) componentCatalogList() *cobra.Command {
	cmd := &cobra.Command{
		Use: "ls", Short: "List component catalogs", Example: "  junctor component-catalog ls", Args: cobra.NoArgs,
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			return printList(c, cmd, "/component-catalogs", []string{"NAME", "FROM", "ID", "COMPONENTS"}, func(one admin.ComponentCatalog) []string {
				from := "registered"
				switch {
				case one.Problem != "":
					from = "not used: " + one.Problem
				case one.Builtin:
					from = "the program"
				}
				return []string{one.Name, from, one.ID, strings.Join(one.Components, ", ")}
			})
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}

// componentCatalogShow returns `component-catalog show`, which prints the
// document alone.
func (c *cli) componentCatalogShow() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show NAME", Short: "Print the document of a component catalog", Example: "  junctor component-catalog show banking-v1", Args: cobra.ExactArgs(1),
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			var one admin.ComponentCatalog
			if err := c.requestAPI(cmd, http.MethodGet, apiPath("component-catalogs", args[0]), nil, &one); err != nil {
				return err
			}
			if c.wantsJSON() {
				return c.printJSON(one)
			}
			_, err := fmt.Fprintf(c.out, "%s\n", one.Document)
			return err
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}
