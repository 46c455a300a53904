package cli

import (
	"net/http"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/clients"
)

// agentConnection is the agent that a client is connected as.
type agentConnection struct {
	name     string   // "" connects the client as a service
	patterns []string // of the tools of a new agent
}

// provideAgent adds the agent with the tools that the patterns match. If the agent
// exists, it has to have these tools: connect does not change what others use.
func (c *cli) provideAgent(cmd *cobra.Command, as agentConnection) error {
	grants, err := c.expandPatterns(cmd, as.patterns)
	if err != nil {
		return err
	}
	var had admin.AgentDetails
	err = c.requestAPI(cmd, http.MethodGet, apiPath("agents", as.name), nil, &had)
	if err == nil {
		texts := strings.Split(joinGrants(had.Tools), ", ")
		if slices.Sort(texts); len(grants) > 0 && !slices.Equal(texts, grants) {
			return usageErrorf("the agent %s already has other tools (%s). To use these, omit --tool; to change them: junctor agent set %s --tool %s",
				as.name, joinGrants(had.Tools), as.name, strings.Join(grants, " --tool "))
		}
		c.warnWithheld(had)
		return nil
	}
	if junctor.CodeOf(err) != junctor.CodeNotFound {
		return err
	}
	if len(grants) == 0 {
		return usageErrorf("the agent %s does not exist: to add it, name its tools with --tool, such as --tool 'notes/*'", as.name)
	}
	var made admin.CreatedAgent
	if err := c.requestAPI(cmd, http.MethodPost, "/agents", map[string]any{"name": as.name, "tools": grants}, &made); err != nil {
		return err
	}
	// The client gets a key of its own name, so this one is of no use.
	if err := c.requestAPI(cmd, http.MethodDelete, apiPath("keys", made.KeyID), nil, nil); err != nil {
		return err
	}
	if !c.wantsJSON() {
		c.printNote("the agent %s is new; it may call %s", as.name, joinGrants(made.Tools))
	}
	c.warnWithheld(made.AgentDetails)
	return nil
}

// expandPatterns returns the grants that patterns mean, sorted. A pattern for a whole
// server stays one; any other with a wildcard stands for the tools that match it now.
func (c *cli) expandPatterns(cmd *cobra.Command, patterns []string) ([]string, error) {
	var grants []string
	var tools listPage[junctor.Tool]
	for _, pattern := range patterns {
		server, item, _ := strings.Cut(pattern, "/")
		if !strings.ContainsAny(pattern, "*?[") || item == junctor.AnyItem && junctor.CheckServerID(server) == nil {
			grants = append(grants, pattern)
			continue
		}
		if tools.Items == nil {
			if err := c.requestAPI(cmd, http.MethodGet, "/tools", nil, &tools); err != nil {
				return nil, err
			}
		}
		found := false
		for _, t := range tools.Items {
			matches, err := path.Match(pattern, t.Server+"/"+t.Name)
			if err != nil {
				return nil, usageErrorf("--tool %q is an invalid pattern: %v", pattern, err)
			}
			if matches {
				grants, found = append(grants, t.Server+"/"+t.Name), true
			}
		}
		if !found {
			return nil, usageErrorf("--tool %q matches no tool; junctor tool ls lists them", pattern)
		}
	}
	slices.Sort(grants)
	return slices.Compact(grants), nil
}

// connectedClient is a client that has an entry for Junctor, or a key of a client
// that is in no known file.
type connectedClient struct {
	Client   string    `json:"client"`
	File     string    `json:"file,omitempty"`
	Project  string    `json:"project,omitempty"`
	Agent    string    `json:"agent,omitempty"`
	KeyID    string    `json:"key_id,omitempty"`
	KeyName  string    `json:"key,omitempty"`
	State    string    `json:"state"` // connected, revoked, expired, unknown key, no key
	LastSeen time.Time `json:"last_seen,omitzero"`
}

// listConnections prints the clients on this machine that are connected to the
// instance.
func (c *cli) listConnections(cmd *cobra.Command) error {
	cfg, err := c.loadConfig(cmd)
	if err != nil {
		return err
	}
	var keys listPage[junctor.Key]
	if err := c.requestAPI(cmd, http.MethodGet, "/keys", nil, &keys); err != nil {
		return err
	}
	project, err := os.Getwd()
	if err != nil {
		return junctor.Errorf(junctor.CodeUnavailable, "the current folder cannot be read: %w", err)
	}
	if home, err := filepath.EvalSymlinks(c.getenv("HOME")); err == nil && home == project {
		project = "" // the files there are those of the user
	}
	files, err := clients.Discover(runtime.GOOS, c.getenv, project, clients.Variables{Lookup: c.lookupEnv, Values: true})
	if err != nil {
		return err
	}
	addresses, now := c.setupAddresses(cmd.Context(), cfg, true), time.Now()
	found, shown := []connectedClient{}, map[string]bool{}
	for _, file := range files {
		for _, e := range file.Entries {
			if !e.Server.IsJunctor(addresses) && (e.Name != clients.EntryName || !file.Client.HasJunctor(file.Text)) {
				continue
			}
			one := describeConnection(e.Server.JunctorKey(), keys.Items, now)
			one.Client, one.File, one.Project = file.Client.Name, file.Path, file.Project
			shown[one.KeyID] = true
			found = append(found, one)
		}
	}
	// A file that --file named, or one on another machine.
	for i := range keys.Items {
		k := &keys.Items[i]
		if name, ok := strings.CutPrefix(k.Name, clientKeyPrefix); ok && k.Live(now) && !shown[k.ID] {
			one := describeKey(k, now)
			one.Client = name
			found = append(found, one)
		}
	}
	if c.wantsJSON() {
		return c.printJSON(listPage[connectedClient]{Items: found})
	}
	rows := make([][]string, len(found))
	for i, one := range found {
		who, file, seen := "key "+one.KeyName, one.File, formatTime(one.LastSeen)
		switch {
		case one.Agent != "":
			who = "agent " + one.Agent
		case one.KeyName == "":
			who = "-"
		}
		if file == "" {
			file = "-"
		}
		if seen == "" {
			seen = "never"
		}
		rows[i] = []string{one.Client, file, who, one.State, seen}
	}
	return c.printTable([]string{"CLIENT", "FILE", "AGENT OR KEY", "STATE", "LAST SEEN"}, rows)
}

// describeConnection finds the key of an entry by its first characters.
func describeConnection(token string, keys []junctor.Key, now time.Time) connectedClient {
	if token == "" {
		return connectedClient{State: "no key"}
	}
	for i := range keys {
		if k := &keys[i]; k.Prefix != "" && strings.HasPrefix(token, k.Prefix) {
			return describeKey(k, now)
		}
	}
	return connectedClient{State: "unknown key"}
}

// describeKey returns a connection by its key.
func describeKey(k *junctor.Key, now time.Time) connectedClient {
	one := connectedClient{KeyID: k.ID, KeyName: k.Name, Agent: k.Agent, State: "connected", LastSeen: k.LastUsedAt}
	switch {
	case !k.RevokedAt.IsZero():
		one.State = "revoked"
	case !k.Live(now):
		one.State = "expired"
	}
	return one
}
