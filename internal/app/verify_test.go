package app_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/internal/audit"
	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/internal/instance"
	"github.com/junctor-mcp/junctor/internal/testkit"
)

// TestCopyEdits changes the journal's copy in SQL in every way there is, and
// wants each change found and the first bad record named.
func TestCopyEdits(t *testing.T) {
	t.Parallel()
	i := testkit.Start(t, nil)
	const calls = 40
	for n := range calls {
		i.Do(t, http.MethodPost, "/mcp/request", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}`, n))
	}
	i.Stop()
	cfg, err := config.Load(config.Sources{Flags: map[string]string{"data-dir": i.Dir}})
	if err != nil {
		t.Fatal(err)
	}
	verify := func() audit.Report {
		t.Helper()
		r, err := instance.VerifyCopy(t.Context(), cfg, audit.VerifyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	whole := verify()
	if !whole.OK || whole.Records < 2*calls {
		t.Fatalf("untouched: %+v", whole)
	}
	edits := 60
	if os.Getenv("JUNCTOR_PROVE") != "" {
		edits = 500
	}
	rng := rand.New(rand.NewPCG(1, 2))
	found := 0
	for range edits {
		seq := int(whole.First) + rng.IntN(int(whole.Last-whole.First))
		name, change := copyEdit(rng, seq)
		undo := edit(t, filepath.Join(i.Dir, "junctor.db"), change)
		r := verify()
		switch {
		case r.OK || r.FirstBad == nil:
			t.Errorf("%s of record %d was not found", name, seq)
		case r.FirstBad.Seq < uint64(seq) || r.FirstBad.Seq > uint64(seq)+1:
			t.Errorf("%s of record %d: record %d is named (%s)", name, seq, r.FirstBad.Seq, r.FirstBad.Reason)
		default:
			found++
		}
		undo()
	}
	t.Logf("figure: edits of the journal's copy in SQL: %d of %d found", found, edits)
	if r := verify(); !r.OK {
		t.Fatalf("after all was undone: %+v", r)
	}
}

// copyEdit draws one way to change the copy at a record.
func copyEdit(rng *rand.Rand, seq int) (name string, change func(lines []string) []string) {
	at := seq - 1
	switch rng.IntN(5) {
	case 0:
		return "a changed letter", func(lines []string) []string {
			lines[at] = strings.Replace(lines[at], `"phase":"`, `"phase":"x`, 1)
			return lines
		}
	case 1:
		return "a changed hash", func(lines []string) []string {
			number, rest, _ := strings.Cut(lines[at], " ")
			lines[at] = number + " f" + rest[1:64] + "e" + rest[65:]
			return lines
		}
	case 2:
		return "a deletion", func(lines []string) []string { return slices.Delete(lines, at, at+1) }
	case 3:
		return "a cut tail", func(lines []string) []string { return lines[:at] }
	default:
		return "a swap", func(lines []string) []string {
			one, oneRest, _ := strings.Cut(lines[at], " ")
			two, twoRest, _ := strings.Cut(lines[at+1], " ")
			lines[at], lines[at+1] = one+" "+twoRest, two+" "+oneRest
			return lines
		}
	}
}

// edit changes the records of the copy, and writes them back as a page that
// looks like any other; undo brings back what was there.
func edit(t *testing.T, path string, change func(lines []string) []string) (undo func()) {
	t.Helper()
	with := func(do func(db *sql.DB) error) {
		t.Helper()
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		if err := do(db); err != nil {
			t.Fatal(err)
		}
	}
	run := func(db *sql.DB, statements ...string) error {
		for _, s := range statements {
			if _, err := db.ExecContext(context.Background(), s); err != nil {
				return fmt.Errorf("%s: %w", s, err)
			}
		}
		return nil
	}
	with(func(db *sql.DB) error {
		var replica, all string
		err := db.QueryRowContext(context.Background(), `SELECT MAX(replica), group_concat(records, '' ORDER BY last) FROM audit_pages`).Scan(&replica, &all)
		if err != nil {
			return err
		}
		lines := change(slices.Collect(strings.Lines(all)))
		if err := run(db, `DROP TABLE IF EXISTS kept`, `CREATE TABLE kept AS SELECT * FROM audit_pages`, `DELETE FROM audit_pages`); err != nil || len(lines) == 0 {
			return err
		}
		last, _, _ := strings.Cut(lines[len(lines)-1], " ")
		_, err = db.ExecContext(context.Background(), `INSERT INTO audit_pages (replica, last, first, held, records) VALUES (?, ?, 1, ?, ?)`, replica, last, len(lines), strings.Join(lines, ""))
		return err
	})
	return func() {
		with(func(db *sql.DB) error {
			return run(db, `DELETE FROM audit_pages`, `INSERT INTO audit_pages SELECT * FROM kept`, `DROP TABLE kept`)
		})
	}
}
