package cli

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
)

// attentionCommand returns `junctor attention`, which lists what a person should look at.
func (c *cli) attentionCommand() *cobra.Command {
	var severity, kind string
	var limit int
	var check bool
	cmd := &cobra.Command{
		Use: "attention", Short: "List what needs attention, and what to do about it", Example: "  junctor attention\n  junctor attention --check --severity critical", Args: cobra.NoArgs,
		Long: "List what a person should look at, the most urgent first: servers that fail or require a login, dead letters, calls that wait " +
			"for an approval, changed tools, keys and certificates that expire, a disk that fills, a settings file that is not in effect, a " +
			"journal with a fault, and replicas that are unreachable. For each item the list has a command that shows or solves the problem.\n\n" +
			"A check that cannot be made is an item, too. With --check the exit code is 1 if there are items.",
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			query := url.Values{"limit": {strconv.Itoa(limit)}}
			for name, value := range map[string]string{"severity": severity, "kind": kind} {
				if value != "" {
					query.Set(name, value)
				}
			}
			var list admin.AttentionList
			if err := c.requestAPI(cmd, http.MethodGet, "/attention?"+query.Encode(), nil, &list); err != nil {
				return err
			}
			if err := c.printAttention(&list); err != nil {
				return err
			}
			if check && list.Total > 0 {
				return silentFailure(fmt.Sprintf("%d items need attention", list.Total))
			}
			return nil
		}),
	}
	severities, kinds := namesOf(junctor.AttentionSeverities()), namesOf(junctor.AttentionKinds())
	cmd.Flags().StringVar(&severity, "severity", "", "only items of this severity: critical, warning or info")
	cmd.Flags().StringVar(&kind, "kind", "", "only items of this `kind`, such as server or delivery")
	cmd.Flags().IntVar(&limit, "limit", 100, "maximum number of items")
	cmd.Flags().BoolVar(&check, "check", false, "exit with code 1 if there are items")
	_ = cmd.RegisterFlagCompletionFunc("severity", cobra.FixedCompletions(severities, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions(kinds, cobra.ShellCompDirectiveNoFileComp))
	c.addInstanceFlags(cmd)
	return cmd
}

// namesOf returns names as texts.
func namesOf[T ~string](names []T) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = string(name)
	}
	return out
}

// printAttention prints a list: for people each item with what to do below it.
func (c *cli) printAttention(list *admin.AttentionList) error {
	if c.wantsJSON() {
		return c.printJSON(list)
	}
	if list.Healthy {
		fmt.Fprintln(c.out, "all healthy")
		return nil
	}
	colours := map[junctor.AttentionSeverity]string{junctor.SeverityCritical: red, junctor.SeverityWarning: yellow, junctor.SeverityInfo: green}
	for i := range list.Items {
		item := &list.Items[i]
		fmt.Fprintf(c.out, "%s  %-11s  %s  %s: %s\n", c.colourText(colours[item.Severity], fmt.Sprintf("%-8s", item.Severity)), item.Kind, formatTime(item.Since), toCell(item.Object.Name), toCell(item.Problem))
		for _, text := range []string{item.Command, item.Advice} {
			// Some advice begins with the command: then the advice alone says both.
			if text != "" && (text == item.Advice || !strings.HasPrefix(item.Advice, text)) {
				fmt.Fprintf(c.out, "          %-11s  %s\n", "", toCell(text))
			}
		}
	}
	if len(list.Items) < list.Total {
		c.printNote("%d of %d items; --limit shows more", len(list.Items), list.Total)
	} else if len(list.Items) == 0 {
		c.printNote("no such items; %d others need attention", list.Counts.Critical+list.Counts.Warning+list.Counts.Info)
	}
	return nil
}
