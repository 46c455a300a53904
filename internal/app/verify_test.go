package app_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/junctor-mcp/junctor/internal/app"
	"github.com/junctor-mcp/junctor/internal/audit"
	"github.com/junctor-mcp/junctor/internal/config"
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
		r, err := app.VerifyCopy(t.Context(), cfg, audit.VerifyOptions{})
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
		seq := int64(whole.First) + rng.Int64N(int64(whole.Last-whole.First))
		name, statements := copyEdit(rng, seq)
		undo := edit(t, filepath.Join(i.Dir, "junctor.db"), statements)
		r := verify()
		switch {
		case r.OK || r.Bad == nil:
			t.Errorf("%s of record %d was not found", name, seq)
		case r.Bad.Seq < uint64(seq) || r.Bad.Seq > uint64(seq)+1:
			t.Errorf("%s of record %d: record %d is named (%s)", name, seq, r.Bad.Seq, r.Bad.Reason)
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
func copyEdit(rng *rand.Rand, seq int64) (name string, statements []string) {
	at := fmt.Sprintf("WHERE seq = %d", seq)
	switch rng.IntN(5) {
	case 0:
		return "a changed letter", []string{`UPDATE audit_records SET line = replace(line, '"phase":"', '"phase":"x') ` + at}
	case 1:
		return "a changed hash", []string{`UPDATE audit_records SET hash = 'f' || substr(hash, 2) || 'e' ` + at}
	case 2:
		return "a deletion", []string{`DELETE FROM audit_records ` + at}
	case 3:
		return "a cut tail", []string{fmt.Sprintf(`DELETE FROM audit_records WHERE seq >= %d`, seq)}
	default:
		return "a swap", []string{
			`UPDATE audit_records SET seq = 1000000 ` + at,
			fmt.Sprintf(`UPDATE audit_records SET seq = %d WHERE seq = %d`, seq, seq+1),
			fmt.Sprintf(`UPDATE audit_records SET seq = %d WHERE seq = 1000000`, seq+1),
		}
	}
}

// edit runs statements on a copy of the table that undo brings back.
func edit(t *testing.T, path string, statements []string) (undo func()) {
	t.Helper()
	run := func(statements ...string) {
		t.Helper()
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		for _, s := range statements {
			if _, err := db.ExecContext(context.Background(), s); err != nil {
				t.Fatalf("%s: %v", s, err)
			}
		}
	}
	run(append([]string{`DROP TABLE IF EXISTS kept`, `CREATE TABLE kept AS SELECT * FROM audit_records`}, statements...)...)
	return func() {
		run(`DELETE FROM audit_records`, `INSERT INTO audit_records SELECT * FROM kept`, `DROP TABLE kept`)
	}
}
