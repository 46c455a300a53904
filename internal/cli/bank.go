package cli

import (
	"github.com/spf13/cobra"

	"github.com/junctor-mcp/junctor/packs/bank"
)

// bankCommand returns the hidden commands that serve the example servers of the
// pack bank. Instances start them; users have no reason to.
func (c *cli) bankCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "bank", Short: "The MCP server of the pack bank, on standard input and output",
		Long: "Serve an example bank over MCP on standard input and output: accounts, transactions, cards, a mortgage and savings of\n" +
			"an invented customer. The pack bank starts this command. It reads no settings and stores nothing.",
		Example: "  junctor server add bank -- junctor bank", Hidden: true, Args: rejectUnknownCommand,
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			return bank.Serve(cmd.Context(), version(), c.in, c.out)
		}),
	}
	cmd.AddCommand(&cobra.Command{
		Use: "places", Short: "A stand-in for a geocoder, on standard input and output",
		Long: "Serve a stand-in for a geocoder over MCP on standard input and output: it knows a few places, and uses no\n" +
			"network. The demonstration starts this command in place of a map server.",
		Example: "  junctor server add map -- junctor bank places", Args: rejectUnknownCommand,
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			return bank.ServePlaces(cmd.Context(), version(), c.in, c.out)
		}),
	})
	return cmd
}
