package cli

import (
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/agent"
)

// brainFlags are what an agent thinks with, on the command line.
type brainFlags struct{ model, instructions, rules string }

func (f *brainFlags) add(c *cli, cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.model, "model", "", "what it thinks with when somebody talks to it, by `name` (junctor model ls)")
	flags.StringVar(&f.instructions, "instructions", "", "what the model is told before all else; `@file` reads it from there")
	flags.StringVar(&f.rules, "rules", "", "`file` with rules to answer by, without a model")
	cmd.MarkFlagsMutuallyExclusive("model", "rules")
	cmd.MarkFlagsMutuallyExclusive("instructions", "rules")
	_ = cmd.RegisterFlagCompletionFunc("model", c.completeModels)
}

// brain is what was said; nil where nothing was. had is what the agent has, which
// flags that are not given leave.
func (f *brainFlags) brain(cmd *cobra.Command, had *junctor.Brain) (*junctor.Brain, error) {
	given := cmd.Flags().Changed
	if !given("model") && !given("instructions") && !given("rules") {
		return nil, nil //nolint:nilnil // nothing was said of it
	}
	b := junctor.Brain{}
	if had != nil {
		b = *had
	}
	if given("rules") {
		text, err := os.ReadFile(f.rules)
		if err != nil {
			return nil, usagef("--rules: %s cannot be read: %v", f.rules, err)
		}
		b.Model, b.Instructions, b.Rules = "", "", string(text)
		return &b, nil
	}
	b.Rules = ""
	if given("model") {
		b.Model = f.model
	}
	if given("instructions") {
		b.Instructions = f.instructions
		if name, ok := strings.CutPrefix(f.instructions, "@"); ok {
			text, err := os.ReadFile(name)
			if err != nil {
				return nil, usagef("--instructions: %s cannot be read: %v", name, err)
			}
			b.Instructions = string(text)
		}
	}
	return &b, nil
}

// setBrain adds to a change what the flags say of an agent's brain.
func (f *brainFlags) setBrain(cmd *cobra.Command, had *junctor.Brain, none bool, body map[string]any) error {
	if none {
		body["brain"] = nil
		return nil
	}
	brain, err := f.brain(cmd, had)
	if err == nil && brain != nil {
		body["brain"] = brain
	}
	return err
}

// changesBrain says whether the flags change a part of what an agent thinks with.
func (f *brainFlags) changesBrain(cmd *cobra.Command) bool {
	return cmd.Flags().Changed("instructions") || cmd.Flags().Changed("model") || cmd.Flags().Changed("rules")
}

func (c *cli) agentRun() *cobra.Command {
	cmd := &cobra.Command{
		Use: "run NAME MESSAGE...", Short: "Say something to an agent, and have its answer",
		Long: "Give an agent one turn: it thinks with its model or its rules, calls tools of its list, and answers. What it\n" +
			"calls is told on standard error; the answer goes to standard output.",
		Example: "  junctor agent run qa-bot 'Which notes are about the release?'", Args: cobra.MinimumNArgs(2), ValidArgsFunction: c.completeAgents,
		RunE: run(func(cmd *cobra.Command, args []string) error {
			var end admin.TurnEnd
			if err := c.ask(cmd, http.MethodPost, path("agents", args[0], "runs"), map[string]any{"message": strings.Join(args[1:], " ")}, &end); err != nil {
				return err
			}
			if c.json() {
				if err := c.printJSON(end); err != nil {
					return err
				}
			} else {
				c.sayCalls(end.Messages)
				if _, err := fmt.Fprintln(c.out, end.Text); err != nil {
					return err
				}
			}
			if end.Outcome != agent.Done {
				return junctor.Errorf(junctor.CodeUpstream, "the turn ended early: %s", end.Reason)
			}
			return nil
		}),
	}
	c.remote(cmd)
	return cmd
}

// sayCalls tells which calls a turn made and what it showed, each in a line.
func (c *cli) sayCalls(story []agent.Message) {
	results := map[string]agent.Result{}
	for _, m := range story {
		for _, res := range m.Results {
			results[res.CallID] = res
		}
	}
	for _, m := range story {
		for _, call := range m.Calls {
			state := "done"
			if results[call.ID].IsError {
				state = "failed: " + firstLine(results[call.ID].Text, 100)
			}
			c.say("%s %s: %s", call.Name, firstLine(string(call.Arguments), 100), state)
		}
		for i := range m.Surfaces {
			c.say("%s", m.Surfaces[i].Describe())
		}
	}
}

func (c *cli) completeModels(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	return completeFrom(c, "/models", func(m junctor.Model) (string, string) { return m.Name, m.Model })(cmd, nil, prefix)
}
