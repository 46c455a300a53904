package instance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/backup"
	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/internal/seal"
	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/store/postgres"
	"github.com/junctor-mcp/junctor/internal/store/sqlite"
)

// Backup writes an archive of the instance that the settings name. The instance may
// run. The archive holds no key files.
func Backup(ctx context.Context, cfg *config.Config, version string, w io.Writer) (backup.Manifest, error) {
	if err := CheckJournalHasDatabase(ctx, cfg); err != nil {
		return backup.Manifest{}, err
	}
	dbs, closeAll, err := openRawDatabases(ctx, cfg)
	if err != nil {
		return backup.Manifest{}, err
	}
	defer closeAll()
	o := backup.Options{
		Version: version, Engine: dbs["junctor"].Engine, Databases: map[string]backup.Source{},
		Folders: []backup.Folder{
			// Before the journal and its copy: a head must not name a later record than they hold.
			{Name: "heads", Path: filepath.Join(cfg.DataDir, "heads"), BeforeDatabases: true},
			{Name: JournalDir, Path: filepath.Join(cfg.DataDir, JournalDir), CompleteLinesOnly: true},
		},
	}
	for name, db := range dbs {
		o.Databases[name] = db
	}
	if o.Authenticator, err = openBackupKeys(ctx, cfg); err != nil {
		return backup.Manifest{}, err
	}
	return backup.Create(ctx, w, o)
}

// VerifyBackup checks an archive against its manifest, and the manifest against the
// sealing key that the settings name.
func VerifyBackup(ctx context.Context, cfg *config.Config, r io.Reader) (backup.Manifest, error) {
	keys, err := openBackupKeys(ctx, cfg)
	if err != nil {
		return backup.Manifest{}, err
	}
	return backup.Verify(ctx, r, backup.RestoreOptions{Authenticator: keys})
}

// purposeBackup separates the MACs of backups from those for other purposes.
const purposeBackup = "backup manifest v1"

// openBackupKeys returns what authenticates backups with the sealing keys that the
// settings name. It never creates a key: nil means that there is none.
func openBackupKeys(ctx context.Context, cfg *config.Config) (backup.Authenticator, error) {
	if cfg.SealKey() == "" {
		keys, err := seal.OpenExistingKeyring(SealKeyPath(cfg))
		switch {
		case junctor.CodeOf(err) == junctor.CodeNotFound:
			return nil, nil
		case err != nil:
			return nil, err
		}
		return manifestKeys{keys}, nil
	}
	keys, err := OpenKeyring(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return manifestKeys{keys}, nil
}

// manifestKeys implements backup.Authenticator.
type manifestKeys struct{ keys *seal.Keyring }

func (m manifestKeys) Authenticate(message []byte) (keyID string, mac []byte) {
	return m.keys.Authenticate(purposeBackup, message)
}

func (m manifestKeys) CheckMAC(keyID string, message, mac []byte) error {
	return m.keys.CheckMAC(purposeBackup, keyID, message, mac)
}

// Restore creates an instance from an archive, where the settings say. The data
// directory may hold only key files. The archive must be authentic, unless unverified
// is set.
func Restore(ctx context.Context, cfg *config.Config, r io.Reader, unverified bool) (backup.Manifest, error) {
	if err := os.MkdirAll(cfg.DataDir, 0o700); err != nil {
		return backup.Manifest{}, junctor.Errorf(junctor.CodeUnavailable, "cannot create the data directory %s; choose another with --data-dir: %w", cfg.DataDir, err)
	}
	dbs, closeAll, err := openRawDatabases(ctx, cfg)
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
	if o.Unverified = unverified; !unverified {
		if o.Authenticator, err = openBackupKeys(ctx, cfg); err != nil {
			return backup.Manifest{}, err
		}
	}
	m, err := backup.Restore(ctx, r, o)
	if err != nil {
		return m, err
	}
	return m, errors.Join(restoreReplicaName(cfg.DataDir, m), writeRestoredNote(cfg.DataDir, m))
}

// restoredFile is the note in a restored data directory, until the next start has
// recorded it.
const restoredFile = "restored"

// writeRestoredNote leaves a note for the next start, which records it. The journal
// ends where the backup was made; the note explains why later exports do not match.
func writeRestoredNote(dataDir string, m backup.Manifest) error {
	doubt := ""
	if m.SealKey == "" {
		doubt = "; the signature of the backup was not verified"
	}
	text := fmt.Sprintf("restored from a backup made at %s by junctor %s: later records are missing%s\n", m.CreatedAt.UTC().Format(time.RFC3339), m.Version, doubt)
	if err := os.WriteFile(filepath.Join(dataDir, restoredFile), []byte(text), 0o600); err != nil {
		return junctor.Errorf(junctor.CodeUnavailable, "cannot write to the data directory: %w", err)
	}
	return nil
}

// ReadRestoredNote returns the note of a restore, or "" if nothing was restored since
// the last start.
func ReadRestoredNote(dataDir string) (string, error) {
	b, err := os.ReadFile(filepath.Join(dataDir, restoredFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", junctor.Errorf(junctor.CodeUnavailable, "cannot read the file %s: %w", filepath.Join(dataDir, restoredFile), err)
	}
	return strings.TrimSpace(string(b)), nil
}

// RemoveRestoredNote removes the note after it was recorded.
func RemoveRestoredNote(dataDir string) error {
	return os.Remove(filepath.Join(dataDir, restoredFile))
}

// restoreReplicaName stores the name of the restored head, so that the journal continues
// under it.
func restoreReplicaName(dataDir string, m backup.Manifest) error {
	for _, member := range m.Members {
		file, ok := strings.CutPrefix(member.Name, "heads/")
		replica, isHead := strings.CutSuffix(file, ".json")
		if !ok || !isHead {
			continue
		}
		if err := writeReplicaName(dataDir, replica); err != nil {
			return junctor.Errorf(junctor.CodeUnavailable, "cannot write to the data directory: %w", err)
		}
		return nil
	}
	return nil
}

// openRawDatabases opens the databases, by their names in an archive.
func openRawDatabases(ctx context.Context, cfg *config.Config) (map[string]*store.Raw, func(), error) {
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
