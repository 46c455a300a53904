package cli

import (
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
)

// callCommand returns the group `junctor call`: the history of calls.
func (c *cli) callCommand() *cobra.Command {
	cmd := newGroupCommand("call", "List, show, follow and export calls", "junctor call ls")
	cmd.AddCommand(c.callList(), c.callShow(), c.callTail(), c.callExport())
	return cmd
}

// callPage is one page of a list of calls. SearchedTo is set if the server ended the search
// before the page was full.
type callPage struct {
	listPage[junctor.Call]
	SearchedTo time.Time `json:"searched_to,omitzero"`
}

// callList returns `call ls`, which prints one page of /calls.
func (c *cli) callList() *cobra.Command {
	var of callFilter
	var view, key, kind, status, text, until, cursor string
	var limit int
	cmd := &cobra.Command{
		Use: "ls", Short: "List calls, newest first",
		Long: "List calls, newest first: those that run, and all that the history keeps (--history-days). A search for a text, " +
			"or with several filters, can take a while in a long history: it continues until it has found --limit calls, and says " +
			"how far it has come. --since makes it shorter.",
		Example: "  junctor call ls --status denied --since 24h\n  junctor call ls --tool github__create_issue --text 'rate limit'", Args: cobra.NoArgs,
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			query := url.Values{}
			if err := of.setQuery(query, until); err != nil {
				return err
			}
			for name, value := range map[string]string{"view": view, "key": key, "kind": kind, "status": status, "text": text, "cursor": cursor} {
				if value != "" {
					query.Set(name, value)
				}
			}
			calls, err := c.searchCalls(cmd, query, limit)
			if err != nil {
				return err
			}
			return c.printCalls(cmd, calls)
		}),
	}
	c.addCallFilter(cmd, &of)
	cmd.Flags().StringVar(&view, "view", "", "only calls that this App view made, by its `id`")
	cmd.Flags().StringVar(&key, "key", "", "only calls with this key, by its `name`, id or prefix")
	cmd.Flags().StringVar(&kind, "kind", "", "only calls of this kind, such as tool, resource or prompt")
	cmd.Flags().StringVar(&status, "status", "", "only calls with this status, such as success, error or denied")
	cmd.Flags().StringVar(&text, "text", "", "only calls with this text in tool, caller, parameters, result or reason")
	cmd.Flags().StringVar(&until, "until", "", "only calls before this, in the same forms")
	cmd.Flags().IntVar(&limit, "limit", 50, "maximum number of results")
	cmd.Flags().StringVar(&cursor, "cursor", "", "cursor of the next page")
	c.addInstanceFlags(cmd)
	return cmd
}

// searchCalls returns one page of calls. A search that the server ends early continues
// until the page is full or there are no more calls.
func (c *cli) searchCalls(cmd *cobra.Command, query url.Values, limit int) (listPage[junctor.Call], error) {
	all := listPage[junctor.Call]{Items: []junctor.Call{}}
	for {
		query.Set("limit", strconv.Itoa(limit-len(all.Items)))
		var page callPage
		if err := c.requestAPI(cmd, http.MethodGet, "/calls?"+query.Encode(), nil, &page); err != nil {
			return all, err
		}
		all.Items, all.Next = append(all.Items, page.Items...), page.Next
		if page.SearchedTo.IsZero() || page.Next == "" || len(all.Items) >= limit {
			return all, nil
		}
		c.printNote("%d found, searched back to %s", len(all.Items), formatTime(page.SearchedTo))
		query.Set("cursor", page.Next)
	}
}

// callFilter are the flags that select calls by tool, caller, entry point and
// time. `call ls`, `call export` and `usage` have them.
type callFilter struct {
	tool, server        string
	user, agent, caller string // who made the call, or whom it was made for
	entryPoint          string
	since               string // see parseMoment
}

// addCallFilter adds the flags of f to a command.
func (c *cli) addCallFilter(cmd *cobra.Command, f *callFilter) {
	flags := cmd.Flags()
	flags.StringVar(&f.tool, "tool", "", "only calls of this tool: server__name, server/name, or a server's own name")
	flags.StringVar(&f.server, "server", "", "only calls of this server")
	flags.StringVar(&f.user, "user", "", "only calls by this user and the agents that act for them, by `name` or id")
	flags.StringVar(&f.agent, "agent", "", "only calls by this agent, or by users who act as it")
	flags.StringVar(&f.caller, "caller", "", "only calls by this caller: `name` or id of a user, an agent or a service key")
	flags.StringVar(&f.entryPoint, "entry-point", "", "only calls that came in through this `entry point`: mcp, sse, stdio, plain, call, admin or view")
	flags.StringVar(&f.since, "since", "", "only calls since a time span such as 15m or 7d, or a time such as 2026-01-31T00:00:00Z; sums cover whole days")
	_ = cmd.RegisterFlagCompletionFunc("tool", c.completeTools)
	_ = cmd.RegisterFlagCompletionFunc("server", c.completeServers)
}

// setQuery adds the flags that were given to a query, and the time until.
func (f *callFilter) setQuery(query url.Values, until string) error {
	for name, value := range map[string]string{
		"tool": f.tool, "server": f.server, "user": f.user, "agent": f.agent, "caller": f.caller, "entry_point": f.entryPoint,
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return setTimes(query, f.since, until)
}

// printCalls prints a page of calls, and says how to see the next one.
func (c *cli) printCalls(cmd *cobra.Command, calls listPage[junctor.Call]) error {
	if c.wantsJSON() {
		return c.printJSON(calls)
	}
	names, err := c.fetchCallerNames(cmd)
	if err != nil {
		return err
	}
	ids := make([]string, len(calls.Items))
	for i := range calls.Items {
		ids[i] = calls.Items[i].ID
	}
	short := shortenIDs(ids)
	rows := make([][]string, len(calls.Items))
	for i, call := range calls.Items {
		rows[i] = []string{
			short[call.ID], formatTime(call.Start), string(call.Kind), callTarget(&call), string(call.Status), call.Duration.Round(10 * time.Microsecond).String(),
			string(call.EntryPoint), names.describe(&call), firstLine(call.Reason, 60),
		}
	}
	if err := c.printTable([]string{"ID", "START", "KIND", "NAME", "STATUS", "TOOK", "ENTRY POINT", "BY", "REASON"}, rows); err != nil {
		return err
	}
	if calls.Next != "" {
		c.printNote("there are more: add --cursor %s", calls.Next)
	}
	return nil
}

// callTarget returns what a call is of: the server and the name there.
func callTarget(call *junctor.Call) string {
	if call.Server == "" {
		return call.Name
	}
	return call.Server + "/" + call.Name
}

// formatMoment returns the moment of a flag in the form of the API; "" stays
// "". See parseMoment.
func formatMoment(flag, s string, now time.Time) (string, error) {
	at, err := parseMoment(flag, s, now)
	if err != nil || at.IsZero() {
		return "", err
	}
	return at.UTC().Format(time.RFC3339Nano), nil
}

// setTimes adds the moments of --since and --until to a query.
func setTimes(query url.Values, since, until string) error {
	now := time.Now()
	for _, flag := range [...]struct{ name, value string }{{"since", since}, {"until", until}} {
		at, err := formatMoment(flag.name, flag.value, now)
		if err != nil {
			return err
		}
		if at != "" {
			query.Set(flag.name, at)
		}
	}
	return nil
}

// parseMoment parses the value of a flag: a time, or a span before now such as
// 15m or 7d. "" is the zero time.
func parseMoment(flag, s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if at, err := time.Parse(time.RFC3339, s); err == nil {
		return at, nil
	}
	span, err := parseSpan(s)
	if err != nil || span < 0 {
		return time.Time{}, usageErrorf("--%s %q: use a time span before now, such as 15m or 7d, or a time such as 2026-01-31T00:00:00Z", flag, s)
	}
	return now.Add(-span), nil
}
