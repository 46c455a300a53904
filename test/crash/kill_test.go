package crash

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	_ "modernc.org/sqlite" // to look at the database

	"github.com/junctor-mcp/junctor/internal/store/pgtest"
	"github.com/junctor-mcp/junctor/internal/testkit/kill"
	"github.com/junctor-mcp/junctor/test/program"
)

// TestKillUnderLoad kills the instance while clients of both eras call as fast
// as they can. Every call that was answered has its records, the journal
// verifies, sessions go on, and the instance is ready again in time.
func TestKillUnderLoad(t *testing.T) {
	rounds := 4
	if program.Long() {
		rounds = 50
	}
	t.Run("sqlite", func(t *testing.T) { intact(t, killUnderLoad(t, "SQLite", rounds)) })
	t.Run("postgres", func(t *testing.T) {
		pg, err := pgtest.Start(pgtest.Options{})
		pgtest.Need(t, err)
		t.Cleanup(pg.Stop)
		killUnderLoad(t, "PostgreSQL", rounds, "--db", pg.Database(t))
	})
	t.Run("strict", func(t *testing.T) {
		intact(t, killUnderLoad(t, "SQLite, strict journal", max(rounds/3, 3), "--journal", "strict"))
	})
}

// intact holds that SQLite finds nothing wrong with the database.
func intact(t *testing.T, dataDir string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dataDir, "junctor.db")+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var said string
	if err := db.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&said); err != nil || said != "ok" {
		t.Errorf("integrity_check: %q, %v", said, err)
	}
}

func killUnderLoad(t *testing.T, name string, rounds int, args ...string) (data string) {
	t.Helper()
	addr := program.FreeAddr(t)
	data = t.TempDir()
	args = append([]string{"--rate-limit", "0"}, args...)
	var in *program.Instance
	var load *callers
	records := program.NewJournal(t, data)
	report := kill.Loop{
		Rounds: rounds,
		Least:  20 * time.Millisecond, Most: 400 * time.Millisecond,
		Start: func(int) (kill.Process, time.Duration) {
			in = program.Start(t, addr, data, args...)
			if load == nil {
				load = newCallers(t, in.URL, program.AdminKey)
			}
			return in, in.Ready
		},
		Load: func(ctx context.Context, _ int) { load.run(ctx) },
		Check: func(round int) {
			records.Update()
			if starts, ends := records.Missing(load.answered); starts+ends > 0 {
				t.Errorf("kill %d: of %d answered calls %d have no record of their start, %d none of their end", round, len(load.answered), starts, ends)
			}
			if stdout, stderr, code := in.VerifyJournal(t); code != 0 {
				t.Errorf("kill %d: audit verify: exit code %d\n%s%s", round, code, stdout, stderr)
			}
			load.each() // the sessions of before the kill among them
			for _, wrong := range load.wrong {
				t.Errorf("kill %d: %s", round, wrong)
			}
			if in.Ready > atMost() {
				t.Errorf("kill %d: ready again after %v, promised %v", round, in.Ready, readyAgain)
			}
		},
	}.Run(t)
	if n := len(load.answered); n < 10*rounds {
		t.Errorf("only %d calls were answered: that was no load", n)
	}
	if t.Failed() {
		return data
	}
	t.Logf("figure: %s: %d kills under load: %d answered calls, each with its records; audit verify clean; sessions continued; slowest restart %v",
		name, report.Rounds, len(load.answered), report.Slowest.Round(time.Millisecond))
	return data
}
