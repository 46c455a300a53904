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

// brainFlags are the flags for what an agent answers with: a model with
// instructions, or rules.
type brainFlags struct {
	model        string // by its name
	instructions string // the text, or @file
	rules        string // a file; excludes the other two
}

// addTo adds the flags to a command.
func (f *brainFlags) addTo(c *cli, cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.model, "model", "", "`name` of the model that it answers with (junctor model ls)")
	flags.StringVar(&f.instructions, "instructions", "", "system prompt of the model; `@file` reads it from a file")
	flags.StringVar(&f.rules, "rules", "", "`file` with rules to answer by, without a model")
	cmd.MarkFlagsMutuallyExclusive("model", "rules")
	cmd.MarkFlagsMutuallyExclusive("instructions", "rules")
	_ = cmd.RegisterFlagCompletionFunc("model", c.completeModels)
}

// readBrain returns the brain that the flags describe; nil if none of them was
// given. had is the agent's present brain, which may be nil. Flags that were
// not given keep its values, but a model replaces rules and rules replace a
// model.
func (f *brainFlags) readBrain(cmd *cobra.Command, had *junctor.Brain) (*junctor.Brain, error) {
	given := cmd.Flags().Changed
	if !given("model") && !given("instructions") && !given("rules") {
		return nil, nil //nolint:nilnil // no flag was given
	}
	b := junctor.Brain{}
	if had != nil {
		b = *had
	}
	if given("rules") {
		text, err := os.ReadFile(f.rules)
		if err != nil {
			return nil, usageErrorf("--rules: %s cannot be read: %v", f.rules, err)
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
				return nil, usageErrorf("--instructions: %s cannot be read: %v", name, err)
			}
			b.Instructions = string(text)
		}
	}
	return &b, nil
}

// setBrain adds the brain that the flags describe to the body of a change. none
// takes the brain away.
func (f *brainFlags) setBrain(cmd *cobra.Command, had *junctor.Brain, none bool, body map[string]any) error {
	if none {
		body["brain"] = nil
		return nil
	}
	brain, err := f.readBrain(cmd, had)
	if err == nil && brain != nil {
		body["brain"] = brain
	}
	return err
}

// changesBrain reports whether one of the flags was given.
func (f *brainFlags) changesBrain(cmd *cobra.Command) bool {
	return cmd.Flags().Changed("instructions") || cmd.Flags().Changed("model") || cmd.Flags().Changed("rules")
}

// agentRun returns `agent run`, which gives an agent one turn. The answer goes
// to standard output, the calls that the agent makes to standard error. A turn
// that ended early, at a limit for example, is a failure although its text is
// printed.
func (c *cli) agentRun() *cobra.Command {
	cmd := &cobra.Command{
		Use: "run NAME MESSAGE...", Short: "Send an agent a message and print its answer",
		Long: "Run one turn of an agent: it asks its model or follows its rules, calls its allowed tools, and answers. " +
			"Calls are listed on standard error, and the answer goes to standard output.",
		Example: "  junctor agent run qa-bot 'Which notes are about the release?'", Args: cobra.MinimumNArgs(2), ValidArgsFunction: c.completeAgents,
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			var end admin.TurnEnd
			if err := c.requestAPI(cmd, http.MethodPost, apiPath("agents", args[0], "runs"), map[string]any{"message": strings.Join(args[1:], " ")}, &end); err != nil {
				return err
			}
			if c.wantsJSON() {
				if err := c.printJSON(end); err != nil {
					return err
				}
			} else {
				c.printCallNotes(end.Messages)
				if _, err := fmt.Fprintln(c.out, end.Text); err != nil {
					return err
				}
			}
			if end.Outcome != agent.OutcomeDone {
				return junctor.Errorf(junctor.CodeUpstream, "the turn ended early: %s", end.Reason)
			}
			return nil
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}

// printCallNotes prints the calls and the interface surfaces of a turn, one per
// line.
func (c *cli) printCallNotes(story []agent.Message) {
	// Results are in later messages than their calls, so they are collected
	// first.
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
			c.printNote("%s %s: %s", call.Name, firstLine(string(call.Arguments), 100), state)
		}
		for i := range m.Surfaces {
			c.printNote("%s", m.Surfaces[i].Describe())
		}
	}
}

// completeModels suggests the names of models.
func (c *cli) completeModels(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	return completeFrom(c, "/models", func(m junctor.Model) (string, string) { return m.Name, m.Model })(cmd, nil, prefix)
}
