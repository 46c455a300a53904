package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
)

// toolCommand returns the group `junctor tool`.
func (c *cli) toolCommand() *cobra.Command {
	cmd := newGroupCommand("tool", "List, search, call and tag tools", "junctor tool ls")
	cmd.AddCommand(c.toolList(), c.toolSearch(), c.toolShow(), c.toolCall(), c.toolTag(), c.toolChanges())
	return cmd
}

// toolList returns `tool ls`.
func (c *cli) toolList() *cobra.Command {
	var server, role string
	cmd := &cobra.Command{
		Use: "ls", Short: "List tools", Example: "  junctor tool ls --server demo\n  junctor tool ls --role QA", Args: cobra.NoArgs,
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			return c.printTools(cmd, url.Values{"server": nonEmpty(server), "role": nonEmpty(role)})
		}),
	}
	cmd.Flags().StringVar(&role, "role", "", "only tools for this role and for all roles")
	_ = cmd.RegisterFlagCompletionFunc("role", c.completeRoles)
	cmd.Flags().StringVar(&server, "server", "", "only the tools of this server")
	_ = cmd.RegisterFlagCompletionFunc("server", c.completeServers)
	c.addInstanceFlags(cmd)
	return cmd
}

// toolSearch returns `tool search`.
func (c *cli) toolSearch() *cobra.Command {
	cmd := &cobra.Command{
		Use: "search TEXT...", Short: "Find tools by words in their name, title or description",
		Example: "  junctor tool search add numbers", Args: cobra.MinimumNArgs(1),
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			return c.printTools(cmd, url.Values{"q": {strings.Join(args, " ")}})
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}

// printTools prints the tools that match a query of /tools.
func (c *cli) printTools(cmd *cobra.Command, query url.Values) error {
	return printList(c, cmd, "/tools?"+query.Encode(), []string{"NAME", "VERSION", "ROLES", "ABOUT"}, func(t junctor.Tool) []string {
		about := t.Description
		if about == "" {
			about = t.Title
		}
		return []string{t.Exposed, t.Version, joinRoles(t.Roles), firstLine(about, 80)}
	})
}

// toolShow returns `tool show`.
func (c *cli) toolShow() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show NAME", Short: "Show the description, arguments and result of a tool", Example: "  junctor tool show demo__add",
		Args: cobra.ExactArgs(1), ValidArgsFunction: c.completeTools,
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			var t junctor.Tool
			if err := c.requestAPI(cmd, http.MethodGet, apiPath("tools", args[0]), nil, &t); err != nil {
				return err
			}
			if c.wantsJSON() {
				return c.printJSON(t)
			}
			return c.printTool(t)
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}

// describeHints lists the hints of a tool that are known, with their origins.
func describeHints(h *junctor.EffectiveHints) string {
	var known []string
	for _, one := range []struct {
		name string
		hint junctor.EffectiveHint
	}{{"read_only", h.ReadOnly}, {"destructive", h.Destructive}, {"idempotent", h.Idempotent}, {"open_world", h.OpenWorld}} {
		if one.hint.Value != nil {
			known = append(known, fmt.Sprintf("%s %t (%s)", one.name, *one.hint.Value, one.hint.Origin))
		}
	}
	return strings.Join(known, ", ")
}

// printTool prints a tool with its arguments, which are read from its input
// schema.
func (c *cli) printTool(t junctor.Tool) error {
	err := c.printFacts("name", t.Exposed, "title", t.Title, "server", t.Server, "own name", t.Name,
		"version", t.Version, "versions", strings.Join(t.Versions, ", "), "annotations", string(t.Annotations), "acts on", describeHints(&t.Hints), "tags", strings.Join(t.Tags, ", "),
		"roles", joinRoles(t.Roles), "category", t.Category, "because", explainRoles(t.Class), "changed", formatTime(t.ChangedAt), "digest", t.Digest)
	if err != nil {
		return err
	}
	if t.Description != "" {
		fmt.Fprintf(c.out, "\n%s\n", stripControls(strings.TrimSpace(t.Description)))
	}
	sig := readSignature(t.InputSchema)
	if len(sig.Properties) == 0 {
		return nil
	}
	fmt.Fprintln(c.out)
	names := make([]string, 0, len(sig.Properties))
	for name := range sig.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	rows := make([][]string, len(names))
	for i, name := range names {
		a := sig.Properties[name]
		if a == nil {
			// A schema may have null in the place of a property.
			a = &argument{}
		}
		needed := ""
		if slices.Contains(sig.Required, name) {
			needed = "yes"
		}
		rows[i] = []string{name, strings.Join(a.Types, " or "), needed, string(a.Default), firstLine(a.Description, 80)}
	}
	return c.printTable([]string{"ARGUMENT", "TYPE", "NEEDED", "DEFAULT", "ABOUT"}, rows)
}

// toolCall returns `tool call`.
func (c *cli) toolCall() *cobra.Command {
	var (
		pairs         []string
		text, version string
	)
	cmd := &cobra.Command{
		Use: "call NAME", Short: "Call a tool and print its result",
		Long: "Call a tool and print its result.\n\n" +
			"A value of --arg is parsed as the schema of the tool requires, so text stays text and numbers are numbers; " +
			"repeat an argument that is a list. --json takes all arguments as one JSON object: literally, from @file, or " +
			"from standard input with -.\n\n" +
			"If the tool returns an error, the exit code is 1. --format json prints the whole MCP result.",
		Example: "  junctor tool call demo__add --arg a=2 --arg b=40\n  junctor tool call demo__echo --json '{\"text\":\"hello\"}'",
		Args:    cobra.ExactArgs(1), ValidArgsFunction: c.completeTools,
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			arguments, err := c.callArguments(cmd, args[0], pairs, text)
			if err != nil {
				return err
			}
			body := struct {
				Arguments json.RawMessage `json:"arguments,omitempty"`
				Version   string          `json:"version,omitempty"`
			}{arguments, version}
			// The result stays as the tool sent it, for --format json.
			var raw json.RawMessage
			if err := c.requestAPI(cmd, http.MethodPost, apiPath("tools", args[0], "call"), body, &raw); err != nil {
				return err
			}
			return c.printResult(raw)
		}),
	}
	cmd.Flags().StringArrayVar(&pairs, "arg", nil, "argument as `name=value`; repeatable")
	cmd.Flags().StringVar(&text, "json", "", "all arguments as a JSON object, @file or -")
	cmd.Flags().StringVar(&version, "version", "", "version of the tool (default the current one)")
	cmd.MarkFlagsMutuallyExclusive("arg", "json")
	_ = cmd.RegisterFlagCompletionFunc("arg", c.completeArguments)
	c.addInstanceFlags(cmd)
	return cmd
}

// callArguments returns the arguments of a call as one JSON object; nil for
// none. For pairs, the schema of the tool is requested first, since it decides
// how a value is read.
func (c *cli) callArguments(cmd *cobra.Command, tool string, pairs []string, text string) (json.RawMessage, error) {
	if len(pairs) > 0 {
		var t junctor.Tool
		err := c.requestAPI(cmd, http.MethodGet, apiPath("tools", tool), nil, &t)
		// The call of a tool that the caller may not see is sent all the same: the
		// instance refuses it and records that.
		if code := junctor.CodeOf(err); err != nil && code != junctor.CodeNotFound && code != junctor.CodeDenied {
			return nil, err
		}
		return buildArguments(t.InputSchema, pairs)
	}
	if text == "" {
		return nil, nil
	}
	data := []byte(text)
	var err error
	switch {
	case text == "-":
		data, err = io.ReadAll(c.in)
	case strings.HasPrefix(text, "@"):
		data, err = os.ReadFile(text[1:])
	}
	if err != nil {
		return nil, usageErrorf("--json %s cannot be read: %v", text, err)
	}
	if !isJSON(string(data), '{') {
		return nil, usageErrorf("--json must be a JSON object, such as '{\"text\":\"hello\"}'")
	}
	return data, nil
}

// printResult prints a tool result. A tool that failed, or that asks for input
// while it runs, is a failure.
func (c *cli) printResult(raw json.RawMessage) error {
	var r toolResult
	if err := json.Unmarshal(raw, &r); err != nil {
		return junctor.Errorf(junctor.CodeUpstream, "the response of the tool is not an MCP result: %w", err)
	}
	if c.wantsJSON() {
		if err := c.printJSON(raw); err != nil {
			return err
		}
	} else if _, err := io.WriteString(c.out, r.describe()); err != nil {
		return err
	}
	switch {
	case len(r.InputRequests) > 0:
		return junctor.Errorf(junctor.CodeUnavailable, "the tool asks for input while it runs, which junctor tool call does not support: call it from an MCP client")
	// The printed result already says that the tool failed.
	case r.IsError && c.wantsJSON():
		return silentFailure("the tool failed")
	case r.IsError:
		return junctor.Errorf(junctor.CodeUpstream, "the tool returned an error")
	}
	return nil
}

// nonEmpty returns the values of a query parameter: none for "".
func nonEmpty(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}
