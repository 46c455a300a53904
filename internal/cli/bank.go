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
		Long: "Speak MCP on standard input and output as a bank: accounts, transactions, cards, a mortgage and savings of\n" +
			"somebody who does not exist. The pack bank has it started; it reads no settings and keeps nothing.",
		Example: "  junctor server add bank -- junctor bank", Hidden: true, Args: rejectUnknownCommand,
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			return bank.Serve(cmd.Context(), version(), c.in, c.out)
		}),
	}
	cmd.AddCommand(&cobra.Command{
		Use: "places", Short: "A stand-in for a geocoder, on standard input and output",
		Long: "Speak MCP on standard input and output as a stand-in for a geocoder: it knows some places by heart and asks\n" +
			"nobody. The demonstration has it started in the place of a map server.",
		Example: "  junctor server add map -- junctor bank places", Args: rejectUnknownCommand,
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			return bank.ServePlaces(cmd.Context(), version(), c.in, c.out)
		}),
	})
	return cmd
}
