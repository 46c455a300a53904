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

func (c *cli) limitCommand() *cobra.Command {
	cmd := noun("limit", "Show and change how much people, agents and tools may do", "junctor limit ls")
	cmd.AddCommand(c.limitList(), c.limitSet(), c.limitRemove())
	return cmd
}

func (c *cli) limitList() *cobra.Command {
	cmd := &cobra.Command{
		Use: "ls", Short: "List the tiers, and the limits of tools", Example: "  junctor limit ls", Args: cobra.NoArgs,
		RunE: run(func(cmd *cobra.Command, _ []string) error {
			var policy junctor.LimitPolicy
			if err := c.ask(cmd, http.MethodGet, "/limits", nil, &policy); err != nil {
				return err
			}
			if c.json() {
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
			return c.table([]string{"KIND", "NAME", "A SECOND", "BURST", "A DAY", "AT A TIME", "BEYOND"}, rows)
		}),
	}
	c.remote(cmd)
	return cmd
}

// limitCells is a row of the table. A limit that is not set is a dash.
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

// limitFlags is limits on the command line.
type limitFlags struct {
	junctor.Limits
	overLimit string
	maxWait   time.Duration
}

func (f *limitFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.Float64Var(&f.PerSecond, "per-second", 0, "calls a second, steadily")
	flags.IntVar(&f.Burst, "burst", 0, "calls at once after a pause; what one second brings where it is not given")
	flags.IntVar(&f.PerDay, "per-day", 0, "calls between two midnights in UTC")
	flags.IntVar(&f.Concurrent, "concurrent", 0, "calls at a time")
	flags.StringVar(&f.overLimit, "over-limit", "", "what happens to calls beyond a limit: `reject` or queue")
	flags.DurationVar(&f.maxWait, "max-wait", 0, "with queue: how long a call may wait")
	_ = cmd.RegisterFlagCompletionFunc("over-limit", cobra.FixedCompletions([]string{"reject", "queue"}, cobra.ShellCompDirectiveNoFileComp))
}

// given says whether any limit was said.
func (f *limitFlags) given(cmd *cobra.Command) bool {
	return slices.ContainsFunc([]string{"per-second", "burst", "per-day", "concurrent", "over-limit", "max-wait"}, cmd.Flags().Changed)
}

// patch is what was said; what was not stays as it is.
func (f *limitFlags) patch(cmd *cobra.Command) junctor.LimitsPatch {
	l := f.Limits
	l.OverLimit, l.MaxWaitMS = junctor.OverLimit(f.overLimit), int(f.maxWait.Milliseconds())
	p := *l.Replacing()
	said := cmd.Flags().Changed
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

func (c *cli) limitSet() *cobra.Command {
	var f limitFlags
	cmd := &cobra.Command{
		Use: "set NAME", Short: "Set the limits of a tier, or of a tool as server/tool",
		Long:    "Set the limits of a tier, or of a tool as server/tool. What is not given stays as it is; 0 takes a limit away.\nA user has a tier (user set NAME --tier), an agent its own, its limits, or its owner's tier.",
		Example: "  junctor limit set free --per-second 5 --per-day 2000\n  junctor limit set demo/echo --concurrent 2 --over-limit queue --max-wait 5s", Args: cobra.ExactArgs(1),
		RunE: run(func(cmd *cobra.Command, args []string) error {
			if !f.given(cmd) {
				return usagef("nothing is to be changed: name at least one limit, such as --per-day")
			}
			return c.changeLimits(cmd, args[0], new(f.patch(cmd)))
		}),
	}
	f.add(cmd)
	c.remote(cmd)
	return cmd
}

func (c *cli) limitRemove() *cobra.Command {
	cmd := &cobra.Command{
		Use: "rm NAME", Short: "Remove the limits of a tier, or of a tool as server/tool; the tiers that every instance has go back to what they were",
		Example: "  junctor limit rm demo/echo", Args: cobra.ExactArgs(1),
		RunE: run(func(cmd *cobra.Command, args []string) error { return c.changeLimits(cmd, args[0], nil) }),
	}
	c.remote(cmd)
	return cmd
}

func (c *cli) changeLimits(cmd *cobra.Command, name string, change *junctor.LimitsPatch) error {
	body := map[string]any{"remove": []string{name}}
	tool := strings.Contains(name, "/")
	switch {
	case change != nil && tool:
		body = map[string]any{"tools": map[string]any{name: change}}
	case change != nil:
		body = map[string]any{"tiers": map[string]any{name: change}}
	}
	var policy junctor.LimitPolicy
	if err := c.ask(cmd, http.MethodPatch, "/limits", body, &policy); err != nil {
		return err
	}
	if c.json() {
		return c.printJSON(policy)
	}
	if change == nil {
		c.say("the limits of %s are removed", name)
		return nil
	}
	now := policy.Tiers[name]
	if tool {
		now = policy.Tools[name]
	}
	c.say("%s: %s", name, describeLimits(&now))
	return nil
}

// describeLimits is limits as one line; "" where none are set.
func describeLimits(l *junctor.Limits) string {
	if l == nil {
		return ""
	}
	cells := limitCells(*l)
	var said []string
	for i, what := range []string{"a second", "at once", "a day", "at a time"} {
		if cells[i] != "-" {
			said = append(said, cells[i]+" "+what)
		}
	}
	if len(said) == 0 {
		return "no limit"
	}
	return fmt.Sprintf("%s; beyond that: %s", strings.Join(said, ", "), cells[4])
}
