package cli

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/junctor-mcp/junctor/internal/history"
)

func (c *cli) usageCommand() *cobra.Command {
	var by, until string
	var of callsOf
	cmd := &cobra.Command{
		Use: "usage", Short: "Sum up calls by tool, server, user, agent, caller, door or day",
		Long: "Sum up calls, by tool unless --by says otherwise. A call that an agent makes counts for its user too. Days are whole and in UTC; the sums outlive the calls themselves.\n" +
			"Calls that were refused are counted apart, and have no duration.",
		Example: "  junctor usage --by agent --since 30d\n  junctor usage --by tool --user zoe@example.com", Args: cobra.NoArgs,
		RunE: run(func(cmd *cobra.Command, _ []string) error {
			query := url.Values{"by": {by}}
			if err := of.set(query, until); err != nil {
				return err
			}
			var usage list[history.Usage]
			if err := c.ask(cmd, http.MethodGet, "/usage?"+query.Encode(), nil, &usage); err != nil {
				return err
			}
			if c.json() {
				return c.printJSON(usage)
			}
			return c.printUsage(history.Group(by), usage.Items)
		}),
	}
	groups := make([]string, len(history.Groups()))
	for i, g := range history.Groups() {
		groups[i] = string(g)
	}
	cmd.Flags().StringVar(&by, "by", groups[0], "`tool`, server, user, agent, caller, door or day")
	c.callsOf(cmd, &of)
	cmd.Flags().StringVar(&until, "until", "", "to the day of then, in the same forms")
	_ = cmd.RegisterFlagCompletionFunc("by", cobra.FixedCompletions(groups, cobra.ShellCompDirectiveNoFileComp))
	c.remote(cmd)
	return cmd
}

func (c *cli) printUsage(by history.Group, usage []history.Usage) error {
	rows := make([][]string, len(usage))
	for i, u := range usage {
		rows[i] = []string{
			counted(by, u), strconv.FormatInt(u.Calls, 10), strconv.FormatInt(u.Errors, 10), strconv.FormatInt(u.Refused, 10),
			short(u.P50), short(u.P95), short(u.P99), strconv.FormatInt(u.BytesIn, 10), strconv.FormatInt(u.BytesOut, 10),
		}
	}
	return c.table([]string{strings.ToUpper(string(by)), "CALLS", "ERRORS", "REFUSED", "P50", "P95", "P99", "BYTES IN", "BYTES OUT"}, rows)
}

// counted is what a sum is about. A person's name may be gone, so it is the id.
func counted(by history.Group, u history.Usage) string {
	name := ""
	switch by {
	case history.ByTool:
		return u.Server + "/" + u.Name
	case history.ByServer:
		name = u.Server
	case history.ByUser:
		name = u.User
	case history.ByAgent:
		name = u.Agent
	case history.ByCaller:
		return u.Issuer + ":" + u.Subject
	case history.ByDoor:
		name = string(u.Door)
	case history.ByDay:
		name = u.Day.Format(time.DateOnly)
	}
	return cmp.Or(name, "-")
}

// short is a duration to two or three digits; "" for none.
func short(d time.Duration) string {
	if d == 0 {
		return ""
	}
	unit := time.Microsecond
	for d >= 1000*unit {
		unit *= 10
	}
	return d.Round(unit).String()
}
