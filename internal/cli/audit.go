package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/audit"
)

// The journal is files: these commands read them, whether an instance runs or
// not.

// The journal consists of files. These commands read them directly, so they
// work whether an instance runs or not.
//
// auditCommand returns the group `junctor audit`.
func (c *cli) auditCommand() *cobra.Command {
	cmd := newGroupCommand("audit", "List, verify and export the journal of calls and changes", "junctor audit verify")
	cmd.AddCommand(c.auditList(), c.auditShow(), c.auditVerify(), c.auditExport(), c.auditShip())
	return cmd
}

// journalFolder returns the folder of the journal. A data directory that does
// not exist is CodeNotFound: an empty journal would otherwise look verified.
func (c *cli) journalFolder(cmd *cobra.Command) (string, error) {
	cfg, err := c.loadConfig(cmd)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(cfg.DataDir); errors.Is(err, fs.ErrNotExist) {
		return "", junctor.Errorf(junctor.CodeNotFound, "no journal found: the data directory %s does not exist; name another one with --data-dir", cfg.DataDir)
	}
	return journalPath(cfg.DataDir), nil
}

// checkJournalFilter refuses a filter of which the whole journal has no record, so that a
// typing error does not look like a journal without such calls.
func checkJournalFilter(ctx context.Context, dir string, f *audit.Filter, tool string) error {
	for _, one := range []struct {
		flag, value string
		filter      audit.Filter
	}{
		{"tool", tool, audit.Filter{Server: f.Server, Name: f.Name}},
		{"agent", f.Subject, audit.Filter{Subject: f.Subject}},
		{"call", f.Call, audit.Filter{Call: f.Call}},
	} {
		if one.value == "" {
			continue
		}
		one.filter.Limit = 1
		records, err := audit.ListRecords(ctx, dir, one.filter)
		if err != nil {
			return err
		}
		if len(records) == 0 {
			return usageErrorf("--%s %q: the journal has no such record", one.flag, one.value)
		}
	}
	return nil
}

// auditList returns `audit ls`. It asks for one record more than the limit, in
// order to know whether there are more.
func (c *cli) auditList() *cobra.Command {
	var f audit.Filter
	var tool, status, since, until, object string
	var changes bool
	cmd := &cobra.Command{
		Use: "ls", Short: "List the records of calls and changes in the journal, newest first",
		Long: "List the records of the journal, newest first. A call has one record when it starts and one when it ends; a " +
			"denied call has one. A change of the instance, such as a new server or a revoked key, has one record of the phase change; junctor audit show prints its values by the id in the last column. The command does not verify the records: use junctor audit verify.",
		Example: "  junctor audit ls --status denied --since 24h\n  junctor audit ls --object server/notes", Args: cobra.NoArgs,
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			dir, err := c.journalFolder(cmd)
			if err != nil {
				return err
			}
			now := time.Now()
			if f.Since, err = parseMoment("since", since, now); err != nil {
				return err
			}
			if f.Until, err = parseMoment("until", until, now); err != nil {
				return err
			}
			if status != "" && !slices.Contains(junctor.Statuses(), junctor.Status(status)) {
				return usageErrorf("--status %q: use one of %s", status, strings.Trim(strings.Join(strings.Fields(fmt.Sprint(junctor.Statuses())), ", "), "[]"))
			}
			f.Status, f.Name = junctor.Status(status), tool
			// An exposed name consists of the server and the server's own name.
			if server, name, ok := strings.Cut(tool, "__"); ok {
				f.Server, f.Name = server, name
			}
			switch kind, id, _ := strings.Cut(object, "/"); {
			case object != "" && tool != "":
				return usageErrorf("--object and --tool: a change has no tool; use only one of them")
			case object != "":
				f.Object, f.Name, f.Phase = kind, id, audit.PhaseChange
			case changes:
				f.Phase = audit.PhaseChange
			}
			limit := f.Limit
			if limit < 1 {
				return usageErrorf("--limit %d: must be 1 or more", limit)
			}
			// One record more than is printed tells whether there are further
			// ones.
			ask := f
			ask.Limit++
			records, err := audit.ListRecords(cmd.Context(), dir, ask)
			if err != nil {
				return err
			}
			if len(records) == 0 {
				if err := checkJournalFilter(cmd.Context(), dir, &f, tool); err != nil {
					return err
				}
			}
			return c.printRecords(records, limit)
		}),
	}
	cmd.Flags().StringVar(&tool, "tool", "", "only records of this tool, as server__name or by its name at the server")
	cmd.Flags().StringVar(&f.Subject, "agent", "", "only records of this caller: the name of an agent, or the id of a key")
	cmd.Flags().BoolVar(&changes, "changes", false, "only records of changes")
	cmd.Flags().StringVar(&object, "object", "", "only changes of this object, as kind or kind/id, such as server/notes")
	cmd.Flags().StringVar(&f.Actor, "actor", "", "only changes by this actor: an id or a name")
	cmd.Flags().StringVar(&f.Call, "call", "", "only the records of this call")
	cmd.Flags().StringVar(&status, "status", "", "only records with this status, such as success, error or denied")
	cmd.Flags().StringVar(&since, "since", "", "only records since a time span such as 15m or 7d, or a time such as 2026-01-31T00:00:00Z")
	cmd.Flags().StringVar(&until, "until", "", "only records before this, in the same forms")
	cmd.Flags().Uint64Var(&f.Before, "before", 0, "only records with a lower number")
	cmd.Flags().IntVar(&f.Limit, "limit", 50, "maximum number of results")
	_ = cmd.RegisterFlagCompletionFunc("tool", c.completeTools)
	c.addInstanceFlags(cmd)
	return cmd
}

// journalRecord is a record for programs: its exact text, which the hash is of,
// and the hash.
type journalRecord struct {
	Hash   string          `json:"hash"`
	Record json.RawMessage `json:"record"`
}

// printRecords prints up to limit records, and says how to see the next ones if
// there are more.
func (c *cli) printRecords(records []audit.Record, limit int) error {
	out := listPage[journalRecord]{Items: []journalRecord{}}
	if len(records) > limit {
		records = records[:limit]
		out.Next = strconv.FormatUint(records[limit-1].Seq, 10)
	}
	if c.wantsJSON() {
		for _, r := range records {
			out.Items = append(out.Items, journalRecord{Hash: r.Hash, Record: json.RawMessage(r.JSON)})
		}
		return c.printJSON(out)
	}
	rows := make([][]string, len(records))
	for i, r := range records {
		name, by, status, id := cmp.Or(r.Name, r.Server), r.Subject, string(r.Status), r.Call // a tool list has no name
		if r.Server != "" && r.Name != "" {
			name = r.Server + "/" + r.Name
		}
		if r.Phase == audit.PhaseChange {
			name, by, status, id = describeChangeRecord(r.JSON)
		}
		rows[i] = []string{strconv.FormatUint(r.Seq, 10), formatTime(r.Time), string(r.Phase), name, status, by, id}
	}
	if err := c.printTable([]string{"RECORD", "TIME", "PHASE", "NAME", "STATUS", "BY", "ID"}, rows); err != nil {
		return err
	}
	if out.Next != "" {
		c.printNote("there are more: add --before %s", out.Next)
	}
	return nil
}

// describeChangeRecord returns the cells of a change's record: what was done with which object, by
// whom, how it ended, and its id.
func describeChangeRecord(record string) (name, by, status, id string) {
	var c struct{ Change, Action, Object, Name, Subject, Actor, Outcome string }
	_ = json.Unmarshal([]byte(record), &c) // the journal's own text
	return strings.TrimSuffix(c.Action+" "+c.Object+"/"+c.Name, "/"), cmp.Or(c.Actor, c.Subject), c.Outcome, c.Change
}

// auditVerify returns `audit verify`, which checks the chain of hashes and the
// signed heads of the journal, and compares them with the database.
func (c *cli) auditVerify() *cobra.Command {
	var exports []string
	var inDatabase, filesOnly, all bool
	cmd := &cobra.Command{
		Use: "verify", Short: "Verify that no journal record was changed, moved or removed",
		Long: "Verify the whole journal: its hash chain, its signatures, and the last record and the highest signed head " +
			"that the database knows. The command names the first record that does not match, and records that the " +
			"database knows and the journal lacks, such as after the journal was restored to an older state. The exit " +
			"code is then 1.\n\n" +
			"If the database and the data directory were restored together, only an earlier export that you kept on " +
			"another machine shows it: give it with --against.\n\n" +
			"With --all, the command verifies the journals of all replicas that share the database: the local one, and " +
			"the copy of each other one, which must have all records that its replica reported.",
		Example: "  junctor audit verify --against audit-2026-01.jsonl", Args: cobra.NoArgs,
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			if _, err := c.journalFolder(cmd); err != nil {
				return err
			}
			if all {
				return c.verifyAll(cmd)
			}
			var o audit.VerifyOptions
			for _, file := range exports {
				heads, err := readHeads(file)
				if err != nil {
					return err
				}
				o.Heads = append(o.Heads, heads...)
			}
			report, err := c.verifyJournal(cmd, o, inDatabase, filesOnly)
			if err != nil {
				return err
			}
			return c.printReport(report)
		}),
	}
	cmd.Flags().StringSliceVar(&exports, "against", nil, "earlier export whose signed head must match; repeatable")
	_ = cmd.MarkFlagFilename("against", "jsonl")
	cmd.Flags().BoolVar(&inDatabase, "copy", false, "verify the copy in the database against the journal")
	cmd.Flags().BoolVar(&all, "all", false, "verify the local journal and the copies of all replicas in the database")
	cmd.Flags().BoolVar(&filesOnly, "files-only", false, "verify only the files, if the database is unreachable; does not detect a journal that was restored to an older state")
	cmd.MarkFlagsMutuallyExclusive("all", "copy", "files-only")
	cmd.MarkFlagsMutuallyExclusive("all", "against")
	c.addSettings(cmd, "data-dir", "db")
	return cmd
}

// printReport prints the result of a verification. A journal that does not
// verify is a failure.
func (c *cli) printReport(r audit.Report) error {
	if c.wantsJSON() {
		if err := c.printJSON(r); err != nil {
			return err
		}
	} else {
		for _, note := range r.Notes {
			c.printNote("note: %s", stripControls(note))
		}
		if r.OK {
			changes := ""
			if r.Changes > 0 {
				changes = fmt.Sprintf("; the values of %d changes in the database match", r.Changes)
			}
			_, err := fmt.Fprintf(c.out, "%s: %d records hold (%d to %d)%s\n", c.colourText(green, "ok"), r.Records, r.First, r.Last, changes)
			return err
		}
		for _, fault := range r.Faults() {
			if _, err := fmt.Fprintf(c.out, "%s: %s\n", c.colourText(red, "bad"), stripControls(fault)); err != nil {
				return err
			}
		}
	}
	if !r.OK {
		return silentFailure("the journal does not hold")
	}
	return nil
}

// readHeads returns the signed heads in an export. An export without one is
// refused, since it could not prove anything.
func readHeads(file string) ([]audit.Head, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, usageErrorf("--against: %v", err)
	}
	defer f.Close()
	var heads []audit.Head
	lines := bufio.NewScanner(f)
	// A record can be longer than the scanner's default of 64 KiB.
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line struct{ Head *audit.Head }
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return nil, usageErrorf("--against: %s is not an output of junctor audit export: %v", file, err)
		}
		if line.Head != nil {
			heads = append(heads, *line.Head)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, usageErrorf("--against: %s cannot be read: %v", file, err)
	}
	if len(heads) == 0 {
		return nil, usageErrorf("--against: %s has no signed head in its last line: use a complete output of junctor audit export", file)
	}
	return heads, nil
}

// auditExport returns `audit export`.
func (c *cli) auditExport() *cobra.Command {
	var since, until string
	cmd := &cobra.Command{
		Use: "export", Short: "Write the journal to standard output, with its signed head",
		Long: "Write the records of the journal, oldest first, as one JSON object per line with the hash and the exact " +
			"record. The last line is the signed head. Keep exports on another machine: they prove later whether the " +
			"journal was cut or rewritten.",
		Example: "  junctor audit export --since 30d > audit-2026-01.jsonl", Args: cobra.NoArgs,
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			dir, err := c.journalFolder(cmd)
			if err != nil {
				return err
			}
			now := time.Now()
			from, err := parseMoment("since", since, now)
			if err != nil {
				return err
			}
			to, err := parseMoment("until", until, now)
			if err != nil {
				return err
			}
			return audit.ExportRecords(cmd.Context(), c.out, dir, from, to)
		}),
	}
	cmd.Flags().StringVar(&since, "since", "", "only records since a time span such as 15m or 7d, or a time such as 2026-01-31T00:00:00Z")
	cmd.Flags().StringVar(&until, "until", "", "only records before this, in the same forms")
	c.addInstanceFlags(cmd)
	return cmd
}
