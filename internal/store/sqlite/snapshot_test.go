package sqlite_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/store/sqlite"
	"github.com/junctor-mcp/junctor/internal/store/storetest"
)

// Databases of every version that was ever released are brought up to date.
func TestSnapshots(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile(filepath.Join("testdata", "schema_0001.sql"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "junctor.db")
	if _, err := openRaw(t, path).ExecContext(t.Context(), string(script)); err != nil {
		t.Fatal(err)
	}
	before, err := sqlite.Raw(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = before.Close() })
	if v, err := before.Version(t.Context()); err != nil || v != 1 {
		t.Fatalf("version %d, %v", v, err)
	}
	storetest.Snapshot(t, open(t, path))
	if v, err := before.Version(t.Context()); err != nil || v < 2 {
		t.Errorf("version %d, %v", v, err)
	}
}

func TestRecordsBecomePages(t *testing.T) {
	t.Parallel()
	at := filepath.Join(t.TempDir(), "junctor.db")
	old, err := sqlite.Raw(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = old.Close() })
	storetest.Paged(t, old, func() *store.Store { return open(t, at) })
}

func TestRoomsRenamed(t *testing.T) {
	t.Parallel()
	at := filepath.Join(t.TempDir(), "junctor.db")
	old, err := sqlite.Raw(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = old.Close() })
	storetest.RoomsRenamed(t, old, func() *store.Store { return open(t, at) })
}
