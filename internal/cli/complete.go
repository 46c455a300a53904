package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
)

// completionTime is how long a person waits for a Tab; after it there are no
// names, and no complaint.
const completionTime = 800 * time.Millisecond

type completer = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective)

// completeFrom offers the names of live things, each with a word about it.
func completeFrom[T any](c *cli, path string, name func(T) (string, string)) completer {
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var found list[T]
		if !c.peek(cmd, path, &found) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var out []string
		for _, item := range found.Items {
			if n, about := name(item); n != "" && strings.HasPrefix(n, prefix) {
				out = append(out, n+"\t"+cell(firstLine(about, 60)))
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}

// peek asks quickly and quietly.
func (c *cli) peek(cmd *cobra.Command, path string, out any) bool {
	parent := cmd.Context()
	if parent == nil {
		parent = context.Background()
	}
	ctx, cancel := context.WithTimeout(parent, completionTime)
	defer cancel()
	client, err := c.client(cmd)
	return err == nil && client.get(ctx, path, out) == nil
}

func (c *cli) completeTools(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	return completeFrom(c, "/tools", func(t junctor.Tool) (string, string) { return t.Exposed, t.Description })(cmd, args, prefix)
}

func (c *cli) completeServers(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	return completeFrom(c, "/servers", func(s junctor.Server) (string, string) { return s.ID, s.Title })(cmd, args, prefix)
}

// completeKeys offers the keys that there is still something to revoke of.
func (c *cli) completeKeys(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	return completeFrom(c, "/keys", func(k junctor.Key) (string, string) {
		if !k.RevokedAt.IsZero() {
			return "", ""
		}
		return k.ID, k.Name
	})(cmd, args, prefix)
}

// completeArguments offers the arguments of the tool that stands on the line.
func (c *cli) completeArguments(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	var tool junctor.Tool
	if len(args) == 0 || !c.peek(cmd, path("tools", args[0]), &tool) {
		return nil, directive
	}
	var out []string
	for name, a := range readSignature(tool.InputSchema).Properties {
		if n := name + "="; a != nil && strings.HasPrefix(n, prefix) {
			out = append(out, n+"\t"+cell(firstLine(a.Description, 60)))
		}
	}
	slices.Sort(out)
	return out, directive
}

func (c *cli) completionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "completion bash|zsh|fish|powershell", Short: "Print the completion script of a shell",
		Long: "Print the script that completes commands, flags and the names of live tools, servers and keys.\n\n" +
			"bash: source <(junctor completion bash)\nzsh:  junctor completion zsh > \"${fpath[1]}/_junctor\"\n" +
			"fish: junctor completion fish > ~/.config/fish/completions/junctor.fish",
		Example: "  source <(junctor completion bash)", Args: cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		RunE: run(func(cmd *cobra.Command, args []string) error {
			switch root := cmd.Root(); args[0] {
			case "bash":
				return root.GenBashCompletionV2(c.out, true)
			case "zsh":
				return root.GenZshCompletion(c.out)
			case "fish":
				return root.GenFishCompletion(c.out, true)
			default:
				return root.GenPowerShellCompletionWithDesc(c.out)
			}
		}),
	}
}
