package cli

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/junctor-mcp/junctor/internal/proc"
)

// reapCommand is how proc starts the guard of a command. It ends the process
// itself: its exit status is the command's.
func (c *cli) reapCommand() *cobra.Command {
	return &cobra.Command{
		Use: proc.ReapVerb + " FILE NAME [ARG]...", Short: "The guard of one server's processes, started by Junctor itself",
		Example: "  junctor reap /usr/bin/cat cat", Hidden: true, DisableFlagParsing: true,
		Run: func(_ *cobra.Command, args []string) { os.Exit(proc.Reap(args)) },
	}
}
