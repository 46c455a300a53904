package backup

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Options say what to copy.
type Options struct {
	Version   string            // of this Junctor
	Engine    string            // of the databases
	Databases map[string]Source // by name
	Folders   []Folder
	Now       func() time.Time // default time.Now
	// Temp is the folder in which the copy is collected; the default is the
	// system's temporary folder. It needs space for one complete copy.
	TempDir string
	// Authenticator authenticates the archive. Without one, Restore refuses the
	// archive unless RestoreOptions.Unverified is set.
	Authenticator Authenticator
}

// maxAttempts is how often a copy is started again if files disappear meanwhile,
// as old segments of the journal do.
const maxAttempts = 3

// errFileGone means that a file of a folder disappeared.
var errFileGone = errors.New("a file was removed while it was copied")

// Create writes an archive of an instance, which may be running. After an error,
// the part that was written is useless.
//
// Everything is collected in a temporary folder first, because the manifest comes
// first in the archive and needs the digests of all members.
func Create(ctx context.Context, w io.Writer, o Options) (Manifest, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	dir, err := os.MkdirTemp(o.TempDir, "junctor-backup-")
	if err != nil {
		return Manifest{}, wrapError(ctx, err, "cannot create a temporary directory for the backup")
	}
	defer os.RemoveAll(dir)
	var m Manifest
	for n := 1; ; n++ {
		g := collector{dir: filepath.Join(dir, string(rune('0'+n))), options: o}
		m, err = g.collectAll(ctx)
		if err == nil {
			dir = g.dir
			break
		}
		if !errors.Is(err, errFileGone) || n == maxAttempts {
			return Manifest{}, wrapError(ctx, err, "cannot create the backup")
		}
	}
	if m.SealKey, err = writeArchive(w, dir, m, o.Authenticator); err != nil {
		return Manifest{}, wrapError(ctx, err, "cannot write the backup")
	}
	return m, nil
}

// wrapError returns err as one that may cross packages: its own junctor.Error,
// the error of ctx, or CodeUnavailable.
func wrapError(ctx context.Context, err error, what string) error {
	if known, ok := errors.AsType[*junctor.Error](err); ok {
		return known
	}
	if ctx.Err() != nil {
		return junctor.AsError(ctx.Err())
	}
	return &junctor.Error{Code: junctor.CodeUnavailable, Message: what + "; the log has the reason", Cause: err}
}

// collector collects the members of an archive in a folder.
type collector struct {
	dir     string
	options Options
	members []Member
	// Compute only sizes and digests.
	discardContent bool
}

// collectAll collects the folders and databases, in the order that Folder.BeforeDatabases
// demands, and returns the manifest.
func (g *collector) collectAll(ctx context.Context) (Manifest, error) {
	m := Manifest{
		Format: formatPlain, Version: g.options.Version, Engine: g.options.Engine, CreatedAt: g.options.Now().UTC(), Schemas: map[string]int64{}, KeysNote: keysNote,
	}
	if g.options.Authenticator != nil {
		m.Format = formatAuthenticated
	}
	if err := g.collectFolders(ctx, true); err != nil {
		return m, err
	}
	for _, name := range slices.Sorted(maps.Keys(g.options.Databases)) {
		version, err := g.collectDatabase(ctx, name, g.options.Databases[name])
		if err != nil {
			return m, err
		}
		m.Schemas[name] = version
	}
	if err := g.collectFolders(ctx, false); err != nil {
		return m, err
	}
	m.Members = g.members
	return m, nil
}

// collectFolders collects the folders that come before (early) or after the
// databases.
func (g *collector) collectFolders(ctx context.Context, early bool) error {
	for _, f := range g.options.Folders {
		if f.BeforeDatabases == early {
			if err := g.collectFolder(ctx, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// collectFolder collects the files of one folder. A missing folder has none.
func (g *collector) collectFolder(ctx context.Context, f Folder) error {
	entries, err := os.ReadDir(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if name := f.Name + "/" + e.Name(); e.Type().IsRegular() && isValidMemberName(name) {
			if err := g.collectFile(name, filepath.Join(f.Path, e.Name()), f.CompleteLinesOnly); err != nil {
				return err
			}
		}
	}
	return nil
}

// collectFile copies the current content of a file, which may be growing.
func (g *collector) collectFile(name, from string, lines bool) error {
	src, err := os.Open(from)
	if errors.Is(err, fs.ErrNotExist) {
		return errFileGone
	}
	if err != nil {
		return err
	}
	defer src.Close()
	info, err := src.Stat()
	if err != nil {
		return err
	}
	size := info.Size()
	if lines {
		if size, err = completeLinesSize(src, size); err != nil {
			return err
		}
	}
	return g.addMember(name, func(w *memberWriter) error {
		n, err := io.Copy(w, io.NewSectionReader(src, 0, size))
		if err == nil && n < size {
			err = errFileGone // it was cut during the copy
		}
		return err
	})
}

// completeLinesSize returns how many bytes of a file of the given size are
// complete lines.
func completeLinesSize(f io.ReaderAt, size int64) (int64, error) {
	buf := make([]byte, 64<<10)
	for end := size; end > 0; {
		start := max(end-int64(len(buf)), 0)
		piece := buf[:end-start]
		if _, err := f.ReadAt(piece, start); err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if i := bytes.LastIndexByte(piece, '\n'); i >= 0 {
			return start + int64(i) + 1, nil
		}
		end = start
	}
	return 0, nil
}

// addMember adds a member with the content that write writes.
func (g *collector) addMember(name string, write func(*memberWriter) error) error {
	if g.discardContent {
		c := newMemberWriter(io.Discard)
		err := errors.Join(write(c), c.flush())
		g.members = append(g.members, Member{Name: name, Size: c.size, SHA256: c.hexDigest(), Rows: c.rows})
		return err
	}
	path := filepath.Join(g.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	c := newMemberWriter(f)
	if err := errors.Join(write(c), c.flush(), f.Close()); err != nil {
		return err
	}
	g.members = append(g.members, Member{Name: name, Size: c.size, SHA256: c.hexDigest(), Rows: c.rows})
	return nil
}

// collectDatabase copies all tables of a database as of one moment, and returns
// the version of its schema.
func (g *collector) collectDatabase(ctx context.Context, name string, db Source) (int64, error) {
	version, err := db.Version(ctx)
	if err != nil {
		return 0, err
	}
	if version == 0 {
		return 0, junctor.Errorf(junctor.CodeInvalid, "there is no %s database to back up; check --data-dir and --db", name)
	}
	tx, err := db.Snapshot(ctx)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback() //nolint:errcheck // nothing was written
	tables, err := db.Tables(ctx, tx)
	if err != nil {
		return 0, err
	}
	slices.Sort(tables) // so that the same rows make the same archive
	for _, table := range tables {
		err := g.addMember(name+"/"+table+tableSuffix, func(w *memberWriter) error {
			rows, err := db.Rows(ctx, tx, table)
			if err != nil {
				return err
			}
			defer rows.Close()
			w.rows, err = writeRows(w, rows)
			return err
		})
		if err != nil {
			return 0, err
		}
	}
	return version, nil
}

// writeArchive writes the manifest, its MAC and then all members, in their order.
// It returns the id of the key that made the MAC.
func writeArchive(w io.Writer, dir string, m Manifest, a Authenticator) (keyID string, err error) {
	zip := gzip.NewWriter(w)
	out := tar.NewWriter(zip)
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return "", err
	}
	head := func(name string, size int64) error {
		return out.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600, ModTime: m.CreatedAt.Truncate(time.Second), Format: tar.FormatPAX})
	}
	put := func(name string, text []byte) error {
		if err := head(name, int64(len(text))); err != nil {
			return err
		}
		_, err := out.Write(text)
		return err
	}
	if err := put(manifestName, text); err != nil {
		return "", err
	}
	if a != nil {
		var code []byte
		if keyID, code, err = makeMAC(a, text); err != nil {
			return "", err
		}
		if err := put(macName, code); err != nil {
			return "", err
		}
	}
	for _, member := range m.Members {
		if err := head(member.Name, member.Size); err != nil {
			return "", err
		}
		f, err := os.Open(filepath.Join(dir, filepath.FromSlash(member.Name)))
		if err != nil {
			return "", err
		}
		_, err = io.Copy(out, f)
		if err = errors.Join(err, f.Close()); err != nil {
			return "", err
		}
	}
	return keyID, errors.Join(out.Close(), zip.Close())
}
