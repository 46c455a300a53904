package cli

import (
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/junctor-mcp/junctor/internal/admin"
)

// callShow returns `call show`, which prints a call with its redacted
// parameters and result.
func (c *cli) callShow() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show ID|last", Short: "Show a call with its payloads",
		Long: "Show a call by its id, or by a short id of junctor call ls; last is the newest. Parameters and results are " +
			"shown as stored in the history: secrets are removed, and long texts are cut. Rules are those that were evaluated " +
			"for the call.",
		Example: "  junctor call show last\n  junctor call show 18b1c7a2f0", Args: cobra.ExactArgs(1),
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			var e admin.CallDetails
			if err := c.requestAPI(cmd, http.MethodGet, apiPath("calls", args[0]), nil, &e); err != nil {
				return err
			}
			if c.wantsJSON() {
				return c.printJSON(e)
			}
			names, err := c.fetchCallerNames(cmd)
			if err != nil {
				return err
			}
			return c.printFacts("id", e.ID, "start", formatTime(e.Start), "kind", string(e.Kind), "server", e.Server, "name", e.Name, "version", e.Version,
				"entry_point", string(e.EntryPoint), "by", names.describe(&e.Call), "user", names.user(e.User), "agent", e.Agent, "view", e.View, "status", string(e.Status), "code", string(e.Code), "reason", e.Reason,
				"took", e.Duration.String(), "rules", describeHits(e.Policy), "parameters", string(e.Params), "result", string(e.Result))
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}

// callExport returns `call export`. The response is streamed, because it may be
// larger than the memory.
func (c *cli) callExport() *cobra.Command {
	filter := map[string]*string{}
	var of callFilter
	var until, format string
	cmd := &cobra.Command{
		Use: "export", Short: "Write calls with their payloads to standard output",
		Long: "Write the calls that match, newest first, with their parameters and results as stored in the history: " +
			"secrets are removed, and long texts are cut. With --format jsonl each line is an object; --format csv has a " +
			"heading.",
		Example: "  junctor call export --since 7d --format csv > calls.csv", Args: cobra.NoArgs,
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			if format != "jsonl" && format != "csv" {
				return usageErrorf("--format %q: use jsonl or csv", format)
			}
			query := url.Values{"format": {format}}
			for name, value := range filter {
				if *value != "" {
					query.Set(name, *value)
				}
			}
			if err := of.setQuery(query, until); err != nil {
				return err
			}
			client, err := c.newClient(cmd)
			if err != nil {
				return err
			}
			return client.copyTo(cmd.Context(), "/calls/export?"+query.Encode(), c.out)
		}),
	}
	// These filters are only for the export; the others are in callFilter.
	for name, help := range map[string]string{
		"view": "only calls that this App view made, by its `id`", "key": "only calls with this key, by its `name`, id or prefix", "status": "only calls with this status, such as success, error or denied", "text": "only calls with this text in tool, caller, parameters, result or reason",
	} {
		filter[name] = cmd.Flags().String(name, "", help)
	}
	c.addCallFilter(cmd, &of)
	cmd.Flags().StringVar(&until, "until", "", "only calls before this, in the same forms")
	cmd.Flags().StringVar(&format, "format", "jsonl", "`jsonl` or csv")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"jsonl", "csv"}, cobra.ShellCompDirectiveNoFileComp))
	c.addInstanceFlags(cmd)
	return cmd
}
