package cli

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/junctor-mcp/junctor/internal/proc"
)

// reapCommand returns the hidden command that internal/proc starts as the
// parent of a server's process. The parent ends all descendants of the server
// when Junctor ends. The command exits the process itself, because its exit
// status is that of the server.
func (c *cli) reapCommand() *cobra.Command {
	return &cobra.Command{
		Use: proc.ReaperVerb + " FILE NAME [ARG]...", Short: "The guard of one server's processes, started by Junctor itself",
		Example: "  junctor reap /usr/bin/cat cat", Hidden: true, DisableFlagParsing: true,
		Run: func(_ *cobra.Command, args []string) { os.Exit(proc.RunReaper(args)) },
	}
}
