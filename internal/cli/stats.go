package cli

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/junctor-mcp/junctor/internal/queue"
	"github.com/junctor-mcp/junctor/internal/series"
)

// statsInterval is how often `junctor stats` shows the numbers again.
const statsInterval = 2 * time.Second

// statsReport is what `junctor stats --format json` prints: the numbers of all calls, and
// those of the groups with the most calls.
type statsReport struct {
	All    series.Answer `json:"all"`
	Groups series.Answer `json:"groups"`
	Queue  queueReport   `json:"queue"`
}

// queueReport is the state of the deliveries of events that have not ended.
type queueReport struct {
	Deliveries      int `json:"deliveries"`
	Held            int `json:"held"`
	PausedEndpoints int `json:"paused_endpoints"`
}

// addLanes counts the deliveries of delivery endpoints.
func (r *queueReport) addLanes(lanes []queue.Lane) {
	for _, l := range lanes {
		r.Deliveries += l.Jobs
		r.Held += l.Held
		if l.State != queue.LaneClosed {
			r.PausedEndpoints++
		}
	}
}

// statsCommand returns `junctor stats`, which shows how many calls there are and how they
// end, again and again on a terminal.
func (c *cli) statsCommand() *cobra.Command {
	var by, last string
	var limit int
	cmd := &cobra.Command{
		Use: "stats", Short: "Show rates, errors and latencies of calls, live",
		Long: "Show how many calls there were in the last minutes, how many of them failed or were refused, their p50, p95 and p99,\n" +
			"and the same for the tools, servers, agents or users with the most calls. Tool lists and waiting deliveries are shown if there are any. On a terminal the numbers are shown again\n" +
			"every two seconds until Ctrl-C; otherwise once. The numbers are those of the journals of all replicas.",
		Example: "  junctor stats\n  junctor stats --by agent --last 24h", Args: cobra.NoArgs,
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			period, err := time.ParseDuration(last)
			if err != nil || period < time.Minute {
				return usageErrorf("--last %q is not a duration of a minute or more, such as 15m or 24h", last)
			}
			for live := isTerminal(c.out) && !c.wantsJSON(); ; {
				report, err := c.fetchStats(cmd, by, period, limit)
				if err != nil {
					return err
				}
				if live {
					fmt.Fprint(c.out, "\x1b[H\x1b[2J") // to the top of a cleared screen
				}
				if err := c.printStats(cmd, by, period, report); err != nil || !live {
					return err
				}
				select {
				case <-cmd.Context().Done():
					return nil
				case <-time.After(statsInterval):
				}
			}
		}),
	}
	dimensions := make([]string, 0, len(series.Dimensions()))
	for _, d := range series.Dimensions()[1:] {
		dimensions = append(dimensions, string(d))
	}
	cmd.Flags().StringVar(&by, "by", string(series.ByTool), "`dimension` of the table: "+strings.Join(dimensions, ", "))
	cmd.Flags().StringVar(&last, "last", "15m", "`duration` of the period that ends now")
	cmd.Flags().IntVar(&limit, "limit", 10, "`number` of rows, at most 100")
	_ = cmd.RegisterFlagCompletionFunc("by", cobra.FixedCompletions(dimensions, cobra.ShellCompDirectiveNoFileComp))
	c.addInstanceFlags(cmd)
	return cmd
}

// fetchStats gets the numbers of a period that ends now.
func (c *cli) fetchStats(cmd *cobra.Command, by string, period time.Duration, limit int) (r statsReport, err error) {
	now := time.Now()
	query := url.Values{
		"from": {now.Add(-period).Format(time.RFC3339)}, "to": {now.Format(time.RFC3339Nano)}, "points": {"false"}, "by": {string(series.ByAll)},
	}
	if err := c.requestAPI(cmd, http.MethodGet, "/metrics?"+query.Encode(), nil, &r.All); err != nil {
		return r, err
	}
	query.Set("by", by)
	query.Set("limit", strconv.Itoa(limit))
	if err := c.requestAPI(cmd, http.MethodGet, "/metrics?"+query.Encode(), nil, &r.Groups); err != nil {
		return r, err
	}
	var endpoints struct{ Items []queue.Lane }
	err = allowDenied(c.requestAPI(cmd, http.MethodGet, "/endpoints?limit="+strconv.Itoa(maxListedEndpoints), nil, &endpoints))
	r.Queue.addLanes(endpoints.Items)
	return r, err
}

// maxListedEndpoints is how many delivery endpoints `junctor stats` adds up.
const maxListedEndpoints = 1000

// printStats prints a line about all calls and a table of the groups.
func (c *cli) printStats(cmd *cobra.Command, by string, period time.Duration, r statsReport) error {
	if c.wantsJSON() {
		return c.printJSON(r)
	}
	var all series.Numbers
	if len(r.All.Series) > 0 {
		all = r.All.Series[0].Total
	}
	fmt.Fprintf(c.out, "%d calls in %s (%s), %s failed, %s refused, p50 %s, p95 %s, p99 %s\n", all.Calls, strings.TrimSuffix(period.String(), "0s"), formatRate(all.Calls, period),
		formatShare(all.Failed(), all.Calls), formatShare(all.Refused(), all.Calls), formatMicros(all.P50), formatMicros(all.P95), formatMicros(all.P99))
	if all.ToolLists > 0 {
		fmt.Fprintf(c.out, "%d tool lists, about %d tokens of definitions\n", all.ToolLists, all.DefinitionTokens)
	}
	if q := r.Queue; q != (queueReport{}) {
		fmt.Fprintf(c.out, "queue: %d deliveries, %d of them held; %d delivery endpoints paused\n", q.Deliveries, q.Held, q.PausedEndpoints)
	}
	fmt.Fprintln(c.out)
	names, err := c.fetchCallerNames(cmd)
	if err != nil {
		return err
	}
	rows := make([][]string, len(r.Groups.Series))
	for i := range r.Groups.Series {
		line := &r.Groups.Series[i]
		n := &line.Total
		rows[i] = []string{
			statsLabel(series.Dimension(by), line, names), strconv.FormatInt(n.Calls, 10), formatRate(n.Calls, period), formatShare(n.Failed(), n.Calls),
			formatShare(n.Refused(), n.Calls), formatMicros(n.P50), formatMicros(n.P95), formatMicros(n.P99),
		}
	}
	return c.printTable([]string{strings.ToUpper(by), "CALLS", "RATE", "FAILED", "REFUSED", "P50", "P95", "P99"}, rows)
}

// statsLabel returns what a group is of. Users, keys and callers have the form that usage and the
// list of calls show; one that has no name any more has its id.
func statsLabel(by series.Dimension, line *series.Series, names *callerNames) string {
	first := line.First
	switch by {
	case series.ByCaller:
		if line.Second != "" { // not that of all others
			return names.caller(line.First, line.Second)
		}
	case series.ByUser, series.ByUserTool:
		first = names.user(first)
	case series.ByKey:
		first = cmp.Or(names.keys[first], first)
	default:
	}
	return cmp.Or(strings.Trim(first+"/"+line.Second, "/"), "-")
}

// formatRate returns calls per second, or per minute where they are few.
func formatRate(calls int64, period time.Duration) string {
	perSecond := float64(calls) / period.Seconds()
	if calls > 0 && perSecond < 1 {
		return strconv.FormatFloat(perSecond*60, 'f', 1, 64) + "/min"
	}
	return strconv.FormatFloat(perSecond, 'f', 1, 64) + "/s"
}

// formatShare returns a part of a whole in percent.
func formatShare(part, whole int64) string {
	if whole == 0 {
		return "0 %"
	}
	return strconv.FormatFloat(100*float64(part)/float64(whole), 'f', 1, 64) + " %"
}

// formatMicros returns a duration in microseconds; "-" for none.
func formatMicros(us int64) string {
	return cmp.Or(formatDuration(time.Duration(us)*time.Microsecond), "-")
}
