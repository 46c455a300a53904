package app

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/backup"
	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/store/postgres"
	"github.com/junctor-mcp/junctor/internal/store/sqlite"
)

// Backup writes an archive of the instance that the settings name, which may be
// running. It holds no key files.
func Backup(ctx context.Context, cfg *config.Config, version string, w io.Writer) (backup.Manifest, error) {
	dbs, closeAll, err := rawDatabases(ctx, cfg)
	if err != nil {
		return backup.Manifest{}, err
	}
	defer closeAll()
	o := backup.Options{
		Version: version, Engine: dbs["junctor"].Engine, Databases: map[string]backup.Source{},
		Folders: []backup.Folder{
			// A head may name only what the journal and its copy hold.
			{Name: "heads", Path: filepath.Join(cfg.DataDir, "heads"), Early: true},
			{Name: JournalDir, Path: filepath.Join(cfg.DataDir, JournalDir), Lines: true},
		},
	}
	for name, db := range dbs {
		o.Databases[name] = db
	}
	return backup.Create(ctx, w, o)
}

// Restore makes an instance of an archive where the settings say. Nothing but
// key files may be there.
func Restore(ctx context.Context, cfg *config.Config, r io.Reader) (backup.Manifest, error) {
	if err := os.MkdirAll(cfg.DataDir, 0o700); err != nil {
		return backup.Manifest{}, junctor.Errorf(junctor.CodeUnavailable, "the data directory %s cannot be made; choose another with --data-dir: %w", cfg.DataDir, err)
	}
	dbs, closeAll, err := rawDatabases(ctx, cfg)
	if err != nil {
		return backup.Manifest{}, err
	}
	defer closeAll()
	o := backup.RestoreOptions{
		Databases: map[string]backup.Target{},
		Folders:   map[string]string{"heads": filepath.Join(cfg.DataDir, "heads"), JournalDir: filepath.Join(cfg.DataDir, JournalDir)},
	}
	for name, db := range dbs {
		o.Databases[name] = db
	}
	m, err := backup.Restore(ctx, r, o)
	if err != nil {
		return m, err
	}
	return m, restoreNode(cfg.DataDir, m)
}

// restoreNode lets the journal go on under the name that its head has.
func restoreNode(dataDir string, m backup.Manifest) error {
	for _, member := range m.Members {
		file, ok := strings.CutPrefix(member.Name, "heads/")
		node, isHead := strings.CutSuffix(file, ".json")
		if !ok || !isHead {
			continue
		}
		if err := os.WriteFile(filepath.Join(dataDir, nodeFile), []byte(node+"\n"), 0o600); err != nil {
			return junctor.Errorf(junctor.CodeUnavailable, "the data directory cannot be written to: %w", err)
		}
		return nil
	}
	return nil
}

// rawDatabases opens the databases by the names they have in an archive.
func rawDatabases(ctx context.Context, cfg *config.Config) (map[string]*store.Raw, func(), error) {
	openMain := func() (*store.Raw, error) { return sqlite.Raw(ctx, filepath.Join(cfg.DataDir, "junctor.db")) }
	openHistory := func() (*store.Raw, error) { return sqlite.RawHistory(ctx, filepath.Join(cfg.DataDir, "history.db")) }
	if cfg.DB != nil {
		openMain = func() (*store.Raw, error) { return postgres.Raw(ctx, cfg.DB.String()) }
		openHistory = func() (*store.Raw, error) { return postgres.RawHistory(ctx, cfg.DB.String()) }
	}
	main, err := openMain()
	if err != nil {
		return nil, nil, err
	}
	history, err := openHistory()
	if err != nil {
		return nil, nil, errors.Join(err, main.Close()) //nolint:contextcheck // closing has its own limit: ctx may have ended
	}
	return map[string]*store.Raw{"junctor": main, "history": history}, func() { _, _ = main.Close(), history.Close() }, nil //nolint:contextcheck // closing has its own limit: ctx may have ended
}
