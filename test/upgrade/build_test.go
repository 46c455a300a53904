package upgrade

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/test/program"
)

// What the next version adds: a column to tables that every call and every change
// touches, an index, and a table, each with a migration of its own in the version's
// two schemas.
const (
	nextMain = `-- +goose Up
ALTER TABLE keys ADD COLUMN upgraded TEXT COLLATE "C" NOT NULL DEFAULT 'yes';
ALTER TABLE servers ADD COLUMN upgraded BIGINT;
ALTER TABLE replicas ADD COLUMN upgraded BIGINT NOT NULL DEFAULT 1;
ALTER TABLE audit_pages ADD COLUMN upgraded BIGINT;
CREATE INDEX keys_upgraded ON keys (upgraded);
CREATE TABLE upgraded (tenant_id TEXT COLLATE "C" NOT NULL, id TEXT COLLATE "C" NOT NULL, PRIMARY KEY (tenant_id, id));
`
	nextHistory = `-- +goose Up
ALTER TABLE history_calls ADD COLUMN upgraded BIGINT NOT NULL DEFAULT 1;
`
)

// nextVersion builds the program with one more migration in each schema of
// PostgreSQL, and says which number the store's has.
func nextVersion(t *testing.T) (binary string, version int) {
	t.Helper()
	root, dir := program.Root(t), t.TempDir()
	replace := map[string]string{}
	for folder, text := range map[string]string{"migrations": nextMain, "history": nextHistory} {
		at := filepath.Join(root, "internal", "store", "postgres", folder)
		number := newest(t, at) + 1
		if folder == "migrations" {
			version = number
		}
		file := filepath.Join(dir, folder+".sql")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(at, fmt.Sprintf("%05d_upgraded.sql", number))] = file
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		t.Fatal(err)
	}
	binary = filepath.Join(dir, "junctor")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-overlay", overlay, "-o", binary, "./cmd/junctor")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the next version cannot be built: %v\n%s", err, out)
	}
	return binary, version
}

// newest is the number of the last migration in a folder.
func newest(t *testing.T, dir string) int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.sql"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no migrations in %s: %v", dir, err)
	}
	last := 0
	for _, file := range files {
		number, _, _ := strings.Cut(filepath.Base(file), "_")
		n, err := strconv.Atoi(number)
		if err != nil {
			t.Fatal(err)
		}
		last = max(last, n)
	}
	return last
}
