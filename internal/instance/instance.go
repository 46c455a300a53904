// Package instance opens the parts of an instance that lie on disk or in the
// database: its sealing keys, its name, its database and its journal. It works on an
// instance that need not run: backups, restores and verifications of the journal.
//
// Package app opens a running instance with it, and cli calls Backup, Restore and the
// Verify functions directly. To read the code, begin with instance.go, then
// secret_store.go (the ring and the vault), journals.go, journal_store.go and verify.go
// (the journal and its copy), backup.go, and setting_references.go (the secrets that the
// settings refer to).
package instance

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admission"
	"github.com/junctor-mcp/junctor/internal/audit"
	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/internal/seal"
	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/store/postgres"
	"github.com/junctor-mcp/junctor/internal/store/sqlite"
	"github.com/junctor-mcp/junctor/internal/upstreamauth"
)

// JournalDir is the folder of the journal in the data directory.
const JournalDir = "journal"

// replicaFile holds the name of the replica in the data directory. Before journals of
// format 2 the file was called formerReplicaFile.
const (
	replicaFile       = "replica"
	formerReplicaFile = "node"
)

// OpenDatabase opens the database that the settings name, and creates or migrates it
// if need be. The caller closes it. It creates none beside the journal of an instance
// that has another one: see CheckJournalHasDatabase.
func OpenDatabase(ctx context.Context, cfg *config.Config) (*store.Store, error) {
	if err := CheckJournalHasDatabase(ctx, cfg); err != nil {
		return nil, err
	}
	if cfg.DB != nil {
		return postgres.Open(ctx, cfg.DB.String())
	}
	return sqlite.Open(ctx, filepath.Join(cfg.DataDir, "junctor.db"))
}

// CheckJournalHasDatabase returns an error if the data directory has a journal, but the
// database that the settings name is not there yet or is empty. A database is always
// opened before a journal is begun, so such settings forgot the database or name another
// one. To create it would start an instance without keys, users and servers, and would
// continue the journal of the other.
func CheckJournalHasDatabase(ctx context.Context, cfg *config.Config) error {
	extent, found, err := audit.FindExtent(filepath.Join(cfg.DataDir, JournalDir))
	if err != nil {
		return junctor.Errorf(junctor.CodeUnavailable, "cannot read the data directory %s: %w", cfg.DataDir, err)
	}
	const fresh = "for a new instance, choose another directory with --data-dir, or move the directories journal and heads out of this one"
	switch path := missingDatabase(cfg); {
	case !found:
		return nil
	case path != "":
		return junctor.Errorf(junctor.CodeNotFound, "the data directory %s has the journal of an instance, with %d records, of which %d were copied to its database, but there is no database at %s; "+
			"if the instance uses PostgreSQL, name its database with --db (or JUNCTOR_DB); if the file was lost, restore a backup into an empty directory with junctor restore; %s", cfg.DataDir, extent.Last, extent.Copied, path, fresh)
	// A new PostgreSQL database knows nothing. A journal that was never copied may be of
	// a first start that ended before the tables were created.
	case cfg.DB == nil || extent.Copied == 0:
		return nil
	}
	raw, err := postgres.Raw(ctx, cfg.DB.String())
	if err != nil {
		return err
	}
	version, err := raw.Version(ctx)
	if err = errors.Join(err, raw.Close()); err != nil { //nolint:contextcheck // closing has its own limit: ctx may have ended
		return err
	}
	if version == 0 {
		return junctor.Errorf(junctor.CodeNotFound, "the data directory %s has the journal of an instance, with %d records, of which %d were copied to its database, but the database that --db names is empty; "+
			"name the database of the instance, or leave --db out if it uses junctor.db in the data directory; to move an instance to this database, use junctor backup and junctor restore; %s", cfg.DataDir, extent.Last, extent.Copied, fresh)
	}
	return nil
}

// OpenHistory opens the database of the calls' payloads: a second file beside
// SQLite's, or separate tables in PostgreSQL.
func OpenHistory(ctx context.Context, cfg *config.Config) (store.Database, error) {
	if cfg.DB != nil {
		return postgres.OpenHistory(ctx, cfg.DB.String())
	}
	return sqlite.OpenHistory(ctx, filepath.Join(cfg.DataDir, "history.db"))
}

// NewReferenceReader returns a reader of references to credentials, such as env:NAME,
// on this machine.
func NewReferenceReader(cfg *config.Config) upstreamauth.ReferenceReader {
	return upstreamauth.ReferenceReader{Lookup: os.LookupEnv, DataDir: cfg.DataDir}
}

// ReadSetting reads a reference in the settings, which the operator wrote.
func ReadSetting(ctx context.Context, cfg *config.Config, text string) (seal.Secret, error) {
	reader := NewReferenceReader(cfg)
	reference, err := admission.New(admission.Options{CheckReference: reader.Check}).Operator(text)
	if err != nil {
		return seal.Secret{}, err
	}
	return reader.Read(ctx, reference)
}

// OpenKeyring opens the sealing keys: those in the environment, those behind the
// reference there (a file, or a command such as that of a key management service), or
// those in the key file, which it creates if there is none.
func OpenKeyring(ctx context.Context, cfg *config.Config) (*seal.Keyring, error) {
	if text := cfg.SealKey(); text != "" {
		if junctor.IsReference("", text) {
			keys, err := ReadSetting(ctx, cfg, text)
			if err != nil {
				return nil, junctor.Errorf(junctor.CodeOf(err), "JUNCTOR_SEAL_KEY: %w", err)
			}
			text = keys.Reveal()
		}
		return seal.KeyringFromEnv(text)
	}
	return seal.OpenKeyring(SealKeyPath(cfg))
}

// SealKeyPath returns the path of the key file.
func SealKeyPath(cfg *config.Config) string {
	return cmp.Or(cfg.SealKeyFile, filepath.Join(cfg.DataDir, "seal.key"))
}

// NewSetupFile returns the file in which junctor setup keeps what it changed in the
// configurations of MCP clients.
func NewSetupFile(cfg *config.Config, keys *seal.Keyring) *seal.SealedFile {
	return seal.NewSealedFile(keys, filepath.Join(cfg.DataDir, "setup.sealed"), "setup")
}

// EnsureReplicaName returns the name of the replica, and stores the one that newID returns if
// it has none. The name lasts: the chain of the journal continues under it.
func EnsureReplicaName(dataDir string, newID func() string) (string, error) {
	renameFormerFile(dataDir)
	id, err := readReplicaName(dataDir)
	if err != nil || id != "" {
		return id, err
	}
	id = newID()
	if err := writeReplicaName(dataDir, id); err != nil {
		return "", junctor.Errorf(junctor.CodeUnavailable, "cannot write to the data directory; choose another with --data-dir: %w", err)
	}
	return id, nil
}

// readReplicaName returns the name of the replica, or "" if it has none yet.
func readReplicaName(dataDir string) (string, error) {
	for _, file := range [...]string{replicaFile, formerReplicaFile} {
		path := filepath.Join(dataDir, file)
		b, err := os.ReadFile(path)
		if err == nil {
			return strings.TrimSpace(string(b)), nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", junctor.Errorf(junctor.CodeUnavailable, "cannot read the file %s: %w", path, err)
		}
	}
	return "", nil
}

// renameFormerFile gives the file with the replica's name its name of today. A folder
// that cannot be written keeps the former one, which is still read.
func renameFormerFile(dataDir string) {
	if _, err := os.Stat(filepath.Join(dataDir, replicaFile)); errors.Is(err, fs.ErrNotExist) {
		_ = os.Rename(filepath.Join(dataDir, formerReplicaFile), filepath.Join(dataDir, replicaFile))
	}
}

func writeReplicaName(dataDir, id string) error {
	return os.WriteFile(filepath.Join(dataDir, replicaFile), []byte(id+"\n"), 0o600)
}
