package app_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/app"
	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/internal/instance"
	"github.com/junctor-mcp/junctor/internal/store/pgtest"
	"github.com/junctor-mcp/junctor/internal/testkit"
)

// openInstance opens an instance and closes it again.
func openInstance(t *testing.T, flags map[string]string) error {
	t.Helper()
	flags["listen"] = "127.0.0.1:0"
	a, err := app.New(t.Context(), loadSettings(t, flags), "test", app.WithLog(&testkit.Log{}))
	if err != nil {
		return err
	}
	return a.Close()
}

func loadSettings(t *testing.T, flags map[string]string) *config.Config {
	t.Helper()
	cfg, err := config.Load(config.Sources{Flags: flags})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// checkRefused checks that an operation was refused with all of the texts, and that
// it created no database in the directory.
func checkRefused(t *testing.T, err error, dir string, texts ...string) {
	t.Helper()
	if junctor.CodeOf(err) != junctor.CodeNotFound {
		t.Fatalf("not refused: %v", err)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("the refusal does not say %q: %v", text, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "junctor.db")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a database was created: %v", err)
	}
}

// TestStartWithoutTheDatabase starts an instance that used PostgreSQL without naming
// it, and with another one that is empty. Both would be new instances that continue
// the journal of the former.
func TestStartWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	pg, err := pgtest.Start(pgtest.Options{})
	pgtest.Need(t, err)
	t.Cleanup(pg.Stop)
	db := pg.Database(t)
	dir := t.TempDir()
	i := testkit.Start(t, testkit.Settings{"db": db, "data-dir": dir})
	callEcho(t, i, 3)
	i.Stop()

	err = openInstance(t, map[string]string{"data-dir": dir})
	checkRefused(t, err, dir, dir, "records", "copied", "--db", "junctor restore", "--data-dir")
	_, err = instance.Backup(t.Context(), loadSettings(t, map[string]string{"data-dir": dir}), "test", &bytes.Buffer{})
	checkRefused(t, err, dir, "--db")
	err = openInstance(t, map[string]string{"data-dir": dir, "db": pg.Database(t)})
	checkRefused(t, err, dir, "is empty", "--db", "--data-dir")

	if err := openInstance(t, map[string]string{"data-dir": dir, "db": db}); err != nil {
		t.Errorf("with its own database: %v", err)
	}
	for _, folder := range journalFolders {
		if err := os.Rename(filepath.Join(dir, folder), filepath.Join(dir, folder+".old")); err != nil {
			t.Fatal(err)
		}
	}
	if err := openInstance(t, map[string]string{"data-dir": dir}); err != nil {
		t.Errorf("a new instance, as the message says: %v", err)
	}
}

// TestStartAfterAnUnfinishedFirstStart starts an instance on what a first start can
// leave behind if it is killed: no journal yet, or no copied record.
func TestStartAfterAnUnfinishedFirstStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "journal"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "replica"), []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := openInstance(t, map[string]string{"data-dir": dir}); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"junctor.db", "junctor.db-wal", "junctor.db-shm"} {
		if err := os.Remove(filepath.Join(dir, file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	checkRefused(t, openInstance(t, map[string]string{"data-dir": dir}), dir, "if the file was lost")
}

// TestStartAfterRestore starts a restored instance, on either engine.
func TestStartAfterRestore(t *testing.T) {
	t.Parallel()
	pg, err := pgtest.Start(pgtest.Options{})
	pgtest.Need(t, err)
	t.Cleanup(pg.Stop)
	i := testkit.Start(t, nil)
	callEcho(t, i, 3)
	i.Stop()
	var archive bytes.Buffer
	if _, err := instance.Backup(t.Context(), settingsOf(t, i.Dir), "test", &archive); err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(filepath.Join(i.Dir, "seal.key"))
	if err != nil {
		t.Fatal(err)
	}
	restore := func(flags map[string]string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(flags["data-dir"], "seal.key"), key, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := instance.Restore(t.Context(), loadSettings(t, flags), bytes.NewReader(archive.Bytes()), false); err != nil {
			t.Fatal(err)
		}
	}
	file := map[string]string{"data-dir": t.TempDir()}
	restore(file)
	if err := openInstance(t, file); err != nil {
		t.Errorf("restored to a file: %v", err)
	}
	shared := map[string]string{"data-dir": t.TempDir(), "db": pg.Database(t)}
	restore(shared)
	checkRefused(t, openInstance(t, map[string]string{"data-dir": shared["data-dir"]}), shared["data-dir"], "--db")
	if err := openInstance(t, shared); err != nil {
		t.Errorf("restored to PostgreSQL: %v", err)
	}
}
