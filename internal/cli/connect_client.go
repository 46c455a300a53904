package cli

import (
	"net/http"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/clients"
	"github.com/junctor-mcp/junctor/internal/proc"
)

func (c *cli) connectCommand() *cobra.Command {
	var undo bool
	var file string
	cmd := &cobra.Command{
		Use: "connect CLIENT", Short: "Put Junctor into the configuration of an MCP client, or take it out",
		Long: "Put Junctor into the configuration of an MCP client: claude-code, claude-desktop, cursor, vscode, gemini,\n" +
			"windsurf or codex. The client gets a key of its own, which may list and call tools, so that its calls can be\n" +
			"told apart and its access taken away. The file as it was is kept beside it. --undo takes the entry out again\n" +
			"and revokes the key.",
		Example: "  junctor connect cursor\n  junctor connect cursor --undo", Args: cobra.ExactArgs(1), ValidArgsFunction: completeClients,
		RunE: run(func(cmd *cobra.Command, args []string) error {
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
				return c.disconnect(cmd, client, file)
			}
			return c.connectTo(cmd, client, file)
		}),
	}
	cmd.Flags().BoolVar(&undo, "undo", false, "take Junctor out again")
	cmd.Flags().StringVar(&file, "file", "", "the client's `file`, where it is not the usual one")
	c.remote(cmd)
	return cmd
}

func completeClients(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var names []string
	if len(args) == 0 {
		for _, k := range clients.All() {
			names = append(names, k.Name+"\t"+k.Title)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// keyName is what the key of a client is called.
func keyName(client clients.Client) string { return "client " + client.Name }

// connection is what connect has done, for programs.
type connection struct {
	Client string `json:"client"`
	File   string `json:"file"`
	Backup string `json:"backup,omitempty"`
	State  string `json:"state"` // connected, disconnected
}

func (c *cli) connectTo(cmd *cobra.Command, client clients.Client, file string) error {
	t, err := c.targetOf(cmd)
	if err != nil {
		return err
	}
	var key admin.CreatedKey
	body := map[string]any{"name": keyName(client), "scopes": []junctor.Scope{junctor.ScopeToolsRead, junctor.ScopeToolsCall}}
	if err := c.ask(cmd, http.MethodPost, "/keys", body, &key); err != nil {
		return err
	}
	t.Key = key.Token
	backup, err := client.Connect(file, t)
	if err != nil {
		_ = c.ask(cmd, http.MethodDelete, path("keys", key.ID), nil, nil) // nobody has it
		return err
	}
	if err := c.revokeOthers(cmd, client, key.ID); err != nil {
		return err
	}
	if !c.json() {
		c.say("%s is connected by %s; restart it. junctor connect %s --undo takes it out again", client.Title, file, client.Name)
	}
	return c.done(connection{Client: client.Name, File: file, Backup: backup, State: "connected"})
}

// targetOf is where clients find the instance that this command line means.
func (c *cli) targetOf(cmd *cobra.Command) (clients.Target, error) {
	var settings list[admin.Setting]
	if err := c.ask(cmd, http.MethodGet, "/settings", nil, &settings); err != nil {
		return clients.Target{}, err
	}
	value := map[string]string{}
	for _, s := range settings.Items {
		value[s.Name] = s.Value
	}
	base := value["public-url"]
	if base == "" {
		scheme := "http://"
		if value["tls-cert"] != "" {
			scheme = "https://"
		}
		base = scheme + value["listen"]
	}
	self, err := proc.Self()
	if err != nil {
		return clients.Target{}, err
	}
	dir, err := filepath.Abs(value["data-dir"])
	if err != nil {
		return clients.Target{}, err
	}
	return clients.Target{URL: base + "/mcp", Command: []string{self, "stdio", "--data-dir", dir}}, nil
}

func (c *cli) disconnect(cmd *cobra.Command, client clients.Client, file string) error {
	found, err := client.Undo(file)
	if err != nil {
		return err
	}
	if err := c.revokeOthers(cmd, client, ""); err != nil {
		c.say("warning: the key %q was not revoked: %s", keyName(client), explain(err))
	}
	if !found {
		return junctor.Errorf(junctor.CodeNotFound, "Junctor is not in %s", file)
	}
	return c.done(connection{Client: client.Name, File: file, State: "disconnected"})
}

// revokeOthers revokes the keys that a client had before.
func (c *cli) revokeOthers(cmd *cobra.Command, client clients.Client, but string) error {
	var keys list[junctor.Key]
	if err := c.ask(cmd, http.MethodGet, "/keys", nil, &keys); err != nil {
		return err
	}
	for _, k := range keys.Items {
		if k.Name == keyName(client) && k.ID != but && k.RevokedAt.IsZero() {
			if err := c.ask(cmd, http.MethodDelete, path("keys", k.ID), nil, nil); err != nil {
				return err
			}
		}
	}
	return nil
}
