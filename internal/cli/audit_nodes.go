package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/junctor-mcp/junctor/internal/app"
)

// verifyAll verifies the journals of all nodes that share a database.
func (c *cli) verifyAll(cmd *cobra.Command) error {
	cfg, err := c.load(cmd)
	if err != nil {
		return err
	}
	reports, err := app.VerifyAll(cmd.Context(), cfg)
	if err != nil {
		return err
	}
	failed := 0
	for _, r := range reports {
		if !r.OK {
			failed++
		}
	}
	if c.json() {
		if err := c.printJSON(map[string]any{"ok": failed == 0, "journals": reports}); err != nil {
			return err
		}
	} else if err := c.printReports(reports); err != nil {
		return err
	}
	if failed > 0 {
		return said(fmt.Sprintf("%d of %d journals and copies do not hold", failed, len(reports)))
	}
	return nil
}

func (c *cli) printReports(reports []app.JournalReport) error {
	for _, r := range reports {
		what := "the journal of this node, " + r.Node
		if r.Copy {
			what = "the copy of " + r.Node
		}
		for _, note := range r.Notes {
			c.say("note: %s: %s", what, printable(note))
		}
		text := fmt.Sprintf("%s: %s: %d records hold (%d to %d)", c.paint(green, "ok"), what, r.Records, r.First, r.Last)
		if !r.OK {
			text = fmt.Sprintf("%s: %s: %s", c.paint(red, "bad"), what, printable(r.Bad.String()))
		}
		if _, err := fmt.Fprintln(c.out, text); err != nil {
			return err
		}
	}
	return nil
}

func (c *cli) auditShip() *cobra.Command {
	cmd := &cobra.Command{
		Use: "ship", Short: "Copy the journal of a node that does not run any more to the database",
		Long: "Copy what the database lacks of the journal in a data directory: that of a node that died, whose disk is back.\n" +
			"To start the node again there does the same.",
		Example: "  junctor audit ship --data-dir /mnt/rescued --db postgres://…", Args: cobra.NoArgs,
		RunE: run(func(cmd *cobra.Command, _ []string) error {
			if _, err := c.journal(cmd); err != nil {
				return err
			}
			cfg, err := c.load(cmd)
			if err != nil {
				return err
			}
			shipped, err := app.ShipJournal(cmd.Context(), cfg)
			if err != nil {
				return err
			}
			if c.json() {
				return c.printJSON(shipped)
			}
			_, err = fmt.Fprintf(c.out, "the database has all %d records of %s; it had %d\n", shipped.Copied, shipped.Node, shipped.Had)
			return err
		}),
	}
	c.settings(cmd, "data-dir", "db")
	return cmd
}
