package postgres_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/store/pgtest"
	"github.com/junctor-mcp/junctor/internal/store/postgres"
	"github.com/junctor-mcp/junctor/internal/store/storetest"
)

var server pgtest.Pool

func TestMain(m *testing.M) { os.Exit(server.Main(m)) }

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t testing.TB) storetest.Opener {
		t.Helper()
		url := pgtest.Seeded(t, &server, postgres.Open)
		return func(t testing.TB) *store.Store {
			t.Helper()
			return open(t, url)
		}
	})
}

func open(t testing.TB, url string) *store.Store {
	t.Helper()
	st, err := postgres.Open(t.Context(), url)
	if err != nil {
		t.Fatalf("Open: %v (cause %v)", err, junctor.AsError(err).Cause)
	}
	t.Cleanup(func() { _ = st.Close() }) // some tests have closed it already
	return st
}

// openRaw opens the database as any other program would.
func openRaw(t testing.TB, url string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// Several instances may start on a database that none has used yet.
func TestFreshOpenedByMany(t *testing.T) {
	t.Parallel()
	url := server.Database(t)
	var wg sync.WaitGroup
	start := make(chan struct{})
	for n := range 6 {
		wg.Go(func() {
			<-start
			st, err := postgres.Open(t.Context(), url)
			if err != nil {
				t.Errorf("Open: %v (cause %v)", err, junctor.AsError(err).Cause)
				return
			}
			defer st.Close()
			if err := st.For(junctor.DefaultTenant).PutSetting(t.Context(), fmt.Sprint(n), json.RawMessage(`1`)); err != nil {
				t.Errorf("PutSetting: %v", err)
			}
			hist, err := postgres.OpenHistory(t.Context(), url)
			if err != nil {
				t.Errorf("OpenHistory: %v (cause %v)", err, junctor.AsError(err).Cause)
				return
			}
			_ = hist.Write.Close()
		})
	}
	close(start)
	wg.Wait()
	settings, err := open(t, url).For(junctor.DefaultTenant).Settings(t.Context())
	if err != nil || len(settings) != 6 {
		t.Errorf("%d settings, %v", len(settings), err)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	newer := server.Database(t)
	open(t, newer)
	if _, err := openRaw(t, newer).ExecContext(t.Context(), `INSERT INTO schema_version (version_id, is_applied) VALUES (99999, true)`); err != nil {
		t.Fatal(err)
	}
	absent := newer[:strings.LastIndex(newer, "/")] + "/absent?sslmode=disable"
	for url, want := range map[string]struct {
		code junctor.Code
		text string
	}{
		newer:  {junctor.CodeConflict, "newer Junctor"},
		absent: {junctor.CodeUnavailable, "no database of that name"},
		"postgres://someone:canary@127.0.0.1:1/x?connect_timeout=2": {junctor.CodeUnavailable, "is unreachable"},
		"postgres://someone:canary@127.0.0.1:port/x":                {junctor.CodeInvalid, "postgres://user:password@host"},
		"mysql://someone:canary@127.0.0.1/x":                        {junctor.CodeInvalid, "postgres://user:password@host"},
	} {
		_, err := postgres.Open(t.Context(), url)
		if junctor.CodeOf(err) != want.code || !strings.Contains(err.Error(), want.text) {
			t.Errorf("got %q: %v (cause %v), want %q", junctor.CodeOf(err), err, junctor.AsError(err).Cause, want.text)
		}
		if err != nil && (strings.Contains(err.Error(), "canary") || strings.Contains(fmt.Sprint(junctor.AsError(err).Cause), "canary")) {
			t.Errorf("the error shows the password: %v", err)
		}
	}
}

// A start that is given up does not wait for the holder of the lock.
func TestOpenGivenUp(t *testing.T) {
	t.Parallel()
	url := server.Database(t)
	tx, err := openRaw(t, url).BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback() //nolint:errcheck // nothing was written
	if _, err := tx.ExecContext(t.Context(), `SELECT pg_advisory_xact_lock($1)`, int64(0x6a756e63746f72)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := postgres.Open(ctx, url); junctor.CodeOf(err) != junctor.CodeTimeout {
		t.Errorf("got %q: %v", junctor.CodeOf(err), err)
	}
}

// A server that goes away is unavailable, and all goes on when it is back.
func TestServerRestarts(t *testing.T) {
	t.Parallel()
	s, err := pgtest.Start(pgtest.Options{})
	pgtest.Need(t, err)
	t.Cleanup(s.Stop)
	st := open(t, s.Database(t))
	mine := st.For(junctor.DefaultTenant)
	put := func() error { return mine.PutSetting(t.Context(), "a", json.RawMessage(`1`)) }
	for range 3 {
		if err := put(); err != nil {
			t.Fatal(err)
		}
		s.Halt()
		if err := put(); junctor.CodeOf(err) != junctor.CodeUnavailable {
			t.Errorf("halted: %q, %v", junctor.CodeOf(err), err)
		}
		if _, err := mine.Settings(t.Context()); junctor.CodeOf(err) != junctor.CodeUnavailable {
			t.Errorf("halted: %q, %v", junctor.CodeOf(err), err)
		}
		if err := s.Resume(); err != nil {
			t.Fatal(err)
		}
		if err := put(); err != nil {
			t.Errorf("the first write after a restart: %v (cause %v)", err, junctor.AsError(err).Cause)
		}
	}
	// Restarted behind its back, with every connection gone stale.
	if err := s.Restart(); err != nil {
		t.Fatal(err)
	}
	var failed int
	for range 50 {
		if err := put(); err != nil {
			if failed++; junctor.CodeOf(err) != junctor.CodeUnavailable {
				t.Errorf("stale: %q, %v", junctor.CodeOf(err), err)
			}
		}
	}
	if failed > 1 {
		t.Errorf("%d of 50 writes failed after a restart", failed)
	}
}

// Another program that holds a row locked delays writers for a while, and
// readers not at all; when it lets go, all goes on by itself.
func TestLockedByAnother(t *testing.T) {
	t.Parallel()
	url := server.Database(t)
	st := open(t, url).For(junctor.DefaultTenant)
	put := func(ctx context.Context, value string) error { return st.PutSetting(ctx, "a", json.RawMessage(value)) }
	if err := put(t.Context(), `1`); err != nil {
		t.Fatal(err)
	}
	tx, err := openRaw(t, url).BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback() //nolint:errcheck // it was rolled back below
	if _, err := tx.ExecContext(t.Context(), `SELECT 1 FROM settings FOR UPDATE`); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := put(short, `2`); junctor.CodeOf(err) != junctor.CodeTimeout {
		t.Errorf("with a deadline: %q, %v", junctor.CodeOf(err), err)
	}
	if got, err := st.Setting(t.Context(), "a"); err != nil || string(got.Value) != "1" {
		t.Errorf("a read: %s, %v", got.Value, err)
	}
	if err := put(t.Context(), `2`); junctor.CodeOf(err) != junctor.CodeUnavailable {
		t.Errorf("without a deadline: %q, %v", junctor.CodeOf(err), err)
	}
	done := make(chan error, 1)
	go func() { done <- put(t.Context(), `3`) }()
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("a write once the lock was gone: %v", err)
	}
}

// A process that stands still in the middle of a transaction, as one does that is
// stopped, holds up the others for a while and not for good. It hears of that
// when it goes on, and what it began is undone.
func TestStandsStillInATransaction(t *testing.T) {
	t.Parallel()
	url := server.Database(t)
	others := open(t, url)
	var lock, idle string
	if err := errors.Join(others.Database().Read.QueryRowContext(t.Context(), `SHOW lock_timeout`).Scan(&lock),
		others.Database().Read.QueryRowContext(t.Context(), `SHOW idle_in_transaction_session_timeout`).Scan(&idle)); err != nil || lock != "5s" || idle != "10s" {
		t.Errorf("lock_timeout %s, idle_in_transaction_session_timeout %s: %v", lock, idle, err)
	}
	put := func(value string) error {
		return others.For(junctor.DefaultTenant).PutSetting(t.Context(), "a", json.RawMessage(value))
	}
	if err := put(`1`); err != nil {
		t.Fatal(err)
	}
	db := open(t, url+"&idle_in_transaction_session_timeout=2000").Database()
	held := false
	var err error
	for try := 0; try < 10 && !held; try++ { // a slow machine stands still before it holds anything
		err = db.Durably(t.Context(), func(tx *sql.Tx) error {
			if _, err := tx.ExecContext(t.Context(), `SELECT 1 FROM settings FOR UPDATE`); err != nil {
				return err
			}
			held = true
			for end := time.Now().Add(time.Minute); put(`2`) != nil; {
				if time.Now().After(end) {
					t.Fatal("it holds up the others for good")
				}
			}
			_, err := tx.ExecContext(t.Context(), `UPDATE settings SET value = '3'`)
			return err
		})
	}
	if err = db.Fail(t.Context(), err, "write"); !held || junctor.CodeOf(err) != junctor.CodeUnavailable {
		t.Errorf("it held something: %t; then it heard %q: %v (cause %v)", held, junctor.CodeOf(err), err, junctor.AsError(err).Cause)
	}
	if got, err := others.For(junctor.DefaultTenant).Setting(t.Context(), "a"); err != nil || string(got.Value) != "2" {
		t.Errorf("the setting is %s, %v", got.Value, err)
	}
}

func TestTextThatCannotBeKept(t *testing.T) {
	t.Parallel()
	st := open(t, server.Database(t)).For(junctor.DefaultTenant)
	for _, name := range []string{"nul\x00", "bad\xff"} {
		if err := st.PutSetting(t.Context(), name, json.RawMessage(`1`)); junctor.CodeOf(err) != junctor.CodeInvalid {
			t.Errorf("%q: %q, %v (cause %v)", name, junctor.CodeOf(err), err, junctor.AsError(err).Cause)
		}
	}
}

func TestEveryTableHasTenantID(t *testing.T) {
	t.Parallel()
	url := server.Database(t)
	open(t, url)
	rows, err := openRaw(t, url).QueryContext(t.Context(), `SELECT t.tablename, COUNT(c.column_name) FROM pg_tables t
		LEFT JOIN information_schema.columns c ON c.table_schema = t.schemaname AND c.table_name = t.tablename
			AND c.column_name = 'tenant_id' AND c.is_nullable = 'NO'
		WHERE t.schemaname = 'public' AND t.tablename <> 'schema_version' GROUP BY t.tablename`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	tables := 0
	for rows.Next() {
		var table string
		var has int
		if err := rows.Scan(&table, &has); err != nil {
			t.Fatal(err)
		}
		if tables++; has != 1 {
			t.Errorf("the table %s has no tenant_id", table)
		}
	}
	if err := rows.Err(); err != nil || tables < 11 {
		t.Errorf("found %d tables: %v", tables, err)
	}
}
