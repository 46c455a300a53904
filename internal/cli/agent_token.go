package cli

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
)

// agentToken returns the group `agent token`: endpoints of remote agents, and
// the tokens that Junctor sends there.
func (c *cli) agentToken() *cobra.Command {
	cmd := newGroupCommand("token", "Manage the delivery endpoints of agents and their tokens", "junctor agent token ls")
	cmd.AddCommand(c.agentTokenSet("set", "Store a delivery endpoint of an agent and its token"), c.agentTokenList(),
		c.agentTokenSet("rotate", "Replace the token of a delivery endpoint, or with --sign its signing secret"), c.agentTokenRemove())
	return cmd
}

// agentTokenSet returns `agent token set` or `agent token rotate`, which what
// names. Both put /agent-tokens/AGENT. They differ in one point: rotate with
// --sign alone replaces the signing secret and keeps the token.
func (c *cli) agentTokenSet(what, short string) *cobra.Command {
	var address, header, transport, file, reference string
	var sign, none bool
	cmd := &cobra.Command{
		Use: what + " AGENT", Short: short, Args: cobra.ExactArgs(1),
		Long: short + ".\n\nThe token is read from standard input, from --file, or by the instance from --reference at each call. It is " +
			"stored encrypted and sent only to the origin of --url: in Authorization as a bearer token, or unchanged in " +
			"X-Agent-Token or X-API-Key. By default, the agent's registration on its chain names the header. " +
			"Deliveries that were held because of a missing token continue.",
		Example: "  junctor agent token " + what + " 42 --url https://agent.example/mcp --header X-Agent-Token < token.txt",
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			body := map[string]any{"url": address, "sign": sign}
			for name, value := range map[string]string{"header": header, "transport": transport} {
				if value != "" {
					body[name] = value
				}
			}
			switch {
			// A reference is checked here, since the instance would store any
			// other text as the token itself.
			case reference != "":
				if !junctor.IsReference("", reference) {
					return usageErrorf("--reference %q is not a reference: use env:NAME, file:/path or cmd:program", reference)
				}
				body["token"] = reference
			// rotate --sign without --file replaces only the signing secret.
			case !none && (what == "set" || !sign || file != ""):
				token, err := c.readSecret("file", file)
				if err != nil {
					return err
				}
				body["token"] = token
			}
			var stored admin.StoredToken
			if err := c.requestAPI(cmd, http.MethodPut, apiPath("agent-tokens", args[0]), body, &stored); err != nil {
				return err
			}
			if c.wantsJSON() {
				return c.printJSON(stored)
			}
			c.printNote("deliveries to the agent %s go to %s", stored.Agent, stored.URL)
			if stored.Signing == "" {
				return nil
			}
			c.printNote("the secret that verifies signatures is shown only once:")
			_, err := fmt.Fprintln(c.out, stored.Signing)
			return err
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&address, "url", "", "`URL` of the agent's MCP endpoint")
	flags.StringVar(&header, "header", "", "header that carries the token: Authorization, X-Agent-Token, X-API-Key, or auto for the one in the agent's registration (default auto)")
	flags.StringVar(&transport, "transport", "", "http or sse")
	flags.StringVar(&file, "file", "", "read the token from a file instead of standard input")
	flags.StringVar(&reference, "reference", "", "reference that the instance reads the token from at each call: env:NAME, file:/path or cmd:program")
	flags.BoolVar(&sign, "sign", false, "create a secret and sign deliveries with it (Standard Webhooks); the secret is shown once")
	flags.BoolVar(&none, "no-token", false, "call the endpoint without a token")
	_ = cmd.MarkFlagRequired("url")
	cmd.MarkFlagsMutuallyExclusive("file", "reference", "no-token")
	_ = cmd.RegisterFlagCompletionFunc("header", cobra.FixedCompletions(append(junctor.TokenHeaders(), junctor.TokenHeaderAuto), cobra.ShellCompDirectiveNoFileComp))
	c.addInstanceFlags(cmd)
	return cmd
}

// agentTokenList returns `agent token ls`. Tokens are never listed, only where
// they are read from.
func (c *cli) agentTokenList() *cobra.Command {
	cmd := &cobra.Command{
		Use: "ls [AGENT]", Short: "List the delivery endpoints of agents, without their tokens", Example: "  junctor agent token ls", Args: cobra.MaximumNArgs(1),
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			query := ""
			if len(args) == 1 {
				query = "?" + url.Values{"agent": {args[0]}}.Encode()
			}
			return printList(c, cmd, "/agent-tokens"+query, []string{"AGENT", "URL", "HEADER", "TOKEN", "SIGNED", "CREATED", "CHANGED"}, func(e junctor.AgentEndpoint) []string {
				signed := "no"
				if e.Signed {
					signed = "yes"
				}
				return []string{e.Agent, e.URL, e.Header, cmp.Or(e.Reference, "sealed"), signed, formatTime(e.CreatedAt), formatTime(e.UpdatedAt)}
			})
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}

// agentTokenRemove returns `agent token rm`.
func (c *cli) agentTokenRemove() *cobra.Command {
	var address string
	cmd := &cobra.Command{
		Use: "rm AGENT", Short: "Remove a delivery endpoint of an agent and its token", Example: "  junctor agent token rm 42 --url https://agent.example/mcp", Args: cobra.ExactArgs(1),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
			return completeFrom(c, "/agent-tokens", func(e junctor.AgentEndpoint) (string, string) { return e.Agent, e.URL })(cmd, args, prefix)
		},
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			query := ""
			if address != "" {
				query = "?" + url.Values{"url": {address}}.Encode()
			}
			if err := c.requestAPI(cmd, http.MethodDelete, apiPath("agent-tokens", args[0])+query, nil, nil); err != nil {
				return err
			}
			return c.printIfJSON(map[string]string{"agent": args[0], "state": "removed"})
		}),
	}
	cmd.Flags().StringVar(&address, "url", "", "the endpoint, if the agent has several")
	c.addInstanceFlags(cmd)
	return cmd
}
