package faults

import (
	"context"
	"database/sql"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite" // to lock the database

	"github.com/junctor-mcp/junctor/internal/store/pgtest"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/test/program"
)

// TestDatabaseLocked holds the write lock of the database for ten seconds, from
// this process: calls go on, writes wait or are refused in order, and all is
// well when the lock is gone.
func TestDatabaseLocked(t *testing.T) {
	t.Parallel()
	const held = 10 * time.Second
	data := t.TempDir()
	in := program.Start(t, program.FreeAddr(t), data, "--rate-limit", "0")
	s := newSite(t, in)
	s.checkHealthy("before")

	db, err := sql.Open("sqlite", "file:"+filepath.Join(data, "junctor.db")+"?_pragma=busy_timeout(5000)&_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	release := time.Now().Add(held)
	writes := 0
	for time.Now().Before(release) {
		began := time.Now()
		s.checkHealthy("while the database is locked")
		if took := time.Since(began); took > time.Second {
			t.Errorf("a round of calls took %v while the database was locked", took)
		}
		if !s.ready() {
			t.Error("not ready while only the database's writer has to wait")
		}
		if writes++; writes == 1 || writes == 20 {
			if status, body := makeKey(t, in); status != http.StatusServiceUnavailable || !strings.Contains(body, `"unavailable"`) {
				t.Errorf("a key was made while the database was locked: %d %s", status, body)
			}
		}
		poll.Pause(50*time.Millisecond, "the calls are spread over the time of the lock")
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	s.eventually("a key is made", healing, func() bool { status, _ := makeKey(t, in); return status == http.StatusCreated })
	s.checkHealthy("after")
	s.verifyJournal()
}

func makeKey(t *testing.T, in *program.Instance) (status int, body string) {
	t.Helper()
	a, err := in.Request(t.Context(), http.MethodPost, "/api/v1/keys", `{"name":"one","scopes":["tools:call"]}`)
	if err != nil {
		t.Fatal(err)
	}
	return a.Status, a.Body
}

// TestPostgresRestarted takes the database away for some seconds, in order and
// by force.
func TestPostgresRestarted(t *testing.T) {
	t.Parallel()
	pg, err := pgtest.Start(pgtest.Options{Safe: true})
	pgtest.Need(t, err)
	t.Cleanup(pg.Stop)
	in := program.Start(t, program.FreeAddr(t), t.TempDir(), "--rate-limit", "0", "--db", pg.Database(t))
	s := newSite(t, in)
	s.checkHealthy("before")
	for name, end := range map[string]func(){"halted": pg.Halt, "killed": pg.Kill} {
		end()
		s.eventually("/readyz says that the database is away", healing, func() bool {
			status, body := s.get("/readyz")
			return status == http.StatusServiceUnavailable && strings.Contains(body, "database")
		})
		if status, _ := s.get("/healthz"); status != http.StatusOK {
			t.Errorf("%s: /healthz: %d", name, status)
		}
		for range 10 {
			for _, a := range s.callOnce() { // recorded in the journal, or refused
				if a.Status != http.StatusServiceUnavailable && !strings.Contains(a.Body, "not now") && !strings.Contains(a.Body, "database") {
					t.Errorf("%s: a refusal does not say why: %d %s", name, a.Status, a.Body)
				}
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		a, err := in.Request(ctx, http.MethodPost, "/api/v1/keys", `{"name":"two","scopes":["tools:call"]}`)
		cancel()
		if err != nil || a.Status != http.StatusServiceUnavailable {
			t.Errorf("%s: a key was asked for: %d %s, %v", name, a.Status, a.Body, err)
		}
		if err := pg.Resume(); err != nil {
			t.Fatal(err)
		}
		s.eventually("ready again", healing, s.ready)
		s.checkHealthy("after it was " + name)
		if status, body := makeKey(t, in); status != http.StatusCreated {
			t.Errorf("after it was %s a key was asked for: %d %s", name, status, body)
		}
	}
	s.verifyJournal()
}
