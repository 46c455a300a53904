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

func (c *cli) serverCommand() *cobra.Command {
	cmd := noun("server", "Add, list, show, change, test, switch and remove servers", "junctor server ls")
	cmd.AddCommand(c.serverAdd(), c.serverProbe(), c.serverTest(), c.serverImport(), c.serverReimport(), c.serverValidate(), c.serverSuggest(), c.serverSuggestions(), c.serverSet(), c.serverCredential(), c.serverList(), c.serverShow(), c.serverRemove(), c.serverLogin(), c.serverLogout(), c.serverTrace(),
		c.serverSwitch("enable", "Switch a server on", junctor.StateActive),
		c.serverSwitch("disable", "Switch a server off: its tools are not listed and cannot be called", junctor.StateInactive))
	return cmd
}

func (c *cli) serverList() *cobra.Command {
	cmd := &cobra.Command{
		Use: "ls", Short: "List servers", Example: "  junctor server ls", Args: cobra.NoArgs,
		RunE: run(func(cmd *cobra.Command, _ []string) error {
			return printList(c, cmd, "/servers", []string{"ID", "MODE", "STATE", "DECLARED", "FOUND FOR", "TITLE", "ERROR"}, func(s junctor.Server) []string {
				declared := ""
				if s.Declared != "" {
					declared = filepath.Base(s.Declared)
				}
				return []string{s.ID, string(s.Mode), string(s.State), declared, s.Found, firstLine(s.Title, 60), firstLine(s.LastError, 80)}
			})
		}),
	}
	c.remote(cmd)
	return cmd
}

func (c *cli) serverShow() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show ID", Short: "Show a server", Example: "  junctor server show demo", Args: cobra.ExactArgs(1), ValidArgsFunction: c.completeServers,
		RunE: run(func(cmd *cobra.Command, args []string) error {
			var s admin.ServerDetail
			if err := c.ask(cmd, http.MethodGet, path("servers", args[0]), nil, &s); err != nil {
				return err
			}
			return c.printServer(s)
		}),
	}
	c.remote(cmd)
	return cmd
}

func (c *cli) printServer(s admin.ServerDetail) error {
	if c.json() {
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
		"transport", string(s.Transport), "url", s.URL, "command", shown(s.Command), "directory", s.Cwd, "auth", authOf(s.Auth),
		"headers", strings.Join(slices.Sorted(maps.Keys(s.Headers)), ", "), "variables", strings.Join(slices.Sorted(maps.Keys(s.Env)), ", "),
		"credentials", string(s.Credentials), "isolation", isolationOf(&s), "views", string(s.Views), "home", string(s.Home), "annotations", believed, "declared", s.Declared, "found for", s.Found, "owner", s.Owner, "private", private, "created", moment(s.CreatedAt), "updated", moment(s.UpdatedAt),
	}
	if d := s.Diagnostics; d != nil {
		facts = append(facts, "protocol", protocol(*d), "server", strings.TrimSpace(d.Name+" "+d.Release), "latency", latency(*d),
			"last seen", d.LastSeen, "connections", strconv.Itoa(d.Sessions))
		if len(s.Command) > 0 {
			facts = append(facts, "processes", strconv.Itoa(d.Processes))
		}
	}
	facts = append(facts, "tools", strings.Join(s.Tools, ", "))
	for _, one := range s.Problems {
		facts = append(facts, strings.ReplaceAll(one.Effect, "_", " "), one.Tool+": "+one.Reason)
	}
	err := c.facts(facts...)
	if d := s.Diagnostics; err == nil && d != nil && len(d.Stderr) > 0 {
		_, err = fmt.Fprintf(c.out, "\nwhat the command wrote to standard error last:\n%s\n", printable(strings.Join(d.Stderr, "\n")))
	}
	return err
}

// isolationOf is the isolation that holds, and why that is not the one set.
func isolationOf(s *admin.ServerDetail) string {
	if d := s.Diagnostics; d != nil && d.IsolationReason != "" {
		return string(d.Isolation) + ": " + d.IsolationReason
	}
	return string(s.Isolation)
}

func authOf(a *junctor.Auth) string {
	if a == nil {
		return ""
	}
	return string(a.Type)
}

func (c *cli) serverRemove() *cobra.Command {
	cmd := &cobra.Command{
		Use: "rm ID", Short: "Remove a server for good", Example: "  junctor server rm demo", Args: cobra.ExactArgs(1), ValidArgsFunction: c.completeServers,
		RunE: run(func(cmd *cobra.Command, args []string) error {
			if err := c.ask(cmd, http.MethodDelete, path("servers", args[0]), nil, nil); err != nil {
				return err
			}
			return c.done(map[string]string{"id": args[0], "state": "removed"})
		}),
	}
	c.remote(cmd)
	return cmd
}

func (c *cli) serverSwitch(verb, short string, state junctor.ServerState) *cobra.Command {
	cmd := &cobra.Command{
		Use: verb + " ID", Short: short, Example: "  junctor server " + verb + " demo", Args: cobra.ExactArgs(1), ValidArgsFunction: c.completeServers,
		RunE: run(func(cmd *cobra.Command, args []string) error {
			var s junctor.Server
			if err := c.ask(cmd, http.MethodPatch, path("servers", args[0]), map[string]junctor.ServerState{"state": state}, &s); err != nil {
				return err
			}
			return c.done(s)
		}),
	}
	c.remote(cmd)
	return cmd
}
