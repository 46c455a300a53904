package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
)

// serverCommand returns the group `junctor server`. Its commands are in the
// files server*.go.
func (c *cli) serverCommand() *cobra.Command {
	cmd := newGroupCommand("server", "Add, change, test and remove servers", "junctor server ls")
	cmd.AddCommand(c.serverAdd(), c.serverProbe(), c.serverTest(), c.serverImport(), c.serverReimport(), c.serverValidate(), c.serverSuggest(), c.serverSuggestions(), c.serverSet(), c.serverCredential(), c.serverList(), c.serverShow(), c.serverRemove(), c.serverLogin(), c.serverLogout(), c.serverTrace(),
		c.serverSwitch("enable", "Enable a server", junctor.StateActive),
		c.serverSwitch("disable", "Disable a server: its tools are not listed and cannot be called", junctor.StateInactive))
	return cmd
}

// serverItem is one server of `server ls`, with its health.
type serverItem struct {
	junctor.Server
	Health junctor.ServerHealth `json:"health"`
}

// serverList returns `server ls`.
func (c *cli) serverList() *cobra.Command {
	cmd := &cobra.Command{
		Use: "ls", Short: "List servers with their health", Example: "  junctor server ls\n  junctor server ls --format json", Args: cobra.NoArgs,
		Long: "List servers with their health, without connecting to them: ok, broken, unknown (no request since the " +
			"instance started) or off. TOKENS estimates what the tool list costs a model. CREDENTIALS is the age of the " +
			"credentials or the login. junctor doctor connects to each server.",
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			client, err := c.newClient(cmd)
			if err != nil {
				return err
			}
			items, err := loadServerHealth(cmd.Context(), client)
			if err != nil {
				return err
			}
			if c.wantsJSON() {
				return c.printJSON(listPage[serverItem]{Items: items})
			}
			return c.printServerItems(items)
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}

// loadServerHealth returns the servers of an instance with their health.
func loadServerHealth(ctx context.Context, client *adminClient) ([]serverItem, error) {
	var servers listPage[junctor.Server]
	var health listPage[junctor.ServerHealth]
	if err := errors.Join(client.get(ctx, "/servers", &servers), client.get(ctx, "/server-health", &health)); err != nil {
		return nil, err
	}
	items := make([]serverItem, len(servers.Items))
	for i, s := range servers.Items {
		items[i].Server = s
		for _, h := range health.Items {
			if h.Server == s.ID {
				items[i].Health = h
			}
		}
	}
	return items, nil
}

// printServerItems prints servers as a table, and below it what is broken.
func (c *cli) printServerItems(items []serverItem) error {
	now := time.Now()
	rows := make([][]string, len(items))
	for i, s := range items {
		declared := ""
		if s.Declared != "" {
			declared = filepath.Base(s.Declared)
		}
		rows[i] = []string{
			s.ID, string(s.Mode), string(s.State), string(s.Health.State), strconv.Itoa(s.Health.Tools), strconv.Itoa(s.Health.Tokens), formatAge(now, s.Health.CredentialsAt),
			declared, s.Discovered, firstLine(s.Title, 60),
		}
	}
	if err := c.printTable([]string{"ID", "MODE", "STATE", "HEALTH", "TOOLS", "TOKENS", "CREDENTIALS", "DECLARED", "FOUND FOR", "TITLE"}, rows); err != nil {
		return err
	}
	for _, s := range items {
		if s.Health.Problem != "" {
			c.printNote("%s: %s\n    %s", s.ID, toCell(s.Health.Problem), toCell(s.Health.Fix))
		}
	}
	return nil
}

// formatAge returns how long ago a time was, such as 3d; "" for the zero time.
func formatAge(now, t time.Time) string {
	age := now.Sub(t)
	switch {
	case t.IsZero():
		return ""
	case age < time.Hour:
		return fmt.Sprintf("%dm", int(max(age, 0).Minutes()))
	case age < 48*time.Hour:
		return fmt.Sprintf("%dh", int(age.Hours()))
	}
	return fmt.Sprintf("%dd", int(age.Hours()/24))
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
			if !c.wantsJSON() {
				var err error
				if s.Owner, err = c.ownerName(cmd, s.Owner); err != nil {
					return err
				}
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
		seen, _ := time.Parse(time.RFC3339, d.LastSeen) // zero if it has never answered
		facts = append(facts, "protocol", describeProtocol(*d), "server", strings.TrimSpace(d.Name+" "+d.Release), "latency", formatLatency(*d),
			"last seen", formatTime(seen), "connections", strconv.Itoa(d.Sessions))
		// Only a server with a command has processes.
		if len(s.Command) > 0 {
			facts = append(facts, "processes", strconv.Itoa(d.Processes))
		}
	}
	hidden, renamed := describeOverrides(s.Overrides)
	facts = append(facts, "tools", strings.Join(s.Tools, ", "), "hidden", hidden, "renamed", renamed)
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
		use: "rm ID", short: "Remove a server permanently", example: "server rm demo",
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
