package cli

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/junctor-mcp/junctor/internal/bench"
)

func (c *cli) benchCommand() *cobra.Command {
	var opt bench.Options
	var points []string
	var duration time.Duration
	cmd := &cobra.Command{
		Use: "bench", Short: "Measure what the gateway costs on this machine",
		Long: "Measure calls through Junctor beside a bare HTTP server, a plain reverse proxy and a Junctor that keeps no\n" +
			"records, each in a process of its own, and print the ratios. It exits 1 when a goal is missed.\n\nPoints: " + strings.Join(bench.PointNames(), ", ") + ".",
		Example: "  junctor bench --short", Args: cobra.NoArgs,
		RunE: run(func(cmd *cobra.Command, _ []string) error {
			opt.Points, opt.Duration = points, duration
			report, err := bench.Run(cmd.Context(), opt, c.err)
			if err != nil {
				return err
			}
			if c.json() {
				err = c.printJSON(report)
			} else {
				err = report.WriteTable(c.out)
			}
			if err == nil && report.Failed() {
				return said("a goal was missed")
			}
			return err
		}),
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&points, "point", nil, "measure only this `point`; may be given several times")
	flags.IntVar(&opt.Pairs, "pairs", 0, "rounds at each point; 0 for the usual number")
	flags.DurationVar(&duration, "duration", 0, "length of one reading; 0 for the usual one")
	flags.IntVar(&opt.Starts, "starts", 0, "how often a start is timed; 0 for the usual number")
	flags.BoolVar(&opt.Short, "short", false, "a quick look: too few rounds to settle small differences")
	flags.BoolVar(&opt.Strict, "strict", false, "fail at the goals, and where they could not be judged, instead of at twice the goals")
	_ = cmd.RegisterFlagCompletionFunc("point", cobra.FixedCompletions(bench.PointNames(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// benchChildCommand is how bench starts its own helpers.
func (c *cli) benchChildCommand() *cobra.Command {
	return &cobra.Command{
		Use: "bench-child ROLE", Short: "A helper process of junctor bench", Example: "  junctor bench-child echo",
		Hidden: true, DisableFlagParsing: true,
		RunE: run(func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && args[0] == bench.Twin {
				return c.twin(cmd.Context())
			}
			return bench.Child(cmd.Context(), args)
		}),
	}
}
