package cli

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
)

// agentCommand returns the group `junctor agent`.
func (c *cli) agentCommand() *cobra.Command {
	cmd := newGroupCommand("agent", "Add and manage agents, their tools and endpoints", "junctor agent ls")
	cmd.AddCommand(c.agentAdd(), c.agentList(), c.agentShow(), c.agentSet(), c.agentRemove(), c.agentKey(), c.agentToken(), c.agentRun())
	return cmd
}

// agentFlags are the flags that describe an agent, for `agent add` and `agent
// set`.
type agentFlags struct {
	title, role, tier string
	exposure          string
	publish           bool // by A2A

	// Grants. A single empty one empties the list.
	tools, resources, prompts []string

	limitFlags
	brainFlags
}

// addAgentFlags adds the flags of f to a command, with their completions.
func (c *cli) addAgentFlags(cmd *cobra.Command, f *agentFlags) {
	flags := cmd.Flags()
	flags.StringVar(&f.role, "role", "", "kind of work, such as QA: tools of this role are suggested for it (default General)")
	flags.StringArrayVar(&f.tools, "tool", nil, "what it may call: `server/tool`, or server/* for all that the server has now and later; repeatable")
	flags.StringArrayVar(&f.resources, "resource", nil, "what it may read: `server/uri` or server/*; repeatable")
	flags.StringArrayVar(&f.prompts, "prompt", nil, "what it may get: `server/prompt` or server/*; repeatable")
	flags.StringVar(&f.title, "title", "", "display name")
	flags.StringVar(&f.tier, "tier", "", "tier with its limits: free, pro, unlimited or your own (default the tier of its owner)")
	flags.StringVar(&f.exposure, "exposure", "", "how endpoints that join servers list its tools: all, search, or auto, which is search above 128 tools or 256 KB unless the client searches by itself; empty follows the servers and the instance")
	flags.BoolVar(&f.publish, "publish", false, "publish it for other agents by A2A, at /a2a/NAME/")
	f.limitFlags.addTo(cmd)
	f.brainFlags.addTo(c, cmd)
	_ = cmd.RegisterFlagCompletionFunc("tool", c.completeGrants)
	_ = cmd.RegisterFlagCompletionFunc("role", c.completeRoles)
	_ = cmd.RegisterFlagCompletionFunc("exposure", cobra.FixedCompletions([]string{"auto", "all", "search"}, cobra.ShellCompDirectiveNoFileComp))
}

// requestBody returns the members of an agent whose flags were given, and no
// others: a PATCH with it leaves the rest as it is.
func (f *agentFlags) requestBody(cmd *cobra.Command) map[string]any {
	body := map[string]any{}
	for name, value := range map[string]any{"title": f.title, "role": f.role, "tier": f.tier, "exposure": f.exposure} {
		if cmd.Flags().Changed(name) {
			body[name] = value
		}
	}
	for flag, list := range map[string][]string{"tool": f.tools, "resource": f.resources, "prompt": f.prompts} {
		if cmd.Flags().Changed(flag) {
			// An empty value, as in --tool '', empties the list.
			body[flag+"s"] = slices.DeleteFunc(list, func(s string) bool { return s == "" })
		}
	}
	if f.publish {
		body["published"] = true
	}
	if f.anyLimitGiven(cmd) {
		body["limits"] = f.makePatch(cmd)
	}
	return body
}

// agentAdd returns `agent add`, which posts to /agents. The key of the new
// agent is the only output, since it cannot be shown again.
func (c *cli) agentAdd() *cobra.Command {
	var f agentFlags
	cmd := &cobra.Command{
		Use: "add NAME", Short: "Add an agent and print its key",
		Long: "Add an agent and print its key once on standard output.\n\n" +
			"An agent sees only the tools, resources and prompts that its flags allow, at every endpoint. Its own " +
			"endpoint is /mcp/a/NAME.",
		Example: "  junctor agent add qa-bot --role QA --tool notes/search --tool 'pets/*'", Args: cobra.ExactArgs(1),
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			body := f.requestBody(cmd)
			body["name"] = args[0]
			brain, err := f.readBrain(cmd, nil)
			if err != nil {
				return err
			}
			if brain != nil {
				body["brain"] = brain
			}
			var a admin.CreatedAgent
			if err := c.requestAPI(cmd, http.MethodPost, "/agents", body, &a); err != nil {
				return err
			}
			if c.wantsJSON() {
				return c.printJSON(a)
			}
			c.warnWithheld(a.AgentDetails)
			c.printNote("agent %s for %s, at /mcp/a/%s; its key is shown only once:", a.Name, a.Role, a.Name)
			_, err = fmt.Fprintln(c.out, a.Token)
			return err
		}),
	}
	c.addAgentFlags(cmd, &f)
	c.addInstanceFlags(cmd)
	return cmd
}

// agentList returns `agent ls`, which lists /agents.
func (c *cli) agentList() *cobra.Command {
	cmd := &cobra.Command{
		Use: "ls", Short: "List agents", Example: "  junctor agent ls", Args: cobra.NoArgs,
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			return printNamedList(c, cmd, "/agents", []string{"NAME", "ROLE", "STATE", "TIER", "OWNER", "TOOLS"}, func(a junctor.Agent, names *callerNames) []string {
				return []string{a.Name, string(a.Role), agentState(a), a.Tier, names.principal(a.Owner), firstLine(joinGrants(a.Tools), 60)}
			})
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}

// agentState returns whether an agent is switched on, for people.
func agentState(a junctor.Agent) string {
	if a.Disabled {
		return "off"
	}
	return "on"
}

// joinGrants returns grants as one text.
func joinGrants(list []junctor.Grant) string {
	texts := make([]string, len(list))
	for i, g := range list {
		texts[i] = g.String()
	}
	return strings.Join(texts, ", ")
}

// agentShow returns `agent show`. For people it also requests the tools that
// the agent can call, which are fewer than its grants if a server is
// unavailable.
func (c *cli) agentShow() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show NAME", Short: "Show an agent, and the tools it can call", Example: "  junctor agent show qa-bot", Args: cobra.ExactArgs(1), ValidArgsFunction: c.completeAgents,
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			var a admin.AgentDetails
			if err := c.requestAPI(cmd, http.MethodGet, apiPath("agents", args[0]), nil, &a); err != nil {
				return err
			}
			if c.wantsJSON() {
				return c.printJSON(a)
			}
			var tools listPage[junctor.Tool]
			if err := c.requestAPI(cmd, http.MethodGet, apiPath("agents", args[0], "tools"), nil, &tools); err != nil {
				return err
			}
			at, err := c.publishedAt(cmd, a.Agent)
			if err != nil {
				return err
			}
			if a.Owner, err = c.ownerName(cmd, a.Owner); err != nil {
				return err
			}
			return c.printAgent(a, at, tools.Items)
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}

// warnWithheld says which tools were granted to an agent and cannot be called by it.
func (c *cli) warnWithheld(a admin.AgentDetails) {
	const most = 20
	for _, w := range a.Withheld[:min(most, len(a.Withheld))] {
		c.printNote("warning: %s cannot call %s: %s", a.Name, w, w.Reason)
	}
	if more := len(a.Withheld) - most; more > 0 {
		c.printNote("warning: and %d more; junctor agent show %s lists them", more, a.Name)
	}
}

// printAgent prints an agent. published is its A2A path, or "".
func (c *cli) printAgent(a admin.AgentDetails, published string, tools []junctor.Tool) error {
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.Exposed
	}
	facts := []string{
		"name", a.Name, "title", a.Title, "role", string(a.Role), "state", agentState(a.Agent), "endpoint", "/mcp/a/" + a.Name, "exposure", string(a.Exposure), "published", published,
		"tools", joinGrants(a.Tools), "resources", joinGrants(a.Resources), "prompts", joinGrants(a.Prompts),
		"can call", strings.Join(names, ", "),
	}
	for _, w := range a.Withheld {
		facts = append(facts, "cannot call", w.String()+": "+w.Reason)
	}
	return c.printFacts(append(facts, "thinks with", describeBrain(a.Brain), "tier", a.Tier, "limits", describeLimits(a.Limits), "declared", a.Declared, "owner", a.Owner,
		"created", formatTime(a.CreatedAt), "updated", formatTime(a.UpdatedAt))...)
}

// publishedAt returns the path at which other agents reach an agent by A2A; ""
// if it is not published. Agents of another tenant than the default one have
// the tenant in the path, because two tenants may use one name.
func (c *cli) publishedAt(cmd *cobra.Command, a junctor.Agent) (string, error) {
	if !a.Published {
		return "", nil
	}
	var me struct {
		Tenant junctor.TenantID `json:"tenant"`
	}
	if err := c.requestAPI(cmd, http.MethodGet, "/me", nil, &me); err != nil {
		return "", err
	}
	if me.Tenant == junctor.DefaultTenant {
		return "/a2a/" + a.Name + "/", nil
	}
	return "/a2a/" + string(me.Tenant) + "." + a.Name + "/", nil
}

// describeBrain returns what an agent answers with: a model or rules; "" for
// neither.
func describeBrain(b *junctor.Brain) string {
	switch {
	case b == nil:
		return ""
	case b.Model != "":
		return "the model " + b.Model
	}
	return "rules"
}

// agentSet returns `agent set`, which patches /agents/NAME. Flags that change a
// part of a list or of the brain need the agent as it is. It is then read
// first, and the change is refused if somebody else changes the agent
// meanwhile.
func (c *cli) agentSet() *cobra.Command {
	var f agentFlags
	var add, drop []string
	var on, off, noLimits, noBrain, unpublish bool
	cmd := &cobra.Command{
		Use: "set NAME", Short: "Change an agent",
		Long: "Change an agent. Values without a flag stay as they are. --tool, --resource and --prompt replace the whole " +
			"list, and '' empties it; --add-tool and --drop-tool change the list of tools.",
		Example: "  junctor agent set qa-bot --add-tool notes/read --drop-tool 'pets/*'", Args: cobra.ExactArgs(1), ValidArgsFunction: c.completeAgents,
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			body := f.requestBody(cmd)
			if on || off {
				body["disabled"] = off
			}
			if unpublish {
				body["published"] = false
			}
			if noLimits {
				if f.anyLimitGiven(cmd) {
					return usageErrorf("--no-limits removes all limits and cannot be combined with a flag that sets one, such as --per-day")
				}
				body["limits"] = nil
			}
			var had junctor.Agent // read only if a part of it is changed
			// Without such a flag the PATCH needs nothing of the present state.
			if len(add)+len(drop) > 0 || !noBrain && f.changesBrain(cmd) {
				if err := c.requestAPI(cmd, http.MethodGet, apiPath("agents", args[0]), nil, &had); err != nil {
					return err
				}
			}
			if err := f.setBrain(cmd, had.Brain, noBrain, body); err != nil {
				return err
			}
			if len(add)+len(drop) > 0 {
				tools, err := editTools(&had, add, drop)
				if err != nil {
					return err
				}
				body["tools"] = tools
			}
			if len(body) == 0 {
				return usageErrorf("no change given: use at least one flag, such as --tool or --role")
			}
			var a admin.AgentDetails
			if err := c.patchIfUnchanged(cmd, had.UpdatedAt, apiPath("agents", args[0]), body, &a); err != nil {
				return err
			}
			c.warnWithheld(a)
			return c.printIfJSON(a)
		}),
	}
	c.addAgentFlags(cmd, &f)
	cmd.Flags().StringArrayVar(&add, "add-tool", nil, "tool to add: `server/tool` or server/*; repeatable")
	cmd.Flags().StringArrayVar(&drop, "drop-tool", nil, "tool to remove, as written in the list; repeatable")
	cmd.Flags().BoolVar(&on, "on", false, "enable it")
	cmd.Flags().BoolVar(&off, "off", false, "disable it: no endpoint accepts its keys")
	cmd.Flags().BoolVar(&noLimits, "no-limits", false, "remove its own limits, so that those of its tier apply")
	cmd.Flags().BoolVar(&noBrain, "no-brain", false, "remove its model or rules")
	cmd.Flags().BoolVar(&unpublish, "no-publish", false, "stop publishing it by A2A")
	cmd.MarkFlagsMutuallyExclusive("on", "off")
	cmd.MarkFlagsMutuallyExclusive("publish", "no-publish")
	cmd.MarkFlagsMutuallyExclusive("no-brain", "model")
	cmd.MarkFlagsMutuallyExclusive("no-brain", "rules")
	cmd.MarkFlagsMutuallyExclusive("no-brain", "instructions")
	cmd.MarkFlagsMutuallyExclusive("tool", "add-tool")
	cmd.MarkFlagsMutuallyExclusive("tool", "drop-tool")
	_ = cmd.RegisterFlagCompletionFunc("add-tool", c.completeGrants)
	c.addInstanceFlags(cmd)
	return cmd
}

// patchIfUnchanged sends a PATCH for a thing that was read with this version,
// its updated_at. If somebody has changed the thing since, the error is
// CodePrecondition and nothing is changed. A zero version skips that check.
func (c *cli) patchIfUnchanged(cmd *cobra.Command, version time.Time, path string, in, out any) error {
	client, err := c.newClient(cmd)
	if err != nil {
		return err
	}
	client.version = version
	return client.exchange(cmd.Context(), http.MethodPatch, path, in, out)
}

// editTools returns the tools of an agent, without those of drop and with those
// of add. A tool to drop that is not in the list is CodeNotFound: it is
// probably misspelled.
func editTools(a *junctor.Agent, add, drop []string) ([]string, error) {
	tools := make([]string, 0, len(a.Tools)+len(add))
	for _, g := range a.Tools {
		tools = append(tools, g.String())
	}
	for _, d := range drop {
		i := slices.Index(tools, d)
		if i < 0 {
			return nil, junctor.Errorf(junctor.CodeNotFound, "--drop-tool %q: the agent %s does not have it; its tools are %s", d, a.Name, joinGrants(a.Tools))
		}
		tools = slices.Delete(tools, i, i+1)
	}
	return append(tools, add...), nil
}

// agentRemove returns `agent rm`.
func (c *cli) agentRemove() *cobra.Command {
	return c.newDeleteCommand(deletion{
		use: "rm NAME", short: "Remove an agent, its keys and sessions; its records stay", example: "agent rm qa-bot",
		collection: "agents", key: "name", state: "removed", complete: c.completeAgents,
	})
}

// agentKey returns `agent key`, which creates another key of an agent. Existing
// keys stay valid, so that a key can be exchanged without an interruption.
func (c *cli) agentKey() *cobra.Command {
	var expires string
	cmd := &cobra.Command{
		Use: "key NAME", Short: "Create another key for an agent",
		Long: "Create another key for an agent and print it once. Existing keys stay valid: junctor key ls lists them, and " +
			"junctor key revoke revokes one.",
		Example: "  junctor agent key qa-bot --expires 90d", Args: cobra.ExactArgs(1), ValidArgsFunction: c.completeAgents,
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			body := map[string]any{"name": args[0], "agent": args[0], "scopes": []junctor.Scope{junctor.ScopeToolsRead, junctor.ScopeToolsCall}}
			if expires != "" {
				at, err := parseExpiry(expires, time.Now())
				if err != nil {
					return err
				}
				body["expires_at"] = at
			}
			var key admin.CreatedKey
			if err := c.requestAPI(cmd, http.MethodPost, "/keys", body, &key); err != nil {
				return err
			}
			if c.wantsJSON() {
				return c.printJSON(key)
			}
			c.printNote("key %s of the agent %s; it is shown only once:", key.ID, args[0])
			_, err := fmt.Fprintln(c.out, key.Token)
			return err
		}),
	}
	cmd.Flags().StringVar(&expires, "expires", "", "when it expires: a time span such as 12h or 90d, or a time such as 2030-01-31T00:00:00Z (default never)")
	setField(cmd, "expires", "expires_at")
	c.addInstanceFlags(cmd)
	return cmd
}

// completeAgents suggests the names of agents.
func (c *cli) completeAgents(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	return completeFrom(c, "/agents", func(a junctor.Agent) (string, string) { return a.Name, string(a.Role) })(cmd, args, prefix)
}

// completeGrants suggests tools in the form of a grant, server/tool.
func (c *cli) completeGrants(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	return completeFrom(c, "/tools", func(t junctor.Tool) (string, string) { return t.Server + "/" + t.Name, t.Description })(cmd, nil, prefix)
}

// completeRoles suggests the names of roles.
func (c *cli) completeRoles(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	return completeFrom(c, "/roles", func(r admin.RoleInfo) (string, string) { return string(r.Name), "" })(cmd, nil, prefix)
}
