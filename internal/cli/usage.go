package cli

import (
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/junctor-mcp/junctor/internal/history"
)

func (c *cli) usageCommand() *cobra.Command {
	var by, since, until string
	cmd := &cobra.Command{
		Use: "usage", Short: "Sum up calls by tool, agent or day",
		Long: "Sum up calls by tool, by agent or by day. Days are whole and in UTC; the sums outlive the calls themselves.\n" +
			"Calls that were refused are counted apart, and have no duration.",
		Example: "  junctor usage --by agent --since 30d", Args: cobra.NoArgs,
		RunE: run(func(cmd *cobra.Command, _ []string) error {
			query := url.Values{"by": {by}}
			if err := setTimes(query, since, until); err != nil {
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
	groups := []string{string(history.ByTool), string(history.ByAgent), string(history.ByDay)}
	cmd.Flags().StringVar(&by, "by", groups[0], "`tool`, agent or day")
	cmd.Flags().StringVar(&since, "since", "", "from the day of then: 7d, or a time such as 2026-01-31T00:00:00Z")
	cmd.Flags().StringVar(&until, "until", "", "to the day of then, in the same forms")
	_ = cmd.RegisterFlagCompletionFunc("by", cobra.FixedCompletions(groups, cobra.ShellCompDirectiveNoFileComp))
	c.remote(cmd)
	return cmd
}

func (c *cli) printUsage(by history.Group, usage []history.Usage) error {
	heading := "TOOL"
	name := func(u history.Usage) string { return u.Server + "/" + u.Name }
	switch by {
	case history.ByTool:
	case history.ByAgent:
		heading, name = "AGENT", func(u history.Usage) string { return u.Issuer + ":" + u.Subject }
	case history.ByDay:
		heading, name = "DAY", func(u history.Usage) string { return u.Day.Format(time.DateOnly) }
	}
	rows := make([][]string, len(usage))
	for i, u := range usage {
		rows[i] = []string{
			name(u), strconv.FormatInt(u.Calls, 10), strconv.FormatInt(u.Errors, 10), strconv.FormatInt(u.Refused, 10),
			short(u.P50), short(u.P95), short(u.P99), strconv.FormatInt(u.BytesIn, 10), strconv.FormatInt(u.BytesOut, 10),
		}
	}
	return c.table([]string{heading, "CALLS", "ERRORS", "REFUSED", "P50", "P95", "P99", "BYTES IN", "BYTES OUT"}, rows)
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
