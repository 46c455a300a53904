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

// Versions of the archive's form: in the second, the code that authenticates the
// manifest follows it.
const (
	formatPlain         = 1
	formatAuthenticated = 2
)

// keysNote says in every manifest what is not in the archive.
const keysNote = "This backup holds no key files. To use it, put copies of seal.key (or set JUNCTOR_SEAL_KEY) and heads/signing.key into the data directory."

// Manifest says what an archive holds.
type Manifest struct {
	Format    int              `json:"format"`
	Version   string           `json:"version"` // of the Junctor that made it
	Engine    string           `json:"engine"`
	CreatedAt time.Time        `json:"created_at"`
	Schemas   map[string]int64 `json:"schemas"` // of each database
	Keys      string           `json:"keys"`
	Members   []Member         `json:"members"`

	// SealKey is the id of the sealing key under which the manifest is
	// authenticated; "" when it is not. It stands beside the manifest, not in it.
	SealKey string `json:"-"`
}

// Member is a file in an archive: database/table.jsonl, or folder/file.
type Member struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	Rows   int64  `json:"rows,omitempty"`
}

// Source is a database to be copied.
type Source interface {
	// Version is the version of its schema; 0 where it has none.
	Version(ctx context.Context) (int64, error)
	// Snapshot begins a transaction that sees one moment.
	Snapshot(ctx context.Context) (*sql.Tx, error)
	// Tables lists its tables.
	Tables(ctx context.Context, tx *sql.Tx) ([]string, error)
	// Rows reads a table, always in the same order.
	Rows(ctx context.Context, tx *sql.Tx, table string) (*sql.Rows, error)
}

// Target is a database to be filled.
type Target interface {
	// Version is the version of its schema; 0 where it has none.
	Version(ctx context.Context) (int64, error)
	// MigrateTo makes the tables of a version, or brings them to it; 0 is the
	// newest.
	MigrateTo(ctx context.Context, version int64) error
	Begin(ctx context.Context) (*sql.Tx, error)
	// Clear empties all tables and lists them, each after those it refers to.
	Clear(ctx context.Context, tx *sql.Tx) ([]string, error)
	// Fill adds rows to a table.
	Fill(ctx context.Context, tx *sql.Tx, table string, columns []string, rows iter.Seq2[[]any, error]) error
}

// Folder is a folder whose files are copied. Folders below it are not, and
// neither are key files, locks and what is hidden.
type Folder struct {
	Name string // in the archive
	Path string
	// Early folders are copied before the databases, the others after them: what
	// is copied later may know more, never less.
	Early bool
	// Lines says that files grow by lines: a last one that is not whole is left
	// out.
	Lines bool
}

// isExcluded says that a file of a folder is none of a backup's business.
func isExcluded(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".key") || name == "lock" || strings.HasSuffix(name, ".lock")
}

// isValidMemberName says that a name can be a member's: two segments, nothing that leads
// elsewhere.
func isValidMemberName(name string) bool {
	folder, file, ok := strings.Cut(name, "/")
	return ok && fs.ValidPath(name) && path.Clean(name) == name && folder != "" && file != "" && !strings.ContainsAny(name, "\\:\x00") &&
		!strings.Contains(file, "/") && !isExcluded(file)
}
