package storetest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/junctor-mcp/junctor/internal/store/sqlite"
)

// Seed puts a SQLite database at path with the schema in it, as the first Open
// would leave it: making the schema takes most of the time of a test that races,
// and a copy takes none. It gives the path.
func Seed(t testing.TB, path string) string {
	t.Helper()
	file, err := schema()
	if err != nil {
		t.Fatalf("make a database to copy: %v", err)
	}
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Fresh is a seeded database in a folder of its own.
func Fresh(t testing.TB) string {
	t.Helper()
	return Seed(t, filepath.Join(t.TempDir(), "junctor.db"))
}

var schema = sync.OnceValues(func() (file []byte, err error) { //nolint:gochecknoglobals // it never changes
	dir, err := os.MkdirTemp("", "junctor-schema-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "junctor.db")
	st, err := sqlite.Open(context.Background(), path)
	if err != nil {
		return nil, err
	}
	if err := st.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})
