package cli

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
)

// policyCheck returns `policy check`.
func (c *cli) policyCheck() *cobra.Command {
	var strict bool
	cmd := &cobra.Command{
		Use: "check FILE", Short: "Check the rules of a file without storing them",
		Long: "Check the rules of a file against the tools that they are about, without storing them. Each mistake is shown with line and column in its condition.\n\n" +
			"The exit code is 0 if the rules could be stored, and 1 otherwise. With --strict, warnings count as mistakes.",
		Example: "  junctor policy check rules.yaml --strict", Args: cobra.ExactArgs(1),
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			rules, err := c.readPolicyFile(args[0])
			if err != nil {
				return err
			}
			var answer struct {
				Problems []admin.PolicyProblem `json:"problems"`
			}
			if err := c.requestAPI(cmd, http.MethodPost, "/policies/check", map[string]any{"rules": rules}, &answer); err != nil {
				return err
			}
			if c.wantsJSON() {
				if err := c.printJSON(answer); err != nil {
					return err
				}
			} else {
				c.printPolicyProblems(answer.Problems)
			}
			if slices.ContainsFunc(answer.Problems, func(p admin.PolicyProblem) bool { return strict || !p.Warning }) {
				return silentFailure("the rules do not check")
			}
			if !c.wantsJSON() {
				c.printNote("%d rules checked", len(rules))
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&strict, "strict", false, "fail on warnings, too")
	c.addInstanceFlags(cmd)
	return cmd
}

// policySimulate returns `policy simulate`.
func (c *cli) policySimulate() *cobra.Command {
	var (
		since, until string
		limit        int
	)
	cmd := &cobra.Command{
		Use: "simulate [FILE]", Short: "Show which recorded calls would have ended otherwise",
		Long: "Evaluate the rules of a file, or the stored rules, on recorded calls, and show which of them would have ended otherwise, by rule, tool and agent. " +
			"No server is called and nothing is stored.\n\n" +
			"Calls whose recorded arguments are cut or redacted, and calls that were recorded without what rules read, are counted as undecidable. " +
			"The history may keep only some of the calls; the share is shown.",
		Example: "  junctor policy simulate rules.yaml --since 7d", Args: cobra.MaximumNArgs(1),
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			body := map[string]any{}
			if len(args) == 1 {
				rules, err := c.readPolicyFile(args[0])
				if err != nil {
					return err
				}
				body["rules"] = rules
			}
			if cmd.Flags().Changed("limit") {
				body["limit"] = limit
			}
			now := time.Now()
			for _, flag := range [...]struct{ name, value string }{{"since", since}, {"until", until}} {
				at, err := parseMoment(flag.name, flag.value, now)
				if err != nil {
					return err
				}
				if !at.IsZero() {
					body[flag.name] = at
				}
			}
			var out admin.PolicySimulation
			if err := c.requestAPI(cmd, http.MethodPost, "/policies/simulate", body, &out); err != nil {
				return err
			}
			if c.wantsJSON() {
				return c.printJSON(out)
			}
			return c.printSimulation(&out)
		}),
	}
	cmd.Flags().StringVar(&since, "since", "7d", "only calls since a time span such as 15m or 7d, or a time such as 2026-01-31T00:00:00Z")
	cmd.Flags().StringVar(&until, "until", "", "only calls before a time span ago, or a time")
	cmd.Flags().IntVar(&limit, "limit", 100_000, "the most calls to read, the newest first")
	c.addInstanceFlags(cmd)
	return cmd
}

// printSimulation prints a simulation.
func (c *cli) printSimulation(s *admin.PolicySimulation) error {
	c.printPolicyProblems(s.Problems)
	of := fmt.Sprint(s.Calls)
	if s.Total > 0 {
		of = fmt.Sprintf("%d of %d in that time (%.0f %%)", s.Calls, s.Total, 100*s.Share)
	}
	if s.Partial {
		of += ", the newest; older ones were not read"
	}
	var undecidable []string
	for _, one := range []struct {
		n    int
		text string
	}{
		{s.Undecidable.Arguments, "arguments cut, redacted or not yours to read"},
		{s.Undecidable.Facts, "recorded without what rules read"},
		{s.Undecidable.Result, "result cut or redacted"},
		{s.Undecidable.Filter, "a webhook would decide"},
		{s.Undecidable.Tool, "the tool has another definition now"},
	} {
		if one.n > 0 {
			undecidable = append(undecidable, fmt.Sprintf("%d (%s)", one.n, one.text))
		}
	}
	if err := c.printFacts("since", formatTime(s.Since), "until", formatTime(s.Until), "recorded calls", of, "decided", strconv.Itoa(s.Decided), "would differ", strconv.Itoa(s.Changed),
		"undecidable", strings.Join(undecidable, ", ")); err != nil {
		return err
	}
	if len(s.Differences) > 0 {
		fmt.Fprintln(c.out)
		rows := make([][]string, len(s.Differences))
		for i, d := range s.Differences {
			rows[i] = []string{strconv.Itoa(d.Calls), d.From, d.To, d.Rule, d.Tool, d.Agent, strings.Join(d.Samples[:min(len(d.Samples), 2)], " ")}
		}
		if err := c.printTable([]string{"CALLS", "FROM", "TO", "RULE", "TOOL", "AGENT", "SAMPLES"}, rows); err != nil {
			return err
		}
	}
	if len(s.Rules) == 0 {
		return nil
	}
	fmt.Fprintln(c.out)
	rows := make([][]string, len(s.Rules))
	for i, r := range s.Rules {
		rows[i] = []string{r.Rule, string(r.Mode), strconv.Itoa(r.Matched), strconv.Itoa(r.Errors)}
	}
	return c.printTable([]string{"RULE", "MODE", "MATCHED", "ERRORS"}, rows)
}

// policyExplain returns `policy explain`.
func (c *cli) policyExplain() *cobra.Command {
	cmd := &cobra.Command{
		Use: "explain CALL", Short: "Show what the rules came to for a call, and why",
		Long: "Show what the rules did with a call, and evaluate those that are stored now on what was recorded of it: each rule with its value, and the parts of its condition that decided. " +
			"CALL is the ID of a call, its beginning, or last.",
		Example: "  junctor policy explain last", Args: cobra.ExactArgs(1),
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			var e admin.PolicyExplanation
			if err := c.requestAPI(cmd, http.MethodGet, apiPath("calls", args[0], "policies"), nil, &e); err != nil {
				return err
			}
			if c.wantsJSON() {
				return c.printJSON(e)
			}
			return c.printExplanation(&e)
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}

// describeHits returns what rules did with a call, in order.
func describeHits(hits []junctor.PolicyHit) string {
	texts := make([]string, len(hits))
	for i, h := range hits {
		texts[i] = fmt.Sprintf("%s: %s (%s)", h.Rule, h.Value, h.Verdict)
		if h.Mode == junctor.ModeAudit {
			texts[i] = fmt.Sprintf("%s: %s (%s, audit only)", h.Rule, h.Value, h.Verdict)
		}
		switch {
		case h.Changed == 1:
			texts[i] += ", changed 1 text"
		case h.Changed > 1:
			texts[i] += fmt.Sprintf(", changed %d texts", h.Changed)
		}
		if h.Error != "" {
			texts[i] += ", error: " + h.Error
		}
		if h.Decided {
			texts[i] += ", decided"
		}
	}
	return strings.Join(texts, "; ")
}

// printExplanation prints an explanation.
func (c *cli) printExplanation(e *admin.PolicyExplanation) error {
	if err := c.printFacts("call", e.Call, "when it was made", describeHits(e.Recorded), "now", strings.TrimSpace(e.Verdict+" "+e.Rule), "inputs", string(e.Inputs)); err != nil {
		return err
	}
	for _, note := range e.Notes {
		c.printNote("note: %s", note)
	}
	for _, r := range e.Rules {
		decided := ""
		if r.Decided {
			decided = ", decides"
		}
		fmt.Fprintf(c.out, "\n%s (%s, %s): %s%s\n", r.Rule, r.Verdict, r.Mode, r.Value, decided)
		if r.Error != "" {
			fmt.Fprintf(c.out, "  error: %s\n", toCell(r.Error))
		}
		for _, part := range r.Parts {
			fmt.Fprintf(c.out, "  %s = %s\n", toCell(part.Expression), toCell(part.Value))
			for _, input := range part.Inputs {
				fmt.Fprintf(c.out, "    %s\n", toCell(input))
			}
		}
	}
	return nil
}
