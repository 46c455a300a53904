package cli

import (
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
)

func (c *cli) callCommand() *cobra.Command {
	cmd := noun("call", "Look at calls", "junctor call ls")
	cmd.AddCommand(c.callList(), c.callShow(), c.callExport())
	return cmd
}

func (c *cli) callList() *cobra.Command {
	var of callsOf
	var view, status, cursor string
	var limit int
	cmd := &cobra.Command{
		Use: "ls", Short: "List recent calls, newest first", Example: "  junctor call ls --status denied --since 24h", Args: cobra.NoArgs,
		RunE: run(func(cmd *cobra.Command, _ []string) error {
			query := url.Values{"limit": {strconv.Itoa(limit)}}
			if err := of.set(query, ""); err != nil {
				return err
			}
			for name, value := range map[string]string{"view": view, "status": status, "cursor": cursor} {
				if value != "" {
					query.Set(name, value)
				}
			}
			var calls list[junctor.Call]
			if err := c.ask(cmd, http.MethodGet, "/calls?"+query.Encode(), nil, &calls); err != nil {
				return err
			}
			return c.printCalls(calls)
		}),
	}
	c.callsOf(cmd, &of)
	cmd.Flags().StringVar(&view, "view", "", "only calls that this View made, by its `id`")
	cmd.Flags().StringVar(&status, "status", "", "only calls that ended so, such as success, error or denied")
	cmd.Flags().IntVar(&limit, "limit", 50, "at most this many")
	cmd.Flags().StringVar(&cursor, "cursor", "", "go on where the page before ended")
	c.remote(cmd)
	return cmd
}

// callsOf are the flags that say whose calls are meant, and of what.
type callsOf struct {
	tool, server, user, agent, caller, door, since string
}

func (c *cli) callsOf(cmd *cobra.Command, f *callsOf) {
	flags := cmd.Flags()
	flags.StringVar(&f.tool, "tool", "", "only calls of this tool")
	flags.StringVar(&f.server, "server", "", "only calls of this server")
	flags.StringVar(&f.user, "user", "", "only calls by this user or for them, by agents of theirs too: a `name` or an id")
	flags.StringVar(&f.agent, "agent", "", "only calls by this agent, or by somebody who acted as it")
	flags.StringVar(&f.caller, "caller", "", "only calls by this caller: a user's id, an agent's name, or the `id` of a service's key")
	flags.StringVar(&f.door, "door", "", "only calls by this door: mcp, sse, stdio, plain, call, admin or view")
	flags.StringVar(&f.since, "since", "", "only calls since then: 15m, 7d, or a time such as 2026-01-31T00:00:00Z; sums are of whole days")
	_ = cmd.RegisterFlagCompletionFunc("tool", c.completeTools)
	_ = cmd.RegisterFlagCompletionFunc("server", c.completeServers)
}

// set puts them into a query, with the time until then.
func (f *callsOf) set(query url.Values, until string) error {
	for name, value := range map[string]string{
		"tool": f.tool, "server": f.server, "user": f.user, "agent": f.agent, "caller": f.caller, "door": f.door,
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return setTimes(query, f.since, until)
}

func (c *cli) printCalls(calls list[junctor.Call]) error {
	if c.json() {
		return c.printJSON(calls)
	}
	rows := make([][]string, len(calls.Items))
	for i, call := range calls.Items {
		name := call.Name
		if call.Server != "" {
			name = call.Server + "/" + call.Name
		}
		rows[i] = []string{
			moment(call.Start), string(call.Kind), name, string(call.Status), call.Duration.Round(10 * time.Microsecond).String(),
			string(call.Door), callerOf(&call), firstLine(call.Reason, 60),
		}
	}
	if err := c.table([]string{"START", "KIND", "NAME", "STATUS", "TOOK", "DOOR", "BY", "REASON"}, rows); err != nil {
		return err
	}
	if calls.Next != "" {
		c.say("there are more: add --cursor %s", calls.Next)
	}
	return nil
}

// callerOf is who called, and as which agent where that is not said by it.
func callerOf(call *junctor.Call) string {
	by := call.Issuer + ":" + call.Subject
	if call.Agent != "" && call.Issuer != junctor.IssuerAgent {
		by += " as " + call.Agent
	}
	return by
}

// readTime reads the moment of a flag, or a time span before now; "" stays "".
func readTime(flag, s string, now time.Time) (string, error) {
	at, err := momentOf(flag, s, now)
	if err != nil || at.IsZero() {
		return "", err
	}
	return at.UTC().Format(time.RFC3339Nano), nil
}

// setTimes puts the moments of --since and --until into a query.
func setTimes(query url.Values, since, until string) error {
	now := time.Now()
	for _, flag := range [...]struct{ name, value string }{{"since", since}, {"until", until}} {
		at, err := readTime(flag.name, flag.value, now)
		if err != nil {
			return err
		}
		if at != "" {
			query.Set(flag.name, at)
		}
	}
	return nil
}

// momentOf is readTime for those who need the moment itself.
func momentOf(flag, s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if at, err := time.Parse(time.RFC3339, s); err == nil {
		return at, nil
	}
	span, err := readSpan(s)
	if err != nil || span < 0 {
		return time.Time{}, usagef("--%s %q: write a span before now such as 15m or 7d, or a time such as 2026-01-31T00:00:00Z", flag, s)
	}
	return now.Add(-span), nil
}
