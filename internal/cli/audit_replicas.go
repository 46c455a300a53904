package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/junctor-mcp/junctor/internal/instance"
)

// verifyAll verifies this replica's journal and the copies of all replicas in
// the database. One that does not verify is a failure.
func (c *cli) verifyAll(cmd *cobra.Command) error {
	cfg, err := c.loadConfig(cmd)
	if err != nil {
		return err
	}
	reports, err := instance.VerifyAll(cmd.Context(), cfg)
	if err != nil {
		return err
	}
	failed := 0
	for _, r := range reports {
		if !r.OK {
			failed++
		}
	}
	if c.wantsJSON() {
		if err := c.printJSON(map[string]any{"ok": failed == 0, "journals": reports}); err != nil {
			return err
		}
	} else if err := c.printReports(reports); err != nil {
		return err
	}
	if failed > 0 {
		return silentFailure(fmt.Sprintf("%d of %d journals and copies do not hold", failed, len(reports)))
	}
	return nil
}

// printReports prints the results of several verifications for people.
func (c *cli) printReports(reports []instance.JournalReport) error {
	for _, r := range reports {
		what := "the journal of this replica, " + r.Replica
		if r.Copy {
			what = "the copy of " + r.Replica
		}
		for _, note := range r.Notes {
			c.printNote("note: %s: %s", what, stripControls(note))
		}
		text := fmt.Sprintf("%s: %s: %d records hold (%d to %d)", c.colourText(green, "ok"), what, r.Records, r.First, r.Last)
		if !r.OK {
			text = fmt.Sprintf("%s: %s: %s", c.colourText(red, "bad"), what, stripControls(strings.Join(r.Faults(), "; ")))
		}
		if _, err := fmt.Fprintln(c.out, text); err != nil {
			return err
		}
	}
	return nil
}

// auditShip returns `audit ship`, which copies the journal of a replica that no
// longer runs to the database.
func (c *cli) auditShip() *cobra.Command {
	cmd := &cobra.Command{
		Use: "ship", Short: "Copy the journal of a stopped replica to the database",
		Long: "Copy the records that the database lacks from the journal in a data directory. Use it for a replica that " +
			"died and whose disk is available again. Starting the replica there does the same.",
		Example: "  junctor audit ship --data-dir /mnt/rescued --db postgres://…", Args: cobra.NoArgs,
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			if _, err := c.journalFolder(cmd); err != nil {
				return err
			}
			cfg, err := c.loadConfig(cmd)
			if err != nil {
				return err
			}
			shipped, err := instance.ShipJournal(cmd.Context(), cfg)
			if err != nil {
				return err
			}
			if c.wantsJSON() {
				return c.printJSON(shipped)
			}
			_, err = fmt.Fprintf(c.out, "the database has all %d records of %s; it had %d\n", shipped.Copied, shipped.Replica, shipped.Had)
			return err
		}),
	}
	c.addSettings(cmd, "data-dir", "db")
	return cmd
}
