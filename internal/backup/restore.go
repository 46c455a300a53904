package backup

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// RestoreOptions say where an archive is restored to.
type RestoreOptions struct {
	// By name; they must have no tables.
	Databases map[string]Target
	// Paths by name; they must be missing, or empty except for key files.
	Folders map[string]string
	// Where the archive is unpacked; default: the system's temporary folder.
	TempDir string

	// Authenticator checks the origin of the archive. Without one, nothing is
	// restored unless Unverified is set.
	Authenticator Authenticator
	// Unverified restores an archive of any origin.
	Unverified bool
}

// maxManifest bounds the manifest in bytes.
const maxManifest = 64 << 20

// Restore restores an instance from an archive: the databases, with their former
// schema and then migrated to the newest, and the folders. It checks everything
// against the manifest before it changes anything.
//
// The error is CodeInvalid if the archive is damaged, is not an archive or is not
// authentic. It is CodeConflict if the target is not empty, or a newer Junctor
// made the archive.
func Restore(ctx context.Context, r io.Reader, o RestoreOptions) (Manifest, error) {
	dir, err := os.MkdirTemp(o.TempDir, "junctor-restore-")
	if err != nil {
		return Manifest{}, wrapError(ctx, err, "cannot create a temporary directory for the backup")
	}
	defer os.RemoveAll(dir)
	m, err := readArchive(ctx, r, dir, o)
	if err != nil {
		return Manifest{}, wrapError(ctx, err, "cannot unpack the backup")
	}
	if err := checkVacant(ctx, m, o); err != nil {
		return m, wrapError(ctx, err, "cannot check whether the databases are empty")
	}
	for _, name := range slices.Sorted(maps.Keys(m.Schemas)) {
		if err := restoreDatabase(ctx, dir, m, name, o.Databases[name]); err != nil {
			return m, wrapError(ctx, err, "the "+name+" database was not restored; empty it before you try again")
		}
	}
	for _, member := range m.Members {
		folder, file, _ := strings.Cut(member.Name, "/")
		if path, ok := o.Folders[folder]; ok {
			if err := copyFile(filepath.Join(dir, folder, file), filepath.Join(path, file)); err != nil {
				return m, wrapError(ctx, err, "the folder "+path+" was not restored; empty it before you try again")
			}
		}
	}
	return m, nil
}

// Verify reads an archive and checks all of it, as Restore does before it changes
// anything. It uses only the options for authentication.
func Verify(ctx context.Context, r io.Reader, o RestoreOptions) (Manifest, error) {
	m, err := readArchive(ctx, r, "", o)
	if err != nil {
		return Manifest{}, wrapError(ctx, err, "cannot read the backup")
	}
	return m, nil
}

// readArchive reads an archive into a folder and checks all of it. If dir is "",
// it only checks.
func readArchive(ctx context.Context, r io.Reader, dir string, o RestoreOptions) (Manifest, error) {
	zip, err := gzip.NewReader(r)
	if err != nil {
		return Manifest{}, damagedError("it is not a gzip file", err)
	}
	in := tar.NewReader(zip)
	m, err := readManifest(in, o)
	if err != nil {
		return Manifest{}, err
	}
	for _, want := range m.Members {
		if ctx.Err() != nil {
			return m, ctx.Err()
		}
		head, err := in.Next()
		if err != nil {
			return m, damagedError(want.Name+" is missing", err)
		}
		if head.Name != want.Name || head.Typeflag != tar.TypeReg || head.Size != want.Size {
			return m, damagedError(fmt.Sprintf("it contains %q instead of %s", head.Name, want.Name), nil)
		}
		g := collector{dir: dir, discardContent: dir == ""}
		err = g.addMember(want.Name, func(w *memberWriter) error {
			_, err := io.Copy(w, in) //nolint:gosec // of the size that the manifest says
			if err != nil {
				return damagedError(want.Name+" is incomplete", err)
			}
			return nil
		})
		if err != nil {
			return m, err
		}
		if got := g.members[0]; got.SHA256 != want.SHA256 || got.Size != want.Size {
			return m, damagedError(want.Name+" differs from the manifest", nil)
		}
	}
	if _, err := in.Next(); !errors.Is(err, io.EOF) {
		return m, damagedError("it contains more files than the manifest lists", err)
	}
	if _, err := io.Copy(io.Discard, zip); err != nil { //nolint:gosec // nothing is kept; the checksum at the end is checked
		return m, damagedError("its end is incomplete", err)
	}
	return m, nil
}

// readManifest reads the manifest. It checks the origin before it trusts anything
// but the format.
func readManifest(in *tar.Reader, o RestoreOptions) (Manifest, error) {
	head, err := in.Next()
	if err != nil || head.Name != manifestName || head.Size > maxManifest {
		return Manifest{}, damagedError("it does not begin with a manifest", err)
	}
	text, err := io.ReadAll(io.LimitReader(in, maxManifest))
	if err != nil {
		return Manifest{}, damagedError("its manifest is incomplete", err)
	}
	var m Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return Manifest{}, damagedError("its manifest cannot be read", err)
	}
	if m.Format != formatPlain && m.Format != formatAuthenticated {
		return Manifest{}, junctor.Errorf(junctor.CodeConflict, "the backup has format %d, but this version of Junctor supports formats up to %d: use Junctor %s, which made it", m.Format, formatAuthenticated, m.Version)
	}
	var code macRecord
	if m.Format == formatAuthenticated {
		if code, err = readMAC(in); err != nil {
			return Manifest{}, err
		}
	}
	if err := checkAuthenticity(o, text, code, m.Format == formatPlain); err != nil {
		return Manifest{}, err
	}
	if !o.Unverified {
		m.SealKey = code.Key
	}
	seen := map[string]bool{}
	for _, member := range m.Members {
		if !isValidMemberName(member.Name) || seen[member.Name] || member.Size < 0 {
			return Manifest{}, damagedError(fmt.Sprintf("its manifest lists %q", member.Name), nil)
		}
		seen[member.Name] = true
	}
	return m, nil
}

// damagedError wraps the reason why a file is not a usable archive.
func damagedError(why string, err error) error {
	return &junctor.Error{Code: junctor.CodeInvalid, Message: "the backup is damaged, or is not a Junctor backup: " + why, Cause: err}
}

// checkVacant checks that every part of the archive has a target, and that the
// targets are empty.
func checkVacant(ctx context.Context, m Manifest, o RestoreOptions) error {
	for name := range m.Schemas {
		db := o.Databases[name]
		if db == nil {
			return junctor.Errorf(junctor.CodeInvalid, "the backup contains a %s database, but this instance has none to restore it into", name)
		}
		version, err := db.Version(ctx)
		if err != nil {
			return err
		}
		if version != 0 {
			return junctor.Errorf(junctor.CodeConflict, "the %s database is not empty; restore into a new data directory or database", name)
		}
	}
	for _, member := range m.Members {
		name, _, _ := strings.Cut(member.Name, "/")
		_, database := m.Schemas[name]
		if _, folder := o.Folders[name]; !database && !folder {
			return junctor.Errorf(junctor.CodeInvalid, "the backup contains the directory %s, but there is no directory to restore it into", name)
		}
	}
	for _, path := range o.Folders {
		entries, err := os.ReadDir(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, e := range entries {
			if !strings.HasSuffix(e.Name(), ".key") {
				return junctor.Errorf(junctor.CodeConflict, "the directory %s is not empty; restore into a new data directory", path)
			}
		}
	}
	return nil
}

// restoreDatabase creates a database with its former schema, fills it in one
// transaction and migrates it to the newest schema.
func restoreDatabase(ctx context.Context, dir string, m Manifest, name string, db Target) error {
	if err := db.MigrateTo(ctx, m.Schemas[name]); err != nil {
		return err
	}
	tx, err := db.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit it has nothing to do, and before one the first error counts
	order, err := db.Clear(ctx, tx)
	if err != nil {
		return err
	}
	tables := map[string]bool{} // tables of the archive
	for _, member := range m.Members {
		if database, file, _ := strings.Cut(member.Name, "/"); database == name {
			tables[strings.TrimSuffix(file, tableSuffix)] = true
		}
	}
	for _, table := range order {
		if !tables[table] {
			return damagedError("it has no table "+table+" of the "+name+" database", nil)
		}
		delete(tables, table)
		if err := fillTable(ctx, tx, db, name+"/"+table+tableSuffix, dir, table); err != nil {
			return err
		}
	}
	for table := range tables {
		return damagedError("it has a table "+table+" that the "+name+" database does not have", nil)
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	return db.MigrateTo(ctx, 0)
}

// fillTable adds the rows of a member to a table.
func fillTable(ctx context.Context, tx *sql.Tx, db Target, member, dir, table string) error {
	f, err := os.Open(filepath.Join(dir, filepath.FromSlash(member)))
	if err != nil {
		return err
	}
	defer f.Close()
	columns, rows, err := readRows(member, f)
	if err != nil {
		return err
	}
	return db.Fill(ctx, tx, table, columns, rows)
}

// copyFile copies a file to its place, which must not exist yet.
func copyFile(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Sync(), dst.Close())
}
