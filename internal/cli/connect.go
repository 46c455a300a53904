package cli

import (
	"net/http"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/clients"
	"github.com/junctor-mcp/junctor/internal/proc"
)

// connectCommand returns `junctor connect`, which writes Junctor into the
// configuration file of an MCP client.
func (c *cli) connectCommand() *cobra.Command {
	var undo, list bool
	var file string
	var as agentConnection
	cmd := &cobra.Command{
		Use: "connect [CLIENT]", Short: "Add Junctor to the configuration of an MCP client",
		Long: "Add Junctor to the configuration of an MCP client: " +
			strings.Join(clients.Names(), ", ") +
			".\n\n" +
			"The client gets its own key, which can list and call tools, so that its calls can be distinguished and its " +
			"access revoked. With --agent it connects as an agent; a new agent is added with the tools of --tool. --list " +
			"shows which clients are connected. --undo removes Junctor again and revokes the key. A copy of the client's " +
			"file is kept beside it.",
		Example: "  junctor connect cursor\n  junctor connect cursor --agent laptop --tool 'notes/*' --tool 'github/get_*'\n  junctor connect --list\n  junctor connect cursor --undo",
		Args:    cobra.MaximumNArgs(1), ValidArgsFunction: completeClients,
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			switch {
			case list && len(args) > 0:
				return usageErrorf("--list cannot be combined with a CLIENT: it lists all clients")
			case list:
				return c.listConnections(cmd)
			case len(args) == 0:
				return usageErrorf("name a CLIENT: %s; or use --list", strings.Join(clients.Names(), ", "))
			case len(as.patterns) > 0 && as.name == "":
				return usageErrorf("--tool requires --agent, the name of the agent that gets the tools")
			}
			client, err := clients.Find(args[0])
			if err != nil {
				return err
			}
			if file == "" {
				if file, err = client.File(runtime.GOOS, c.getenv); err != nil {
					return err
				}
			}
			if undo {
				return c.disconnectClient(cmd, client, file)
			}
			return c.connectClient(cmd, client, file, as)
		}),
	}
	cmd.Flags().BoolVar(&undo, "undo", false, "remove Junctor from the client's configuration and revoke its key")
	cmd.Flags().BoolVar(&list, "list", false, "list the connected clients, with their keys and when they were last seen")
	cmd.Flags().StringVar(&as.name, "agent", "", "connect the client as the agent with this `name`; a new agent is added")
	cmd.Flags().StringArrayVar(&as.patterns, "tool", nil, "with --agent: `pattern` of tools that a new agent may call: server/tool, server/* for all current and future tools, or server/get_* for current tools that match; repeatable")
	_ = cmd.RegisterFlagCompletionFunc("tool", c.completeGrants)
	_ = cmd.RegisterFlagCompletionFunc("agent", c.completeAgents)
	cmd.MarkFlagsMutuallyExclusive("undo", "agent", "list")
	cmd.Flags().StringVar(&file, "file", "", "configuration `file` of the client (default its usual one)")
	c.addInstanceFlags(cmd)
	return cmd
}

// completeClients suggests the names of known clients.
func completeClients(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var names []string
	if len(args) == 0 {
		for _, k := range clients.All() {
			names = append(names, k.Name+"\t"+k.Title)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// clientKeyName returns the name of the key that a client gets. Keys of earlier
// connects are found by it.
func clientKeyName(client clients.Client) string { return clientKeyPrefix + client.Name }

// clientKeyPrefix begins the names of keys of clients.
const clientKeyPrefix = "client "

// connectResult is the output of connect for programs.
type connectResult struct {
	Client string `json:"client"`
	File   string `json:"file"`
	Agent  string `json:"agent,omitempty"`
	Backup string `json:"backup,omitempty"`
	State  string `json:"state"` // connected, disconnected
}

// connectClient creates a key for a client, of an agent if as names one, writes it into the client's file,
// and revokes the keys that the client had before. If the file cannot be
// written, the new key is revoked again.
func (c *cli) connectClient(cmd *cobra.Command, client clients.Client, file string, as agentConnection) error {
	t, err := c.findTarget(cmd)
	if err != nil {
		return err
	}
	if as.name != "" {
		if err := c.provideAgent(cmd, as); err != nil {
			return err
		}
		t.URL += "/a/" + as.name
	}
	key, err := c.createClientKey(cmd, client, as.name)
	if err != nil {
		return err
	}
	t.Key = key.Token
	backup, err := client.Connect(file, t)
	if err != nil {
		_ = c.requestAPI(cmd, http.MethodDelete, apiPath("keys", key.ID), nil, nil) // nobody knows it
		return err
	}
	// Only now is the former key of no use: the file has the new one.
	if err := c.revokeOthers(cmd, client, key.ID); err != nil {
		return err
	}
	if !c.wantsJSON() {
		agent := ""
		if as.name != "" {
			agent = " as the agent " + as.name
		}
		c.printNote("%s is connected%s by %s; restart it. junctor connect %s --undo reverts this", client.Title, agent, file, client.Name)
	}
	return c.printIfJSON(connectResult{Client: client.Name, File: file, Agent: as.name, Backup: backup, State: "connected"})
}

// createClientKey creates the key of a client; of an agent, if one is named. It can list and call tools, and nothing
// else: it is in a file in plain text.
func (c *cli) createClientKey(cmd *cobra.Command, client clients.Client, agent string) (key admin.CreatedKey, err error) {
	body := map[string]any{"name": clientKeyName(client), "scopes": []junctor.Scope{junctor.ScopeToolsRead, junctor.ScopeToolsCall}}
	if agent != "" {
		body["agent"] = agent
	}
	err = c.requestAPI(cmd, http.MethodPost, "/keys", body, &key)
	return key, err
}

// findTarget returns how clients reach the instance that the command line
// means, from its settings. The key is not set.
func (c *cli) findTarget(cmd *cobra.Command) (clients.Target, error) {
	var settings listPage[admin.Setting]
	if err := c.requestAPI(cmd, http.MethodGet, "/settings", nil, &settings); err != nil {
		return clients.Target{}, err
	}
	value := map[string]string{}
	for _, s := range settings.Items {
		value[s.Name] = s.Value
	}
	// The instance itself knows how it is reached. The settings of this command
	// line may be those of another one.
	base := value["public-url"]
	if base == "" {
		scheme := "http://"
		if value["tls-cert"] != "" {
			scheme = "https://"
		}
		base = scheme + value["listen"]
	}
	self, err := proc.ExecutablePath()
	if err != nil {
		return clients.Target{}, err
	}
	dir, err := filepath.Abs(value["data-dir"])
	if err != nil {
		return clients.Target{}, err
	}
	return clients.Target{URL: base + "/mcp", Command: []string{self, "stdio", "--data-dir", dir}}, nil
}

// disconnectClient removes Junctor from a client's file and revokes the
// client's keys. The file is changed even if no instance answers; the user is
// then warned that a key is left.
func (c *cli) disconnectClient(cmd *cobra.Command, client clients.Client, file string) error {
	found, err := client.Undo(file)
	if err != nil {
		return err
	}
	if err := c.revokeOthers(cmd, client, ""); err != nil {
		c.printNote("warning: the key %q was not revoked: %s", clientKeyName(client), formatError(err))
	}
	if !found {
		return junctor.Errorf(junctor.CodeNotFound, "Junctor is not in %s", file)
	}
	return c.printIfJSON(connectResult{Client: client.Name, File: file, State: "disconnected"})
}

// revokeOthers revokes the keys of a client, except the one with the id but.
func (c *cli) revokeOthers(cmd *cobra.Command, client clients.Client, but string) error {
	var keys listPage[junctor.Key]
	if err := c.requestAPI(cmd, http.MethodGet, "/keys", nil, &keys); err != nil {
		return err
	}
	for _, k := range keys.Items {
		if k.Name == clientKeyName(client) && k.ID != but && k.RevokedAt.IsZero() {
			if err := c.requestAPI(cmd, http.MethodDelete, apiPath("keys", k.ID), nil, nil); err != nil {
				return err
			}
		}
	}
	return nil
}
