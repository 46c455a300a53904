// Package cli has flags and help texts with the retired word "gate".
package cli

import "github.com/spf13/cobra"

func command() *cobra.Command {
	var all bool
	// A gate in a comment is not read.
	cmd := &cobra.Command{
		Use: "gate NAME",
		// The place of a text is its file.
		Short: "" +
			"lists the gates",
	}
	cmd.Flags().BoolVar(&all, "all-gates", false, "every gate")
	return cmd
}
