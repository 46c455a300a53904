package cli

import (
	"encoding/json"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/junctor-mcp/junctor/internal/bench"
)

// benchCommand returns `junctor bench`, which measures the gateway on this
// machine and compares the figures with their goals. --from prints a saved
// report instead.
func (c *cli) benchCommand() *cobra.Command {
	var opt bench.Options
	var from string
	cmd := &cobra.Command{
		Use: "bench", Short: "Measure what the gateway costs on this machine",
		Long: "Measure calls through Junctor, with every gate on, to a server behind it: beside that server itself, a plain\n" +
			"reverse proxy before it, and a Junctor without gates; long lists, starts and memory too. Everything runs in a\n" +
			"process of its own, and each figure stands with its goal. All of it takes a quarter of an hour or more.\n\n" +
			"It exits 0 when nothing is unbearable, with --strict when every goal is reached; 1 when that is not so or\n" +
			"something could not be measured; 2 when the command line is wrong.\n\nWhat is measured: " + strings.Join(bench.MeasurementNames(), ", ") + ".",
		Example: "  junctor bench --short\n  junctor bench --only stdio --only 'C=32 modern' --rounds 5\n  junctor bench --format json >report.json && junctor bench --from report.json --format markdown",
		Args:    cobra.NoArgs,
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			var report *bench.Report
			var err error
			if from != "" {
				report, err = savedReport(from)
			} else {
				opt.Version, opt.Live = version(), isTerminal(c.err)
				report, err = bench.Run(cmd.Context(), opt, c.err)
			}
			if err == nil {
				err = c.printBench(report)
			}
			if err == nil && report.Failed() {
				return silentFailure("a goal was missed")
			}
			return err
		}),
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&opt.Only, "only", nil, "measure only what has this `word` in its name; may be given several times")
	flags.IntVar(&opt.Rounds, "rounds", 0, "rounds at each point; 0 for the usual number")
	flags.DurationVar(&opt.Duration, "duration", 0, "length of one reading; 0 for the usual one")
	flags.IntVar(&opt.Starts, "starts", 0, "how often a start is timed; 0 for the usual number")
	flags.IntVar(&opt.Tries, "tries", 0, "how often a round is measured while other work disturbs it; 0 for the usual number")
	flags.BoolVar(&opt.Short, "short", false, "a quick look: too few rounds to settle small differences")
	flags.BoolVar(&opt.Strict, "strict", false, "fail at the goals, and where they could not be judged, instead of where it is unbearable")
	flags.StringVar(&from, "from", "", "measure nothing, and print the report in this `file`, which --format json wrote")
	_ = cmd.RegisterFlagCompletionFunc("only", cobra.FixedCompletions(bench.MeasurementNames(), cobra.ShellCompDirectiveNoFileComp))
	return c.allowMarkdown(cmd)
}

// savedReport reads a report that --format json wrote.
func savedReport(path string) (*bench.Report, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, usageErrorf("--from: %s", err)
	}
	var r bench.Report
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, usageErrorf("--from: %s holds no report of junctor bench --format json: %s", path, err)
	}
	return &r, nil
}

// printBench prints a report in the format of the command line.
func (c *cli) printBench(r *bench.Report) error {
	switch c.format {
	case formatJSON:
		return c.printJSON(r)
	case formatMarkdown:
		return r.WriteMarkdown(c.out)
	}
	return r.WriteTable(c.out)
}

// benchChildCommand returns the hidden command that internal/bench starts as a
// child process: a load generator, an upstream server or a variant of the
// gateway.
func (c *cli) benchChildCommand() *cobra.Command {
	return &cobra.Command{
		Use: "bench-child ROLE", Short: "A helper process of junctor bench", Example: "  junctor bench-child echo",
		Hidden: true, DisableFlagParsing: true,
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				if missing, ok := benchVariants()[args[0]]; ok {
					return c.serveBenchVariant(cmd.Context(), missing)
				}
			}
			return bench.RunChild(cmd.Context(), args)
		}),
	}
}
