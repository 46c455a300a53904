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
		Use: "bench", Short: "Measure the overhead of the gateway on this machine",
		Long: "Measure calls through Junctor with all checks on, and compare them with direct calls, with a plain reverse " +
			"proxy, and with a Junctor without checks. Long tool lists, starts and memory are measured too. Each program runs " +
			"in its own process. A full run takes 15 minutes or more.\n\n" +
			"The exit code is 0 if no result is far worse than its goal (with --strict: if all goals are reached), 1 if one is " +
			"or a measurement failed, and 2 if the command line is invalid.\n\n" +
			"Measured points: " + strings.Join(bench.MeasurementNames(), ", ") + ".",
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
	flags.StringSliceVar(&opt.Only, "only", nil, "measure only points with this `word` in their names; repeatable")
	flags.IntVar(&opt.Rounds, "rounds", 0, "rounds at each point; 0 is the default")
	flags.DurationVar(&opt.Duration, "duration", 0, "length of one measurement; 0 is the default")
	flags.IntVar(&opt.Starts, "starts", 0, "number of timed starts; 0 is the default")
	flags.IntVar(&opt.Tries, "tries", 0, "how often a disturbed round is measured again; 0 is the default")
	flags.BoolVar(&opt.Short, "short", false, "measure with few rounds; small differences are not significant")
	flags.BoolVar(&opt.Strict, "strict", false, "exit 1 if a goal is missed or could not be judged; by default only far worse results fail")
	flags.StringVar(&from, "from", "", "print the report in this `file`, written with --format json, instead of measuring")
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
		return nil, usageErrorf("--from: %s is no report of junctor bench --format json: %s", path, err)
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
