package audit_test

import (
	"os"
	"path/filepath"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/audit"
)

// TestFindExtent follows a journal from an empty folder to one that lost its heads.
func TestFindExtent(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir := filepath.Join(root, "journal")
	check := func(when string, want audit.Extent, wantFound bool) {
		t.Helper()
		e, found, err := audit.FindExtent(dir)
		if err != nil || e != want || found != wantFound {
			t.Fatalf("%s: %+v, %t, %v; want %+v, %t", when, e, found, err, want, wantFound)
		}
	}
	check("nothing there", audit.Extent{}, false)
	if err := os.MkdirAll(filepath.Join(root, "heads"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "heads", "signing.key"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	check("only a key file, as before a restore", audit.Extent{}, false)
	if err := os.Remove(filepath.Join(root, "heads", "signing.key")); err != nil {
		t.Fatal(err)
	}

	j, err := audit.Open(t.Context(), audit.Options{Dir: dir, Replica: "one"})
	if err != nil {
		t.Fatal(err)
	}
	check("begun", audit.Extent{Last: 1}, true)
	for range 3 {
		if err := j.Append(t.Context(), &junctor.Call{ID: "c", Status: junctor.StatusRunning}); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("closed", audit.Extent{Last: 4}, true)

	if err := os.WriteFile(filepath.Join(root, "heads", "one.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	check("unreadable head", audit.Extent{}, true)
	if err := os.RemoveAll(filepath.Join(root, "heads")); err != nil {
		t.Fatal(err)
	}
	check("only segments", audit.Extent{}, true)
}
