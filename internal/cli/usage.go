package cli

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/junctor-mcp/junctor/internal/series"
)

// usageCommand returns `junctor usage`, which sums up calls by a group such as
// tool or day.
func (c *cli) usageCommand() *cobra.Command {
	var by, until string
	var of callFilter
	cmd := &cobra.Command{
		Use: "usage", Short: "Sum up calls by tool, server, user, agent, caller, entry_point or day",
		Long: "Sum up calls by tool, or by the value of --by. A call of an agent also counts for its user. Sums cover " +
			"whole days in UTC, and are kept longer than the calls. Denied calls are counted separately, and have no " +
			"duration.",
		Example: "  junctor usage --by agent --since 30d\n  junctor usage --by tool --user zoe@example.com", Args: cobra.NoArgs,
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			query := url.Values{"by": {by}}
			if err := of.setQuery(query, until); err != nil {
				return err
			}
			var usage listPage[series.Usage]
			if err := c.requestAPI(cmd, http.MethodGet, "/usage?"+query.Encode(), nil, &usage); err != nil {
				return err
			}
			if c.wantsJSON() {
				return c.printJSON(usage)
			}
			names, err := c.fetchCallerNames(cmd)
			if err != nil {
				return err
			}
			return c.printUsage(series.UsageGroup(by), usage.Items, names)
		}),
	}
	groups := make([]string, len(series.UsageGroups()))
	for i, g := range series.UsageGroups() {
		groups[i] = string(g)
	}
	cmd.Flags().StringVar(&by, "by", groups[0], "`tool`, server, user, agent, caller, entry_point or day")
	c.addCallFilter(cmd, &of)
	cmd.Flags().StringVar(&until, "until", "", "only calls until the day of this, in the same forms")
	_ = cmd.RegisterFlagCompletionFunc("by", cobra.FixedCompletions(groups, cobra.ShellCompDirectiveNoFileComp))
	c.addInstanceFlags(cmd)
	return cmd
}

// printUsage prints the sums of a group.
func (c *cli) printUsage(by series.UsageGroup, usage []series.Usage, names *callerNames) error {
	rows := make([][]string, len(usage))
	for i, u := range usage {
		rows[i] = []string{
			usageLabel(by, u, names), strconv.FormatInt(u.Calls, 10), strconv.FormatInt(u.Errors, 10), strconv.FormatInt(u.Refused, 10),
			formatDuration(u.P50), formatDuration(u.P95), formatDuration(u.P99), strconv.FormatInt(u.BytesIn, 10), strconv.FormatInt(u.BytesOut, 10),
		}
	}
	return c.printTable([]string{strings.ToUpper(string(by)), "CALLS", "ERRORS", "REFUSED", "P50", "P95", "P99", "BYTES IN", "BYTES OUT"}, rows)
}

// usageLabel returns what a sum is about. For a user or a key that has no name any more
// it is the id.
func usageLabel(by series.UsageGroup, u series.Usage, names *callerNames) string {
	name := ""
	switch by {
	case series.UsageByTool:
		return u.Server + "/" + u.Name
	case series.UsageByServer:
		name = u.Server
	case series.UsageByUser:
		name = names.user(u.User)
	case series.UsageByAgent:
		name = u.Agent
	case series.UsageByCaller:
		return names.caller(u.Issuer, u.Subject)
	case series.UsageByEntryPoint:
		name = string(u.EntryPoint)
	case series.UsageByDay:
		name = u.Day.Format(time.DateOnly)
	}
	return cmp.Or(name, "-")
}

// formatDuration rounds a duration to about three digits; "" for 0.
func formatDuration(d time.Duration) string {
	if d == 0 {
		return ""
	}
	unit := time.Microsecond
	// Three significant digits, whatever the magnitude.
	for d >= 1000*unit {
		unit *= 10
	}
	return d.Round(unit).String()
}
