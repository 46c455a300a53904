package cli

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
)

// limitCommand returns the group `junctor limit`: limits of tiers and of tools.
func (c *cli) limitCommand() *cobra.Command {
	cmd := newGroupCommand("limit", "Show and set limits of tiers and tools", "junctor limit ls")
	cmd.AddCommand(c.limitList(), c.limitSet(), c.limitRemove())
	return cmd
}

// limitList returns `limit ls`.
func (c *cli) limitList() *cobra.Command {
	cmd := &cobra.Command{
		Use: "ls", Short: "List the limits of tiers and tools", Example: "  junctor limit ls", Args: cobra.NoArgs,
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			var policy junctor.LimitPolicy
			if err := c.requestAPI(cmd, http.MethodGet, "/limits", nil, &policy); err != nil {
				return err
			}
			if c.wantsJSON() {
				return c.printJSON(policy)
			}
			rows := [][]string{}
			for _, of := range []struct {
				kind string
				set  map[string]junctor.Limits
			}{{"tier", policy.Tiers}, {"tool", policy.Tools}} {
				for _, name := range slices.Sorted(maps.Keys(of.set)) {
					rows = append(rows, append([]string{of.kind, name}, limitCells(of.set[name])...))
				}
			}
			return c.printTable([]string{"KIND", "NAME", "PER SECOND", "BURST", "PER DAY", "CONCURRENT", "OVER LIMIT"}, rows)
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}

// limitCells returns the cells of limits in a table. A limit that is not set is
// a dash.
func limitCells(l junctor.Limits) []string {
	number := func(n int) string {
		if n == 0 {
			return "-"
		}
		return strconv.Itoa(n)
	}
	rate := "-"
	if l.PerSecond > 0 {
		rate = strconv.FormatFloat(l.PerSecond, 'g', -1, 64)
	}
	beyond := string(junctor.OverLimitReject)
	if l.OverLimit == junctor.OverLimitQueue {
		beyond = "queue for " + l.Wait().String()
	}
	return []string{rate, number(l.Burst), number(l.PerDay), number(l.Concurrent), beyond}
}

// limitFlags are the flags that describe limits. `limit set`, `agent add` and
// `agent set` have them.
type limitFlags struct {
	junctor.Limits // but for the two that flags have in another form
	overLimit      string
	maxWait        time.Duration
}

// addTo adds the flags to a command.
func (f *limitFlags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.Float64Var(&f.PerSecond, "per-second", 0, "sustained calls per second")
	flags.IntVar(&f.Burst, "burst", 0, "calls at once after a pause (default the calls of one second)")
	flags.IntVar(&f.PerDay, "per-day", 0, "calls per day in UTC")
	flags.IntVar(&f.Concurrent, "concurrent", 0, "concurrent calls")
	flags.StringVar(&f.overLimit, "over-limit", "", "what happens to calls over a limit: `reject` or queue")
	flags.DurationVar(&f.maxWait, "max-wait", 0, "with --over-limit queue: how long a call may wait")
	_ = cmd.RegisterFlagCompletionFunc("over-limit", cobra.FixedCompletions([]string{"reject", "queue"}, cobra.ShellCompDirectiveNoFileComp))
}

// anyLimitGiven reports whether one of the flags was given.
func (f *limitFlags) anyLimitGiven(cmd *cobra.Command) bool {
	return slices.ContainsFunc([]string{"per-second", "burst", "per-day", "concurrent", "over-limit", "max-wait"}, cmd.Flags().Changed)
}

// makePatch returns the limits whose flags were given; the others are nil and
// stay as they are. A limit of 0 is removed.
func (f *limitFlags) makePatch(cmd *cobra.Command) junctor.LimitsPatch {
	l := f.Limits
	l.OverLimit, l.MaxWaitMS = junctor.OverLimit(f.overLimit), int(f.maxWait.Milliseconds())
	p := *l.Replacing()
	said := cmd.Flags().Changed
	// A member that is nil in the patch stays as it is on the instance.
	for flag, forget := range map[string]func(){
		"per-second": func() { p.PerSecond = nil }, "burst": func() { p.Burst = nil }, "per-day": func() { p.PerDay = nil },
		"concurrent": func() { p.Concurrent = nil }, "over-limit": func() { p.OverLimit = nil }, "max-wait": func() { p.MaxWaitMS = nil },
	} {
		if !said(flag) {
			forget()
		}
	}
	return p
}

// limitSet returns `limit set`.
func (c *cli) limitSet() *cobra.Command {
	var f limitFlags
	cmd := &cobra.Command{
		Use: "set NAME", Short: "Set the limits of a tier or a tool",
		Long: "Set the limits of a tier, or of a tool as server/tool. Limits without a flag stay as they are; 0 removes a " +
			"limit. A user has a tier (junctor user set NAME --tier); an agent has its own limits, its own tier, or the " +
			"tier of its owner.",
		Example: "  junctor limit set free --per-second 5 --per-day 2000\n  junctor limit set demo/echo --concurrent 2 --over-limit queue --max-wait 5s", Args: cobra.ExactArgs(1),
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			if !f.anyLimitGiven(cmd) {
				return usageErrorf("no change given: use at least one flag, such as --per-day")
			}
			return c.changeLimits(cmd, args[0], new(f.makePatch(cmd)))
		}),
	}
	f.addTo(cmd)
	c.addInstanceFlags(cmd)
	return cmd
}

// limitRemove returns `limit rm`.
func (c *cli) limitRemove() *cobra.Command {
	cmd := &cobra.Command{
		Use: "rm NAME", Short: "Remove the limits of a tier or a tool; built-in tiers return to their defaults",
		Example: "  junctor limit rm demo/echo", Args: cobra.ExactArgs(1),
		RunE: runCommand(func(cmd *cobra.Command, args []string) error { return c.changeLimits(cmd, args[0], nil) }),
	}
	c.addInstanceFlags(cmd)
	return cmd
}

// changeLimits patches /limits. A name with a slash is a tool, any other a
// tier. A nil change removes the limits.
func (c *cli) changeLimits(cmd *cobra.Command, name string, change *junctor.LimitsPatch) error {
	body := map[string]any{"remove": []string{name}}
	tool := strings.Contains(name, "/")
	switch {
	// Without a change, the body removes the limits.
	case change != nil && tool:
		body = map[string]any{"tools": map[string]any{name: change}}
	case change != nil:
		body = map[string]any{"tiers": map[string]any{name: change}}
	}
	var former, policy junctor.LimitPolicy
	if change != nil && !tool {
		if err := c.requestAPI(cmd, http.MethodGet, "/limits", nil, &former); err != nil {
			return err
		}
	}
	if err := c.requestAPI(cmd, http.MethodPatch, "/limits", body, &policy); err != nil {
		return err
	}
	if c.wantsJSON() {
		return c.printJSON(policy)
	}
	if change == nil {
		c.printNote("the limits of %s are removed", name)
		return nil
	}
	if now := policy.Tools[name]; tool {
		c.printNote("tool %s: %s", name, describeLimits(&now))
		return nil
	}
	isNew := ""
	if _, existed := former.Tiers[name]; !existed {
		isNew = " (new)"
	}
	now := policy.Tiers[name]
	c.printNote("tier %s%s: %s", name, isNew, describeLimits(&now))
	return nil
}

// describeLimits returns limits as one line; "" for nil.
func describeLimits(l *junctor.Limits) string {
	if l == nil {
		return ""
	}
	cells := limitCells(*l)
	var parts []string
	for i, what := range []string{"per second", "in a burst", "per day", "concurrent"} {
		if cells[i] != "-" {
			parts = append(parts, cells[i]+" "+what)
		}
	}
	if len(parts) == 0 {
		return "no limit"
	}
	return fmt.Sprintf("%s; calls over the limit: %s", strings.Join(parts, ", "), cells[4])
}
