package postgres_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/store/postgres"
	"github.com/junctor-mcp/junctor/internal/store/storetest"
)

// Databases of every version that was ever released are brought up to date.
func TestSnapshots(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile(filepath.Join("testdata", "schema_0001.sql"))
	if err != nil {
		t.Fatal(err)
	}
	url := server.Database(t)
	if _, err := openRaw(t, url).ExecContext(t.Context(), string(script)); err != nil {
		t.Fatal(err)
	}
	before, err := postgres.Raw(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = before.Close() })
	if v, err := before.Version(t.Context()); err != nil || v != 1 {
		t.Fatalf("version %d, %v", v, err)
	}
	storetest.Snapshot(t, open(t, url))
	if v, err := before.Version(t.Context()); err != nil || v < 2 {
		t.Errorf("version %d, %v", v, err)
	}
}

func TestRecordsBecomePages(t *testing.T) {
	t.Parallel()
	at := server.Database(t)
	old, err := postgres.Raw(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = old.Close() })
	storetest.Paged(t, old, func() *store.Store { return open(t, at) })
}

func TestRoomsRenamed(t *testing.T) {
	t.Parallel()
	at := server.Database(t)
	old, err := postgres.Raw(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = old.Close() })
	storetest.RoomsRenamed(t, old, func() *store.Store { return open(t, at) })
}
