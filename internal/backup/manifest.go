package backup

import (
	"context"
	"database/sql"
	"io/fs"
	"iter"
	"path"
	"strings"
	"time"
)

// manifestName is the first member of an archive.
const manifestName = "manifest.json"

// The versions of the archive format. In the second, a MAC follows the manifest.
const (
	formatPlain         = 1
	formatAuthenticated = 2
)

// keysNote states in every manifest what the archive does not contain.
const keysNote = "This backup contains no key files. To use it, put copies of seal.key (or set JUNCTOR_SEAL_KEY) and heads/signing.key into the data directory."

// Manifest describes the content of an archive.
type Manifest struct {
	Format    int       `json:"format"`
	Version   string    `json:"version"` // of the Junctor that made it
	Engine    string    `json:"engine"`
	CreatedAt time.Time `json:"created_at"`
	// Version of the schema, by database.
	Schemas  map[string]int64 `json:"schemas"`
	KeysNote string           `json:"keys"`
	Members  []Member         `json:"members"`

	// SealKey is the id of the sealing key that authenticates the manifest; "" if
	// it is not authenticated. It is stored beside the manifest, not in it.
	SealKey string `json:"-"`
}

// Member is a file in an archive: database/table.jsonl, or folder/file.
type Member struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	Rows   int64  `json:"rows,omitempty"`
}

// Source is a database to copy. store.Raw implements it.
type Source interface {
	// Version returns the version of its schema; 0 if it has none.
	Version(ctx context.Context) (int64, error)
	// Snapshot begins a transaction that sees the database at one moment.
	Snapshot(ctx context.Context) (*sql.Tx, error)
	// Tables returns the names of its tables.
	Tables(ctx context.Context, tx *sql.Tx) ([]string, error)
	// Rows reads a table, always in the same order.
	Rows(ctx context.Context, tx *sql.Tx, table string) (*sql.Rows, error)
}

// Target is a database to restore into. store.Raw implements it.
type Target interface {
	// Version returns the version of its schema; 0 if it has none.
	Version(ctx context.Context) (int64, error)
	// MigrateTo creates the tables of a version, or migrates them to it; 0 stands
	// for the newest version.
	MigrateTo(ctx context.Context, version int64) error
	// Begin begins the transaction that Clear and Fill write in.
	Begin(ctx context.Context) (*sql.Tx, error)
	// Clear empties all tables and returns their names, each after the tables
	// that it refers to.
	Clear(ctx context.Context, tx *sql.Tx) ([]string, error)
	// Fill adds rows to a table.
	Fill(ctx context.Context, tx *sql.Tx, table string, columns []string, rows iter.Seq2[[]any, error]) error
}

// Folder is a folder whose files are copied. Subfolders, key files, locks and
// hidden files are not copied.
type Folder struct {
	Name string // in the archive
	Path string
	// Early folders are copied before the databases, the others after them. A
	// later copy may contain more records than an earlier one, never fewer.
	BeforeDatabases bool
	// Lines is set if files grow line by line. An incomplete last line is left
	// out.
	CompleteLinesOnly bool
}

// isExcluded reports whether a file of a folder must not be in a backup.
func isExcluded(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".key") || name == "lock" || strings.HasSuffix(name, ".lock")
}

// isValidMemberName reports whether a name can be a member: exactly two segments,
// and nothing that leads out of the folder. It protects Restore from a hostile
// archive.
func isValidMemberName(name string) bool {
	folder, file, ok := strings.Cut(name, "/")
	return ok && fs.ValidPath(name) && path.Clean(name) == name && folder != "" && file != "" && !strings.ContainsAny(name, "\\:\x00") &&
		!strings.Contains(file, "/") && !isExcluded(file)
}
