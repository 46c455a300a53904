package cli

import (
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
)

// serverCommand returns the group `junctor server`. Its commands are in the
// files server*.go.
func (c *cli) serverCommand() *cobra.Command {
	cmd := newGroupCommand("server", "Add, list, show, change, test, switch and remove servers", "junctor server ls")
	cmd.AddCommand(c.serverAdd(), c.serverProbe(), c.serverTest(), c.serverImport(), c.serverReimport(), c.serverValidate(), c.serverSuggest(), c.serverSuggestions(), c.serverSet(), c.serverCredential(), c.serverList(), c.serverShow(), c.serverRemove(), c.serverLogin(), c.serverLogout(), c.serverTrace(),
		c.serverSwitch("enable", "Switch a server on", junctor.StateActive),
		c.serverSwitch("disable", "Switch a server off: its tools are not listed and cannot be called", junctor.StateInactive))
	return cmd
}

// serverList returns `server ls`.
func (c *cli) serverList() *cobra.Command {
	cmd := &cobra.Command{
		Use: "ls", Short: "List servers", Example: "  junctor server ls", Args: cobra.NoArgs,
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			return printList(c, cmd, "/servers", []string{"ID", "MODE", "STATE", "DECLARED", "FOUND FOR", "TITLE", "ERROR"}, func(s junctor.Server) []string {
				declared := ""
				if s.Declared != "" {
					declared = filepath.Base(s.Declared)
				}
				return []string{s.ID, string(s.Mode), string(s.State), declared, s.Discovered, firstLine(s.Title, 60), firstLine(s.LastError, 80)}
			})
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}

// serverShow returns `server show`.
func (c *cli) serverShow() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show ID", Short: "Show a server", Example: "  junctor server show demo", Args: cobra.ExactArgs(1), ValidArgsFunction: c.completeServers,
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			var s admin.ServerDetail
			if err := c.requestAPI(cmd, http.MethodGet, apiPath("servers", args[0]), nil, &s); err != nil {
				return err
			}
			return c.printServer(s)
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}

// printServer prints a server with its connection, its state and the last lines
// of its standard error. Names of headers and variables are shown, their values
// are not.
func (c *cli) printServer(s admin.ServerDetail) error {
	if c.wantsJSON() {
		return c.printJSON(s)
	}
	private := ""
	if s.Private {
		private = "yes"
	}
	believed := ""
	if s.BelieveAnnotations {
		believed = "believed"
	}
	facts := []string{
		"id", s.ID, "title", s.Title, "mode", string(s.Mode), "state", string(s.State), "last error", s.LastError,
		"transport", string(s.Transport), "url", s.URL, "command", quoteCommand(s.Command), "directory", s.Cwd, "auth", authType(s.Auth),
		"headers", strings.Join(slices.Sorted(maps.Keys(s.Headers)), ", "), "variables", strings.Join(slices.Sorted(maps.Keys(s.Env)), ", "),
		"credentials", string(s.Credentials), "isolation", describeIsolation(&s), "views", string(s.Views), "home", string(s.Home), "call timeout", describeLimit(s.CallTimeout), "call timeout max", describeLimit(s.CallTimeoutMax), "tool limits", describeToolLimits(s.Overrides), "annotations", believed, "declared", s.Declared, "found for", s.Discovered, "owner", s.Owner, "private", private, "created", formatTime(s.CreatedAt), "updated", formatTime(s.UpdatedAt),
	}
	if d := s.Diagnostics; d != nil {
		facts = append(facts, "protocol", describeProtocol(*d), "server", strings.TrimSpace(d.Name+" "+d.Release), "latency", formatLatency(*d),
			"last seen", d.LastSeen, "connections", strconv.Itoa(d.Sessions))
		// Only a server with a command has processes.
		if len(s.Command) > 0 {
			facts = append(facts, "processes", strconv.Itoa(d.Processes))
		}
	}
	facts = append(facts, "tools", strings.Join(s.Tools, ", "))
	// Tools that the instance does not expose as the server defines them.
	for _, one := range s.Problems {
		facts = append(facts, strings.ReplaceAll(one.Effect, "_", " "), one.Tool+": "+one.Reason)
	}
	err := c.printFacts(facts...)
	if d := s.Diagnostics; err == nil && d != nil && len(d.Stderr) > 0 {
		_, err = fmt.Fprintf(c.out, "\nwhat the command wrote to standard error last:\n%s\n", stripControls(strings.Join(d.Stderr, "\n")))
	}
	return err
}

// describeIsolation returns the isolation in force, with the reason if it is
// not the configured one.
func describeIsolation(s *admin.ServerDetail) string {
	if d := s.Diagnostics; d != nil && d.IsolationReason != "" {
		return string(d.Isolation) + ": " + d.IsolationReason
	}
	return string(s.Isolation)
}

// authType returns how Junctor authenticates itself; "" for not at all.
func authType(a *junctor.Auth) string {
	if a == nil {
		return ""
	}
	return string(a.Type)
}

// serverRemove returns `server rm`.
func (c *cli) serverRemove() *cobra.Command {
	return c.newDeleteCommand(deletion{
		use: "rm ID", short: "Remove a server for good", example: "server rm demo",
		collection: "servers", key: "id", state: "removed", complete: c.completeServers,
	})
}

// serverSwitch returns `server enable` or `server disable`.
func (c *cli) serverSwitch(verb, short string, state junctor.ServerState) *cobra.Command {
	cmd := &cobra.Command{
		Use: verb + " ID", Short: short, Example: "  junctor server " + verb + " demo", Args: cobra.ExactArgs(1), ValidArgsFunction: c.completeServers,
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			var s junctor.Server
			if err := c.requestAPI(cmd, http.MethodPatch, apiPath("servers", args[0]), map[string]junctor.ServerState{"state": state}, &s); err != nil {
				return err
			}
			return c.printIfJSON(s)
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}
