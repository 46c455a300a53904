package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
)

// completionTime is how long a completion may take. A user who pressed Tab
// waits for it; after that time there are no suggestions and no error.
const completionTime = 800 * time.Millisecond

// completer is the type of cobra's completion functions: it gets the arguments
// so far and the beginning of the word, and returns suggestions.
type completer = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective)

// completeFrom returns a completer that suggests the names of a list of the
// admin API, for the first argument only. name returns the name and a
// description of an item; an item without a name is left out.
func completeFrom[T any](c *cli, path string, name func(T) (string, string)) completer {
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var found listPage[T]
		if !c.fetchQuietly(cmd, path, &found) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var out []string
		for _, item := range found.Items {
			if n, about := name(item); n != "" && strings.HasPrefix(n, prefix) {
				out = append(out, n+"\t"+toCell(firstLine(about, 60)))
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}

// fetchQuietly requests a path within completionTime, and reports whether it
// succeeded. It prints nothing, because output would disturb the shell's line.
func (c *cli) fetchQuietly(cmd *cobra.Command, path string, out any) bool {
	parent := cmd.Context()
	if parent == nil {
		// cobra may complete without having set a context.
		parent = context.Background()
	}
	ctx, cancel := context.WithTimeout(parent, completionTime)
	defer cancel()
	client, err := c.newClient(cmd)
	return err == nil && client.get(ctx, path, out) == nil
}

// completeTools suggests the exposed names of tools.
func (c *cli) completeTools(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	return completeFrom(c, "/tools", func(t junctor.Tool) (string, string) { return t.Exposed, t.Description })(cmd, args, prefix)
}

// completeServers suggests the ids of servers.
func (c *cli) completeServers(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	return completeFrom(c, "/servers", func(s junctor.Server) (string, string) { return s.ID, s.Title })(cmd, args, prefix)
}

// completeKeys suggests the names of keys that are not revoked yet.
func (c *cli) completeKeys(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	return completeFrom(c, "/keys", func(k junctor.Key) (string, string) {
		if !k.RevokedAt.IsZero() {
			return "", ""
		}
		return k.Name, k.ID
	})(cmd, args, prefix)
}

// completeArguments suggests the arguments of the tool that is on the command
// line, as name= for --arg.
func (c *cli) completeArguments(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	var tool junctor.Tool
	if len(args) == 0 || !c.fetchQuietly(cmd, apiPath("tools", args[0]), &tool) {
		return nil, directive
	}
	var out []string
	for name, a := range readSignature(tool.InputSchema).Properties {
		if n := name + "="; a != nil && strings.HasPrefix(n, prefix) {
			out = append(out, n+"\t"+toCell(firstLine(a.Description, 60)))
		}
	}
	slices.Sort(out)
	return out, directive
}

// completionCommand returns `junctor completion`, which prints the completion
// script of a shell. The root command disables cobra's own one.
func (c *cli) completionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "completion bash|zsh|fish|powershell", Short: "Print the completion script for a shell",
		Long: "Print the script that completes commands, flags and the names of tools, servers and keys:\n\n" +
			"  bash: source <(junctor completion bash)\n" +
			"  zsh:  junctor completion zsh > \"${fpath[1]}/_junctor\"\n" +
			"  fish: junctor completion fish > ~/.config/fish/completions/junctor.fish",
		Example: "  source <(junctor completion bash)", Args: cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
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
