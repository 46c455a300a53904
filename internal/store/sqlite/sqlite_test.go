package sqlite_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/store/sqlite"
	"github.com/junctor-mcp/junctor/internal/store/storetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t testing.TB) storetest.Opener {
		t.Helper()
		path := storetest.Fresh(t)
		return func(t testing.TB) *store.Store {
			t.Helper()
			return open(t, path)
		}
	})
}

func open(t testing.TB, path string) *store.Store {
	t.Helper()
	st, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatalf("Open: %v (cause %v)", err, junctor.AsError(err).Cause)
	}
	t.Cleanup(func() { _ = st.Close() }) // some tests have closed it already
	return st
}

// openRaw opens the file as any other program would.
func openRaw(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func TestFilesArePrivate(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no such modes on Windows")
	}
	check := func(path string) {
		t.Helper()
		st := open(t, path)
		if err := st.For(junctor.DefaultTenant).PutSetting(t.Context(), "a", json.RawMessage(`1`)); err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{path, path + "-wal", path + "-shm"} {
			info, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			if mode := info.Mode().Perm(); mode != 0o600 {
				t.Errorf("%s has mode %o", filepath.Base(file), mode)
			}
		}
	}
	check(filepath.Join(t.TempDir(), "new.db"))

	loose := filepath.Join(t.TempDir(), "loose.db")
	if err := os.WriteFile(loose, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(loose, 0o644); err != nil {
		t.Fatal(err)
	}
	check(loose)
}

func TestOddPaths(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"with space.db", "q?mode=ro.db", "hash#.db", "100%41.db", "a&b=c.db", "ünï.db"} {
		path := filepath.Join(t.TempDir(), name)
		open(t, path)
		if info, err := os.Stat(path); err != nil || info.Size() == 0 {
			t.Errorf("%q is not where the database went: %v", name, err)
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	text := filepath.Join(folder, "text.db")
	if err := os.WriteFile(text, []byte(strings.Repeat("this is not a database\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	newer := filepath.Join(folder, "newer.db")
	open(t, newer)
	if _, err := openRaw(t, newer).ExecContext(t.Context(), `INSERT INTO schema_version (version_id, is_applied) VALUES (99999, 1)`); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]struct {
		code junctor.Code
		text string
	}{
		text:                                     {junctor.CodeUnavailable, "not a SQLite database"},
		newer:                                    {junctor.CodeConflict, "newer Junctor"},
		folder:                                   {junctor.CodeUnavailable, "cannot open"},
		filepath.Join(folder, "absent", "it.db"): {junctor.CodeUnavailable, "folder does not exist"},
	} {
		_, err := sqlite.Open(t.Context(), path)
		if junctor.CodeOf(err) != want.code || !strings.Contains(err.Error(), want.text) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %q: %v", path, junctor.CodeOf(err), err)
		}
	}
}

// Several processes may start on a folder that none has used yet.
func TestFreshOpenedByMany(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "junctor.db")
	var wg sync.WaitGroup
	start := make(chan struct{})
	for n := range 6 {
		wg.Go(func() {
			<-start
			st, err := sqlite.Open(t.Context(), path)
			if err != nil {
				t.Errorf("Open: %v (cause %v)", err, junctor.AsError(err).Cause)
				return
			}
			defer st.Close()
			if err := st.For(junctor.DefaultTenant).PutSetting(t.Context(), fmt.Sprint(n), json.RawMessage(`1`)); err != nil {
				t.Errorf("PutSetting: %v", err)
			}
		})
	}
	close(start)
	wg.Wait()
	settings, err := open(t, path).For(junctor.DefaultTenant).Settings(t.Context())
	if err != nil || len(settings) != 6 {
		t.Errorf("%d settings, %v", len(settings), err)
	}
}

func TestEveryTableHasTenantID(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "junctor.db")
	open(t, path)
	rows, err := openRaw(t, path).QueryContext(t.Context(), `SELECT m.name, COUNT(c.name) FROM sqlite_schema m
		LEFT JOIN pragma_table_info(m.name) c ON c.name = 'tenant_id' AND c."notnull" = 1
		WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' AND m.name <> 'schema_version' GROUP BY m.name`)
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
	if err := rows.Err(); err != nil || tables < 9 {
		t.Errorf("found %d tables: %v", tables, err)
	}
}

func TestFileIsInWALMode(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "junctor.db")
	open(t, path)
	var mode string
	if err := openRaw(t, path).QueryRowContext(t.Context(), `PRAGMA journal_mode`).Scan(&mode); err != nil || mode != "wal" {
		t.Errorf("journal mode %q, %v", mode, err)
	}
}

// A start may take 80 ms in all; see what the database takes of it. Closing,
// which waits for the disk, is not part of it.
func BenchmarkOpen(b *testing.B) {
	b.Run("fresh", func(b *testing.B) {
		folder := b.TempDir()
		for n := 0; b.Loop(); n++ {
			benchOpen(b, filepath.Join(folder, fmt.Sprint(n, ".db")))
		}
	})
	b.Run("up to date", func(b *testing.B) {
		path := filepath.Join(b.TempDir(), "junctor.db")
		benchOpen(b, path)
		for b.Loop() {
			benchOpen(b, path)
		}
	})
}

func benchOpen(b *testing.B, path string) {
	b.Helper()
	st, err := sqlite.Open(b.Context(), path)
	if err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	if err := st.Close(); err != nil {
		b.Fatal(err)
	}
	b.StartTimer()
}
