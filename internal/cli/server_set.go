package cli

import (
	"context"
	"maps"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
)

// serverSet returns `server set`, which patches /servers/ID. If the connection
// changes, the instance connects first and refuses the change if that fails.
func (c *cli) serverSet() *cobra.Command {
	var f serverFlags
	var settings junctor.APISettings
	var settingFlags fieldFlags
	var removed removedPairs
	cmd := &cobra.Command{
		Use: "set ID [-- COMMAND [ARG...]]", Short: "Change a server",
		Long: "Change a server. Values without a flag stay as they are, and so do its tools, grants and credentials. If " +
			"the change affects the connection, Junctor connects to the server first, and changes nothing if that fails.\n\n" +
			"--env and --header change only the variables and headers that they name; --remove-env and --remove-header " +
			"remove them.",
		Example: "  junctor server set notes --credentials per-user\n  junctor server set notes --hide delete_all --rename find=search\n  junctor server set files --env TOKEN=@token.txt\n  junctor server set files --call-timeout 10m -- npx -y @modelcontextprotocol/server-filesystem /srv/other",
		Args:    cobra.MinimumNArgs(1), ValidArgsFunction: c.completeServers,
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			change, err := c.makeServerChange(cmd, &f, args[1:])
			if err != nil {
				return err
			}
			settingFlags.addGiven(cmd, change)
			client, err := c.newClient(cmd)
			if err != nil {
				return err
			}
			if f.overrides.given() || change["env"] != nil || change["headers"] != nil || removed.given() {
				if err := mergeStored(cmd.Context(), client, args[0], &f, removed, change); err != nil {
					return err
				}
			}
			if len(change) == 0 {
				return usageErrorf("no change given: use at least one flag, such as --title or --url")
			}
			var changed junctor.Server
			err = c.runWithProgress("waiting for the server to answer", func() error {
				return client.exchange(cmd.Context(), http.MethodPatch, apiPath("servers", args[0]), change, &changed)
			})
			if err != nil {
				return err
			}
			return c.printIfJSON(changed)
		}),
	}
	f.addAuth(cmd)
	f.addLogin(cmd)
	f.addConnection(cmd, noFlag)
	settingFlags.addTo(cmd, &settings, noFlag)
	cmd.Flags().StringArrayVar(&removed.env, "remove-env", nil, "remove this environment `variable`; repeatable")
	cmd.Flags().StringArrayVar(&removed.headers, "remove-header", nil, "remove this `header`; repeatable")
	cmd.Flags().BoolVarP(&f.assumeYes, "yes", "y", false, "run the command without asking for confirmation")
	c.addInstanceFlags(cmd)
	return cmd
}

// makeServerChange returns the members of a server that flags and a command change, by
// their names in the API. It reads the secrets that they refer to, and asks for consent to
// the command.
func (c *cli) makeServerChange(cmd *cobra.Command, f *serverFlags, command []string) (map[string]any, error) {
	auth, err := c.makeAuthBody(f)
	if err != nil {
		return nil, err
	}
	if err := f.fields.readMaps(c); err != nil {
		return nil, err
	}
	change := map[string]any{}
	f.fields.addGiven(cmd, change)
	if auth != nil {
		change["auth"] = auth
	}
	if cmd.Flags().Changed("title") {
		change["title"] = f.title
	}
	if cmd.Flags().Changed("private") {
		change["private"] = f.private
	}
	if len(command) == 0 {
		return change, nil
	}
	if cmd.ArgsLenAtDash() != 1 {
		return nil, usageErrorf("give a URL with --url, or a command after two dashes: -- COMMAND ARG...")
	}
	change["command"] = command
	return change, c.askConsent(f.assumeYes, command)
}

// removedPairs are the variables and headers that `server set` removes.
type removedPairs struct{ env, headers []string }

// given reports whether there are any.
func (r removedPairs) given() bool { return len(r.env)+len(r.headers) > 0 }

// mergeStored puts what the stored server has and the flags do not name into a change:
// overrides, variables and headers are replaced as a whole by the API. The client then
// refuses the change if the server changed in the meantime.
func mergeStored(ctx context.Context, client *adminClient, id string, f *serverFlags, removed removedPairs, change map[string]any) error {
	var stored admin.ServerDetail
	if err := client.get(ctx, apiPath("servers", id), &stored); err != nil {
		return err
	}
	client.version = stored.UpdatedAt
	if f.overrides.given() {
		overrides, err := f.overrides.applyTo(stored.Overrides, ownToolNames(&stored))
		if err != nil {
			return err
		}
		change["overrides"] = overrides
	}
	for _, m := range []struct {
		member, flag  string
		stored, given map[string]string
		removed       []string
		same          func(a, b string) bool
	}{
		{"env", "--remove-env", stored.Env, f.connection.Env, removed.env, func(a, b string) bool { return a == b }},
		{"headers", "--remove-header", stored.Headers, f.connection.Headers, removed.headers, strings.EqualFold},
	} {
		if m.given == nil && m.removed == nil {
			continue
		}
		// A stored value is masked here, and sent back as it is: the mask keeps it.
		merged := maps.Clone(m.stored)
		if merged == nil {
			merged = map[string]string{}
		}
		for _, name := range m.removed {
			before := len(merged)
			maps.DeleteFunc(merged, func(has, _ string) bool { return m.same(has, name) })
			if len(merged) == before {
				return usageErrorf("%s %s: the server has none with this name", m.flag, name)
			}
		}
		for name, value := range m.given {
			maps.DeleteFunc(merged, func(has, _ string) bool { return m.same(has, name) })
			merged[name] = value
		}
		change[m.member] = merged
	}
	return nil
}
